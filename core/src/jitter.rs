//! The chance in pauses: many clients, and many forked children of one, must not fall into step.

use std::time::{SystemTime, UNIX_EPOCH};

/// A number from 0 to 1. It is drawn anew each time from clock and process, for a generator's state would be the same in
/// every forked child.
pub(crate) fn draw() -> f64 {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    fastrand::Rng::with_seed(u64::from(nanos) << 32 | u64::from(std::process::id())).f64()
}
