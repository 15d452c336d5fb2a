// sessiond - session check of a web front end.
//
// Every request carries a token; the token is verified and its session is
// looked up in the store.  Now and then a session is renewed.
//
// usage: sessiond THREADS
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace {

constexpr uint64_t kSessions = 16000;
constexpr uint64_t kRequests = 900000;
constexpr uint64_t kBatch = 2000;
constexpr size_t kStripes = 256;
constexpr int kRounds = 180;

struct Session {
    uint64_t user = 0;
    uint32_t role = 0;
    uint32_t renewals = 0;
};

class SessionStore {
public:
    void add(uint64_t id, const Session& s) { stripeOf(id).sessions.emplace(id, s); }

    bool find(uint64_t id, Session& out) const {
        const Stripe& stripe = stripeOf(id);
        std::shared_lock<std::shared_mutex> hold(stripe.mutex);
        auto it = stripe.sessions.find(id);
        if (it == stripe.sessions.end()) return false;
        out = it->second;
        return true;
    }

    void renew(uint64_t id) {
        Stripe& stripe = stripeOf(id);
        std::unique_lock<std::shared_mutex> hold(stripe.mutex);
        auto it = stripe.sessions.find(id);
        if (it != stripe.sessions.end()) it->second.renewals++;
    }

    uint64_t renewals() const {
        uint64_t sum = 0;
        for (const Stripe& stripe : stripes_) {
            std::shared_lock<std::shared_mutex> hold(stripe.mutex);
            for (const auto& entry : stripe.sessions) sum += entry.second.renewals;
        }
        return sum;
    }

private:
    struct alignas(64) Stripe {
        mutable std::shared_mutex mutex;
        std::unordered_map<uint64_t, Session> sessions;
    };

    static size_t slot(uint64_t id) {
        return static_cast<size_t>((id * 0x9e3779b97f4a7c15ull) >> 40) % kStripes;
    }
    Stripe& stripeOf(uint64_t id) { return stripes_[slot(id)]; }
    const Stripe& stripeOf(uint64_t id) const { return stripes_[slot(id)]; }

    std::array<Stripe, kStripes> stripes_;
};

struct Request {
    uint64_t session;
    uint64_t token;
    bool renew;
};

struct alignas(64) Counters {
    uint64_t accepted = 0;
    uint64_t refused = 0;
    uint64_t unknown = 0;
    uint64_t roleSum = 0;
};

uint64_t mix(uint64_t x) {
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9ull;
    x ^= x >> 27;
    return x;
}

uint64_t signature(uint64_t session, uint64_t secret) {
    uint64_t acc = session ^ secret;
    for (int i = 0; i < kRounds; ++i) acc = mix(acc + static_cast<uint64_t>(i));
    return acc;
}

Request requestOf(uint64_t n) {
    uint64_t h = mix(n * 0xd1342543de82ef95ull + 7);
    Request r;
    r.session = h % (kSessions + kSessions / 16);
    r.token = (h >> 20) & 0xff;
    r.renew = (h >> 50) % 64 == 0;
    return r;
}

class Server {
public:
    Server() : store_(std::make_unique<SessionStore>()) {
        for (uint64_t id = 0; id < kSessions; ++id) {
            Session s;
            s.user = mix(id + 99);
            s.role = static_cast<uint32_t>(s.user % 5);
            store_->add(id, s);
        }
    }

    void work(Counters& out) {
        Counters c;
        for (;;) {
            uint64_t first = nextRequest_.fetch_add(kBatch, std::memory_order_relaxed);
            if (first >= kRequests) break;
            uint64_t end = first + kBatch < kRequests ? first + kBatch : kRequests;
            for (uint64_t n = first; n < end; ++n) handle(requestOf(n), c);
        }
        out = c;
    }

    uint64_t renewals() const { return store_->renewals(); }

private:
    void handle(const Request& r, Counters& c) {
        if ((signature(r.session, r.token) & 31) == 0) {
            c.refused++;
            return;
        }
        Session s;
        if (!store_->find(r.session, s)) {
            c.unknown++;
            return;
        }
        c.accepted++;
        c.roleSum += s.role;
        if (r.renew) store_->renew(r.session);
    }

    std::unique_ptr<SessionStore> store_;
    alignas(64) std::atomic<uint64_t> nextRequest_{0};
};

}  // namespace

int main(int argc, char** argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 1;
    if (n < 1 || n > 64) {
        std::fprintf(stderr, "usage: sessiond THREADS\n");
        return 2;
    }
    Server server;
    std::vector<Counters> counters(static_cast<size_t>(n));
    std::vector<std::thread> threads;
    for (int t = 0; t < n; ++t)
        threads.emplace_back(&Server::work, &server, std::ref(counters[static_cast<size_t>(t)]));
    for (auto& th : threads) th.join();

    Counters sum;
    for (const Counters& c : counters) {
        sum.accepted += c.accepted;
        sum.refused += c.refused;
        sum.unknown += c.unknown;
        sum.roleSum += c.roleSum;
    }
    std::printf("accepted %llu refused %llu unknown %llu roles %llu renewals %llu\n",
                static_cast<unsigned long long>(sum.accepted),
                static_cast<unsigned long long>(sum.refused),
                static_cast<unsigned long long>(sum.unknown),
                static_cast<unsigned long long>(sum.roleSum),
                static_cast<unsigned long long>(server.renewals()));
    return 0;
}
