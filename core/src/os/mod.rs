//! What the operating system demands: descriptors, threads, forks, privileges, files and sockets. Where Windows differs, its half has the
//! same names in `windows`.

#[cfg_attr(windows, path = "windows/bell.rs")]
pub(crate) mod bell;
#[cfg_attr(windows, path = "windows/descriptor.rs")]
pub(crate) mod descriptor;
#[cfg_attr(windows, path = "windows/file.rs")]
pub(crate) mod file;
pub(crate) mod flag;
#[cfg_attr(windows, path = "windows/privilege.rs")]
pub(crate) mod privilege;
pub(crate) mod process;
#[cfg_attr(windows, path = "windows/socket.rs")]
pub(crate) mod socket;
#[cfg_attr(windows, path = "windows/thread.rs")]
pub mod thread;
pub mod uptime;
