//! Adds the messages of a file to a batch.

use std::ffi::c_char;

use agentjob_core::BatchItem;

use crate::batch::agentjob_batch;
use crate::code::agentjob_code;
use crate::error::agentjob_error;
use crate::guard::{Delivers, guard};
use crate::pointer::required_mut;
use crate::text::text;

/// Adds the messages of a file, each with its line. Nothing is sent. A file whose name ends in .csv is CSV with a header that names
/// the columns job_id, prompt and, optionally, key; any other file has one JSON object with these fields per line. All of the file
/// is read and checked: after an error nothing of it was added.
/// @param batch a batch that was not started
/// @param path the path of the file
/// @param err where an error goes, or NULL
/// @return AGENTJOB_OK, or AGENTJOB_ERR_INVALID_ARGUMENT: the file can't be read, has no messages, or has a wrong line, which the
/// error names by its number
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_add_file(
    batch: *mut agentjob_batch,
    path: *const c_char,
    err: *mut *mut agentjob_error,
) -> agentjob_code {
    // SAFETY: the pointers are what the header's rules say.
    unsafe {
        guard(err, Delivers::Nothing, || {
            let batch = required_mut("batch", batch)?;
            batch.add(BatchItem::read_list(text("path", path)?, None)?)
        })
    }
}
