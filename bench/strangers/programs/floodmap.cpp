// floodmap - spreads rain water over a height map.
//
// Every sweep lets each cell exchange water with its four neighbours; the
// sweeps are run in parallel over bands of rows.
//
// usage: floodmap THREADS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <utility>
#include <vector>

namespace {

constexpr int kWidth = 32;
constexpr int kHeight = 32;
constexpr int kSweeps = 14000;

using RowFunction = std::function<void(int firstRow, int endRow)>;

// Runs fn over [0, rows) in as many bands as there are workers.
void parallelRows(int rows, int workers, const RowFunction& fn) {
    std::vector<std::future<void>> bands;
    bands.reserve(static_cast<size_t>(workers));
    for (int w = 0; w < workers; ++w) {
        int first = rows * w / workers;
        int end = rows * (w + 1) / workers;
        bands.push_back(std::async(std::launch::async, fn, first, end));
    }
    for (auto& band : bands) band.get();
}

class FloodMap {
public:
    FloodMap() : height_(kCells), water_(kCells), next_(kCells) {
        uint32_t s = 747796405u;
        for (int i = 0; i < kCells; ++i) {
            s = s * 1664525u + 1013904223u;
            int x = i % kWidth;
            int y = i / kWidth;
            int slope = (x - kWidth / 2) * (x - kWidth / 2) + (y - kHeight / 2) * (y - kHeight / 2);
            height_[idx(i)] = slope * 8 + static_cast<int>((s >> 20) & 0xff);
        }
    }

    // Rain falls on one cell per sweep, going round the map.
    void rain(int sweep) {
        int cell = static_cast<int>((static_cast<int64_t>(sweep) * 7907) % kCells);
        water_[idx(cell)] += 4096;
    }

    void sweepRows(int firstRow, int endRow) {
        for (int y = firstRow; y < endRow; ++y) {
            for (int x = 0; x < kWidth; ++x) {
                int i = y * kWidth + x;
                int32_t here = water_[idx(i)];
                if (x > 0) here += flow(i - 1, i);
                if (x < kWidth - 1) here += flow(i + 1, i);
                if (y > 0) here += flow(i - kWidth, i);
                if (y < kHeight - 1) here += flow(i + kWidth, i);
                next_[idx(i)] = here;
            }
        }
    }

    void commit() { std::swap(water_, next_); }

    int64_t volume() const {
        int64_t sum = 0;
        for (int32_t w : water_) sum += w;
        return sum;
    }

    int deepest() const {
        int best = 0;
        for (int i = 1; i < kCells; ++i)
            if (water_[idx(i)] > water_[idx(best)]) best = i;
        return best;
    }

    int32_t depth(int cell) const { return water_[idx(cell)]; }

private:
    static constexpr int kCells = kWidth * kHeight;
    static size_t idx(int i) { return static_cast<size_t>(i); }

    // What leaves cell a for cell b, at most a fifth of its water.
    int32_t outflow(int a, int b) const {
        int32_t diff = (height_[idx(a)] + water_[idx(a)]) - (height_[idx(b)] + water_[idx(b)]);
        if (diff <= 0) return 0;
        int32_t limit = water_[idx(a)] / 5;
        int32_t wish = diff >> 3;
        return wish < limit ? wish : limit;
    }

    int32_t flow(int from, int to) const { return outflow(from, to) - outflow(to, from); }

    std::vector<int32_t> height_;
    std::vector<int32_t> water_;
    std::vector<int32_t> next_;
};

}  // namespace

int main(int argc, char** argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 1;
    if (n < 1 || n > kHeight) {
        std::fprintf(stderr, "usage: floodmap THREADS\n");
        return 2;
    }
    FloodMap map;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
        map.rain(sweep);
        parallelRows(kHeight, n, [&map](int first, int end) { map.sweepRows(first, end); });
        map.commit();
    }
    int deep = map.deepest();
    std::printf("sweeps %d volume %lld deepest (%d,%d) depth %d\n", kSweeps,
                static_cast<long long>(map.volume()), deep % kWidth, deep / kWidth,
                static_cast<int>(map.depth(deep)));
    return 0;
}
