// Name cache of a resolver: keeps the most recently used entries.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr int kQueries = 14'000'000;
constexpr std::size_t kCapacity = 1500;

struct Address {
    std::uint32_t ip = 0;
    std::uint32_t ttl = 0;
};

class NameCache {
public:
    explicit NameCache(std::size_t capacity) : capacity_(capacity) {}

    std::optional<Address> find(const std::string &name) {
        std::unique_lock hold(mutex_);
        auto it = entries_.find(name);
        if (it == entries_.end())
            return std::nullopt;
        recent_.splice(recent_.begin(), recent_, it->second.place);
        ++hits_;
        return it->second.address;
    }

    void store(const std::string &name, Address address) {
        std::unique_lock hold(mutex_);
        auto [it, fresh] = entries_.try_emplace(name);
        it->second.address = address;
        if (!fresh)
            return;
        recent_.push_front(name);
        it->second.place = recent_.begin();
        if (entries_.size() > capacity_) {
            entries_.erase(recent_.back());
            recent_.pop_back();
        }
    }

    std::size_t size() const {
        std::shared_lock hold(mutex_);
        return entries_.size();
    }

    long hits() const {
        std::shared_lock hold(mutex_);
        return hits_;
    }

private:
    struct Entry {
        Address address;
        std::list<std::string>::iterator place;
    };

    mutable std::shared_mutex mutex_;
    std::unordered_map<std::string, Entry> entries_;
    std::list<std::string> recent_;
    std::size_t capacity_;
    long hits_ = 0;
};

class Resolver {
public:
    Resolver(NameCache &cache, const std::vector<std::string> &names, std::uint32_t seed)
        : cache_(cache), names_(names), state_(seed) {}

    void serve(int queries) {
        for (int i = 0; i < queries; ++i) {
            const std::string &name = pick();
            if (auto known = cache_.find(name))
                sum_ += known->ip & 0xff;
            else
                cache_.store(name, lookUp(name));
        }
    }

    std::uint64_t sum() const { return sum_; }

private:
    const std::string &pick() {
        state_ = state_ * 1664525u + 1013904223u;
        std::uint32_t r = state_ >> 8;
        std::uint32_t range = (r & 7) ? 1200 : names_.size();
        return names_[(r >> 3) % range];
    }

    static Address lookUp(const std::string &name) {
        std::uint32_t h = 2166136261u;
        for (char c : name)
            h = (h ^ static_cast<unsigned char>(c)) * 16777619u;
        return {h, 300};
    }

    NameCache &cache_;
    const std::vector<std::string> &names_;
    std::uint32_t state_;
    std::uint64_t sum_ = 0;
};

} // namespace

int main(int argc, char **argv) {
    int workers = argc > 1 ? std::atoi(argv[1]) : 1;
    std::vector<std::string> names;
    for (int i = 0; i < 4000; ++i)
        names.push_back("host" + std::to_string(i * 37) + ".zone" + std::to_string(i % 50) + ".example.net");
    NameCache cache(kCapacity);
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; ++w)
        threads.emplace_back([&, w] {
            Resolver resolver(cache, names, 977u * w + 11);
            resolver.serve(kQueries / workers);
        });
    for (auto &t : threads)
        t.join();
    std::printf("entries %zu hit rate %.2f\n", cache.size(), double(cache.hits()) / kQueries);
}
