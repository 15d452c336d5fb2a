#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

struct Row {
    uint32_t id = 0;
    uint32_t cents = 0;
    uint32_t quantity = 0;
    uint32_t region = 0;
};

using Batch = std::vector<Row>;

class BatchQueue {
public:
    void push(Batch b)
    {
        std::unique_lock<std::mutex> lk(mu_);
        room_.wait(lk, [&] { return items_.size() < 16; });
        items_.push_back(std::move(b));
        lk.unlock();
        filled_.notify_one();
    }
    [[gnu::noinline]] bool pop(Batch &b)
    {
        std::unique_lock<std::mutex> lk(mu_);
        filled_.wait(lk, [&] { return !items_.empty() || closed_; });
        if (items_.empty())
            return false;
        b = std::move(items_.front());
        items_.pop_front();
        lk.unlock();
        room_.notify_one();
        return true;
    }
    void close()
    {
        std::lock_guard<std::mutex> lk(mu_);
        closed_ = true;
        filled_.notify_all();
    }

private:
    std::mutex mu_;
    std::condition_variable room_, filled_;
    std::deque<Batch> items_;
    bool closed_ = false;
};

static constexpr size_t kBatchRows = 1024;

static std::string make_text()
{
    std::string s;
    s.reserve(2200000);
    uint32_t x = 4242;
    char line[64];
    while (s.size() < 2000000) {
        x = x * 1664525u + 1013904223u;
        std::snprintf(line, sizeof line, "%u,%u.%02u,%u,%u\n", x >> 8, (x >> 16) % 9000, (x >> 10) % 100,
                      (x >> 20) % 50, (x >> 28));
        s += line;
    }
    return s;
}

[[gnu::noinline]] static uint32_t parse_text(const std::string &text, BatchQueue &queue)
{
    Batch batch;
    batch.reserve(kBatchRows);
    uint32_t field[4] = {};
    uint32_t value = 0, check = 2166136261u;
    int col = 0;
    for (char c : text) {
        check = (check ^ static_cast<unsigned char>(c)) * 16777619u;
        if (c >= '0' && c <= '9') {
            value = value * 10 + static_cast<uint32_t>(c - '0');
        } else if (c == ',') {
            field[col & 3] = value;
            value = 0;
            col++;
        } else if (c == '\n') {
            field[col & 3] = value;
            batch.push_back(Row{field[0], field[1], field[2], field[3]});
            value = 0;
            col = 0;
            if (batch.size() == kBatchRows) {
                queue.push(std::move(batch));
                batch = Batch();
                batch.reserve(kBatchRows);
            }
        }
    }
    if (!batch.empty())
        queue.push(std::move(batch));
    return check;
}

[[gnu::noinline]] static void aggregate(const Batch &b, std::vector<uint64_t> &totals)
{
    for (const Row &r : b)
        totals[r.region & 15] += static_cast<uint64_t>(r.cents) * r.quantity + (r.id & 7);
}

static void worker_main(BatchQueue *queue, std::vector<uint64_t> *totals)
{
    Batch b;
    while (queue->pop(b))
        aggregate(b, *totals);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 1;
    if (threads < 1)
        threads = 1;
    int passes = argc > 2 ? std::atoi(argv[2]) : 120;
    const std::string text = make_text();
    BatchQueue queue;
    std::vector<std::vector<uint64_t>> totals(static_cast<size_t>(threads), std::vector<uint64_t>(16));
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++)
        pool.emplace_back(worker_main, &queue, &totals[static_cast<size_t>(t)]);
    uint32_t check = 0;
    std::thread parser([&] {
        for (int p = 0; p < passes; p++)
            check ^= parse_text(text, queue) + static_cast<uint32_t>(p);
        queue.close();
    });
    parser.join();
    for (auto &th : pool)
        th.join();
    uint64_t sum = 0;
    for (const auto &t : totals)
        for (uint64_t v : t)
            sum += v;
    std::printf("passes %d total %llu check %x\n", passes, static_cast<unsigned long long>(sum), check);
    return 0;
}
