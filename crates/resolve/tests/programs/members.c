/* Objects whose members are named through the variables that point to them, and a static table. */
#include <stdint.h>

struct part {
    int kind;
    uint64_t values[3];
};

typedef struct {
    uint64_t hits;
    uint64_t misses;
    struct part parts[2];
    union {
        uint64_t number;
        double real;
    } either;
    unsigned one : 3, other : 5;
} statistics;

struct counter {
    volatile uint64_t count;
};

statistics table[4];
uint64_t plain;

__attribute__((noinline)) uint64_t work(const statistics *own, uint64_t *numbers, struct counter *counter)
{
    counter->count++;
    return own->hits + own->parts[1].values[2] + numbers[3];
}

int main(void)
{
    static struct counter counter;
    return (int)work(table, &plain - 3, &counter) & 1;
}
