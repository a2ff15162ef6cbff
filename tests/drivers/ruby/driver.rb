#!/usr/bin/env ruby
# frozen_string_literal: true

# The Ruby driver (see ../README.md): reads calls from stdin, makes them, and prints the result of each as JSON.
require "json"
require "uri"
require_relative "agentjob"

TEXTS = %w[base_url api_key api_key_file project_id ca_file client_cert client_key proxy user_agent_suffix].freeze
SECONDS = %w[timeout connect_timeout max_retry_after wait_timeout min_interval max_interval lateness settle].freeze
WHOLE = %w[max_retries max_prompt_bytes max_response_bytes].freeze
FLAGS = %w[trust_env allow_plaintext].freeze

# Each block of lines `key=value` as a hash.
def each_block(input)
  block = {}
  input.each_line(chomp: true) do |line|
    key, value = line.split("=", 2)
    if value
      block[key] = URI.decode_www_form_component(value)
    else
      yield block
      block = {}
    end
  end
end

# The client's options in the block.
def client_settings(block)
  block.slice(*TEXTS).merge(
    block.slice(*SECONDS).transform_values { |value| seconds(value) },
    block.slice(*WHOLE).transform_values(&:to_i),
    block.slice(*FLAGS).transform_values { |value| value == "true" },
    headers(block["header"])
  ).transform_keys(&:to_sym)
end

# The settings `prefix…` of the block, as keywords: seconds, or none, and a header.
def call_settings(block, prefix)
  given = block.select { |key, _| key.start_with?(prefix) }.transform_keys { |key| key.delete_prefix(prefix).to_sym }
  headers(given.delete(:header)).merge(given.transform_values { |value| seconds(value) })
end

def seconds(text)
  text == "none" ? nil : text.to_f
end

# The setting of a header line; nothing without one.
def headers(line)
  return {} unless line

  name, value = line.split(": ", 2)
  { headers: { name => value || "" } }
end

# Makes the call that the block describes, and returns its outcome as JSON.
def perform(client, block, cancel)
  job_id = block.fetch("job_id", "")
  prompt = block.fetch("prompt", "")
  call = call_settings(block, "call.").merge(cancel: cancel)
  wait = call_settings(block, "wait.").merge(cancel: cancel)
  case block["operation"]
  when "send_message" then client.send_message(job_id, prompt, **call).json
  when "get_job" then client.get_job(job_id, **call).json
  when "create_job" then client.create_job(prompt, **call).json
  when "wait" then client.wait(job_id, **wait).json
  when "send_and_wait" then client.send_and_wait(job_id, prompt, **wait).json
  when "watch" then "[#{client.watch(job_id, **wait).map(&:json).join(", ")}]"
  else abort "driver.rb: no such operation: #{block["operation"]}"
  end
end

# An error as the protocol defines it.
def error_json(error)
  facts = %i[kind delivery message http_status retry_after request_id body attempts]
  values = facts.to_h { |name| [name, error.public_send(name)] }
  { error: values.merge(job: error.job && JSON.parse(error.job.json)) }
end

def run_call(block)
  cancel = Agentjob::CancelToken.new
  if block["cancel_after"]
    timer = Thread.new do
      sleep block["cancel_after"].to_f
      cancel.cancel
    end
  end
  client = Agentjob::Client.new(**client_settings(block))
  %({"ok": #{perform(client, block, cancel)}})
rescue Agentjob::Error => e
  JSON.generate(error_json(e))
ensure
  timer&.kill
  client&.close
end

$stdout.sync = true
each_block($stdin) { |block| puts run_call(block) }
