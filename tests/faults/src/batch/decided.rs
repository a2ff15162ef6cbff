//! What a journal says about decisions, read independently of our code.

use std::collections::BTreeMap;

use serde_json::Value;

use super::state::State;

/// What a journal says about decisions.
#[derive(Debug, Default)]
pub(crate) struct Decided {
    /// How often each decision about each item was made.
    pub(crate) made: BTreeMap<(u64, String), u64>,
    /// The items about which a decision says that their message is sent, which no run has done yet.
    pub(crate) to_send: BTreeMap<u64, String>,
    /// The identities that items have besides their first one.
    pub(crate) new_ids: Vec<(u64, String)>,
}

impl Decided {
    /// How often a decision allowed the item's message to be sent although it may have arrived.
    pub(crate) fn resends(&self, number: u64) -> u64 {
        self.made.get(&(number, "resend".to_owned())).copied().unwrap_or(0)
    }

    pub(crate) fn is_about(&self, number: u64) -> bool {
        self.made.keys().any(|(item, _)| *item == number)
    }

    /// Takes a line, and returns the item's state after it.
    pub(crate) fn take(&mut self, number: u64, before: Option<State>, line: &Value) -> Result<State, String> {
        let decision = line["decision"].as_str().ok_or("it has no decision")?.to_owned();
        // The last decision counts until a run acts on it, so that a decided item may be in other states, too.
        let is_open = self.is_about(number);
        let may_be = match (&*decision, before) {
            ("arrived" | "not_arrived" | "resend", Some(State::Unknown | State::Sending)) => true,
            ("retry", Some(State::Rejected)) => true,
            ("drop", Some(State::Unknown | State::Sending | State::Rejected | State::NotSent)) => true,
            _ => is_open,
        };
        if !may_be {
            return Err(format!("{decision} is decided about {before:?}"));
        }
        if let Some(id) = line["new_id"].as_str() {
            self.new_ids.push((number, id.to_owned()));
        }
        let after = match &*decision {
            "arrived" => State::Accepted,
            "not_arrived" | "retry" => State::NotSent,
            "resend" => State::Unknown,
            "drop" => State::Dropped,
            _ => return Err("this decision is unknown".into()),
        };
        match after {
            State::Accepted | State::Dropped => self.to_send.remove(&number),
            _ => self.to_send.insert(number, decision.clone()),
        };
        *self.made.entry((number, decision)).or_default() += 1;
        Ok(after)
    }
}
