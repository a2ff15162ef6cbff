//! The errors that end a batch: each says why, and that the same journal goes on.

use std::time::Duration;

use crate::call::response::without_advice;
use crate::error::{Error, ErrorKind};

/// The error that ends a batch: its cause, and what to do.
pub(crate) fn stopped(error: &Error, why: &str) -> Error {
    let message = format!(
        "the batch was stopped{why}: {}; when that is mended, run it again with the same journal: it goes on",
        without_advice(error)
    );
    let ended = Error::new(error.kind(), message);
    match error.http_status() {
        Some(status) => ended.with_answer(
            status,
            error.retry_after(),
            error.request_id().map(str::to_owned),
            error.body().map(str::to_owned),
        ),
        None => ended,
    }
}

/// The client was closed, as the batch's end.
pub(crate) fn closed() -> Error {
    let message = "the batch was stopped: the client was closed; run it again with the same journal to go on";
    Error::new(ErrorKind::Closed, message)
}

pub(crate) fn no_thread(error: &std::io::Error) -> Error {
    let message = format!("the batch has no thread to work in ({error}); end other threads or raise the limit on them");
    Error::new(ErrorKind::Connect, message)
}

pub(crate) fn in_words(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..=119 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}
