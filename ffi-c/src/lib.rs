//! The C face of agentjob: one file for each C type.
//!
//! A function only translates: it checks pointers (`handle.rs`), reads texts (`text.rs`), calls the core, and returns through
//! a guard that catches panics (`panic.rs`; `result.rs` if it can fail). The rules that all functions share are the first page
//! of `include/agentjob.h`; they are written in `cbindgen.toml`. `SAFETY: the header's contract` refers to them.

#![deny(missing_docs)]
#![expect(non_camel_case_types, reason = "types and constants have the names that they have in C")]
#![expect(clippy::missing_safety_doc, reason = "the header's first page is the safety contract of every function")]

pub mod batch;
pub mod call;
pub mod cancel;
pub mod client;
pub mod client_calls;
pub mod code;
pub mod delivery;
pub mod error;
pub mod event_loop;
pub mod headers;
pub mod job;
pub mod limits;
pub mod meta;
pub mod on_event;
pub mod on_progress;
pub mod options;
pub mod poller;
pub mod status;
pub mod text;
pub mod version;
pub mod wait_defaults;

mod handle;
mod milliseconds;
mod panic;
mod result;
mod setter;
mod thread_cancel;

#[cfg(test)]
mod tests {
    #[test]
    fn everything_that_the_header_lets_threads_share_is_sync() {
        fn is_sync<T: Send + Sync>() {}
        is_sync::<crate::client::agentjob_client>();
        is_sync::<crate::cancel::agentjob_cancel>();
        is_sync::<crate::job::agentjob_job>();
        is_sync::<crate::error::agentjob_error>();
        is_sync::<crate::call::agentjob_call>();
        is_sync::<crate::batch::event::agentjob_batch_event>();
        is_sync::<crate::batch::status::agentjob_batch_status>();
        // One thread at a time may use it, but any thread.
        fn is_send<T: Send>() {}
        is_send::<crate::batch::lifecycle::agentjob_batch>();
    }
}
