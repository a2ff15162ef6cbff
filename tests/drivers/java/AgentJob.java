import com.sun.jna.IntegerType;
import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.ByteByReference;
import com.sun.jna.ptr.PointerByReference;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * agentjob from Java, through JNA.
 *
 * <pre>{@code
 * try (var client = new AgentJob.Client(new AgentJob.Settings().baseUrl("https://api.example.com").apiKey("…").projectId("…"))) {
 *     AgentJob.Job job = client.sendAndWait("job_123", "Also cover the error cases", new AgentJob.CallSettings());
 *     System.out.println(job.status() + " " + job.prLink());
 * }
 * }</pre>
 *
 * An option that is not set comes from its AGENTJOB_ variable or has its default.
 */
public final class AgentJob {
    /** The functions of the library. A C bool is a byte here, because JNA's boolean is an int and its true is -1. */
    interface C extends Library {
        int agentjob_client_new(Pointer options, PointerByReference out, PointerByReference err);
        void agentjob_client_close(Pointer client);
        void agentjob_client_free(Pointer client);
        int agentjob_client_send_message(
                Pointer client, String jobId, byte[] prompt, SizeT len, Pointer call, PointerByReference out, PointerByReference err);
        int agentjob_client_get_job(Pointer client, String jobId, Pointer call, PointerByReference out, PointerByReference err);
        int agentjob_client_create_job(
                Pointer client, byte[] prompt, SizeT len, Pointer call, PointerByReference out, PointerByReference err);
        int agentjob_client_wait(Pointer client, String jobId, Pointer call, PointerByReference out, PointerByReference err);
        int agentjob_client_send_and_wait(
                Pointer client, String jobId, byte[] prompt, SizeT len, Pointer call, PointerByReference out, PointerByReference err);
        int agentjob_poller_new(Pointer client, String jobId, Pointer call, PointerByReference out, PointerByReference err);

        Pointer agentjob_options_new();
        void agentjob_options_free(Pointer options);
        int agentjob_options_set_base_url(Pointer options, String value, PointerByReference err);
        int agentjob_options_set_api_key(Pointer options, String value, PointerByReference err);
        int agentjob_options_set_api_key_file(Pointer options, String value, PointerByReference err);
        int agentjob_options_set_project_id(Pointer options, String value, PointerByReference err);
        int agentjob_options_set_ca_file(Pointer options, String value, PointerByReference err);
        int agentjob_options_set_proxy(Pointer options, String value, PointerByReference err);
        int agentjob_options_set_user_agent_suffix(Pointer options, String value, PointerByReference err);
        int agentjob_options_set_timeout_ms(Pointer options, long ms, PointerByReference err);
        int agentjob_options_set_connect_timeout_ms(Pointer options, long ms, PointerByReference err);
        int agentjob_options_set_max_retry_after_ms(Pointer options, long ms, PointerByReference err);
        int agentjob_options_set_max_retries(Pointer options, int value, PointerByReference err);
        int agentjob_options_set_max_prompt_bytes(Pointer options, SizeT bytes, PointerByReference err);
        int agentjob_options_set_max_response_bytes(Pointer options, SizeT bytes, PointerByReference err);
        int agentjob_options_set_trust_env(Pointer options, byte flag, PointerByReference err);
        int agentjob_options_set_allow_plaintext(Pointer options, byte flag, PointerByReference err);
        int agentjob_options_set_client_cert(Pointer options, String value, PointerByReference err);
        int agentjob_options_set_client_key(Pointer options, String value, PointerByReference err);
        int agentjob_options_set_wait_timeout_ms(Pointer options, long ms, PointerByReference err);
        int agentjob_options_set_poll_interval_ms(Pointer options, long minMs, long maxMs, PointerByReference err);
        int agentjob_options_set_lateness(Pointer options, double part, PointerByReference err);
        int agentjob_options_set_settle_ms(Pointer options, long ms, PointerByReference err);
        int agentjob_options_set_header(Pointer options, String name, String value, PointerByReference err);

        Pointer agentjob_call_new();
        void agentjob_call_free(Pointer call);
        int agentjob_call_set_timeout_ms(Pointer call, long ms, PointerByReference err);
        int agentjob_call_set_wait_timeout_ms(Pointer call, long ms, PointerByReference err);
        int agentjob_call_set_poll_interval_ms(Pointer call, long minMs, long maxMs, PointerByReference err);
        int agentjob_call_set_lateness(Pointer call, double part, PointerByReference err);
        int agentjob_call_set_settle_ms(Pointer call, long ms, PointerByReference err);
        int agentjob_call_set_header(Pointer call, String name, String value, PointerByReference err);
        int agentjob_call_set_cancel(Pointer call, Pointer cancel, PointerByReference err);

        Pointer agentjob_cancel_new();
        void agentjob_cancel_trigger(Pointer cancel);
        byte agentjob_cancel_is_triggered(Pointer cancel);
        void agentjob_cancel_free(Pointer cancel);

        long agentjob_poller_due_in_ms(Pointer poller);
        int agentjob_poller_poll(Pointer poller, Pointer client, Pointer call, ByteByReference done, PointerByReference err);
        Pointer agentjob_poller_job(Pointer poller);
        void agentjob_poller_free(Pointer poller);

        String agentjob_job_id(Pointer job);
        String agentjob_job_status_name(Pointer job);
        byte agentjob_job_is_terminal(Pointer job);
        String agentjob_job_pr_link(Pointer job);
        String agentjob_job_json(Pointer job, Pointer len);
        void agentjob_job_free(Pointer job);

        String agentjob_error_kind(Pointer error);
        String agentjob_error_message(Pointer error);
        int agentjob_error_delivery(Pointer error);
        int agentjob_error_http_status(Pointer error);
        long agentjob_error_retry_after_ms(Pointer error);
        String agentjob_error_request_id(Pointer error);
        Pointer agentjob_error_body(Pointer error, PointerByReference len);
        int agentjob_error_attempts(Pointer error);
        long agentjob_error_elapsed_ms(Pointer error);
        Pointer agentjob_error_job(Pointer error);
        void agentjob_error_free(Pointer error);
        String agentjob_delivery_name(int delivery);
    }

    /** C's size_t, which JNA does not have. */
    public static final class SizeT extends IntegerType {
        private static final long serialVersionUID = 1;

        public SizeT() {
            this(0);
        }

        public SizeT(long value) {
            super(Native.SIZE_T_SIZE, value, true);
        }
    }

    private static final C C = Native.load(
            Optional.ofNullable(System.getenv("AGENTJOB_LIBRARY")).orElse("libagentjob.so.0"),
            C.class,
            Map.of(Library.OPTION_STRING_ENCODING, "UTF-8"));
    private static final Cleaner CLEANER = Cleaner.create();

    /** The deadline of a wait without one. */
    public static final Duration FOREVER = Duration.ofMillis(Long.MAX_VALUE);

    private AgentJob() {}

    /** A function of the library that returns an object; the arguments without the last two. */
    private interface Maker {
        int make(PointerByReference out, PointerByReference err);
    }

    /** A function of the library that can fail; the arguments without the last. */
    private interface Step {
        int run(PointerByReference err);
    }

    private static void check(Step step) {
        var err = new PointerByReference();
        if (step.run(err) != 0) {
            throw AgentJobException.taken(err.getValue());
        }
    }

    private static Pointer create(Maker maker) {
        var out = new PointerByReference();
        check(err -> maker.make(out, err));
        return out.getValue();
    }

    /** A NUL byte is refused, because C would read only the part before it, which may be another job's id. */
    private static String noNul(String text) {
        if (text.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("a NUL in a text that is no prompt");
        }
        return text;
    }

    /** A short time does not become 0. */
    private static long milliseconds(Duration time) {
        if (time.equals(FOREVER)) {
            return -1; // as an unsigned number: AGENTJOB_FOREVER
        }
        return time.isZero() || time.isNegative() ? 0 : Math.max(1, time.toMillis());
    }

    private static byte flag(boolean value) {
        return (byte) (value ? 1 : 0);
    }

    /** A job's record at one moment; json is the whole record, prLink may be null. */
    public record Job(String id, String status, boolean isTerminal, String prLink, String json) {
        private static Job copied(Pointer job) {
            return new Job(
                    C.agentjob_job_id(job),
                    C.agentjob_job_status_name(job),
                    C.agentjob_job_is_terminal(job) != 0,
                    C.agentjob_job_pr_link(job),
                    C.agentjob_job_json(job, null));
        }
    }

    /** Why a call failed. Everything is copied; null means none. */
    public static final class AgentJobException extends RuntimeException {
        private static final long serialVersionUID = 1;
        public final String kind;
        /** What happened to the message: "not_sent", "rejected", "unknown" (check the job before you send it again), "accepted". */
        public final String delivery;
        public final Integer httpStatus;
        public final Duration retryAfter;
        public final String requestId;
        public final String body;
        public final int attempts;
        public final Duration elapsed;
        public final transient Job job;

        private AgentJobException(Pointer err) {
            super(C.agentjob_error_message(err));
            int delivered = C.agentjob_error_delivery(err);
            int status = C.agentjob_error_http_status(err);
            long retryAfterMs = C.agentjob_error_retry_after_ms(err);
            var length = new PointerByReference(); // as wide as a size_t
            Pointer text = C.agentjob_error_body(err, length);
            Pointer last = C.agentjob_error_job(err);
            kind = C.agentjob_error_kind(err);
            delivery = delivered == 0 ? null : C.agentjob_delivery_name(delivered);
            httpStatus = status == 0 ? null : status;
            retryAfter = retryAfterMs < 0 ? null : Duration.ofMillis(retryAfterMs);
            requestId = C.agentjob_error_request_id(err);
            body = text == null // it may contain a NUL
                    ? null
                    : new String(text.getByteArray(0, (int) Pointer.nativeValue(length.getValue())), StandardCharsets.UTF_8);
            attempts = C.agentjob_error_attempts(err);
            elapsed = Duration.ofMillis(C.agentjob_error_elapsed_ms(err));
            job = last == null ? null : Job.copied(last);
        }

        private static AgentJobException taken(Pointer err) {
            try {
                return new AgentJobException(err);
            } finally {
                C.agentjob_error_free(err);
            }
        }
    }

    /** Cancels the calls that have it, from any thread. */
    public static final class CancelToken {
        private final Pointer handle = C.agentjob_cancel_new();

        public CancelToken() {
            Pointer freed = handle; // the cleaner must not hold `this`
            CLEANER.register(this, () -> C.agentjob_cancel_free(freed));
        }

        public void cancel() {
            C.agentjob_cancel_trigger(handle);
            Reference.reachabilityFence(this);
        }

        public boolean isCancelled() {
            try {
                return C.agentjob_cancel_is_triggered(handle) != 0;
            } finally {
                Reference.reachabilityFence(this);
            }
        }
    }

    /** A client's settings. */
    public static final class Settings {
        private final Pointer handle = C.agentjob_options_new();

        public Settings() {
            Pointer freed = handle;
            CLEANER.register(this, () -> C.agentjob_options_free(freed));
        }

        public Settings baseUrl(String url) {
            return with(err -> C.agentjob_options_set_base_url(handle, noNul(url), err));
        }

        public Settings apiKey(String key) {
            return with(err -> C.agentjob_options_set_api_key(handle, noNul(key), err));
        }

        public Settings apiKeyFile(String path) {
            return with(err -> C.agentjob_options_set_api_key_file(handle, noNul(path), err));
        }

        public Settings projectId(String project) {
            return with(err -> C.agentjob_options_set_project_id(handle, noNul(project), err));
        }

        public Settings caFile(String path) {
            return with(err -> C.agentjob_options_set_ca_file(handle, noNul(path), err));
        }

        public Settings proxy(String url) {
            return with(err -> C.agentjob_options_set_proxy(handle, noNul(url), err));
        }

        public Settings userAgentSuffix(String suffix) {
            return with(err -> C.agentjob_options_set_user_agent_suffix(handle, noNul(suffix), err));
        }

        public Settings timeout(Duration time) {
            return with(err -> C.agentjob_options_set_timeout_ms(handle, milliseconds(time), err));
        }

        public Settings connectTimeout(Duration time) {
            return with(err -> C.agentjob_options_set_connect_timeout_ms(handle, milliseconds(time), err));
        }

        public Settings maxRetryAfter(Duration time) {
            return with(err -> C.agentjob_options_set_max_retry_after_ms(handle, milliseconds(time), err));
        }

        public Settings maxRetries(int retries) {
            return with(err -> C.agentjob_options_set_max_retries(handle, retries, err));
        }

        public Settings maxPromptBytes(long bytes) {
            return with(err -> C.agentjob_options_set_max_prompt_bytes(handle, new SizeT(bytes), err));
        }

        public Settings maxResponseBytes(long bytes) {
            return with(err -> C.agentjob_options_set_max_response_bytes(handle, new SizeT(bytes), err));
        }

        public Settings trustEnv(boolean trust) {
            return with(err -> C.agentjob_options_set_trust_env(handle, flag(trust), err));
        }

        public Settings allowPlaintext(boolean allow) {
            return with(err -> C.agentjob_options_set_allow_plaintext(handle, flag(allow), err));
        }

        public Settings clientCert(String path) {
            return with(err -> C.agentjob_options_set_client_cert(handle, noNul(path), err));
        }

        public Settings clientKey(String path) {
            return with(err -> C.agentjob_options_set_client_key(handle, noNul(path), err));
        }

        /** What a wait takes that is not given its own: the settings of {@link CallSettings} with the same names. */
        public Settings waitTimeout(Duration time) {
            return with(err -> C.agentjob_options_set_wait_timeout_ms(handle, milliseconds(time), err));
        }

        public Settings pollInterval(Duration min, Duration max) {
            return with(err -> C.agentjob_options_set_poll_interval_ms(handle, milliseconds(min), milliseconds(max), err));
        }

        public Settings lateness(double part) {
            return with(err -> C.agentjob_options_set_lateness(handle, part, err));
        }

        public Settings settle(Duration time) {
            return with(err -> C.agentjob_options_set_settle_ms(handle, milliseconds(time), err));
        }

        /** A header of every request. */
        public Settings header(String name, String value) {
            return with(err -> C.agentjob_options_set_header(handle, noNul(name), noNul(value), err));
        }

        private Settings with(Step step) {
            check(step);
            Reference.reachabilityFence(this); // otherwise the cleaner might free what the call still uses
            return this;
        }
    }

    /** The settings of one call or of many. */
    public static final class CallSettings {
        private final Pointer handle = C.agentjob_call_new();
        private CancelToken cancel;

        public CallSettings() {
            Pointer freed = handle;
            CLEANER.register(this, () -> C.agentjob_call_free(freed));
        }

        public CallSettings timeout(Duration time) {
            return with(err -> C.agentjob_call_set_timeout_ms(handle, milliseconds(time), err));
        }

        public CallSettings waitTimeout(Duration time) {
            return with(err -> C.agentjob_call_set_wait_timeout_ms(handle, milliseconds(time), err));
        }

        public CallSettings pollInterval(Duration min, Duration max) {
            return with(err -> C.agentjob_call_set_poll_interval_ms(handle, milliseconds(min), milliseconds(max), err));
        }

        public CallSettings lateness(double part) {
            return with(err -> C.agentjob_call_set_lateness(handle, part, err));
        }

        public CallSettings settle(Duration time) {
            return with(err -> C.agentjob_call_set_settle_ms(handle, milliseconds(time), err));
        }

        /** A header of the call's requests, which wins over the client's. */
        public CallSettings header(String name, String value) {
            return with(err -> C.agentjob_call_set_header(handle, noNul(name), noNul(value), err));
        }

        public CallSettings cancel(CancelToken token) {
            cancel = token;
            return with(err -> C.agentjob_call_set_cancel(handle, token.handle, err));
        }

        private boolean isCancelled() {
            return cancel != null && cancel.isCancelled();
        }

        private CallSettings with(Step step) {
            check(step);
            Reference.reachabilityFence(this); // otherwise the cleaner might free what the call still uses
            return this;
        }
    }

    /** A client of one project. Any number of threads may use it. */
    public static final class Client implements AutoCloseable {
        private final Pointer handle;
        private final Cleaner.Cleanable free;
        private final ReadWriteLock uses = new ReentrantReadWriteLock(); // calls take the read lock, freeing takes the write lock
        private volatile boolean closed;

        public Client(Settings settings) {
            Pointer created = create((out, err) -> C.agentjob_client_new(settings.handle, out, err));
            Reference.reachabilityFence(settings);
            handle = created;
            free = CLEANER.register(this, () -> C.agentjob_client_free(created)); // also for a client that is never closed
        }

        /** Ends every call on every thread, refuses new ones, and frees the client and its connections. */
        @Override
        public synchronized void close() {
            if (closed) {
                return;
            }
            closed = true;
            C.agentjob_client_close(handle);
            uses.writeLock().lock(); // running calls are about to return
            try {
                free.clean();
            } finally {
                uses.writeLock().unlock();
            }
        }

        private <T> T use(Supplier<T> call) {
            uses.readLock().lock();
            try {
                if (closed) {
                    throw new IllegalStateException("the client is closed");
                }
                return call.get();
            } finally {
                uses.readLock().unlock();
            }
        }

        public Job sendMessage(String jobId, String prompt, CallSettings call) {
            byte[] data = prompt.getBytes(StandardCharsets.UTF_8);
            return job(call, (out, err) ->
                    C.agentjob_client_send_message(handle, noNul(jobId), data, new SizeT(data.length), call.handle, out, err));
        }

        public Job getJob(String jobId, CallSettings call) {
            return job(call, (out, err) -> C.agentjob_client_get_job(handle, noNul(jobId), call.handle, out, err));
        }

        public Job createJob(String prompt, CallSettings call) {
            byte[] data = prompt.getBytes(StandardCharsets.UTF_8);
            return job(call, (out, err) ->
                    C.agentjob_client_create_job(handle, data, new SizeT(data.length), call.handle, out, err));
        }

        /** Waits until the job is done: call.waitTimeout(), 30 minutes if it is not set. */
        public Job waitFor(String jobId, CallSettings call) {
            return job(call, (out, err) -> C.agentjob_client_wait(handle, noNul(jobId), call.handle, out, err));
        }

        public Job sendAndWait(String jobId, String prompt, CallSettings call) {
            byte[] data = prompt.getBytes(StandardCharsets.UTF_8);
            return job(call, (out, err) ->
                    C.agentjob_client_send_and_wait(handle, noNul(jobId), data, new SizeT(data.length), call.handle, out, err));
        }

        /** Passes the first record, each one that differs from the previous one, and the last one to a function. */
        public void watch(String jobId, CallSettings call, Consumer<Job> receive) throws InterruptedException {
            Pointer poller =
                    use(() -> create((out, err) -> C.agentjob_poller_new(handle, noNul(jobId), call.handle, out, err)));
            try {
                var done = new ByteByReference();
                Job last = null;
                while (done.getValue() == 0) {
                    long due;
                    while ((due = C.agentjob_poller_due_in_ms(poller)) > 0 && !call.isCancelled()) {
                        Thread.sleep(Math.min(due, 20)); // briefly, to notice a cancel soon
                    }
                    use(() -> {
                        check(err -> C.agentjob_poller_poll(poller, handle, call.handle, done, err));
                        return null;
                    });
                    Pointer record = C.agentjob_poller_job(poller); // borrowed from the poller until its next poll
                    Job job = record == null ? null : Job.copied(record);
                    if (job != null && (done.getValue() != 0 || !job.equals(last))) {
                        last = job;
                        receive.accept(job);
                    }
                }
            } finally {
                C.agentjob_poller_free(poller);
                Reference.reachabilityFence(call);
            }
        }

        private Job job(CallSettings call, Maker maker) {
            try {
                Pointer job = use(() -> create(maker));
                try {
                    return Job.copied(job);
                } finally {
                    C.agentjob_job_free(job);
                }
            } finally {
                Reference.reachabilityFence(call);
            }
        }
    }
}
