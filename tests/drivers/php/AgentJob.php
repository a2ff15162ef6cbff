<?php

declare(strict_types=1);

/**
 * agentjob from PHP, through its FFI. On the command line PHP's FFI is enabled by default; elsewhere php.ini needs
 * ffi.enable=true.
 *
 *     $client = new AgentJob\Client(base_url: 'https://api.example.com', api_key: '…', project_id: '…');
 *     $job = $client->sendAndWait('job_123', 'Also cover the error cases', timeout: 1800);
 *     echo $job->status, ' ', $job->prLink, "\n";
 *
 * Options as in the README, times in seconds. An option that is not set comes from its AGENTJOB_ variable or has its default.
 */

namespace AgentJob;

use FFI;
use FFI\CData;

/** The functions of the library, and what each of them needs around it. */
final class Library
{
    private const DECLARATIONS = <<<'C'
        typedef struct agentjob_options agentjob_options;
        typedef struct agentjob_client agentjob_client;
        typedef struct agentjob_call agentjob_call;
        typedef struct agentjob_cancel agentjob_cancel;
        typedef struct agentjob_poller agentjob_poller;
        typedef struct agentjob_job agentjob_job;
        typedef struct agentjob_error agentjob_error;

        int32_t agentjob_client_new(const agentjob_options *, agentjob_client **out, agentjob_error **err);
        void agentjob_client_free(agentjob_client *);
        int32_t agentjob_client_send_message(const agentjob_client *, const char *job_id, const char *prompt, size_t len,
                                             const agentjob_call *, agentjob_job **out, agentjob_error **err);
        int32_t agentjob_client_get_job(const agentjob_client *, const char *job_id, const agentjob_call *, agentjob_job **out,
                                        agentjob_error **err);
        int32_t agentjob_client_create_job(const agentjob_client *, const char *prompt, size_t len, const agentjob_call *,
                                           agentjob_job **out, agentjob_error **err);
        int32_t agentjob_client_wait(const agentjob_client *, const char *job_id, const agentjob_call *, agentjob_job **out,
                                     agentjob_error **err);
        int32_t agentjob_client_send_and_wait(const agentjob_client *, const char *job_id, const char *prompt, size_t len,
                                              const agentjob_call *, agentjob_job **out, agentjob_error **err);

        agentjob_options *agentjob_options_new(void);
        void agentjob_options_free(agentjob_options *);
        int32_t agentjob_options_set_base_url(agentjob_options *, const char *, agentjob_error **err);
        int32_t agentjob_options_set_api_key(agentjob_options *, const char *, agentjob_error **err);
        int32_t agentjob_options_set_api_key_file(agentjob_options *, const char *, agentjob_error **err);
        int32_t agentjob_options_set_project_id(agentjob_options *, const char *, agentjob_error **err);
        int32_t agentjob_options_set_ca_file(agentjob_options *, const char *, agentjob_error **err);
        int32_t agentjob_options_set_proxy(agentjob_options *, const char *, agentjob_error **err);
        int32_t agentjob_options_set_user_agent_suffix(agentjob_options *, const char *, agentjob_error **err);
        int32_t agentjob_options_set_timeout_ms(agentjob_options *, uint64_t, agentjob_error **err);
        int32_t agentjob_options_set_connect_timeout_ms(agentjob_options *, uint64_t, agentjob_error **err);
        int32_t agentjob_options_set_max_retry_after_ms(agentjob_options *, uint64_t, agentjob_error **err);
        int32_t agentjob_options_set_max_retries(agentjob_options *, uint32_t, agentjob_error **err);
        int32_t agentjob_options_set_max_prompt_bytes(agentjob_options *, size_t, agentjob_error **err);
        int32_t agentjob_options_set_max_response_bytes(agentjob_options *, size_t, agentjob_error **err);
        int32_t agentjob_options_set_trust_env(agentjob_options *, bool, agentjob_error **err);
        int32_t agentjob_options_set_allow_plaintext(agentjob_options *, bool, agentjob_error **err);
        int32_t agentjob_options_set_client_cert(agentjob_options *, const char *, agentjob_error **err);
        int32_t agentjob_options_set_client_key(agentjob_options *, const char *, agentjob_error **err);
        int32_t agentjob_options_set_wait_timeout_ms(agentjob_options *, uint64_t, agentjob_error **err);
        int32_t agentjob_options_set_poll_interval_ms(agentjob_options *, uint64_t min_ms, uint64_t max_ms, agentjob_error **err);
        int32_t agentjob_options_set_lateness(agentjob_options *, double, agentjob_error **err);
        int32_t agentjob_options_set_settle_ms(agentjob_options *, uint64_t, agentjob_error **err);
        int32_t agentjob_options_set_header(agentjob_options *, const char *name, const char *value, agentjob_error **err);

        agentjob_call *agentjob_call_new(void);
        void agentjob_call_free(agentjob_call *);
        int32_t agentjob_call_set_timeout_ms(agentjob_call *, uint64_t, agentjob_error **err);
        int32_t agentjob_call_set_wait_timeout_ms(agentjob_call *, uint64_t, agentjob_error **err);
        int32_t agentjob_call_set_poll_interval_ms(agentjob_call *, uint64_t min_ms, uint64_t max_ms, agentjob_error **err);
        int32_t agentjob_call_set_lateness(agentjob_call *, double, agentjob_error **err);
        int32_t agentjob_call_set_settle_ms(agentjob_call *, uint64_t, agentjob_error **err);
        int32_t agentjob_call_set_header(agentjob_call *, const char *name, const char *value, agentjob_error **err);
        int32_t agentjob_call_set_cancel(agentjob_call *, const agentjob_cancel *, agentjob_error **err);

        agentjob_cancel *agentjob_cancel_new(void);
        void agentjob_cancel_trigger(const agentjob_cancel *);
        bool agentjob_cancel_is_triggered(const agentjob_cancel *);
        void agentjob_cancel_free(agentjob_cancel *);

        int32_t agentjob_poller_new(const agentjob_client *, const char *job_id, const agentjob_call *, agentjob_poller **out,
                                       agentjob_error **err);
        uint64_t agentjob_poller_due_in_ms(const agentjob_poller *);
        int32_t agentjob_poller_poll(agentjob_poller *, const agentjob_client *, const agentjob_call *, bool *done,
                                     agentjob_error **err);
        const agentjob_job *agentjob_poller_job(const agentjob_poller *);
        void agentjob_poller_free(agentjob_poller *);

        const char *agentjob_job_id(const agentjob_job *);
        const char *agentjob_job_status_name(const agentjob_job *);
        bool agentjob_job_is_terminal(const agentjob_job *);
        const char *agentjob_job_pr_link(const agentjob_job *);
        const char *agentjob_job_json(const agentjob_job *, size_t *len);
        void agentjob_job_free(agentjob_job *);

        const char *agentjob_error_kind(const agentjob_error *);
        const char *agentjob_error_message(const agentjob_error *);
        int32_t agentjob_error_delivery(const agentjob_error *);
        int32_t agentjob_error_http_status(const agentjob_error *);
        int64_t agentjob_error_retry_after_ms(const agentjob_error *);
        const char *agentjob_error_request_id(const agentjob_error *);
        /* It may contain a NUL, where PHP would end a `const char *`. */
        const uint8_t *agentjob_error_body(const agentjob_error *, size_t *len);
        uint32_t agentjob_error_attempts(const agentjob_error *);
        uint64_t agentjob_error_elapsed_ms(const agentjob_error *);
        const agentjob_job *agentjob_error_job(const agentjob_error *);
        void agentjob_error_free(agentjob_error *);
        const char *agentjob_delivery_name(int32_t);
        C;

    private static ?FFI $c = null;

    public static function c(): FFI
    {
        return self::$c ??= FFI::cdef(self::DECLARATIONS, getenv('AGENTJOB_LIBRARY') ?: 'libagentjob.so.0');
    }

    /** Calls a function whose last parameter is the error; throws the error. */
    public static function check(string $function, mixed ...$arguments): void
    {
        $err = self::c()->new('agentjob_error *');
        if (self::c()->{"agentjob_$function"}(...$arguments, ...[FFI::addr($err)]) !== 0) {
            try {
                throw new Error($err);
            } finally {
                self::c()->agentjob_error_free($err);
            }
        }
    }

    /** Calls a function that returns an object of the type through `out`. */
    public static function create(string $type, string $function, mixed ...$arguments): CData
    {
        $out = self::c()->new("$type *");
        self::check($function, ...$arguments, ...[FFI::addr($out)]);
        return $out;
    }

    /** A NUL byte is refused, because C would read only the part before it, which may be another job's id. */
    public static function noNul(string $text): string
    {
        if (str_contains($text, "\0")) {
            throw new \ValueError('a NUL in a text that is no prompt');
        }
        return $text;
    }

    /**
     * Sets the settings of a client ($type is options) or of a call that both have: min_interval, max_interval, headers.
     * Returns the others.
     */
    public static function setShared(string $type, CData $object, array $settings): array
    {
        $min = $settings['min_interval'] ?? null;
        $max = $settings['max_interval'] ?? null;
        if ($min !== null || $max !== null) { // one function sets both; 2 s and 60 s are the defaults
            self::check("{$type}_set_poll_interval_ms", $object, self::milliseconds($min ?? 2), self::milliseconds($max ?? 60));
        }
        foreach ($settings['headers'] ?? [] as $name => $value) {
            self::check("{$type}_set_header", $object, self::noNul((string) $name), self::noNul($value));
        }
        return array_diff_key($settings, ['min_interval' => 0, 'max_interval' => 0, 'headers' => 0]);
    }

    /** A short time does not become 0; INF means no deadline. */
    public static function milliseconds(float $seconds): int
    {
        if ($seconds === INF) {
            return -1; // as an unsigned number: AGENTJOB_FOREVER
        }
        return $seconds > 0 ? max(1, (int) round($seconds * 1000)) : 0;
    }
}

/** A job's record at one moment. */
final class Job
{
    private function __construct(
        public readonly string $id,
        public readonly string $status,
        public readonly bool $isTerminal,
        public readonly ?string $prLink,
        /** The whole record. */
        public readonly string $json,
    ) {
    }

    public static function copied(CData $job): self
    {
        $c = Library::c();
        return new self(
            $c->agentjob_job_id($job),
            $c->agentjob_job_status_name($job),
            $c->agentjob_job_is_terminal($job),
            $c->agentjob_job_pr_link($job),
            $c->agentjob_job_json($job, null),
        );
    }
}

/** Why a call failed. Everything is copied. */
final class Error extends \RuntimeException
{
    public readonly string $kind;
    /** What happened to the message: "not_sent", "rejected", "unknown" (check the job before you send it again), "accepted". */
    public readonly ?string $delivery;
    public readonly ?int $httpStatus;
    public readonly ?float $retryAfter;
    public readonly ?string $requestId;
    public readonly ?string $body;
    public readonly int $attempts;
    public readonly float $elapsed;
    public readonly ?Job $job;

    public function __construct(CData $err)
    {
        $c = Library::c();
        parent::__construct($c->agentjob_error_message($err));
        $delivery = $c->agentjob_error_delivery($err);
        $retryAfterMs = $c->agentjob_error_retry_after_ms($err);
        $length = $c->new('size_t');
        $body = $c->agentjob_error_body($err, FFI::addr($length));
        $job = $c->agentjob_error_job($err);
        $this->kind = $c->agentjob_error_kind($err);
        $this->delivery = $delivery === 0 ? null : $c->agentjob_delivery_name($delivery);
        $this->httpStatus = $c->agentjob_error_http_status($err) ?: null;
        $this->retryAfter = $retryAfterMs < 0 ? null : $retryAfterMs / 1000;
        $this->requestId = $c->agentjob_error_request_id($err);
        $this->body = $body === null ? null : FFI::string($body, $length->cdata);
        $this->attempts = $c->agentjob_error_attempts($err);
        $this->elapsed = $c->agentjob_error_elapsed_ms($err) / 1000;
        $this->job = $job === null ? null : Job::copied($job);
    }
}

/**
 * Ends a call after a while. PHP's only thread is in the call, so a timer of the C library calls
 * agentjob_cancel_trigger() on its own thread, where no PHP runs. (64-bit Linux.)
 */
final class CancelTimer
{
    private const CLOCK_MONOTONIC = 1;
    private const SIGEV_THREAD = 2;

    private FFI $libc;
    private CData $timer;
    public readonly CData $token;

    public function __construct(float $seconds)
    {
        $this->libc = FFI::cdef(<<<'C'
            typedef struct { int64_t tv_sec, tv_nsec; } timespec;
            typedef struct { timespec it_interval, it_value; } itimerspec;
            typedef struct {
                void *sigev_value;
                int sigev_signo, sigev_notify;
                void *sigev_notify_function;
                void *sigev_notify_attributes;
                int reserved[8];
            } sigevent;
            int timer_create(int clock, sigevent *, void **timer);
            int timer_settime(void *timer, int flags, const itimerspec *value, itimerspec *old_value);
            int timer_delete(void *timer);
            C);
        $c = Library::c();
        $this->token = $c->agentjob_cancel_new();
        $event = $this->libc->new('sigevent');
        $event->sigev_value = FFI::cast('void *', $this->token);
        $event->sigev_notify = self::SIGEV_THREAD;
        $event->sigev_notify_function = FFI::cast('void *', $c->agentjob_cancel_trigger);
        $this->timer = $this->libc->new('void *');
        if ($this->libc->timer_create(self::CLOCK_MONOTONIC, FFI::addr($event), FFI::addr($this->timer)) !== 0) {
            throw new \RuntimeException('timer_create failed');
        }
        $when = $this->libc->new('itimerspec');
        $when->it_value->tv_sec = (int) $seconds;
        $when->it_value->tv_nsec = max(1, (int) (fmod($seconds, 1) * 1e9)); // 0 would disarm the timer
        $this->libc->timer_settime($this->timer, 0, FFI::addr($when), null);
    }

    public function isCancelled(): bool
    {
        return Library::c()->agentjob_cancel_is_triggered($this->token);
    }

    public function __destruct()
    {
        $never = $this->libc->new('itimerspec');
        $left = $this->libc->new('itimerspec');
        $this->libc->timer_settime($this->timer, 0, FFI::addr($never), FFI::addr($left));
        $this->libc->timer_delete($this->timer);
        $stoppedBefore = $left->it_value->tv_sec !== 0 || $left->it_value->tv_nsec !== 0;
        // Otherwise the timer may be using the token right now: leaking a few bytes is better than freeing it too early.
        if ($stoppedBefore || $this->isCancelled()) {
            Library::c()->agentjob_cancel_free($this->token);
        }
    }
}

/** The settings of one call, freed with it. */
final class Call
{
    public readonly CData $handle;
    private ?CancelTimer $timer = null;

    public function __construct(array $settings)
    {
        $this->handle = Library::c()->agentjob_call_new();
        foreach (Library::setShared('call', $this->handle, $settings) as $name => $value) {
            match ($name) {
                'timeout', 'wait_timeout', 'settle' =>
                    Library::check("call_set_{$name}_ms", $this->handle, Library::milliseconds($value)),
                'lateness' => Library::check('call_set_lateness', $this->handle, $value),
                'cancel_after' => $this->cancelAfter($value),
            };
        }
    }

    private function cancelAfter(float $seconds): void
    {
        $this->timer = new CancelTimer($seconds);
        Library::check('call_set_cancel', $this->handle, $this->timer->token);
    }

    public function isCancelled(): bool
    {
        return $this->timer !== null && $this->timer->isCancelled();
    }

    public function __destruct()
    {
        Library::c()->agentjob_call_free($this->handle);
    }
}

/** A client of one project. */
final class Client
{
    private ?CData $handle = null;

    public function __construct(mixed ...$settings)
    {
        $options = Library::c()->agentjob_options_new();
        try {
            foreach (Library::setShared('options', $options, $settings) as $name => $value) {
                match ($name) {
                    'timeout', 'connect_timeout', 'max_retry_after', 'wait_timeout', 'settle' =>
                        Library::check("options_set_{$name}_ms", $options, Library::milliseconds($value)),
                    default =>
                        Library::check("options_set_$name", $options, is_string($value) ? Library::noNul($value) : $value),
                };
            }
            $this->handle = Library::create('agentjob_client', 'client_new', $options);
        } finally {
            Library::c()->agentjob_options_free($options);
        }
    }

    public function __destruct()
    {
        Library::c()->agentjob_client_free($this->handle);
    }

    /** $settings: timeout, headers (an array of names and values), cancel_after. */
    public function sendMessage(string $jobId, string $prompt, float|array ...$settings): Job
    {
        return $this->job($settings, 'client_send_message', Library::noNul($jobId), $prompt, strlen($prompt));
    }

    public function getJob(string $jobId, float|array ...$settings): Job
    {
        return $this->job($settings, 'client_get_job', Library::noNul($jobId));
    }

    public function createJob(string $prompt, float|array ...$settings): Job
    {
        return $this->job($settings, 'client_create_job', $prompt, strlen($prompt));
    }

    /** $settings: timeout (the deadline of the wait, INF for none), min_interval, max_interval, lateness, settle, headers, cancel_after. */
    public function wait(string $jobId, float|array ...$settings): Job
    {
        return $this->job(self::waiting($settings), 'client_wait', Library::noNul($jobId));
    }

    public function sendAndWait(string $jobId, string $prompt, float|array ...$settings): Job
    {
        $arguments = [Library::noNul($jobId), $prompt, strlen($prompt)];
        return $this->job(self::waiting($settings), 'client_send_and_wait', ...$arguments);
    }

    /**
     * Yields the first record, each one that differs from the previous one, and the last one.
     * @return \Generator<Job>
     */
    public function watch(string $jobId, float|array ...$settings): \Generator
    {
        $c = Library::c();
        $call = new Call(self::waiting($settings));
        $poller = Library::create('agentjob_poller', 'poller_new', $this->handle, Library::noNul($jobId), $call->handle);
        try {
            $done = $c->new('bool');
            $last = null;
            while (!$done->cdata) {
                while (($due = $c->agentjob_poller_due_in_ms($poller)) > 0 && !$call->isCancelled()) {
                    usleep(min($due, 20) * 1000); // briefly, to notice a cancel soon
                }
                Library::check('poller_poll', $poller, $this->handle, $call->handle, FFI::addr($done));
                $record = $c->agentjob_poller_job($poller); // borrowed from the poller until its next poll
                $job = $record === null ? null : Job::copied($record);
                if ($job !== null && ($done->cdata || $job->json !== $last?->json)) {
                    yield $last = $job;
                }
            }
        } finally {
            $c->agentjob_poller_free($poller);
        }
    }

    /** For a wait, timeout is the deadline of the wait; its requests keep the client's timeout. */
    private static function waiting(array $settings): array
    {
        if (isset($settings['timeout'])) {
            $settings['wait_timeout'] = $settings['timeout'];
            unset($settings['timeout']);
        }
        return $settings;
    }

    private function job(array $settings, string $function, mixed ...$arguments): Job
    {
        $call = new Call($settings);
        $job = Library::create('agentjob_job', $function, $this->handle, ...$arguments, ...[$call->handle]);
        try {
            return Job::copied($job);
        } finally {
            Library::c()->agentjob_job_free($job);
        }
    }
}
