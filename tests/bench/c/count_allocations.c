/* For LD_PRELOAD: counts what a program asks of the allocator, and says so on standard error when it ends. For glibc, whose own
 * functions it calls; other C libraries have no such names. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static atomic_ulong calls;

void *malloc(size_t size)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_realloc(old, size);
}

__attribute__((destructor)) static void say(void)
{
    fprintf(stderr, "allocations: %lu\n", atomic_load(&calls));
}
