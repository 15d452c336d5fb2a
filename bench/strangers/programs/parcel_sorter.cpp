#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <iostream>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace {

constexpr int kParcels = 6000;
constexpr std::size_t kFields = 64;
constexpr int kLabelRounds = 480;
constexpr int kSortRounds = 70;

struct Parcel {
    int id = 0;
    std::array<std::uint64_t, kFields> fields{};
};

inline std::uint64_t stamp(std::uint64_t x) {
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdULL;
    x ^= x >> 29;
    return x;
}

class Conveyor {
public:
    explicit Conveyor(std::size_t capacity) : capacity_(capacity) {}

    void put(const Parcel& parcel) {
        std::unique_lock<std::mutex> guard(mutex_);
        has_room_.wait(guard, [this] { return parcels_.size() < capacity_; });
        parcels_.push_back(parcel);
        guard.unlock();
        has_parcel_.notify_one();
    }

    std::optional<Parcel> take() {
        std::unique_lock<std::mutex> guard(mutex_);
        has_parcel_.wait(guard, [this] { return closed_ || !parcels_.empty(); });
        if (parcels_.empty()) {
            return std::nullopt;
        }
        Parcel parcel = parcels_.front();
        parcels_.pop_front();
        guard.unlock();
        has_room_.notify_one();
        return parcel;
    }

    void close() {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            closed_ = true;
        }
        has_parcel_.notify_all();
    }

private:
    const std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable has_room_;
    std::condition_variable has_parcel_;
    std::deque<Parcel> parcels_;
    bool closed_ = false;
};

void label_parcels(Conveyor& belt) {
    std::uint64_t code = 9;
    for (int id = 0; id < kParcels; ++id) {
        Parcel parcel;
        parcel.id = id;
        for (int round = 0; round < kLabelRounds; ++round) {
            for (std::size_t f = 0; f < kFields; ++f) {
                code = stamp(code + f);
                parcel.fields[f] ^= code;
            }
        }
        belt.put(parcel);
    }
    belt.close();
}

void sort_parcels(Conveyor& belt, std::atomic<std::uint64_t>& chutes, std::atomic<int>& sorted) {
    std::uint64_t sum = 0;
    int count = 0;
    while (std::optional<Parcel> parcel = belt.take()) {
        std::uint64_t chute = static_cast<std::uint64_t>(parcel->id);
        for (int round = 0; round < kSortRounds; ++round) {
            for (std::size_t f = 0; f < kFields; ++f) {
                chute = stamp(chute + parcel->fields[f]);
            }
        }
        sum += chute;
        ++count;
    }
    chutes.fetch_add(sum);
    sorted.fetch_add(count);
}

}  // namespace

int main(int argc, char** argv) {
    const int sorters = std::max(1, argc > 1 ? std::atoi(argv[1]) : 1);
    Conveyor belt(32);
    std::atomic<std::uint64_t> chutes{0};
    std::atomic<int> sorted{0};

    std::vector<std::thread> crew;
    for (int s = 0; s < sorters; ++s) {
        crew.emplace_back([&belt, &chutes, &sorted] { sort_parcels(belt, chutes, sorted); });
    }
    std::thread labeler([&belt] { label_parcels(belt); });

    labeler.join();
    for (std::thread& member : crew) {
        member.join();
    }
    std::cout << "parcels " << sorted.load() << " chutes " << std::hex << chutes.load() << "\n";
    return 0;
}
