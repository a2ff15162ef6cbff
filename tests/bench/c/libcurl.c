/* libcurl's easy handle, kept alive, with the timeout that any careful program sets: one a thread, as libcurl wants it.
 * JSON is not part of libcurl: the body is made by the plain loop that programs have for it, into room that is kept, and the response
 * is only searched for the job's id. */
#include "race.h"

#include <curl/curl.h>

struct client {
    char url[512], key[512];
    const char *bundle;
};

struct sender {
    CURL *easy;
    struct curl_slist *headers;
    const char *prompt;
    char *body;
    size_t length;
    char text[8192];
};

static size_t gather(char *piece, size_t size, size_t count, void *into)
{
    struct sender *sender = into;
    size_t length = size * count;
    if (sender->length + length >= sizeof sender->text)
        return 0;
    memcpy(sender->text + sender->length, piece, length);
    sender->length += length;
    return length;
}

static void *client_new(const struct place *place)
{
    struct client *client = memory(sizeof *client);
    snprintf(client->url, sizeof client->url, "%s/v2/agent/demo/job/" JOB "/message", place->url);
    snprintf(client->key, sizeof client->key, "Authorization: Bearer %s", place->key);
    client->bundle = place->bundle;
    return client;
}

static void client_free(void *client)
{
    free(client);
}

/* {"prompt":"…"} with what JSON wants escaped; returns its length. */
static size_t encode(char *body, const char *prompt)
{
    char *end = stpcpy(body, "{\"prompt\":\"");
    for (const char *at = prompt; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte < 0x20) {
            end += sprintf(end, "\\u%04x", byte);
            continue;
        }
        if (byte == '"' || byte == '\\')
            *end++ = '\\';
        *end++ = *at;
    }
    return (size_t)(stpcpy(end, "\"}") - body);
}

static void *sender_new(void *state, const char *prompt)
{
    const struct client *client = state;
    struct sender *sender = memory(sizeof *sender);
    sender->prompt = prompt;
    /* Room for the worst; what is not written takes no memory. */
    sender->body = malloc(6 * strlen(prompt) + 16);
    check(sender->body != NULL);
    sender->headers = curl_slist_append(NULL, client->key);
    sender->headers = curl_slist_append(sender->headers, "Content-Type: application/json");
    /* Without this it waits a second for a `100 Continue` before a large body. */
    sender->headers = curl_slist_append(sender->headers, "Expect:");
    sender->easy = curl_easy_init();
    curl_easy_setopt(sender->easy, CURLOPT_URL, client->url);
    curl_easy_setopt(sender->easy, CURLOPT_HTTPHEADER, sender->headers);
    curl_easy_setopt(sender->easy, CURLOPT_WRITEFUNCTION, gather);
    curl_easy_setopt(sender->easy, CURLOPT_WRITEDATA, sender);
    curl_easy_setopt(sender->easy, CURLOPT_TIMEOUT_MS, 60000L);
    curl_easy_setopt(sender->easy, CURLOPT_NOSIGNAL, 1L);
    if (client->bundle != NULL) {
        curl_easy_setopt(sender->easy, CURLOPT_CAINFO, client->bundle);
        /* With a folder of authorities besides, which is Debian's default, it reads them all again for each connection. The section of
         * the default roots keeps it. */
        if (getenv("BENCH_DEFAULT_ROOTS") == NULL)
            curl_easy_setopt(sender->easy, CURLOPT_CAPATH, NULL);
    }
    return sender;
}

static void sender_send(void *state)
{
    struct sender *sender = state;
    long status = 0;
    sender->length = 0;
    curl_easy_setopt(sender->easy, CURLOPT_POSTFIELDSIZE, (long)encode(sender->body, sender->prompt));
    curl_easy_setopt(sender->easy, CURLOPT_POSTFIELDS, sender->body);
    check(curl_easy_perform(sender->easy) == CURLE_OK);
    curl_easy_getinfo(sender->easy, CURLINFO_RESPONSE_CODE, &status);
    sender->text[sender->length] = '\0';
    check(status == 200 && strstr(sender->text, "\"id\":\"" JOB "\"") != NULL);
}

static void sender_free(void *state)
{
    struct sender *sender = state;
    curl_easy_cleanup(sender->easy);
    curl_slist_free_all(sender->headers);
    free(sender->body);
    free(sender);
}

int main(int argc, char **argv)
{
    curl_global_init(CURL_GLOBAL_DEFAULT);
    return race(argc, argv);
}
