//! The failed polls at the end of a wait: how many in a row failed alike, and what the wait's end says of them. Pure.

use std::borrow::Cow;

use crate::error::{Error, ErrorKind};
use crate::http::cause::CHECK_PROXY;

/// The polls that failed since the last one that succeeded.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failing(Option<Box<Failed>>);

/// The last of them.
#[derive(Debug, Clone)]
struct Failed {
    /// The name by which failed polls are counted: those with the same one failed alike.
    label: String,
    /// How many in a row have it.
    alike: u32,
    kind: ErrorKind,
    reason: String,
    /// The reason without the service's own words.
    unquoted: String,
    /// What helps, unless that is a time, which has passed when the wait ends.
    hint: Option<String>,
    /// The response asked to wait. That of a failed connection is a proxy's.
    asked_to_wait: bool,
}

impl Failing {
    /// A poll succeeded.
    pub(crate) fn end(&mut self) {
        self.0 = None;
    }

    /// A poll failed. Returns how many in a row have failed alike.
    pub(crate) fn add(&mut self, label: &str, error: &Error) -> u32 {
        let before = self.0.take().filter(|last| last.label == label).map_or(0, |last| last.alike);
        let alike = before.saturating_add(1);
        self.0 = Some(Box::new(Failed {
            label: label.to_owned(),
            alike,
            kind: error.kind(),
            reason: error.reason().to_owned(),
            unquoted: error.unquoted_reason().to_owned(),
            hint: error.hint().filter(|_| error.retry_after().is_none()).map(str::to_owned),
            asked_to_wait: error.retry_after().is_some(),
        }));
        alike
    }

    /// A poll was cut short by the wait's own deadline, which says nothing of the service. Returns how many in a row have failed alike.
    pub(crate) fn add_cut(&mut self, label: &str) -> u32 {
        match self.0.as_deref_mut().filter(|last| last.label == label) {
            Some(last) => {
                last.alike = last.alike.saturating_add(1);
                last.alike
            }
            None => 1,
        }
    }

    /// Adds to the reason of a wait that timed out why its last poll failed: with the service's own words, and without.
    pub(crate) fn added_to(&self, reason: String) -> (String, Option<String>) {
        let Some(last) = self.0.as_deref() else { return (reason, None) };
        let with = |why: &str| format!("{reason}; the last poll failed: {why}");
        (with(&last.reason), Some(with(&last.unquoted)))
    }

    /// What helps against it. `None` if no poll failed since one succeeded.
    pub(crate) fn hint(&self) -> Option<Cow<'_, str>> {
        let last = self.0.as_deref()?;
        if let Some(hint) = &last.hint {
            return Some(hint.into());
        }
        Some(Cow::Borrowed(match last.kind {
            ErrorKind::InvalidResponse => {
                "Check base_url: a proxy, a gateway or a login page may respond in the service's place."
            }
            ErrorKind::RateLimit => "The service limits how often it may be called.",
            ErrorKind::Server => "The service, or a gateway in front of it, has to recover first.",
            ErrorKind::Connect if last.asked_to_wait => CHECK_PROXY,
            ErrorKind::ConnectionLost | ErrorKind::Timeout => "Check the network and the service.",
            _ => "Check base_url, the network and the service.",
        }))
    }
}

/// The name by which a failed poll is counted: `rate_limit (429)`, `connect`.
pub(crate) fn label(error: &Error) -> String {
    match error.http_status() {
        Some(status) => format!("{} ({status})", error.kind()),
        None => error.kind().to_string(),
    }
}

/// Whether it is such a name. A status of the service may read the same, but it has no words of its own then.
pub(crate) fn is_label(text: &str) -> bool {
    let (kind, status) = text.split_once(" (").unwrap_or((text, "000)"));
    let digits = status.strip_suffix(')').unwrap_or_default();
    let is_status = digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_status && ErrorKind::ALL.iter().any(|known| known.as_str() == kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn error(kind: ErrorKind, reason: &str) -> Error {
        Error::new(kind, reason)
    }

    #[test]
    fn the_name_of_a_failed_poll_is_recognised_and_no_other_text() {
        let limited = error(ErrorKind::RateLimit, "why").with_response(429, None, None, None);
        for failed in [limited, error(ErrorKind::Connect, "why")] {
            assert!(is_label(&label(&failed)), "{}", label(&failed));
        }
        for text in [
            "",
            "active",
            "connect (429",
            "connect (the prompt)",
            "connect ()",
            "my (429)",
            "rate_limit (429) x",
            "rate_limit (+429)",
            "rate_limit (0429)",
        ] {
            assert!(!is_label(text), "{text}");
        }
    }

    #[test]
    fn polls_in_a_row_that_failed_alike_are_counted_until_one_differs() {
        let mut failing = Failing::default();
        let (refused, empty) = (error(ErrorKind::Connect, "refused"), error(ErrorKind::InvalidResponse, "empty"));
        let mut polls =
            |label: &str, error: &Error| -> Vec<u32> { (0..3).map(|_| failing.add(label, error)).collect() };
        assert_eq!(polls("connect", &refused), [1, 2, 3]);
        assert_eq!(polls("invalid_response (200)", &empty), [1, 2, 3]);
        assert_eq!(polls("connect", &refused), [1, 2, 3], "another row");
        failing.end();
        assert_eq!(failing.add("connect", &refused), 1);
    }

    #[test]
    fn a_poll_that_the_deadline_cuts_short_counts_but_is_not_quoted() {
        let mut failing = Failing::default();
        assert_eq!(failing.add_cut("timeout"), 1);
        assert_eq!(failing.hint(), None, "it says nothing of the service");
        let slow = error(ErrorKind::Timeout, "slow");
        assert_eq!((failing.add("timeout", &slow), failing.add_cut("timeout")), (1, 2));
        assert_eq!(failing.added_to("x".to_owned()).0, "x; the last poll failed: slow");
        let busy = error(ErrorKind::Server, "busy");
        assert_eq!((failing.add("server (503)", &busy), failing.add_cut("timeout")), (1, 1));
        assert_eq!(failing.added_to("x".to_owned()).0, "x; the last poll failed: busy");
    }

    #[test]
    fn a_time_to_retry_at_is_not_repeated_when_it_may_have_passed() {
        let mut failing = Failing::default();
        let limited = error(ErrorKind::RateLimit, "the service returned 429").with_response(
            429,
            Some(Duration::from_secs(60)),
            None,
            None,
        );
        let limited = limited.with_time_hint("Retry after 60 s.".to_owned());
        failing.add("rate_limit (429)", &limited);
        assert_eq!(failing.hint().as_deref(), Some("The service limits how often it may be called."));
        let proxy = error(ErrorKind::Connect, "the proxy refused the tunnel (503)");
        let proxy = proxy.with_response(None, Some(Duration::from_secs(1)), None, None);
        failing.add("connect", &proxy.with_time_hint("Retry after 1 s.".to_owned()));
        assert_eq!(failing.hint().as_deref(), Some(CHECK_PROXY));
    }

    #[test]
    fn the_end_of_a_wait_says_what_the_last_poll_said_and_what_helps() {
        let mut failing = Failing::default();
        assert_eq!(failing.added_to("x".to_owned()), ("x".to_owned(), None));
        assert_eq!(failing.hint(), None);
        let busy = error(ErrorKind::Server, "the service returned 503 (busy)");
        failing.add("server (503)", &busy.with_unquoted_reason("the service returned 503".to_owned()));
        let (quoted, unquoted) = failing.added_to("x".to_owned());
        assert_eq!(quoted, "x; the last poll failed: the service returned 503 (busy)");
        assert_eq!(unquoted.as_deref(), Some("x; the last poll failed: the service returned 503"));
        let refused = error(ErrorKind::Connect, "no connection").with_hint("Check base_url and the network.");
        failing.add("connect", &refused);
        failing.add("connect", &refused);
        assert_eq!(failing.added_to("x".to_owned()).0, "x; the last poll failed: no connection");
        for (kind, hint) in [
            (ErrorKind::InvalidResponse, "Check base_url: a proxy"),
            (ErrorKind::Server, "The service, or a gateway"),
            (ErrorKind::Timeout, "Check the network and the service."),
            (ErrorKind::Connect, "Check base_url, the network and the service."),
            (ErrorKind::NotFound, "Check base_url, the network and the service."),
        ] {
            failing.add("x", &error(kind, "why"));
            assert!(failing.hint().unwrap().starts_with(hint), "{kind}");
        }
        failing.add("connect", &refused);
        assert_eq!(failing.hint().as_deref(), Some("Check base_url and the network."), "the poll's own");
    }
}
