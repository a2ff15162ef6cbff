//! What the operating system demands: descriptors, threads, forks and privileges.

pub(crate) mod descriptor;
pub(crate) mod privilege;
pub(crate) mod process;
pub mod thread;
