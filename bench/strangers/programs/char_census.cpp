#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

enum Kind : uint8_t { Letter, Digit, Space, Other };

struct Tally {
    uint64_t count[4];
};

static constexpr size_t kBlock = 64 * 1024;
static constexpr size_t kText = 1024 * 1024;

static uint8_t kind_of[256];
static std::vector<unsigned char> text;

static void prepare()
{
    for (int c = 0; c < 256; c++) {
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))
            kind_of[c] = Letter;
        else if (c >= '0' && c <= '9')
            kind_of[c] = Digit;
        else if (c == ' ' || c == '\n' || c == '\t')
            kind_of[c] = Space;
        else
            kind_of[c] = Other;
    }
    text.resize(kText);
    uint32_t s = 12345;
    for (auto &c : text) {
        s = s * 1664525u + 1013904223u;
        c = static_cast<unsigned char>(32 + (s >> 24) % 95);
    }
}

[[gnu::noinline]] static void scan_block(const unsigned char *p, size_t n, Tally *tally)
{
    for (size_t i = 0; i < n; i++)
        tally->count[kind_of[p[i]]]++;
}

static void scan_share(long first, long last, Tally *tally)
{
    const long blocks = static_cast<long>(kText / kBlock);
    for (long b = first; b < last; b++)
        scan_block(text.data() + static_cast<size_t>(b % blocks) * kBlock, kBlock, tally);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 1;
    if (threads < 1)
        threads = 1;
    long total = argc > 2 ? std::atol(argv[2]) : 10240;
    prepare();
    size_t bytes = (sizeof(Tally) * static_cast<size_t>(threads) + 63) / 64 * 64;
    Tally *tallies = static_cast<Tally *>(std::aligned_alloc(64, bytes));
    if (!tallies)
        return 1;
    std::memset(tallies, 0, bytes);
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++)
        pool.emplace_back(scan_share, total * t / threads, total * (t + 1) / threads, &tallies[t]);
    for (auto &th : pool)
        th.join();
    Tally sum{};
    for (int t = 0; t < threads; t++)
        for (int k = 0; k < 4; k++)
            sum.count[k] += tallies[t].count[k];
    std::printf("letters %llu digits %llu spaces %llu other %llu\n",
                static_cast<unsigned long long>(sum.count[Letter]),
                static_cast<unsigned long long>(sum.count[Digit]),
                static_cast<unsigned long long>(sum.count[Space]),
                static_cast<unsigned long long>(sum.count[Other]));
    std::free(tallies);
    return 0;
}
