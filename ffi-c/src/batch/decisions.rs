//! What a person decides about the messages of a batch between its runs, and the export of all of them.

use std::convert::Infallible;
use std::ffi::c_char;
use std::slice;

use agentjob_core::{BatchRef, Error, ExportFormat, Resolution, batch_drop, batch_export, batch_resolve, batch_retry};

use crate::batch::lifecycle::agentjob_batch;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::{self, give, null, place, write_if_wanted};
use crate::result::{Delivers, guard};
use crate::setter::set;
use crate::text::{Text, read_sized, sized_text, text};

/// What is known about a message whose delivery is unknown, or what to do about it.
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_resolution {
    /// It arrived: it counts as accepted.
    AGENTJOB_RESOLUTION_ARRIVED = 0,
    /// It did not arrive: the next run sends it.
    AGENTJOB_RESOLUTION_NOT_ARRIVED = 1,
    /// The next run sends it although it may have arrived. If it did, the agent works twice.
    AGENTJOB_RESOLUTION_RESEND = 2,
}

/// How agentjob_batch_export_new() writes.
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_export_format {
    /// A header and one record per message (RFC 4180).
    AGENTJOB_EXPORT_FORMAT_CSV = 0,
    /// One JSON object per line and message.
    AGENTJOB_EXPORT_FORMAT_JSONL = 1,
}

/// The messages of a batch as text.
///
/// Made by agentjob_batch_export_new(), freed by agentjob_batch_export_free(). The text is borrowed from it.
/// @since 0.1.0
pub struct agentjob_batch_export(Text);

/// The items that were named.
///
/// # Safety
/// `items` is NULL, or `count` pointers to NUL-terminated texts.
unsafe fn references(items: *const *const c_char, count: usize) -> Result<Vec<BatchRef>, Error> {
    if count == 0 {
        return Ok(Vec::new());
    }
    if items.is_null() {
        return Err(null("items"));
    }
    // SAFETY: not NULL, and as long as the caller promises.
    let items = unsafe { slice::from_raw_parts(items, count) };
    let reference = |item: &*const c_char| {
        // SAFETY: the caller promises it for each.
        let text = unsafe { text("item", *item) }?;
        Ok(text.parse().unwrap_or_else(|never: Infallible| match never {}))
    };
    items.iter().map(reference).collect()
}

/// Decides about messages whose delivery is unknown. The next run of the batch acts on it; until then it can be decided otherwise.
/// The decisions are in the journal, on the disk, when this returns. After an error none was written.
/// @param journal the path of the journal. No run may be using it
/// @param items the messages: each is a number from 1, a key, or "all" alone for every message whose delivery is unknown and about
/// which nothing was decided. A key that reads as a number or as all is written "key:17"
/// @param count how many items there are
/// @param resolution an AGENTJOB_RESOLUTION_ number
/// @param decided gets how many messages were decided about; may be NULL
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK; AGENTJOB_ERR_INVALID_ARGUMENT, which names the item: it is not in the journal, is named twice, or its delivery
/// is not unknown; or AGENTJOB_ERR_JOURNAL: the journal cannot be read or written, is damaged, or a run is using it
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_resolve(
    journal: *const c_char,
    items: *const *const c_char,
    count: usize,
    resolution: i32,
    decided: *mut u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let journal = text("journal", journal)?;
            let resolution = match resolution {
                0 => Resolution::Arrived,
                1 => Resolution::NotArrived,
                2 => Resolution::Resend,
                _ => {
                    return Err(Error::invalid_argument(format!("resolution is {resolution}"))
                        .with_hint("Give an AGENTJOB_RESOLUTION_ number."));
                }
            };
            let made = batch_resolve(journal, &references(items, count)?, resolution)?;
            write_if_wanted(decided, made.len() as u64);
            Ok(())
        })
    }
}

/// Decides that the next run sends rejected messages again, with the same prompt or all of them with another one. The journal has only
/// the digest of a new prompt: the next run needs it, too (agentjob_batch_add_retry_prompt(), or the message in the list), and
/// refuses to start without it.
/// @param journal the path of the journal. No run may be using it
/// @param items as for agentjob_batch_resolve(); "all" is every rejected message about which nothing was decided
/// @param count how many items there are
/// @param prompt the new prompt in UTF-8, or NULL for the same
/// @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED; not used for NULL
/// @param decided gets how many messages were decided about; may be NULL
/// @param err gets the error; may be NULL
/// @return as agentjob_batch_resolve(); AGENTJOB_ERR_INVALID_ARGUMENT, too, if a message was not rejected, or the prompt is empty,
/// too long or not UTF-8
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_retry(
    journal: *const c_char,
    items: *const *const c_char,
    count: usize,
    prompt: *const c_char,
    prompt_len: usize,
    decided: *mut u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let journal = text("journal", journal)?;
            let prompt = if prompt.is_null() { None } else { Some(sized_text("prompt", prompt, prompt_len)?) };
            let made = batch_retry(journal, &references(items, count)?, prompt)?;
            write_if_wanted(decided, made.len() as u64);
            Ok(())
        })
    }
}

/// Decides that the batch is done with messages that were rejected, not sent, or whose delivery is unknown: no run sends or reports
/// them.
/// @param journal the path of the journal. No run may be using it
/// @param items as for agentjob_batch_resolve(); "all" is every message that was rejected or whose delivery is unknown
/// @param count how many items there are
/// @param decided gets how many messages were decided about; may be NULL
/// @param err gets the error; may be NULL
/// @return as agentjob_batch_resolve(); AGENTJOB_ERR_INVALID_ARGUMENT, too, if a message was accepted
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_drop(
    journal: *const c_char,
    items: *const *const c_char,
    count: usize,
    decided: *mut u64,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let journal = text("journal", journal)?;
            let made = batch_drop(journal, &references(items, count)?)?;
            write_if_wanted(decided, made.len() as u64);
            Ok(())
        })
    }
}

/// Adds a prompt with which agentjob_batch_retry() decided to send a message again. A run takes it for a message only if it is
/// exactly the one that was decided.
/// @param batch a batch that was not started
/// @param prompt the prompt in UTF-8
/// @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch or prompt is NULL or batch was started, or prompt is not UTF-8;
/// agentjob_batch_start() checks that the journal has such a decision
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_add_retry_prompt(
    batch: *mut agentjob_batch,
    prompt: *const c_char,
    prompt_len: usize,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe { set(batch, err, &|to| Ok(to.retry_prompt(sized_text("prompt", prompt, prompt_len)?))) }
}

/// Reads a batch's journal, also during a run, and writes every message of the last run that was sent or tried as text. The columns,
/// and the keys of each JSON object, are item, key, job_id, state (accepted, rejected, unknown, not_sent, sending, dropped), decision,
/// decided_at, at (when the outcome was recorded), http_status, reason, status and pr_link (the job's, once a run has waited for the
/// message's result).
/// @param journal the path of the journal
/// @param format an AGENTJOB_EXPORT_FORMAT_ number
/// @param out gets the export; free it with agentjob_batch_export_free()
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, AGENTJOB_ERR_INVALID_ARGUMENT, or AGENTJOB_ERR_JOURNAL if the journal cannot be read or is damaged
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_export_new(
    journal: *const c_char,
    format: i32,
    out: *mut *mut agentjob_batch_export,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let journal = text("journal", journal)?;
            let out = place("out", out)?;
            let format = match format {
                0 => ExportFormat::Csv,
                1 => ExportFormat::JsonLines,
                _ => {
                    return Err(Error::invalid_argument(format!("format is {format}"))
                        .with_hint("Give an AGENTJOB_EXPORT_FORMAT_ number."));
                }
            };
            let export = batch_export(journal, &[])?.text(format);
            out.write(give(agentjob_batch_export(Text::new(export))));
            Ok(())
        })
    }
}

/// The text of an export, in UTF-8.
/// @param exported the export
/// @param len gets the length in bytes; may be NULL
/// @return borrowed from the export; NULL only for a NULL export
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_export_text(
    exported: *const agentjob_batch_export,
    len: *mut usize,
) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read_sized(exported, len, |exported| Some(&exported.0)) }
}

/// Frees an export, and with it its text.
/// @param exported the export; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_export_free(exported: *mut agentjob_batch_export) {
    // SAFETY: the header's contract.
    unsafe { handle::free(exported) }
}
