//! The proof of the batch's journal: the sending process dies at every step and at any time, the power goes, the disk is full, the
//! clock is set; then the batch runs again with the same journal until it ends, and journal and outcomes are compared
//! with the ledger.
//!
//! The sender is its own process, and the service is the emulator in this one, so the ledger outlives every kill. A round
//! is one batch, made from a seed; `AGENTJOB_FAULTS_ONLY=text` runs the situations whose name contains this text,
//! `AGENTJOB_FAULTS_KEEP=1` keeps everything needed to understand a finding.

mod clock;
mod decided;
mod decisions;
mod files;
mod journal;
mod judge;
#[cfg(test)]
mod judge_tests;
mod notes;
mod plan;
mod power;
mod process;
mod round;
mod script;
mod sender;
mod situations;
mod state;
mod table;

pub use judge::Findings;
pub use sender::send;
pub use table::{Form, Row, Table, run};
