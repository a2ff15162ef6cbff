//! A batch: made, started, run, freed. Its messages are in `items.rs`, its settings in `settings.rs`, its events in `event.rs`.

use std::ffi::c_char;
use std::ptr;
use std::time::Duration;

use agentjob_core::{Batch, BatchEvent, BatchItem, BatchOptions, BatchProgress, Client, Error};

use crate::batch::event::agentjob_batch_event;
use crate::batch::progress::agentjob_batch_progress;
use crate::call::AGENTJOB_FOREVER;
use crate::client::agentjob_client;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::{self, give, place, read, required, required_mut};
use crate::milliseconds::MAX_MS;
use crate::panic::guard_or;
use crate::result::{Delivers, guard};
use crate::setter::Has;
use crate::text::text;
use crate::thread_cancel;

/// Many messages, each sent at most once, even if the process crashes.
///
/// Made by agentjob_batch_new(), freed by agentjob_batch_free(). Configure it (agentjob_batch_set_...), fill it with
/// agentjob_batch_add(), start it with agentjob_batch_start(), then call agentjob_batch_next() until agentjob_batch_is_over().
/// A file, its journal, records its progress: run the batch again with the same messages and the same journal, and it resumes.
/// Messages that were accepted or rejected are not sent again. A message whose delivery an earlier run does not know has the
/// outcome unknown, and is not sent again either unless agentjob_batch_set_resend_unknown() is on.
///
/// It has its own threads from agentjob_batch_start() until it is over or freed. Only one thread may use the handle at a time; to
/// end the batch from another thread or from a signal handler, use a cancel token. After fork() the batch belongs to the parent: a
/// child may only free its copy, which does not affect the parent's.
/// @since 0.1.0
pub struct agentjob_batch {
    state: State,
    over: bool,
    progress: agentjob_batch_progress,
}

enum State {
    Preparing(Box<Preparation>),
    Running(Batch),
    /// The start failed.
    Failed,
}

/// The messages and settings of a batch that was not started yet.
struct Preparation {
    client: Client,
    options: BatchOptions,
    items: Vec<BatchItem>,
}

impl agentjob_batch {
    /// The messages, to add others.
    pub(crate) fn items(&mut self) -> Result<&mut Vec<BatchItem>, Error> {
        Ok(&mut self.preparation()?.items)
    }

    /// The messages of a batch that was not started.
    pub(crate) fn items_to_send(&self) -> &[BatchItem] {
        match &self.state {
            State::Preparing(preparation) => &preparation.items,
            _ => &[],
        }
    }

    fn preparation(&mut self) -> Result<&mut Preparation, Error> {
        match &mut self.state {
            State::Preparing(preparation) => Ok(preparation),
            _ => Err(Error::invalid_argument("the batch was already started")
                .with_hint("Configure and fill it before agentjob_batch_start().")),
        }
    }

    fn start(&mut self) -> Result<(), Error> {
        self.preparation()?;
        let State::Preparing(preparation) = std::mem::replace(&mut self.state, State::Failed) else { return Ok(()) };
        self.over = true;
        let Preparation { client, options, items } = *preparation;
        self.state = State::Running(client.send_all(items, &options)?);
        self.over = false;
        Ok(())
    }

    fn next(&mut self, timeout: Duration) -> Result<*mut agentjob_batch_event, Error> {
        let State::Running(batch) = &mut self.state else { return Err(not_started()) };
        if self.over {
            return Ok(ptr::null_mut());
        }
        // If an error or a panic comes instead of an event, the batch is over.
        self.over = true;
        let event = batch.next_event(timeout)?;
        self.over = matches!(event, BatchEvent::Finished);
        Ok(agentjob_batch_event::of(event).map_or(ptr::null_mut(), give))
    }

    pub(crate) fn running(&self) -> Result<&Batch, Error> {
        match &self.state {
            State::Running(batch) => Ok(batch),
            _ => Err(not_started()),
        }
    }

    fn progress(&mut self) -> &agentjob_batch_progress {
        let progress = match &self.state {
            State::Preparing(preparation) => {
                let (mut progress, items) = (BatchProgress::default(), preparation.items.len() as u64);
                (progress.items, progress.left) = (items, items);
                progress
            }
            State::Running(batch) => batch.progress(),
            State::Failed => BatchProgress::default(),
        };
        self.progress = agentjob_batch_progress(progress);
        &self.progress
    }
}

impl Has<BatchOptions> for agentjob_batch {
    const NAME: &str = "batch";

    fn settings(&mut self) -> Result<&mut BatchOptions, Error> {
        Ok(&mut self.preparation()?.options)
    }

    fn check(settings: &BatchOptions) -> Result<(), Error> {
        settings.check()
    }
}

/// Makes an empty batch. It sends nothing and does not open the journal; agentjob_batch_start() does.
/// @param client the client. The batch keeps its own reference, so you may free the client first; agentjob_client_close() ends the
/// batch
/// @param journal the path of the file that records the batch's progress. If it exists, the batch resumes from it. It contains the
/// jobs' ids and the service's responses, but no prompt and no API key
/// @param out gets the batch; free it with agentjob_batch_free()
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_new(
    client: *const agentjob_client,
    journal: *const c_char,
    out: *mut *mut agentjob_batch,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let client = required("client", client)?.client.clone();
            let options = BatchOptions::new(text("journal", journal)?);
            options.check()?;
            let state = State::Preparing(Box::new(Preparation { client, options, items: Vec::new() }));
            let progress = agentjob_batch_progress(BatchProgress::default());
            place("out", out)?.write(give(agentjob_batch { state, over: false, progress }));
            Ok(())
        })
    }
}

/// Starts the batch: checks all settings and messages, opens and locks the journal, and starts the threads. If it returns an error,
/// nothing was sent.
///
/// AGENTJOB_ERR_INVALID_ARGUMENT: a setting is wrong, a message is wrong (named by its line, or by its number from 1), two messages
/// have the same key, or a message differs from the one in the journal. AGENTJOB_ERR_JOURNAL: the journal cannot be opened or
/// written, is damaged (the message names the line), belongs to another service or project, or is in use by another batch, in this
/// process or another. AGENTJOB_ERR_CONNECT: a thread could not be started.
/// @param batch a batch that was not started; after an error it can only be freed
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, AGENTJOB_ERR_JOURNAL or AGENTJOB_ERR_CONNECT
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_start(
    batch: *mut agentjob_batch,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { guard(err, Delivers::Nothing, || required_mut("batch", batch)?.start()) }
}

/// Waits for the next event. The outcomes of earlier runs come first, then each outcome when it is known. When the batch ends
/// without an error and was not stopped, every message has an outcome.
///
/// A 429 pauses the batch until the service accepts messages again. A service failure (no connection, timeouts, 5xx) pauses it for
/// increasing times. Both are AGENTJOB_BATCH_KIND_PAUSED events, not errors. A failure that every other message would have too ends the
/// batch with an error: 401, 403, 3xx, TLS, a journal that cannot be written, an outage longer than agentjob_batch_set_max_outage_ms()
/// allows, the batch's cancel token, a closed client. The remaining messages are sent by the next run.
/// @param batch a batch that was started
/// @param timeout_ms how long to wait: milliseconds, 0 to 604800000 (7 days), or AGENTJOB_FOREVER
/// @param out gets the event; NULL if none came in time or the batch is over. Free it with agentjob_batch_event_free()
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or, once, the error that ended the batch before every message had an outcome:
/// AGENTJOB_ERR_AUTHENTICATION, _PERMISSION_DENIED, _REDIRECT, _TLS, _RATE_LIMIT (for more than a day), _CONNECT, _CONNECTION_LOST,
/// _TIMEOUT, _SERVER, _INVALID_RESPONSE, _CANCELLED, _CLOSED or _JOURNAL; agentjob_batch_is_over() is then true
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_next(
    batch: *mut agentjob_batch,
    timeout_ms: u64,
    out: *mut *mut agentjob_batch_event,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let batch = required_mut("batch", batch)?;
            let out = place("out", out)?;
            if timeout_ms > MAX_MS && timeout_ms != AGENTJOB_FOREVER {
                return Err(Error::invalid_argument(format!("timeout_ms is {timeout_ms}"))
                    .with_hint(format!("Give 0 to {MAX_MS} (7 days), or AGENTJOB_FOREVER.")));
            }
            out.write(batch.next(Duration::from_millis(timeout_ms))?);
            Ok(())
        })
    }
}

/// Whether the batch has no more events: agentjob_batch_next() returned the last one or an error, or the start failed.
/// @param batch the batch
/// @return true if it has none; also true for NULL, so that a loop ends
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_is_over(batch: *const agentjob_batch) -> bool {
    // SAFETY: the header's contract.
    unsafe { read(batch, true, |batch| batch.over) }
}

/// The batch's progress at this moment, including earlier runs of its journal.
/// @param batch the batch, started or not
/// @return borrowed from the batch until it is used again; NULL only for a NULL batch
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_get_progress(batch: *mut agentjob_batch) -> *const agentjob_batch_progress {
    guard_or(ptr::null(), || {
        // SAFETY: the header's contract.
        unsafe { batch.as_mut() }.map_or(ptr::null(), |batch| ptr::from_ref(batch.progress()))
    })
}

/// Stops sending and returns at once. The messages in flight still get their responses, for at most the grace period, so keep
/// calling agentjob_batch_next() until the batch is over. Run it again with the same journal to resume.
/// @param batch the batch; NULL, or one that is not running, does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_stop(batch: *mut agentjob_batch) {
    // SAFETY: the header's contract.
    unsafe {
        read(batch, (), |batch| {
            let _held = thread_cancel::hold();
            if let State::Running(batch) = &batch.state {
                batch.stop();
            }
        })
    }
}

/// Frees a batch. If it is running, it is stopped first, and this function waits, for at most the grace period, for the responses
/// to its messages in flight; the journal gets their outcomes. If your event function or the disk keeps a thread of the batch for longer,
/// it returns 1 s after the grace period, and the function may still be running: free its user_data in its destroy function. Events of
/// the batch stay valid.
/// @param batch the batch; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_free(batch: *mut agentjob_batch) {
    // SAFETY: the header's contract.
    unsafe { handle::free(batch) }
}

fn not_started() -> Error {
    Error::invalid_argument("the batch was not started").with_hint("Call agentjob_batch_start() first.")
}
