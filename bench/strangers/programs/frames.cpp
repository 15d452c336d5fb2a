// Unpacks a stream of picture frames and measures the motion between them.
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

constexpr int kFrames = 1900;
constexpr int kSide = 256;

struct Frame {
    int number = 0;
    std::vector<std::uint8_t> pixels = std::vector<std::uint8_t>(kSide * kSide);
};

using FramePtr = std::shared_ptr<const Frame>;

template <typename T>
class Queue {
public:
    explicit Queue(std::size_t limit) : limit_(limit) {}

    void put(T item) {
        std::unique_lock hold(mutex_);
        room_.wait(hold, [this] { return items_.size() < limit_; });
        items_.push_back(std::move(item));
        filled_.notify_one();
    }

    std::optional<T> get() {
        std::unique_lock hold(mutex_);
        filled_.wait(hold, [this] { return !items_.empty() || closed_; });
        if (items_.empty())
            return std::nullopt;
        T item = std::move(items_.front());
        items_.pop_front();
        room_.notify_one();
        return item;
    }

    void close() {
        std::lock_guard hold(mutex_);
        closed_ = true;
        filled_.notify_all();
    }

private:
    std::mutex mutex_;
    std::condition_variable filled_, room_;
    std::deque<T> items_;
    std::size_t limit_;
    bool closed_ = false;
};

// Rebuilds the pixels from the coded differences of the stream.
class Decoder {
public:
    FramePtr next() {
        auto frame = std::make_shared<Frame>();
        frame->number = number_++;
        std::uint8_t *p = frame->pixels.data();
        std::uint8_t left = 0;
        for (int i = 0; i < kSide * kSide; ++i) {
            left = std::uint8_t(left + symbol());
            p[i] = std::uint8_t((left + previous_[i]) / 2);
            previous_[i] = p[i];
        }
        return frame;
    }

private:
    int symbol() {
        int length = 0;
        while (length < 6 && bit())
            ++length;
        return (length & 1) ? -(length + 1) / 2 : length / 2;
    }

    bool bit() {
        if (left_ == 0) {
            state_ ^= state_ << 13;
            state_ ^= state_ >> 7;
            state_ ^= state_ << 17;
            left_ = 64;
            bits_ = state_;
        }
        --left_;
        bool b = bits_ & 1;
        bits_ >>= 1;
        return b;
    }

    std::uint64_t state_ = 88172645463325252ull, bits_ = 0;
    int left_ = 0, number_ = 0;
    std::array<std::uint8_t, kSide * kSide> previous_{};
};

struct Pair {
    FramePtr before, after;
};

double motion(const Pair &pair) {
    long sum = 0;
    for (int y = 1; y < kSide - 1; ++y)
        for (int x = 1; x < kSide - 1; ++x) {
            int i = y * kSide + x;
            int d = pair.after->pixels[i] - pair.before->pixels[i];
            sum += std::abs(d);
        }
    return double(sum) / (kSide * kSide);
}

int main(int argc, char **argv) {
    int workers = argc > 1 ? std::atoi(argv[1]) : 1;
    Queue<Pair> queue(16);
    std::vector<double> sums(workers);
    std::vector<std::thread> pool;
    for (int w = 0; w < workers; ++w)
        pool.emplace_back([&, w] {
            double sum = 0;
            while (auto pair = queue.get())
                sum += motion(*pair);
            sums[w] = sum;
        });
    std::thread source([&] {
        Decoder decoder;
        FramePtr before = decoder.next();
        for (int f = 1; f < kFrames; ++f) {
            FramePtr after = decoder.next();
            queue.put({before, after});
            before = std::move(after);
        }
        queue.close();
    });
    source.join();
    double total = 0;
    for (int w = 0; w < workers; ++w) {
        pool[w].join();
        total += sums[w];
    }
    std::printf("mean motion %.4f\n", total / (kFrames - 1));
}
