/* Linked into the library: when a program ends, writes which of the compiler's counters it reached to a file in the folder REACHED, as the
 * addresses of the code, counted from the library's beginning. Blocks that a killed program reached are not known. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct place {
    uintptr_t address, is_function;
};

static const char *counters, *counters_end;
static const struct place *places;

void __sanitizer_cov_8bit_counters_init(const char *begin, const char *end) {
    counters = begin;
    counters_end = end;
}

void __sanitizer_cov_pcs_init(const struct place *begin, const struct place *end) {
    (void)end;
    places = begin;
}

__attribute__((destructor)) static void write_reached(void) {
    const char *folder = getenv("REACHED");
    char name[4096];
    Dl_info library;
    if (folder == NULL || places == NULL || dladdr(places, &library) == 0)
        return;
    snprintf(name, sizeof name, "%s/%ld", folder, (long)getpid());
    FILE *file = fopen(name, "w");
    if (file == NULL)
        return;
    for (const char *counter = counters; counter != counters_end; counter++)
        if (*counter != 0)
            fprintf(file, "%lx\n", (unsigned long)(places[counter - counters].address - (uintptr_t)library.dli_fbase));
    fclose(file);
}
