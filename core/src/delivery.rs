//! The delivery verdict: what became of a message when its call failed.
//!
//! The service offers no idempotency key, so a message that is sent twice is worked on twice. Every error of a POST
//! therefore says one of four things, and says them only when they are true (CONTRACT "Service").

use std::fmt;

/// What became of a message (or of a job to create) whose call ended with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// The kernel did not take the whole request, or there was no connection at all: sending again is safe.
    NotSent,
    /// The service answered that it did not take it: mend the cause, then send again.
    Rejected,
    /// The whole request left and no usable answer came: look at the job before sending again.
    Unknown,
    /// A success was read, but not its record; or the message was taken and a later step failed: do not send again.
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
    /// A bad argument or setting, or a cancel before the first byte.
    NeverBegan,
    /// No name, no route, refused, connect timeout, or a proxy that said no.
    NoConnection,
    /// The TLS handshake failed: certificate, name or protocol.
    NoTls,
    /// A kept connection turned out to be dead before a byte of the request left.
    StaleConnection,
    /// The request left in part, and no answer could be read.
    CutShort,
    /// The whole request left, and no usable answer came: end, reset, timeout, cancel, garbage.
    NoAnswer,
    /// The service answered with a status that is no success.
    Status(u16, Sent),
    /// A 2xx came whose record could not be read.
    NoRecord,
}

/// The verdict on a POST: the table of the README's "Did it arrive?", row by row.
pub(crate) fn delivery(situation: Situation) -> Delivery {
    match situation {
        Situation::NeverBegan
        | Situation::NoConnection
        | Situation::NoTls
        | Situation::StaleConnection
        | Situation::CutShort => Delivery::NotSent,
        Situation::NoAnswer => Delivery::Unknown,
        Situation::NoRecord => Delivery::Accepted,
        Situation::Status(status, sent) => match status {
            400..=499 => Delivery::Rejected,
            // The method and the body must be kept on these two (RFC 9110 15.4.8, 15.4.9): the service asks for the
            // same request elsewhere, so it did not take this one.
            307 | 308 => Delivery::Rejected,
            // A gateway says 5xx also after it forwarded the request, and a 301 to 303 may follow processing; but a
            // request that never left whole cannot have been processed.
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
            (NoTls, NotSent),
            (StaleConnection, NotSent),
            (CutShort, NotSent),
            (NoAnswer, Unknown),
            (NoRecord, Accepted),
            (all(307), Rejected),
            (all(308), Rejected),
            (all(300), Unknown),
            (all(301), Unknown),
            (all(302), Unknown),
            (all(303), Unknown),
            (all(304), Unknown),
            (all(101), Unknown),
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
    fn a_gateway_error_before_the_request_left_whole_cannot_have_delivered_it() {
        assert_eq!(delivery(Situation::Status(503, Sent::Part)), Delivery::NotSent);
        assert_eq!(delivery(Situation::Status(413, Sent::Part)), Delivery::Rejected);
    }

    #[test]
    fn names_are_the_documented_words() {
        let names: Vec<_> = Delivery::ALL.iter().map(|d| d.as_str()).collect();
        assert_eq!(names, ["not_sent", "rejected", "unknown", "accepted"]);
    }
}
