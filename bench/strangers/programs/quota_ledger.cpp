#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

class Gate {
public:
    [[gnu::noinline]] void enter()
    {
        while (busy_.exchange(true, std::memory_order_acquire))
            __builtin_ia32_pause();
    }
    void leave() { busy_.store(false, std::memory_order_release); }

private:
    std::atomic<bool> busy_{false};
};

class Ledger {
public:
    [[gnu::noinline]] bool charge(uint32_t account, uint32_t units)
    {
        gate_.enter();
        uint64_t window = 0;
        for (uint32_t v : recent_)
            window += v;
        bool granted = window < 16 * 900;
        recent_[pos_++ & 15] = granted ? units : units / 2;
        balance_[account & 255] += granted ? units : 0;
        gate_.leave();
        return granted;
    }
    uint64_t total() const
    {
        uint64_t sum = 0;
        for (uint64_t b : balance_)
            sum += b;
        return sum;
    }

private:
    Gate gate_;
    alignas(64) uint32_t recent_[16] = {};
    uint32_t pos_ = 0;
    alignas(64) uint64_t balance_[256] = {};
};

static Ledger ledger;

static void run_client(long first, long last, uint64_t seed, long *granted)
{
    uint64_t x = seed;
    long n = 0;
    for (long i = first; i < last; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t h = x;
        h ^= h >> 33;
        h *= 0xff51afd7ed558ccdull;
        h ^= h >> 33;
        n += ledger.charge(static_cast<uint32_t>(h), static_cast<uint32_t>(h >> 40) % 1000);
    }
    *granted = n;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 1;
    if (threads < 1)
        threads = 1;
    long total = argc > 2 ? std::atol(argv[2]) : 20000000;
    std::vector<long> granted(static_cast<size_t>(threads));
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++)
        pool.emplace_back(run_client, total * t / threads, total * (t + 1) / threads,
                          91u + static_cast<uint64_t>(t) * 13u, &granted[static_cast<size_t>(t)]);
    for (auto &th : pool)
        th.join();
    long n = 0;
    for (long g : granted)
        n += g;
    std::printf("charges %ld granted %ld units %llu\n", total, n,
                static_cast<unsigned long long>(ledger.total()));
    return 0;
}
