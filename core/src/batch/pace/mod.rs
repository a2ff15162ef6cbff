//! When a batch may send: its rate, and the circuit breaker that stops it while the service refuses or fails. Pure: no clock, no socket.

pub(crate) mod circuit_breaker;
pub(crate) mod failure_scope;
pub(crate) mod rate;
