//! Randomness for pauses, so that many clients, and many forked children of one, do not synchronise.

use std::time::{SystemTime, UNIX_EPOCH};

/// A random number from 0 to 1. Each is seeded from clock and process id: the state of one generator would be the same in every
/// forked child.
pub(crate) fn draw() -> f64 {
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
    fastrand::Rng::with_seed(u64::from(nanos) << 32 | u64::from(std::process::id())).f64()
}
