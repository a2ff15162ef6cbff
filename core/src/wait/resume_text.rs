//! A wait as text, from which another process can resume it. Times are milliseconds.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::wait::schedule::{PollState, Schedule};

/// The version of the text. A text of another version is refused.
const VERSION: u64 = 1;
/// Lateness is stored in millionths, as an integer, so that it survives any JSON library.
const MILLION: f64 = 1e6;

/// A wait as it was saved.
#[derive(Debug, PartialEq)]
pub(crate) struct SavedWait {
    pub(crate) saved_at_unix_ms: u64,
    /// How long the wait had lasted.
    pub(crate) elapsed: Duration,
    pub(crate) done: bool,
    pub(crate) state: PollState,
}

impl SavedWait {
    pub(crate) fn to_text(&self) -> String {
        let PollState { schedule, .. } = &self.state;
        let text = WaitText {
            agentjob_poller: VERSION,
            saved_at_unix_ms: self.saved_at_unix_ms,
            elapsed_ms: millis(self.elapsed),
            done: self.done,
            state: StateText {
                job_id: self.state.job_id.clone(),
                timeout_ms: schedule.timeout.map(millis),
                min_interval_ms: millis(schedule.min_interval),
                max_interval_ms: millis(schedule.max_interval),
                lateness_millionths: (schedule.lateness * MILLION).round().max(1.0) as u64,
                settle_ms: millis(schedule.settle),
                due_ms: millis(self.state.due),
                settle_until_ms: millis(self.state.settle_until),
                early_until_ms: millis(self.state.early_until),
                grace_until_ms: millis(self.state.grace_until),
                polls: self.state.polls,
                message: self.state.message,
                tally: self.state.tally.clone(),
                last_status: self.state.last_status.clone(),
            },
        };
        serde_json::to_string(&text).expect("numbers and texts always become JSON")
    }

    /// Reads what `to_text` wrote: all of its fields and no others. `None` if it is anything else.
    pub(crate) fn read(text: &str) -> Option<SavedWait> {
        let saved: WaitText =
            serde_json::from_str(text).ok().filter(|saved: &WaitText| saved.agentjob_poller == VERSION)?;
        let state = saved.state;
        Some(SavedWait {
            saved_at_unix_ms: saved.saved_at_unix_ms,
            elapsed: Duration::from_millis(saved.elapsed_ms),
            done: saved.done,
            state: PollState {
                job_id: state.job_id,
                schedule: Schedule {
                    timeout: state.timeout_ms.map(Duration::from_millis),
                    min_interval: Duration::from_millis(state.min_interval_ms),
                    max_interval: Duration::from_millis(state.max_interval_ms),
                    lateness: state.lateness_millionths as f64 / MILLION,
                    settle: Duration::from_millis(state.settle_ms),
                },
                due: Duration::from_millis(state.due_ms),
                settle_until: Duration::from_millis(state.settle_until_ms),
                early_until: Duration::from_millis(state.early_until_ms),
                grace_until: Duration::from_millis(state.grace_until_ms),
                polls: state.polls,
                message: state.message,
                tally: state.tally,
                last_status: state.last_status,
            },
        })
    }
}

/// The text's JSON.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WaitText {
    agentjob_poller: u64,
    saved_at_unix_ms: u64,
    elapsed_ms: u64,
    done: bool,
    state: StateText,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StateText {
    job_id: String,
    // `deserialize_with` on an option: it may be null, but it must be present.
    #[serde(deserialize_with = "Option::deserialize")]
    timeout_ms: Option<u64>,
    min_interval_ms: u64,
    max_interval_ms: u64,
    lateness_millionths: u64,
    settle_ms: u64,
    due_ms: u64,
    settle_until_ms: u64,
    early_until_ms: u64,
    grace_until_ms: u64,
    polls: u32,
    message: bool,
    tally: BTreeMap<String, u32>,
    #[serde(deserialize_with = "Option::deserialize")]
    last_status: Option<String>,
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::schedule::tests::SCHEDULE;
    use serde_json::{Map, Value};

    fn saved() -> SavedWait {
        let mut state = PollState::new("job \"1\"", SCHEDULE, None);
        state.tally.insert("active".to_owned(), 3);
        state.last_status = Some("active".to_owned());
        SavedWait { saved_at_unix_ms: 7, elapsed: Duration::from_millis(1234), done: false, state }
    }

    #[test]
    fn a_wait_is_read_back_as_it_was_saved() {
        for timeout in [None, Some(Duration::from_millis(1500))] {
            let mut saved = saved();
            saved.state.schedule.timeout = timeout;
            assert_eq!(SavedWait::read(&saved.to_text()), Some(saved));
        }
        let mut tiny = saved();
        tiny.state.schedule.lateness = 1e-9;
        assert!(SavedWait::read(&tiny.to_text()).unwrap().state.schedule.check().is_ok());
    }

    #[test]
    fn a_text_that_lacks_a_field_or_has_another_is_refused() {
        let whole: Map<String, Value> = serde_json::from_str(&saved().to_text()).unwrap();
        let refused = |text: Map<String, Value>, why: &str| {
            let text = serde_json::to_string(&text).unwrap();
            assert_eq!(SavedWait::read(&text), None, "{why}");
        };
        check_fields(&whole, &refused);
        check_fields(whole["state"].as_object().unwrap(), &|state, why| {
            let mut text = whole.clone();
            text.insert("state".to_owned(), state.into());
            refused(text, why);
        });
        let mut newer = whole.clone();
        newer.insert("agentjob_poller".to_owned(), 2.into());
        refused(newer, "another version");
    }

    fn check_fields(whole: &Map<String, Value>, refused: &dyn Fn(Map<String, Value>, &str)) {
        for name in whole.keys() {
            let mut less = whole.clone();
            less.remove(name);
            refused(less, &format!("without {name}"));
            let mut other = whole.clone();
            other.insert(name.clone(), Value::Array(Vec::new()));
            refused(other, &format!("{name} is a list"));
        }
        let mut more = whole.clone();
        more.insert("more".to_owned(), Value::Null);
        refused(more, "one field more");
    }

    #[test]
    fn deeply_nested_text_is_refused_without_recursion() {
        assert_eq!(SavedWait::read(&"[".repeat(100_000)), None);
        assert_eq!(SavedWait::read(&format!("{{\"state\":{{\"tally\":{}", "{\"a\":".repeat(100_000))), None);
    }
}
