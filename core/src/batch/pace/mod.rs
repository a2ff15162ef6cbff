//! When a batch may send: its rate, and the circuit breaker that pauses it while the service refuses or fails. Pure: no clock, no
//! socket, no file.

pub(crate) mod circuit_breaker;
pub(crate) mod failure_scope;
pub(crate) mod moment;
pub(crate) mod rate;
pub(crate) mod sequence;
