/* A file of messages, CSV or JSON lines: all of them are added, or none, and the error names the wrong line. */
#include "batch.h"

static void write_file(const char *path, const char *content) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(content, file) >= 0 && fclose(file) == 0);
}

static void refused(agentjob_batch *batch, const char *path, const char *part, uint64_t line) {
    agentjob_error *err = NULL;
    CHECK_INT(agentjob_batch_add_file(batch, path, false, &err), AGENTJOB_ERR_INVALID_ARGUMENT);
    CHECK_HOLDS(agentjob_error_message(err), part);
    CHECK_INT(agentjob_error_line(err), line);
    CHECK_INT(agentjob_error_item(err), 0); /* it is in no batch yet */
    agentjob_error_free(err);
    CHECK_INT(batch_count(batch, AGENTJOB_COUNT_ITEMS), 0);
}

int main(void) {
    emulator service = emulator_with_jobs("");
    folder place = folder_new();
    agentjob_client *client = emulator_client(&service);
    agentjob_batch *batch = batch_of(client, &place, 0);
    agentjob_error *err = NULL;
    char csv[200], lines[200];
    snprintf(csv, sizeof csv, "%s/messages.csv", place.path);
    snprintf(lines, sizeof lines, "%s/messages.jsonl", place.path);
    refused(batch, csv, "messages.csv cannot be read", 0);
    write_file(csv, "job_id,prompt\njob_1,one\njob_2\n");
    refused(batch, csv, "messages.csv, line 3: the line has 1 field, but the header has 2", 3);
    write_file(csv, "job_id,prompt\njob_1, \"one\"\n");
    refused(batch, csv, "messages.csv, line 2, column 8: a quote is inside a field that does not begin with one; quote the whole field", 2);
    write_file(csv, "job_id,prompt\njob_1\xc2\xa0,one\n");
    refused(batch, csv, "messages.csv, line 2: job_id ends with white space (U+00A0).", 2);
    write_file(lines, "{\"job_id\": \"job_3\", \"promt\": \"three\"}\n");
    refused(batch, lines, "messages.jsonl, line 1, column 1: prompt is missing; unknown field \"promt\"", 1);
    write_file(csv, "job_id,prompt,key,,\njob_1,one,,,\n,,,,\njob_2,\"two, \"\"too\"\"\",k,,\n,,,,\n");
    write_file(lines, "{\"job_id\": \"job_3\", \"prompt\": \"three\"}\n");
    CHECK_OK(agentjob_batch_add_file(batch, csv, false, &err), err);
    CHECK_OK(agentjob_batch_add_file(batch, lines, false, &err), err);
    CHECK_INT(batch_count(batch, AGENTJOB_COUNT_ITEMS), 3);
    CHECK_INT(batch_run(batch).deliveries[AGENTJOB_DELIVERY_ACCEPTED], 3);
    CHECK_INT(emulator_messages(&service), 3);
    unlink(csv);
    unlink(lines);
    agentjob_client_free(client);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
