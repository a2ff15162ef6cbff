//! A batch of messages in C: one file for the batch itself and one for each type that it hands out.

pub mod decisions;
pub mod event;
pub mod items;
pub mod lifecycle;
pub mod progress;
pub mod report;
pub mod settings;
pub mod status;
