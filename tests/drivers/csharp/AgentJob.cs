using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;
using System.Threading;

/// <summary>
/// agentjob from C#, through P/Invoke.
/// <code>
/// using (var client = new AgentJob.Client(new AgentJob.Settings { BaseUrl = "https://api.example.com", ApiKey = "…", ProjectId = "…" }))
/// {
///     var job = client.SendAndWait("job_123", "Also cover the error cases");
///     Console.WriteLine(job.Status + " " + job.PrLink);
/// }
/// </code>
/// An option that is null comes from its AGENTJOB_ variable or has its default.
/// </summary>
namespace AgentJob
{
    /// <summary>The functions of the library. Texts are passed as UTF-8 bytes, because P/Invoke's strings are not UTF-8 on every platform.</summary>
    static class C
    {
        const string Library = "libagentjob.so.0";
        public const ulong Forever = ulong.MaxValue;

        /// <summary>
        /// Loads a library from another path; the loader then uses it for the name. A static constructor of this class would be too
        /// late: Mono loads the library before it runs that.
        /// </summary>
        public static void Open()
        {
            string path = Environment.GetEnvironmentVariable("AGENTJOB_LIBRARY");
            if (path != null && dlopen(path, 2 /* RTLD_NOW */) == IntPtr.Zero) throw new DllNotFoundException(path);
        }

        [DllImport("libdl.so.2")] static extern IntPtr dlopen(string path, int flags);

        [DllImport(Library)] public static extern int agentjob_client_new(OptionsHandle options, out ClientHandle client, out ErrorHandle err);
        [DllImport(Library)] public static extern void agentjob_client_close(ClientHandle client);
        [DllImport(Library)] public static extern void agentjob_client_free(IntPtr client);
        [DllImport(Library)] public static extern int agentjob_client_send_message(ClientHandle client, byte[] jobId, byte[] prompt, UIntPtr length, CallHandle call, out JobHandle job, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_client_get_job(ClientHandle client, byte[] jobId, CallHandle call, out JobHandle job, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_client_create_job(ClientHandle client, byte[] prompt, UIntPtr length, CallHandle call, out JobHandle job, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_client_wait(ClientHandle client, byte[] jobId, CallHandle call, out JobHandle job, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_client_send_and_wait(ClientHandle client, byte[] jobId, byte[] prompt, UIntPtr length, CallHandle call, out JobHandle job, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_poller_new(ClientHandle client, byte[] jobId, CallHandle call, out PollerHandle poller, out ErrorHandle err);

        [DllImport(Library)] public static extern OptionsHandle agentjob_options_new();
        [DllImport(Library)] public static extern void agentjob_options_free(IntPtr options);
        [DllImport(Library)] public static extern int agentjob_options_set_base_url(OptionsHandle options, byte[] text, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_api_key(OptionsHandle options, byte[] text, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_api_key_file(OptionsHandle options, byte[] text, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_project_id(OptionsHandle options, byte[] text, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_ca_file(OptionsHandle options, byte[] text, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_proxy(OptionsHandle options, byte[] text, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_user_agent_suffix(OptionsHandle options, byte[] text, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_timeout_ms(OptionsHandle options, ulong ms, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_connect_timeout_ms(OptionsHandle options, ulong ms, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_max_retry_after_ms(OptionsHandle options, ulong ms, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_max_retries(OptionsHandle options, uint retries, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_max_prompt_bytes(OptionsHandle options, UIntPtr bytes, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_max_response_bytes(OptionsHandle options, UIntPtr bytes, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_trust_env(OptionsHandle options, [MarshalAs(UnmanagedType.U1)] bool flag, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_allow_plaintext(OptionsHandle options, [MarshalAs(UnmanagedType.U1)] bool flag, out ErrorHandle err);

        [DllImport(Library)] public static extern int agentjob_options_set_client_cert(OptionsHandle options, byte[] text, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_client_key(OptionsHandle options, byte[] text, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_wait_timeout_ms(OptionsHandle options, ulong ms, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_poll_interval_ms(OptionsHandle options, ulong minMs, ulong maxMs, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_lateness(OptionsHandle options, double part, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_settle_ms(OptionsHandle options, ulong ms, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_options_set_header(OptionsHandle options, byte[] name, byte[] value, out ErrorHandle err);

        [DllImport(Library)] public static extern CallHandle agentjob_call_new();
        [DllImport(Library)] public static extern void agentjob_call_free(IntPtr call);
        [DllImport(Library)] public static extern int agentjob_call_set_timeout_ms(CallHandle call, ulong ms, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_call_set_wait_timeout_ms(CallHandle call, ulong ms, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_call_set_poll_interval_ms(CallHandle call, ulong minMs, ulong maxMs, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_call_set_lateness(CallHandle call, double part, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_call_set_settle_ms(CallHandle call, ulong ms, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_call_set_header(CallHandle call, byte[] name, byte[] value, out ErrorHandle err);
        [DllImport(Library)] public static extern int agentjob_call_set_cancel(CallHandle call, CancelHandle cancel, out ErrorHandle err);

        [DllImport(Library)] public static extern CancelHandle agentjob_cancel_new();
        [DllImport(Library)] public static extern void agentjob_cancel_trigger(CancelHandle cancel);
        [DllImport(Library)] public static extern void agentjob_cancel_free(IntPtr cancel);

        [DllImport(Library)] public static extern ulong agentjob_poller_due_in_ms(PollerHandle poller);
        [DllImport(Library)] public static extern int agentjob_poller_poll(PollerHandle poller, ClientHandle client, CallHandle call, [MarshalAs(UnmanagedType.U1)] out bool done, out ErrorHandle err);
        [DllImport(Library)] public static extern IntPtr agentjob_poller_job(PollerHandle poller);
        [DllImport(Library)] public static extern void agentjob_poller_free(IntPtr poller);

        [DllImport(Library)] public static extern IntPtr agentjob_job_id(IntPtr job);
        [DllImport(Library)] public static extern IntPtr agentjob_job_status_name(IntPtr job);
        [DllImport(Library)] [return: MarshalAs(UnmanagedType.U1)] public static extern bool agentjob_job_is_terminal(IntPtr job);
        [DllImport(Library)] public static extern IntPtr agentjob_job_pr_link(IntPtr job);
        [DllImport(Library)] public static extern IntPtr agentjob_job_json(IntPtr job, out UIntPtr length);
        [DllImport(Library)] public static extern void agentjob_job_free(IntPtr job);

        [DllImport(Library)] public static extern IntPtr agentjob_error_kind(ErrorHandle error);
        [DllImport(Library)] public static extern IntPtr agentjob_error_message(ErrorHandle error);
        [DllImport(Library)] public static extern int agentjob_error_delivery(ErrorHandle error);
        [DllImport(Library)] public static extern int agentjob_error_http_status(ErrorHandle error);
        [DllImport(Library)] public static extern long agentjob_error_retry_after_ms(ErrorHandle error);
        [DllImport(Library)] public static extern IntPtr agentjob_error_request_id(ErrorHandle error);
        [DllImport(Library)] public static extern IntPtr agentjob_error_body(ErrorHandle error, out UIntPtr length);
        [DllImport(Library)] public static extern uint agentjob_error_attempts(ErrorHandle error);
        [DllImport(Library)] public static extern ulong agentjob_error_elapsed_ms(ErrorHandle error);
        [DllImport(Library)] public static extern IntPtr agentjob_error_job(ErrorHandle error);
        [DllImport(Library)] public static extern void agentjob_error_free(IntPtr error);
        [DllImport(Library)] public static extern IntPtr agentjob_delivery_name(int delivery);

        /// <summary>Throws the error of a failed call, and frees it.</summary>
        public static void Check(int code, ErrorHandle err)
        {
            using (err)
                if (code != 0) throw new AgentJobException(err);
        }

        /// <summary>A NUL-terminated text. A NUL byte inside is refused, because C would read only the part before it, which may be another job's id.</summary>
        public static byte[] Bytes(string text)
        {
            if (text.IndexOf('\0') >= 0) throw new ArgumentException("a NUL in a text that is no prompt");
            return Encoding.UTF8.GetBytes(text + "\0");
        }

        public static string Text(IntPtr text)
        {
            if (text == IntPtr.Zero) return null;
            int length = 0;
            while (Marshal.ReadByte(text, length) != 0) length++;
            return Text(text, (UIntPtr)length);
        }

        public static string Text(IntPtr text, UIntPtr length)
        {
            if (text == IntPtr.Zero) return null;
            var bytes = new byte[(int)length];
            Marshal.Copy(text, bytes, 0, bytes.Length);
            return Encoding.UTF8.GetString(bytes);
        }

        /// <summary>A short time does not become 0.</summary>
        public static ulong Milliseconds(TimeSpan time)
        {
            if (time == Timeout.InfiniteTimeSpan) return Forever;
            return time <= TimeSpan.Zero ? 0 : (ulong)Math.Max(1, Math.Round(time.TotalMilliseconds));
        }
    }

    /// <summary>A pointer that .NET frees once, and not during a call.</summary>
    abstract class Handle : SafeHandle
    {
        protected Handle() : base(IntPtr.Zero, true) { }
        public override bool IsInvalid { get { return handle == IntPtr.Zero; } }
    }

    sealed class OptionsHandle : Handle { protected override bool ReleaseHandle() { C.agentjob_options_free(handle); return true; } }
    sealed class ClientHandle : Handle { protected override bool ReleaseHandle() { C.agentjob_client_free(handle); return true; } }
    sealed class CallHandle : Handle { protected override bool ReleaseHandle() { C.agentjob_call_free(handle); return true; } }
    sealed class CancelHandle : Handle { protected override bool ReleaseHandle() { C.agentjob_cancel_free(handle); return true; } }
    sealed class PollerHandle : Handle { protected override bool ReleaseHandle() { C.agentjob_poller_free(handle); return true; } }
    sealed class JobHandle : Handle { protected override bool ReleaseHandle() { C.agentjob_job_free(handle); return true; } }
    sealed class ErrorHandle : Handle { protected override bool ReleaseHandle() { C.agentjob_error_free(handle); return true; } }

    /// <summary>A job's record at one moment.</summary>
    public sealed class Job
    {
        public readonly string Id, Status, PrLink;
        public readonly bool IsTerminal;
        /// <summary>The whole record.</summary>
        public readonly string Json;

        Job(IntPtr job)
        {
            Id = C.Text(C.agentjob_job_id(job));
            Status = C.Text(C.agentjob_job_status_name(job));
            PrLink = C.Text(C.agentjob_job_pr_link(job));
            IsTerminal = C.agentjob_job_is_terminal(job);
            UIntPtr length;
            IntPtr json = C.agentjob_job_json(job, out length);
            Json = C.Text(json, length);
        }

        /// <summary>A copy of a borrowed record; null if there is none.</summary>
        internal static Job Copied(IntPtr job) { return job == IntPtr.Zero ? null : new Job(job); }

        internal static Job Taken(JobHandle job)
        {
            using (job) return Copied(job.DangerousGetHandle());
        }
    }

    /// <summary>Why a call failed. Everything is copied; null means none.</summary>
    public sealed class AgentJobException : Exception
    {
        public readonly string Kind, RequestId, Body;
        /// <summary>What happened to the message: "not_sent", "rejected", "unknown" (check the job before you send it again), "accepted".</summary>
        public readonly string Delivery;
        public readonly int? HttpStatus;
        public readonly TimeSpan? RetryAfter;
        public readonly uint Attempts;
        public readonly TimeSpan Elapsed;
        public readonly Job Job;

        internal AgentJobException(ErrorHandle err) : base(C.Text(C.agentjob_error_message(err)))
        {
            int delivery = C.agentjob_error_delivery(err), status = C.agentjob_error_http_status(err);
            long retryAfterMs = C.agentjob_error_retry_after_ms(err);
            UIntPtr length;
            IntPtr body = C.agentjob_error_body(err, out length);
            Kind = C.Text(C.agentjob_error_kind(err));
            Delivery = delivery == 0 ? null : C.Text(C.agentjob_delivery_name(delivery));
            HttpStatus = status == 0 ? (int?)null : status;
            RetryAfter = retryAfterMs < 0 ? (TimeSpan?)null : TimeSpan.FromMilliseconds(retryAfterMs);
            RequestId = C.Text(C.agentjob_error_request_id(err));
            Body = C.Text(body, length); // it may contain a NUL
            Attempts = C.agentjob_error_attempts(err);
            Elapsed = TimeSpan.FromMilliseconds(C.agentjob_error_elapsed_ms(err));
            Job = Job.Copied(C.agentjob_error_job(err));
        }
    }

    /// <summary>A client's settings.</summary>
    public sealed class Settings
    {
        public string BaseUrl, ApiKey, ApiKeyFile, ProjectId, CaFile, ClientCert, ClientKey, Proxy, UserAgentSuffix;
        public TimeSpan? Timeout, ConnectTimeout, MaxRetryAfter;
        /// <summary>What a wait takes that is not given its own.</summary>
        public TimeSpan? WaitTimeout, MinInterval, MaxInterval, Settle;
        public double? Lateness;
        /// <summary>Headers of every request.</summary>
        public IDictionary<string, string> Headers;
        public uint? MaxRetries;
        public ulong? MaxPromptBytes, MaxResponseBytes;
        public bool? TrustEnv, AllowPlaintext;

        delegate int Setter<T>(OptionsHandle options, T value, out ErrorHandle err);

        internal void WriteTo(OptionsHandle options)
        {
            Set(options, C.agentjob_options_set_base_url, BaseUrl);
            Set(options, C.agentjob_options_set_api_key, ApiKey);
            Set(options, C.agentjob_options_set_api_key_file, ApiKeyFile);
            Set(options, C.agentjob_options_set_project_id, ProjectId);
            Set(options, C.agentjob_options_set_ca_file, CaFile);
            Set(options, C.agentjob_options_set_client_cert, ClientCert);
            Set(options, C.agentjob_options_set_client_key, ClientKey);
            Set(options, C.agentjob_options_set_proxy, Proxy);
            Set(options, C.agentjob_options_set_user_agent_suffix, UserAgentSuffix);
            Set(options, C.agentjob_options_set_timeout_ms, Timeout, C.Milliseconds);
            Set(options, C.agentjob_options_set_connect_timeout_ms, ConnectTimeout, C.Milliseconds);
            Set(options, C.agentjob_options_set_max_retry_after_ms, MaxRetryAfter, C.Milliseconds);
            Set(options, C.agentjob_options_set_max_retries, MaxRetries, number => number);
            Set(options, C.agentjob_options_set_max_prompt_bytes, MaxPromptBytes, number => (UIntPtr)number);
            Set(options, C.agentjob_options_set_max_response_bytes, MaxResponseBytes, number => (UIntPtr)number);
            Set(options, C.agentjob_options_set_trust_env, TrustEnv, flag => flag);
            Set(options, C.agentjob_options_set_allow_plaintext, AllowPlaintext, flag => flag);
            Set(options, C.agentjob_options_set_wait_timeout_ms, WaitTimeout, C.Milliseconds);
            Set(options, C.agentjob_options_set_lateness, Lateness, part => part);
            Set(options, C.agentjob_options_set_settle_ms, Settle, C.Milliseconds);
            ErrorHandle err;
            if (MinInterval != null || MaxInterval != null)
            {
                // One function sets both; 2 s and 60 s are the defaults.
                TimeSpan min = MinInterval ?? TimeSpan.FromSeconds(2), max = MaxInterval ?? TimeSpan.FromSeconds(60);
                C.Check(C.agentjob_options_set_poll_interval_ms(options, C.Milliseconds(min), C.Milliseconds(max), out err), err);
            }
            if (Headers == null) return;
            foreach (KeyValuePair<string, string> header in Headers)
                C.Check(C.agentjob_options_set_header(options, C.Bytes(header.Key), C.Bytes(header.Value), out err), err);
        }

        static void Set(OptionsHandle options, Setter<byte[]> setter, string value)
        {
            if (value == null) return;
            ErrorHandle err;
            C.Check(setter(options, C.Bytes(value), out err), err);
        }

        static void Set<T, U>(OptionsHandle options, Setter<U> setter, T? value, Func<T, U> convert) where T : struct
        {
            if (value == null) return;
            ErrorHandle err;
            C.Check(setter(options, convert(value.Value), out err), err);
        }
    }

    /// <summary>The settings of one call; null means the client's setting or the default.</summary>
    public sealed class CallSettings
    {
        /// <summary>The deadline of one request.</summary>
        public TimeSpan? Timeout;
        /// <summary>The deadline of the wait: 30 minutes by default, Timeout.InfiniteTimeSpan for none.</summary>
        public TimeSpan? WaitTimeout;
        public TimeSpan? MinInterval, MaxInterval, Settle;
        public double? Lateness;
        /// <summary>Headers of the call's requests, which win over the client's.</summary>
        public IDictionary<string, string> Headers;
        /// <summary>Ends the call with an error of the kind "cancelled".</summary>
        public CancellationToken Cancel = CancellationToken.None;
    }

    /// <summary>The settings of one call as the library's object.</summary>
    sealed class Call : IDisposable
    {
        public readonly CallHandle Handle = C.agentjob_call_new();
        readonly CancelHandle cancel = C.agentjob_cancel_new();
        readonly CancellationTokenRegistration registration;

        public Call(CallSettings settings)
        {
            settings = settings ?? new CallSettings();
            ErrorHandle err;
            C.Check(C.agentjob_call_set_cancel(Handle, cancel, out err), err);
            registration = settings.Cancel.Register(() => C.agentjob_cancel_trigger(cancel));
            try { Apply(settings); } catch { Dispose(); throw; }
        }

        void Apply(CallSettings settings)
        {
            ErrorHandle err;
            if (settings.Timeout is TimeSpan timeout)
                C.Check(C.agentjob_call_set_timeout_ms(Handle, C.Milliseconds(timeout), out err), err);
            if (settings.WaitTimeout is TimeSpan wait)
                C.Check(C.agentjob_call_set_wait_timeout_ms(Handle, C.Milliseconds(wait), out err), err);
            if (settings.Settle is TimeSpan settle)
                C.Check(C.agentjob_call_set_settle_ms(Handle, C.Milliseconds(settle), out err), err);
            if (settings.Lateness is double lateness)
                C.Check(C.agentjob_call_set_lateness(Handle, lateness, out err), err);
            if (settings.MinInterval != null || settings.MaxInterval != null)
            {
                // One function sets both; 2 s and 60 s are the defaults.
                TimeSpan min = settings.MinInterval ?? TimeSpan.FromSeconds(2), max = settings.MaxInterval ?? TimeSpan.FromSeconds(60);
                C.Check(C.agentjob_call_set_poll_interval_ms(Handle, C.Milliseconds(min), C.Milliseconds(max), out err), err);
            }
            if (settings.Headers == null) return;
            foreach (KeyValuePair<string, string> header in settings.Headers)
                C.Check(C.agentjob_call_set_header(Handle, C.Bytes(header.Key), C.Bytes(header.Value), out err), err);
        }

        public void Dispose()
        {
            registration.Dispose(); // waits for a trigger that is running
            cancel.Dispose();
            Handle.Dispose();
        }
    }

    /// <summary>A client of one project. Any number of threads may use it.</summary>
    public sealed class Client : IDisposable
    {
        readonly ClientHandle handle;

        static Client()
        {
            C.Open();
        }

        public Client(Settings settings = null)
        {
            using (OptionsHandle options = C.agentjob_options_new())
            {
                (settings ?? new Settings()).WriteTo(options);
                ErrorHandle err;
                C.Check(C.agentjob_client_new(options, out handle, out err), err);
            }
        }

        /// <summary>Ends every call on every thread and refuses new ones. The last call that returns frees the client.</summary>
        public void Dispose()
        {
            if (!handle.IsClosed) C.agentjob_client_close(handle);
            handle.Dispose();
        }

        delegate int Maker(CallHandle call, out JobHandle job, out ErrorHandle err);

        public Job SendMessage(string jobId, string prompt, CallSettings settings = null)
        {
            byte[] id = C.Bytes(jobId), data = Encoding.UTF8.GetBytes(prompt);
            return Make(settings, (CallHandle call, out JobHandle job, out ErrorHandle err) =>
                C.agentjob_client_send_message(handle, id, data, (UIntPtr)data.Length, call, out job, out err));
        }

        public Job GetJob(string jobId, CallSettings settings = null)
        {
            byte[] id = C.Bytes(jobId);
            return Make(settings, (CallHandle call, out JobHandle job, out ErrorHandle err) =>
                C.agentjob_client_get_job(handle, id, call, out job, out err));
        }

        public Job CreateJob(string prompt, CallSettings settings = null)
        {
            byte[] data = Encoding.UTF8.GetBytes(prompt);
            return Make(settings, (CallHandle call, out JobHandle job, out ErrorHandle err) =>
                C.agentjob_client_create_job(handle, data, (UIntPtr)data.Length, call, out job, out err));
        }

        public Job Wait(string jobId, CallSettings settings = null)
        {
            byte[] id = C.Bytes(jobId);
            return Make(settings, (CallHandle call, out JobHandle job, out ErrorHandle err) =>
                C.agentjob_client_wait(handle, id, call, out job, out err));
        }

        public Job SendAndWait(string jobId, string prompt, CallSettings settings = null)
        {
            byte[] id = C.Bytes(jobId), data = Encoding.UTF8.GetBytes(prompt);
            return Make(settings, (CallHandle call, out JobHandle job, out ErrorHandle err) =>
                C.agentjob_client_send_and_wait(handle, id, data, (UIntPtr)data.Length, call, out job, out err));
        }

        /// <summary>The first record, each one that differs from the previous one, and the last one.</summary>
        public IEnumerable<Job> Watch(string jobId, CallSettings settings = null)
        {
            CancellationToken cancel = settings == null ? CancellationToken.None : settings.Cancel;
            using (var call = new Call(settings))
            using (PollerHandle poller = NewPoller(jobId, call))
            {
                Job last = null;
                for (bool done = false; !done;)
                {
                    cancel.WaitHandle.WaitOne(TimeSpan.FromMilliseconds(C.agentjob_poller_due_in_ms(poller)));
                    done = Poll(poller, call);
                    Job job = Job.Copied(C.agentjob_poller_job(poller)); // borrowed from the poller until its next poll
                    if (job == null || (!done && last != null && job.Json == last.Json)) continue;
                    last = job;
                    yield return job;
                }
            }
        }

        PollerHandle NewPoller(string jobId, Call call)
        {
            PollerHandle poller;
            ErrorHandle err;
            C.Check(C.agentjob_poller_new(handle, C.Bytes(jobId), call.Handle, out poller, out err), err);
            return poller;
        }

        bool Poll(PollerHandle poller, Call call)
        {
            bool done;
            ErrorHandle err;
            C.Check(C.agentjob_poller_poll(poller, handle, call.Handle, out done, out err), err);
            return done;
        }

        static Job Make(CallSettings settings, Maker make)
        {
            using (var call = new Call(settings))
            {
                JobHandle job;
                ErrorHandle err;
                C.Check(make(call.Handle, out job, out err), err);
                return Job.Taken(job);
            }
        }
    }
}
