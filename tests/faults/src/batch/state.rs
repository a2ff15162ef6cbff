//! The states of an item in the journal.

/// The state of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum State {
    Sending,
    NotSent,
    Accepted,
    Rejected,
    Unknown,
    Dropped,
}

impl State {
    pub(crate) fn of(word: &str) -> Option<State> {
        Some(match word {
            "sending" => State::Sending,
            "not_sent" => State::NotSent,
            "accepted" => State::Accepted,
            "rejected" => State::Rejected,
            "unknown" => State::Unknown,
            _ => return None,
        })
    }

    /// Whether a message in this state may be one that the service processed.
    pub(crate) fn may_have_arrived(self) -> bool {
        matches!(self, State::Sending | State::Accepted | State::Unknown)
    }
}
