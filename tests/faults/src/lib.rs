//! The proof of the delivery verdict.
//!
//! The emulator plays every way in which a service, a gateway or a network can fail a message, byte by byte, against the
//! public API. After each call the verdict is compared with the emulator's ledger, which lists what was really processed.
//! `make faults` runs at least 20,000 messages and prints the table; `cargo test` runs each fault once or more.

pub mod batch;
mod cases;
mod judge;
mod situation;

pub use cases::{Case, all};
pub use judge::{Count, Tally, run};
