/* codec.c: see codec.h. */
#define _GNU_SOURCE
#include "codec.h"
#include "harness.h"

#include <string.h>

/* A residual whose quotient would be longer is written as this many ones and
 * the plain eight bits. */
#define LONGEST_UNARY 20

/* ---- what encoder and decoder share --------------------------------------- */

/* The smallest k with count * 2^k >= sum: near the best for a mean residual of
 * sum / count. */
static inline unsigned rice_parameter(uint32_t sum, uint32_t count)
{
    unsigned k = 0;
    while (count << k < sum)
        k++;
    return k;
}

/* The statistics forget slowly, so that the code follows the picture. */
static inline void adapt(uint32_t *sum, uint32_t *count, uint32_t value)
{
    *sum += value;
    if (++*count == 64) {
        *sum /= 2;
        *count /= 2;
    }
}

/* An edge above or beside is followed; a slope is continued. */
static inline uint8_t median_edge(int left, int up, int up_left)
{
    int low = left < up ? left : up, high = left < up ? up : left;
    if (up_left >= high)
        return (uint8_t)low;
    if (up_left <= low)
        return (uint8_t)high;
    return (uint8_t)(left + up - up_left);
}

static inline uint8_t predict(const uint8_t *above, const uint8_t *pixels, uint32_t x)
{
    if (!above)
        return x ? pixels[x - 1] : 128;
    if (x == 0)
        return above[0];
    return median_edge(pixels[x - 1], above[x], above[x - 1]);
}

uint32_t codec_checksum(uint32_t start, const uint8_t *bytes, uint32_t count)
{
    uint32_t sum = start;
    for (uint32_t i = 0; i < count; i++)
        sum = (sum ^ bytes[i]) * 16777619u;
    return sum;
}

uint64_t codec_hash(uint64_t hash, const uint8_t *pixels, uint32_t width)
{
    uint32_t i = 0;
    for (; i + 8 <= width; i += 8) {
        uint64_t eight;
        memcpy(&eight, pixels + i, 8);
        hash = (hash ^ eight) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    for (; i < width; i++)
        hash = (hash ^ pixels[i]) * 0x9e3779b97f4a7c15u;
    return hash ^ width;
}

/* ---- decoding -------------------------------------------------------------- */

void codec_start_row(struct row_decoder *row, const uint8_t *coded, uint32_t bytes,
                     const uint8_t *above, uint8_t *pixels)
{
    *row = (struct row_decoder){ .next = coded, .end = coded + bytes, .sum = 4,
                                 .count = 1, .above = above, .pixels = pixels };
}

/* Makes sure that there are more bits than one code needs; behind the end of a
 * row there are zeros. */
static inline void refill(struct row_decoder *row)
{
    while (row->bit_count <= 56) {
        uint64_t byte = row->next < row->end ? *row->next++ : 0;
        row->bits |= byte << (56 - row->bit_count);
        row->bit_count += 8;
    }
}

static inline uint32_t take(struct row_decoder *row, unsigned count)
{
    uint32_t value = count ? (uint32_t)(row->bits >> (64 - count)) : 0;
    row->bits <<= count;
    row->bit_count -= (int)count;
    return value;
}

static inline uint32_t decode_value(struct row_decoder *row)
{
    refill(row);
    unsigned k = rice_parameter(row->sum, row->count);
    unsigned ones = ~row->bits ? (unsigned)__builtin_clzll(~row->bits) : 64;
    if (ones >= LONGEST_UNARY) {
        take(row, LONGEST_UNARY);
        return take(row, 8);
    }
    take(row, ones + 1);
    return ones << k | take(row, k);
}

void codec_decode(struct row_decoder *row, uint32_t from, uint32_t to)
{
    for (uint32_t x = from; x < to; x++) {
        uint32_t value = decode_value(row);
        adapt(&row->sum, &row->count, value);
        /* 0, -1, 1, -2, 2, ... came as 0, 1, 2, 3, 4, ... */
        uint32_t residual = value >> 1 ^ -(value & 1);
        row->pixels[x] = (uint8_t)(predict(row->above, row->pixels, x) + residual);
    }
}

/* ---- encoding -------------------------------------------------------------- */

struct encoder {
    FILE *stream;
    struct stream_header header;
    uint8_t *coded; /* one row's bits */
    uint32_t capacity, bytes;
    uint64_t bits;
    unsigned bit_count;
};

static void put(struct encoder *e, uint32_t value, unsigned count)
{
    e->bits = e->bits << count | value;
    e->bit_count += count;
    while (e->bit_count >= 8) {
        e->bit_count -= 8;
        e->coded[e->bytes++] = (uint8_t)(e->bits >> e->bit_count);
    }
}

static void put_value(struct encoder *e, uint32_t value, unsigned k)
{
    uint32_t ones = value >> k;
    if (ones >= LONGEST_UNARY) {
        put(e, (1u << LONGEST_UNARY) - 1, LONGEST_UNARY);
        put(e, value, 8);
    } else {
        put(e, (1u << (ones + 1)) - 2, ones + 1);
        put(e, value & ((1u << k) - 1), k);
    }
}

static void write_all(FILE *stream, const void *bytes, size_t count)
{
    if (fwrite(bytes, 1, count, stream) != count)
        lab_fail("cannot write the coded picture");
}

static void encode_row(struct encoder *e, const uint8_t *above, const uint8_t *pixels,
                       uint32_t width)
{
    if (e->capacity < 4 * width + 8) { /* the longest code has 28 bits */
        e->capacity = 4 * width + 8;
        free(e->coded);
        e->coded = lab_alloc(e->capacity, 8);
    }
    e->bytes = 0;
    uint32_t sum = 4, count = 1;
    for (uint32_t x = 0; x < width; x++) {
        int residual = (int8_t)(pixels[x] - predict(above, pixels, x));
        uint32_t value = residual < 0 ? (uint32_t)(-2 * residual - 1) : 2u * (uint32_t)residual;
        put_value(e, value, rice_parameter(sum, count));
        adapt(&sum, &count, value);
    }
    put(e, 0, (8 - e->bit_count) % 8);

    struct row_header row = { .width = width, .is_first = !above, .bytes = e->bytes,
                              .checksum = codec_checksum(0, e->coded, e->bytes) };
    write_all(e->stream, &row, sizeof row);
    write_all(e->stream, e->coded, e->bytes);

    struct stream_header *h = &e->header;
    h->rows++;
    h->pixels += width;
    h->hash = codec_hash(h->hash, pixels, width);
    if (h->widest_row < width)
        h->widest_row = width;
    if (h->longest_row < e->bytes)
        h->longest_row = e->bytes;
}

static void encode_plane(struct encoder *e, const uint8_t *pixels, uint32_t width,
                         uint32_t height)
{
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t *row = pixels + (size_t)y * width;
        encode_row(e, y ? row - width : NULL, row, width);
    }
}

/* The header is only known at the end: written twice, first to leave room. */
static void start_stream(struct encoder *e, FILE *stream)
{
    e->stream = stream;
    memcpy(e->header.magic, CODEC_MAGIC, sizeof e->header.magic);
    write_all(stream, &e->header, sizeof e->header);
}

static void finish_stream(struct encoder *e)
{
    rewind(e->stream);
    write_all(e->stream, &e->header, sizeof e->header);
    if (fflush(e->stream) != 0)
        lab_fail("cannot write the coded picture");
    free(e->coded);
}

/* Slopes, bars that move, and noise that is stronger in some rows, so that
 * rows differ in what they cost to decode. */
static void draw_frame(uint8_t *pixels, uint32_t width, uint32_t height, uint32_t frame,
                       uint64_t *random)
{
    for (uint32_t y = 0; y < height; y++) {
        uint32_t noise = 1 + (y + 7 * frame) / 64 % 4 * 5;
        uint64_t bits = 0;
        for (uint32_t x = 0; x < width; x++) {
            if (x % 8 == 0)
                bits = lab_splitmix(random);
            uint32_t shade = (x / 4 + y / 3 + 2 * frame) % 192;
            uint32_t bar = (x + 2 * y + 9 * frame) / 96 % 5 == 0 ? 40 : 0;
            pixels[(size_t)y * width + x] =
                (uint8_t)(shade + bar + (bits >> x % 8 * 8 & 255) % noise);
        }
    }
}

void codec_encode_synthetic(FILE *stream, uint32_t width, uint32_t height,
                            uint32_t frames, uint32_t seed)
{
    struct encoder e = { .header = { .width = width, .height = height,
                                     .frames = frames, .seed = seed } };
    uint8_t *pixels = lab_alloc((size_t)width * height, LAB_CACHE_PAIR);
    uint64_t random = seed;
    start_stream(&e, stream);
    for (uint32_t frame = 0; frame < frames; frame++) {
        draw_frame(pixels, width, height, frame, &random);
        encode_plane(&e, pixels, width, height);
    }
    finish_stream(&e);
    free(pixels);
}

/* ---- pictures in files ------------------------------------------------------ */

#define LARGEST_SIDE 65535

static void read_plane(FILE *file, uint8_t *pixels, size_t bytes)
{
    if (fread(pixels, 1, bytes, file) != bytes)
        lab_fail("the picture ends too early");
}

/* A number of a PNM header; comments run from # to the end of the line. */
static uint32_t read_pnm_number(FILE *file)
{
    int c = getc(file);
    while (c == '#' || c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        if (c == '#')
            while (c != '\n' && c != EOF)
                c = getc(file);
        else
            c = getc(file);
    }
    uint32_t number = 0;
    for (; c >= '0' && c <= '9' && number <= LARGEST_SIDE; c = getc(file))
        number = number * 10 + (uint32_t)(c - '0');
    if (number < 1 || number > LARGEST_SIDE)
        lab_fail("the picture's header has a wrong number");
    return number;
}

static void encode_pnm(struct encoder *e, FILE *file, unsigned colours)
{
    uint32_t width = read_pnm_number(file), height = read_pnm_number(file);
    if (read_pnm_number(file) > 255)
        lab_fail("only pictures with 8 bits a colour are understood");
    size_t pixels = (size_t)width * height;
    uint8_t *mixed = lab_alloc(pixels * colours, 8), *plane = lab_alloc(pixels, 8);
    read_plane(file, mixed, pixels * colours);
    for (unsigned c = 0; c < colours; c++) {
        for (size_t i = 0; i < pixels; i++)
            plane[i] = mixed[i * colours + c];
        encode_plane(e, plane, width, height);
    }
    free(mixed);
    free(plane);
}

static void encode_y4m(struct encoder *e, FILE *file)
{
    char line[256];
    uint32_t width = 0, height = 0;
    const char *chroma = "420"; /* the format's own default */
    if (!fgets(line, sizeof line, file))
        lab_fail("the film has no header");
    for (char *word = strtok(line, " \n"); word; word = strtok(NULL, " \n")) {
        if (word[0] == 'W')
            width = (uint32_t)strtoul(word + 1, NULL, 10);
        else if (word[0] == 'H')
            height = (uint32_t)strtoul(word + 1, NULL, 10);
        else if (word[0] == 'C')
            chroma = word + 1;
    }
    if (width < 1 || width > LARGEST_SIDE || height < 1 || height > LARGEST_SIDE)
        lab_fail("the film's header has a wrong size");
    if (strstr(chroma, "p1") || strstr(chroma, "alpha") || strcmp(chroma, "mono16") == 0)
        lab_fail("only films with 8 bits a colour are understood, not %s", chroma);
    bool mono = strncmp(chroma, "mono", 4) == 0, full = strncmp(chroma, "444", 3) == 0;
    bool half = strncmp(chroma, "422", 3) == 0;
    if (!mono && !full && !half && strncmp(chroma, "420", 3) != 0)
        lab_fail("films in %s are not understood", chroma);
    uint32_t chroma_width = full ? width : (width + 1) / 2;
    uint32_t chroma_height = full || half ? height : (height + 1) / 2;
    uint8_t *plane = lab_alloc((size_t)width * height, 8);
    char start[256];
    while (fgets(start, sizeof start, file)) {
        if (strncmp(start, "FRAME", 5) != 0)
            lab_fail("the film is damaged: a frame does not begin with FRAME");
        read_plane(file, plane, (size_t)width * height);
        encode_plane(e, plane, width, height);
        for (int c = 0; c < 2 && !mono; c++) {
            read_plane(file, plane, (size_t)chroma_width * chroma_height);
            encode_plane(e, plane, chroma_width, chroma_height);
        }
    }
    free(plane);
}

void codec_encode_file(FILE *stream, const char *path)
{
    FILE *file = fopen(path, "rb");
    char magic[2];
    if (!file || fread(magic, 1, 2, file) != 2)
        lab_fail("cannot read %s", path);
    struct encoder e = { 0 };
    start_stream(&e, stream);
    if (memcmp(magic, "P5", 2) == 0)
        encode_pnm(&e, file, 1);
    else if (memcmp(magic, "P6", 2) == 0)
        encode_pnm(&e, file, 3);
    else if (memcmp(magic, "YU", 2) == 0) /* YUV4MPEG2 */
        encode_y4m(&e, file);
    else
        lab_fail("%s is neither PGM (P5), PPM (P6) nor Y4M", path);
    fclose(file);
    finish_stream(&e);
}
