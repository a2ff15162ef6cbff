/* libcurl's easy handle, kept alive, with the timeout that any careful program sets. It gathers the answer and looks for the
 * job's id in it; parsing JSON is not part of libcurl. */
#include "race.h"

#include <curl/curl.h>
#include <string.h>

struct answer {
    CURL *easy;
    size_t length;
    char text[8192];
};

static size_t gather(char *piece, size_t size, size_t count, void *into)
{
    struct answer *answer = into;
    size_t length = size * count;
    if (answer->length + length >= sizeof answer->text)
        return 0;
    memcpy(answer->text + answer->length, piece, length);
    answer->length += length;
    return length;
}

static void send_one(void *state)
{
    struct answer *answer = state;
    long status = 0;
    answer->length = 0;
    if (curl_easy_perform(answer->easy) != CURLE_OK)
        abort();
    curl_easy_getinfo(answer->easy, CURLINFO_RESPONSE_CODE, &status);
    answer->text[answer->length] = '\0';
    if (status != 200 || strstr(answer->text, "\"id\":\"" JOB "\"") == NULL)
        abort();
}

int main(int argc, char **argv)
{
    static struct answer answer;
    char url[512], key[512];
    if (argc < 3)
        return 1;
    snprintf(url, sizeof url, "%s/v2/agent/demo/job/" JOB "/message", argv[1]);
    snprintf(key, sizeof key, "Authorization: Bearer %s", argv[2]);
    struct curl_slist *headers = curl_slist_append(NULL, key);
    headers = curl_slist_append(headers, "Content-Type: application/json");
    answer.easy = curl_easy_init();
    curl_easy_setopt(answer.easy, CURLOPT_URL, url);
    curl_easy_setopt(answer.easy, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(answer.easy, CURLOPT_POSTFIELDS, "{\"prompt\":\"" PROMPT "\"}");
    curl_easy_setopt(answer.easy, CURLOPT_WRITEFUNCTION, gather);
    curl_easy_setopt(answer.easy, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(answer.easy, CURLOPT_TIMEOUT_MS, 60000L);
    curl_easy_setopt(answer.easy, CURLOPT_NOSIGNAL, 1L);
    race(send_one, &answer);
    curl_easy_cleanup(answer.easy);
    curl_slist_free_all(headers);
    return 0;
}
