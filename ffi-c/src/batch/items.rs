//! The messages of a batch.

use std::ffi::c_char;

use agentjob_core::{BatchItem, BatchUpdate, Error, ListOptions};

use crate::batch::lifecycle::agentjob_batch;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::{read, required_mut, write_if_wanted};
use crate::panic::guard_or;
use crate::result::{Delivers, guard};
use crate::text::{sized_text, text};

/// Adds a message. Nothing is sent. This function checks for NULL and UTF-8; agentjob_batch_start() checks the rest. Messages to
/// one job are sent one after the other, in the order in which they were added.
/// @param batch a batch that was not started
/// @param job_id the job's id
/// @param prompt the message, UTF-8, at least 1 byte; a NUL byte in it is sent like any other byte
/// @param prompt_len its length in bytes, or AGENTJOB_NUL_TERMINATED
/// @param key a name that is unique in the batch, 1 to 1024 bytes, without white space or invisible characters around it, by which the
/// journal recognizes the message at any position; or NULL to recognize it by its content and position
/// @param line the line of your input file, for error messages; 0 for none
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK or AGENTJOB_ERR_INVALID_ARGUMENT
/// @since 0.1.0
#[must_use]
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
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let items = required_mut("batch", batch)?.items()?;
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

/// Gives the message that was added last its metadata, which its outcome has again: see agentjob_batch_event_extra(). It is neither
/// sent nor written to the journal.
/// @param batch a batch that was not started, with at least one message
/// @param json any JSON value, at most 4096 bytes
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT also if it is not JSON; then the message keeps what it had
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_set_item_extra(
    batch: *mut agentjob_batch,
    json: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let items = required_mut("batch", batch)?.items()?;
            let none = || Error::invalid_argument("the batch has no message yet");
            let item = items.last_mut().ok_or_else(|| none().with_hint("Call agentjob_batch_add() first."))?;
            let json = text("json", json)?;
            BatchItem::check_extra(json)?;
            let without = std::mem::replace(item, BatchItem::new("", ""));
            *item = without.with_extra(json);
            Ok(())
        })
    }
}

/// Adds the messages of a file, each with its line. Nothing is sent. A file whose name ends in .csv or .tsv has a header that names
/// the columns job_id, prompt and, optionally, key, separated by commas or tabs; any other file has JSON objects with these fields,
/// one per line or all in one array. In .csv and .tsv a field with a separator, a quote or a line break is quoted as a whole, and its
/// quotes are doubled (RFC 4180); any other quote is refused. The whole file is read and checked: after an error none of its
/// messages was added.
/// @param batch a batch that was not started
/// @param path the path of the file
/// @param extra what to do with other columns or fields: true keeps those of each message as one JSON object, its metadata (see
/// agentjob_batch_event_extra()); false refuses the file
/// @param err gets the error, whose message names a wrong line; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch or path is NULL or batch was started, or if the file cannot be
/// read, has no messages, or has a wrong line
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_add_file(
    batch: *mut agentjob_batch,
    path: *const c_char,
    extra: bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let items = required_mut("batch", batch)?.items()?;
            items.extend(BatchItem::read_list(text("path", path)?, &ListOptions::new().extra(extra))?);
            Ok(())
        })
    }
}

/// How many messages of a batch have the same job and the same prompt as one before them, to know it before anything is sent. The
/// batch's event AGENTJOB_BATCH_KIND_REPEATED says the same.
/// @param batch a batch that was not started
/// @param number gets the position of the first of them, from 1, or 0 if there is none; may be NULL
/// @param first gets the position of the message that it repeats, or 0; may be NULL
/// @return how many; 0 for a batch that was started, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_repeats(
    batch: *const agentjob_batch,
    number: *mut u64,
    first: *mut u64,
) -> u64 {
    guard_or(0, || {
        // SAFETY: the header's contract.
        unsafe {
            let (count, at, of) = read(batch, (0, 0, 0), |batch| match BatchItem::repeated(batch.items_to_send()) {
                Some(BatchUpdate::Repeated { count, number, first_number, .. }) => (count, number, first_number),
                _ => (0, 0, 0),
            });
            write_if_wanted(number, at);
            write_if_wanted(first, of);
            count
        }
    })
}
