/* Puts an unused cache line behind every allocation, so that no two allocations share a line.
 *
 * glibc only: its allocator still does the work, through names that it exports for such wrappers (2.2.5 and later).
 * Aligning each allocation instead would cost more: before 2.38 memalign takes a lock where malloc takes none.
 */

#include <stddef.h>

enum { LINE = 64, NO_MEMORY = 12, BAD_VALUE = 22 };

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *at, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern int *__errno_location(void);

/* The size plus one cache line. If the sum overflows, the size stays as it is, and the allocator refuses it. */
static size_t padded(size_t size) {
    size_t more;
    return __builtin_add_overflow(size, LINE, &more) ? size : more;
}

static int product(size_t count, size_t size, size_t *all) {
    if (!__builtin_mul_overflow(count, size, all))
        return 1;
    *__errno_location() = NO_MEMORY;
    return 0;
}

void *malloc(size_t size) { return __libc_malloc(padded(size)); }

void *calloc(size_t count, size_t size) {
    size_t all;
    return product(count, size, &all) ? __libc_calloc(1, padded(all)) : NULL;
}

/* realloc(at, 0) frees; the size must stay 0 for it. */
void *realloc(void *at, size_t size) { return __libc_realloc(at, at && !size ? 0 : padded(size)); }

void *reallocarray(void *at, size_t count, size_t size) {
    size_t all;
    return product(count, size, &all) ? realloc(at, all) : NULL;
}

void *memalign(size_t alignment, size_t size) { return __libc_memalign(alignment, padded(size)); }

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **at, size_t alignment, size_t size) {
    if (!alignment || alignment % sizeof(void *) || alignment & (alignment - 1))
        return BAD_VALUE;
    void *got = memalign(alignment, size);
    if (!got)
        return NO_MEMORY;
    *at = got;
    return 0;
}
