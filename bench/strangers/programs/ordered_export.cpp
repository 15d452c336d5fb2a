#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

struct Record {
    unsigned char body[1024];
    uint64_t digest;
};

class Exporter {
public:
    [[gnu::noinline]] void commit(long seq, const Record &rec)
    {
        std::unique_lock<std::mutex> lk(mu_);
        ready_.wait(lk, [&] { return next_ == seq; });
        size_t at = static_cast<size_t>(seq & 63) * 16;
        std::memcpy(page_ + at, rec.body, 16);
        digest_ = (digest_ ^ rec.digest) * 1099511628211ull;
        next_++;
        ready_.notify_all();
    }
    uint64_t digest() const { return digest_; }

private:
    std::mutex mu_;
    std::condition_variable ready_;
    long next_ = 0;
    uint64_t digest_ = 1469598103934665603ull;
    unsigned char page_[1024] = {};
};

[[gnu::noinline]] static void encode(long seq, Record &rec)
{
    uint64_t h = 1469598103934665603ull ^ static_cast<uint64_t>(seq);
    for (int pass = 0; pass < 3; pass++) {
        for (size_t i = 0; i < sizeof rec.body; i++) {
            h = (h ^ (rec.body[i] + i)) * 1099511628211ull;
            rec.body[i] = static_cast<unsigned char>(h >> 32);
        }
    }
    rec.digest = h;
}

static void export_share(Exporter *ex, int index, int stride, long total)
{
    Record rec;
    for (long seq = index; seq < total; seq += stride) {
        std::memset(rec.body, static_cast<int>(seq & 127), sizeof rec.body);
        encode(seq, rec);
        ex->commit(seq, rec);
    }
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? std::atoi(argv[1]) : 1;
    if (threads < 1)
        threads = 1;
    long total = argc > 2 ? std::atol(argv[2]) : 150000;
    Exporter ex;
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++)
        pool.emplace_back(export_share, &ex, t, threads, total);
    for (auto &th : pool)
        th.join();
    std::printf("records %ld digest %llx\n", total, static_cast<unsigned long long>(ex.digest()));
    return 0;
}
