"use strict";
/**
 * agentjob from Node, through koffi.
 *
 *     const { Client } = require("./agentjob.js");
 *     const client = new Client({ base_url: "https://api.example.com", api_key: "…", project_id: "…" });
 *     const job = await client.sendAndWait("job_123", "Also cover the error cases", { timeout: 1800 });
 *     console.log(job.status, job.prLink);
 *     client.close();
 *
 * Options as in the README, times in seconds. An option that is not set comes from its AGENTJOB_ variable or has its default.
 * Every call returns a promise and runs on a thread of koffi, so Node's thread stays free; an AbortSignal in `signal` cancels it.
 */
const { promisify } = require("node:util");
const sleep = require("node:timers/promises").setTimeout;
const koffi = require("koffi");

const lib = koffi.load(process.env.AGENTJOB_LIBRARY || "libagentjob.so.0");
const FOREVER = 2n ** 64n - 1n;

for (const type of ["options", "client", "call", "cancel", "job", "error", "poller"]) koffi.opaque(`agentjob_${type}`);

const c = {
  client_new: lib.func("int agentjob_client_new(agentjob_options *options, _Out_ agentjob_client **out, _Out_ agentjob_error **err)"),
  client_close: lib.func("void agentjob_client_close(agentjob_client *client)"),
  client_free: lib.func("void agentjob_client_free(agentjob_client *client)"),
  send_message: lib.func(
    "int agentjob_client_send_message(agentjob_client *client, str job_id, uint8_t *prompt, size_t len, agentjob_call *call, _Out_ agentjob_job **out, _Out_ agentjob_error **err)",
  ),
  get_job: lib.func(
    "int agentjob_client_get_job(agentjob_client *client, str job_id, agentjob_call *call, _Out_ agentjob_job **out, _Out_ agentjob_error **err)",
  ),
  create_job: lib.func(
    "int agentjob_client_create_job(agentjob_client *client, uint8_t *prompt, size_t len, agentjob_call *call, _Out_ agentjob_job **out, _Out_ agentjob_error **err)",
  ),
  wait: lib.func(
    "int agentjob_client_wait(agentjob_client *client, str job_id, agentjob_call *call, _Out_ agentjob_job **out, _Out_ agentjob_error **err)",
  ),
  send_and_wait: lib.func(
    "int agentjob_client_send_and_wait(agentjob_client *client, str job_id, uint8_t *prompt, size_t len, agentjob_call *call, _Out_ agentjob_job **out, _Out_ agentjob_error **err)",
  ),
  options_new: lib.func("agentjob_options *agentjob_options_new()"),
  options_free: lib.func("void agentjob_options_free(agentjob_options *options)"),
  call_new: lib.func("agentjob_call *agentjob_call_new()"),
  call_free: lib.func("void agentjob_call_free(agentjob_call *call)"),
  call_set_cancel: lib.func("int agentjob_call_set_cancel(agentjob_call *call, agentjob_cancel *cancel, _Out_ agentjob_error **err)"),
  cancel_new: lib.func("agentjob_cancel *agentjob_cancel_new()"),
  cancel_trigger: lib.func("void agentjob_cancel_trigger(agentjob_cancel *cancel)"),
  cancel_is_triggered: lib.func("bool agentjob_cancel_is_triggered(agentjob_cancel *cancel)"),
  cancel_free: lib.func("void agentjob_cancel_free(agentjob_cancel *cancel)"),
  poller_new: lib.func(
    "int agentjob_poller_new(agentjob_client *client, str job_id, agentjob_call *call, _Out_ agentjob_poller **out, _Out_ agentjob_error **err)",
  ),
  poller_due_in_ms: lib.func("uint64_t agentjob_poller_due_in_ms(agentjob_poller *poller)"),
  poller_poll: lib.func(
    "int agentjob_poller_poll(agentjob_poller *poller, agentjob_client *client, agentjob_call *call, _Out_ bool *done, _Out_ agentjob_error **err)",
  ),
  poller_job: lib.func("agentjob_job *agentjob_poller_job(agentjob_poller *poller)"),
  poller_free: lib.func("void agentjob_poller_free(agentjob_poller *poller)"),
  job_id: lib.func("str agentjob_job_id(agentjob_job *job)"),
  job_status_name: lib.func("str agentjob_job_status_name(agentjob_job *job)"),
  job_is_terminal: lib.func("bool agentjob_job_is_terminal(agentjob_job *job)"),
  job_pr_link: lib.func("str agentjob_job_pr_link(agentjob_job *job)"),
  job_json: lib.func("str agentjob_job_json(agentjob_job *job, void *len)"),
  job_free: lib.func("void agentjob_job_free(agentjob_job *job)"),
  error_kind: lib.func("str agentjob_error_kind(agentjob_error *error)"),
  error_message: lib.func("str agentjob_error_message(agentjob_error *error)"),
  error_delivery: lib.func("int agentjob_error_delivery(agentjob_error *error)"),
  error_http_status: lib.func("int agentjob_error_http_status(agentjob_error *error)"),
  error_retry_after_ms: lib.func("int64_t agentjob_error_retry_after_ms(agentjob_error *error)"),
  error_request_id: lib.func("str agentjob_error_request_id(agentjob_error *error)"),
  error_body: lib.func("void *agentjob_error_body(agentjob_error *error, _Out_ size_t *len)"),
  error_attempts: lib.func("uint32_t agentjob_error_attempts(agentjob_error *error)"),
  error_elapsed_ms: lib.func("uint64_t agentjob_error_elapsed_ms(agentjob_error *error)"),
  error_job: lib.func("agentjob_job *agentjob_error_job(agentjob_error *error)"),
  error_free: lib.func("void agentjob_error_free(agentjob_error *error)"),
  delivery_name: lib.func("str agentjob_delivery_name(int delivery)"),
};

/** For each setting of a type: its function, which takes one value of `ctype`, and the conversion from a JavaScript value. */
function setters(type, settings) {
  const kinds = {
    text: ["", "str", text],
    time: ["_ms", "uint64_t", milliseconds],
    uint32: ["", "uint32_t", Number],
    size: ["", "size_t", Number],
    flag: ["", "bool", Boolean],
    part: ["", "double", Number],
  };
  const pauses = lib.func(
    `int agentjob_${type}_set_poll_interval_ms(agentjob_${type} *to, uint64_t min_ms, uint64_t max_ms, _Out_ agentjob_error **err)`,
  );
  const header = lib.func(`int agentjob_${type}_set_header(agentjob_${type} *to, str name, str value, _Out_ agentjob_error **err)`);
  const found = {
    headers: (to, headers) => Object.entries(headers).forEach(([name, value]) => check(header, to, text(name), text(value))),
    // One function sets both; 2 s and 60 s are the defaults.
    pauses: (to, { min = 2, max = 60 }) => check(pauses, to, milliseconds(min), milliseconds(max)),
  };
  for (const [name, kind] of Object.entries(settings)) {
    const [ending, ctype, convert] = kinds[kind];
    const setter = lib.func(`int agentjob_${type}_set_${name}${ending}(agentjob_${type} *to, ${ctype} value, _Out_ agentjob_error **err)`);
    found[name] = (to, value) => check(setter, to, convert(value));
  }
  return found;
}

const OPTIONS = setters("options", {
  base_url: "text",
  api_key: "text",
  api_key_file: "text",
  project_id: "text",
  ca_file: "text",
  client_cert: "text",
  client_key: "text",
  proxy: "text",
  user_agent_suffix: "text",
  timeout: "time",
  connect_timeout: "time",
  max_retry_after: "time",
  wait_timeout: "time",
  lateness: "part",
  settle: "time",
  max_retries: "uint32",
  max_prompt_bytes: "size",
  max_response_bytes: "size",
  trust_env: "flag",
  allow_plaintext: "flag",
});
const CALL = setters("call", { timeout: "time", wait_timeout: "time", lateness: "part", settle: "time" });

/** Sets the settings of a client or of a call, of which `setters` has the functions. */
function apply(setters, to, { min_interval: min, max_interval: max, ...settings }) {
  if (min !== undefined || max !== undefined) setters.pauses(to, { min, max });
  for (const [name, value] of Object.entries(settings)) setters[name](to, value);
}

/** A text for C. A NUL byte is refused, because C would read only the part before it, which may be another job's id. */
function text(value) {
  if (value.includes("\0")) throw new TypeError("a NUL in a text that is no prompt");
  return value;
}

function milliseconds(seconds) {
  if (seconds === Infinity) return FOREVER;
  return seconds > 0 ? Math.max(1, Math.round(seconds * 1000)) : 0; // a short time does not become 0
}

/** Calls a function whose last parameter is the error; throws the error. */
function check(func, ...args) {
  const err = [null];
  if (func(...args, err) !== 0) throw new AgentJobError(err[0]);
}

/** The same, on another thread. */
async function checkAsync(func, ...args) {
  const err = [null];
  if ((await promisify(func.async)(...args, err)) !== 0) throw new AgentJobError(err[0]);
}

/** Why a call failed. It copies everything from the library's error and frees that. */
class AgentJobError extends Error {
  constructor(err) {
    super(c.error_message(err));
    this.name = "AgentJobError";
    try {
      const delivery = c.error_delivery(err);
      const retryAfterMs = Number(c.error_retry_after_ms(err));
      const length = [0];
      const body = c.error_body(err, length);
      const job = c.error_job(err);
      this.kind = c.error_kind(err);
      this.delivery = delivery === 0 ? null : c.delivery_name(delivery); // "unknown": check the job before you send it again
      this.httpStatus = c.error_http_status(err) || null;
      this.retryAfter = retryAfterMs < 0 ? null : retryAfterMs / 1000;
      this.requestId = c.error_request_id(err);
      this.body = body === null ? null : Buffer.from(koffi.decode(body, "uint8_t", Number(length[0]))).toString(); // it may contain a NUL
      this.attempts = c.error_attempts(err);
      this.elapsed = Number(c.error_elapsed_ms(err)) / 1000;
      this.job = job === null ? null : copied(job);
    } finally {
      c.error_free(err);
    }
  }
}

/** A job's record at one moment; `json` is the whole record. */
function copied(job) {
  return {
    id: c.job_id(job),
    status: c.job_status_name(job),
    isTerminal: c.job_is_terminal(job),
    prLink: c.job_pr_link(job),
    json: c.job_json(job, null),
  };
}

// Frees a client that was dropped without close().
const dropped = new FinalizationRegistry((handle) => c.client_free(handle));

/** A client of one project. Any number of calls may run at once. */
class Client {
  #handle;
  #running = 0;
  #closed = false;

  constructor(settings = {}) {
    const options = c.options_new();
    try {
      apply(OPTIONS, options, settings);
      const out = [null];
      check(c.client_new, options, out);
      this.#handle = out[0];
      dropped.register(this, this.#handle, this);
    } finally {
      c.options_free(options);
    }
  }

  /** Ends every call and refuses new ones; the last call that returns frees the client. */
  close() {
    this.#closed = true;
    c.client_close(this.#handle);
    this.#freeIfDone();
  }

  #freeIfDone() {
    if (!this.#closed || this.#running > 0) return;
    dropped.unregister(this);
    c.client_free(this.#handle);
    this.#handle = null; // NULL, which the library refuses and _free ignores
  }

  async sendMessage(jobId, prompt, settings = {}) {
    const data = Buffer.from(prompt);
    return this.#job(c.send_message, settings, text(jobId), data, data.length);
  }

  async getJob(jobId, settings = {}) {
    return this.#job(c.get_job, settings, text(jobId));
  }

  async createJob(prompt, settings = {}) {
    const data = Buffer.from(prompt);
    return this.#job(c.create_job, settings, data, data.length);
  }

  async wait(jobId, settings = {}) {
    return this.#job(c.wait, waiting(settings), text(jobId));
  }

  async sendAndWait(jobId, prompt, settings = {}) {
    const data = Buffer.from(prompt);
    return this.#job(c.send_and_wait, waiting(settings), text(jobId), data, data.length);
  }

  /** The first record, each one that differs from the previous one, and the last one: `for await (const job of client.watch("job_123"))`. */
  async *watch(jobId, settings = {}) {
    const call = this.#begin(waiting(settings));
    const poller = [null];
    try {
      check(c.poller_new, this.#handle, text(jobId), call.handle, poller);
      const done = [false];
      let last = null;
      while (!done[0]) {
        const pause = sleep(Number(c.poller_due_in_ms(poller[0])), null, { signal: settings.signal });
        await pause.catch(() => {}); // if aborted, the poll below reports it
        await checkAsync(c.poller_poll, poller[0], this.#handle, call.handle, done);
        const record = c.poller_job(poller[0]); // borrowed from the poller until its next poll
        if (record === null) continue;
        const job = copied(record);
        if (done[0] || job.json !== last?.json) yield (last = job);
      }
    } finally {
      c.poller_free(poller[0]);
      this.#end(call);
    }
  }

  /** Makes one call that returns a job. */
  async #job(func, settings, ...args) {
    const call = this.#begin(settings);
    const out = [null];
    try {
      await checkAsync(func, this.#handle, ...args, call.handle, out);
      return copied(out[0]);
    } finally {
      c.job_free(out[0]);
      this.#end(call);
    }
  }

  /** The settings of one call, including `signal` (an AbortSignal). Pass the result to #end(). */
  #begin({ signal, ...settings }) {
    const call = { handle: c.call_new(), cancel: c.cancel_new(), signal };
    call.abort = () => c.cancel_trigger(call.cancel);
    this.#running += 1;
    try {
      check(c.call_set_cancel, call.handle, call.cancel);
      apply(CALL, call.handle, settings);
    } catch (error) {
      this.#end(call);
      throw error;
    }
    if (signal?.aborted) call.abort();
    signal?.addEventListener("abort", call.abort);
    return call;
  }

  #end(call) {
    call.signal?.removeEventListener("abort", call.abort);
    c.cancel_free(call.cancel);
    c.call_free(call.handle);
    this.#running -= 1;
    this.#freeIfDone();
  }
}

/** For a wait, `timeout` is the deadline of the wait, Infinity for none; its requests keep the client's timeout. */
function waiting({ timeout, ...settings }) {
  return timeout === undefined ? settings : { ...settings, wait_timeout: timeout };
}

module.exports = { Client, AgentJobError };
