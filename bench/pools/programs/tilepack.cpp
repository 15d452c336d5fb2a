#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kTileCount = 340;
constexpr int kTileEdge = 256;
constexpr int kEffort = 3;
constexpr unsigned kHashBits = 15;

using Bytes = std::vector<uint8_t>;

// LZ-style encoder. Keeps its match tables between tiles.
class TileEncoder {
 public:
  TileEncoder() : head_(1u << kHashBits), prev_(kTileEdge * kTileEdge) {}

  Bytes encode(const Bytes& pixels) {
    Bytes best;
    for (int effort = 1; effort <= kEffort; ++effort) {
      Bytes candidate = compress(pixels, effort * 4);
      if (best.empty() || candidate.size() < best.size()) best.swap(candidate);
    }
    return best;
  }

 private:
  static uint32_t hashAt(const uint8_t* p) {
    uint32_t v;
    std::memcpy(&v, p, sizeof v);
    return (v * 2654435761u) >> (32 - kHashBits);
  }

  Bytes compress(const Bytes& in, int maxChain) {
    std::fill(head_.begin(), head_.end(), -1);
    Bytes out;
    out.reserve(in.size());
    const int size = static_cast<int>(in.size());
    int pos = 0;
    while (pos + 4 < size) {
      int bestLen = 0, bestDist = 0;
      const uint32_t h = hashAt(&in[pos]);
      int chain = maxChain;
      for (int cand = head_[h]; cand >= 0 && chain-- > 0; cand = prev_[cand]) {
        const int limit = std::min(size - pos, 255);
        int len = 0;
        while (len < limit && in[cand + len] == in[pos + len]) ++len;
        if (len > bestLen) bestLen = len, bestDist = pos - cand;
      }
      prev_[pos] = head_[h];
      head_[h] = pos;
      if (bestLen >= 5) {
        out.insert(out.end(), {0xff, uint8_t(bestLen), uint8_t(bestDist), uint8_t(bestDist >> 8)});
        pos += bestLen;
      } else {
        out.push_back(in[pos++]);
      }
    }
    out.insert(out.end(), in.begin() + pos, in.end());
    return out;
  }

  std::vector<int> head_;
  std::vector<int> prev_;
};

class EncoderPool {
 public:
  explicit EncoderPool(int count) {
    for (int i = 0; i < count; ++i) idle_.push_back(std::make_unique<TileEncoder>());
  }

  std::unique_ptr<TileEncoder> checkout() {
    std::unique_lock lock(mutex_);
    returned_.wait(lock, [this] { return !idle_.empty(); });
    auto encoder = std::move(idle_.back());
    idle_.pop_back();
    return encoder;
  }

  void giveBack(std::unique_ptr<TileEncoder> encoder) {
    {
      std::lock_guard lock(mutex_);
      idle_.push_back(std::move(encoder));
    }
    returned_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable returned_;
  std::vector<std::unique_ptr<TileEncoder>> idle_;
};

void renderTile(int index, Bytes& pixels) {
  uint32_t noise = 0x9e3779b9u * (index + 1);
  for (int y = 0; y < kTileEdge; ++y) {
    for (int x = 0; x < kTileEdge; ++x) {
      noise = noise * 1664525u + 1013904223u;
      const uint32_t terrain = ((x * (index % 7 + 1)) >> 4) ^ ((y * y) >> 9);
      pixels[y * kTileEdge + x] = uint8_t((terrain & 31) + (noise >> 29 == 0 ? noise >> 24 & 7 : 0));
    }
  }
}

struct PackTotals {
  std::atomic<int> next{0};
  std::atomic<uint64_t> packedBytes{0};
};

void packTiles(EncoderPool& encoders, PackTotals& totals) {
  Bytes pixels(kTileEdge * kTileEdge);
  for (int tile; (tile = totals.next.fetch_add(1)) < kTileCount;) {
    renderTile(tile, pixels);
    auto encoder = encoders.checkout();
    Bytes packed = encoder->encode(pixels);
    encoders.giveBack(std::move(encoder));
    totals.packedBytes += packed.size();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int workers = argc > 1 ? std::atoi(argv[1]) : 2;
  const int encoderCount = argc > 2 ? std::atoi(argv[2]) : 1;
  if (workers < 1 || encoderCount < 1) {
    std::fprintf(stderr, "usage: %s workers [encoders]\n", argv[0]);
    return 2;
  }

  EncoderPool encoders(encoderCount);
  PackTotals totals;
  const auto start = std::chrono::steady_clock::now();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < workers; ++i) threads.emplace_back([&] { packTiles(encoders, totals); });
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  std::printf("packed %d tiles into %llu bytes\n", kTileCount,
              static_cast<unsigned long long>(totals.packedBytes.load()));
  std::printf("%.1f tiles/s\n", kTileCount / elapsed.count());
}
