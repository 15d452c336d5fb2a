/* Threads look rows up through one SQLite connection. shared_connection THREADS [own]
 * With `own`, each thread has a connection of its own. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20000, LOOKUPS = 3000000 };
static const char *const PATH = "file:knee-field?mode=memory&cache=private";
static int threads, own;
static sqlite3 *shared;

static void must(int code, sqlite3 *db, const char *what)
{
    if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE)
        return;
    fprintf(stderr, "%s: %s\n", what, sqlite3_errmsg(db));
    exit(1);
}

static sqlite3 *open_filled(void)
{
    sqlite3 *db;
    must(sqlite3_open_v2(PATH, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_FULLMUTEX, NULL), db, "open");
    must(sqlite3_exec(db,
                      "create table item (id integer primary key, name text);"
                      "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)"
                      "insert into item select i, 'item ' || i from n",
                      NULL, NULL, NULL),
         db, "fill");
    return db;
}

static void *look_up(void *argument)
{
    sqlite3 *db = own ? open_filled() : shared;
    sqlite3_stmt *query;
    must(sqlite3_prepare_v2(db, "select length(name) from item where id = ?", -1, &query, NULL), db, "prepare");
    unsigned long x = (unsigned long)argument + 1, sum = 0;
    for (int i = 0; i < LOOKUPS / threads; i++) {
        x = x * 6364136223846793005UL + 1;
        sqlite3_bind_int(query, 1, 1 + (int)(x >> 40) % ROWS);
        must(sqlite3_step(query), db, "step");
        sum += (unsigned long)sqlite3_column_int(query, 0);
        sqlite3_reset(query);
    }
    sqlite3_finalize(query);
    return (void *)sum;
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? atoi(argv[1]) : 0;
    own = argc > 2 && !strcmp(argv[2], "own");
    if (threads < 1 || threads > 64) {
        fprintf(stderr, "usage: shared_connection THREADS [own]\n");
        return 2;
    }
    if (!own)
        shared = open_filled();
    pthread_t thread[64];
    for (long i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, look_up, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
