#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include <thread>
#include <vector>

static constexpr size_t kWidth = 1024;
static constexpr size_t kHeight = 768;

[[gnu::noinline]] static uint64_t process_frame(long seq)
{
    unsigned char *plane = static_cast<unsigned char *>(std::malloc(kWidth * kHeight));
    if (!plane)
        return 0;
    uint64_t sum = 0;
    for (size_t y = 0; y < kHeight; y++) {
        unsigned char *row = plane + y * kWidth;
        for (size_t x = 0; x < kWidth; x += 64)
            row[x] = static_cast<unsigned char>((static_cast<size_t>(seq) + x * 3 + y) >> 2);
    }
    for (size_t y = 0; y < kHeight; y += 4)
        sum += plane[y * kWidth] + plane[y * kWidth + 512];
    std::free(plane);
    return sum;
}

static void run_share(long first, long last, uint64_t *out)
{
    uint64_t sum = 0;
    for (long i = first; i < last; i++)
        sum += process_frame(i);
    *out = sum;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 1;
    if (threads < 1)
        threads = 1;
    long frames = argc > 2 ? std::atol(argv[2]) : 7000;
    mallopt(M_MMAP_THRESHOLD, 256 * 1024);
    std::vector<uint64_t> sums(static_cast<size_t>(threads));
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++)
        pool.emplace_back(run_share, frames * t / threads, frames * (t + 1) / threads,
                          &sums[static_cast<size_t>(t)]);
    for (auto &th : pool)
        th.join();
    uint64_t sum = 0;
    for (uint64_t s : sums)
        sum += s;
    std::printf("frames %ld sum %llu\n", frames, static_cast<unsigned long long>(sum));
    return 0;
}
