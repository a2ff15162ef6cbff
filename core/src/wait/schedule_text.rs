//! Where a wait stands, as JSON: what a [`Poller`](crate::Poller)'s text holds. Times are milliseconds.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::wait::schedule::{PollState, Schedule};

/// A lateness is kept in millionths: a text that is read back need not know every number that there is.
const MILLION: f64 = 1e6;

impl PollState {
    pub(crate) fn to_record(&self) -> Value {
        let schedule = &self.schedule;
        let tally = self.tally.iter().map(|(what, count)| (what.as_str(), (*count).into()));
        object([
            ("job_id", self.job_id.as_str().into()),
            ("timeout_ms", schedule.timeout.map_or(Value::Null, millis)),
            ("min_interval_ms", millis(schedule.min_interval)),
            ("max_interval_ms", millis(schedule.max_interval)),
            ("lateness_millionths", ((schedule.lateness * MILLION).round().max(1.0) as u64).into()),
            ("settle_ms", millis(schedule.settle)),
            ("due_ms", millis(self.due)),
            ("settle_until_ms", millis(self.settle_until)),
            ("grace_until_ms", millis(self.grace_until)),
            ("polls", self.polls.into()),
            ("message", self.message.into()),
            ("tally", object(tally)),
            ("last_status", self.last_status.as_deref().map_or(Value::Null, Value::from)),
        ])
    }

    /// Reads what `to_record` wrote, and nothing else.
    pub(crate) fn from_record(record: Value) -> Option<PollState> {
        let mut record = Record::of(record)?;
        let state = PollState {
            job_id: record.text("job_id")??,
            schedule: Schedule {
                timeout: record
                    .take("timeout_ms")
                    .and_then(|value| Some(if value.is_null() { None } else { Some(time(&value)?) }))?,
                min_interval: record.time("min_interval_ms")?,
                max_interval: record.time("max_interval_ms")?,
                lateness: record.number("lateness_millionths")? as f64 / MILLION,
                settle: record.time("settle_ms")?,
            },
            due: record.time("due_ms")?,
            settle_until: record.time("settle_until_ms")?,
            grace_until: record.time("grace_until_ms")?,
            polls: u32::try_from(record.number("polls")?).ok()?,
            message: record.take("message")?.as_bool()?,
            tally: record.counts("tally")?,
            last_status: record.text("last_status")?,
        };
        record.is_empty().then_some(state)
    }
}

/// An object of these fields, in this order.
pub(crate) fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Value {
    let mut map = Map::new();
    fields.into_iter().for_each(|(name, value)| put(&mut map, name, value));
    Value::Object(map)
}

/// One function for the fields of all objects: each of them in place would be as much code as all else here.
#[inline(never)]
fn put(map: &mut Map<String, Value>, name: &str, value: Value) {
    map.insert(name.to_owned(), value);
}

pub(crate) fn millis(time: Duration) -> Value {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX).into()
}

fn time(value: &Value) -> Option<Duration> {
    value.as_u64().map(Duration::from_millis)
}

/// An object whose fields are taken out one by one.
pub(crate) struct Record(Map<String, Value>);

impl Record {
    pub(crate) fn of(value: Value) -> Option<Record> {
        match value {
            Value::Object(map) => Some(Record(map)),
            _ => None,
        }
    }

    pub(crate) fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name)
    }

    pub(crate) fn number(&mut self, name: &str) -> Option<u64> {
        self.take(name)?.as_u64()
    }

    pub(crate) fn time(&mut self, name: &str) -> Option<Duration> {
        time(&self.take(name)?)
    }

    /// A text or null.
    fn text(&mut self, name: &str) -> Option<Option<String>> {
        match self.take(name)? {
            Value::Null => Some(None),
            Value::String(text) => Some(Some(text)),
            _ => None,
        }
    }

    fn counts(&mut self, name: &str) -> Option<Vec<(String, u32)>> {
        let counts = Record::of(self.take(name)?)?.0.into_iter();
        counts.map(|(what, count)| Some((what, u32::try_from(count.as_u64()?).ok()?))).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::schedule::tests::SCHEDULE;

    fn state() -> PollState {
        let mut state = PollState::new("job \"1\"", SCHEDULE, None);
        state.tally.push(("active".to_owned(), 3));
        state.last_status = Some("active".to_owned());
        state
    }

    #[test]
    fn a_state_is_read_back_as_it_was_written() {
        for timeout in [None, Some(Duration::from_millis(1500))] {
            let mut state = state();
            state.schedule.timeout = timeout;
            assert_eq!(PollState::from_record(state.to_record()), Some(state));
        }
        let mut tiny = state();
        tiny.schedule.lateness = 1e-9;
        assert!(PollState::from_record(tiny.to_record()).unwrap().schedule.check().is_ok());
    }

    #[test]
    fn what_lacks_a_field_or_has_another_is_no_state() {
        let Value::Object(whole) = state().to_record() else { panic!() };
        for name in whole.keys() {
            let mut less = whole.clone();
            less.remove(name);
            assert_eq!(PollState::from_record(less.into()), None, "without {name}");
            let mut other = whole.clone();
            other.insert(name.clone(), Value::Array(Vec::new()));
            assert_eq!(PollState::from_record(other.into()), None, "{name} is a list");
        }
        let mut more = whole;
        more.insert("more".to_owned(), Value::Null);
        assert_eq!(PollState::from_record(more.into()), None);
    }
}
