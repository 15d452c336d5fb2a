/* Arguments of every size, also in memory if the compiler chooses: knee.h makes no such marks, but other headers do. */
#include "knee.h"

#if KNEE_ENABLED
__attribute__((noinline)) void typed(signed char a, unsigned char b, short c, unsigned short d, int e, unsigned f,
                                     long long g, unsigned long long h);

void typed(signed char a, unsigned char b, short c, unsigned short d, int e, unsigned f, long long g,
           unsigned long long h)
{
    __asm__ volatile(KNEE_SITE_("typed", "-1@%0 1@%1 -2@%2 2@%3 -4@%4 4@%5 -8@%6 8@%7")
                     :
                     : "nor"(a), "nor"(b), "nor"(c), "nor"(d), "nor"(e), "nor"(f), "nor"(g), "nor"(h));
    /* Certainly in memory: every optimisation level has a mark with a memory argument. */
    __asm__ volatile(KNEE_SITE_("in_memory", "-8@%0 -4@%1") : : "m"(g), "m"(e));
    __asm__ volatile(KNEE_SITE_("constant", "-4@%0 8@%1") : : "n"(-5), "n"(1ull << 40));
}
#endif

#ifdef MAIN
int main(void)
{
    typed(-1, 255, -2, 65535, -3, 4294967295u, -4, 18446744073709551615ull);
    return 0;
}
#endif
