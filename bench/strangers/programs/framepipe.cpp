// framepipe - compresses a sequence of camera frames into one stream.
//
// Frames are dealt to the workers in turn.  A worker predicts its frame from
// the previous one and then codes the residual with the adaptive model of
// the stream, frame after frame.
//
// usage: framepipe THREADS
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

namespace {

constexpr int kFrames = 1000;
constexpr int kFrameBytes = 16384;
constexpr int kSceneBytes = 1 << 18;

// What the camera looks at; a frame is a window that drifts over the scene.
class Scene {
public:
    Scene() : pixels_(kSceneBytes) {
        uint32_t s = 0x1badf00du;
        int level = 128;
        for (auto& p : pixels_) {
            s = s * 1664525u + 1013904223u;
            level += static_cast<int>((s >> 28) & 15) - 7;
            if (level < 16) level = 16;
            if (level > 240) level = 240;
            p = static_cast<uint8_t>(level);
        }
    }
    uint8_t at(int frame, int i) const {
        size_t pos = static_cast<size_t>(frame) * 353u + static_cast<size_t>(i);
        return pixels_[pos & (kSceneBytes - 1)];
    }

private:
    std::vector<uint8_t> pixels_;
};

// Binary adaptive range coder over byte symbols.
class StreamCoder {
public:
    StreamCoder() {
        for (auto& p : prob_) p = 1024;
    }

    void code(uint8_t symbol) {
        unsigned node = 1;
        for (int bit = 7; bit >= 0; --bit) {
            unsigned b = (symbol >> bit) & 1u;
            codeBit(prob_[node], b);
            node = node * 2 + b;
        }
    }

    void finish() {
        for (int i = 0; i < 5; ++i) shiftLow();
    }

    uint64_t bytes() const { return bytes_; }
    uint64_t digest() const { return digest_; }

private:
    void codeBit(uint16_t& prob, unsigned bit) {
        uint32_t bound = (range_ >> 11) * prob;
        if (bit == 0) {
            range_ = bound;
            prob = static_cast<uint16_t>(prob + ((2048 - prob) >> 5));
        } else {
            low_ += bound;
            range_ -= bound;
            prob = static_cast<uint16_t>(prob - (prob >> 5));
        }
        while (range_ < (1u << 24)) {
            range_ <<= 8;
            shiftLow();
        }
    }

    void shiftLow() {
        if (static_cast<uint32_t>(low_) < 0xff000000u || (low_ >> 32) != 0) {
            uint8_t carry = static_cast<uint8_t>(low_ >> 32);
            uint8_t byte = cache_;
            do {
                put(static_cast<uint8_t>(byte + carry));
                byte = 0xff;
            } while (--pending_ != 0);
            cache_ = static_cast<uint8_t>(static_cast<uint32_t>(low_) >> 24);
        }
        ++pending_;
        low_ = static_cast<uint32_t>(low_) << 8;
    }

    void put(uint8_t byte) {
        digest_ = (digest_ ^ byte) * 1099511628211ull;
        ++bytes_;
    }

    uint16_t prob_[256];
    uint64_t low_ = 0;
    uint32_t range_ = 0xffffffffu;
    uint8_t cache_ = 0;
    uint64_t pending_ = 1;
    uint64_t bytes_ = 0;
    uint64_t digest_ = 14695981039346656037ull;
};

class Stream {
public:
    // Puts the residual of a frame into the stream, after its predecessor.
    void append(int frame, const std::vector<uint8_t>& residual) {
        while (next_.load(std::memory_order_acquire) != frame) std::this_thread::yield();
        for (uint8_t r : residual) coder_.code(r);
        next_.store(frame + 1, std::memory_order_release);
    }

    StreamCoder& coder() { return coder_; }

private:
    std::atomic<int> next_{0};
    StreamCoder coder_;
};

// Folds the signed difference to the previous frame into a byte.
void predict(const Scene& scene, int frame, std::vector<uint8_t>& residual) {
    int previous = frame > 0 ? frame - 1 : 0;
    for (int i = 0; i < kFrameBytes; ++i) {
        int diff = static_cast<int>(scene.at(frame, i)) - static_cast<int>(scene.at(previous, i));
        unsigned folded = diff >= 0 ? static_cast<unsigned>(diff) * 2u
                                    : static_cast<unsigned>(-diff) * 2u - 1u;
        residual[static_cast<size_t>(i)] = static_cast<uint8_t>(folded);
    }
}

void encodeFrames(const Scene& scene, Stream& stream, int worker, int workers) {
    std::vector<uint8_t> residual(kFrameBytes);
    for (int frame = worker; frame < kFrames; frame += workers) {
        predict(scene, frame, residual);
        stream.append(frame, residual);
    }
}

}  // namespace

int main(int argc, char** argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 1;
    if (n < 1 || n > 64) {
        std::fprintf(stderr, "usage: framepipe THREADS\n");
        return 2;
    }
    Scene scene;
    Stream stream;
    std::vector<std::thread> workers;
    for (int t = 0; t < n; ++t)
        workers.emplace_back(encodeFrames, std::cref(scene), std::ref(stream), t, n);
    for (auto& w : workers) w.join();
    stream.coder().finish();
    std::printf("frames %d bytes-in %lld bytes-out %llu digest %016llx\n", kFrames,
                static_cast<long long>(kFrames) * kFrameBytes,
                static_cast<unsigned long long>(stream.coder().bytes()),
                static_cast<unsigned long long>(stream.coder().digest()));
    return 0;
}
