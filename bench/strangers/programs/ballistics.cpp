#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

static constexpr int kEntries = 200000;
static constexpr int kSteps = 600;

class RangeTable {
public:
    [[gnu::noinline]] void build()
    {
        range_.resize(kEntries + 1);
        const double dt = 0.02, drag = 0.08, g = 9.81;
        for (int e = 0; e <= kEntries; e++) {
            const double angle = 1.5 * e / kEntries;
            double vx = 320.0 * std::cos(angle), vy = 320.0 * std::sin(angle);
            double x = 0.0, y = 0.0;
            for (int s = 0; s < kSteps; s++) {
                x += vx * dt;
                y += vy * dt;
                vx -= drag * vx * dt;
                vy -= (g + drag * vy) * dt;
            }
            range_[static_cast<size_t>(e)] = x + 0.001 * y;
        }
    }
    double lookup(double u) const
    {
        const double pos = u * kEntries;
        const size_t i = static_cast<size_t>(pos);
        const double f = pos - static_cast<double>(i);
        return range_[i] + f * (range_[i + 1] - range_[i]);
    }

private:
    std::vector<double> range_;
};

[[gnu::noinline]] static long fire(const RangeTable &table, long first, long last, uint64_t seed)
{
    uint64_t x = seed;
    long hits = 0;
    for (long i = first; i < last; i++) {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        const double u = static_cast<double>(x >> 12) * (1.0 / 4503599627370496.0);
        const double d = table.lookup(u) - 1500.0;
        hits += d * d < 250.0 * 250.0;
    }
    return hits;
}

static void run_battery(long first, long last, uint64_t seed, long *hits)
{
    RangeTable table;
    table.build();
    *hits = fire(table, first, last, seed);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 1;
    if (threads < 1)
        threads = 1;
    long shots = argc > 2 ? std::atol(argv[2]) : 30000000;
    std::vector<long> hits(static_cast<size_t>(threads));
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++)
        pool.emplace_back(run_battery, shots * t / threads, shots * (t + 1) / threads,
                          88172645463325252ull + static_cast<uint64_t>(t), &hits[static_cast<size_t>(t)]);
    for (auto &th : pool)
        th.join();
    long sum = 0;
    for (long h : hits)
        sum += h;
    std::printf("shots %ld hits %ld\n", shots, sum);
    return 0;
}
