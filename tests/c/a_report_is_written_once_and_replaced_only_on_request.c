/* The report of a batch: a file that only its owner can read, refused if it exists unless the program says that it may be replaced. */
#include "batch.h"


int main(void) {
    emulator service = emulator_with_jobs("");
    folder place = folder_new();
    agentjob_client *client = emulator_client(&service);
    agentjob_error *err = NULL;
    char page[200], content[32] = "";
    snprintf(page, sizeof page, "%s/night.html", place.path);
    CHECK_INT(agentjob_batch_write_report(place.journal, page, false, &err), AGENTJOB_ERR_JOURNAL);
    agentjob_error_free(err);
    err = NULL;
    batch_run(batch_of(client, &place, 3));
    CHECK_OK(agentjob_batch_write_report(place.journal, page, false, &err), err);
    struct stat facts;
    CHECK(stat(page, &facts) == 0 && is_private(&facts) && facts.st_size > 5000);
    FILE *file = fopen(page, "r");
    CHECK(file != NULL && fgets(content, sizeof content, file) != NULL && fclose(file) == 0);
    CHECK(strcmp(content, "<!doctype html>\n") == 0);
    CHECK_INT(agentjob_batch_write_report(place.journal, page, false, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "exists already");
    agentjob_error_free(err);
    err = NULL;
    CHECK_OK(agentjob_batch_write_report(place.journal, page, true, &err), err);
    CHECK_INT(agentjob_batch_write_report(place.journal, place.journal, true, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), "is the journal itself");
    agentjob_error_free(err);
    unlink(page);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
