/* Threads and memory, for tests of what is seen of shared cache lines and of waiting loops. The first argument says
 * what to do, the second for how many milliseconds. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE 64

struct counter {
	volatile uint64_t value;
};

static _Alignas(2 * LINE) struct counter packed[LINE / sizeof(struct counter)];
static _Alignas(2 * LINE) struct {
	_Alignas(2 * LINE) volatile uint64_t value;
} padded[4];
static _Alignas(2 * LINE) _Atomic uint64_t total;
static _Alignas(2 * LINE) atomic_int locked;
static _Alignas(2 * LINE) volatile uint64_t turn;
static _Alignas(2 * LINE) const uint64_t table[8] = { 1, 2, 3, 4, 5, 6, 7, 8 };
static _Alignas(2 * LINE) volatile uint64_t protected;
static _Alignas(2 * LINE) pthread_spinlock_t spin;
static _Alignas(2 * LINE) atomic_ulong sequence;
static volatile int stop;
static uint64_t sink;
static pthread_t threads[2];

static void *count_packed(void *number)
{
	volatile uint64_t *own = &packed[(uintptr_t)number].value;
	while (!stop)
		for (int i = 0; i < 1000; i++)
			++*own; /* OWN COUNTER */
	return NULL;
}

static void *count_padded(void *number)
{
	volatile uint64_t *own = &padded[(uintptr_t)number].value;
	while (!stop)
		for (int i = 0; i < 1000; i++)
			++*own;
	return NULL;
}

/* Two members of one object, which is reached only through a pointer in the code. */
struct statistics {
	uint64_t kind;
	volatile uint64_t hits;
	volatile uint64_t misses;
};

static __attribute__((noinline)) void count_hits(struct statistics *own)
{
	while (!stop)
		for (int i = 0; i < 1000; i++)
			own->hits++;
}

static __attribute__((noinline)) void count_misses(struct statistics *own)
{
	while (!stop)
		for (int i = 0; i < 1000; i++)
			own->misses++;
}

static struct statistics *statistics(void)
{
	static struct statistics *only;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&lock);
	if (!only)
		only = aligned_alloc(2 * LINE, 2 * LINE);
	pthread_mutex_unlock(&lock);
	return only;
}

static void *count_members(void *number)
{
	if (number)
		count_misses(statistics());
	else
		count_hits(statistics());
	return NULL;
}

static void *count_atomic(void *number)
{
	(void)number;
	while (!stop)
		for (int i = 0; i < 1000; i++)
			atomic_fetch_add(&total, 1);
	return NULL;
}

static void *read_only(void *number)
{
	uint64_t sum = (uintptr_t)number;
	while (!stop)
		for (int i = 0; i < 1000; i++)
			sum += *(const volatile uint64_t *)&table[(sum + (unsigned)i) % 8];
	__atomic_fetch_add(&sink, sum, __ATOMIC_RELAXED);
	return NULL;
}

/* In turns, one waits until the other has worked for a while. */
static void *take_turns(void *number)
{
	uint64_t own = (uintptr_t)number, work = own;
	while (!stop) {
		while (turn % 2 != own && !stop) /* WAITS FOR ITS TURN */
			;
		for (int i = 0; i < 200000; i++)
			work = work * 6364136223846793005u + 1;
		turn = turn + 1; /* ENDS ITS TURN */
	}
	__atomic_fetch_add(&sink, work, __ATOMIC_RELAXED);
	return NULL;
}

static void *spin_lock(void *number)
{
	uint64_t work = (uintptr_t)number;
	while (!stop) {
		while (atomic_exchange(&locked, 1)) /* TAKES THE LOCK */
			while (atomic_load(&locked)) /* WAITS FOR THE LOCK */
				__builtin_ia32_pause();
		for (int i = 0; i < 2000; i++)
			work = work * 6364136223846793005u + 1;
		protected = protected + 1;
		atomic_store(&locked, 0);
	}
	__atomic_fetch_add(&sink, work, __ATOMIC_RELAXED);
	return NULL;
}

static void *yielding(void *number)
{
	uint64_t own = (uintptr_t)number, work = own;
	while (!stop) {
		while (turn % 2 != own && !stop) /* YIELDS UNTIL ITS TURN */
			sched_yield();
		for (int i = 0; i < 200000; i++)
			work = work * 6364136223846793005u + 1;
		turn = turn + 1; /* YIELDED TURN */
	}
	__atomic_fetch_add(&sink, work, __ATOMIC_RELAXED);
	return NULL;
}

static void *library_spin_lock(void *number)
{
	uint64_t work = (uintptr_t)number;
	while (!stop) {
		pthread_spin_lock(&spin); /* LOCKS BY THE LIBRARY */
		for (int i = 0; i < 2000; i++)
			work = work * 6364136223846793005u + 1;
		protected = protected + 1;
		pthread_spin_unlock(&spin);
	}
	__atomic_fetch_add(&sink, work, __ATOMIC_RELAXED);
	return NULL;
}

static __attribute__((noinline)) void write_sequence(void)
{
	atomic_store(&sequence, sequence + 1); /* ODD WHILE IT WRITES */
	for (int i = 0; i < 20000; i++)
		protected = protected + 1;
	atomic_store(&sequence, sequence + 1);
}

static __attribute__((noinline)) uint64_t read_sequence(void)
{
	unsigned long before;
	uint64_t value;
	do {
		while ((before = atomic_load(&sequence)) & 1) /* WAITS FOR THE WRITER */
			;
		value = protected;
	} while (atomic_load(&sequence) != before);
	return value;
}

/* One writes under a sequence lock, the other reads. */
static void *sequence_lock(void *number)
{
	uint64_t sum = 0;
	while (!stop) {
		if (number)
			sum += read_sequence();
		else
			write_sequence();
		for (int i = 0; i < 100; i++)
			sum = sum * 6364136223846793005u + 1;
	}
	__atomic_fetch_add(&sink, sum, __ATOMIC_RELAXED);
	return NULL;
}

static const struct {
	const char *name;
	void *(*run)(void *);
} all[] = {
	{ "packed", count_packed }, { "padded", count_padded }, { "atomic", count_atomic }, { "table", read_only },
	{ "turns", take_turns },    { "lock", spin_lock },	{ "yield", yielding },
	{ "members", count_members }, { "library", library_spin_lock }, { "sequence", sequence_lock },
};

int main(int argc, char **argv)
{
	long length = argc > 2 ? atol(argv[2]) : 0;
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (argc < 2 || strcmp(argv[1], all[i].name))
			continue;
		for (uintptr_t t = 0; t < 2; t++)
			if (pthread_create(&threads[t], NULL, all[i].run, (void *)t))
				return 2;
		struct timespec time = { length / 1000, length % 1000 * 1000000 };
		nanosleep(&time, NULL);
		stop = 1;
		for (int t = 0; t < 2; t++)
			pthread_join(threads[t], NULL);
		printf("%llu %llu\n", (unsigned long long)(sink + total), (unsigned long long)&packed);
		return 0;
	}
	return 2;
}
