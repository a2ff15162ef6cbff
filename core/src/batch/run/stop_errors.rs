//! The errors that end a batch. Each says why, and the same journal continues after it.

use std::borrow::Cow;
use std::time::Duration;

use crate::duration::number_text;
use crate::error::sentence::Subject;
use crate::error::{Error, ErrorKind};

/// The error that ends a batch, from the error of one of its calls. `after`: what the batch stopped after, or because of; `""` if
/// the cause says it.
pub(crate) fn stopped(cause: &Error, after: impl Into<Cow<'static, str>>) -> Error {
    let error = Error::new(cause.kind(), cause.reason()).about(Subject::Batch(after.into())).with_response_of(cause);
    error.with_hint_if_any(cause.hint().map(str::to_owned))
}

/// The batch ended because the client was closed.
pub(crate) fn closed() -> Error {
    Error::new(ErrorKind::Closed, "the client was closed").about(Subject::Batch("".into()))
}

/// The batch ended because its cancel token was cancelled.
pub(crate) fn cancelled(left: u64) -> Error {
    let messages = if left == 1 { "message" } else { "messages" };
    let reason = format!("it was cancelled with {left} {messages} left to send");
    Error::new(ErrorKind::Cancelled, reason).about(Subject::Batch("".into()))
}

pub(crate) fn no_thread(error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Connect, format!("the batch could not start a thread ({error})"))
        .with_hint("End other threads, or raise the limit on them.")
}

/// How long an outage lasted or a job was busy, in words.
pub(crate) fn describe_time(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{} s", number_text(time.as_secs_f64())),
        seconds @ 1..=119 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn less_than_a_second_is_not_called_0_s() {
        for (ms, text) in [(500, "0.5 s"), (7, "0.007 s"), (1000, "1 s"), (119_999, "119 s"), (120_000, "2 min")] {
            assert_eq!(describe_time(Duration::from_millis(ms)), text);
        }
    }
}
