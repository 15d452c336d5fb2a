#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

namespace {

constexpr int kItems = 48000;
constexpr int kWords = 5200;
constexpr std::size_t kShelves = 256;

using ShelfCounts = std::array<std::uint64_t, kShelves>;

inline std::uint64_t hash_word(std::uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ULL;
    x ^= x >> 27;
    return x;
}

std::uint64_t describe_item(int item) {
    std::uint64_t code = static_cast<std::uint64_t>(item) + 1;
    for (int word = 0; word < kWords; ++word) {
        code = hash_word(code + static_cast<std::uint64_t>(word));
    }
    return code;
}

struct Catalog {
    std::mutex mutex;
    ShelfCounts shelves{};
    std::uint64_t signature = 0;
};

void index_items(int from, int to, std::latch& opening, Catalog& catalog) {
    ShelfCounts mine{};
    std::uint64_t signature = 0;
    opening.arrive_and_wait();
    for (int item = from; item < to; ++item) {
        const std::uint64_t code = describe_item(item);
        ++mine[code % kShelves];
        signature ^= code;
    }
    std::lock_guard<std::mutex> guard(catalog.mutex);
    for (std::size_t shelf = 0; shelf < kShelves; ++shelf) {
        catalog.shelves[shelf] += mine[shelf];
    }
    catalog.signature ^= signature;
}

}  // namespace

int main(int argc, char** argv) {
    const int indexers = std::max(1, argc > 1 ? std::atoi(argv[1]) : 1);
    Catalog catalog;
    std::latch opening(indexers);
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < indexers; ++i) {
            const int from = static_cast<int>(static_cast<long long>(kItems) * i / indexers);
            const int to = static_cast<int>(static_cast<long long>(kItems) * (i + 1) / indexers);
            threads.emplace_back([from, to, &opening, &catalog] {
                index_items(from, to, opening, catalog);
            });
        }
    }
    std::uint64_t items = 0;
    for (std::uint64_t count : catalog.shelves) {
        items += count;
    }
    std::cout << "items " << items << " signature " << std::hex << catalog.signature << "\n";
    return 0;
}
