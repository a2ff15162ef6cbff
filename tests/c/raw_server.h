/*
 * A server as a child process that responds to every request with the same status and body, for bodies that are too large for the
 * emulator's configuration.
 */
#ifndef RAW_SERVER_H
#define RAW_SERVER_H

#include <arpa/inet.h>
#include <signal.h>

#include "support.h"

typedef struct raw_server {
    pid_t pid;
    char base_url[64];
} raw_server;

static inline bool raw_write(int fd, const char *bytes, size_t len) {
    while (len > 0) {
        ssize_t wrote = write(fd, bytes, len);
        if (wrote <= 0)
            return false;
        bytes += wrote;
        len -= (size_t)wrote;
    }
    return true;
}

/* Reads one request, its body included; false at the connection's end. */
static inline bool raw_read(int fd) {
    char request[65536];
    size_t len = 0;
    for (;;) {
        ssize_t got = read(fd, request + len, sizeof request - 1 - len);
        if (got <= 0)
            return false;
        len += (size_t)got;
        request[len] = '\0';
        const char *end = strstr(request, "\r\n\r\n");
        if (end == NULL)
            continue;
        const char *length = strstr(request, "ontent-");
        while (length != NULL && strncmp(length, "ontent-length:", 14) != 0 && strncmp(length, "ontent-Length:", 14) != 0)
            length = strstr(length + 1, "ontent-");
        size_t body = length != NULL && length < end ? (size_t)atol(length + 14) : 0;
        if (len >= (size_t)(end + 4 - request) + body)
            return true;
    }
}

/* Responds with `first`, `times` times `part`, and `last`. */
static inline raw_server raw_server_of_parts(int status, const char *first, const char *part, size_t times, const char *last) {
    raw_server started;
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&address, size) == 0 && listen(listener, 16) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &size) == 0);
    snprintf(started.base_url, sizeof started.base_url, "http://127.0.0.1:%d", ntohs(address.sin_port));
    pid_t parent = getpid();
    started.pid = fork();
    CHECK(started.pid >= 0);
    if (started.pid == 0) {
        signal(SIGPIPE, SIG_IGN);
        size_t begin = strlen(first), step = strlen(part), length = begin + step * times + strlen(last);
        char *body = (char *)malloc(length + 1);
        CHECK(body != NULL);
        memcpy(body, first, begin);
        for (size_t n = 0; n < times; n++)
            memcpy(body + begin + n * step, part, step);
        memcpy(body + begin + times * step, last, strlen(last) + 1);
        /* A parent that is gone takes no more connections; the alarm is for one that died without a word. */
        while (getppid() == parent) {
            alarm(60);
            int fd = accept(listener, NULL, NULL);
            while (fd >= 0 && raw_read(fd)) {
                char head[256];
                snprintf(head, sizeof head, "HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
                         status, length);
                if (!raw_write(fd, head, strlen(head)) || !raw_write(fd, body, length))
                    break;
            }
            close(fd);
        }
        _exit(0);
    }
    close(listener);
    return started;
}

static inline raw_server raw_server_start(int status, const char *body) {
    return raw_server_of_parts(status, body, "", 0, "");
}

static inline void raw_server_stop(const raw_server *it) {
    kill(it->pid, SIGKILL);
    CHECK(waitpid(it->pid, NULL, 0) == it->pid);
}

#endif
