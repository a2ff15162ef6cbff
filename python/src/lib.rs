//! `agentjob._native`: the core as Python objects.
//!
//! A call passes through these files: `client` has the methods, `keywords`, `options`, `settings` and `arguments` read what Python gives,
//! `request`, `wait`, `poller` and `batch` call the core, `signals` blocks, `watcher` runs callbacks meanwhile, and `convert` and
//! `errors` make what Python gets. `function` gives methods the signatures, the hints and the documentation of the package's stub. Every
//! decision is made in `agentjob-core`.

#![forbid(unsafe_code)]

mod arguments;
mod batch;
mod caller;
mod cancel_token;
mod client;
mod convert;
mod detached;
mod errors;
mod function;
mod headers;
mod in_use;
mod interpreter_end;
mod key_exception;
mod key_function;
mod keywords;
mod list_breaker;
mod logging;
mod main_thread;
mod once;
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
    use std::sync::OnceLock;

    use pyo3::exceptions::PyImportError;
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::batch::begin::batch_status;
    #[pymodule_export]
    use super::batch::decisions::{batch_drop, batch_export, batch_resolve, batch_retry, parse_item_name};
    #[pymodule_export]
    use super::batch::items::BatchItems;
    #[pymodule_export]
    use super::batch::iterator::Batch;
    #[pymodule_export]
    use super::batch::list::{parse_batch_list, read_batch_list};
    #[pymodule_export]
    use super::batch::report::{batch_report, write_batch_report};
    #[pymodule_export]
    use super::cancel_token::CancelToken;
    #[pymodule_export]
    use super::client::Client;
    #[pymodule_export]
    use super::errors::{error_kinds, job_failed, note, note_verdict};
    use super::function::with_hints;
    #[pymodule_export]
    use super::headers::read_headers;
    use super::interpreter_end;
    #[pymodule_export]
    use super::list_breaker::ListBreaker;
    #[pymodule_export]
    use super::logging::escape;
    #[pymodule_export]
    use super::once::{
        check_step_key, ends_every_poll, machine_time, may_retry_after, other_message, resolved_step, resume_step,
        send_step, step_error, step_held, step_in_flight, step_list, step_message, step_pace, step_pause, step_retry,
        step_throttled, stored_failure, stored_job, stored_wait, unresolvable_step, unwaitable_step, wait_step,
    };
    #[pymodule_export]
    use super::poller::Poller;
    #[pymodule_export]
    use super::signals::block_signals;
    #[pymodule_export]
    use super::testing::{Emulator, serve_emulator};
    #[pymodule_export]
    use super::wait::Watch;

    /// Refuses a second interpreter of the process, because pyo3 keeps Python objects for all of them. Python 3.12 and later refuse it
    /// before this is called.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        static INTERPRETER: OnceLock<usize> = OnceLock::new();
        // Each interpreter has its own.
        let modules = module.py().import("sys")?.getattr("modules")?.as_ptr() as usize;
        if *INTERPRETER.get_or_init(|| modules) != modules {
            return Err(PyImportError::new_err("agentjob._native was imported by another interpreter of this process"));
        }
        interpreter_end::register(module.py())?;
        with_hints(
            module,
            &["Client", "Watch", "Poller", "Batch", "CancelToken"],
            &[
                "batch_drop",
                "batch_export",
                "batch_report",
                "batch_resolve",
                "batch_retry",
                "batch_status",
                "read_batch_list",
                "write_batch_report",
            ],
        )
    }

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's own name for it")]
    const __version__: &str = agentjob_core::VERSION;
}
