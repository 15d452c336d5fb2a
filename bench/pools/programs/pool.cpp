// Jobs that each need one of a few connections: THREADS SIZE JOBS HELD BUILT.
//
// HELD is what a job does while it has one: sleep, compute, io (write and fsync), lock (a sixth of it behind a mutex that
// all share). BUILT is how the pool is made: condvar or semaphore.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <semaphore>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace std::chrono_literals;

struct Connection {
    FILE *file = std::tmpfile();
};

class WithCondition {
public:
    explicit WithCondition(size_t size) : free_(size) {}
    Connection acquire() {
        std::unique_lock lock(mutex_);
        returned_.wait(lock, [this] { return !free_.empty(); });
        Connection taken = free_.back();
        free_.pop_back();
        return taken;
    }
    void release(Connection connection) {
        {
            std::lock_guard lock(mutex_);
            free_.push_back(connection);
        }
        returned_.notify_one();
    }

private:
    std::mutex mutex_;
    std::condition_variable returned_;
    std::vector<Connection> free_;
};

class WithSemaphore {
public:
    explicit WithSemaphore(size_t size) : left_(static_cast<ptrdiff_t>(size)), free_(size) {}
    Connection acquire() {
        left_.acquire();
        std::lock_guard lock(mutex_);
        Connection taken = free_.back();
        free_.pop_back();
        return taken;
    }
    void release(Connection connection) {
        {
            std::lock_guard lock(mutex_);
            free_.push_back(connection);
        }
        left_.release();
    }

private:
    std::counting_semaphore<1024> left_;
    std::mutex mutex_;
    std::vector<Connection> free_;
};

static std::mutex catalogue;

static void compute(std::chrono::microseconds wanted) {
    volatile unsigned long hash = 1;
    // A million steps take about 1.5 ms: the work is the same however long it takes.
    for (long step = wanted.count() * 650; step > 0; step--) hash = hash * 31 + 7;
}

static void query(Connection &connection, const std::string &held) {
    if (held == "compute") compute(4000us);
    if (held == "sleep") std::this_thread::sleep_for(5ms);
    if (held == "io") {
        std::fputs("an order\n", connection.file);
        std::fflush(connection.file);
        fsync(fileno(connection.file));
        std::this_thread::sleep_for(3ms);
    }
    if (held == "lock") {
        std::this_thread::sleep_for(5ms);
        std::lock_guard lock(catalogue);
        std::this_thread::sleep_for(1ms);
    }
}

template <typename Pool> static void run(Pool &pool, int threads, int jobs, const std::string &held) {
    std::atomic<int> next = 0;
    std::vector<std::jthread> workers;
    for (int n = 0; n < threads; n++) {
        workers.emplace_back([&] {
            while (next++ < jobs) {
                Connection connection = pool.acquire();
                query(connection, held);
                pool.release(connection);
                compute(200us);
            }
        });
    }
}

int main(int count, char **words) {
    if (count < 6) return 2;
    int threads = std::atoi(words[1]), jobs = std::atoi(words[3]);
    size_t size = std::strtoul(words[2], nullptr, 10);
    auto begin = std::chrono::steady_clock::now();
    if (std::string(words[5]) == "condvar") {
        WithCondition pool(size);
        run(pool, threads, jobs, words[4]);
    } else {
        WithSemaphore pool(size);
        run(pool, threads, jobs, words[4]);
    }
    std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    std::printf("%.1f jobs/s\n", jobs / took.count());
}
