--- The LuaJIT driver (see ../README.md): reads calls from stdin, makes them, and prints the result of each as JSON.

package.path = arg[0]:gsub("[^/]*$", "") .. "?.lua;" .. package.path
local agentjob = require "agentjob"

local function same(value) return value end
local function is_true(value) return value == "true" end

local function seconds(value) return value == "none" and math.huge or tonumber(value) end
local function header(line)
  local name, value = line:match "^(.-): (.*)$"
  return { [name or line] = value or "" }
end

local READERS = {
  base_url = same, api_key = same, api_key_file = same, project_id = same, ca_file = same, client_cert = same,
  client_key = same, proxy = same, user_agent_suffix = same, wait_timeout = seconds, min_interval = seconds,
  max_interval = seconds, lateness = seconds, settle = seconds, timeout = tonumber, connect_timeout = tonumber, max_retry_after = tonumber,
  max_retries = tonumber, max_prompt_bytes = tonumber, max_response_bytes = tonumber, trust_env = is_true,
  allow_plaintext = is_true,
}

local function percent_decoded(value)
  return (value:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

--- A text, a number or nil as JSON, because Lua has no library for it.
local function json(value)
  if value == nil then return "null" end
  if type(value) == "number" then return tostring(value) end
  return '"' .. value:gsub('[%c"\\]', function(c) return ("\\u%04x"):format(c:byte()) end) .. '"'
end

--- An error as the protocol defines it.
local function error_json(err)
  local facts = { "kind", "delivery", "message", "http_status", "retry_after", "request_id", "body", "attempts" }
  local parts = {}
  for _, name in ipairs(facts) do
    parts[#parts + 1] = json(name) .. ": " .. json(err[name])
  end
  return ('{"error": {%s, "job": %s}}'):format(table.concat(parts, ", "), err.job and err.job.json or "null")
end

--- The settings `prefix…` of the block: seconds, or none, and a header.
local function call_settings(block, prefix)
  local settings = { cancel_after = tonumber(block.cancel_after) }
  for key, value in pairs(block) do
    if key == prefix .. "header" then
      settings.headers = header(value)
    elseif key:sub(1, #prefix) == prefix then
      settings[key:sub(#prefix + 1)] = seconds(value)
    end
  end
  return settings
end

--- Makes the call that the block describes, and returns its outcome as JSON.
local function perform(client, block)
  local job_id, prompt = block.job_id or "", block.prompt or ""
  local call, wait = call_settings(block, "call."), call_settings(block, "wait.")
  if block.operation == "send_message" then return client:send_message(job_id, prompt, call).json end
  if block.operation == "get_job" then return client:get_job(job_id, call).json end
  if block.operation == "create_job" then return client:create_job(prompt, call).json end
  if block.operation == "wait" then return client:wait(job_id, wait).json end
  if block.operation == "send_and_wait" then return client:send_and_wait(job_id, prompt, wait).json end
  if block.operation == "watch" then
    local records = {}
    client:watch(job_id, wait, function(job) records[#records + 1] = job.json end)
    return "[" .. table.concat(records, ", ") .. "]"
  end
  error("no such operation: " .. tostring(block.operation))
end

local function run_call(block)
  local settings = {}
  for name, read in pairs(READERS) do
    if block[name] then settings[name] = read(block[name]) end
  end
  if block.header then settings.headers = header(block.header) end
  local client
  local ok, result = pcall(function()
    client = agentjob.client(settings)
    return perform(client, block)
  end)
  if client then client:close() end
  if ok then return '{"ok": ' .. result .. "}" end
  if getmetatable(result) == agentjob.Error then return error_json(result) end
  error(result, 0)
end

local block = {}
for line in io.lines() do
  local key, value = line:match "^([^=]+)=(.*)$"
  if key then
    block[key] = percent_decoded(value)
  else
    io.write(run_call(block), "\n")
    io.flush()
    block = {}
  end
end
