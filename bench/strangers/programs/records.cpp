// Turns raw records into documents; a document made by one worker is checked
// and put away by the next one, or by its maker if that one is behind.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kBatches = 5000;
constexpr int kPerBatch = 60;
constexpr std::size_t kWaiting = 8;

struct Document {
    std::map<std::string, std::string> fields;
    std::vector<std::string> tags;
};

using Batch = std::vector<std::unique_ptr<Document>>;

class Mailbox {
public:
    bool tryPost(Batch &batch) {
        std::lock_guard hold(mutex_);
        if (waiting_.size() >= kWaiting)
            return false;
        waiting_.push_back(std::move(batch));
        return true;
    }

    bool tryTake(Batch &batch) {
        std::lock_guard hold(mutex_);
        if (waiting_.empty())
            return false;
        batch = std::move(waiting_.back());
        waiting_.pop_back();
        return true;
    }

private:
    std::mutex mutex_;
    std::vector<Batch> waiting_;
};

std::string text(std::uint32_t h, int length) {
    std::string s;
    for (int i = 0; i < length; ++i) {
        h = h * 1664525u + 1013904223u;
        s += char('a' + (h >> 24) % 26);
    }
    return s;
}

std::unique_ptr<Document> makeDocument(std::uint32_t number) {
    auto doc = std::make_unique<Document>();
    std::uint32_t h = number * 2654435761u;
    for (int f = 0; f < 12; ++f) {
        h = h * 747796405u + 1;
        doc->fields.emplace("field" + std::to_string(h >> 22), std::string(150 + (h >> 20) % 900, 'x'));
    }
    for (int t = 0; t < 10; ++t)
        doc->tags.emplace_back(140 + (h >> (t + 10) & 1023), 't');
    doc->fields["title"] = text(h, 24);
    return doc;
}

Batch makeBatch(int number) {
    Batch batch;
    for (int i = 0; i < kPerBatch; ++i)
        batch.push_back(makeDocument(number * kPerBatch + i));
    return batch;
}

std::uint64_t putAway(Batch batch) {
    std::uint64_t size = 0;
    for (auto &doc : batch) {
        for (auto &[key, value] : doc->fields)
            size += key.size() + value.size();
        for (auto &tag : doc->tags)
            size += tag.size();
        doc.reset();
    }
    return size;
}

void work(int first, int last, Mailbox &mine, Mailbox &next, std::atomic<std::uint64_t> &total) {
    std::uint64_t size = 0;
    Batch batch;
    for (int b = first; b < last; ++b) {
        Batch made = makeBatch(b);
        if (!next.tryPost(made))
            size += putAway(std::move(made));
        while (mine.tryTake(batch))
            size += putAway(std::move(batch));
    }
    total += size;
}

} // namespace

int main(int argc, char **argv) {
    int workers = argc > 1 ? std::atoi(argv[1]) : 1;
    std::vector<Mailbox> boxes(workers);
    std::vector<std::thread> threads;
    std::atomic<std::uint64_t> total{0};
    for (int w = 0; w < workers; ++w)
        threads.emplace_back(work, kBatches * w / workers, kBatches * (w + 1) / workers,
                             std::ref(boxes[w]), std::ref(boxes[(w + 1) % workers]), std::ref(total));
    for (auto &t : threads)
        t.join();
    Batch rest;
    for (auto &box : boxes)
        while (box.tryTake(rest))
            total += putAway(std::move(rest));
    std::printf("%d documents, %llu characters\n", kBatches * kPerBatch, (unsigned long long)total.load());
}
