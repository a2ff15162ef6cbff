//! What arrives while a request is still being written, how a connection ends, and whether it is kept.

use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

use super::*;
use crate::call::control::CancelToken;
use crate::http::keep_alive::KeepAlive;
use crate::http::socket::pair;
use service::{LIMIT, SOCKET_BUFFER, Service, plain, small_pair, unread, with_tls, with_tls_as};

mod alerts;
mod service;

const LARGE: usize = 32 * SOCKET_BUFFER;
const REFUSAL: &str = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";

fn call() -> Rc<CallInFlight> {
    Rc::new(CallInFlight::for_test())
}

/// Writes a request that is [`LARGE`], until the service accepts no more; returns how many bytes were collected for it.
fn write(connection: &mut Connection, call: &CallInFlight) -> usize {
    let mut written = 0;
    while written < LARGE && !connection.write_broken {
        let piece = connection.buffers.output().len();
        connection.buffers.gather(piece);
        connection.flush(call).unwrap();
        written += piece;
    }
    written
}

#[test]
fn after_an_interim_response_to_a_part_of_a_request_the_rest_is_written() {
    for start in [plain, with_tls] {
        let (mut connection, mut service) = start();
        service.write("HTTP/1.1 100 Continue\r\n\r\n");
        let (call, client, began) = (call(), service.client.try_clone().unwrap(), Instant::now());
        while connection.socket.idle() == Idle::Quiet {
            call.check().unwrap();
        }
        let (written, read) = std::thread::scope(|scope| {
            let read = scope.spawn(|| {
                // The service reads only after the client has read what it sent.
                while unread(&service.client) > 0 && began.elapsed() < LIMIT {
                    std::thread::yield_now();
                }
                service.read_all()
            });
            let written = write(&mut connection, &call);
            client.shutdown(Shutdown::Write).unwrap();
            (written, read.join().unwrap())
        });
        assert!(!connection.write_broken && !connection.response_came_early);
        assert_eq!((written, read), (LARGE, LARGE));
    }
}

#[test]
fn a_response_to_a_part_of_a_request_ends_the_writing_and_is_read() {
    for start in [plain, with_tls] {
        let (mut connection, mut service) = start();
        service.write(REFUSAL);
        let call = call();
        let _entered = call.enter();
        assert!(write(&mut connection, &call) < LARGE);
        assert_eq!((connection.write_broken, call.sent()), (true, Sent::Part));
        assert!(connection.await_input(NextTimeout::default()).unwrap());
        assert_eq!(connection.buffers.input(), REFUSAL.as_bytes());
        call.note_keep_alive(Some(KeepAlive::default()));
        assert!(!connection.is_open(), "the service expects the rest of the request");
    }
}

/// How many bytes a connection takes while its service does not read.
fn room() -> usize {
    let (mut client, _service) = small_pair();
    // A delayed acknowledgement makes more room.
    client.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    std::iter::from_fn(|| client.write(&[0; 4096]).ok()).sum()
}

/// The lengths of the TLS records of a request, during which the service asks for new keys; `None` if that was read too late.
fn records_when_keys_are_updated() -> Option<Vec<usize>> {
    let (mut connection, mut service) = with_tls();
    let tls = service.tls.as_mut().unwrap();
    tls.refresh_traffic_keys().unwrap();
    tls.write_tls(&mut service.stream).unwrap();
    let call = call();
    while connection.socket.idle() == Idle::Quiet {
        call.check().unwrap();
    }
    // The end of it is with rustls when the socket takes no more and is read.
    let request = room() + (32 << 10);
    while connection.buffers.pending().len() < request {
        let piece = connection.buffers.output().len();
        connection.buffers.gather(piece);
    }
    let (client, began) = (service.client.try_clone().unwrap(), Instant::now());
    let (mut records, mut was_read, is_flushed) = (Vec::new(), false, AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while unread(&client) > 0 && !is_flushed.load(SeqCst) && began.elapsed() < LIMIT {
                std::thread::yield_now();
            }
            service.stream.read_to_end(&mut records).unwrap();
        });
        connection.flush(&call).unwrap();
        is_flushed.store(true, SeqCst);
        was_read = unread(&client) == 0;
        client.shutdown(Shutdown::Write).unwrap();
    });
    let lengths = std::iter::from_fn(|| {
        let length = usize::from(u16::from_be_bytes(*records.get(3..5)?.first_chunk()?));
        records.drain(..5 + length);
        Some(length)
    });
    let lengths: Vec<_> = lengths.collect();
    was_read.then_some(lengths)
}

#[test]
fn a_request_ends_with_its_last_byte_also_if_tls_was_asked_for_new_keys_meanwhile() {
    // A machine that stands still may measure too little room.
    let lengths = (0..10).find_map(|_| records_when_keys_are_updated()).expect("a socket that is full is read");
    // A key update takes 5 bytes, and what every record has takes 17.
    assert_ne!(lengths.last(), Some(&22), "{lengths:?}");
}

/// How a connection fails that awaits a response, as the call in flight keeps it.
fn failure(connection: &mut Connection, call: &Rc<CallInFlight>) -> Option<Cause> {
    let _entered = call.enter();
    connection.await_input(NextTimeout::default()).unwrap_err();
    call.take_failure()
}

fn lost(why: &str) -> Option<Cause> {
    Some(Cause::Lost(why.to_owned()))
}

#[test]
fn a_tls_connection_that_breaks_after_its_handshake_may_have_delivered_the_request() {
    // Application data that no key made (RFC 8446 5.2).
    let (mut connection, mut service) = with_tls();
    service.stream.write_all(&[0x17, 3, 3, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).unwrap();
    assert_eq!(failure(&mut connection, &call()), lost("a record could not be decrypted"));
    // The end without a close_notify (RFC 8446 6.1).
    let (mut connection, service) = with_tls();
    service.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(failure(&mut connection, &call()), lost("the TLS connection was cut off"));
}

#[test]
fn a_tls_connection_takes_nothing_behind_the_close_notify() {
    let (mut connection, mut service) = with_tls();
    let tls = service.tls.as_mut().unwrap();
    let mut records = Vec::new();
    // Nearly the largest record: rustls has less room than is read for what comes behind it.
    tls.writer().write_all(&[b'x'; (16 << 10) - 1]).unwrap();
    tls.send_close_notify();
    while tls.wants_write() {
        tls.write_tls(&mut records).unwrap();
    }
    records.resize(records.len() + 4096, 0);
    let call = call();
    let (most, rest) = records.split_at(16 << 10);
    service.stream.write_all(most).unwrap();
    while unread(&service.client) > 0 {
        assert!(!connection.read_early_response(&call));
    }
    service.stream.write_all(rest).unwrap();
    while !connection.read_early_response(&call) {
        call.check().unwrap();
    }
    assert!(connection.response_came_early);
}

#[test]
fn what_came_with_the_handshake_is_not_taken_for_the_response_to_a_request() {
    for ends in [false, true] {
        let (mut connection, mut service) = with_tls();
        if ends {
            service.tls.as_mut().unwrap().send_close_notify();
        }
        service.write(if ends { "" } else { REFUSAL });
        let call = call();
        while tls::is_drained(connection.tls.as_mut().unwrap()) {
            tls::read_waiting_records(connection.tls.as_mut().unwrap(), &connection.socket);
            call.check().unwrap();
        }
        connection.buffers.output();
        connection.buffers.gather(100);
        let why = "the service responded, or ended, before the request";
        assert_eq!((connection.flush(&call).err(), call.sent()), (lost(why), Sent::Nothing));
    }
}

#[test]
fn a_kept_tls_connection_with_a_flood_of_session_tickets_is_not_used() {
    let (mut connection, _service) = with_tls();
    assert!(connection.is_alive());
    let (mut connection, service) = with_tls_as(false, |config| {
        config.send_tls13_tickets = 1000;
        // One ticket, of 81 bytes, in each record: rustls refuses a flood in large ones.
        config.max_fragment_size = Some(81 + 5);
    });
    let call = call();
    while unread(&service.client) <= u64::from(MAX_IDLE_READS) * 4096 {
        call.check().unwrap();
    }
    assert!(!connection.is_alive());
    assert!(unread(&service.client) > 0, "the rest is not read");
}

#[test]
fn a_connection_that_ends_while_a_request_is_written_takes_no_more_of_it() {
    for start in [plain, with_tls] {
        let (mut connection, service) = start();
        service.stream.shutdown(Shutdown::Write).unwrap();
        let call = call();
        // Until the end has arrived, there is nothing to read.
        while !connection.read_early_response(&call) {
            call.check().unwrap();
        }
        assert!(!connection.response_came_early);
    }
}

#[test]
fn a_tls_connection_whose_close_notify_comes_with_the_response_is_not_kept() {
    for closes in [false, true] {
        let (mut connection, mut service) = with_tls();
        let tls = service.tls.as_mut().unwrap();
        tls.writer().write_all(REFUSAL.as_bytes()).unwrap();
        if closes {
            tls.send_close_notify();
        }
        service.write("");
        let call = call();
        let _entered = call.enter();
        connection.unwritten = false;
        assert!(connection.await_input(NextTimeout::default()).unwrap());
        call.note_keep_alive(Some(KeepAlive::default()));
        assert_eq!(connection.is_open(), !closes);
    }
}

#[test]
fn only_a_kept_connection_that_took_nothing_of_a_request_may_have_died_before_it() {
    for (write_broken, reused, sent_some) in
        [(true, true, false), (true, true, true), (true, false, false), (false, true, false), (false, false, true)]
    {
        let (mut connection, service) = plain();
        (connection.write_broken, connection.reused) = (write_broken, reused);
        service.stream.shutdown(Shutdown::Write).unwrap();
        let call = call();
        if sent_some {
            call.note_sent_some();
        }
        let expected = match (write_broken, reused, sent_some) {
            (true, true, false) => Some(Cause::Stale),
            _ => lost("the service closed it without a response"),
        };
        assert_eq!(failure(&mut connection, &call), expected, "{write_broken}, {reused}, {sent_some}");
        assert_eq!(call.sent() == Sent::All, !write_broken);
    }
}

#[test]
fn a_connection_is_kept_after_its_response_unless_it_failed_or_took_only_a_part_of_the_request() {
    let call = call();
    let _entered = call.enter();
    for (dead, write_broken) in [(false, false), (true, false), (false, true)] {
        let (mut connection, _service) = plain();
        (connection.unwritten, connection.dead, connection.write_broken) = (false, dead, write_broken);
        call.note_keep_alive(Some(KeepAlive::default()));
        assert_eq!(connection.is_open(), !dead && !write_broken, "{dead}, {write_broken}");
        assert_eq!(connection.reused, !dead && !write_broken);
    }
}

#[test]
fn a_connection_says_whether_it_is_tls_and_shows_no_request() {
    for (start, is_tls) in [(plain as fn() -> _, false), (with_tls, true)] {
        let (mut connection, _service) = start();
        connection.buffers.output()[..6].copy_from_slice(b"secret");
        connection.buffers.gather(6);
        assert_eq!(connection.is_tls(), is_tls);
        assert_eq!(format!("{connection:?}"), format!("Connection {{ tls: {is_tls}, reused: false, .. }}"));
    }
}

#[test]
fn a_request_is_collected_until_it_has_the_length_of_one_write() {
    let (mut connection, _service) = plain();
    connection.awaits_first_line = false;
    let call = call();
    let _entered = call.enter();
    let collect = |connection: &mut Connection, amount| {
        connection.buffers.output();
        connection.transmit_output(amount, NextTimeout::default()).unwrap();
        connection.buffers.pending().len()
    };
    for collected in 1..FLUSH_AT / 1024 {
        assert_eq!((collect(&mut connection, 1024), call.sent()), (collected * 1024, Sent::Nothing));
    }
    assert_eq!((collect(&mut connection, 1023), call.sent()), (FLUSH_AT - 1, Sent::Nothing));
    assert_eq!((collect(&mut connection, 1), call.sent()), (0, Sent::Part));
}

/// How often it is tried: mostly the service writes its response too slowly for it to be read at once, which shows nothing.
const TRIES: usize = 100;

#[test]
fn an_early_response_that_takes_more_reads_than_are_made_at_once_lets_the_call_be_checked_in_between() {
    // The input buffer has room for one of these and not for two, so that each takes a read. The refusal's head takes some more.
    let interim = format!("HTTP/1.1 103 Early Hints\r\nLink: {}\r\n\r\n", "x".repeat(4100));
    let refusal = format!("HTTP/1.1 413 Content Too Large\r\nX: {}\r\nContent-Length: 0\r\n\r\n", "x".repeat(60_000));
    let early = interim.repeat(MAX_EARLY_READS as usize) + &refusal;
    let call = CallInFlight::for_test_with(&CancelToken::new(), Duration::from_secs(250));
    for _ in 0..TRIES {
        let (client, mut service) = pair();
        let mut connection = Connection::new(Socket::new(client).unwrap(), None, false, false);
        std::thread::scope(|scope| {
            let early = early.as_bytes();
            scope.spawn(move || service.write_all(early).map(|()| service).unwrap());
            while connection.socket.idle() != Idle::Readable {
                call.check().unwrap();
            }
            assert!(!connection.read_early_response(&call), "all of it was read at once");
            // Nothing of it is lost.
            while !connection.read_early_response(&call) {
                call.check().unwrap();
            }
            assert!(connection.response_came_early);
        });
    }
}
