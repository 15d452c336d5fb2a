/* A program with every kind of mark, in C99 and in C++11. The expected hits, in this order, are in marks.rs. */
#include "knee.h"

#include <stdio.h>

static unsigned long long total = 40;

static void count_to(int last)
{
    int i;
    for (i = 1; i <= last; i++)
        KNEE_WORK(i);
}

int main(int argc, char **argv)
{
    char name[32];
    (void)argv;
    KNEE_BEGIN();
    KNEE_TASK_BEGIN("parse");
    KNEE_WORK(7);
    KNEE_TASK_END("parse");
    snprintf(name, sizeof name, "row %d", argc);
    KNEE_TASK_BEGIN(name);
    total++;
    KNEE_WORK(total);
    KNEE_WORK(0xfedcba9876543210u);
    count_to(3 * argc);
    KNEE_TASK_END(name);
    KNEE_END();
    printf("done\n");
    return 0;
}
