//! The C face of agentjob. Every file holds one C type, and every function only carries: pointers are checked, texts are
//! read, the core decides, and its answer goes back through the guard. What holds for all functions stands once, at the
//! top of `include/agentjob.h` (from `cbindgen.toml`).

#![deny(missing_docs)]
#![expect(non_camel_case_types, reason = "types and numbers carry the names that they have in C")]
#![expect(clippy::missing_safety_doc, reason = "the header's first page is the safety contract of every function")]

pub mod batch;
pub mod batch_event;
pub mod batch_list;
pub mod batch_progress;
pub mod batch_settings;
pub mod batch_status;
pub mod call;
pub mod cancel;
pub mod client;
pub mod code;
pub mod error;
pub mod event;
pub mod job;
pub mod limits;
pub mod options;
pub mod poller;
pub mod progress;
pub mod text;
pub mod version;
pub mod work;

mod guard;
mod pointer;
