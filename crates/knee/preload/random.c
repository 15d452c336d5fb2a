/* random, rand and drand48 with one state per thread, so that no thread waits while another one draws a number.
 *
 * The C library keeps one state for all threads, behind a lock (random(3): glibc since 2.0; drand48(3) without a lock, so
 * that all threads write the same cache line). The first thread to ask gets the same numbers as without this file: glibc's
 * additive generator, x(i) = x(i-3) + x(i-31), seeded by the minimal standard generator (Park and Miller 1988, "Random
 * number generators: good ones are hard to find"). Each further thread starts from another seed.
 *
 * Links to nothing: the same file serves glibc and musl, whose programs then draw glibc's numbers.
 */

#include <stdint.h>

enum { WORDS = 31, APART = 3, DISCARDED = 310 };

struct state {
    uint32_t word[WORDS];
    int front, rear;
    uint64_t x48;
    int ready;
};

static __thread struct state own;
static unsigned seed = 1;
static unsigned threads;

static uint32_t step(struct state *s) {
    uint32_t sum = s->word[s->front] += s->word[s->rear];
    s->front = (s->front + 1) % WORDS;
    s->rear = (s->rear + 1) % WORDS;
    return sum >> 1;
}

static void start(struct state *s, unsigned from) {
    int64_t word = (int32_t)(from == 0 ? 1 : from);
    s->word[0] = (uint32_t)word;
    for (int i = 1; i < WORDS; i++) {
        word = 16807 * word % 2147483647;
        if (word < 0)
            word += 2147483647;
        s->word[i] = (uint32_t)word;
    }
    s->front = APART;
    s->rear = 0;
    for (int i = 0; i < DISCARDED; i++)
        step(s);
}

static struct state *mine(void) {
    struct state *s = &own;
    if (!s->ready) {
        unsigned number = __atomic_fetch_add(&threads, 1, __ATOMIC_RELAXED);
        start(s, __atomic_load_n(&seed, __ATOMIC_RELAXED) + number);
        /* glibc starts from 0. Further threads are apart by an odd constant. */
        s->x48 = number * 0x9e3779b97f4bULL & 0xffffffffffffULL;
        s->ready = 1;
    }
    return s;
}

long random(void) { return (long)step(mine()); }

int rand(void) { return (int)step(mine()); }

void srandom(unsigned from) {
    struct state *s = mine();
    __atomic_store_n(&seed, from, __ATOMIC_RELAXED);
    start(s, from);
}

void srand(unsigned from) { srandom(from); }

/* drand48(3): x' = (a x + c) mod 2^48, with a and c as the manual page gives them. */
static uint64_t next48(void) {
    struct state *s = mine();
    return s->x48 = (s->x48 * 0x5deece66dULL + 0xb) & 0xffffffffffffULL;
}

double drand48(void) { return (double)next48() / 281474976710656.0; }

long lrand48(void) { return (long)(next48() >> 17); }

long mrand48(void) { return (long)(int32_t)(next48() >> 16); }

void srand48(long from) { mine()->x48 = ((uint64_t)(uint32_t)from << 16) | 0x330e; }
