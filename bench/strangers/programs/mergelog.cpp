// Sorts the event files of several machines and writes one summary of sessions.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <queue>
#include <vector>

struct Event {
    std::uint64_t time;
    std::uint32_t user;
    float amount;
};

struct Summary {
    long sessions = 0;
    double longest = 0;
    double spread = 0;
};

using Events = std::vector<Event>;

constexpr int kFiles = 16;
constexpr int kPerFile = 180'000;

Events loadSorted(int file) {
    Events events;
    events.reserve(kPerFile);
    std::uint64_t h = 0x9E3779B97F4A7C15ull * (file + 1);
    for (int i = 0; i < kPerFile; ++i) {
        h ^= h << 13;
        h ^= h >> 7;
        h ^= h << 17;
        events.push_back({h >> 24 & 0xffffffff, std::uint32_t(h % 60000), float(h >> 50) / 100});
    }
    std::sort(events.begin(), events.end(),
              [](const Event &a, const Event &b) { return a.time < b.time; });
    return events;
}

std::vector<Events> loadSome(int first, int last) {
    std::vector<Events> files;
    for (int f = first; f < last; ++f)
        files.push_back(loadSorted(f));
    return files;
}

class Merger {
public:
    explicit Merger(const std::vector<Events> &files) : files_(files), at_(files.size(), 0) {
        for (std::size_t f = 0; f < files.size(); ++f)
            push(f);
    }

    bool next(Event &event) {
        if (heads_.empty())
            return false;
        std::size_t f = heads_.top().second;
        heads_.pop();
        event = files_[f][at_[f]++];
        push(f);
        return true;
    }

private:
    void push(std::size_t f) {
        if (at_[f] < files_[f].size())
            heads_.emplace(files_[f][at_[f]].time, f);
    }

    using Head = std::pair<std::uint64_t, std::size_t>;
    const std::vector<Events> &files_;
    std::vector<std::size_t> at_;
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
};

Summary summarize(const std::vector<Events> &files) {
    struct Open {
        std::uint64_t begin = 0, last = 0;
        double sum = 0, squares = 0;
        int count = 0;
    };
    constexpr std::uint64_t kGap = 90'000'000;
    std::map<std::uint32_t, Open> open;
    Summary result;
    Merger merger(files);
    for (Event e; merger.next(e);) {
        Open &o = open[e.user];
        if (o.count && e.time - o.last > kGap) {
            ++result.sessions;
            result.longest = std::max(result.longest, double(o.last - o.begin));
            result.spread += std::sqrt(std::max(0.0, o.squares / o.count - std::pow(o.sum / o.count, 2)));
            o = {};
        }
        if (!o.count)
            o.begin = e.time;
        o.last = e.time;
        o.sum += e.amount;
        o.squares += double(e.amount) * e.amount;
        ++o.count;
    }
    result.sessions += long(open.size());
    return result;
}

int main(int argc, char **argv) {
    int workers = argc > 1 ? std::max(1, std::atoi(argv[1])) : 1;
    std::vector<std::future<std::vector<Events>>> loads;
    for (int w = 0; w < workers; ++w)
        loads.push_back(std::async(std::launch::async, loadSome, kFiles * w / workers,
                                   kFiles * (w + 1) / workers));
    std::vector<Events> files;
    for (auto &load : loads)
        for (auto &events : load.get())
            files.push_back(std::move(events));
    Summary s = summarize(files);
    std::printf("sessions %ld longest %.0f spread %.1f\n", s.sessions, s.longest, s.spread / s.sessions);
}
