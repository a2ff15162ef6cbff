import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/** The Java driver (see ../README.md): reads calls from stdin, makes them, and prints the result of each as JSON. */
public final class Driver {
    private static final ScheduledExecutorService TIMER = Executors.newSingleThreadScheduledExecutor();

    public static void main(String[] arguments) throws IOException, InterruptedException {
        var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        for (Map<String, String> block; (block = nextBlock(input)) != null; ) {
            output.println(runCall(block));
        }
        TIMER.shutdownNow();
    }

    /** The next block of lines `key=value`; null at the end. */
    private static Map<String, String> nextBlock(BufferedReader input) throws IOException {
        var block = new HashMap<String, String>();
        for (String line; (line = input.readLine()) != null; ) {
            int equals = line.indexOf('=');
            if (equals < 0) {
                return block;
            }
            block.put(line.substring(0, equals), URLDecoder.decode(line.substring(equals + 1), StandardCharsets.UTF_8));
        }
        return null;
    }

    private static String runCall(Map<String, String> block) throws InterruptedException {
        var cancel = new AgentJob.CancelToken();
        var alarm = block.containsKey("cancel_after")
                ? TIMER.schedule(cancel::cancel, seconds(block.get("cancel_after")).toMillis(), TimeUnit.MILLISECONDS)
                : null;
        try (var client = new AgentJob.Client(clientSettings(block))) {
            return "{\"ok\": " + perform(client, block, callSettings(block).cancel(cancel)) + "}";
        } catch (AgentJob.AgentJobException error) {
            return errorJson(error);
        } finally {
            if (alarm != null) {
                alarm.cancel(false);
            }
        }
    }

    /** The client's options in the block. */
    private static AgentJob.Settings clientSettings(Map<String, String> block) {
        var settings = new AgentJob.Settings();
        block.forEach((key, value) -> {
            switch (key) {
                case "base_url" -> settings.baseUrl(value);
                case "api_key" -> settings.apiKey(value);
                case "api_key_file" -> settings.apiKeyFile(value);
                case "project_id" -> settings.projectId(value);
                case "ca_file" -> settings.caFile(value);
                case "client_cert" -> settings.clientCert(value);
                case "client_key" -> settings.clientKey(value);
                case "proxy" -> settings.proxy(value);
                case "user_agent_suffix" -> settings.userAgentSuffix(value);
                case "timeout" -> settings.timeout(seconds(value));
                case "connect_timeout" -> settings.connectTimeout(seconds(value));
                case "max_retry_after" -> settings.maxRetryAfter(seconds(value));
                case "max_retries" -> settings.maxRetries(Integer.parseInt(value));
                case "max_prompt_bytes" -> settings.maxPromptBytes(Long.parseLong(value));
                case "max_response_bytes" -> settings.maxResponseBytes(Long.parseLong(value));
                case "trust_env" -> settings.trustEnv(value.equals("true"));
                case "allow_plaintext" -> settings.allowPlaintext(value.equals("true"));
                case "wait_timeout" -> settings.waitTimeout(deadline(value));
                case "lateness" -> settings.lateness(Double.parseDouble(value));
                case "settle" -> settings.settle(seconds(value));
                case "header" -> settings.header(header(value)[0], header(value)[1]);
                default -> { } // the call's or the operation's
            }
        });
        if (block.containsKey("min_interval") || block.containsKey("max_interval")) {
            settings.pollInterval( // one function sets both; 2 s and 60 s are the defaults
                    seconds(block.getOrDefault("min_interval", "2")),
                    seconds(block.getOrDefault("max_interval", "60")));
        }
        return settings;
    }

    /** The call's settings in the block. */
    private static AgentJob.CallSettings callSettings(Map<String, String> block) {
        var settings = new AgentJob.CallSettings();
        block.forEach((key, value) -> {
            switch (key) {
                case "call.timeout" -> settings.timeout(seconds(value));
                case "call.header", "wait.header" -> settings.header(header(value)[0], header(value)[1]);
                case "wait.timeout" -> settings.waitTimeout(deadline(value));
                case "wait.lateness" -> settings.lateness(Double.parseDouble(value));
                case "wait.settle" -> settings.settle(seconds(value));
                default -> { }
            }
        });
        if (block.containsKey("wait.min_interval") || block.containsKey("wait.max_interval")) {
            settings.pollInterval( // one function sets both; 2 s and 60 s are the defaults
                    seconds(block.getOrDefault("wait.min_interval", "2")),
                    seconds(block.getOrDefault("wait.max_interval", "60")));
        }
        return settings;
    }

    /** The name and the value of a header line. */
    private static String[] header(String line) {
        String[] parts = line.split(": ", 2);
        return parts.length == 2 ? parts : new String[] {line, ""};
    }

    private static Duration deadline(String text) {
        return text.equals("none") ? AgentJob.FOREVER : seconds(text);
    }

    private static Duration seconds(String text) {
        return Duration.ofNanos(Math.round(Double.parseDouble(text) * 1e9));
    }

    /** Makes the call that the block describes, and returns its outcome as JSON. */
    private static String perform(AgentJob.Client client, Map<String, String> block, AgentJob.CallSettings call)
            throws InterruptedException {
        String jobId = block.getOrDefault("job_id", "");
        String prompt = block.getOrDefault("prompt", "");
        switch (block.get("operation")) {
            case "send_message":
                return client.sendMessage(jobId, prompt, call).json();
            case "get_job":
                return client.getJob(jobId, call).json();
            case "create_job":
                return client.createJob(prompt, call).json();
            case "wait":
                return client.waitFor(jobId, call).json();
            case "send_and_wait":
                return client.sendAndWait(jobId, prompt, call).json();
            case "watch":
                List<String> records = new ArrayList<>();
                client.watch(jobId, call, job -> records.add(job.json()));
                return "[" + String.join(", ", records) + "]";
            default:
                throw new IllegalArgumentException("no such operation: " + block.get("operation"));
        }
    }

    /** An error as the protocol defines it. */
    private static String errorJson(AgentJob.AgentJobException error) {
        return "{\"error\": {\"kind\": " + json(error.kind)
                + ", \"delivery\": " + json(error.delivery)
                + ", \"message\": " + json(error.getMessage())
                + ", \"http_status\": " + error.httpStatus
                + ", \"retry_after\": " + (error.retryAfter == null ? null : error.retryAfter.toMillis() / 1000.0)
                + ", \"request_id\": " + json(error.requestId)
                + ", \"body\": " + json(error.body)
                + ", \"attempts\": " + error.attempts
                + ", \"job\": " + (error.job == null ? null : error.job.json()) + "}}";
    }

    /** A text as JSON, because Java has no library for it. */
    private static String json(String text) {
        if (text == null) {
            return "null";
        }
        var json = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c < ' ' || c == '"' || c == '\\') {
                json.append(String.format("\\u%04x", (int) c));
            } else {
                json.append(c);
            }
        }
        return json.append('"').toString();
    }
}
