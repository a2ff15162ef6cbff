/* What support.h needs of the system, on Windows. */
#ifndef SUPPORT_WINDOWS_H
#define SUPPORT_WINDOWS_H

#include <winsock2.h>
#include <windows.h>

#include <direct.h>
#include <io.h>
#include <sys/stat.h>
#include <unistd.h>

typedef SOCKET socket_handle;
typedef int socket_length; /* of send and recv */

static inline void sockets_start(void) {
    WSADATA version;
    CHECK(WSAStartup(MAKEWORD(2, 2), &version) == 0);
}

static inline void socket_close(socket_handle handle) {
    closesocket(handle);
}

typedef struct child {
    HANDLE process;
    HANDLE stdin_handle;
} child;

/* A new file with a text. */
static inline void temporary_file(char *path, size_t size, const char *text) {
    char folder[MAX_PATH];
    CHECK(size >= MAX_PATH && GetTempPathA(sizeof folder, folder) > 0 && GetTempFileNameA(folder, "aj", 0, path) != 0);
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(text, 1, strlen(text), file) == strlen(text) && fclose(file) == 0);
}

/* Starts the emulator, and reads the first line that it prints. */
static inline child child_start(const char *program, const char *config, bool tls, char *line, size_t size) {
    char path[MAX_PATH], command[3 * MAX_PATH];
    temporary_file(path, sizeof path, config);
    snprintf(command, sizeof command, "\"%s\" --until-stdin-closes --config \"%s\"%s", program, path, tls ? " --tls" : "");
    SECURITY_ATTRIBUTES inherited = {sizeof inherited, NULL, TRUE};
    HANDLE alive[2], output[2];
    CHECK(CreatePipe(&alive[0], &alive[1], &inherited, 0) && CreatePipe(&output[0], &output[1], &inherited, 0));
    CHECK(SetHandleInformation(alive[1], HANDLE_FLAG_INHERIT, 0) && SetHandleInformation(output[0], HANDLE_FLAG_INHERIT, 0));
    STARTUPINFOA startup;
    PROCESS_INFORMATION process;
    memset(&startup, 0, sizeof startup);
    startup.cb = sizeof startup;
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = alive[0];
    startup.hStdOutput = output[1];
    startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    CHECK(CreateProcessA(NULL, command, NULL, NULL, TRUE, 0, NULL, NULL, &startup, &process));
    CloseHandle(process.hThread);
    CloseHandle(alive[0]);
    CloseHandle(output[1]);
    size_t len = 0;
    DWORD got = 0;
    while (len + 1 < size && (len == 0 || line[len - 1] != '\n')) {
        CHECK(ReadFile(output[0], line + len, 1, &got, NULL) && got == 1);
        len++;
    }
    line[len] = '\0';
    CloseHandle(output[0]);
    DeleteFileA(path);
    child started = {process.hProcess, alive[1]};
    return started;
}

static inline void child_end(const child *it) {
    CloseHandle(it->stdin_handle);
    CHECK(WaitForSingleObject(it->process, INFINITE) == WAIT_OBJECT_0);
    CloseHandle(it->process);
}

static inline int poll(struct pollfd *sockets, unsigned count, int timeout_ms) {
    return WSAPoll(sockets, count, timeout_ms);
}

static inline void sleep_ms(uint64_t ms) {
    Sleep((DWORD)ms);
}

static inline uint64_t now_ms(void) {
    return GetTickCount64();
}

/* A new folder for temporary files. */
static inline void folder_make(char *path, size_t size) {
    char parent[MAX_PATH];
    CHECK(GetTempPathA(sizeof parent, parent) > 0);
    for (unsigned tried = 0;; tried++) {
        snprintf(path, size, "%sagentjob-c-%lu-%u", parent, GetCurrentProcessId(), tried);
        if (_mkdir(path) == 0)
            return;
        CHECK(tried < 1000);
    }
}

static inline void replace_file(const char *from, const char *to) {
    CHECK(MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING));
}

/* Its access list is its folder's, which only this user can read. */
static inline bool is_private(const struct stat *file) {
    return file != NULL;
}

static inline int setenv(const char *name, const char *value, int replace) {
    return !replace && getenv(name) != NULL ? 0 : _putenv_s(name, value);
}

static inline int unsetenv(const char *name) {
    return _putenv_s(name, "");
}

#endif
