using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Linq;
using System.Text;
using System.Threading;
using AgentJob;

/// <summary>The C# driver (see ../README.md): reads calls from stdin, makes them, and prints the result of each as JSON.</summary>
static class Driver
{
    static void Main()
    {
        var input = new StreamReader(Console.OpenStandardInput(), new UTF8Encoding(false), false, 1 << 16);
        var output = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false)) { AutoFlush = true };
        Dictionary<string, string> block;
        while ((block = NextBlock(input)) != null) output.WriteLine(Respond(block));
    }

    /// <summary>The next block of lines `key=value`; null at the end.</summary>
    static Dictionary<string, string> NextBlock(TextReader input)
    {
        var block = new Dictionary<string, string>();
        string line;
        while ((line = input.ReadLine()) != null)
        {
            int equals = line.IndexOf('=');
            if (equals < 0) return block;
            block[line.Substring(0, equals)] = Uri.UnescapeDataString(line.Substring(equals + 1));
        }
        return null;
    }

    static string Respond(Dictionary<string, string> block)
    {
        using (var cancel = new CancellationTokenSource())
        {
            if (block.ContainsKey("cancel_after")) cancel.CancelAfter(Seconds(block["cancel_after"]));
            try
            {
                using (var client = new Client(ClientSettings(block)))
                    return "{\"ok\": " + Perform(client, block, CallSettings(block, cancel.Token)) + "}";
            }
            catch (AgentJobException error)
            {
                return ErrorJson(error);
            }
        }
    }

    /// <summary>The client's options in the block.</summary>
    static Settings ClientSettings(Dictionary<string, string> block)
    {
        Func<string, string> text = key => block.ContainsKey(key) ? block[key] : null;
        Func<string, TimeSpan?> time = key => block.ContainsKey(key) ? Seconds(block[key]) : (TimeSpan?)null;
        Func<string, ulong?> size = key => block.ContainsKey(key) ? ulong.Parse(block[key]) : (ulong?)null;
        Func<string, bool?> flag = key => block.ContainsKey(key) ? block[key] == "true" : (bool?)null;
        return new Settings
        {
            BaseUrl = text("base_url"),
            ApiKey = text("api_key"),
            ApiKeyFile = text("api_key_file"),
            ProjectId = text("project_id"),
            CaFile = text("ca_file"),
            ClientCert = text("client_cert"),
            ClientKey = text("client_key"),
            Proxy = text("proxy"),
            UserAgentSuffix = text("user_agent_suffix"),
            Timeout = time("timeout"),
            ConnectTimeout = time("connect_timeout"),
            MaxRetryAfter = time("max_retry_after"),
            MaxRetries = (uint?)size("max_retries"),
            MaxPromptBytes = size("max_prompt_bytes"),
            MaxResponseBytes = size("max_response_bytes"),
            TrustEnv = flag("trust_env"),
            AllowPlaintext = flag("allow_plaintext"),
            WaitTimeout = time("wait_timeout"),
            MinInterval = time("min_interval"),
            MaxInterval = time("max_interval"),
            Settle = time("settle"),
            Lateness = block.ContainsKey("lateness") ? Number(block["lateness"]) : (double?)null,
            Headers = Headers(block, "header"),
        };
    }

    /// <summary>The call's settings in the block.</summary>
    static CallSettings CallSettings(Dictionary<string, string> block, CancellationToken cancel)
    {
        Func<string, TimeSpan?> time = key => block.ContainsKey(key) ? Seconds(block[key]) : (TimeSpan?)null;
        return new CallSettings
        {
            Timeout = time("call.timeout"),
            WaitTimeout = time("wait.timeout"),
            MinInterval = time("wait.min_interval"),
            MaxInterval = time("wait.max_interval"),
            Settle = time("wait.settle"),
            Lateness = block.ContainsKey("wait.lateness") ? Number(block["wait.lateness"]) : (double?)null,
            Headers = Headers(block, "call.header"),
            Cancel = cancel,
        };
    }

    /// <summary>The header of this key, "Name: value"; null without one.</summary>
    static Dictionary<string, string> Headers(Dictionary<string, string> block, string key)
    {
        if (!block.ContainsKey(key)) return null;
        string[] parts = block[key].Split(new[] { ": " }, 2, StringSplitOptions.None);
        return new Dictionary<string, string> { { parts[0], parts.Length == 2 ? parts[1] : "" } };
    }

    static double Number(string text)
    {
        return double.Parse(text, CultureInfo.InvariantCulture);
    }

    /// <summary>Seconds with a fraction, or none. (TimeSpan.FromSeconds() would round to milliseconds.)</summary>
    static TimeSpan Seconds(string text)
    {
        return text == "none" ? Timeout.InfiniteTimeSpan : TimeSpan.FromTicks((long)(Number(text) * TimeSpan.TicksPerSecond));
    }

    /// <summary>Makes the call that the block describes, and returns its outcome as JSON.</summary>
    static string Perform(Client client, Dictionary<string, string> block, CallSettings call)
    {
        string jobId = block.ContainsKey("job_id") ? block["job_id"] : "";
        string prompt = block.ContainsKey("prompt") ? block["prompt"] : "";
        switch (block["operation"])
        {
            case "send_message": return client.SendMessage(jobId, prompt, call).Json;
            case "get_job": return client.GetJob(jobId, call).Json;
            case "create_job": return client.CreateJob(prompt, call).Json;
            case "wait": return client.Wait(jobId, call).Json;
            case "send_and_wait": return client.SendAndWait(jobId, prompt, call).Json;
            case "watch": return "[" + string.Join(", ", client.Watch(jobId, call).Select(job => job.Json)) + "]";
            default: throw new ArgumentException("no such operation: " + block["operation"]);
        }
    }

    /// <summary>An error as the protocol defines it.</summary>
    static string ErrorJson(AgentJobException error)
    {
        string retryAfter = error.RetryAfter == null
            ? "null"
            : error.RetryAfter.Value.TotalSeconds.ToString(CultureInfo.InvariantCulture);
        return "{\"error\": {\"kind\": " + Json(error.Kind)
            + ", \"delivery\": " + Json(error.Delivery)
            + ", \"message\": " + Json(error.Message)
            + ", \"http_status\": " + (error.HttpStatus == null ? "null" : error.HttpStatus.ToString())
            + ", \"retry_after\": " + retryAfter
            + ", \"request_id\": " + Json(error.RequestId)
            + ", \"body\": " + Json(error.Body)
            + ", \"attempts\": " + error.Attempts
            + ", \"job\": " + (error.Job == null ? "null" : error.Job.Json) + "}}";
    }

    /// <summary>A text as JSON, without a JSON library.</summary>
    static string Json(string text)
    {
        if (text == null) return "null";
        var json = new StringBuilder("\"");
        foreach (char c in text)
        {
            if (c < ' ' || c == '"' || c == '\\') json.AppendFormat("\\u{0:x4}", (int)c);
            else json.Append(c);
        }
        return json.Append('"').ToString();
    }
}
