// Waiting loops over std::atomic (wait_...) and near misses (work_...). See waits.c.
#include <atomic>
#include <cstdint>

#ifdef __aarch64__
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() __builtin_ia32_pause()
#endif

std::atomic<bool> flag{false};
std::atomic<uint64_t> word{0};
std::atomic_flag lock_flag = ATOMIC_FLAG_INIT;

struct spin_lock {
    std::atomic<int> state{0};
    __attribute__((noinline)) void lock()
    {
        for (;;) {
            if (!state.exchange(1, std::memory_order_acquire))
                return;
            while (state.load(std::memory_order_relaxed))
                PAUSE();
        }
    }
};

extern "C" {
void wait_bool()
{
    while (!flag.load())
        ;
}
void wait_bool_pause()
{
    while (!flag.load(std::memory_order_acquire))
        PAUSE();
}
void wait_operator()
{
    while (!flag)
        ;
}
void wait_flag()
{
    while (lock_flag.test_and_set(std::memory_order_acquire))
        ;
}
void wait_value(std::atomic<uint64_t> *p, uint64_t v)
{
    while (p->load(std::memory_order_acquire) < v)
        PAUSE();
}
void wait_lock(spin_lock *l)
{
    l->lock();
}
void work_add(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        word++;
}
void work_multiply(std::atomic<uint64_t> *p)
{
    uint64_t old = p->load();
    while (!p->compare_exchange_weak(old, old * 3))
        ;
}
uint64_t work_scan(const std::atomic<uint64_t> *p)
{
    while (!p->load(std::memory_order_relaxed))
        p++;
    return p->load();
}
}

int main(int argc, char **)
{
    if (argc > 100)
        wait_lock(nullptr), wait_bool(), work_add(1);
}
