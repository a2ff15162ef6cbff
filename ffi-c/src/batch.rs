//! Many messages: paced, resumable, none sent twice. Its settings are in `batch_settings.rs`, what it tells in `batch_event.rs`.

use std::ffi::c_char;
use std::ptr;
use std::time::Duration;

use agentjob_core::{Batch, BatchEvent, BatchItem, BatchOptions, BatchProgress, Client, Error};

use crate::batch_event::agentjob_batch_event;
use crate::batch_progress::agentjob_progress;
use crate::call::AGENTJOB_FOREVER;
use crate::client::agentjob_client;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::guard::{Delivers, guard, guard_or};
use crate::pointer::{self, give, place, required, required_mut};
use crate::text::{sized_text, text};

/// The longest time that a step may be given, as every other time: 7 days.
const MAX_STEP_MS: u64 = 7 * 24 * 3600 * 1000;

/// Many messages, each sent at most once, whatever ends the process.
///
/// Made by agentjob_client_batch(), freed by agentjob_batch_free(). Set it up (agentjob_batch_set_...), fill it with
/// agentjob_batch_add(), begin it with agentjob_batch_start(), then call agentjob_batch_next() until agentjob_batch_is_over().
/// Its journal, a file, keeps its place: run it again with the same items and the same journal, and it goes on where it was.
/// What was accepted or rejected is not sent again; a message of which an earlier run does not know whether it arrived is told as
/// unknown, and is not sent again either unless agentjob_batch_set_resend_unknown() is on.
///
/// It works in threads of its own, from agentjob_batch_start() until it is over or freed. The handle is to be used by one thread
/// at a time; to end it from another one, or from a signal handler, give it a token. After a fork() it is the parent's: a child
/// may only free it, which leaves the parent's alone.
/// @since 0.1.0
pub struct agentjob_batch {
    state: State,
    over: bool,
    progress: agentjob_progress,
}

enum State {
    Filling(Box<Filling>),
    Running(Batch),
    /// The start failed.
    Gone,
}

/// What a batch is made of, until it is started.
struct Filling {
    client: Client,
    options: BatchOptions,
    items: Vec<BatchItem>,
}

impl agentjob_batch {
    fn filling(&mut self) -> Result<&mut Filling, Error> {
        match &mut self.state {
            State::Filling(filling) => Ok(filling),
            _ => Err(Error::invalid_argument("the batch was started already; what it is made of is set before that")),
        }
    }

    fn start(&mut self) -> Result<(), Error> {
        self.filling()?;
        let State::Filling(filling) = std::mem::replace(&mut self.state, State::Gone) else { return Ok(()) };
        self.over = true;
        let Filling { client, options, items } = *filling;
        self.state = State::Running(client.send_all(items, &options)?);
        self.over = false;
        Ok(())
    }

    fn next(&mut self, time: Duration) -> Result<*mut agentjob_batch_event, Error> {
        let State::Running(batch) = &mut self.state else {
            return Err(Error::invalid_argument("the batch was not started; that is agentjob_batch_start()"));
        };
        if self.over {
            return Ok(ptr::null_mut());
        }
        // A failure or a panic instead of an event is the end.
        self.over = true;
        let event = batch.next_event(time)?;
        self.over = matches!(event, BatchEvent::Finished);
        Ok(agentjob_batch_event::of(event).map_or(ptr::null_mut(), give))
    }

    fn progress(&mut self) -> &agentjob_progress {
        let progress = match &self.state {
            State::Filling(filling) => {
                let (mut progress, items) = (BatchProgress::default(), filling.items.len() as u64);
                (progress.items, progress.left) = (items, items);
                progress
            }
            State::Running(batch) => batch.progress(),
            State::Gone => BatchProgress::default(),
        };
        self.progress = agentjob_progress(progress);
        &self.progress
    }
}

/// Changes one setting.
///
/// # Safety
/// `batch` is NULL, or a living batch that nobody else uses meanwhile.
pub(crate) unsafe fn set(
    batch: *mut agentjob_batch,
    change: &dyn Fn(BatchOptions) -> Result<BatchOptions, Error>,
) -> Result<(), Error> {
    // SAFETY: the caller's promise is the same.
    let filling = unsafe { required_mut("batch", batch) }?.filling()?;
    // Changed in a copy: a refused setting leaves the batch as it was.
    filling.options = change(filling.options.clone())?;
    Ok(())
}

/// Makes an empty batch. Nothing is sent, and the journal is not opened before agentjob_batch_start().
/// @param client the client; the batch keeps a reference of its own, so it may be freed before it. agentjob_client_close() ends it
/// @param journal the path of the file that keeps the batch's place; one that exists is gone on with. It holds the jobs' ids and
/// the service's answers, but no prompt and no key
/// @param out where the batch goes; free it with agentjob_batch_free()
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_client_batch(
    client: *const agentjob_client,
    journal: *const c_char,
    out: *mut *mut agentjob_batch,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let client = required("client", client)?.client.clone();
            let options = BatchOptions::new(text("journal", journal)?);
            let state = State::Filling(Box::new(Filling { client, options, items: Vec::new() }));
            let progress = agentjob_progress(BatchProgress::default());
            place("out", out)?.write(give(agentjob_batch { state, over: false, progress }));
            Ok(())
        })
    }
}

/// Adds a message. Nothing is sent; beyond NULL and UTF-8 it is checked by agentjob_batch_start(), which names a wrong one.
/// Messages to one job are sent one after the other, in the order in which they were added.
/// @param batch a batch that was not started
/// @param job_id the job, copied
/// @param prompt the instruction, UTF-8, at least 1 byte, copied; a NUL byte inside is sent like any other
/// @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
/// @param key a name that is this message's own in the batch, 1 to 1024 bytes, by which the journal knows it wherever it stands;
/// or NULL, and it is known by its content and its place
/// @param line the line of the file that the message is from, to be named in errors; 0 if it is from none
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_add(
    batch: *mut agentjob_batch,
    job_id: *const c_char,
    prompt: *const c_char,
    prompt_len: usize,
    key: *const c_char,
    line: u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let items = &mut required_mut("batch", batch)?.filling()?.items;
            let mut item = BatchItem::new(text("job_id", job_id)?, sized_text("prompt", prompt, prompt_len)?);
            if !key.is_null() {
                item = item.with_key(text("key", key)?);
            }
            if line > 0 {
                item = item.with_line(line);
            }
            items.push(item);
            Ok(())
        })
    }
}

/// Begins: every setting and every message is checked, the journal is opened and locked, and the threads are started. Before it
/// returns with an error, nothing was sent by this batch.
///
/// AGENTJOB_ERR_INVALID_ARGUMENT names what is wrong: a setting, a message by its line or its number from 1, two messages with one
/// key, or a message that is not the one that the journal has. AGENTJOB_ERR_JOURNAL: the journal cannot be opened or written, is
/// damaged (its line is named), is another service's or project's, or is in use by another batch, of this process or of another.
/// @param batch a batch that was not started; after an error it is good for nothing but to be freed
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, AGENTJOB_ERR_JOURNAL, or AGENTJOB_ERR_CONNECT if no thread could be started
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_start(
    batch: *mut agentjob_batch,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe { guard(err, Delivers::Nothing, || required_mut("batch", batch)?.start()) }
}

/// Waits for what happens next. The outcomes of earlier runs come first, then each outcome as it comes; every message has one
/// when the batch is over.
///
/// A 429 holds the whole batch back until the service allows more, trouble on the way (no connection, timeouts, 5xx) for a time that
/// grows: both are told as AGENTJOB_BATCH_PAUSED and are no error. What every other message would meet alike ends the batch with an
/// error: 401, 403, 3xx, TLS, a journal that cannot be written, too long trouble, the batch's token, a closed client. The messages
/// that are left are for the next run.
/// @param batch a batch that was started
/// @param timeout_ms how long to wait: milliseconds, 0 to 604800000 (7 days), or AGENTJOB_FOREVER
/// @param out where the event goes, NULL if none came in time and when the batch is over; free it with agentjob_batch_event_free()
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or what ended the batch before every message had its outcome:
/// AGENTJOB_ERR_AUTHENTICATION, _PERMISSION_DENIED, _REDIRECT, _TLS, _RATE_LIMIT (for more than a day), _CONNECT, _CONNECTION_LOST,
/// _TIMEOUT, _SERVER, _INVALID_RESPONSE, _CANCELLED, _CLOSED or _JOURNAL. That comes once; agentjob_batch_is_over() is true after it
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_next(
    batch: *mut agentjob_batch,
    timeout_ms: u64,
    out: *mut *mut agentjob_batch_event,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let batch = required_mut("batch", batch)?;
            let out = place("out", out)?;
            if timeout_ms > MAX_STEP_MS && timeout_ms != AGENTJOB_FOREVER {
                return Err(Error::invalid_argument(format!(
                    "timeout_ms is {timeout_ms}; give 0 to {MAX_STEP_MS} (7 days), or AGENTJOB_FOREVER"
                )));
            }
            out.write(batch.next(Duration::from_millis(timeout_ms))?);
            Ok(())
        })
    }
}

/// Whether nothing more comes from a batch: agentjob_batch_next() said all, or what ended it, or the start failed.
/// @param batch the batch
/// @return true also for NULL, so that a loop ends
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_is_over(batch: *const agentjob_batch) -> bool {
    guard_or(true, || {
        // SAFETY: NULL or a living batch by the header's rules.
        unsafe { batch.as_ref() }.is_none_or(|batch| batch.over)
    })
}

/// How far the batch is at this moment; what earlier runs of its journal did counts.
/// @param batch the batch, started or not
/// @return borrowed from the batch until it is used again; NULL only for a NULL batch
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_progress(batch: *mut agentjob_batch) -> *const agentjob_progress {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living batch that nobody else uses meanwhile, by the header's rules.
        unsafe { batch.as_mut() }.map_or(ptr::null(), |batch| ptr::from_ref(batch.progress()))
    })
}

/// Sends nothing more, and returns at once. The messages that are under way have their answers, for at most the grace; go on with
/// agentjob_batch_next() until the batch is over. Run it again with the same journal to go on.
/// @param batch the batch; NULL, and one that is not at work, is nothing to stop
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_stop(batch: *mut agentjob_batch) {
    guard_or((), || {
        // SAFETY: NULL or a living batch that nobody else uses meanwhile, by the header's rules.
        if let Some(agentjob_batch { state: State::Running(batch), .. }) = unsafe { batch.as_ref() } {
            batch.stop();
        }
    });
}

/// Frees a batch. One at work is stopped first, and waited for: the messages under way have their answers, for at most the
/// grace; their outcomes are in the journal. Events that came from it live on.
/// @param batch the batch, used no more; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_free(batch: *mut agentjob_batch) {
    guard_or((), || {
        // SAFETY: NULL or a batch that is used no more by the header's rules.
        unsafe { pointer::free(batch) }
    });
}
