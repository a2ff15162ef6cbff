//! A batch's status: what its journal says, whether or not a run is active.

use std::ffi::c_char;
use std::ptr;

use agentjob_core::{BatchDecision, BatchStatus, BatchStatusItem, batch_status};

use crate::batch::progress::agentjob_batch_progress;
use crate::code::agentjob_code;
use crate::delivery::agentjob_delivery;
use crate::error::agentjob_error;
use crate::handle::{self, give, place, read, write_if_wanted};
use crate::panic::guard_or;
use crate::result::{Delivers, guard};
use crate::text::{NO_TEXT, Text, borrow, text};

/// A batch's status: what its journal said at one moment. It never changes, and several threads may read it at once.
///
/// Made by agentjob_batch_status_new(), freed by agentjob_batch_status_free(). Texts and the progress are borrowed from it.
/// @since 0.1.0
pub struct agentjob_batch_status {
    progress: agentjob_batch_progress,
    running: bool,
    waits: bool,
    pid: u32,
    runs: u64,
    base_url: Text,
    project_id: Text,
    rate: Option<Text>,
    began_at: Text,
    written_at: Text,
    dropped_bytes: u64,
    unknown: Vec<Item>,
    rejected: Vec<Item>,
    failed: Vec<Item>,
    decisions: Vec<Decided>,
    new_prompts: u64,
}

/// A message that was rejected, or whose delivery is unknown, or whose job failed.
struct Item {
    number: u64,
    key: Text,
    job_id: Text,
    reason: Option<Text>,
}

/// A decision about a message.
struct Decided {
    number: u64,
    key: Text,
    job_id: Text,
    decision: Text,
    at: Text,
}

impl agentjob_batch_status {
    fn new(status: &BatchStatus) -> agentjob_batch_status {
        agentjob_batch_status {
            progress: agentjob_batch_progress(status.progress),
            running: status.running,
            waits: status.waits,
            pid: status.pid,
            runs: status.runs,
            base_url: Text::new(&*status.base_url),
            project_id: Text::new(&*status.project_id),
            rate: status.rate.as_deref().map(Text::new),
            began_at: Text::new(&*status.began_at),
            written_at: Text::new(&*status.written_at),
            dropped_bytes: status.dropped_bytes,
            unknown: status.unknown.iter().map(Item::new).collect(),
            rejected: status.rejected.iter().map(Item::new).collect(),
            failed: status.failed.iter().map(Item::new).collect(),
            decisions: status.decisions.iter().map(Decided::new).collect(),
            new_prompts: status.new_prompts,
        }
    }

    fn item(&self, delivery: i32, index: u64) -> Option<&Item> {
        const UNKNOWN: i32 = agentjob_delivery::AGENTJOB_DELIVERY_UNKNOWN as i32;
        const REJECTED: i32 = agentjob_delivery::AGENTJOB_DELIVERY_REJECTED as i32;
        const ACCEPTED: i32 = agentjob_delivery::AGENTJOB_DELIVERY_ACCEPTED as i32;
        let items = match delivery {
            ACCEPTED => &self.failed,
            UNKNOWN => &self.unknown,
            REJECTED => &self.rejected,
            _ => return None,
        };
        items.get(usize::try_from(index).ok()?)
    }
}

impl Item {
    fn new(item: &BatchStatusItem) -> Item {
        Item {
            number: item.number,
            key: Text::new(&*item.key),
            job_id: Text::new(&*item.job_id),
            reason: item.reason.as_deref().map(Text::new),
        }
    }
}

impl Decided {
    fn new(made: &BatchDecision) -> Decided {
        Decided {
            number: made.number,
            key: Text::new(&*made.key),
            job_id: Text::new(&*made.job_id),
            decision: Text::new(made.decision.as_str()),
            at: Text::new(&*made.at),
        }
    }
}

/// Reads a batch's journal, also while another process runs the batch. It writes and sends nothing.
/// @param journal the path of the journal
/// @param out gets the status; free it with agentjob_batch_status_free()
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or AGENTJOB_ERR_JOURNAL if the journal cannot be read, is damaged (the
/// message names the line), or is not a journal
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_new(
    journal: *const c_char,
    out: *mut *mut agentjob_batch_status,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let journal = text("journal", journal)?;
            let out = place("out", out)?;
            out.write(give(agentjob_batch_status::new(&batch_status(journal)?)));
            Ok(())
        })
    }
}

/// The batch's progress. AGENTJOB_COUNT_ITEMS is the number of messages of its last run.
/// @param status the status
/// @return borrowed from the status; NULL only for a NULL status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_progress(
    status: *const agentjob_batch_status,
) -> *const agentjob_batch_progress {
    // SAFETY: the header's contract.
    unsafe { read(status, ptr::null(), |status| ptr::from_ref(&status.progress)) }
}

/// Whether a process is running the batch.
/// @param status the status
/// @return true if one is; false for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_is_running(status: *const agentjob_batch_status) -> bool {
    // SAFETY: the header's contract.
    unsafe { read(status, false, |status| status.running) }
}

/// Whether the last run waits for the jobs of its messages.
/// @param status the status
/// @return true if it does; false for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_waits(status: *const agentjob_batch_status) -> bool {
    // SAFETY: the header's contract.
    unsafe { read(status, false, |status| status.waits) }
}

/// The process id of the last run.
/// @param status the status
/// @return the id; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_pid(status: *const agentjob_batch_status) -> u32 {
    // SAFETY: the header's contract.
    unsafe { read(status, 0, |status| status.pid) }
}

/// How many times the batch was started.
/// @param status the status
/// @return at least 1; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_runs(status: *const agentjob_batch_status) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(status, 0, |status| status.runs) }
}

/// The URL of the batch's service.
/// @param status the status
/// @return borrowed from the status; NULL only for a NULL status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_base_url(status: *const agentjob_batch_status) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(status, NO_TEXT, |status| status.base_url.as_ptr()) }
}

/// The id of the batch's project.
/// @param status the status
/// @return borrowed from the status; NULL only for a NULL status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_project_id(status: *const agentjob_batch_status) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(status, NO_TEXT, |status| status.project_id.as_ptr()) }
}

/// The rate limit of the last run, like "100/h".
/// @param status the status
/// @return borrowed from the status; NULL if it had none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_rate(status: *const agentjob_batch_status) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(status, NO_TEXT, |status| borrow(status.rate.as_ref())) }
}

/// When the last run began (ISO 8601).
/// @param status the status
/// @return borrowed from the status; NULL only for a NULL status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_began_at(status: *const agentjob_batch_status) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(status, NO_TEXT, |status| status.began_at.as_ptr()) }
}

/// When the journal was last written (ISO 8601).
/// @param status the status
/// @return borrowed from the status; NULL only for a NULL status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_written_at(status: *const agentjob_batch_status) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(status, NO_TEXT, |status| status.written_at.as_ptr()) }
}

/// How many bytes of lines that were cut off runs have skipped, or the next run will skip.
/// @param status the status
/// @return bytes; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_dropped_bytes(status: *const agentjob_batch_status) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(status, 0, |status| status.dropped_bytes) }
}

/// A message that was rejected, whose delivery is unknown, or that was accepted and whose job failed. To get all of them, count the index up until it returns false. Before
/// you send a message again whose delivery is unknown, check its job.
/// @param status the status
/// @param delivery AGENTJOB_DELIVERY_REJECTED, AGENTJOB_DELIVERY_UNKNOWN, or AGENTJOB_DELIVERY_ACCEPTED for those whose jobs were
/// waited for and failed
/// @param index which of them, from 0, in the order of the batch
/// @param number gets the message's position in the batch, from 1; may be NULL
/// @param key gets its own key, if the journal could store it, or the one derived from its content and position, borrowed from the
/// status; may be NULL
/// @param job_id gets the id of its job, borrowed from the status; may be NULL
/// @param reason gets why it was rejected or its delivery is unknown, borrowed from the status; NULL if its run ended before the
/// journal had a reason, and for a job that failed; may be NULL
/// @return whether there is such a message. If not, past the last one, for another delivery and for NULL, nothing is written
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_item(
    status: *const agentjob_batch_status,
    delivery: i32,
    index: u64,
    number: *mut u64,
    key: *mut *const c_char,
    job_id: *mut *const c_char,
    reason: *mut *const c_char,
) -> bool {
    guard_or(false, || {
        // SAFETY: the header's contract.
        unsafe {
            let Some(item) = read(status, None, |status| status.item(delivery, index)) else { return false };
            write_if_wanted(number, item.number);
            write_if_wanted(key, item.key.as_ptr());
            write_if_wanted(job_id, item.job_id.as_ptr());
            write_if_wanted(reason, borrow(item.reason.as_ref()));
            true
        }
    })
}

/// How many messages the next run needs a prompt for that agentjob_batch_retry() gave them.
/// @param status the status
/// @return messages; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_new_prompts(status: *const agentjob_batch_status) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(status, 0, |status| status.new_prompts) }
}

/// The last decision about a message. To get all of them, count the index up until it returns false.
/// @param status the status
/// @param index which of them, from 0, in the order of the batch
/// @param number gets the message's position in the batch, from 1; may be NULL
/// @param key gets its key, borrowed from the status; may be NULL
/// @param job_id gets the id of its job, borrowed from the status; may be NULL
/// @param decision gets "arrived", "not_arrived", "resend", "retry" or "drop", borrowed from the status; may be NULL
/// @param at gets when it was decided (ISO 8601), borrowed from the status; may be NULL
/// @return whether there is such a decision. If not, past the last one and for NULL, nothing is written
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_decision(
    status: *const agentjob_batch_status,
    index: u64,
    number: *mut u64,
    key: *mut *const c_char,
    job_id: *mut *const c_char,
    decision: *mut *const c_char,
    at: *mut *const c_char,
) -> bool {
    guard_or(false, || {
        // SAFETY: the header's contract.
        unsafe {
            let found = |status: &'static agentjob_batch_status| status.decisions.get(usize::try_from(index).ok()?);
            let Some(made) = read(status, None, found) else { return false };
            write_if_wanted(number, made.number);
            write_if_wanted(key, made.key.as_ptr());
            write_if_wanted(job_id, made.job_id.as_ptr());
            write_if_wanted(decision, made.decision.as_ptr());
            write_if_wanted(at, made.at.as_ptr());
            true
        }
    })
}

/// Frees a status, and with it the texts and the progress that are borrowed from it.
/// @param status the status; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_free(status: *mut agentjob_batch_status) {
    // SAFETY: the header's contract.
    unsafe { handle::free(status) }
}
