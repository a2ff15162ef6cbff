/*
 * Texts that are made up, passed as the texts of settings, messages, pollers and lists: a call takes one, or refuses it with one sentence
 * that names the parameter. What is refused was not sent, what was taken arrived as it was, what is not UTF-8 is refused, and no error has
 * the key in it.
 *
 * The texts are the same each time. ROUNDS (200) says how many there are of each kind, SEED (1) which.
 */
#include "batch.h"

static agentjob_error *err;
static uint64_t state;

/* A number below `limit`: xorshift64. */
static size_t below(size_t limit) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (size_t)(state % limit);
}

static const char *const pieces[] = {
    "http://", "https://", "127.0.0.1", "[::1]", "localhost", ":8080", ":99999", "@", "user:password", "%41", "%zz", "?", "#", "/", "..", "\\",
    "job_1", "job_2", "a", "Z", "0", "-1", "99999999999999999999", "1/h", "5/10s", " ", "\t", "\r\n", "\n", "\x01", "\x7f", "\"", "{\"a\":1}", "[", "null",
    "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xef\xbb\xbf", "\xc2\x85", "\xff", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82",
    "X-Tenant", "Authorization", "Content-Length", "X-Api-Key", "agentjob-poller-1",
};

enum { LONGEST = 70000 };

/* How every made-up key begins. */
#define KEY "zebra7quilt4"

/* The key of the client that calls. */
static const char *client_key = KEY;

/* The next text: pieces, random bytes, or a long one. It has no NUL. */
static const char *made_up(void) {
    static char texts[4][LONGEST + 1];
    static int next;
    char *text = texts[next++ % 4];
    size_t len = 0;
    switch (below(8)) {
    case 0:
        for (size_t count = below(40); len < count;)
            text[len++] = (char)(1 + below(255));
        break;
    case 1:
        len = below(LONGEST);
        memset(text, (int)(33 + below(90)), len);
        break;
    default:
        for (size_t count = below(6); count > 0; count--) {
            const char *piece = pieces[below(sizeof pieces / sizeof *pieces)];
            memcpy(text + len, piece, strlen(piece));
            len += strlen(piece);
        }
    }
    text[len] = '\0';
    return text;
}

/* Whether a text is UTF-8 (RFC 3629), by its table of byte sequences. */
static bool is_utf8(const char *text, size_t len) {
    const unsigned char *at = (const unsigned char *)text, *end = at + len;
    while (at < end) {
        size_t more;
        unsigned char low = 0x80, high = 0xbf;
        if (*at < 0x80) {
            more = 0;
        } else if (*at >= 0xc2 && *at <= 0xdf) {
            more = 1;
        } else if (*at >= 0xe0 && *at <= 0xef) {
            more = 2;
            low = *at == 0xe0 ? 0xa0 : low;
            high = *at == 0xed ? 0x9f : high;
        } else if (*at >= 0xf0 && *at <= 0xf4) {
            more = 3;
            low = *at == 0xf0 ? 0x90 : low;
            high = *at == 0xf4 ? 0x8f : high;
        } else {
            return false;
        }
        at++;
        for (; more > 0; more--, at++, low = 0x80, high = 0xbf) {
            if (at == end || *at < low || *at > high)
                return false;
        }
    }
    return true;
}

/* What must hold of each call with these texts. `parameter` is in the sentence of a refusal. Returns whether it was refused as an argument. */
static bool judged(agentjob_code code, const char *call, const char *parameter, const char *text, size_t len) {
    const char *message = err ? agentjob_error_message(err) : "";
    bool refused = code == AGENTJOB_ERR_INVALID_ARGUMENT, is_one_line = strpbrk(message, "\r\n") == NULL;
    bool is_named = !refused || strstr(message, parameter) != NULL;
    bool is_right = (code == AGENTJOB_OK) == (err == NULL) && (refused || is_utf8(text, len));
    bool shows_key = strstr(message, KEY) != NULL || strstr(message, client_key) != NULL;
    if (!is_named || !is_right || !is_one_line || shows_key || !is_utf8(message, strlen(message)) || strlen(message) > 2000) {
        fprintf(stderr, "%s returned %s: %s\nfor", call, agentjob_code_name(code), message);
        for (size_t at = 0; at < len && at < 200; at++)
            fprintf(stderr, " %02x", (unsigned char)text[at]);
        fprintf(stderr, " (%lu bytes)\n", (unsigned long)len);
        exit(1);
    }
    agentjob_error_free(err);
    err = NULL;
    return refused;
}

#define JUDGED(call, parameter, text) judged((call), #call, parameter, text, strlen(text))

static void settings(void) {
    agentjob_options *options = agentjob_options_new();
    agentjob_call *call = agentjob_call_new();
    const char *text = made_up(), *name = made_up();
    static char key[sizeof KEY + LONGEST];
    snprintf(key, sizeof key, "%s%s", KEY, text);
    JUDGED(agentjob_options_set_base_url(options, text, &err), "base_url", text);
    JUDGED(agentjob_options_set_project_id(options, text, &err), "project_id", text);
    JUDGED(agentjob_options_set_api_key(options, key, &err), "api_key", key);
    JUDGED(agentjob_options_set_proxy(options, text, &err), "proxy", text);
    JUDGED(agentjob_options_set_user_agent_suffix(options, text, &err), "suffix", text);
    JUDGED(agentjob_options_set_api_key_file(options, text, &err), "", text);
    JUDGED(agentjob_options_set_ca_file(options, text, &err), "", text);
    JUDGED(agentjob_options_set_client_cert(options, text, &err), "", text);
    JUDGED(agentjob_options_set_client_key(options, text, &err), "", text);
    JUDGED(agentjob_options_set_header(options, name, text, &err), "", is_utf8(name, strlen(name)) ? text : name);
    JUDGED(agentjob_call_set_header(call, name, text, &err), "", is_utf8(name, strlen(name)) ? text : name);
    agentjob_call_free(call);
    agentjob_options_free(options);

    /* What one setting took builds a client, or is refused then. The client is not used. */
    agentjob_client *client = NULL;
    options = agentjob_options_new();
    CHECK_OK(agentjob_options_set_base_url(options, "https://service.example", &err), err);
    CHECK_OK(agentjob_options_set_api_key(options, "key", &err), err);
    CHECK_OK(agentjob_options_set_project_id(options, "project", &err), err);
    CHECK_OK(agentjob_options_set_trust_env(options, false, &err), err);
    agentjob_code taken = below(2) ? agentjob_options_set_base_url(options, text, NULL) : agentjob_options_set_proxy(options, text, NULL);
    if (taken == AGENTJOB_OK) {
        JUDGED(agentjob_client_new(options, &client, &err), "", text);
        CHECK(client == NULL || is_utf8(agentjob_client_base_url(client), strlen(agentjob_client_base_url(client))));
    }
    agentjob_client_free(client);
    agentjob_options_free(options);
}

/* The prompts that were taken, as the ledger has them: "prompt":"…", each with its NUL. */
static char *taken;
static size_t taken_len;

static void note(const char *prompt, size_t len) {
    static const char escaped[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    taken = realloc(taken, taken_len + len * 6 + sizeof "\"prompt\":\"\"");
    CHECK(taken != NULL);
    char *end = taken + taken_len;
    end += sprintf(end, "\"prompt\":\"");
    for (size_t at = 0; at < len; at++) {
        const char *escape = strchr(escaped, prompt[at]);
        if (escape != NULL)
            end += sprintf(end, "\\%c", letters[escape - escaped]);
        else if ((unsigned char)prompt[at] < 0x20)
            end += sprintf(end, "\\u%04x", (unsigned)prompt[at]);
        else
            *end++ = prompt[at];
    }
    memcpy(end, "\"", 2);
    taken_len = (size_t)(end + 2 - taken);
}

/* Calls with a made-up job and prompt. */
static void calls(const agentjob_client *client, const agentjob_call *call) {
    agentjob_job *job = NULL;
    agentjob_poller *poller = NULL;
    const char *text = made_up();
    if (below(2)) {
        size_t len = strlen(text);
        judged(agentjob_client_send_message(client, "job_1", text, len, call, &job, &err), "send_message", "prompt", text, len);
        if (job != NULL)
            note(text, len);
    } else {
        JUDGED(agentjob_client_send_message(client, text, "prompt", 6, call, &job, &err), "job_id", text);
        if (job != NULL)
            note("prompt", 6);
    }
    agentjob_job_free(job);
    job = NULL;
    JUDGED(agentjob_client_get_job(client, text, call, &job, &err), "job_id", text);
    agentjob_job_free(job);
    JUDGED(agentjob_poller_new(client, text, call, &poller, &err), "job_id", text);
    agentjob_poller_free(poller);
    poller = NULL;
    JUDGED(agentjob_poller_new_from_text(text, &poller, &err), "", text);
    agentjob_poller_free(poller);
}

static void lists(const agentjob_client *client, const folder *place) {
    agentjob_batch *batch = NULL;
    const char *text = made_up(), *key = made_up();
    CHECK_OK(agentjob_batch_new(client, place->journal, &batch, &err), err);
    JUDGED(agentjob_batch_add(batch, text, "prompt", 6, NULL, 1, &err), "", text);
    JUDGED(agentjob_batch_add(batch, "job_1", text, strlen(text), NULL, 2, &err), "", text);
    JUDGED(agentjob_batch_add(batch, "job_2", "prompt", 6, key, 3, &err), "", key);
    JUDGED(agentjob_batch_set_item_extra(batch, text, &err), "", text);
    JUDGED(agentjob_batch_set_rate(batch, text, &err), "rate", text);
    JUDGED(agentjob_batch_set_header(batch, key, text, &err), "", is_utf8(key, strlen(key)) ? text : key);
    JUDGED(agentjob_batch_add_retry_prompt(batch, text, strlen(text), &err), "", text);
    /* It was never started, so it has sent nothing. */
    agentjob_batch_free(batch);
}

/* The prompts of the ledger must be those that were taken. Returns how many there are. */
static int arrived(const emulator *service) {
    size_t size = (size_t)64 << 20, len;
    char *ledger = malloc(size);
    CHECK(ledger != NULL);
    const char *request = "GET /_emulator/ledger HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    len = loopback_exchange(atoi(strrchr(service->base_url, ':') + 1), request, ledger, size - 1);
    ledger[len] = '\0';
    CHECK(len < size - 1);
    int count = 0;
    const char *expected = taken;
    for (const char *at = ledger; (at = strstr(at, "\"prompt\":")) != NULL; at++, count++) {
        CHECK(expected < taken + taken_len && strncmp(at, expected, strlen(expected)) == 0);
        expected += strlen(expected) + 1;
    }
    CHECK(expected == taken + taken_len);
    taken_len = 0;
    free(ledger);
    return count;
}

static size_t setting_of(const char *name, size_t otherwise) {
    const char *said = getenv(name);
    return said ? (size_t)strtoull(said, NULL, 10) : otherwise;
}

int main(void) {
    size_t rounds = setting_of("ROUNDS", is_instrumented() ? 20 : 200);
    /* Never 0, which would stay 0. */
    state = (setting_of("SEED", 1) * 2 + 1) * 0x9e3779b97f4a7c15U;
    folder place = folder_new();
    agentjob_call *call = agentjob_call_new();
    int in_all = 0;
    while (rounds > 0) {
        /* A ledger of its own for each hundred. */
        emulator service = emulator_with_jobs(", \"work_ms\": 0");
        agentjob_client *client = emulator_client(&service);
        client_key = service.api_key;
        for (size_t some = rounds < 100 ? rounds : 100; some > 0; some--, rounds--) {
            settings();
            calls(client, call);
            lists(client, &place);
        }
        in_all += arrived(&service);
        agentjob_client_free(client);
        emulator_stop(&service);
        client_key = KEY;
    }
    CHECK(in_all > 0);
    free(taken);
    agentjob_call_free(call);
    CHECK(rmdir(place.path) == 0);
    return 0;
}
