//! What an error says of a response: its reason and its hint. Pure, so that every sentence is in a test.

use std::time::{Duration, SystemTime};

use crate::call::retry_after::retry_after_text;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::error::kind::ErrorKind;

/// The reason for a status that is no success. `said`: the service's own message.
pub(crate) fn returned(status: u16, said: Option<&str>) -> String {
    match said {
        Some(said) => format!("the service returned {status} ({said})"),
        None => format!("the service returned {status}"),
    }
}

/// The reason for a success whose record came whole, and is not used. `why` is about the record.
pub(crate) fn unusable_record(status: u16, why: &str) -> String {
    format!("the record in the response ({status}) cannot be used: {why}")
}

/// The reason for a success whose record did not come whole.
pub(crate) fn incomplete_record(status: u16, why: &str) -> String {
    format!("the record in the response ({status}) is incomplete: {why}")
}

/// The reason for a success that came before the request had left as a whole.
pub(crate) fn early_success(status: u16) -> String {
    format!("the service returned {status} before it had the whole request")
}

/// What helps against this kind of error, whatever the call was.
pub(crate) fn hint_of_kind(kind: ErrorKind) -> Option<&'static str> {
    match kind {
        ErrorKind::Authentication => Some("Check the API key: it may be wrong or expired."),
        ErrorKind::PermissionDenied => Some("The API key lacks permission, or this IP address is not allowed."),
        ErrorKind::NotFound => Some("Check the job id, the project id and the base URL."),
        ErrorKind::Redirect => Some("Redirects are never followed: check the base URL."),
        _ => None,
    }
}

/// What helps after a 401 when another key could not be had; `why` is about its file.
pub(crate) fn no_other_key(why: &Error) -> String {
    let end = if why.message().ends_with(['.', '?', '!']) || why.hint().is_some() { "" } else { "." };
    format!("The API key may be wrong or expired, and a new one could not be read: {}{end}", why.message())
}

/// What helps after a status that is no success.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Hint {
    /// Something to fix.
    Fix(&'static str),
    /// Nothing but time: when to try again.
    When(String),
}

/// What helps after a status that is no success. `asked`: how long the service asked to wait, from `now` on.
pub(crate) fn hint(status: u16, delivery: Option<Delivery>, asked: Option<Duration>, now: SystemTime) -> Option<Hint> {
    let kind = ErrorKind::of_status(status);
    let later = || "Try again later.".to_owned();
    let when = asked.map(|asked| retry_after_text(asked, now));
    match (status, delivery) {
        (429, _) => {
            let when = when.unwrap_or_else(later);
            Some(Hint::When(format!("The project's hourly limit is used up. {when}")))
        }
        // What may have arrived is checked first, whenever the service wants the next request.
        (_, Some(Delivery::Unknown | Delivery::Accepted)) => hint_of_kind(kind).map(Hint::Fix),
        // Nothing is wrong with such a request.
        (408 | 421 | 425, _) => Some(Hint::When(when.unwrap_or_else(later))),
        _ => hint_of_kind(kind).map(Hint::Fix).or(when.map(Hint::When)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_says_when_unless_the_message_may_have_arrived() {
        let now = httpdate::parse_http_date("Sun, 22 Nov 2026 14:42:00 GMT").unwrap();
        let hour = Some(Duration::from_secs(3600));
        let when = |text: &str| Some(Hint::When(text.to_owned()));
        let limit = "The project's hourly limit is used up. Retry after 3600 s (15:42 UTC).";
        let job = Some(Hint::Fix("Check the job id, the project id and the base URL."));
        let rows = [
            (429, Some(Delivery::Rejected), hour, when(limit)),
            (429, None, hour, when(limit)),
            (429, None, None, when("The project's hourly limit is used up. Try again later.")),
            (408, Some(Delivery::Rejected), hour, when("Retry after 3600 s (15:42 UTC).")),
            (408, Some(Delivery::Rejected), None, when("Try again later.")),
            (421, Some(Delivery::Rejected), None, when("Try again later.")),
            (425, None, None, when("Try again later.")),
            (408, Some(Delivery::Unknown), hour, None),
            (409, Some(Delivery::Rejected), hour, when("Retry after 3600 s (15:42 UTC).")),
            (409, Some(Delivery::Rejected), None, None),
            (503, None, hour, when("Retry after 3600 s (15:42 UTC).")),
            (503, Some(Delivery::NotSent), hour, when("Retry after 3600 s (15:42 UTC).")),
            (503, Some(Delivery::Unknown), hour, None),
            (503, None, None, None),
            (404, None, hour, job),
        ];
        for (status, delivery, asked, expected) in rows {
            assert_eq!(hint(status, delivery, asked, now), expected, "{status} {delivery:?}");
        }
    }
}
