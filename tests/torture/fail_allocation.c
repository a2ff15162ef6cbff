/*
 * Preloaded into program.c: the allocation with the number FAIL_ALLOCATION, from 1, fails if it is between the program's marks; 0
 * fails none. glibc only, whose allocator is also reachable under other names.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

void fail_allocation_mark(int on);
int fail_allocation_count(void);
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_int counted;
static atomic_bool between_marks;
static int wanted;

void fail_allocation_mark(int on) {
    const char *number = getenv("FAIL_ALLOCATION");
    wanted = number != NULL ? atoi(number) : 0;
    atomic_store(&between_marks, on == 1);
}

int fail_allocation_count(void) {
    return atomic_load(&counted);
}

static bool fails(void) {
    if (!atomic_load(&between_marks) || atomic_fetch_add(&counted, 1) + 1 != wanted)
        return false;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size) {
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *old, size_t size) {
    return fails() ? NULL : __libc_realloc(old, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    if (fails())
        return ENOMEM;
    *out = __libc_memalign(alignment, size);
    return *out != NULL ? 0 : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size) {
    return fails() ? NULL : __libc_memalign(alignment, size);
}
