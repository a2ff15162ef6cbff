--- agentjob from LuaJIT, through its ffi.
--
--     local agentjob = require "agentjob"
--     local client = agentjob.client { base_url = "https://api.example.com", api_key = "…", project_id = "…" }
--     local job = client:send_and_wait("job_123", "Also cover the error cases", { timeout = 1800 })
--     print(job.status, job.pr_link)
--
-- Options as in the README, times in seconds. An option that is not set comes from its AGENTJOB_ variable or has its default.
-- A call that fails raises a table: kind, delivery, message and so on.

local ffi = require "ffi"

ffi.cdef [[
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
int32_t agentjob_poller_poll(agentjob_poller *, const agentjob_client *, const agentjob_call *, bool *done, agentjob_error **err);
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
const char *agentjob_error_body(const agentjob_error *, size_t *len);
uint32_t agentjob_error_attempts(const agentjob_error *);
uint64_t agentjob_error_elapsed_ms(const agentjob_error *);
const agentjob_job *agentjob_error_job(const agentjob_error *);
void agentjob_error_free(agentjob_error *);
const char *agentjob_delivery_name(int32_t);

/* Of the C library of 64-bit Linux, for `cancel_after` and for sleeping. */
typedef struct { int64_t tv_sec, tv_nsec; } agentjob_lua_timespec;
typedef struct { agentjob_lua_timespec it_interval, it_value; } agentjob_lua_itimerspec;
typedef struct {
    const agentjob_cancel *sigev_value;
    int sigev_signo, sigev_notify;
    void (*sigev_notify_function)(const agentjob_cancel *);
    void *sigev_notify_attributes;
    int reserved[8];
} agentjob_lua_sigevent;
int timer_create(int clock, agentjob_lua_sigevent *, void **timer);
int timer_settime(void *timer, int flags, const agentjob_lua_itimerspec *value, agentjob_lua_itimerspec *old_value);
int timer_delete(void *timer);
int poll(void *fds, unsigned long count, int timeout_ms);
]]

local lib = ffi.load(os.getenv "AGENTJOB_LIBRARY" or "libagentjob.so.0")
local FOREVER = 0xffffffffffffffffULL
local CLOCK_MONOTONIC, SIGEV_THREAD = 1, 2

local function text(pointer)
  if pointer ~= nil then return ffi.string(pointer) end
end

-- A NUL byte is refused, because C would read only the part before it, which may be another job's id.
local function no_nul(value)
  if value:find("\0", 1, true) then error("a NUL in a text that is no prompt", 0) end
  return value
end

local function milliseconds(seconds)
  if seconds == math.huge then return FOREVER end
  if seconds <= 0 then return 0 end
  return math.max(1, math.floor(seconds * 1000 + 0.5)) -- a short time does not become 0
end

local function same(value) return value end

local OPTIONS = {
  base_url = no_nul, api_key = no_nul, api_key_file = no_nul, project_id = no_nul, ca_file = no_nul, client_cert = no_nul,
  client_key = no_nul, proxy = no_nul, user_agent_suffix = no_nul, timeout = milliseconds, connect_timeout = milliseconds, max_retry_after = milliseconds,
  wait_timeout = milliseconds, lateness = same, settle = milliseconds, max_retries = same, max_prompt_bytes = same,
  max_response_bytes = same, trust_env = same, allow_plaintext = same,
}
local CALL = { timeout = milliseconds, wait_timeout = milliseconds, settle = milliseconds, lateness = same }

--- A job's record at one moment; `json` is the whole record.
local function copied(job)
  return {
    id = text(lib.agentjob_job_id(job)),
    status = text(lib.agentjob_job_status_name(job)),
    terminal = lib.agentjob_job_is_terminal(job),
    pr_link = text(lib.agentjob_job_pr_link(job)),
    json = text(lib.agentjob_job_json(job, nil)),
  }
end

local Error = { __tostring = function(self) return self.message end }
Error.__index = Error

--- Copies everything, so the library's error is freed at once.
local function taken_error(err)
  local delivery = lib.agentjob_error_delivery(err)
  local http_status = lib.agentjob_error_http_status(err)
  local retry_after_ms = tonumber(lib.agentjob_error_retry_after_ms(err))
  local length = ffi.new "size_t[1]"
  local body = lib.agentjob_error_body(err, length)
  local job = lib.agentjob_error_job(err)
  local copy = setmetatable({
    kind = text(lib.agentjob_error_kind(err)),
    delivery = delivery ~= 0 and text(lib.agentjob_delivery_name(delivery)) or nil, -- "unknown": check the job before you send it again
    message = text(lib.agentjob_error_message(err)),
    http_status = http_status ~= 0 and http_status or nil,
    retry_after = retry_after_ms >= 0 and retry_after_ms / 1000 or nil,
    request_id = text(lib.agentjob_error_request_id(err)),
    body = body ~= nil and ffi.string(body, length[0]) or nil, -- it may contain a NUL
    attempts = lib.agentjob_error_attempts(err),
    elapsed = tonumber(lib.agentjob_error_elapsed_ms(err)) / 1000,
    job = job ~= nil and copied(job) or nil,
  }, Error)
  lib.agentjob_error_free(err)
  return copy
end

--- Calls a function whose last parameter is the error; raises the error.
local function check(func, ...)
  local err = ffi.new "agentjob_error *[1]"
  local arguments = { ... }
  arguments[select("#", ...) + 1] = err
  if func(unpack(arguments, 1, select("#", ...) + 1)) ~= 0 then error(taken_error(err[0]), 0) end
end

--- Calls a function that returns an object through `out`. The garbage collector frees it unless `release` did.
local function create(ctype, free, func, ...)
  local out = ffi.new(ctype .. "*[1]")
  local arguments = { ... }
  arguments[select("#", ...) + 1] = out
  check(func, unpack(arguments, 1, select("#", ...) + 1))
  return ffi.gc(out[0], free)
end

local function release(object, free)
  free(ffi.gc(object, nil))
end

local function sleep_ms(ms)
  ffi.C.poll(nil, 0, ms)
end

--- Triggers `token` after a while. Lua's only thread is in the call, so a timer of the C library calls
-- agentjob_cancel_trigger() on its own thread, where no Lua runs. Returns a function that stops the timer and frees the token.
local function cancel_later(token, seconds)
  local event, timer = ffi.new "agentjob_lua_sigevent", ffi.new "void *[1]"
  event.sigev_value, event.sigev_notify = token, SIGEV_THREAD
  event.sigev_notify_function = lib.agentjob_cancel_trigger
  assert(ffi.C.timer_create(CLOCK_MONOTONIC, event, timer) == 0, "timer_create failed")
  local when, stopped = ffi.new "agentjob_lua_itimerspec", ffi.new "agentjob_lua_itimerspec"
  when.it_value.tv_sec = math.floor(seconds)
  when.it_value.tv_nsec = math.max(1, (seconds % 1) * 1e9) -- 0 would disarm the timer
  ffi.C.timer_settime(timer[0], 0, when, nil)

  return function()
    ffi.C.timer_settime(timer[0], 0, ffi.new "agentjob_lua_itimerspec", stopped)
    ffi.C.timer_delete(timer[0])
    local stopped_before = stopped.it_value.tv_sec ~= 0 or stopped.it_value.tv_nsec ~= 0
    -- Otherwise the timer may be using the token right now: leaking a few bytes is better than freeing it too early.
    if stopped_before or lib.agentjob_cancel_is_triggered(token) then lib.agentjob_cancel_free(token) end
  end
end

--- Sets the settings of a client (`kind` is "options") or of a call. `known` has the conversion of each but those that both have.
local function set_all(kind, object, known, settings)
  local prefix = "agentjob_" .. kind .. "_set_"
  for name, value in pairs(settings) do
    if known[name] then
      local unit = known[name] == milliseconds and "_ms" or ""
      check(lib[prefix .. name .. unit], object, known[name](value))
    elseif name ~= "min_interval" and name ~= "max_interval" and name ~= "headers" then
      error("no setting is called " .. name, 0)
    end
  end
  if settings.min_interval or settings.max_interval then -- one function sets both; 2 s and 60 s are the defaults
    local min_ms, max_ms = milliseconds(settings.min_interval or 2), milliseconds(settings.max_interval or 60)
    check(lib[prefix .. "poll_interval_ms"], object, min_ms, max_ms)
  end
  for name, value in pairs(settings.headers or {}) do
    check(lib[prefix .. "header"], object, no_nul(name), no_nul(value))
  end
end

--- Runs `use(call, token)` with the settings of one call, and frees them whatever happens.
local function with_call(settings, use)
  local call = ffi.gc(lib.agentjob_call_new(), lib.agentjob_call_free)
  local token, stop
  local results = { pcall(function()
    local others = {}
    for name, value in pairs(settings) do
      if name ~= "cancel_after" then others[name] = value end
    end
    set_all("call", call, CALL, others)
    if settings.cancel_after then
      token = lib.agentjob_cancel_new()
      stop = cancel_later(token, settings.cancel_after)
      check(lib.agentjob_call_set_cancel, call, token)
    end
    return use(call, token)
  end) }
  if stop then stop() end
  release(call, lib.agentjob_call_free)
  if not results[1] then error(results[2], 0) end
  return results[2]
end

--- For a wait, `timeout` is the deadline of the wait, math.huge for none; its requests keep the client's timeout.
local function waiting(settings)
  local copy = {}
  for name, value in pairs(settings or {}) do
    copy[name == "timeout" and "wait_timeout" or name] = value
  end
  return copy
end

local Client = {}
Client.__index = Client

--- A client of one project.
local function new_client(settings)
  local options = ffi.gc(lib.agentjob_options_new(), lib.agentjob_options_free)
  set_all("options", options, OPTIONS, settings or {})
  local handle = create("agentjob_client", lib.agentjob_client_free, lib.agentjob_client_new, options)
  release(options, lib.agentjob_options_free)
  return setmetatable({ handle = handle }, Client)
end

--- Closes the connections now; otherwise the garbage collector does.
function Client:close()
  if self.handle then release(self.handle, lib.agentjob_client_free) end
  self.handle = nil
end

function Client:_job(settings, func, ...)
  local arguments, count = { ... }, select("#", ...)
  return with_call(settings or {}, function(call)
    arguments[count + 1] = call
    local job = create("agentjob_job", lib.agentjob_job_free, func, self.handle, unpack(arguments, 1, count + 1))
    local copy = copied(job)
    release(job, lib.agentjob_job_free)
    return copy
  end)
end

function Client:send_message(job_id, prompt, settings)
  return self:_job(settings, lib.agentjob_client_send_message, no_nul(job_id), prompt, #prompt)
end

function Client:get_job(job_id, settings)
  return self:_job(settings, lib.agentjob_client_get_job, no_nul(job_id))
end

function Client:create_job(prompt, settings)
  return self:_job(settings, lib.agentjob_client_create_job, prompt, #prompt)
end

function Client:wait(job_id, settings)
  return self:_job(waiting(settings), lib.agentjob_client_wait, no_nul(job_id))
end

function Client:send_and_wait(job_id, prompt, settings)
  return self:_job(waiting(settings), lib.agentjob_client_send_and_wait, no_nul(job_id), prompt, #prompt)
end

--- Calls `receive` with the first record, each one that differs from the previous one, and the last one.
function Client:watch(job_id, settings, receive)
  with_call(waiting(settings), function(call, token)
    local poller =
      create("agentjob_poller", lib.agentjob_poller_free, lib.agentjob_poller_new, self.handle, no_nul(job_id), call)
    local done, last = ffi.new "bool[1]", nil
    while not done[0] do
      local due = tonumber(lib.agentjob_poller_due_in_ms(poller))
      while due > 0 and not lib.agentjob_cancel_is_triggered(token) do
        sleep_ms(math.min(due, 20)) -- briefly, to notice a cancel soon
        due = tonumber(lib.agentjob_poller_due_in_ms(poller))
      end
      check(lib.agentjob_poller_poll, poller, self.handle, call, done)
      local record = lib.agentjob_poller_job(poller) -- borrowed from the poller until its next poll
      local job = record ~= nil and copied(record)
      if job and (done[0] or not last or job.json ~= last.json) then
        last = job
        receive(job)
      end
    end
    release(poller, lib.agentjob_poller_free)
  end)
end

return { client = new_client, Error = Error }
