/*
 * A program whose descriptors 0 to 2 are closed, as some services are started, writes its log to descriptor 2 all the time: not a
 * byte of it gets into a socket, a journal, or a file with a key or certificates.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "batch.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

static atomic_bool over;
static atomic_int written;
static atomic_int taken;
static struct stat root;

/* Whether a descriptor is closed, or reserved with the root folder, which cannot be written. */
static bool is_free(int fd) {
    struct stat about;
    return fstat(fd, &about) != 0 || (about.st_dev == root.st_dev && about.st_ino == root.st_ino);
}

/* The rest of the program does not know that the streams are closed; it checks what took their place. */
static void *log_lines(void *unused) {
    (void)unused;
    while (!atomic_load(&over)) {
        for (int fd = 0; fd < 3; fd++) {
            if (write(fd, "a line of the log\n", 18) > 0) {
                atomic_fetch_add(&written, 1);
            }
            if (!is_free(fd)) {
                atomic_fetch_add(&taken, 1);
            }
        }
    }
    return NULL;
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
    CHECK(chmod(path, 0600) == 0);
}

/* While no call runs. Descriptor 2 is for this program's own messages. */
static void check_streams(int saved, bool none) {
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) != -1) {
            none = false;
        }
    }
    if (!none) {
        dup2(saved, 2);
    }
    CHECK(none);
}

int main(void) {
    CHECK(setenv("AGENTJOB_LOG", "debug", 1) == 0);
#ifdef __GLIBC__
    /* With several arenas its malloc itself opens a file, to count the processors. A sanitizer has a malloc of its own. */
    CHECK(mallopt(M_ARENA_MAX, 1) == 1 || is_instrumented());
#endif
    emulator service = emulator_with_jobs(", \"work_ms\": 300");
    folder place = folder_new();
    char key_file[256];
    snprintf(key_file, sizeof key_file, "%s/key", place.path);
    write_file(key_file, service.api_key);
    char *host = strstr(service.base_url, "127.0.0.1");
    CHECK(host != NULL);
    char named[96];
    snprintf(named, sizeof named, "http://localhost%s", host + strlen("127.0.0.1"));

    int saved = fcntl(2, F_DUPFD_CLOEXEC, 100);
    CHECK(saved >= 100 && stat("/", &root) == 0);
    close(0);
    close(1);
    close(2);
    pthread_t logger;
    CHECK(pthread_create(&logger, NULL, log_lines, NULL) == 0);

    agentjob_error *err = NULL;
    agentjob_client *client = NULL;
    agentjob_options *options = agentjob_options_new();
    bool good = agentjob_options_set_base_url(options, named, &err) == AGENTJOB_OK &&
                agentjob_options_set_api_key_file(options, key_file, &err) == AGENTJOB_OK &&
                agentjob_options_set_project_id(options, service.project_id, &err) == AGENTJOB_OK &&
                agentjob_options_set_trust_env(options, false, &err) == AGENTJOB_OK &&
                agentjob_client_new(options, &client, &err) == AGENTJOB_OK;
    agentjob_options_free(options);
    check_streams(saved, good);
    for (int n = 0; n < 20 && good; n++) {
        agentjob_job *job = NULL;
        good = agentjob_client_send_message(client, "job_1", "Go on", 5, NULL, &job, &err) == AGENTJOB_OK;
        agentjob_job_free(job);
        check_streams(saved, good);
    }
    agentjob_batch *batch = batch_of(client, &place, 20);
    good = agentjob_batch_start(batch, &err) == AGENTJOB_OK;
    while (good && !agentjob_batch_is_over(batch)) {
        agentjob_batch_event *event = NULL;
        good = agentjob_batch_next(batch, AGENTJOB_FOREVER, &event, &err) == AGENTJOB_OK;
        agentjob_batch_event_free(event);
    }
    agentjob_batch_free(batch);
    agentjob_client_free(client);
    atomic_store(&over, true);
    CHECK(pthread_join(logger, NULL) == 0);
    check_streams(saved, good);

    for (int fd = 0; fd < 3; fd++) {
        CHECK(dup2(saved, fd) == fd);
    }
    CHECK_INT(atomic_load(&written), 0);
    CHECK_INT(atomic_load(&taken), 0);
    CHECK_INT(journal_count(&place, AGENTJOB_COUNT_ACCEPTED), 20);
    CHECK_INT(emulator_messages(&service), 40);
    CHECK(unlink(key_file) == 0);
    folder_remove(&place);
    emulator_stop(&service);
    return 0;
}
