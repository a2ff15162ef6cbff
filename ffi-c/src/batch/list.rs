//! Adds the messages of a file to a batch.

use std::ffi::c_char;

use agentjob_core::BatchItem;

use crate::batch::lifecycle::agentjob_batch;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::handle::required_mut;
use crate::result::{Delivers, guard};
use crate::text::text;

/// Adds the messages of a file, each with its line. Nothing is sent. A file whose name ends in .csv is CSV with a header that names
/// the columns job_id, prompt and, optionally, key; any other file has one JSON object with these fields per line. The whole file is
/// read and checked: after an error none of its messages was added.
/// @param batch a batch that was not started
/// @param path the path of the file
/// @param err gets the error, whose message names a wrong line; may be NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT if batch or path is NULL or batch was started, or if the file cannot be
/// read, has no messages, or has a wrong line
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_add_file(
    batch: *mut agentjob_batch,
    path: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the header's contract.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let batch = required_mut("batch", batch)?;
            batch.add(BatchItem::read_list(text("path", path)?, None)?)
        })
    }
}
