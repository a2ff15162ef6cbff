;;; The Guile driver (see ../README.md): reads calls from stdin, makes them, and prints the result of each as JSON.

(use-modules (agentjob)
             (ice-9 exceptions)
             (ice-9 match)
             (ice-9 rdelim)
             (ice-9 threads)
             (srfi srfi-1)
             (web uri))

(define (true? value) (string=? value "true"))

;; The parser of each option of the client.
(define readers
  `(("base_url" . ,identity) ("api_key" . ,identity) ("api_key_file" . ,identity) ("project_id" . ,identity)
    ("ca_file" . ,identity) ("client_cert" . ,identity) ("client_key" . ,identity) ("proxy" . ,identity)
    ("user_agent_suffix" . ,identity)
    ("wait_timeout" . ,string->number) ("lateness" . ,string->number) ("settle" . ,string->number) ; none becomes #f
    ("timeout" . ,string->number) ("connect_timeout" . ,string->number) ("max_retry_after" . ,string->number)
    ("max_retries" . ,string->number) ("max_prompt_bytes" . ,string->number) ("max_response_bytes" . ,string->number)
    ("trust_env" . ,true?) ("allow_plaintext" . ,true?)))

;; max_retries -> max-retries
(define (setting-name key)
  (string->symbol (string-map (lambda (char) (if (char=? char #\_) #\- char)) key)))

;; The next block of lines `key=value` as an association list; #f at the end.
(define (next-block)
  (let loop ((block '()))
    (let ((line (read-line)))
      (cond ((eof-object? line) #f)
            ((string-index line #\=)
             => (lambda (equals)
                  (loop (acons (substring line 0 equals) (uri-decode (substring line (+ equals 1))) block))))
            (else block)))))

(define (client-settings block)
  (with-pauses-and-header block ""
    (filter-map
      (match-lambda
        ((key . value)
         (let ((read (assoc-ref readers key)))
           (and read (cons (setting-name key) (read value))))))
      block)))

;; The settings `prefix…` of the block: seconds, or none, and a header.
(define (call-settings block prefix)
  (with-pauses-and-header block prefix
    (filter-map
      (match-lambda
        ((key . value)
         (and (string-prefix? prefix key)
              (not (string-suffix? "_interval" key))
              (not (string-suffix? "header" key))
              (cons (setting-name (string-drop key (string-length prefix))) (string->number value))))) ; none becomes #f
      block)))

;; These settings, and those of the block whose values are pairs.
(define (with-pauses-and-header block prefix settings)
  (let* ((given (lambda (name) (assoc-ref block (string-append prefix name))))
         (least (given "min_interval"))
         (most (given "max_interval"))
         (header (given "header"))
         (seconds (lambda (value default) (if value (string->number value) default)))
         (settings (if header (acons 'headers (list (header-of header)) settings) settings)))
    (if (or least most)
        (acons 'poll-interval (cons (seconds least 2) (seconds most 60)) settings)
        settings)))

;; "Name: value" as a pair.
(define (header-of line)
  (let ((colon (string-contains line ": ")))
    (if colon
        (cons (string-take line colon) (string-drop line (+ colon 2)))
        (cons line ""))))

;; Makes the call that the block describes, and returns its outcome as JSON.
(define (perform client block token)
  (let ((job-id (or (assoc-ref block "job_id") ""))
        (prompt (or (assoc-ref block "prompt") ""))
        (call (acons 'cancel token (call-settings block "call.")))
        (wait (acons 'cancel token (call-settings block "wait."))))
    (match (assoc-ref block "operation")
      ("send_message" (job-json (send-message client job-id prompt call)))
      ("get_job" (job-json (get-job client job-id call)))
      ("create_job" (job-json (create-job client prompt call)))
      ("wait" (job-json (wait-for-job client job-id wait)))
      ("send_and_wait" (job-json (send-and-wait client job-id prompt wait)))
      ("watch"
       (let ((records '()))
         (watch-job client job-id (lambda (job) (set! records (cons (job-json job) records))) wait)
         (string-append "[" (string-join (reverse records) ", ") "]"))))))

;; A text, a number or #f as JSON, because Guile has no library for it.
(define (json value)
  (cond ((not value) "null")
        ((number? value) (number->string (if (integer? value) value (exact->inexact value))))
        (else
         (string-append
           "\""
           (string-concatenate
             (map (lambda (char)
                    (if (or (char<? char #\space) (memv char '(#\" #\\)))
                        (string-append "\\u" (string-pad (number->string (char->integer char) 16) 4 #\0))
                        (string char)))
                  (string->list value)))
           "\""))))

;; An error as the protocol defines it.
(define (error-json error)
  (let ((job (agentjob-error-job error)))
    (string-append
      "{\"error\": {\"kind\": " (json (agentjob-error-kind error))
      ", \"delivery\": " (json (agentjob-error-delivery error))
      ", \"message\": " (json (exception-message error))
      ", \"http_status\": " (json (agentjob-error-http-status error))
      ", \"retry_after\": " (json (agentjob-error-retry-after error))
      ", \"request_id\": " (json (agentjob-error-request-id error))
      ", \"body\": " (json (agentjob-error-body error))
      ", \"attempts\": " (json (agentjob-error-attempts error))
      ", \"job\": " (if job (job-json job) "null") "}}")))

;; Cancels after a while, from another thread.
(define (cancel-later token seconds)
  (call-with-new-thread
    (lambda ()
      (usleep (inexact->exact (round (* seconds 1000000))))
      (cancel! token))))

(define (run-call block)
  (let ((token (make-cancel-token))
        (cancel-after (assoc-ref block "cancel_after")))
    (when cancel-after (cancel-later token (string->number cancel-after)))
    (guard (error ((agentjob-error? error) (error-json error)))
      (string-append "{\"ok\": " (perform (make-client (client-settings block)) block token) "}"))))

(set-port-encoding! (current-input-port) "UTF-8")
(set-port-encoding! (current-output-port) "UTF-8")
(let loop ((block (next-block)))
  (when block
    (display (run-call block))
    (newline)
    (force-output)
    (loop (next-block))))
