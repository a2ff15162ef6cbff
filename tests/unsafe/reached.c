/* Linked into the library: when a program ends, adds which of the compiler's flags are set to a file of its process in the folder REACHED,
 * as the addresses of the code, counted from the library's beginning. What a killed program reached is not known. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct place {
    uintptr_t address, is_function;
};

static const bool *flags, *flags_end;
static const struct place *places;

void __sanitizer_cov_bool_flag_init(const bool *begin, const bool *end) {
    flags = begin;
    flags_end = end;
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
    FILE *file = fopen(name, "a");
    if (file == NULL)
        return;
    for (const bool *flag = flags; flag != flags_end; flag++)
        if (*flag)
            fprintf(file, "%lx\n", (unsigned long)(places[flag - flags].address - (uintptr_t)library.dli_fbase));
    fclose(file);
}
