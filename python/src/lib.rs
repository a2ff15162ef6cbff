//! `agentjob._native`: the core as Python objects.
//!
//! A call goes through one file after the other: `arguments` come in, `calls` hands them to the core, `signals` blocks, and
//! `convert` and `errors` go out. `client` (with its `settings`), `waits`, `batch` (with its `batch_items` and `batch_records`,
//! begun by `batches` and outlived by `leftovers`), `cancel` and `testing` are the classes, `logging` is the standard logger. Whatever
//! is decided is decided in `agentjob-core`.

#![forbid(unsafe_code)]

mod arguments;
mod batch;
mod batch_items;
mod batch_list;
mod batch_records;
mod batches;
mod calls;
mod cancel;
mod client;
mod convert;
mod errors;
mod leftovers;
mod logging;
mod settings;
mod signals;
mod testing;
mod waits;

use pyo3::prelude::*;

/// The native part of agentjob. Import `agentjob` instead.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::batch::Batch;
    #[pymodule_export]
    use super::batch_list::read_batch_list;
    #[pymodule_export]
    use super::batches::batch_status;
    #[pymodule_export]
    use super::cancel::{CancelToken, call_token};
    #[pymodule_export]
    use super::client::Client;
    #[pymodule_export]
    use super::logging::escape;
    #[pymodule_export]
    use super::signals::{block_signals, note_verdict};
    #[pymodule_export]
    use super::testing::{Emulator, serve_emulator};
    #[pymodule_export]
    use super::waits::{Poller, Watch, send_and_poll};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's own name for it")]
    const __version__: &str = agentjob_core::VERSION;
}
