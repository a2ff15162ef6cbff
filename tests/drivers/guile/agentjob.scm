;;; agentjob from Guile, through (system foreign).
;;;
;;;     (use-modules (agentjob))
;;;     (define client (make-client '((base-url . "https://api.example.com") (api-key . "…") (project-id . "…"))))
;;;     (define job (send-and-wait client "job_123" "Also cover the error cases" '((timeout . 1800))))
;;;     (format #t "~a ~a~%" (job-status job) (job-pr-link job))
;;;
;;; Options as in the README, times in seconds. An option that is not set comes from its AGENTJOB_ variable or has its default.
;;; A call that fails raises an &agentjob-error. Any number of threads may use a client.

(define-module (agentjob)
  #:use-module (ice-9 exceptions)
  #:use-module (ice-9 match)
  #:use-module (rnrs bytevectors)
  #:use-module (srfi srfi-9)
  #:use-module (system foreign)
  #:use-module (system foreign-library)
  #:export (make-client close-client send-message get-job create-job wait-for-job send-and-wait watch-job
            make-cancel-token cancel! cancelled?
            job-id job-status job-terminal? job-pr-link job-json
            &agentjob-error agentjob-error? agentjob-error-kind agentjob-error-delivery agentjob-error-http-status
            agentjob-error-retry-after agentjob-error-request-id agentjob-error-body agentjob-error-attempts
            agentjob-error-elapsed agentjob-error-job))

;;; The library

(define library (load-foreign-library (or (getenv "AGENTJOB_LIBRARY") "libagentjob.so.0")))

(define (c name result . arguments)
  (foreign-library-function library (string-append "agentjob_" name) #:return-type result #:arg-types arguments))

;; (system foreign) has no bool; C's is one byte.
(define bool uint8)
(define (true? byte) (not (zero? byte)))

(define forever (- (expt 2 64) 1))

(define client-new (c "client_new" int32 '* '* '*))
(define client-close (c "client_close" void '*))
(define client-send-message (c "client_send_message" int32 '* '* '* size_t '* '* '*))
(define client-get-job (c "client_get_job" int32 '* '* '* '* '*))
(define client-create-job (c "client_create_job" int32 '* '* size_t '* '* '*))
(define client-wait (c "client_wait" int32 '* '* '* '* '*))
(define client-send-and-wait (c "client_send_and_wait" int32 '* '* '* size_t '* '* '*))
(define poller-new (c "poller_new" int32 '* '* '* '* '*))
(define options-new (c "options_new" '*))
(define options-free (c "options_free" void '*))
(define call-new (c "call_new" '*))
(define call-free (c "call_free" void '*))
(define call-set-cancel (c "call_set_cancel" int32 '* '* '*))
(define call-set-poll-interval (c "call_set_poll_interval_ms" int32 '* uint64 uint64 '*))
(define call-set-header (c "call_set_header" int32 '* '* '* '*))
(define options-set-poll-interval (c "options_set_poll_interval_ms" int32 '* uint64 uint64 '*))
(define options-set-header (c "options_set_header" int32 '* '* '* '*))
(define cancel-new (c "cancel_new" '*))
(define cancel-trigger (c "cancel_trigger" void '*))
(define cancel-is-triggered (c "cancel_is_triggered" bool '*))
(define poller-due-in-ms (c "poller_due_in_ms" uint64 '*))
(define poller-poll (c "poller_poll" int32 '* '* '* '* '*))
(define poller-job (c "poller_job" '* '*))
(define poller-free (c "poller_free" void '*))
(define record-id (c "job_id" '* '*))
(define record-status-name (c "job_status_name" '* '*))
(define record-is-terminal (c "job_is_terminal" bool '*))
(define record-pr-link (c "job_pr_link" '* '*))
(define record-json (c "job_json" '* '* '*))
(define record-free (c "job_free" void '*))
(define error-kind (c "error_kind" '* '*))
(define error-message (c "error_message" '* '*))
(define error-delivery (c "error_delivery" int32 '*))
(define error-http-status (c "error_http_status" int32 '*))
(define error-retry-after-ms (c "error_retry_after_ms" int64 '*))
(define error-request-id (c "error_request_id" '* '*))
(define error-body (c "error_body" '* '* '*))
(define error-attempts (c "error_attempts" uint32 '*))
(define error-elapsed-ms (c "error_elapsed_ms" uint64 '*))
(define error-job (c "error_job" '* '*))
(define error-free (c "error_free" void '*))
(define delivery-name (c "delivery_name" '* int32))

;; The garbage collector calls these when an object is no longer reachable. It is reachable while a call uses it.
(define client-free (foreign-library-pointer library "agentjob_client_free"))
(define cancel-free (foreign-library-pointer library "agentjob_cancel_free"))

;;; Texts, times, memory for results

(define (text pointer)
  (and (not (null-pointer? pointer)) (pointer->string pointer -1 "UTF-8")))

;; A NUL byte is refused, because C would read only the part before it, which may be another job's id.
(define (no-nul string)
  (when (string-index string #\nul) (error "a NUL in a text that is no prompt"))
  (string->pointer string "UTF-8"))

(define (milliseconds seconds)
  (cond ((not seconds) forever)         ; a wait without a deadline
        ((positive? seconds) (max 1 (inexact->exact (round (* seconds 1000))))) ; a short time does not become 0
        (else 0)))

(define (flag value) (if value 1 0))

;; Memory for a pointer or a number, and its value.
(define (room) (bytevector->pointer (make-bytevector (sizeof '*) 0)))
(define (room-number room) (pointer-address (dereference-pointer room)))
(define (room-true? room) (true? (bytevector-u8-ref (pointer->bytevector room 1) 0)))

;; Calls a function whose last parameter is the error; raises the error.
(define (check function . arguments)
  (let ((err (room)))
    (unless (zero? (apply function (append arguments (list err))))
      (raise-exception (taken-error (dereference-pointer err))))))

;; Calls a function that returns an object through `out`.
(define (create function . arguments)
  (let ((out (room)))
    (apply check function (append arguments (list out)))
    (dereference-pointer out)))

;; Uses an object and frees it.
(define (call-with-owned object free use)
  (dynamic-wind
    (const #t)
    (lambda () (use object))
    (lambda () (free object))))

;;; Settings: for each its function and the conversion of its value

(define (setter name type convert)
  (let ((function (c name int32 '* type '*)))
    (lambda (object value) (check function object (convert value)))))

(define identity-number (lambda (number) number))

;; Of ((poll-interval . (2 . 60))), the default, and ((headers . (("X-Tenant" . "acme")))).
(define (interval-setter function)
  (lambda (object interval)
    (check function object (milliseconds (car interval)) (milliseconds (cdr interval)))))

(define (headers-setter function)
  (lambda (object headers)
    (for-each (lambda (header) (check function object (no-nul (car header)) (no-nul (cdr header)))) headers)))

(define options-setters
  `((base-url . ,(setter "options_set_base_url" '* no-nul))
    (api-key . ,(setter "options_set_api_key" '* no-nul))
    (api-key-file . ,(setter "options_set_api_key_file" '* no-nul))
    (project-id . ,(setter "options_set_project_id" '* no-nul))
    (ca-file . ,(setter "options_set_ca_file" '* no-nul))
    (client-cert . ,(setter "options_set_client_cert" '* no-nul))
    (client-key . ,(setter "options_set_client_key" '* no-nul))
    (proxy . ,(setter "options_set_proxy" '* no-nul))
    (user-agent-suffix . ,(setter "options_set_user_agent_suffix" '* no-nul))
    (timeout . ,(setter "options_set_timeout_ms" uint64 milliseconds))
    (connect-timeout . ,(setter "options_set_connect_timeout_ms" uint64 milliseconds))
    (max-retry-after . ,(setter "options_set_max_retry_after_ms" uint64 milliseconds))
    (max-retries . ,(setter "options_set_max_retries" uint32 identity-number))
    (max-prompt-bytes . ,(setter "options_set_max_prompt_bytes" size_t identity-number))
    (max-response-bytes . ,(setter "options_set_max_response_bytes" size_t identity-number))
    (trust-env . ,(setter "options_set_trust_env" bool flag))
    (allow-plaintext . ,(setter "options_set_allow_plaintext" bool flag))
    (wait-timeout . ,(setter "options_set_wait_timeout_ms" uint64 milliseconds))
    (lateness . ,(setter "options_set_lateness" double identity-number))
    (settle . ,(setter "options_set_settle_ms" uint64 milliseconds))
    (poll-interval . ,(interval-setter options-set-poll-interval))
    (headers . ,(headers-setter options-set-header))))

(define call-setters
  `((timeout . ,(setter "call_set_timeout_ms" uint64 milliseconds))
    (wait-timeout . ,(setter "call_set_wait_timeout_ms" uint64 milliseconds))
    (lateness . ,(setter "call_set_lateness" double identity-number))
    (settle . ,(setter "call_set_settle_ms" uint64 milliseconds))
    (cancel . ,(lambda (call token) (check call-set-cancel call token)))
    (poll-interval . ,(interval-setter call-set-poll-interval))
    (headers . ,(headers-setter call-set-header))))

(define (set-all setters object settings)
  (for-each
    (match-lambda
      ((name . value)
       ((or (assq-ref setters name) (error "no such setting:" name)) object value)))
    settings))

;;; Records and errors are copied, so the library's are freed at once.

;; A job's record at one moment; json is the whole record.
(define-record-type job
  (make-job id status terminal? pr-link json)
  job?
  (id job-id)
  (status job-status)
  (terminal? job-terminal?)
  (pr-link job-pr-link)
  (json job-json))

(define (copied record)
  (make-job (text (record-id record))
            (text (record-status-name record))
            (true? (record-is-terminal record))
            (text (record-pr-link record))
            (text (record-json record %null-pointer))))

;; Why a call failed; exception-message is the message. #f means none.
(define-exception-type &agentjob-error &error make-agentjob-error agentjob-error?
  (kind agentjob-error-kind)
  (delivery agentjob-error-delivery)    ; "unknown": check the job before you send it again
  (http-status agentjob-error-http-status)
  (retry-after agentjob-error-retry-after)
  (request-id agentjob-error-request-id)
  (body agentjob-error-body)
  (attempts agentjob-error-attempts)
  (elapsed agentjob-error-elapsed)
  (job agentjob-error-job))

(define (taken-error err)
  (call-with-owned err error-free
    (lambda (err)
      (let* ((delivery (error-delivery err))
             (status (error-http-status err))
             (retry-after-ms (error-retry-after-ms err))
             (length (room))
             (body (error-body err length))
             (record (error-job err)))
        (make-exception
          (make-agentjob-error
            (text (error-kind err))
            (and (not (zero? delivery)) (text (delivery-name delivery)))
            (and (not (zero? status)) status)
            (and (>= retry-after-ms 0) (/ retry-after-ms 1000))
            (text (error-request-id err))
            (and (not (null-pointer? body))
                 (utf8->string (pointer->bytevector body (room-number length)))) ; it may contain a NUL
            (error-attempts err)
            (/ (error-elapsed-ms err) 1000)
            (and (not (null-pointer? record)) (copied record)))
          (make-exception-with-message (text (error-message err))))))))

;;; Cancel tokens, from any thread: calls that have the token raise an error of the kind "cancelled".

(define (make-cancel-token)
  (let ((token (cancel-new)))
    (set-pointer-finalizer! token cancel-free)
    token))

(define (cancel! token) (cancel-trigger token))
(define (cancelled? token) (true? (cancel-is-triggered token)))

;;; Clients

(define* (make-client #:optional (settings '()))
  (call-with-owned (options-new) options-free
    (lambda (options)
      (set-all options-setters options settings)
      (let ((client (create client-new options)))
        (set-pointer-finalizer! client client-free)
        client))))

;; Ends every call on every thread and refuses new ones. The collector frees the client.
(define (close-client client) (client-close client))

;; Settings: timeout, headers, cancel.
(define* (send-message client job-id prompt #:optional (settings '()))
  (let ((data (string->utf8 prompt)))
    (call-for-job settings client-send-message client (no-nul job-id) (bytevector->pointer data) (bytevector-length data))))

(define* (get-job client job-id #:optional (settings '()))
  (call-for-job settings client-get-job client (no-nul job-id)))

(define* (create-job client prompt #:optional (settings '()))
  (let ((data (string->utf8 prompt)))
    (call-for-job settings client-create-job client (bytevector->pointer data) (bytevector-length data))))

;; Settings: timeout (the deadline of the wait, #f for none), poll-interval, lateness, settle, headers, cancel.
(define* (wait-for-job client job-id #:optional (settings '()))
  (call-for-job (waiting settings) client-wait client (no-nul job-id)))

(define* (send-and-wait client job-id prompt #:optional (settings '()))
  (let ((data (string->utf8 prompt)))
    (call-for-job (waiting settings) client-send-and-wait client (no-nul job-id) (bytevector->pointer data)
                  (bytevector-length data))))

;; Calls `receive` with the first record, each one that differs from the previous one, and the last one.
(define* (watch-job client job-id receive #:optional (settings '()))
  (call-with-settings (waiting settings)
    (lambda (call)
      (call-with-owned (create poller-new client (no-nul job-id) call) poller-free
        (lambda (poller)
          (let ((done (room)))
            (let poll ((last #f))
              (sleep-until-due poller (assq-ref settings 'cancel))
              (check poller-poll poller client call done)
              (let* ((done? (room-true? done))
                     (record (poller-job poller)) ; borrowed from the poller until its next poll
                     (job (and (not (null-pointer? record)) (copied record)))
                     (news? (and job (or done? (not last) (not (string=? (job-json job) (job-json last)))))))
                (when news? (receive job))
                (unless done? (poll (if news? job last)))))))))))

(define (sleep-until-due poller cancel)
  (let ((due (poller-due-in-ms poller)))
    (unless (or (zero? due) (and cancel (cancelled? cancel)))
      (usleep (* 1000 (min due 20)))    ; briefly, to notice a cancel soon
      (sleep-until-due poller cancel))))

;; For a wait, timeout is the deadline of the wait; its requests keep the client's timeout.
(define (waiting settings)
  (map (match-lambda
         (('timeout . value) (cons 'wait-timeout value))
         (setting setting))
       settings))

(define (call-with-settings settings use)
  (call-with-owned (call-new) call-free
    (lambda (call)
      (set-all call-setters call settings)
      (use call))))

;; Makes one call that returns a job.
(define (call-for-job settings function . arguments)
  (call-with-settings settings
    (lambda (call)
      (call-with-owned (apply create function (append arguments (list call))) record-free copied))))
