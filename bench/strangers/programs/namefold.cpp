// namefold - normalises customer names so that duplicates can be matched.
//
// A name is folded to upper case, punctuation is dropped, runs of blanks are
// collapsed, and company suffixes are cut; the folded names are grouped by a
// 64 bit key.
//
// usage: namefold THREADS
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <locale>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBaseNames = 20000;
constexpr size_t kRecords = 500000;

// Reports of this company group digits with a thin apostrophe.
class CompanyPunct : public std::numpunct<char> {
protected:
    char do_thousands_sep() const override { return '\''; }
    std::string do_grouping() const override { return "\3"; }
};

struct FoldStats {
    uint64_t letters = 0;
    uint64_t dropped = 0;
    uint64_t suffixes = 0;
    uint64_t keySum = 0;
};

uint32_t nextRand(uint32_t& s) {
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return s;
}

std::vector<std::string> makeNames() {
    static const char* const first[] = {"Anna", "Bjorn", "Carla", "Dieter", "Elena",
                                        "Farid", "Greta", "Hugo",  "Ines",   "Jonas"};
    static const char* const last[] = {"Keller", "Lindqvist", "Moreau", "Novak",  "Okafor",
                                       "Petrov", "Quint",     "Rossi",  "Suarez", "Tanaka"};
    static const char* const suffix[] = {"", "", " Ltd.", " GmbH", " & Co.", "  Inc."};
    std::vector<std::string> names;
    names.reserve(kBaseNames);
    uint32_t seed = 88172645u;
    for (size_t i = 0; i < kBaseNames; ++i) {
        std::string name = first[nextRand(seed) % 10];
        name += (nextRand(seed) & 3) == 0 ? "-" : " ";
        name += last[nextRand(seed) % 10];
        name += ' ';
        name += static_cast<char>('a' + nextRand(seed) % 26);
        name += static_cast<char>('a' + nextRand(seed) % 26);
        name += suffix[nextRand(seed) % 6];
        names.push_back(std::move(name));
    }
    return names;
}

bool isWordCharacter(char c) {
    return std::isalnum(c, std::locale());
}

char fold(char c) {
    return std::toupper(c, std::locale());
}

void foldName(const std::string& in, std::string& out, FoldStats& stats) {
    out.clear();
    bool blank = true;
    for (char c : in) {
        if (isWordCharacter(c)) {
            out.push_back(fold(c));
            ++stats.letters;
            blank = false;
        } else if (!blank) {
            out.push_back(' ');
            blank = true;
        } else {
            ++stats.dropped;
        }
    }
    while (!out.empty() && out.back() == ' ') out.pop_back();
}

bool cutSuffix(std::string& name, const char* suffix) {
    std::string s(suffix);
    if (name.size() <= s.size() || name.compare(name.size() - s.size(), s.size(), s) != 0)
        return false;
    name.resize(name.size() - s.size());
    return true;
}

uint64_t keyOf(const std::string& folded) {
    uint64_t h = 14695981039346656037ull;
    for (char c : folded) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    return h;
}

void foldRange(const std::vector<std::string>& names, size_t from, size_t to, FoldStats& out) {
    FoldStats stats;
    std::string folded;
    folded.reserve(64);
    for (size_t i = from; i < to; ++i) {
        foldName(names[i % names.size()], folded, stats);
        if (cutSuffix(folded, " LTD") || cutSuffix(folded, " GMBH") ||
            cutSuffix(folded, " CO") || cutSuffix(folded, " INC"))
            ++stats.suffixes;
        stats.keySum += keyOf(folded);
    }
    out = stats;
}

}  // namespace

int main(int argc, char** argv) {
    int n = argc > 1 ? std::atoi(argv[1]) : 1;
    if (n < 1 || n > 64) {
        std::fprintf(stderr, "usage: namefold THREADS\n");
        return 2;
    }
    std::locale::global(std::locale(std::locale::classic(), new CompanyPunct));

    const std::vector<std::string> names = makeNames();
    std::vector<FoldStats> parts(static_cast<size_t>(n));
    std::vector<std::thread> threads;
    for (int t = 0; t < n; ++t) {
        size_t from = kRecords * static_cast<size_t>(t) / static_cast<size_t>(n);
        size_t to = kRecords * static_cast<size_t>(t + 1) / static_cast<size_t>(n);
        threads.emplace_back(foldRange, std::cref(names), from, to,
                             std::ref(parts[static_cast<size_t>(t)]));
    }
    for (auto& th : threads) th.join();

    FoldStats sum;
    for (const FoldStats& p : parts) {
        sum.letters += p.letters;
        sum.dropped += p.dropped;
        sum.suffixes += p.suffixes;
        sum.keySum += p.keySum;
    }
    std::printf("records %zu letters %llu dropped %llu suffixes %llu keys %016llx\n", kRecords,
                static_cast<unsigned long long>(sum.letters),
                static_cast<unsigned long long>(sum.dropped),
                static_cast<unsigned long long>(sum.suffixes),
                static_cast<unsigned long long>(sum.keySum));
    return 0;
}
