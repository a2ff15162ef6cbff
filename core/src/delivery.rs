//! The delivery verdict: what happened to a message when its call failed.
//!
//! The service has no idempotency key, so a message that is sent twice is processed twice (docs/contract.md). Every error of
//! a POST therefore has one of four verdicts, and has it only when it is true.

use std::fmt;

/// What happened to a message (or to a job to create) whose call ended with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// The kernel did not take the whole request, or there was no connection: it is safe to send it again.
    NotSent,
    /// The service refused it: it can be sent again once the cause is fixed.
    Rejected,
    /// The whole request left, and no usable response came, or a success came before it had left: check the job before sending it again.
    Unknown,
    /// The service accepted it, but its record could not be read, or a later step failed: do not send it again.
    Accepted,
}

impl Delivery {
    /// Every verdict, in the order of the documentation's table.
    pub const ALL: [Delivery; 4] = [Delivery::NotSent, Delivery::Rejected, Delivery::Unknown, Delivery::Accepted];

    /// The verdict's name in every language: `not_sent`, `rejected`, `unknown`, `accepted`.
    pub fn as_str(self) -> &'static str {
        match self {
            Delivery::NotSent => "not_sent",
            Delivery::Rejected => "rejected",
            Delivery::Unknown => "unknown",
            Delivery::Accepted => "accepted",
        }
    }
}

impl fmt::Display for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much of a request the kernel took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sent {
    /// Not one byte.
    Nothing,
    /// Some bytes, not all: by RFC 9112 section 8 the request is incomplete and must not be processed.
    Part,
    /// Every byte.
    All,
}

/// How one exchange ended, as far as the verdict and the retry rule care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Situation {
    /// A wrong argument, or a cancel before the first byte.
    NeverBegan,
    /// The name, the route or the port failed, connecting timed out, or a proxy refused.
    NoConnection,
    /// A setting has to change first: the TLS handshake failed (certificate, name, protocol), or the proxy refused the login.
    WrongSetting,
    /// A kept connection turned out to be closed before a byte of the request left.
    StaleConnection,
    /// Part of the request left, and no response could be read.
    CutShort,
    /// The whole request left, and no usable response came: end, reset, timeout, cancel, garbage.
    NoResponse,
    /// The response had a status that is no success, or came before the whole request had left.
    Status(u16, Sent),
    /// A 2xx came whose record could not be read.
    NoRecord,
}

/// The verdict on a POST, row by row as docs/explanation/verdict.md has it.
pub(crate) fn delivery(situation: Situation) -> Delivery {
    match situation {
        Situation::NeverBegan
        | Situation::NoConnection
        | Situation::WrongSetting
        | Situation::StaleConnection
        | Situation::CutShort => Delivery::NotSent,
        Situation::NoResponse => Delivery::Unknown,
        Situation::NoRecord => Delivery::Accepted,
        Situation::Status(status, sent) => match status {
            400..=499 => Delivery::Rejected,
            // The service says that it has what it can't have.
            200..=299 => Delivery::Unknown,
            // These two keep the method and the body (RFC 9110 15.4.8, 15.4.9): the service wants the same request
            // at another place, so it did not process this one.
            307 | 308 => Delivery::Rejected,
            // A gateway may send a 5xx after it forwarded the request, and a service may send a 301 to 303 after it processed the message. But a
            // request that left only in part cannot have been processed.
            _ if sent == Sent::All => Delivery::Unknown,
            _ => Delivery::NotSent,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_the_delivery_table() {
        use Delivery::*;
        use Situation::*;
        let all = |status| Status(status, Sent::All);
        let rows = [
            (NeverBegan, NotSent),
            (NoConnection, NotSent),
            (WrongSetting, NotSent),
            (StaleConnection, NotSent),
            (CutShort, NotSent),
            (NoResponse, Unknown),
            (NoRecord, Accepted),
            (all(307), Rejected),
            (all(308), Rejected),
            (all(300), Unknown),
            (all(301), Unknown),
            (all(302), Unknown),
            (all(303), Unknown),
            (all(304), Unknown),
            (all(101), Unknown),
            (Status(302, Sent::Part), NotSent),
            (Status(503, Sent::Part), NotSent),
            (Status(202, Sent::Part), Unknown),
        ];
        for (situation, verdict) in rows {
            assert_eq!(delivery(situation), verdict, "{situation:?}");
        }
        for status in 400..500 {
            assert_eq!(delivery(all(status)), Rejected, "{status}");
        }
        for status in 500..600 {
            assert_eq!(delivery(all(status)), Unknown, "{status}");
        }
    }

    #[test]
    fn a_refusal_is_one_also_before_the_request_left_whole() {
        assert_eq!(delivery(Situation::Status(413, Sent::Part)), Delivery::Rejected);
    }

    #[test]
    fn names_are_the_documented_words() {
        let names: Vec<_> = Delivery::ALL.iter().map(|verdict| verdict.to_string()).collect();
        assert_eq!(names, ["not_sent", "rejected", "unknown", "accepted"]);
        assert!(Delivery::ALL.iter().all(|verdict| verdict.as_str() == verdict.to_string()));
    }
}
