//! What ends a call, and what it notes about its request.

use super::*;
use crate::call::options::CallOptions;
use crate::config::headers::Headers;

const HOUR: Duration = Duration::from_secs(3600);
const BODY: Option<&[u8]> = Some(b"{}");

fn call(timeout: Duration) -> CallInFlight {
    CallInFlight::with_options(&CallOptions::new(), BODY, timeout)
}

#[test]
fn a_call_ends_at_its_deadline_and_a_phase_at_its_own() {
    assert_eq!(call(HOUR).check(), Ok(()));
    assert_eq!(call(Duration::ZERO).check(), Err(Cause::Timeout));
    let limited = call(HOUR);
    limited.limit_phase(Duration::ZERO);
    assert_eq!(limited.check_before_io(), Err(Cause::Timeout));
    let late = call(Duration::ZERO);
    late.limit_phase(HOUR);
    assert_eq!(late.check_before_io(), Err(Cause::Timeout), "a phase does not outlast its call");
}

#[test]
fn connecting_ends_at_its_own_deadline_and_is_named_unless_the_call_ends_too() {
    for (timeout, connect_timeout, ends_with) in [
        (HOUR, HOUR, Ok(())),
        (HOUR, Duration::ZERO, Err(Cause::ConnectTimeout)),
        (Duration::ZERO, Duration::ZERO, Err(Cause::Timeout)),
        (Duration::ZERO, HOUR, Err(Cause::Timeout)),
    ] {
        let call = CallInFlight { connect_timeout, ..call(timeout) };
        let ended = call.while_connecting(|| call.check());
        assert_eq!(ended, ends_with, "{timeout:?}, {connect_timeout:?}");
        assert_eq!(call.check().is_ok(), timeout == HOUR, "the rest of the call has the call's deadline");
    }
}

#[test]
fn a_message_does_not_leave_once_its_time_has_come_unless_all_of_it_has() {
    for (leaves_before, body, ends) in [
        // Elsewhere there is no clock for it: os/uptime.rs.
        (Some(Duration::ZERO), BODY, cfg!(target_os = "linux")),
        (Some(Duration::MAX), BODY, false),
        (None, BODY, false),
        (Some(Duration::ZERO), None, false),
    ] {
        let call = CallInFlight::with_options(&CallOptions::new().of_step(leaves_before), body, HOUR);
        let ended = || call.check_before_io() == Err(Cause::Timeout);
        assert_eq!(ended(), ends, "{leaves_before:?}: nothing was sent");
        call.note_sent_some();
        assert_eq!(ended(), ends, "{leaves_before:?}: a part was sent");
        call.note_sent_all();
        assert!(!ended(), "{leaves_before:?}: all of it was sent");
    }
}

#[test]
fn one_wait_lasts_a_slice_at_most_and_never_no_time() {
    assert_eq!(call(HOUR).slice(), SLICE);
    assert_eq!(call(Duration::ZERO).slice(), Duration::from_millis(1));
    let began = Instant::now();
    call(Duration::ZERO).wait(Vec::new()).unwrap();
    assert!(began.elapsed() >= Duration::from_millis(1));
}

#[test]
fn how_much_was_sent_never_becomes_less() {
    let call = call(HOUR);
    assert_eq!(call.sent(), Sent::Nothing);
    call.note_sent_some();
    assert_eq!(call.sent(), Sent::Part);
    call.note_sent_all();
    call.note_sent_some();
    assert_eq!(call.sent(), Sent::All);
}

#[test]
fn a_kept_connection_is_used_unless_the_call_needs_a_new_one() {
    let kept = call(HOUR);
    // After the call began, so that the connection was idle for no time.
    let last_used = Instant::now();
    assert!(kept.may_reuse(last_used, None));
    assert!(!kept.may_reuse(last_used, Some(1)), "for a message, as keep_alive.rs says");
    assert!(!CallInFlight { new_connection: true, ..kept }.may_reuse(last_used, None));
}

#[test]
fn what_had_arrived_when_a_call_ended_is_read_if_something_was_sent_that_it_may_be_about() {
    use Cause::{Cancelled, Closed, ConnectTimeout, Timeout};
    for (cause, body, is_read) in [
        (Timeout, BODY, true),
        (Timeout, None, true),
        (Cancelled, BODY, true),
        (Cancelled, None, false),
        (Closed, BODY, true),
        (Closed, None, false),
        (ConnectTimeout, BODY, false),
        (Cause::Stale, BODY, false),
    ] {
        let call = CallInFlight::with_options(&CallOptions::new(), body, HOUR);
        let unsent = call.unread_when_ended(cause.clone(), || panic!("nothing was sent"));
        assert_eq!(unsent, Err(cause.clone()));
        call.note_sent_some();
        let unread = call.unread_when_ended(cause.clone(), || 10);
        assert_eq!(unread, if is_read { Ok(10) } else { Err(cause.clone()) }, "{cause:?}");
        let interrupts = is_read && cause != Timeout;
        assert_eq!(
            (call.ended_by(), call.interrupted_by()),
            (is_read.then(|| cause.clone()), interrupts.then(|| cause.clone()))
        );
        for (read, left) in [(4, 6), (4, 2), (4, 0)] {
            call.note_read_late(read);
            let again = call.unread_when_ended(cause.clone(), || 99);
            assert!(again.is_err() || again == Ok(left), "{cause:?}: {again:?} instead of {left}");
        }
    }
}

#[test]
fn each_phase_has_its_time_and_only_the_first_byte_counts() {
    let call = call(HOUR);
    let known = |call: &CallInFlight| {
        let known = call.timings();
        [known.resolve, known.connect, known.proxy, known.tls, known.first_byte].map(|time| time.is_some())
    };
    let phases = [Phase::Resolve, Phase::Connect, Phase::Proxy, Phase::Tls, Phase::FirstByte];
    for (n, phase) in phases.into_iter().enumerate() {
        assert_eq!(known(&call), [0, 1, 2, 3, 4].map(|at| at < n), "before {phase:?}");
        call.end_phase(phase);
    }
    assert_eq!(known(&call), [true; 5]);
    let first = call.timings().first_byte;
    std::thread::sleep(Duration::from_millis(1));
    call.end_phase(Phase::FirstByte);
    assert_eq!(call.timings().first_byte, first);
}

#[test]
fn the_first_failure_is_kept_until_it_is_taken() {
    let call = call(HOUR);
    assert_eq!(call.take_failure(), None);
    call.fail(Cause::Stale);
    call.fail(Cause::Timeout);
    assert_eq!((call.take_failure(), call.take_failure()), (Some(Cause::Stale), None));
}

#[test]
fn what_a_response_says_is_noted() {
    let call = call(HOUR);
    assert_eq!((call.response_read_at(), call.keep_alive()), (None, None));
    let declared = KeepAlive { timeout: Some(5), exhausted: false };
    call.note_keep_alive(Some(declared));
    let at = call.note_response_read();
    assert_eq!((call.response_read_at(), call.keep_alive()), (Some(at), Some(declared)));
}

#[test]
fn a_call_within_a_call_leaves_the_outer_one_in_flight() {
    assert!(current().is_none());
    let [outer, inner] = [(); 2].map(|()| Rc::new(call(HOUR)));
    let is_current = |call: &Rc<CallInFlight>| current().is_some_and(|current| Rc::ptr_eq(&current, call));
    let entered = outer.enter();
    assert!(is_current(&outer));
    let entered_again = inner.enter();
    assert!(is_current(&inner));
    drop(entered_again);
    assert!(is_current(&outer));
    drop(entered);
    assert!(current().is_none());
}

#[test]
fn a_request_has_the_keys_line_and_those_of_its_method() {
    let headers = Headers::new().with("X-Tenant", "marker").unwrap();
    let request_head = Arc::new(RequestHead::new("agentjob/1".to_owned(), headers));
    for (body, has_type) in [(BODY, true), (None, false)] {
        let call = CallInFlight::with_options(&CallOptions::new(), body, HOUR);
        let call = CallInFlight { request_head: request_head.clone(), ..call };
        let ([key, lines], secrets_end) = call.request_lines();
        assert!(key.ends_with(b"\r\n") && lines.ends_with(b"\r\n"));
        assert_eq!(lines.windows(12).any(|part| part == b"Content-Type"), has_type);
        let secrets = [key, lines].concat()[..secrets_end].to_vec();
        assert!(secrets.ends_with(b"\r\nX-Tenant: marker\r\n"), "the key and the caller's own");
        assert_eq!(call.user_agent(), "agentjob/1");
    }
}
