//! The settings of one wait.

use std::time::Duration;

use crate::call::options::CallOptions;
use crate::duration::check_time;
use crate::error::Error;
use crate::wait::schedule::Schedule;
use crate::wait::schedule_options::ScheduleOptions;

/// Settings of one wait. What is not set comes from the client; see [`ClientBuilder::settle`](crate::ClientBuilder::settle) and
/// its neighbours.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct WaitOptions {
    pub(crate) schedule: ScheduleOptions,
    pub(crate) call: CallOptions,
}

impl WaitOptions {
    /// The client's settings. Unless it was given others: 30 minutes, polls 2 s to 60 s apart (closer right after a message), at most
    /// about 15 % late.
    pub fn new() -> WaitOptions {
        WaitOptions::default()
    }

    /// The deadline: 1 ms to 7 days, or `None` for no deadline. Default: the client's `wait_timeout`, 30 minutes.
    pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> WaitOptions {
        self.schedule.timeout = Some(timeout.into());
        self
    }

    /// The shortest pause between two polls: 1 ms to 7 days. Default: the client's, 2 s. The polls 0.25, 0.5, 1 and 2 s after a message come in
    /// any case, so that a short job is seen active.
    pub fn min_interval(mut self, interval: Duration) -> WaitOptions {
        self.schedule.min_interval = Some(interval);
        self
    }

    /// The longest pause between two polls: at least `min_interval`, at most 7 days. Default: the client's, 60 s.
    pub fn max_interval(mut self, interval: Duration) -> WaitOptions {
        self.schedule.max_interval = Some(interval);
        self
    }

    /// How late the job's end may be noticed, as a fraction of the time waited so far: more than 0, at most 1. Default: the
    /// client's, 0.15.
    pub fn lateness(mut self, fraction: f64) -> WaitOptions {
        self.schedule.lateness = Some(fraction);
        self
    }

    /// How long after a message a finished job may still show its previous result: 0 to 7 days. Until then a finished record counts
    /// only once a poll saw the job active; that the response to the message says so does not count. Default: the client's, 10 s; 0 accepts the
    /// first record.
    pub fn settle(mut self, settle: Duration) -> WaitOptions {
        self.schedule.settle = Some(settle);
        self
    }

    /// The settings of each poll's request: its timeout, a cancel token, a control. Default: the client's.
    pub fn call(mut self, call: CallOptions) -> WaitOptions {
        self.call = call;
        self
    }

    /// The settings of each poll's request.
    #[doc(hidden)]
    pub fn each_call(&self) -> &CallOptions {
        &self.call
    }

    /// Checks every setting, as a wait does when it begins, for callers that report a wrong one at once.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), which names the setting.
    pub fn check(&self) -> Result<(), Error> {
        self.call.timeout.map_or(Ok(Duration::ZERO), |timeout| check_time("timeout", timeout))?;
        self.schedule.check()
    }

    /// The schedule over the client's, checked.
    ///
    /// # Errors
    /// `InvalidArgument`.
    pub(crate) fn resolve(&self, client: &Schedule) -> Result<Schedule, Error> {
        self.check()?;
        let schedule = self.schedule.over(client);
        schedule.check().map(|()| schedule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wait::schedule::DEFAULT_SCHEDULE;

    const fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn what_is_set_holds_and_the_rest_is_the_clients() {
        let set = WaitOptions::new().timeout(seconds(5)).min_interval(seconds(1)).max_interval(seconds(9));
        let set = set.lateness(0.5).settle(seconds(3)).call(CallOptions::new().timeout(seconds(2)));
        let schedule = set.resolve(&DEFAULT_SCHEDULE).unwrap();
        assert_eq!((schedule.timeout, schedule.settle), (Some(seconds(5)), seconds(3)));
        assert_eq!((schedule.min_interval, schedule.max_interval, schedule.lateness), (seconds(1), seconds(9), 0.5));
        assert_eq!(set.each_call().timeout, Some(seconds(2)));
        let forever = WaitOptions::new().timeout(None).resolve(&schedule).unwrap();
        assert_eq!((forever.timeout, forever.settle), (None, seconds(3)), "the client's, but for the timeout");
    }

    #[test]
    fn a_wrong_setting_is_named_before_the_wait_begins() {
        let (zero, too_long) = (Duration::ZERO, seconds(8 * 24 * 60 * 60));
        for (options, name) in [
            (WaitOptions::new().timeout(zero), "the wait's timeout"),
            (WaitOptions::new().min_interval(zero), "min_interval"),
            (WaitOptions::new().max_interval(zero), "max_interval"),
            (WaitOptions::new().min_interval(too_long), "min_interval"),
            (WaitOptions::new().max_interval(too_long), "max_interval"),
            (WaitOptions::new().lateness(0.0), "lateness"),
            (WaitOptions::new().settle(too_long), "settle"),
            (WaitOptions::new().call(CallOptions::new().timeout(zero)), "timeout"),
        ] {
            for error in [options.check().unwrap_err(), options.resolve(&DEFAULT_SCHEDULE).unwrap_err()] {
                assert!(error.reason().starts_with(&format!("{name} is ")), "{error}");
            }
        }
        // It fits the defaults, but not this client.
        let client = Schedule { max_interval: seconds(10), ..DEFAULT_SCHEDULE };
        let options = WaitOptions::new().min_interval(seconds(20));
        options.check().unwrap();
        let error = options.resolve(&client).unwrap_err();
        assert!(error.reason().contains("min_interval"), "{error}");
    }
}
