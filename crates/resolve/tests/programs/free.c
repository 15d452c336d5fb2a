/* One function for each mark, to look at the instructions that the mark takes. */
#include "knee.h"

void begin(void);
void end(void);
void work(unsigned long long units);
void constant_work(void);
void task_begin(const char *name);
void task_end(const char *name);

void begin(void)
{
    KNEE_BEGIN();
}

void end(void)
{
    KNEE_END();
}

void work(unsigned long long units)
{
    KNEE_WORK(units);
}

void constant_work(void)
{
    KNEE_WORK(1000);
}

void task_begin(const char *name)
{
    KNEE_TASK_BEGIN(name);
}

void task_end(const char *name)
{
    KNEE_TASK_END(name);
}
