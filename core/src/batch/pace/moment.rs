//! A time of a batch's clock.

use std::time::Duration;

/// Milliseconds since the machine started. What an earlier run did before that is less than 0.
pub(crate) type Moment = i64;

/// A duration in the unit of a [`Moment`].
pub(crate) fn moment(time: Duration) -> Moment {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}
