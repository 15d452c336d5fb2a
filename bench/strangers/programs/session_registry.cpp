#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr int kRequests = 260000;
constexpr std::uint32_t kUsers = 48;
constexpr std::size_t kHistory = 1024;

struct Session {
    std::array<std::uint64_t, kHistory> history{};
    std::uint64_t token = 0;
    std::uint64_t visits = 0;
};

inline std::uint64_t churn(std::uint64_t x) {
    x ^= x >> 31;
    x *= 0x9e3779b97f4a7c15ULL;
    x ^= x >> 27;
    return x;
}

class SessionRegistry {
public:
    void renew(std::uint32_t user, std::uint64_t nonce) {
        std::unique_lock<std::shared_mutex> guard(mutex_);
        Session& session = sessions_[user];
        std::uint64_t token = nonce;
        for (std::uint64_t& entry : session.history) {
            token = churn(token + entry);
            entry = token;
        }
        session.token = token;
        ++session.visits;
    }

    std::uint64_t token(std::uint32_t user) const {
        std::shared_lock<std::shared_mutex> guard(mutex_);
        auto found = sessions_.find(user);
        return found == sessions_.end() ? 0 : found->second.token;
    }

    std::uint64_t visits() const {
        std::shared_lock<std::shared_mutex> guard(mutex_);
        std::uint64_t sum = 0;
        for (const auto& item : sessions_) {
            sum += item.second.visits;
        }
        return sum;
    }

private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<std::uint32_t, Session> sessions_;
};

std::uint64_t serve_requests(SessionRegistry& registry, std::uint64_t seed, int requests) {
    std::uint64_t state = seed;
    std::uint64_t checked = 0;
    for (int r = 0; r < requests; ++r) {
        state = churn(state + 0x2545f4914f6cdd1dULL);
        const std::uint32_t user = static_cast<std::uint32_t>((state >> 8) % kUsers);
        if ((state >> 40) % 10 < 8) {
            registry.renew(user, state);
        } else {
            checked += registry.token(user);
        }
    }
    return checked;
}

}  // namespace

int main(int argc, char** argv) {
    const int servers = std::max(1, argc > 1 ? std::atoi(argv[1]) : 1);
    SessionRegistry registry;
    std::vector<std::uint64_t> checked(static_cast<std::size_t>(servers), 0);
    std::vector<std::thread> threads;
    for (int s = 0; s < servers; ++s) {
        const int share = static_cast<int>(static_cast<long long>(kRequests) * (s + 1) / servers -
                                           static_cast<long long>(kRequests) * s / servers);
        threads.emplace_back([&registry, &checked, s, share] {
            checked[static_cast<std::size_t>(s)] =
                serve_requests(registry, static_cast<std::uint64_t>(s) + 23, share);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::uint64_t sum = 0;
    for (std::uint64_t value : checked) {
        sum += value;
    }
    std::cout << "visits " << registry.visits() << " checked " << std::hex << sum << "\n";
    return 0;
}
