//! The report of a batch: a page of HTML in a file.

use std::ffi::c_char;

use agentjob_core::write_batch_report;

use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::result::{Delivers, guard};
use crate::text::text;

/// Writes a report about a batch into a file, from its journal, whether a run is active or not: one page of HTML with the counts, what
/// to do next, when what happened, and a table of all messages. The page loads nothing, and works without a script. It has no prompts
/// and no API key, but names jobs and pull requests, so other users cannot read the file. All of it is written, or nothing. Nothing is
/// sent.
/// @param journal the path of the journal
/// @param path the path of the report's file
/// @param replace whether to replace the file if it exists
/// @param err gets the error; may be NULL
/// @return AGENTJOB_OK; AGENTJOB_ERR_JOURNAL if the journal cannot be read, is damaged (the message names the line), or is not a
/// journal; AGENTJOB_ERR_INVALID_ARGUMENT if a path is NULL, or the file exists, is the journal itself or no regular file, or cannot
/// be written; then it is as it was
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_write_report(
    journal: *const c_char,
    path: *const c_char,
    replace: bool,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || write_batch_report(text("journal", journal)?, text("path", path)?, replace))
    }
}
