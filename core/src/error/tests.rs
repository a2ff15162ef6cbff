//! An error's parts, and its text.

use super::*;
use crate::error::internal::panic_text;

fn message(delivery: Delivery) -> Error {
    let error = Error::new(ErrorKind::Server, "the service returned 503");
    error.about(Subject::Message("job_1".to_owned())).with_delivery(Some(delivery))
}

#[test]
fn an_error_is_small_sendable_and_shareable() {
    fn usable<T: Send + Sync + Clone + 'static>() {}
    usable::<Error>();
    assert_eq!(size_of::<Error>(), size_of::<usize>());
}

#[test]
fn a_part_that_changes_changes_the_text() {
    let error = message(Delivery::NotSent);
    assert!(error.message().starts_with("message to job job_1 was not sent: "), "{error}");
    let error = error.with_delivery(Some(Delivery::Unknown)).with_hint("Ask again.");
    let text = "message to job job_1 may have arrived: the service returned 503. Ask again. Check the job before you send it again.";
    assert_eq!(error.message(), text);
    assert_eq!((error.reason(), error.hint()), ("the service returned 503", Some("Ask again.")));
    assert!(format!("{error:?}").contains(text));
}

#[test]
fn no_part_keeps_a_secret_or_what_drives_a_terminal() {
    let secret = b"adm_marker_0123456789";
    let quoted = |before: &str| format!("{before} adm_marker_0123456789\x1b");
    let error = Error::new(ErrorKind::Server, quoted("reason")).with_hint(quoted("hint"));
    for subject in [
        Subject::Message(quoted("job")),
        Subject::Job(quoted("job")),
        Subject::Wait { job_id: quoted("job"), after_message: true },
    ] {
        let clean = error.clone().about(subject).redacted(&Redactor::new(&[secret as &[u8]]));
        for text in [clean.message(), clean.reason(), clean.hint().unwrap(), &format!("{clean:?}")] {
            assert!(!text.contains("adm_marker") && !text.contains('\x1b') && text.contains("***"), "{text}");
        }
    }
}

#[test]
fn a_panic_in_a_send_leaves_the_verdict_open() {
    let error = Error::internal("the gear broke", true);
    assert_eq!(
        error.message(),
        "agentjob failed internally (the gear broke). This is a bug in agentjob: please report it. The message may have arrived: check the job before you send it again."
    );
    assert_eq!(Error::internal("x", false).delivery(), None);
    assert_eq!(panic_text(&"a text"), "a text");
    assert_eq!(panic_text(&7), "a panic without a message");
}
