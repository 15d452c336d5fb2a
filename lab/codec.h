/* codec.h: the small lossless picture codec that wavefront decodes.
 *
 * A picture is a sequence of planes, a plane a sequence of rows of bytes. Each
 * pixel is predicted from its left, upper and upper-left neighbours (the median
 * edge detector of lossless JPEG-LS), and what the prediction misses is written
 * in Golomb-Rice codes whose parameter follows the data. Every row starts its
 * bits and its parameter anew, so rows can be decoded side by side as long as
 * none overtakes the row above. */
#ifndef LAB_CODEC_H
#define LAB_CODEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The beginning of a stream. It is only read where it was written, so the
 * numbers are in the byte order of the machine. */
struct stream_header {
    char magic[8];
    uint64_t rows, pixels;
    uint64_t hash;       /* of all the source's rows, see codec_hash() */
    uint32_t widest_row; /* in pixels */
    uint32_t longest_row; /* in coded bytes */
    uint32_t width, height, frames, seed; /* 0 unless synthetic */
};

/* Before each row's bits. */
struct row_header {
    uint32_t width;    /* pixels */
    uint32_t is_first; /* of its plane: has no row above */
    uint32_t bytes;    /* of bits that follow */
    uint32_t checksum; /* of those, see codec_checksum() */
};

/* Decoding state of one row. */
struct row_decoder {
    const uint8_t *next, *end; /* coded bytes not yet in `bits` */
    uint64_t bits;             /* the next bits, the first at the top */
    int bit_count;
    uint32_t sum, count;  /* what the code's parameter is made of */
    const uint8_t *above; /* NULL in the first row of a plane */
    uint8_t *pixels;
};

void codec_start_row(struct row_decoder *row, const uint8_t *coded, uint32_t bytes,
                     const uint8_t *above, uint8_t *pixels);

/* Decodes the pixels [from, to); the row above must be there up to `to`. */
void codec_decode(struct row_decoder *row, uint32_t from, uint32_t to);

uint32_t codec_checksum(uint32_t start, const uint8_t *bytes, uint32_t count);

/* Adds a row to the hash of a picture. */
uint64_t codec_hash(uint64_t hash, const uint8_t *pixels, uint32_t width);

/* Encode to a stream: an invented film, or a picture in a file (PGM, PPM or
 * Y4M, 8 bits). End the program when something fails. */
void codec_encode_synthetic(FILE *stream, uint32_t width, uint32_t height,
                            uint32_t frames, uint32_t seed);
void codec_encode_file(FILE *stream, const char *path);

#define CODEC_MAGIC "LABWAVE1"

#endif
