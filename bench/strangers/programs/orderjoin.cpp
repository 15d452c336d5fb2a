// orderjoin - revenue per customer from the daily order exports.
//
// The export is a text of one order per line.  Customers are divided among
// the workers, so each revenue table has exactly one writer and the tables
// can simply be put together at the end.
//
// usage: orderjoin THREADS
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr int kRowsPerDay = 30000;
constexpr int kDays = 110;
constexpr uint32_t kCustomers = 3000;

struct Order {
    uint32_t customer = 0;
    std::string article;
    int quantity = 0;
    int64_t cents = 0;
    std::string channel;
};

struct Revenue {
    int64_t cents = 0;
    uint32_t orders = 0;
    uint64_t articles = 0;
};

using RevenueTable = std::vector<Revenue>;

uint32_t nextRand(uint32_t& s) {
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return s;
}

std::string makeExport() {
    std::string text;
    text.reserve(static_cast<size_t>(kRowsPerDay) * 64);
    uint32_t seed = 362436069u;
    char line[96];
    for (int row = 0; row < kRowsPerDay; ++row) {
        int len = std::snprintf(line, sizeof line, "%u;ART-%08u-%04u-EU;%u;%u.%02u;%s\n",
                                nextRand(seed) % kCustomers, nextRand(seed) % 90000000u,
                                nextRand(seed) % 10000u, 1 + nextRand(seed) % 9,
                                1 + nextRand(seed) % 400, nextRand(seed) % 100,
                                (nextRand(seed) & 1) ? "web-storefront" : "wholesale-partner");
        text.append(line, static_cast<size_t>(len));
    }
    return text;
}

std::string_view nextField(std::string_view& rest) {
    size_t semi = rest.find(';');
    std::string_view field = rest.substr(0, semi);
    rest.remove_prefix(semi == std::string_view::npos ? rest.size() : semi + 1);
    return field;
}

template <typename T>
T toNumber(std::string_view s) {
    T value = 0;
    std::from_chars(s.data(), s.data() + s.size(), value);
    return value;
}

int64_t toCents(std::string_view s) {
    size_t dot = s.find('.');
    int64_t whole = toNumber<int64_t>(s.substr(0, dot));
    int64_t fraction = dot == std::string_view::npos ? 0 : toNumber<int64_t>(s.substr(dot + 1));
    return whole * 100 + fraction;
}

Order parseOrder(std::string_view line) {
    Order o;
    o.customer = toNumber<uint32_t>(nextField(line));
    o.article = std::string(nextField(line));
    o.quantity = toNumber<int>(nextField(line));
    o.cents = toCents(nextField(line));
    o.channel = std::string(nextField(line));
    return o;
}

uint64_t articleCode(const std::string& article) {
    uint64_t h = 5381;
    for (char c : article) h = h * 33 + static_cast<unsigned char>(c);
    return h;
}

// Wholesale orders get a rebate that depends on the day.
int64_t netCents(const Order& o, int day) {
    int64_t gross = o.cents * o.quantity;
    if (o.channel[1] == 'h') gross -= gross * (2 + day % 5) / 100;
    return gross;
}

void bookDay(std::string_view text, int day, uint32_t worker, uint32_t workers,
             RevenueTable& table) {
    size_t at = 0;
    while (at < text.size()) {
        size_t eol = text.find('\n', at);
        Order order = parseOrder(text.substr(at, eol - at));
        at = eol + 1;
        if (order.customer % workers != worker) continue;
        Revenue& r = table[order.customer];
        r.cents += netCents(order, day);
        r.orders++;
        r.articles ^= articleCode(order.article) + static_cast<uint64_t>(day);
    }
}

void bookAll(const std::string& text, uint32_t worker, uint32_t workers, RevenueTable& out) {
    RevenueTable table(kCustomers);
    for (int day = 0; day < kDays; ++day) bookDay(text, day, worker, workers, table);
    out = std::move(table);
}

}  // namespace

int main(int argc, char** argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 1;
    if (n < 1 || n > 64) {
        std::fprintf(stderr, "usage: orderjoin THREADS\n");
        return 2;
    }
    const std::string text = makeExport();
    std::vector<RevenueTable> tables(static_cast<size_t>(n));
    std::vector<std::thread> threads;
    for (int t = 0; t < n; ++t)
        threads.emplace_back(bookAll, std::cref(text), static_cast<uint32_t>(t),
                             static_cast<uint32_t>(n), std::ref(tables[static_cast<size_t>(t)]));
    for (auto& th : threads) th.join();

    int64_t cents = 0;
    uint64_t orders = 0, articles = 0;
    for (uint32_t c = 0; c < kCustomers; ++c) {
        const Revenue& r = tables[c % static_cast<uint32_t>(n)][c];
        cents += r.cents;
        orders += r.orders;
        articles += r.articles * (c + 1);
    }
    std::printf("orders %llu revenue %lld.%02lld articles %016llx\n",
                static_cast<unsigned long long>(orders), static_cast<long long>(cents / 100),
                static_cast<long long>(cents % 100), static_cast<unsigned long long>(articles));
    return 0;
}
