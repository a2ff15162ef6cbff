//! What a person may decide about a step: whether its message arrived, if that is unknown. Pure.

use crate::batch::decisions::decision::Resolution;
use crate::error::Error;
use crate::text::describe;

/// The state that a decision makes of a step. One that is to be sent again anyway stays unknown: it may have arrived.
#[doc(hidden)]
pub fn resolved_step(resolution: Resolution) -> &'static str {
    match resolution {
        Resolution::Arrived => "accepted",
        Resolution::NotArrived => "not_sent",
        Resolution::Resend => "unknown",
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

/// Why the result of a step in this state can't be waited for; `""`: the store doesn't have it.
#[doc(hidden)]
pub fn unwaitable_step(key: &str, state: &str) -> Error {
    let (why, hint) = match state {
        "" => ("the store does not have it", "Send its message first."),
        "rejected" => ("its message was rejected", "To send it, call send_message again."),
        "not_sent" => ("its message was not sent", "To send it, call send_message again."),
        _ => ("a worker is sending its message", "For the outcome, call send_message."),
    };
    Error::invalid(format!("step \"{}\" has no result: {why}", describe(key))).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of docs/reference/steps.md.
    #[test]
    fn each_resolution_makes_a_state() {
        for (resolution, state) in
            [(Resolution::Arrived, "accepted"), (Resolution::NotArrived, "not_sent"), (Resolution::Resend, "unknown")]
        {
            assert_eq!(resolved_step(resolution), state);
        }
    }

    #[test]
    fn only_an_accepted_step_has_a_result() {
        for (state, reason) in [
            ("", "the store does not have it. Send its message first."),
            ("rejected", "its message was rejected. To send it, call send_message again."),
            ("not_sent", "its message was not sent. To send it, call send_message again."),
            ("sending", "a worker is sending its message. For the outcome, call send_message."),
        ] {
            assert_eq!(unwaitable_step("a/b", state).message(), format!("step \"a/b\" has no result: {reason}"));
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
