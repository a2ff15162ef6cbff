//! How fast the workers of a store may send: what it counts, and how long a 429 pauses them all. The store counts, by its own clock.

use std::time::Duration;

use crate::batch::journal::digest::Digest;
use crate::batch::pace::circuit_breaker::{FIRST_RATE_LIMIT_PAUSE, LONGEST_PAUSE};
use crate::batch::pace::rate::Rate;
use crate::client::Client;

/// The shortest pause after a 429.
pub(crate) const SHORTEST_PAUSE: Duration = Duration::from_secs(1);

/// What a store needs to know of a call's pace.
#[derive(Debug, Clone)]
#[doc(hidden)]
pub struct StepPace {
    /// Whose messages count together: a digest of the service and the project.
    pub scope: String,
    /// At most so many messages in any span of a length.
    pub rate: Option<Rate>,
}

#[doc(hidden)]
impl Client {
    /// The pace of this client's calls.
    pub fn step_pace(&self, rate: Option<Rate>) -> StepPace {
        let parts = [self.base_url(), self.project_id()].map(str::as_bytes);
        StepPace { scope: Digest::of(&[b"scope", parts[0], parts[1]]).to_string(), rate }
    }

    /// Whether a call that got a 429 waits for the end of the pause and sends its message again. `retries`: how often it has.
    pub fn may_retry_after(&self, pause: Duration, retries: u32) -> bool {
        let limits = &self.shared.config.limits;
        retries < limits.max_retries && pause <= limits.max_retry_after
    }
}

/// For how long a 429 pauses all workers of a store: as long as the service asks (Retry-After), at least a second and at most a day;
/// a minute, if it doesn't.
#[doc(hidden)]
pub fn step_pause(retry_after: Option<Duration>) -> Duration {
    retry_after.unwrap_or(FIRST_RATE_LIMIT_PAUSE).clamp(SHORTEST_PAUSE, LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::once::client;

    #[test]
    fn the_messages_of_a_project_count_together() {
        let pace = client("https://a.example", "p").step_pace(Some("100/h".parse().unwrap()));
        assert_eq!(pace.rate.map(|rate| (rate.messages(), rate.per())), Some((100, Duration::from_secs(3600))));
        for (other, is_same) in [
            (client("https://a.example", "p"), true),
            (client("https://a.example", "q"), false),
            (client("https://b.example", "p"), false),
        ] {
            assert_eq!(other.step_pace(None).scope == pace.scope, is_same);
        }
        assert_eq!(client("https://a.example", "p").step_pace(None).rate, None);
    }

    #[test]
    fn a_429_pauses_all_as_long_as_the_service_asks() {
        for (asked, pause) in [(None, 60), (Some(0), 1), (Some(1), 1), (Some(1800), 1800), (Some(10_000_000), 86_400)] {
            assert_eq!(step_pause(asked.map(Duration::from_secs)), Duration::from_secs(pause), "{asked:?}");
        }
    }

    #[test]
    fn a_call_waits_for_a_pause_within_the_client_s_limits() {
        let client = client("https://a.example", "p");
        for (seconds, retries, waits) in [(60, 0, true), (60, 1, true), (60, 2, false), (61, 0, false)] {
            assert_eq!(client.may_retry_after(Duration::from_secs(seconds), retries), waits, "{seconds} {retries}");
        }
    }
}
