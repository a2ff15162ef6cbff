//! What a person may decide about a step: whether its message arrived, if that is unknown. Pure.

use crate::batch::decisions::decision::Resolution;
use crate::error::Error;
use crate::text::describe;

/// The state of a step as the store has it, after this decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[doc(hidden)]
pub struct ResolvedStep {
    /// `accepted` or `not_sent`.
    pub state: &'static str,
    /// An earlier send may have arrived: the message stays unknown unless a later one is accepted.
    pub may_have_arrived: bool,
}

/// The state that a decision makes of a step.
#[doc(hidden)]
pub fn resolved_step(resolution: Resolution) -> ResolvedStep {
    match resolution {
        Resolution::Arrived => ResolvedStep { state: "accepted", may_have_arrived: false },
        Resolution::NotArrived => ResolvedStep { state: "not_sent", may_have_arrived: false },
        Resolution::Resend => ResolvedStep { state: "not_sent", may_have_arrived: true },
    }
}

/// Why a step in this state can't be resolved; `""`: the store doesn't have it.
#[doc(hidden)]
pub fn unresolvable_step(key: &str, state: &str) -> Error {
    let (why, hint) = match state {
        "" => ("the store does not have it", "Check the key."),
        "accepted" => ("its message was accepted", "Nothing is left to decide."),
        "rejected" => ("its message was rejected, so it did not arrive", "To send it, call send_message again."),
        "not_sent" => ("its message was not sent", "To send it, call send_message again."),
        _ => ("a worker is sending its message", "Wait for the outcome, or until the worker's lease is over."),
    };
    Error::invalid(format!("step \"{}\" cannot be resolved: {why}", describe(key))).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of docs/reference/steps.md.
    #[test]
    fn each_resolution_makes_a_state() {
        for (resolution, state, may_have_arrived) in [
            (Resolution::Arrived, "accepted", false),
            (Resolution::NotArrived, "not_sent", false),
            (Resolution::Resend, "not_sent", true),
        ] {
            assert_eq!(resolved_step(resolution), ResolvedStep { state, may_have_arrived });
        }
    }

    #[test]
    fn only_an_unknown_step_is_resolved() {
        for (state, sentence) in [
            ("", "step \"a/b\" cannot be resolved: the store does not have it. Check the key."),
            ("accepted", "step \"a/b\" cannot be resolved: its message was accepted. Nothing is left to decide."),
            (
                "rejected",
                "step \"a/b\" cannot be resolved: its message was rejected, so it did not arrive. To send it, call send_message again.",
            ),
            (
                "not_sent",
                "step \"a/b\" cannot be resolved: its message was not sent. To send it, call send_message again.",
            ),
            (
                "sending",
                "step \"a/b\" cannot be resolved: a worker is sending its message. Wait for the outcome, or until the worker's lease is over.",
            ),
        ] {
            assert_eq!(unresolvable_step("a/b", state).message(), sentence);
        }
    }
}
