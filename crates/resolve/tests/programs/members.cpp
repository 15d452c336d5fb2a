// The same as members.c with classes, a base class, an atomic, references and a vector.
#include <atomic>
#include <cstdint>
#include <vector>

namespace shop {
struct base {
    uint64_t id = 0;
};
class till : public base {
public:
    std::atomic<uint64_t> sold{0};
    std::atomic<uint64_t> returned{0};
    __attribute__((noinline)) uint64_t sell() { return sold.fetch_add(1); }
};
} // namespace shop

extern "C" __attribute__((noinline)) uint64_t work(shop::till &own, const std::vector<shop::till> &all)
{
    return own.sell() + all.size();
}

shop::till tills[2];

int main()
{
    std::vector<shop::till> all(2);
    return static_cast<int>(work(tills[1], all)) & 1;
}
