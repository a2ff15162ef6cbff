//! Responses byte for byte: each comes cut in two at every place, and byte by byte, and always means the same.

use std::io::Write;
use std::net::{TcpListener, TcpStream};

use crate::support::wire::{RECORD, Service, chunked, cuts, sized, whole};
use crate::support::{JOB, ms, timed, tried};
use agentjob_core::{Client, Delivery, ErrorKind};

/// What the client does with the connection.
#[derive(Clone, Copy, PartialEq, Debug)]
enum After {
    Kept,
    Left,
}
use After::{Kept, Left};

#[test]
fn a_response_is_read_however_it_is_cut() {
    let early = "HTTP/1.1 100 Continue\r\nServer: nginx\r\n\r\n";
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n";
    let length = RECORD.len();
    let rows: Vec<(String, After)> = vec![
        (sized(""), Kept),
        (format!("HTTP/1.1 100 Continue\r\n\r\n{}", sized("")), Kept),
        (format!("{early}{}", sized("")), Kept),
        (format!("{hints}{early}{}", sized("")), Kept),
        (format!("HTTP/1.1 199 x\r\nContent-Length: 99\r\nTransfer-Encoding: gzip\r\n\r\n{}", sized("")), Kept),
        (sized("X-Empty:\r\nX-Bytes: \u{e9}\u{ff}\r\n"), Kept),
        (sized("Content-Encoding:\r\n"), Kept),
        (sized("Content-Encoding: Identity\r\n"), Kept),
        (sized("").replace("\r\n", "\n"), Kept),
        (sized("").replace(" OK", ""), Kept),
        (sized("").replace(" OK", " "), Kept),
        (format!("\r\n{}", sized("")), Kept),
        (sized(&format!("Content-Length: {length}, {length}\r\n")), Kept),
        (sized("Connection: close\r\n"), Left),
        (sized("").replace("HTTP/1.1", "HTTP/1.0"), Left),
        (sized("Connection: keep-alive\r\n").replace("HTTP/1.1", "HTTP/1.0"), Kept),
        (chunked(""), Kept),
        (chunked("Content-Length: 3\r\n"), Left),
        (format!("{early}{}", chunked("X: y\r\n")), Kept),
        (chunked("").replace("\r\n0\r\n", "\r\n000;a=\"b\"\r\nX-Trailer: y\r\n z\r\n"), Kept),
        (chunked("").replace("23\r\n", "0023 ; a=xxx\r\n"), Kept),
        (chunked("").replace("23\r\n", "23      \r\n"), Kept),
        // The client asks for no coding. The record decides, and the connection is not trusted with another message.
        (chunked("").replace("chunked", "gzip, chunked"), Left),
        (sized("Transfer-Encoding: identity\r\n"), Left),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n21\r\n\"id\":\"job_demo\",\"status\":\"active\"\r\n1\r\n}\r\n0\r\n\r\n"
                .to_owned(),
            Kept,
        ),
    ];
    let service = Service::new();
    for (response, after) in rows {
        for pieces in cuts(&response) {
            let shown = pieces.iter().map(|p| String::from_utf8_lossy(p).into_owned()).collect::<Vec<_>>();
            let (ended, first) = service.send(pieces, after == Left);
            assert_eq!(ended.unwrap_or_else(|error| panic!("{error}: {shown:?}")).id(), JOB);
            let (next, second) = service.send(whole(&sized("")), false);
            next.unwrap();
            assert_eq!(if second == first { Kept } else { Left }, after, "{shown:?}");
        }
    }
}

#[test]
fn bytes_after_a_response_end_its_connection() {
    let service = Service::new();
    for response in [format!("{}HTTP/1.1 200 OK\r\n", sized("")), format!("{}more", chunked(""))] {
        let (ended, first) = service.send(whole(&response), false);
        ended.unwrap();
        let (next, second) = service.send(whole(&sized("")), false);
        next.unwrap();
        assert_ne!(first, second, "{response:?}");
    }
}

#[test]
fn a_body_that_ends_with_the_connection_is_read() {
    let service = Service::new();
    for pieces in cuts(&format!("HTTP/1.1 200 OK\r\n\r\n{RECORD}")) {
        assert_eq!(service.send(pieces, true).0.unwrap().id(), JOB);
    }
}

#[test]
fn a_response_that_cannot_be_read_has_its_verdict_however_it_is_cut() {
    let size = |size: &str| chunked("").replace("\r\n23\r\n", &format!("\r\n{size}\r\n"));
    // The head cannot be read, so nothing is known about the message.
    let unknown = [
        sized("no field\r\n"),
        sized(": no name\r\n"),
        sized("a b: c\r\n"),
        sized("X: a\0b\r\n"),
        sized("X: a\rb\r\n"),
        sized("X: a\r\n folded\r\n"),
        sized("X : y\r\n"),
        sized("Content-Length: 5\r\n"),
        sized("Content-Length: x\r\n"),
        sized("Content-Length: 35, 36\r\n"),
        sized("").replace("HTTP/1.1", "HTTP/2"),
        sized("").replace("200", "20"),
        format!("SSH-2.0-x\r\n\r\n{}", sized("")),
        format!("HTTP/1.1 100 Continue\r\n\r\n{{}}{}", sized("")),
    ];
    // The head says that the message was taken; only its record is lost.
    let accepted = [
        chunked("").replace("HTTP/1.1", "HTTP/1.0"),
        size("0x23"),
        size("-23"),
        size("2 3"),
        size(""),
        size("22"),
        size("g"),
        size(&format!("23;a={}", "x".repeat(40))),
        size("10000000000000023"),
        chunked("").replace("\r\n23\r\n", "\r\n23\n"),
        chunked("").replace("}\r\n0", "}\n0"),
        sized("Content-Encoding: gzip\r\n"),
        sized("Content-Encoding: identity\r\nContent-Encoding: br\r\n"),
    ];
    let service = Service::new();
    let rows = unknown.iter().map(|response| (response, Delivery::Unknown));
    for (response, verdict) in rows.chain(accepted.iter().map(|response| (response, Delivery::Accepted))) {
        for pieces in cuts(response) {
            let shown = pieces.iter().map(|p| String::from_utf8_lossy(p).into_owned()).collect::<Vec<_>>();
            let encoded = response.contains("Content-Encoding");
            let (ended, first) = service.send(pieces, !encoded);
            let error = ended.map(|_| ()).expect_err(response);
            assert_eq!(
                (error.kind(), error.delivery()),
                (ErrorKind::InvalidResponse, Some(verdict)),
                "{error}: {shown:?}"
            );
            let (next, second) = service.send(whole(&sized("")), false);
            next.unwrap();
            assert!(encoded || second != first, "the connection is not used again: {shown:?}");
        }
    }
}

#[test]
fn an_error_status_with_an_unknown_transfer_encoding_is_still_that_error() {
    let service = Service::new();
    let response = "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: gzip\r\nX-Request-Id: r1\r\n\r\nabc";
    let error = service.send(whole(response), true).0.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::NotFound, Some(Delivery::Rejected)), "{error}");
    assert_eq!(error.request_id(), Some("r1"));
}

#[test]
fn a_response_whose_length_is_not_a_single_number_says_so() {
    let service = Service::new();
    for lengths in ["Content-Length: 2\r\nContent-Length: 3", "Content-Length: two", "Content-Length: 2, 3"] {
        let response = format!("HTTP/1.1 200 OK\r\n{lengths}\r\n\r\n{{}}");
        let error = service.send(whole(&response), true).0.unwrap_err();
        assert_eq!(error.delivery(), Some(Delivery::Unknown), "{error}");
        assert!(error.message().contains("its Content-Length is not a single number"), "{error}");
    }
}

#[test]
fn headers_of_up_to_128_fields_and_64_kib_are_read() {
    let service = Service::new();
    let fields = |n: usize| sized(&"X: y\r\n".repeat(n - 1));
    let bytes = |n: usize| sized(&format!("X: {}\r\n", "y".repeat(n - 6 - sized("").len() + RECORD.len() + 1)));
    assert_eq!(bytes(60_000).len() - RECORD.len(), 60_000);
    for (response, why) in [
        (fields(128), None),
        (fields(129), Some("its head has too many fields")),
        (bytes(64 << 10), None),
        (bytes((64 << 10) + 1), Some("its head is longer than 64 KiB")),
    ] {
        let pieces = response.as_bytes().chunks(1000).map(<[u8]>::to_vec).collect();
        match (service.send(pieces, why.is_some()).0, why) {
            (Ok(_), why) => assert_eq!(why, None, "{} bytes", response.len()),
            (Err(error), why) => {
                assert_eq!(error.delivery(), Some(Delivery::Unknown));
                assert!(error.message().contains(why.expect("it is read")), "{error}");
            }
        }
    }
}

#[test]
fn many_interim_responses_are_skipped_and_endless_ones_end_with_the_call() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let service = Service::new();
    service.send(whole(&format!("{}{}", hints.repeat(1000), sized(""))), false).0.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = Client::builder().base_url(format!("http://{address}"));
    let client = client.api_key("key_of_the_service").project_id("demo").trust_env(false).timeout(ms(2000));
    let client = client.build().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.write_all(hints.as_bytes()).is_ok() {}
        });
        let error = client.send_message(JOB, "p").unwrap_err();
        // The thread ends also if no connection was made.
        drop(TcpStream::connect(address));
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Timeout, Some(Delivery::Unknown)), "{error}");
    });
}

#[test]
fn a_101_is_not_a_response() {
    let service = Service::new();
    let response = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n";
    let (ended, first) = service.send(whole(response), false);
    let error = ended.unwrap_err();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::InvalidResponse, Some(Delivery::Unknown)), "{error}");
    assert_ne!(service.send(whole(&sized("")), false).1, first);
}

#[test]
fn the_longest_of_several_retry_after_counts() {
    let service = Service::new();
    for (lines, seconds) in [
        ("Retry-After: 100\r\nRetry-After: 3600\r\n", 3600),
        ("Retry-After: 3600\r\nRetry-After: 100\r\n", 3600),
        ("Retry-After: 100, 3600\r\n", 3600),
        ("Retry-After: soon\r\nRetry-After: 100\r\n", 100),
        (
            "Date: Fri, 20 Nov 2026 10:00:00 GMT\r\nRetry-After: 100\r\nRetry-After: Fri, 20 Nov 2026 11:00:00 GMT\r\n",
            3600,
        ),
    ] {
        let response = format!("HTTP/1.1 429 Too Many Requests\r\n{lines}Content-Length: 0\r\n\r\n");
        let error = service.send(whole(&response), false).0.unwrap_err();
        assert_eq!(error.retry_after().map(|after| after.as_secs()), Some(seconds), "{lines:?}");
    }
}

#[test]
fn an_error_whose_body_stalls_or_drips_does_not_wait_for_the_rest() {
    let sized_404 = "HTTP/1.1 404 Not Found\r\nContent-Length: 10000\r\n\r\n";
    let chunked_500 = "HTTP/1.1 500 x\r\nTransfer-Encoding: chunked\r\n\r\n";
    let until_close_500 = "HTTP/1.1 500 x\r\n\r\n";
    let reason = r#"{"error":"no such job"}"#;
    let with_reason = |head: &str| format!("{head}{reason}");
    for (response, drip, kind, body) in [
        (with_reason(sized_404), "", ErrorKind::NotFound, Some(reason)),
        (chunked_500.to_owned(), "", ErrorKind::Server, None),
        (with_reason(until_close_500), "", ErrorKind::Server, Some(reason)),
        (with_reason(sized_404), " ", ErrorKind::NotFound, Some(reason)),
        (sized_404.to_owned(), "x", ErrorKind::NotFound, Some("x")),
        (chunked_500.to_owned(), "1\r\nx\r\n", ErrorKind::Server, Some("x")),
        (format!("{chunked_500}1;"), "a", ErrorKind::Server, None),
        (with_reason(until_close_500), " ", ErrorKind::Server, Some(reason)),
    ] {
        // The limit is 900 ms. A busy service may send nothing of the body in this time.
        tried(5, || {
            let service = Service::new();
            // An endless drip sends a piece every 100 ms.
            let (took, (ended, first)) = timed(|| service.send_and_drip(whole(&response), drip, ms(100)));
            let error = ended.unwrap_err();
            let delivery = if kind == ErrorKind::NotFound { Delivery::Rejected } else { Delivery::Unknown };
            assert_eq!((error.kind(), error.delivery()), (kind, Some(delivery)), "{response:?} {drip:?}: {error}");
            match (error.body(), body) {
                (Some(came), Some(body)) => assert!(came.starts_with(body), "what came is shown: {came:?}"),
                (came, body) => assert_eq!(came, body, "{response:?} {drip:?}"),
            }
            assert!(took < ms(10_000), "long before the call's 20 s: {response:?} {drip:?}: {took:?}");
            assert_ne!(service.send(whole(&sized("")), false).1, first, "the connection is not used again");
        });
    }
}
