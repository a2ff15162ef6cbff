/* The version that was compiled in is the version that runs, in every spelling, and the numbers have their names. */
#include "support.h"

int main(void) {
    char text[32];
    CHECK_TEXT(agentjob_version(), AGENTJOB_VERSION);
    CHECK_INT(agentjob_version_number(), AGENTJOB_VERSION_NUMBER);
    CHECK_INT(agentjob_abi_version(), AGENTJOB_ABI_VERSION);
    CHECK_INT(AGENTJOB_VERSION_NUMBER, AGENTJOB_VERSION_MAJOR * 65536 + AGENTJOB_VERSION_MINOR * 256 + AGENTJOB_VERSION_PATCH);
    snprintf(text, sizeof text, "%d.%d.%d", AGENTJOB_VERSION_MAJOR, AGENTJOB_VERSION_MINOR, AGENTJOB_VERSION_PATCH);
    CHECK_TEXT(text, AGENTJOB_VERSION);
    CHECK(AGENTJOB_VERSION_AT_LEAST(AGENTJOB_VERSION_MAJOR, AGENTJOB_VERSION_MINOR, AGENTJOB_VERSION_PATCH));
    CHECK(AGENTJOB_VERSION_AT_LEAST(0, 0, 255));
    CHECK(!AGENTJOB_VERSION_AT_LEAST(AGENTJOB_VERSION_MAJOR, AGENTJOB_VERSION_MINOR, AGENTJOB_VERSION_PATCH + 1));
    CHECK(!AGENTJOB_VERSION_AT_LEAST(AGENTJOB_VERSION_MAJOR + 1, 0, 0));

    CHECK_TEXT(agentjob_code_name(AGENTJOB_ERR_NOT_FOUND), "AGENTJOB_ERR_NOT_FOUND");
    CHECK_TEXT(agentjob_code_name(12345), "?");
    CHECK_TEXT(agentjob_delivery_name(AGENTJOB_DELIVERY_ACCEPTED), "accepted");
    CHECK_TEXT(agentjob_status_name(AGENTJOB_STATUS_ARCHIVED), "archived");
    CHECK(AGENTJOB_NUL_TERMINATED == (size_t)-1);
    CHECK(AGENTJOB_FOREVER == (uint64_t)-1);
    return 0;
}
