//! What the operating system demands: descriptors, threads, forks and privileges.

pub(crate) mod bell;
pub(crate) mod descriptor;
pub(crate) mod flag;
pub(crate) mod privilege;
pub(crate) mod process;
pub mod thread;
pub mod uptime;
