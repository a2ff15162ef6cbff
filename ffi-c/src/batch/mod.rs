//! A batch of messages in C: one file for the batch itself and one for each type that it hands out.

pub mod event;
pub mod lifecycle;
pub mod list;
pub mod progress;
pub mod settings;
pub mod status;
