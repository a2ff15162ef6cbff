"use strict";
/** The Node driver (see ../README.md): reads calls from stdin, makes them, and prints the result of each as JSON. */
const { createInterface } = require("node:readline");
const { Client, AgentJobError } = require("./agentjob.js");

const isTrue = (value) => value === "true";
const seconds = (value) => (value === "none" ? Infinity : Number(value));
const header = (line) => {
  const [, name, value] = /^(.*?): (.*)$/s.exec(line) ?? [null, line, ""];
  return { [name]: value };
};
const READERS = {
  base_url: String,
  api_key: String,
  api_key_file: String,
  project_id: String,
  ca_file: String,
  client_cert: String,
  client_key: String,
  proxy: String,
  user_agent_suffix: String,
  timeout: Number,
  connect_timeout: Number,
  max_retry_after: Number,
  wait_timeout: seconds,
  min_interval: Number,
  max_interval: Number,
  lateness: Number,
  settle: Number,
  max_retries: Number,
  max_prompt_bytes: Number,
  max_response_bytes: Number,
  trust_env: isTrue,
  allow_plaintext: isTrue,
};

/** Each block of lines `key=value` as an object. */
async function* blocks(input) {
  let block = {};
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    const equals = line.indexOf("=");
    if (equals > 0) {
      block[line.slice(0, equals)] = decodeURIComponent(line.slice(equals + 1));
    } else {
      yield block;
      block = {};
    }
  }
}

/** The client's options in the block. */
function clientSettings(block) {
  const given = Object.keys(READERS).filter((name) => name in block);
  const settings = Object.fromEntries(given.map((name) => [name, READERS[name](block[name])]));
  return "header" in block ? { ...settings, headers: header(block.header) } : settings;
}

/** The settings `prefix…` of the block: seconds, or none, and a header. */
function callSettings(block, prefix, signal) {
  const given = Object.entries(block).filter(([key]) => key.startsWith(prefix));
  const named = given.map(([key, value]) => [key.slice(prefix.length), value]);
  const settings = named.map(([name, value]) => (name === "header" ? ["headers", header(value)] : [name, seconds(value)]));
  return { ...Object.fromEntries(settings), signal };
}

/** Makes the call that the block describes, and returns its outcome as JSON. */
async function perform(client, block, signal) {
  const { operation, job_id = "", prompt = "" } = block;
  const call = callSettings(block, "call.", signal);
  const wait = callSettings(block, "wait.", signal);
  switch (operation) {
    case "send_message":
      return (await client.sendMessage(job_id, prompt, call)).json;
    case "get_job":
      return (await client.getJob(job_id, call)).json;
    case "create_job":
      return (await client.createJob(prompt, call)).json;
    case "wait":
      return (await client.wait(job_id, wait)).json;
    case "send_and_wait":
      return (await client.sendAndWait(job_id, prompt, wait)).json;
    case "watch": {
      const records = [];
      for await (const job of client.watch(job_id, wait)) records.push(job.json);
      return `[${records.join(", ")}]`;
    }
    default:
      throw new Error(`no such operation: ${operation}`);
  }
}

/** An error as the protocol defines it. Records stay text: JSON.parse() would round long numbers. */
function errorJson(error) {
  const facts = {
    kind: error.kind,
    delivery: error.delivery,
    message: error.message,
    http_status: error.httpStatus,
    retry_after: error.retryAfter,
    request_id: error.requestId,
    body: error.body,
    attempts: error.attempts,
  };
  return `{"error": ${JSON.stringify(facts).slice(0, -1)}, "job": ${error.job?.json ?? null}}}`;
}

async function runCall(block) {
  const signal = "cancel_after" in block ? AbortSignal.timeout(Math.round(block.cancel_after * 1000)) : undefined;
  let client;
  try {
    client = new Client(clientSettings(block));
    return `{"ok": ${await perform(client, block, signal)}}`;
  } catch (error) {
    if (error instanceof AgentJobError) return errorJson(error);
    throw error;
  } finally {
    client?.close();
  }
}

async function main() {
  for await (const block of blocks(process.stdin)) console.log(await runCall(block));
}

main();
