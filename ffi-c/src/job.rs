//! The job record in C. Its texts are the core's, which keeps a NUL after each.

use std::ffi::c_char;
use std::ptr;

use agentjob_core::{Job, TextField};

use crate::handle::{self, read, write_if_wanted};
use crate::panic::guard_or;
use crate::status::agentjob_status;
use crate::text::NO_TEXT;

/// A job's record: what the service said about the job at one moment. It never changes.
///
/// A record that a call returns through `agentjob_job **out` is yours: free it with agentjob_job_free(). A record from
/// agentjob_error_job(), agentjob_poller_job(), agentjob_batch_event_job() or a progress function is borrowed;
/// agentjob_job_clone() keeps it. Several threads may read it at once. Texts are borrowed from it and are valid until it is freed.
/// @since 0.1.0
pub struct agentjob_job(Job);

impl agentjob_job {
    pub(crate) fn new(job: Job) -> agentjob_job {
        agentjob_job(job)
    }

    /// A documented text, NULL where the record has none.
    fn text(&self, field: TextField) -> *const c_char {
        pointer(self.0.text_with_nul(field))
    }
}

/// The text for C, NULL where there is none.
fn pointer(text_with_nul: Option<&str>) -> *const c_char {
    text_with_nul.map_or(NO_TEXT, |text| text.as_ptr().cast())
}

/// The text that a function returns, and its length in `*len`.
///
/// # Safety
/// As for [`read`]; `len` is NULL, or memory for one length.
unsafe fn read_with_nul<'a>(
    job: *const agentjob_job,
    len: *mut usize,
    get: impl FnOnce(&'a Job) -> Option<&'a str>,
) -> *const c_char {
    // SAFETY: the caller promises the same.
    unsafe {
        let text = read(job, None, |job| get(&job.0));
        write_if_wanted(len, text.map_or(0, |text| text.len() - 1));
        pointer(text)
    }
}

/// No job is older than 1970, so -1 always means "none", as in agentjob_error_retry_after_ms().
fn since_1970(unix_ms: Option<i64>) -> i64 {
    unix_ms.filter(|ms| *ms >= 0).unwrap_or(-1)
}

/// A documented text of a record, for agentjob_job_text().
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_job_field {
    /// As agentjob_job_id().
    AGENTJOB_JOB_FIELD_ID = 0,
    /// As agentjob_job_status_name().
    AGENTJOB_JOB_FIELD_STATUS = 1,
    /// As agentjob_job_source_repository().
    AGENTJOB_JOB_FIELD_SOURCE_REPOSITORY = 2,
    /// As agentjob_job_source_ref().
    AGENTJOB_JOB_FIELD_SOURCE_REF = 3,
    /// As agentjob_job_model().
    AGENTJOB_JOB_FIELD_MODEL = 4,
    /// As agentjob_job_pr_link().
    AGENTJOB_JOB_FIELD_PR_LINK = 5,
    /// As agentjob_job_created_at().
    AGENTJOB_JOB_FIELD_CREATED_AT = 6,
    /// As agentjob_job_archived_at().
    AGENTJOB_JOB_FIELD_ARCHIVED_AT = 7,
}

/// Each field with the core's.
const FIELDS: [(agentjob_job_field, TextField); 8] = {
    use agentjob_job_field::*;
    [
        (AGENTJOB_JOB_FIELD_ID, TextField::Id),
        (AGENTJOB_JOB_FIELD_STATUS, TextField::Status),
        (AGENTJOB_JOB_FIELD_SOURCE_REPOSITORY, TextField::SourceRepository),
        (AGENTJOB_JOB_FIELD_SOURCE_REF, TextField::SourceRef),
        (AGENTJOB_JOB_FIELD_MODEL, TextField::Model),
        (AGENTJOB_JOB_FIELD_PR_LINK, TextField::PrLink),
        (AGENTJOB_JOB_FIELD_CREATED_AT, TextField::CreatedAt),
        (AGENTJOB_JOB_FIELD_ARCHIVED_AT, TextField::ArchivedAt),
    ]
};

/// A documented text with its length. The service may put a NUL byte into any of them, at which the text of the other functions ends.
/// @param job the record
/// @param field an AGENTJOB_JOB_FIELD_ number
/// @param len gets the length in bytes, without the NUL at the end; may be NULL
/// @return borrowed from the record; NULL, and 0 in *len, if the record has none, for any other number, and for a NULL record
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_text(job: *const agentjob_job, field: i32, len: *mut usize) -> *const c_char {
    guard_or(NO_TEXT, || {
        let field = FIELDS.iter().find(|row| row.0 as i32 == field).map(|row| row.1);
        // SAFETY: the header's contract.
        unsafe { read_with_nul(job, len, |job| job.text_with_nul(field?)) }
    })
}

/// The job's id.
/// @param job the record
/// @return borrowed from the record; NULL only for a NULL record
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_id(job: *const agentjob_job) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(job, NO_TEXT, |job| job.text(TextField::Id)) }
}

/// The job's status, to branch on.
/// @param job the record
/// @return the status; AGENTJOB_STATUS_UNKNOWN for a status that this version does not know, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_status(job: *const agentjob_job) -> agentjob_status {
    // SAFETY: the header's contract.
    unsafe { read(job, agentjob_status::AGENTJOB_STATUS_UNKNOWN, |job| agentjob_status::from(job.0.status())) }
}

/// The job's status as the service spells it, including one that this version does not know.
/// @param job the record
/// @return borrowed from the record; NULL only for a NULL record
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_status_name(job: *const agentjob_job) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(job, NO_TEXT, |job| job.text(TextField::Status)) }
}

/// Whether the job is done: completed, archived or failed.
/// @param job the record
/// @return true if it is; false for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_is_terminal(job: *const agentjob_job) -> bool {
    // SAFETY: the header's contract.
    unsafe { read(job, false, |job| job.0.is_terminal()) }
}

/// The repository that the job works on, usually a full URL.
/// @param job the record
/// @return borrowed from the record; NULL if the record has none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_source_repository(job: *const agentjob_job) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(job, NO_TEXT, |job| job.text(TextField::SourceRepository)) }
}

/// The ref that the job works on, usually a branch.
/// @param job the record
/// @return borrowed from the record; NULL if the record has none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_source_ref(job: *const agentjob_job) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(job, NO_TEXT, |job| job.text(TextField::SourceRef)) }
}

/// The AI model.
/// @param job the record
/// @return borrowed from the record; NULL if the record has none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_model(job: *const agentjob_job) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(job, NO_TEXT, |job| job.text(TextField::Model)) }
}

/// The pull request's URL. It is the service's text and was not checked: check it before you open it.
/// @param job the record
/// @return borrowed from the record; NULL while the job is active, and if no file changed
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_pr_link(job: *const agentjob_job) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(job, NO_TEXT, |job| job.text(TextField::PrLink)) }
}

/// When the job was created, as the service wrote it (ISO 8601).
/// @param job the record
/// @return borrowed from the record; NULL if the record has none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_created_at(job: *const agentjob_job) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(job, NO_TEXT, |job| job.text(TextField::CreatedAt)) }
}

/// When the job was created, as a number: agentjob_job_created_at() parsed as ISO 8601 with an offset.
/// @param job the record
/// @return milliseconds since 1970-01-01T00:00:00Z; -1 if the record has no such time or one before 1970, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_created_at_unix_ms(job: *const agentjob_job) -> i64 {
    // SAFETY: the header's contract.
    unsafe { read(job, -1, |job| since_1970(job.0.created_at_unix_ms())) }
}

/// When the job was archived, as the service wrote it (ISO 8601).
/// @param job the record
/// @return borrowed from the record; NULL if the job is not archived
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_archived_at(job: *const agentjob_job) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(job, NO_TEXT, |job| job.text(TextField::ArchivedAt)) }
}

/// When the job was archived, as a number: agentjob_job_archived_at() parsed as ISO 8601 with an offset.
/// @param job the record
/// @return milliseconds since 1970-01-01T00:00:00Z; -1 if the record has no such time or one before 1970, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_archived_at_unix_ms(job: *const agentjob_job) -> i64 {
    // SAFETY: the header's contract.
    unsafe { read(job, -1, |job| since_1970(job.0.archived_at_unix_ms())) }
}

/// The whole record as compact JSON: the documented keys in their order, null where the service left one out, then the keys that
/// this version does not know, unchanged and in the service's order.
/// @param job the record
/// @param len gets the length in bytes, without the NUL at the end; may be NULL
/// @return borrowed from the record; NULL, and 0 in *len, only for a NULL record
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_json(job: *const agentjob_job, len: *mut usize) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read_with_nul(job, len, |job| Some(job.json_with_nul())) }
}

/// Another handle to the same record, to keep a borrowed one. It is cheap: both share the record's memory.
/// @param job the record
/// @return yours; free it with agentjob_job_free(). NULL only for a NULL record
/// @since 0.1.0
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_clone(job: *const agentjob_job) -> *mut agentjob_job {
    // SAFETY: the header's contract.
    unsafe { read(job, ptr::null_mut(), |job| handle::give(agentjob_job(job.0.clone()))) }
}

/// Frees a record of yours, not a borrowed one, and with it the texts that are borrowed from it.
/// @param job the record; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_free(job: *mut agentjob_job) {
    // SAFETY: the header's contract.
    unsafe { handle::free(job) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_before_1970_is_not_a_jobs_time() {
        for (ms, wanted) in [(None, -1), (Some(-5), -1), (Some(0), 0), (Some(1_767_323_045_678), 1_767_323_045_678)] {
            assert_eq!(since_1970(ms), wanted);
        }
    }
}
