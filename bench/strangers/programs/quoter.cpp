// quoter - answers price requests from the most recent market board.
//
// The board is immutable; a refresher publishes a new revision every few
// milliseconds, and requests that are in progress keep the one they started
// with.
//
// usage: quoter THREADS
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kInstruments = 256;
constexpr uint64_t kRequests = 11000000;
constexpr auto kRefreshPeriod = std::chrono::milliseconds(25);

struct Instrument {
    int64_t bid;        // in ticks
    int64_t ask;
    int64_t lotSize;
    int64_t skew;
};

struct MarketBoard {
    uint64_t revision = 0;
    std::vector<Instrument> instruments;
};

using BoardPtr = std::shared_ptr<const MarketBoard>;

class BoardStore {
public:
    void publish(BoardPtr board) { std::atomic_store(&current_, std::move(board)); }
    BoardPtr snapshot() const { return std::atomic_load(&current_); }

private:
    BoardPtr current_;
};

struct Request {
    uint32_t instrument;
    int64_t quantity;
    bool buy;
};

struct Totals {
    int64_t notional = 0;
    uint64_t buys = 0;
    uint64_t digest = 0;
};

uint64_t mix(uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    x ^= x >> 33;
    return x;
}

BoardPtr openingBoard() {
    auto board = std::make_shared<MarketBoard>();
    board->instruments.reserve(kInstruments);
    for (int i = 0; i < kInstruments; ++i) {
        uint64_t h = mix(static_cast<uint64_t>(i) + 17);
        Instrument in;
        in.bid = 1000 + static_cast<int64_t>(h % 9000);
        in.ask = in.bid + 1 + static_cast<int64_t>((h >> 20) % 12);
        in.lotSize = 10 << ((h >> 30) % 4);
        in.skew = static_cast<int64_t>((h >> 40) % 5);
        board->instruments.push_back(in);
    }
    return board;
}

Request requestOf(uint64_t id) {
    uint64_t h = mix(id * 0x9e3779b97f4a7c15ull + 1);
    Request r;
    r.instrument = static_cast<uint32_t>(h % kInstruments);
    r.quantity = 1 + static_cast<int64_t>((h >> 16) & 0xff);
    r.buy = ((h >> 40) & 1) != 0;
    return r;
}

int64_t price(const MarketBoard& board, const Request& r) {
    const Instrument& in = board.instruments[r.instrument];
    int64_t lots = (r.quantity + in.lotSize - 1) / in.lotSize;
    int64_t unit = r.buy ? in.ask + in.skew : in.bid - in.skew;
    int64_t impact = lots > 8 ? (lots - 8) * in.skew : 0;
    return unit * lots * in.lotSize + (r.buy ? impact : -impact);
}

class Refresher {
public:
    explicit Refresher(BoardStore& store) : store_(store), thread_([this] { run(); }) {}

    ~Refresher() {
        {
            std::lock_guard<std::mutex> hold(mutex_);
            stopping_ = true;
        }
        wake_.notify_one();
        thread_.join();
    }

private:
    void run() {
        std::unique_lock<std::mutex> hold(mutex_);
        while (!wake_.wait_for(hold, kRefreshPeriod, [this] { return stopping_; })) {
            auto next = std::make_shared<MarketBoard>(*store_.snapshot());
            ++next->revision;
            store_.publish(std::move(next));
        }
    }

    BoardStore& store_;
    std::mutex mutex_;
    std::condition_variable wake_;
    bool stopping_ = false;
    std::thread thread_;
};

void serve(const BoardStore& store, uint64_t first, uint64_t end, Totals& out) {
    Totals local;
    for (uint64_t id = first; id < end; ++id) {
        Request r = requestOf(id);
        BoardPtr board = store.snapshot();
        int64_t value = price(*board, r);
        local.notional += value;
        local.buys += r.buy ? 1 : 0;
        local.digest += mix(static_cast<uint64_t>(value) ^ id);
    }
    out = local;
}

}  // namespace

int main(int argc, char** argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 1;
    if (n < 1 || n > 64) {
        std::fprintf(stderr, "usage: quoter THREADS\n");
        return 2;
    }
    BoardStore store;
    store.publish(openingBoard());

    std::vector<Totals> totals(static_cast<size_t>(n));
    {
        Refresher refresher(store);
        std::vector<std::thread> threads;
        for (int t = 0; t < n; ++t) {
            uint64_t first = kRequests * static_cast<uint64_t>(t) / static_cast<uint64_t>(n);
            uint64_t end = kRequests * static_cast<uint64_t>(t + 1) / static_cast<uint64_t>(n);
            threads.emplace_back(serve, std::cref(store), first, end,
                                 std::ref(totals[static_cast<size_t>(t)]));
        }
        for (auto& th : threads) th.join();
    }

    Totals sum;
    for (const Totals& t : totals) {
        sum.notional += t.notional;
        sum.buys += t.buys;
        sum.digest += t.digest;
    }
    std::printf("requests %llu buys %llu notional %lld digest %016llx\n",
                static_cast<unsigned long long>(kRequests),
                static_cast<unsigned long long>(sum.buys),
                static_cast<long long>(sum.notional),
                static_cast<unsigned long long>(sum.digest));
    return 0;
}
