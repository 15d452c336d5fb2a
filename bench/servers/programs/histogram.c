/* A histogram of the brightness of an image, tile by tile.
 *
 *     histogram guilty|clean
 *
 * The guilty one enters each pixel into one histogram within a critical section. In the clean one each thread has a histogram, and these
 * are added up at the end.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TILES = 12288, SIDE = 64, BINS = 256, PASSES = 24 };

static long bins[BINS];

/* The brightness of a pixel as the camera gives it, after its noise is taken out. */
static unsigned brightness(uint32_t tile, uint32_t pixel) {
    uint32_t value = tile * 2654435761u ^ pixel * 40503u, sum = 0;
    for (int pass = 0; pass < PASSES; pass++) {
        value ^= value << 13;
        value ^= value >> 17;
        value ^= value << 5;
        sum += value & 255;
    }
    return sum / PASSES;
}

static void enter(long *into, unsigned value) {
    into[value]++;
    /* Neighbours get a part, which makes the curve smooth. */
    if (value > 0) into[value - 1]++;
    if (value < BINS - 1) into[value + 1]++;
}

static void tile_shared(uint32_t tile) {
    for (uint32_t pixel = 0; pixel < SIDE * SIDE; pixel++) {
        unsigned value = brightness(tile, pixel);
#pragma omp critical /* GUILTY */
        enter(bins, value);
    }
}

static void tile_private(uint32_t tile, long *own) {
    for (uint32_t pixel = 0; pixel < SIDE * SIDE; pixel++)
        enter(own, brightness(tile, pixel));
}

static void count_shared(void) {
#pragma omp parallel for schedule(static)
    for (int tile = 0; tile < TILES; tile++)
        tile_shared((uint32_t)tile);
}

static void count_private(void) {
#pragma omp parallel
    {
        long own[BINS] = {0};
#pragma omp for schedule(static) nowait
        for (int tile = 0; tile < TILES; tile++)
            tile_private((uint32_t)tile, own);
#pragma omp critical
        for (int bin = 0; bin < BINS; bin++)
            bins[bin] += own[bin];
    }
}

int main(int count, char **arguments) {
    if (count != 2) return fprintf(stderr, "usage: histogram guilty|clean\n"), 2;
    if (!strcmp(arguments[1], "guilty"))
        count_shared();
    else
        count_private();
    long most = 0, all = 0;
    for (int bin = 0; bin < BINS; bin++) {
        if (bins[bin] > bins[most]) most = bin;
        all += bins[bin];
    }
    printf("brightness %ld is the most frequent of %ld entries\n", most, all);
    return 0;
}
