/* What support.h needs of the system, on Unix. */
#ifndef SUPPORT_UNIX_H
#define SUPPORT_UNIX_H

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef int socket_handle;
typedef size_t socket_length; /* of send and recv */

static inline void sockets_start(void) {}

static inline void socket_close(socket_handle handle) {
    close(handle);
}

typedef struct child {
    pid_t pid;
    int stdin_fd;
} child;

/* Starts the emulator, and reads the first line that it prints. */
static inline child child_start(const char *program, const char *config, bool tls, char *line, size_t size) {
    int alive[2], output[2], configured[2];
    CHECK(pipe(alive) == 0 && pipe(output) == 0 && pipe(configured) == 0);
    /* Less than a pipe's capacity, so it can be written before there is a reader. */
    CHECK(strlen(config) < 4096);
    CHECK(write(configured[1], config, strlen(config)) == (ssize_t)strlen(config));
    close(configured[1]);

    child started;
    started.pid = fork();
    CHECK(started.pid >= 0);
    if (started.pid == 0) {
        char path[32];
        snprintf(path, sizeof path, "/dev/fd/%d", configured[0]);
        dup2(alive[0], STDIN_FILENO);
        dup2(output[1], STDOUT_FILENO);
        close(alive[1]);
        execl(program, program, "--until-stdin-closes", "--config", path, tls ? "--tls" : (char *)NULL, (char *)NULL);
        perror(program);
        _exit(127);
    }
    close(alive[0]);
    close(output[1]);
    close(configured[0]);
    started.stdin_fd = alive[1];

    FILE *out = fdopen(output[0], "r");
    CHECK(out != NULL && fgets(line, (int)size, out) != NULL);
    fclose(out);
    return started;
}

static inline void child_end(const child *it) {
    close(it->stdin_fd);
    CHECK(waitpid(it->pid, NULL, 0) == it->pid);
}

static inline void sleep_ms(uint64_t ms) {
    struct timespec pause = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L};
    nanosleep(&pause, NULL);
}

static inline uint64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* A new folder for temporary files. */
static inline void folder_make(char *path, size_t size) {
    const char *temporary = getenv("TMPDIR");
    snprintf(path, size, "%s/agentjob-c-XXXXXX", temporary != NULL && strlen(temporary) < 100 ? temporary : "/tmp");
    CHECK(mkdtemp(path) != NULL);
}

static inline void replace_file(const char *from, const char *to) {
    CHECK(rename(from, to) == 0);
}

static inline bool is_private(const struct stat *file) {
    return (file->st_mode & 0777) == 0600;
}

#endif
