#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

struct Canvas {
    int width;
    int height;
    std::vector<uint16_t> pixels;
};

static constexpr int kMaxIter = 1000;
static constexpr int kRowsPerTask = 8;

[[gnu::noinline]] static void render_row(Canvas &cv, int y)
{
    const double ci = -1.2 + 2.4 * y / cv.height;
    uint16_t *row = cv.pixels.data() + static_cast<size_t>(y) * static_cast<size_t>(cv.width);
    for (int x = 0; x < cv.width; x++) {
        const double cr = -2.0 + 3.0 * x / cv.width;
        double zr = 0.0, zi = 0.0;
        int n = 0;
        while (n < kMaxIter) {
            const double r2 = zr * zr, i2 = zi * zi;
            if (r2 + i2 > 4.0)
                break;
            zi = 2.0 * zr * zi + ci;
            zr = r2 - i2 + cr;
            n++;
        }
        row[x] = static_cast<uint16_t>(n);
    }
}

static void render_worker(Canvas *cv, std::atomic<int> *next)
{
    for (;;) {
        const int first = next->fetch_add(kRowsPerTask, std::memory_order_relaxed);
        if (first >= cv->height)
            return;
        const int last = first + kRowsPerTask < cv->height ? first + kRowsPerTask : cv->height;
        for (int y = first; y < last; y++)
            render_row(*cv, y);
    }
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 1;
    if (threads < 1)
        threads = 1;
    Canvas cv;
    cv.width = 1200;
    cv.height = argc > 2 ? std::atoi(argv[2]) : 800;
    cv.pixels.resize(static_cast<size_t>(cv.width) * static_cast<size_t>(cv.height));
    std::atomic<int> next{0};
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++)
        pool.emplace_back(render_worker, &cv, &next);
    for (auto &th : pool)
        th.join();
    uint64_t sum = 0;
    for (uint16_t p : cv.pixels)
        sum += p;
    std::printf("iterations %llu\n", static_cast<unsigned long long>(sum));
    return 0;
}
