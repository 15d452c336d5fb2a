/* Turns ordinary mutexes into adaptive ones: a thread that finds one taken spins for a while before it sleeps.
 *
 * glibc on 64-bit machines: the fifth int of a pthread_mutex_t is its kind (bits/struct_mutex.h since 2.30, the same place
 * before); 0 is PTHREAD_MUTEX_TIMED_NP, the default, and 3 is PTHREAD_MUTEX_ADAPTIVE_NP. Both are unlocked in the same way,
 * so a mutex may change its kind while it is held.
 */

enum { KIND = 4, ORDINARY = 0, ADAPTIVE = 3 };

/* Weak: before glibc 2.34 it is in libpthread, which a program without threads may not load. */
extern int __pthread_mutex_lock(int *mutex) __attribute__((weak));

int pthread_mutex_lock(int *mutex) {
    if (__atomic_load_n(&mutex[KIND], __ATOMIC_RELAXED) == ORDINARY)
        __atomic_store_n(&mutex[KIND], ADAPTIVE, __ATOMIC_RELAXED);
    return __pthread_mutex_lock ? __pthread_mutex_lock(mutex) : 0;
}
