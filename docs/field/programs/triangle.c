/* An OpenMP loop whose later iterations cost more. OMP_NUM_THREADS=N triangle */
#include <stdio.h>

static double out[4000];

int main(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < 4000; i++) {
        double sum = 0;
        for (long k = 0; k < (long)i * 120; k++)
            sum = sum * 0.999 + (double)k;
        out[i] = sum;
    }
    double total = 0;
    for (int i = 0; i < 4000; i++)
        total += out[i];
    printf("%g\n", total);
    return 0;
}
