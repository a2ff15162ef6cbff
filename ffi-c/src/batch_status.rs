//! What a journal says of its batch, whether a run is on or not.

use std::ffi::c_char;
use std::ptr;

use agentjob_core::{BatchStatus, BatchStatusItem, batch_status};

use crate::batch_progress::agentjob_progress;
use crate::code::{agentjob_code, agentjob_delivery};
use crate::error::agentjob_error;
use crate::guard::{Delivers, guard, guard_or};
use crate::pointer::{self, give, place};
use crate::text::{Text, borrow, text};

/// What a journal said of its batch at one moment. It never changes, and may be read by several threads at once.
///
/// Made by agentjob_batch_status_new(), freed by agentjob_batch_status_free(). Texts and the progress are borrowed from it.
/// @since 0.1.0
pub struct agentjob_batch_status {
    progress: agentjob_progress,
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
    unknown: Vec<StatusItem>,
    rejected: Vec<StatusItem>,
}

/// A message of which a journal has more to say than a count.
struct StatusItem {
    number: u64,
    job_id: Text,
    reason: Option<Text>,
}

impl agentjob_batch_status {
    fn new(status: &BatchStatus) -> agentjob_batch_status {
        agentjob_batch_status {
            progress: agentjob_progress(status.progress),
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
            unknown: status_items(&status.unknown),
            rejected: status_items(&status.rejected),
        }
    }

    fn item(&self, delivery: i32, index: u64) -> Option<&StatusItem> {
        const UNKNOWN: i32 = agentjob_delivery::AGENTJOB_DELIVERY_UNKNOWN as i32;
        const REJECTED: i32 = agentjob_delivery::AGENTJOB_DELIVERY_REJECTED as i32;
        let items = match delivery {
            UNKNOWN => &self.unknown,
            REJECTED => &self.rejected,
            _ => return None,
        };
        items.get(usize::try_from(index).ok()?)
    }
}

fn status_items(items: &[BatchStatusItem]) -> Vec<StatusItem> {
    items
        .iter()
        .map(|item| StatusItem {
            number: item.number,
            job_id: Text::new(&*item.job_id),
            reason: item.reason.as_deref().map(Text::new),
        })
        .collect()
}

/// Reads a batch's journal, also while another process runs the batch. Nothing is written, and nothing is sent.
/// @param journal the path of the journal
/// @param out where the status goes; free it with agentjob_batch_status_free()
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or AGENTJOB_ERR_JOURNAL: it cannot be read, is damaged (its line is named),
/// or is no journal
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_new(
    journal: *const c_char,
    out: *mut *mut agentjob_batch_status,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let journal = text("journal", journal)?;
            let out = place("out", out)?;
            out.write(give(agentjob_batch_status::new(&batch_status(journal)?)));
            Ok(())
        })
    }
}

/// How far the batch is. AGENTJOB_COUNT_ITEMS is what its last run was given.
/// @param status the status
/// @return borrowed from the status; NULL only for a NULL status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_progress(
    status: *const agentjob_batch_status,
) -> *const agentjob_progress {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living status by the header's rules.
        unsafe { status.as_ref() }.map_or(ptr::null(), |status| ptr::from_ref(&status.progress))
    })
}

/// Whether a run is on.
/// @param status the status
/// @return false also for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_is_running(status: *const agentjob_batch_status) -> bool {
    guard_or(false, || {
        // SAFETY: NULL or a living status by the header's rules.
        unsafe { status.as_ref() }.is_some_and(|status| status.running)
    })
}

/// Whether the last run waits for the jobs of its messages.
/// @param status the status
/// @return false also for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_waits(status: *const agentjob_batch_status) -> bool {
    guard_or(false, || {
        // SAFETY: NULL or a living status by the header's rules.
        unsafe { status.as_ref() }.is_some_and(|status| status.waits)
    })
}

/// The process of the last run.
/// @param status the status
/// @return its id; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_pid(status: *const agentjob_batch_status) -> u32 {
    guard_or(0, || {
        // SAFETY: NULL or a living status by the header's rules.
        unsafe { status.as_ref() }.map_or(0, |status| status.pid)
    })
}

/// How often the batch was run.
/// @param status the status
/// @return at least 1; 0 for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_runs(status: *const agentjob_batch_status) -> u64 {
    guard_or(0, || {
        // SAFETY: NULL or a living status by the header's rules.
        unsafe { status.as_ref() }.map_or(0, |status| status.runs)
    })
}

/// Where the batch's service is.
/// @param status the status
/// @return borrowed from the status; NULL only for a NULL status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_base_url(status: *const agentjob_batch_status) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living status by the header's rules.
        borrow(unsafe { status.as_ref() }.map(|status| &status.base_url))
    })
}

/// The project that the batch's jobs belong to.
/// @param status the status
/// @return borrowed from the status; NULL only for a NULL status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_project_id(status: *const agentjob_batch_status) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living status by the header's rules.
        borrow(unsafe { status.as_ref() }.map(|status| &status.project_id))
    })
}

/// The last run's rate, like "100/h".
/// @param status the status
/// @return borrowed from the status; NULL if it has none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_rate(status: *const agentjob_batch_status) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living status by the header's rules.
        borrow(unsafe { status.as_ref() }.and_then(|status| status.rate.as_ref()))
    })
}

/// When the last run began (ISO 8601).
/// @param status the status
/// @return borrowed from the status; NULL only for a NULL status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_began_at(status: *const agentjob_batch_status) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living status by the header's rules.
        borrow(unsafe { status.as_ref() }.map(|status| &status.began_at))
    })
}

/// When the journal was last written (ISO 8601).
/// @param status the status
/// @return borrowed from the status; NULL only for a NULL status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_written_at(status: *const agentjob_batch_status) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living status by the header's rules.
        borrow(unsafe { status.as_ref() }.map(|status| &status.written_at))
    })
}

/// How many damaged bytes of the journal runs have passed over, or the next run will.
/// @param status the status
/// @return bytes; 0 also for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_dropped_bytes(status: *const agentjob_batch_status) -> u64 {
    guard_or(0, || {
        // SAFETY: NULL or a living status by the header's rules.
        unsafe { status.as_ref() }.map_or(0, |status| status.dropped_bytes)
    })
}

/// The place in the batch, from 1, of a message that was rejected, or of which nobody knows whether it arrived.
/// @param status the status
/// @param delivery AGENTJOB_DELIVERY_REJECTED or AGENTJOB_DELIVERY_UNKNOWN
/// @param index which of them, from 0, in the order of the batch
/// @return the number; 0 past the last one, for another delivery, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_item_number(
    status: *const agentjob_batch_status,
    delivery: i32,
    index: u64,
) -> u64 {
    guard_or(0, || {
        // SAFETY: NULL or a living status by the header's rules.
        unsafe { status.as_ref() }.and_then(|status| status.item(delivery, index)).map_or(0, |item| item.number)
    })
}

/// The job of that message: look at it before you send the message again.
/// @param status the status
/// @param delivery AGENTJOB_DELIVERY_REJECTED or AGENTJOB_DELIVERY_UNKNOWN
/// @param index which of them, from 0, in the order of the batch
/// @return borrowed from the status; NULL past the last one, for another delivery, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_item_job_id(
    status: *const agentjob_batch_status,
    delivery: i32,
    index: u64,
) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living status by the header's rules.
        borrow(unsafe { status.as_ref() }.and_then(|status| status.item(delivery, index)).map(|item| &item.job_id))
    })
}

/// Why the service refused that message, or why nobody knows whether it arrived.
/// @param status the status
/// @param delivery AGENTJOB_DELIVERY_REJECTED or AGENTJOB_DELIVERY_UNKNOWN
/// @param index which of them, from 0, in the order of the batch
/// @return borrowed from the status; NULL if its run ended before it noted an answer, past the last one, for another delivery, and
/// for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_item_reason(
    status: *const agentjob_batch_status,
    delivery: i32,
    index: u64,
) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living status by the header's rules.
        let item = unsafe { status.as_ref() }.and_then(|status| status.item(delivery, index));
        borrow(item.and_then(|item| item.reason.as_ref()))
    })
}

/// Frees a status. Texts and the progress borrowed from it end with it.
/// @param status the status, used no more; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_status_free(status: *mut agentjob_batch_status) {
    guard_or((), || {
        // SAFETY: NULL or a status that is used no more by the header's rules.
        unsafe { pointer::free(status) }
    });
}
