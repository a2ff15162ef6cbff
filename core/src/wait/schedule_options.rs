//! What a wait or a client says about when waits poll. What it leaves open comes from the client, and then from the defaults.

use std::time::Duration;

use crate::config::environment::Environment;
use crate::duration::{MAX_TIMEOUT, check_time, not_seconds, parse_seconds};
use crate::error::Error;
use crate::text::describe;
use crate::wait::schedule::{DEFAULT_SCHEDULE, MIN_TIME, Schedule, check_lateness};

/// A schedule, each part of which may be open.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ScheduleOptions {
    /// `Some(None)` is no deadline.
    pub(crate) timeout: Option<Option<Duration>>,
    pub(crate) min_interval: Option<Duration>,
    pub(crate) max_interval: Option<Duration>,
    pub(crate) lateness: Option<f64>,
    pub(crate) settle: Option<Duration>,
}

impl ScheduleOptions {
    /// These options where they are set, otherwise those of `base`.
    pub(crate) fn over(&self, base: &Schedule) -> Schedule {
        Schedule {
            timeout: self.timeout.unwrap_or(base.timeout),
            min_interval: self.min_interval.unwrap_or(base.min_interval),
            max_interval: self.max_interval.unwrap_or(base.max_interval),
            lateness: self.lateness.unwrap_or(base.lateness),
            settle: self.settle.unwrap_or(base.settle),
        }
    }

    /// Checks what is set, alone.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let mut schedule = self.over(&DEFAULT_SCHEDULE);
        // Where one interval is open, the other one may be anything; the open one is right in any case.
        let (longest, shortest) = (schedule.min_interval.min(MAX_TIMEOUT), schedule.max_interval.max(MIN_TIME));
        schedule.max_interval = self.max_interval.unwrap_or(schedule.max_interval.max(longest));
        schedule.min_interval = self.min_interval.unwrap_or(schedule.min_interval.min(shortest));
        schedule.check()
    }

    /// Reads the variables of the options that are not set.
    ///
    /// # Errors
    /// A variable has a wrong value; the message names it.
    pub(crate) fn or_environment(mut self, environment: &Environment) -> Result<ScheduleOptions, Error> {
        let seconds = |name: &str, given: Option<Duration>| match given {
            Some(given) => Ok(Some(given)),
            None => environment.get(name)?.map(|text| time(name, &text)).transpose(),
        };
        self.min_interval = seconds("AGENTJOB_MIN_INTERVAL", self.min_interval)?;
        self.max_interval = seconds("AGENTJOB_MAX_INTERVAL", self.max_interval)?;
        if self.settle.is_none()
            && let Some(text) = environment.get("AGENTJOB_SETTLE")?
        {
            let zero = parse_seconds(text.trim()).is_some_and(|settle| settle.is_zero());
            self.settle = Some(if zero { Duration::ZERO } else { time("AGENTJOB_SETTLE", &text)? });
        }
        if self.lateness.is_none()
            && let Some(text) = environment.get("AGENTJOB_LATENESS")?
        {
            let fraction = parse_seconds(text.trim()).map_or(f64::NAN, |fraction| fraction.as_secs_f64());
            self.lateness = Some(check_lateness("AGENTJOB_LATENESS", fraction, &describe(&text))?);
        }
        if self.timeout.is_none()
            && let Some(text) = environment.get("AGENTJOB_WAIT_TIMEOUT")?
        {
            let forever = text.trim() == "none";
            self.timeout = Some(if forever { None } else { Some(time("AGENTJOB_WAIT_TIMEOUT", &text)?) });
        }
        Ok(self)
    }
}

fn time(name: &str, text: &str) -> Result<Duration, Error> {
    check_time(name, parse_seconds(text.trim()).ok_or_else(|| not_seconds(name, &describe(text)))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn what_is_open_comes_from_below() {
        let client = ScheduleOptions { settle: Some(MS), timeout: Some(None), ..Default::default() };
        let wait = ScheduleOptions { settle: Some(3 * MS), lateness: Some(0.5), ..Default::default() };
        let schedule = wait.over(&client.over(&DEFAULT_SCHEDULE));
        assert_eq!(schedule, Schedule { settle: 3 * MS, lateness: 0.5, timeout: None, ..DEFAULT_SCHEDULE });
    }

    #[test]
    fn variables_fill_what_is_not_set() {
        let variables = [
            ("AGENTJOB_MIN_INTERVAL", "0.02"),
            ("AGENTJOB_MAX_INTERVAL", " 5 "),
            ("AGENTJOB_LATENESS", "0.5"),
            ("AGENTJOB_SETTLE", "0"),
            ("AGENTJOB_WAIT_TIMEOUT", "none"),
        ];
        let given = ScheduleOptions { max_interval: Some(7 * MS), ..Default::default() };
        let expected = ScheduleOptions {
            timeout: Some(None),
            min_interval: Some(20 * MS),
            max_interval: Some(7 * MS),
            lateness: Some(0.5),
            settle: Some(Duration::ZERO),
        };
        assert_eq!(given.or_environment(&Environment::of(&variables)).unwrap(), expected);
        // A variable is not read where an option is set.
        assert!(expected.or_environment(&Environment::of(&variables.map(|(name, _)| (name, "no")))).is_ok());
    }

    #[test]
    fn the_error_names_a_wrong_variable() {
        for (name, value) in [
            ("AGENTJOB_MIN_INTERVAL", "0"),
            ("AGENTJOB_MIN_INTERVAL", "soon"),
            ("AGENTJOB_MAX_INTERVAL", "604801"),
            ("AGENTJOB_LATENESS", "0"),
            ("AGENTJOB_LATENESS", "1.1"),
            ("AGENTJOB_LATENESS", "-1"),
            ("AGENTJOB_SETTLE", "-1"),
            ("AGENTJOB_WAIT_TIMEOUT", "never"),
            ("AGENTJOB_WAIT_TIMEOUT", "0"),
        ] {
            let error = ScheduleOptions::default().or_environment(&Environment::of(&[(name, value)])).unwrap_err();
            assert!(error.message().starts_with(&format!("{name} is {value}")), "{error}");
        }
    }
}
