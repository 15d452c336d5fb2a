#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

struct Settings {
    std::array<uint32_t, 64> limits{};
    std::array<uint32_t, 64> weights{};
    std::string region;
};

using SettingsPtr = std::shared_ptr<const Settings>;

static SettingsPtr active;

static SettingsPtr load_settings()
{
    auto s = std::make_shared<Settings>();
    for (size_t i = 0; i < 64; i++) {
        s->limits[i] = 400 + static_cast<uint32_t>(i * 37 % 600);
        s->weights[i] = 1 + static_cast<uint32_t>(i * 11 % 7);
    }
    s->region = "eu-central";
    return s;
}

[[gnu::noinline]] static uint32_t limit_for(SettingsPtr s, uint32_t tenant)
{
    return s->limits[tenant & 63];
}

[[gnu::noinline]] static uint32_t weight_for(SettingsPtr s, uint32_t tenant)
{
    return s->weights[tenant & 63];
}

[[gnu::noinline]] static bool admit(uint32_t tenant, uint32_t cost)
{
    SettingsPtr current = active;
    uint32_t limit = limit_for(current, tenant);
    uint32_t weight = weight_for(current, tenant);
    return cost * weight <= limit * 3;
}

static void run_requests(long first, long last, uint64_t seed, uint64_t *accepted)
{
    uint64_t x = seed;
    uint64_t ok = 0;
    for (long i = first; i < last; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        uint32_t tenant = static_cast<uint32_t>(x >> 40);
        uint32_t cost = static_cast<uint32_t>(x >> 33) % 1000;
        ok += admit(tenant, cost);
    }
    *accepted = ok;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 1;
    if (threads < 1)
        threads = 1;
    long total = argc > 2 ? std::atol(argv[2]) : 14000000;
    active = load_settings();
    std::vector<uint64_t> accepted(static_cast<size_t>(threads));
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++) {
        long first = total * t / threads;
        long last = total * (t + 1) / threads;
        pool.emplace_back(run_requests, first, last, 17u + static_cast<uint64_t>(t) * 101u,
                          &accepted[static_cast<size_t>(t)]);
    }
    for (auto &th : pool)
        th.join();
    uint64_t sum = 0;
    for (uint64_t a : accepted)
        sum += a;
    std::printf("accepted %llu of %ld (%s)\n", static_cast<unsigned long long>(sum), total,
                active->region.c_str());
    return 0;
}
