/*
 * Runs a program and makes one of its system calls fail:
 *
 *     fail_call REPORT LIMIT_MS CALL OCCURRENCE EFFECT PROGRAM [ARGUMENT...]
 *
 * CALL is the number of a system call and OCCURRENCE which one of them, from 1. Only calls between the program's two marks count: a
 * prctl(MARK, 1) before the calls and a prctl(MARK, 0) after them. EFFECT is an errno, with which the call fails and does nothing; or
 * 0, with which a read or a write moves one byte; or -1, which fails no call. REPORT gets one line for each call between the marks (its
 * number), then "applied", "not reached" or, for one that could not be shortened or could not fail so, "kept"; and how the program
 * ended: "exit N", "signal N", or "hang" if it was killed after LIMIT_MS.
 *
 * The calls are intercepted by seccomp's user notification, so it doesn't matter whether they come from libc or, as rustix makes them,
 * straight from the program. The exit status is 77 where the kernel has no such notification (before Linux 5.19).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum { MARK = 0x746f7274, UNSUPPORTED = 77, HIGHEST_CALL = 1024 };
enum { ONE_BYTE = 0, NO_FAULT = -1, INPUT_MS = 500 };

static struct {
    int call, occurrence, effect;
} wanted;
static FILE *report;
static bool between_marks;
static const char *reached = "not reached";
static int seen[HIGHEST_CALL];

static void die(const char *what) {
    perror(what);
    exit(1);
}

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* In the child: every call but those that end something waits for the supervisor. */
static int install_filter(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
    };
    struct sock_fprog program = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, &program);
}

/* A descriptor of another process: this one's pidfd is `of`. */
static int take_descriptor(int of, int descriptor) {
    return (int)syscall(SYS_pidfd_getfd, of, descriptor, 0);
}

/* Where the program's own call would wait for the service, so does the supervisor: for as long as a service on loopback takes. */
static void wait_for_input(int descriptor, int flags) {
    struct pollfd input = {descriptor, POLLIN, 0};
    if (!(flags & MSG_DONTWAIT) && !(fcntl(descriptor, F_GETFL) & O_NONBLOCK))
        poll(&input, 1, INPUT_MS);
}

/* Reads or writes one byte in the program's place; returns false if that was impossible, and the call then does what it would. */
static bool move_one_byte(int child, pid_t thread, const struct seccomp_data *data, struct seccomp_notif_resp *response) {
    struct iovec there = {(void *)(uintptr_t)data->args[1], data->args[2]};
    struct iovec vector = {&there, sizeof there};
    bool writes = data->nr == SYS_write || data->nr == SYS_sendto || data->nr == SYS_writev || data->nr == SYS_pwrite64;
    if (data->nr == SYS_writev || data->nr == SYS_readv) {
        struct iovec theirs = {(void *)(uintptr_t)data->args[1], sizeof there};
        if (process_vm_readv(thread, &vector, 1, &theirs, 1, 0) != (ssize_t)sizeof there)
            return false;
    } else if (data->nr != SYS_write && data->nr != SYS_read && data->nr != SYS_sendto && data->nr != SYS_recvfrom &&
               data->nr != SYS_pwrite64 && data->nr != SYS_pread64) {
        return false;
    }
    if (there.iov_len < 2)
        return false;
    there.iov_len = 1;
    int descriptor = take_descriptor(child, (int)data->args[0]);
    if (descriptor < 0)
        return false;
    char byte = 0;
    struct iovec here = {&byte, 1};
    ssize_t moved = -1;
    int flags = data->nr == SYS_recvfrom || data->nr == SYS_sendto ? (int)data->args[3] : 0;
    if (writes) {
        if (process_vm_readv(thread, &here, 1, &there, 1, 0) == 1) {
            moved = send(descriptor, &byte, 1, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
            if (moved < 0 && errno == ENOTSOCK)
                moved = data->nr == SYS_pwrite64 ? pwrite(descriptor, &byte, 1, (off_t)data->args[3]) : write(descriptor, &byte, 1);
        }
    } else {
        wait_for_input(descriptor, flags);
        moved = recv(descriptor, &byte, 1, flags | MSG_DONTWAIT);
        if (moved < 0 && errno == ENOTSOCK)
            moved = data->nr == SYS_pread64 ? pread(descriptor, &byte, 1, (off_t)data->args[3]) : read(descriptor, &byte, 1);
        if (moved == 1 && process_vm_writev(thread, &here, 1, &there, 1, 0) != 1)
            die("process_vm_writev");
    }
    close(descriptor);
    if (moved != 1)
        return false;
    response->val = 1;
    return true;
}

/* Only a futex's wait can fail. A wake relies on the kernel: one that got lost would be one thread less, in any program. */
static bool wakes(const struct seccomp_data *data) {
    int operation = (int)data->args[1] & FUTEX_CMD_MASK;
    return data->nr == SYS_futex && operation != FUTEX_WAIT && operation != FUTEX_WAIT_BITSET;
}

/* Only a wait that has a timeout can time out. */
static bool is_possible(const struct seccomp_data *data, int effect) {
    return data->nr != SYS_futex || effect != ETIMEDOUT || data->args[3] != 0;
}

static void decide(int child, const struct seccomp_notif *request, struct seccomp_notif_resp *response) {
    const struct seccomp_data *data = &request->data;
    if (data->nr == SYS_prctl && data->args[0] == MARK) {
        between_marks = data->args[1] == 1;
        response->val = 0;
        return;
    }
    response->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (!between_marks || data->nr < 0 || data->nr >= HIGHEST_CALL || wakes(data))
        return;
    fprintf(report, "%d\n", data->nr);
    if (data->nr != wanted.call || ++seen[data->nr] != wanted.occurrence || wanted.effect == NO_FAULT)
        return;
    reached = "kept";
    if (wanted.effect == ONE_BYTE) {
        if (!move_one_byte(child, (pid_t)request->pid, data, response))
            return;
    } else {
        if (!is_possible(data, wanted.effect))
            return;
        response->error = -wanted.effect;
    }
    response->flags = 0;
    reached = "applied";
}

/* Decides about the program's calls until it ends, or until its time has passed. */
static bool serve(int listener, int child, long long limit_ms) {
    struct seccomp_notif_sizes sizes;
    if (syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) != 0)
        die("seccomp");
    struct seccomp_notif *request = calloc(1, sizes.seccomp_notif + sizeof *request);
    struct seccomp_notif_resp *response = calloc(1, sizes.seccomp_notif_resp + sizeof *response);
    long long end = now_ms() + limit_ms;
    for (long long left; (left = end - now_ms()) > 0;) {
        struct pollfd ready[] = {{listener, POLLIN, 0}, {child, POLLIN, 0}};
        if (poll(ready, 2, (int)left) <= 0)
            continue;
        if (!(ready[0].revents & POLLIN)) {
            if (ready[1].revents != 0) {
                free(request);
                free(response);
                return true;
            }
            continue;
        }
        memset(request, 0, sizes.seccomp_notif);
        memset(response, 0, sizes.seccomp_notif_resp);
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, request) != 0)
            continue; /* its thread is gone */
        response->id = request->id;
        decide(child, request, response);
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, response);
    }
    free(request);
    free(response);
    return false;
}

int main(int argc, char **argv) {
    if (argc < 7) {
        fprintf(stderr, "usage: %s REPORT LIMIT_MS CALL OCCURRENCE EFFECT PROGRAM [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    report = fopen(argv[1], "we");
    if (report == NULL)
        die(argv[1]);
    wanted.call = atoi(argv[3]);
    wanted.occurrence = atoi(argv[4]);
    wanted.effect = atoi(argv[5]);

    /* The child cannot send its listener: every call that could waits for the listener's owner. */
    volatile int *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        die("mmap");
    *shared = -1;
    pid_t pid = fork();
    if (pid < 0)
        die("fork");
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int listener = install_filter();
        if (listener < 0)
            _exit(UNSUPPORTED);
        *shared = listener;
        execv(argv[6], argv + 6);
        perror(argv[6]);
        _exit(127);
    }
    int child = (int)syscall(SYS_pidfd_open, pid, 0);
    if (child < 0)
        return UNSUPPORTED;
    int status = 0;
    while (*shared < 0) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return UNSUPPORTED;
        usleep(100);
    }
    int listener = take_descriptor(child, *shared);
    if (listener < 0) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return UNSUPPORTED;
    }
    bool ended = serve(listener, child, atoll(argv[2]));
    if (!ended)
        kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
    fprintf(report, "%s\n", reached);
    if (!ended)
        fprintf(report, "hang\n");
    else if (WIFSIGNALED(status))
        fprintf(report, "signal %d\n", WTERMSIG(status));
    else
        fprintf(report, "exit %d\n", WEXITSTATUS(status));
    return 0;
}
