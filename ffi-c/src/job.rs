//! The job record as C sees it. The documented texts are the core's, which keeps each with a NUL behind it; the record's JSON
//! is made once, when it is first asked for, and borrowed ever after.

use std::ffi::c_char;
use std::ptr;
use std::sync::{Arc, OnceLock};

use agentjob_core::{Job, TextField};

use crate::code::agentjob_status;
use crate::guard::guard_or;
use crate::pointer;
use crate::text::{Text, borrow_sized};

/// What the service said about a job at one moment. It never changes.
///
/// A call that makes one for you (`agentjob_job **out`) leaves it to you: free it with agentjob_job_free(). One that you see
/// through agentjob_error_job(), agentjob_poller_job() or a progress function is borrowed; agentjob_job_clone() keeps it.
/// It may be read by several threads at once. Texts are borrowed from it: they live until it is freed.
/// @since 0.1.0
pub struct agentjob_job(Arc<Record>);

struct Record {
    job: Job,
    json: OnceLock<Text>,
}

impl agentjob_job {
    pub(crate) fn new(job: Job) -> agentjob_job {
        agentjob_job(Arc::new(Record { job, json: OnceLock::new() }))
    }
}

impl Record {
    /// The record's JSON, unless there is no memory for it.
    fn json(&self) -> Option<&Text> {
        if self.json.get().is_none() {
            // The core leaves room for the NUL. Should another thread be faster, its text is the one that lives.
            let _ = self.json.set(Text::new(self.job.try_to_json().ok()?));
        }
        self.json.get()
    }
}

/// No job is older than 1970, so -1 can mean "none" as it does for agentjob_error_retry_after_ms(), and nothing else.
fn since_1970(unix_ms: Option<i64>) -> i64 {
    unix_ms.filter(|ms| *ms >= 0).unwrap_or(-1)
}

/// The record behind a handle.
///
/// # Safety
/// NULL, or a handle that lives as long as the result is used.
unsafe fn record<'a>(job: *const agentjob_job) -> Option<&'a Record> {
    // SAFETY: the caller's promise is the same.
    unsafe { job.as_ref() }.map(|job| &*job.0)
}

/// A documented text, or NULL where there is none.
///
/// # Safety
/// As for [`record`].
unsafe fn text(job: *const agentjob_job, field: TextField) -> *const c_char {
    // SAFETY: the caller's promise is the same.
    let text = unsafe { record(job) }.and_then(|record| record.job.text_with_nul(field));
    text.map_or(ptr::null(), |text| text.as_ptr().cast())
}

/// The job's id.
/// @param job the record
/// @return borrowed from the record; NULL only for a NULL record
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_id(job: *const agentjob_job) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { text(job, TextField::Id) }
    })
}

/// Where the job stands, as a number to branch on.
/// @param job the record
/// @return an AGENTJOB_STATUS_ number; AGENTJOB_STATUS_UNKNOWN for a word that this version does not know, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_status(job: *const agentjob_job) -> i32 {
    guard_or(0, || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { record(job) }.map_or(agentjob_status::AGENTJOB_STATUS_UNKNOWN, |record| record.job.status().into())
            as i32
    })
}

/// Where the job stands in the service's own word, also one that this version does not know.
/// @param job the record
/// @return borrowed from the record; NULL only for a NULL record
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_status_name(job: *const agentjob_job) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { text(job, TextField::Status) }
    })
}

/// Whether the job is done: completed, archived or failed.
/// @param job the record
/// @return false also for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_is_terminal(job: *const agentjob_job) -> bool {
    guard_or(false, || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { record(job) }.is_some_and(|record| record.job.is_terminal())
    })
}

/// The repository that the job works on, usually its full URL.
/// @param job the record
/// @return borrowed from the record; NULL if the record has none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_source_repository(job: *const agentjob_job) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { text(job, TextField::SourceRepository) }
    })
}

/// The ref that the job works on, usually a branch.
/// @param job the record
/// @return borrowed from the record; NULL if the record has none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_source_ref(job: *const agentjob_job) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { text(job, TextField::SourceRef) }
    })
}

/// The AI model.
/// @param job the record
/// @return borrowed from the record; NULL if the record has none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_model(job: *const agentjob_job) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { text(job, TextField::Model) }
    })
}

/// The pull request's URL. It is the service's text, unchecked: do not open it without looking at it.
/// @param job the record
/// @return borrowed from the record; NULL while the job is active, and when no file changed
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_pr_link(job: *const agentjob_job) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { text(job, TextField::PrLink) }
    })
}

/// When the job was created, as the service wrote it (ISO 8601).
/// @param job the record
/// @return borrowed from the record; NULL if the record has none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_created_at(job: *const agentjob_job) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { text(job, TextField::CreatedAt) }
    })
}

/// When the job was created, as a number to compute with. It is agentjob_job_created_at() read as ISO 8601 with an offset.
/// @param job the record
/// @return milliseconds since 1970-01-01T00:00:00Z; -1 if the record has no such moment, or one before 1970, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_created_at_unix_ms(job: *const agentjob_job) -> i64 {
    guard_or(-1, || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { record(job) }.map_or(-1, |record| since_1970(record.job.created_at_unix_ms()))
    })
}

/// When the job was archived, as the service wrote it (ISO 8601).
/// @param job the record
/// @return borrowed from the record; NULL if the job is not archived
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_archived_at(job: *const agentjob_job) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { text(job, TextField::ArchivedAt) }
    })
}

/// When the job was archived, as a number to compute with. It is agentjob_job_archived_at() read as ISO 8601 with an offset.
/// @param job the record
/// @return milliseconds since 1970-01-01T00:00:00Z; -1 if the record has no such moment, or one before 1970, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_archived_at_unix_ms(job: *const agentjob_job) -> i64 {
    guard_or(-1, || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { record(job) }.map_or(-1, |record| since_1970(record.job.archived_at_unix_ms()))
    })
}

/// The whole record as compact JSON: the documented keys in their order, null where the service left them out, then the keys that
/// this version does not know, as the service wrote them and in its order. It is made when it is first asked for.
/// @param job the record
/// @param len where the length goes, in bytes without the NUL at the end; NULL if you do not want it
/// @return borrowed from the record; NULL, and 0 in *len, for a NULL record and when there is no memory for it
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_json(job: *const agentjob_job, len: *mut usize) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record, and NULL or a place for a length, by the header's rules.
        unsafe { borrow_sized(record(job).and_then(Record::json), len) }
    })
}

/// A record of your own of the same moment. It costs next to nothing: the texts are shared.
/// @param job the record
/// @return yours; free it with agentjob_job_free(). NULL only for a NULL record
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_clone(job: *const agentjob_job) -> *mut agentjob_job {
    guard_or(ptr::null_mut(), || {
        // SAFETY: NULL or a living record by the header's rules.
        unsafe { job.as_ref() }.map_or(ptr::null_mut(), |job| pointer::give(agentjob_job(Arc::clone(&job.0))))
    })
}

/// Frees a record that is yours, not a borrowed one. Texts borrowed from it end with it.
/// @param job the record, used no more; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_free(job: *mut agentjob_job) {
    guard_or((), || {
        // SAFETY: NULL or a record that is used no more by the header's rules.
        unsafe { pointer::free(job) }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_before_1970_is_no_time_of_a_job() {
        for (ms, wanted) in [(None, -1), (Some(-5), -1), (Some(0), 0), (Some(1_767_323_045_678), 1_767_323_045_678)] {
            assert_eq!(since_1970(ms), wanted);
        }
    }
}
