//! Whether a failed request is retried, and when: pure, so that a test can check the documented table.

use std::time::Duration;

use crate::delivery::Situation;

/// Backoff with full jitter: a pause is random between zero and a ceiling. This is the first ceiling; each retry doubles it.
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
/// The highest ceiling of a backoff pause.
const MAX_BACKOFF: Duration = Duration::from_secs(8);

/// The caller's limits.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) max_retries: u32,
    pub(crate) max_retry_after: Duration,
}

/// One failed request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Failed {
    /// The request is a POST, so a second one could deliver a second message.
    pub(crate) delivers: bool,
    pub(crate) situation: Situation,
    /// The message is a step's. Whether it is sent again after a 429 is decided where all workers are paused.
    pub(crate) is_step: bool,
    pub(crate) retry_after: Option<Duration>,
    /// How many requests of this call failed before this one, not counting stale connections.
    pub(crate) earlier: u32,
    /// One of those had a status that allows only one retry.
    pub(crate) once_used: bool,
    /// The service has refused a key in this call already.
    pub(crate) key_refused: bool,
    /// The time left until the call's deadline.
    pub(crate) remaining: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Retry after this pause. `once`: the same failure allows no second retry.
    Retry { after: Duration, on_new_connection: bool, once: bool },
    /// Retry at once if the client has another key by now, or its file has; else report the failure.
    RetryWithAnotherKey,
    /// Report the failure.
    Stop,
}

/// How often a situation allows a retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    Never,
    /// Without a pause, on a new connection.
    AtOnce,
    /// Once, after a pause, on a new connection.
    Once,
    /// Up to `max_retries`, after growing pauses.
    Backoff,
    /// Only if the service says when (Retry-After).
    WhenAsked,
}

fn rule(failed: &Failed) -> Rule {
    match (failed.delivers, failed.situation) {
        (_, Situation::NeverBegan | Situation::WrongSetting | Situation::NoRecord) => Rule::Never,
        (_, Situation::StaleConnection) => Rule::AtOnce,
        (_, Situation::NoConnection) => Rule::Backoff,
        (true, Situation::Status(408 | 421 | 425, _)) => Rule::Once,
        (true, Situation::Status(429, _)) if failed.is_step => Rule::Never,
        (true, Situation::Status(429, _)) => Rule::WhenAsked,
        (true, _) => Rule::Never,
        (false, Situation::CutShort | Situation::NoResponse) => Rule::Backoff,
        (false, Situation::Status(408 | 429 | 500..=599, _)) => Rule::Backoff,
        (false, Situation::Status(..)) => Rule::Never,
    }
}

/// The retry table. `draw` is a random number from 0 to 1, for the jitter.
pub(crate) fn decide(failed: &Failed, limits: &Limits, draw: f64) -> Decision {
    // Whatever the request was, the service processed nothing of it. It is no repetition of the same request, so `max_retries` does
    // not count it.
    if matches!(failed.situation, Situation::Status(401, _)) && !failed.key_refused && !failed.remaining.is_zero() {
        return Decision::RetryWithAnotherKey;
    }
    let rule = rule(failed);
    let backoff =
        FIRST_BACKOFF.saturating_mul(1 << failed.earlier.min(8)).min(MAX_BACKOFF).mul_f64(draw.clamp(0.0, 1.0));
    let after = match (rule, failed.retry_after) {
        (Rule::Never, _) | (Rule::WhenAsked, None) => return Decision::Stop,
        (Rule::AtOnce, _) => Duration::ZERO,
        // Never earlier than the service asked; a longer pause than the limit is for the caller to decide.
        (_, Some(asked)) if asked > limits.max_retry_after => return Decision::Stop,
        (_, Some(asked)) => asked.max(if rule == Rule::Backoff { backoff } else { Duration::ZERO }),
        (_, None) => backoff,
    };
    let retries_left = match rule {
        // On a new connection, which can't turn out to be dead.
        Rule::AtOnce => true,
        Rule::Once => !failed.once_used && failed.earlier < limits.max_retries,
        _ => failed.earlier < limits.max_retries,
    };
    if !retries_left || after >= failed.remaining {
        return Decision::Stop;
    }
    Decision::Retry { after, on_new_connection: matches!(rule, Rule::AtOnce | Rule::Once), once: rule == Rule::Once }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::Sent;
    use Situation::*;

    const LIMITS: Limits = Limits { max_retries: 2, max_retry_after: Duration::from_secs(60) };

    fn failed(delivers: bool, situation: Situation) -> Failed {
        Failed {
            delivers,
            situation,
            is_step: false,
            retry_after: None,
            earlier: 0,
            once_used: false,
            key_refused: false,
            remaining: Duration::from_secs(60),
        }
    }

    fn status(code: u16) -> Situation {
        Status(code, Sent::All)
    }

    fn retry(after_ms: u64, on_new_connection: bool) -> Decision {
        // The statuses that allow one retry want it on a new connection, after a pause.
        Decision::Retry {
            after: Duration::from_millis(after_ms),
            on_new_connection,
            once: on_new_connection && after_ms > 0,
        }
    }

    #[test]
    fn a_post_is_retried_only_as_the_table_says() {
        let rows = [
            (NeverBegan, Decision::Stop),
            (NoConnection, retry(500, false)),
            (WrongSetting, Decision::Stop),
            (StaleConnection, retry(0, true)),
            (CutShort, Decision::Stop),
            (NoResponse, Decision::Stop),
            (NoRecord, Decision::Stop),
            (status(408), retry(500, true)),
            (status(421), retry(500, true)),
            (status(425), retry(500, true)),
            (status(429), Decision::Stop),
        ];
        for (situation, decision) in rows {
            assert_eq!(decide(&failed(true, situation), &LIMITS, 1.0), decision, "{situation:?}");
        }
        for code in (300..400).chain(500..600).chain([400, 403, 404, 405, 409, 410, 413, 414, 415, 422, 431, 451]) {
            for retry_after in [None, Some(Duration::from_secs(1))] {
                let one = Failed { retry_after, ..failed(true, status(code)) };
                assert_eq!(decide(&one, &LIMITS, 1.0), Decision::Stop, "{code}");
            }
        }
    }

    #[test]
    fn a_steps_call_leaves_a_429_to_its_caller_and_nothing_else() {
        for (code, asked, stops) in
            [(429, Some(0), true), (429, Some(1), true), (429, None, true), (425, Some(1), false)]
        {
            let retry_after = asked.map(Duration::from_secs);
            let step = Failed { is_step: true, retry_after, ..failed(true, status(code)) };
            assert_eq!(decide(&step, &LIMITS, 1.0) == Decision::Stop, stops, "{code} {asked:?}");
        }
    }

    #[test]
    fn a_get_is_retried_as_the_table_says() {
        for situation in
            [NoConnection, CutShort, NoResponse, status(408), status(429), status(500), status(503), status(504)]
        {
            assert_eq!(decide(&failed(false, situation), &LIMITS, 1.0), retry(500, false), "{situation:?}");
        }
        for situation in [NeverBegan, WrongSetting, NoRecord, status(301), status(400), status(403), status(404)] {
            assert_eq!(decide(&failed(false, situation), &LIMITS, 1.0), Decision::Stop, "{situation:?}");
        }
        assert_eq!(decide(&failed(false, StaleConnection), &LIMITS, 1.0), retry(0, true));
    }

    #[test]
    fn a_retry_comes_never_before_retry_after_and_never_after_the_limit() {
        let asked = |seconds, draw| {
            let one = Failed { retry_after: Some(Duration::from_secs(seconds)), ..failed(true, status(429)) };
            decide(&one, &LIMITS, draw)
        };
        assert_eq!(asked(0, 1.0), retry(0, false));
        assert_eq!(asked(7, 0.0), retry(7_000, false));
        assert_eq!(asked(59, 1.0), retry(59_000, false));
        assert_eq!(asked(61, 1.0), Decision::Stop);
        for (seconds, decision) in [(60, retry(60_000, false)), (61, Decision::Stop)] {
            let long = Failed {
                remaining: Duration::from_secs(90),
                retry_after: Some(Duration::from_secs(seconds)),
                ..failed(true, status(429))
            };
            assert_eq!(decide(&long, &LIMITS, 1.0), decision, "{seconds} s, though there is time for it");
        }
        let short = Failed {
            remaining: Duration::from_secs(5),
            retry_after: Some(Duration::from_secs(5)),
            ..failed(true, status(429))
        };
        assert_eq!(decide(&short, &LIMITS, 0.0), Decision::Stop, "there would be no time left for the request");
        let get = Failed { retry_after: Some(Duration::from_secs(3)), ..failed(false, status(503)) };
        assert_eq!(decide(&get, &LIMITS, 0.0), retry(3_000, false));
    }

    #[test]
    fn retries_are_limited_and_backoff_doubles_with_full_jitter() {
        let after = |earlier, draw| {
            let limits = Limits { max_retries: 10, ..LIMITS };
            match decide(&Failed { earlier, ..failed(false, NoConnection) }, &limits, draw) {
                Decision::Retry { after, .. } => after.as_millis(),
                other => panic!("{other:?} at {earlier}"),
            }
        };
        assert_eq!([0, 1, 2, 3, 4, 5, 9].map(|n| after(n, 1.0)), [500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
        assert_eq!(after(3, 0.0), 0);
        assert_eq!(after(3, 0.25), 1_000);
        assert_eq!(decide(&Failed { earlier: 2, ..failed(true, NoConnection) }, &LIMITS, 0.5), Decision::Stop);
        assert_eq!(
            decide(&Failed { earlier: 1, once_used: true, ..failed(true, status(408)) }, &LIMITS, 0.5),
            Decision::Stop
        );
        let none = Limits { max_retries: 0, ..LIMITS };
        assert_eq!(decide(&failed(true, NoConnection), &none, 0.5), Decision::Stop);
        assert_eq!(decide(&failed(true, status(425)), &none, 0.5), Decision::Stop);
        assert_eq!(decide(&failed(true, StaleConnection), &none, 0.5), retry(0, true), "it costs nothing");
    }

    #[test]
    fn a_401_is_retried_once_and_only_with_another_key() {
        for delivers in [true, false] {
            let limits = Limits { max_retries: 0, ..LIMITS };
            let first = failed(delivers, status(401));
            assert_eq!(decide(&first, &limits, 1.0), Decision::RetryWithAnotherKey);
            assert_eq!(decide(&Failed { key_refused: true, ..first }, &LIMITS, 1.0), Decision::Stop);
            assert_eq!(decide(&Failed { remaining: Duration::ZERO, ..first }, &LIMITS, 1.0), Decision::Stop);
            assert_eq!(decide(&failed(delivers, status(407)), &LIMITS, 1.0), Decision::Stop);
        }
    }

    #[test]
    fn the_one_retry_of_a_408_is_also_allowed_after_a_429() {
        let after_429 = Failed { earlier: 1, ..failed(true, status(408)) };
        assert_eq!(decide(&after_429, &LIMITS, 1.0), retry(1_000, true));
    }

    #[test]
    fn a_pause_beyond_the_deadline_is_not_begun() {
        let one = Failed { remaining: Duration::from_millis(400), ..failed(false, NoConnection) };
        assert_eq!(decide(&one, &LIMITS, 1.0), Decision::Stop);
        assert_eq!(decide(&one, &LIMITS, 0.5), retry(250, false));
    }
}
