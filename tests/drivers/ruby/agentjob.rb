# frozen_string_literal: true

# agentjob from Ruby, through fiddle.
#
#     client = Agentjob::Client.new(base_url: "https://api.example.com", api_key: "…", project_id: "…")
#     job = client.send_and_wait("job_123", "Also cover the error cases", timeout: 1800)
#     puts job.status, job.pr_link
#
# Options as in the README, times in seconds. An option that is not set comes from its AGENTJOB_ variable or has its default.
require "fiddle/import"

module Agentjob
  # The functions of the library. Fiddle releases Ruby's lock during a call, so other threads keep running. A Ctrl-C is handled
  # when the call returns; to handle it at once, make the call on another thread and cancel it from the main thread's rescue.
  module C
    extend Fiddle::Importer
    dlload ENV.fetch("AGENTJOB_LIBRARY", "libagentjob.so.0")
    typealias "bool", "unsigned char"

    extern "int agentjob_client_new(void *options, void *out, void *err)"
    extern "void agentjob_client_close(void *client)"
    extern "void agentjob_client_free(void *client)"
    extern "int agentjob_client_send_message(void *client, const char *id, const char *prompt, size_t len, void *call, void *out, void *err)"
    extern "int agentjob_client_get_job(void *client, const char *id, void *call, void *out, void *err)"
    extern "int agentjob_client_create_job(void *client, const char *prompt, size_t len, void *call, void *out, void *err)"
    extern "int agentjob_client_wait(void *client, const char *id, void *call, void *out, void *err)"
    extern "int agentjob_client_send_and_wait(void *client, const char *id, const char *prompt, size_t len, void *call, void *out, void *err)"
    extern "int agentjob_poller_new(void *client, const char *id, void *call, void *out, void *err)"

    extern "void *agentjob_options_new()"
    extern "void agentjob_options_free(void *options)"
    %w[base_url api_key api_key_file project_id ca_file client_cert client_key proxy user_agent_suffix].each do |name|
      extern "int agentjob_options_set_#{name}(void *options, const char *text, void *err)"
    end
    %w[timeout connect_timeout max_retry_after wait_timeout settle].each do |name|
      extern "int agentjob_options_set_#{name}_ms(void *options, uint64_t ms, void *err)"
    end
    extern "int agentjob_options_set_max_retries(void *options, uint32_t max_retries, void *err)"
    extern "int agentjob_options_set_max_prompt_bytes(void *options, size_t bytes, void *err)"
    extern "int agentjob_options_set_max_response_bytes(void *options, size_t bytes, void *err)"
    extern "int agentjob_options_set_trust_env(void *options, bool trust_env, void *err)"
    extern "int agentjob_options_set_allow_plaintext(void *options, bool allow_plaintext, void *err)"
    extern "int agentjob_options_set_poll_interval_ms(void *options, uint64_t min_ms, uint64_t max_ms, void *err)"
    extern "int agentjob_options_set_lateness(void *options, double part, void *err)"
    extern "int agentjob_options_set_header(void *options, const char *name, const char *value, void *err)"

    extern "void *agentjob_call_new()"
    extern "void agentjob_call_free(void *call)"
    extern "int agentjob_call_set_timeout_ms(void *call, uint64_t ms, void *err)"
    extern "int agentjob_call_set_wait_timeout_ms(void *call, uint64_t ms, void *err)"
    extern "int agentjob_call_set_poll_interval_ms(void *call, uint64_t min_ms, uint64_t max_ms, void *err)"
    extern "int agentjob_call_set_lateness(void *call, double part, void *err)"
    extern "int agentjob_call_set_settle_ms(void *call, uint64_t ms, void *err)"
    extern "int agentjob_call_set_header(void *call, const char *name, const char *value, void *err)"
    extern "int agentjob_call_set_cancel(void *call, void *cancel, void *err)"

    extern "void *agentjob_cancel_new()"
    extern "void agentjob_cancel_trigger(void *cancel)"
    extern "bool agentjob_cancel_is_triggered(void *cancel)"
    extern "void agentjob_cancel_free(void *cancel)"

    extern "uint64_t agentjob_poller_due_in_ms(void *poller)"
    extern "int agentjob_poller_poll(void *poller, void *client, void *call, void *done, void *err)"
    extern "void *agentjob_poller_job(void *poller)"
    extern "void agentjob_poller_free(void *poller)"

    extern "const char *agentjob_job_id(void *job)"
    extern "const char *agentjob_job_status_name(void *job)"
    extern "bool agentjob_job_is_terminal(void *job)"
    extern "const char *agentjob_job_pr_link(void *job)"
    extern "const char *agentjob_job_json(void *job, void *len)"
    extern "void agentjob_job_free(void *job)"

    extern "const char *agentjob_error_kind(void *error)"
    extern "const char *agentjob_error_message(void *error)"
    extern "int agentjob_error_delivery(void *error)"
    extern "int agentjob_error_http_status(void *error)"
    extern "int64_t agentjob_error_retry_after_ms(void *error)"
    extern "const char *agentjob_error_request_id(void *error)"
    extern "const char *agentjob_error_body(void *error, void *len)"
    extern "uint32_t agentjob_error_attempts(void *error)"
    extern "uint64_t agentjob_error_elapsed_ms(void *error)"
    extern "void *agentjob_error_job(void *error)"
    extern "void agentjob_error_free(void *error)"
    extern "const char *agentjob_delivery_name(int delivery)"

    FOREVER = 2**64 - 1

    module_function

    # Calls a function whose last parameter is the error; raises the error.
    def check(function, *arguments)
      err = room
      return if C["agentjob_#{function}"].call(*arguments, err).zero?

      owned(err.ptr, :error_free) { |error| raise Error, error }
    end

    # Calls a function that returns an object through `out`.
    def create(function, *arguments)
      out = room
      check(function, *arguments, out)
      out.ptr
    end

    # An object that is freed after its block.
    def owned(object, free)
      yield object
    ensure
      C["agentjob_#{free}"].call(object)
    end

    # An object that Ruby frees when it is no longer reachable. It is reachable while a call uses it.
    def kept(object, free)
      object.free = C["agentjob_#{free}"]
      object
    end

    # Memory for a pointer or a number.
    def room
      Fiddle::Pointer.malloc(Fiddle::SIZEOF_VOIDP, Fiddle::RUBY_FREE)
    end

    # A text of the library as a Ruby string.
    def text(pointer, *length)
      pointer.to_s(*length).force_encoding(Encoding::UTF_8) unless pointer.null?
    end

    # A text for the library. A NUL byte is refused, because C would read only the part before it, which may be another job's id.
    def no_nul(text)
      text = text.encode(Encoding::UTF_8)
      raise ArgumentError, "a NUL in a text that is no prompt" if text.include?("\0")

      text
    end

    def milliseconds(seconds)
      return FOREVER if seconds.nil? # a wait without a deadline

      seconds.positive? ? [1, (seconds * 1000).round].max : 0 # a short time does not become 0
    end
  end

  # A job's record at one moment; json is the whole record.
  Job = Struct.new(:id, :status, :terminal, :pr_link, :json, keyword_init: true) do
    def self.copied(job)
      new(id: C.text(C.agentjob_job_id(job)), status: C.text(C.agentjob_job_status_name(job)),
          terminal: C.agentjob_job_is_terminal(job) != 0, pr_link: C.text(C.agentjob_job_pr_link(job)),
          json: C.text(C.agentjob_job_json(job, nil)))
    end
  end

  # Why a call failed. Everything is copied, so the library's error is freed at once.
  class Error < StandardError
    attr_reader :kind, :delivery, :http_status, :retry_after, :request_id, :body, :attempts, :elapsed, :job

    def initialize(err)
      super(C.text(C.agentjob_error_message(err)))
      @kind = C.text(C.agentjob_error_kind(err))
      delivery = C.agentjob_error_delivery(err)
      @delivery = C.text(C.agentjob_delivery_name(delivery)) unless delivery.zero? # "unknown": check the job before you send it again
      status = C.agentjob_error_http_status(err)
      @http_status = status unless status.zero?
      retry_after_ms = C.agentjob_error_retry_after_ms(err)
      @retry_after = retry_after_ms / 1000.0 unless retry_after_ms.negative?
      @request_id = C.text(C.agentjob_error_request_id(err))
      length = C.room
      body = C.agentjob_error_body(err, length)
      @body = C.text(body, length.ptr.to_i) # it may contain a NUL
      @attempts = C.agentjob_error_attempts(err)
      @elapsed = C.agentjob_error_elapsed_ms(err) / 1000.0
      job = C.agentjob_error_job(err)
      @job = Job.copied(job) unless job.null?
    end
  end

  # Cancels the calls that have it, from any thread: they raise an Error of the kind "cancelled".
  class CancelToken
    attr_reader :handle

    def initialize
      @handle = C.kept(C.agentjob_cancel_new, :cancel_free)
    end

    def cancel
      C.agentjob_cancel_trigger(@handle)
    end

    def cancelled?
      C.agentjob_cancel_is_triggered(@handle) != 0
    end
  end

  # A client of one project. Any number of threads may use it.
  class Client
    def initialize(**settings)
      C.owned(C.agentjob_options_new, :options_free) do |options|
        set(:options, options, **settings)
        @handle = C.kept(C.create(:client_new, options), :client_free)
      end
    end

    # Ends every call on every thread and refuses new ones.
    def close
      C.agentjob_client_close(@handle)
    end

    def send_message(job_id, prompt, **settings)
      call(**settings) { |call| job(:client_send_message, C.no_nul(job_id), prompt, prompt.bytesize, call) }
    end

    def get_job(job_id, **settings)
      call(**settings) { |call| job(:client_get_job, C.no_nul(job_id), call) }
    end

    def create_job(prompt, **settings)
      call(**settings) { |call| job(:client_create_job, prompt, prompt.bytesize, call) }
    end

    # `timeout` is the deadline of the wait, nil for none; without it, it is the client's wait_timeout.
    def wait(job_id, **settings)
      call(**waiting(**settings)) { |call| job(:client_wait, C.no_nul(job_id), call) }
    end

    def send_and_wait(job_id, prompt, **settings)
      call(**waiting(**settings)) do |call|
        job(:client_send_and_wait, C.no_nul(job_id), prompt, prompt.bytesize, call)
      end
    end

    # Yields the first record, each one that differs from the previous one, and the last one; without a block, an Enumerator of them.
    def watch(job_id, cancel: nil, **settings, &block)
      return enum_for(:watch, job_id, cancel: cancel, **settings) unless block

      call(cancel: cancel, **waiting(**settings)) do |call|
        C.owned(C.create(:poller_new, @handle, C.no_nul(job_id), call), :poller_free) do |poller|
          watch_poller(poller, call, cancel, &block)
        end
      end
    end

    private

    def watch_poller(poller, call, cancel)
      last = nil
      done = C.room
      loop do
        while (due = C.agentjob_poller_due_in_ms(poller)).positive? && !cancel&.cancelled?
          sleep([due, 20].min / 1000.0) # briefly, to notice a cancel soon
        end
        C.check(:poller_poll, poller, @handle, call, done)
        record = C.agentjob_poller_job(poller) # borrowed from the poller until its next poll
        job = Job.copied(record) unless record.null?
        finished = done[0] != 0
        yield last = job if job && (finished || job != last)
        break if finished
      end
    end

    def job(function, *arguments)
      C.owned(C.create(function, @handle, *arguments), :job_free) { |job| Job.copied(job) }
    end

    # For a wait, timeout is the deadline of the wait; its requests keep the client's timeout.
    def waiting(**settings)
      settings.transform_keys { |name| name == :timeout ? :wait_timeout : name }
    end

    # The settings of one call.
    def call(cancel: nil, **settings)
      C.owned(C.agentjob_call_new, :call_free) do |call|
        C.check(:call_set_cancel, call, cancel.handle) if cancel
        set(:call, call, **settings)
        yield call
      end
    end

    # Sets the settings of a client (type :options) or of a call.
    def set(type, object, min_interval: nil, max_interval: nil, headers: {}, **settings)
      if min_interval || max_interval # one function sets both; 2 s and 60 s are the defaults
        C.check("#{type}_set_poll_interval_ms", object, C.milliseconds(min_interval || 2), C.milliseconds(max_interval || 60))
      end
      headers.each { |name, value| C.check("#{type}_set_header", object, C.no_nul(name), C.no_nul(value)) }
      settings.each { |name, value| set_one(type, object, name, value) }
    end

    def set_one(type, object, name, value)
      case name
      when :timeout, :connect_timeout, :max_retry_after, :wait_timeout, :settle
        C.check("#{type}_set_#{name}_ms", object, C.milliseconds(value))
      when :trust_env, :allow_plaintext
        C.check("#{type}_set_#{name}", object, value ? 1 : 0)
      else
        C.check("#{type}_set_#{name}", object, value.is_a?(String) ? C.no_nul(value) : value)
      end
    end
  end
end
