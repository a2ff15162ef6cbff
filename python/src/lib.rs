//! `agentjob._native`: the core as Python objects.
//!
//! A call passes through these files: `arguments` (and `options`, `settings`) read what Python gives, `request`, `wait`, `poller`
//! and `batch` call the core, `signals` blocks, `watcher` runs callbacks meanwhile, and `convert` and `errors` make what Python
//! gets. `client` only has signatures and docstrings. Every decision is made in `agentjob-core`.

#![forbid(unsafe_code)]

mod arguments;
mod batch;
mod caller;
mod cancel_token;
mod client;
mod convert;
mod detached;
mod errors;
mod in_use;
mod logging;
mod main_thread;
mod options;
mod panic;
mod poller;
mod request;
mod settings;
mod signals;
mod testing;
mod wait;
mod watcher;

use pyo3::prelude::*;

/// The native part of agentjob. Import `agentjob` instead.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::batch::begin::batch_status;
    #[pymodule_export]
    use super::batch::iterator::Batch;
    #[pymodule_export]
    use super::batch::list::read_batch_list;
    #[pymodule_export]
    use super::cancel_token::CancelToken;
    #[pymodule_export]
    use super::client::Client;
    #[pymodule_export]
    use super::errors::{error_kinds, note_verdict};
    #[pymodule_export]
    use super::logging::escape;
    #[pymodule_export]
    use super::poller::Poller;
    #[pymodule_export]
    use super::signals::block_signals;
    #[pymodule_export]
    use super::testing::{Emulator, serve_emulator};
    #[pymodule_export]
    use super::wait::Watch;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's own name for it")]
    const __version__: &str = agentjob_core::VERSION;
}
