/* Waiting loops (wait_...) and near misses that do something (work_...), for tests that analyse their machine code.
 * They are never run. Compiled as C and as C++, by several compilers and at several levels. */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __aarch64__
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() __builtin_ia32_pause()
#endif
#define LOAD(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)

struct row {
    struct row *above;
    volatile int done;
    int padding[30];
};

volatile int flag;
volatile uint64_t turn;
uint64_t word, next_ticket, serving;
_Bool closed;
struct row *volatile rows;
uint32_t sequence, shared_x, shared_y;

void wait_volatile(void)
{
    while (!flag)
        ;
}

void wait_volatile_pause(volatile int *p)
{
    while (*p == 0)
        PAUSE();
}

void wait_row_above(struct row *r)
{
    while (r->done >= r->above->done - 1)
        ;
}

void wait_atomic(uint64_t *p)
{
    while (!__atomic_load_n(p, __ATOMIC_RELAXED))
        ;
}

void wait_atomic_acquire(void)
{
    while (LOAD(&word) != 3)
        PAUSE();
}

void wait_test_and_set(void)
{
    while (__atomic_exchange_n(&word, 1, __ATOMIC_ACQUIRE))
        ;
}

void wait_test_test_and_set(uint64_t *lock)
{
    for (;;) {
        while (LOAD(lock))
            PAUSE();
        if (!__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
            return;
    }
}

void wait_backoff(uint64_t *lock)
{
    unsigned delay = 1;
    while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
        for (unsigned i = 0; i < delay; i++)
            PAUSE();
        if (delay < 1024)
            delay *= 2;
    }
}

void wait_backoff_load(volatile int *p)
{
    unsigned delay = 1;
    while (!*p) {
        for (unsigned i = 0; i < delay; i++)
            PAUSE();
        delay <<= 1;
    }
}

int wait_bounded(volatile int *p)
{
    for (int i = 0; i < 10000; i++) {
        if (*p)
            return 1;
        PAUSE();
    }
    return 0;
}

void wait_ticket(void)
{
    uint64_t mine = __atomic_fetch_add(&next_ticket, 1, __ATOMIC_RELAXED);
    while (LOAD(&serving) != mine)
        PAUSE();
}

void wait_yield(volatile int *p)
{
    while (!*p)
        sched_yield();
}

uint32_t wait_sequence(void)
{
    uint32_t before, x, y;
    do {
        before = LOAD(&sequence);
        x = __atomic_load_n(&shared_x, __ATOMIC_RELAXED);
        y = __atomic_load_n(&shared_y, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
    } while ((before & 1) || before != __atomic_load_n(&sequence, __ATOMIC_RELAXED));
    return x + y;
}

void wait_compare_and_swap(uint64_t *lock)
{
    uint64_t expected;
    do
        expected = 0;
    while (!__atomic_compare_exchange_n(lock, &expected, 1, 1, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED));
}

static int ready(void)
{
    return LOAD(&word) > 1 && turn == 2;
}

void wait_called(void)
{
    while (!ready())
        PAUSE();
}

void wait_nested(volatile int *table, int n)
{
    for (int i = 0; i < n; i++)
        while (!table[i])
            PAUSE();
}

/* Waits in the C library's own loop. */
void wait_library(pthread_spinlock_t *lock)
{
    pthread_spin_lock(lock);
}

/* ---- near misses ---- */

uint64_t work_sum(const uint64_t *p, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += p[i] * 3;
    return sum;
}

double work_float(double x)
{
    while (x * x > 2.0000001)
        x = (x + 2.0 / x) / 2;
    return x;
}

uint64_t work_collatz(uint64_t n)
{
    uint64_t steps = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

uint64_t work_gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

void work_copy(char *to, const char *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = from[i];
}

void work_memcpy(void *to, const void *from, size_t n)
{
    memcpy(to, from, n);
}

size_t work_strlen(const char *s)
{
    const char *p = s;
    while (*p)
        p++;
    return (size_t)(p - s);
}

size_t work_library_strlen(const char *s)
{
    return strlen(s);
}

uint32_t work_hash(const unsigned char *p, size_t n)
{
    uint32_t h = 2166136261u;
    while (n--)
        h = (h ^ *p++) * 16777619u;
    return h;
}

const int *work_search(const int *p, int key)
{
    while (*p != key)
        p++;
    return p;
}

struct node {
    struct node *next;
    int key;
};

struct node *work_walk(struct node *n, int key)
{
    while (n && n->key != key)
        n = n->next;
    return n;
}

int work_probe(const uint64_t *table, uint64_t mask, uint64_t key)
{
    uint64_t at = key * 0x9e3779b97f4a7c15ull & mask;
    while (table[at] && table[at] != key)
        at = (at + 1) & mask;
    return table[at] == key;
}

size_t work_bisect(const int *p, size_t n, int key)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (p[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t work_until_stopped(volatile int *stop)
{
    uint64_t rounds = 0;
    while (!*stop)
        rounds++;
    return rounds;
}

void work_count_volatile(volatile uint64_t *p, uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++)
        ++*p;
}

void work_to_a_limit(volatile uint64_t *limit)
{
    for (uint64_t i = 0; i < *limit; i++)
        ;
}

void work_atomic_add(uint64_t steps)
{
    for (uint64_t i = 0; i < steps; i++)
        __atomic_fetch_add(&word, 1, __ATOMIC_RELAXED);
}

void work_claim(uint64_t n)
{
    while (__atomic_fetch_add(&word, 1, __ATOMIC_RELAXED) < n)
        ;
}

uint64_t work_update(uint64_t *p)
{
    uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED), new_;
    do
        new_ = old * 5 + 1;
    while (!__atomic_compare_exchange_n(p, &old, new_, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return old;
}

uint64_t work_update_again(uint64_t *p)
{
    for (;;) {
        uint64_t old = __atomic_load_n(p, __ATOMIC_RELAXED);
        uint64_t new_ = old > 100 ? old - 100 : old + 1;
        if (__atomic_compare_exchange_n(p, &old, new_, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return new_;
    }
}

void work_random(uint64_t *state, uint64_t n)
{
    uint64_t s = *state;
    while (n--) {
        s ^= s << 13;
        s ^= s >> 7;
        s ^= s << 17;
    }
    *state = s;
}

int work_maximum(const volatile int *p)
{
    int most = 0;
    do {
        int now = *p;
        if (now > most)
            most = now;
    } while (most < 1000);
    return most;
}

void work_delay(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        PAUSE();
}

int work_parse(const char *s)
{
    int value = 0;
    while (*s >= '0' && *s <= '9')
        value = value * 10 + (*s++ - '0');
    return value;
}

void work_sleep(volatile int *p)
{
    struct timespec moment = { 0, 1000000 };
    while (!*p)
        nanosleep(&moment, NULL);
}

#ifdef __cplusplus
}
#endif

int main(int argc, char **argv)
{
    (void)argv;
    if (argc < 100)
        return 0;
    /* Keeps every function in the program. */
    wait_volatile(), wait_library(NULL), work_delay(1), work_sleep(&flag);
    return 0;
}
