/* Prints the version of the library that it runs with; fails if that is not the one whose header it was compiled with. */
#include <agentjob.h>
#include <stdio.h>
#include <string.h>

int main(void) {
    puts(agentjob_version());
    return strcmp(agentjob_version(), AGENTJOB_VERSION) != 0;
}
