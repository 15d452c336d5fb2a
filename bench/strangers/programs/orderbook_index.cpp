#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

struct Level {
    uint64_t quantity = 0;
    uint32_t orders = 0;
};

class Book {
public:
    Book()
    {
        for (uint32_t p = 0; p < 512; p++)
            levels_.emplace(p * 5, Level{});
    }
    [[gnu::noinline]] uint64_t apply(uint32_t price, uint32_t quantity)
    {
        std::lock_guard<std::mutex> lk(mu_);
        auto it = levels_.lower_bound(price);
        if (it == levels_.end())
            it = levels_.begin();
        it->second.quantity += quantity;
        it->second.orders++;
        return it->second.quantity;
    }
    uint64_t depth() const
    {
        uint64_t sum = 0;
        for (const auto &kv : levels_)
            sum += kv.second.quantity;
        return sum;
    }

private:
    std::mutex mu_;
    std::map<uint32_t, Level> levels_;
};

static Book book;

static void feed(long first, long last, uint64_t seed, uint64_t *seen)
{
    uint64_t x = seed;
    uint64_t s = 0;
    for (long i = first; i < last; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        s ^= book.apply(static_cast<uint32_t>(x >> 20) % 2560, static_cast<uint32_t>(x >> 50));
    }
    *seen = s;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 1;
    if (threads < 1)
        threads = 1;
    long total = argc > 2 ? std::atol(argv[2]) : 7000000;
    std::vector<uint64_t> seen(static_cast<size_t>(threads));
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++)
        pool.emplace_back(feed, total * t / threads, total * (t + 1) / threads,
                          7046029254386353131ull + static_cast<uint64_t>(t) * 977u,
                          &seen[static_cast<size_t>(t)]);
    for (auto &th : pool)
        th.join();
    uint64_t x = 0;
    for (uint64_t s : seen)
        x ^= s;
    std::printf("orders %ld depth %llu (%llx)\n", total, static_cast<unsigned long long>(book.depth()),
                static_cast<unsigned long long>(x));
    return 0;
}
