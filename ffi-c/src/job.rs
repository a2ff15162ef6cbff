//! The job record as C sees it: every text made once, when the handle is made, and borrowed ever after.

use std::ffi::c_char;
use std::ptr;
use std::sync::Arc;

use agentjob_core::Job;

use crate::code::agentjob_status;
use crate::guard::guard_or;
use crate::pointer;
use crate::text::{Text, borrow, borrow_sized};

/// What the service said about a job at one moment. It never changes.
///
/// A call that makes one for you (`agentjob_job **out`) leaves it to you: free it with agentjob_job_free(). One that you see
/// through agentjob_error_job(), agentjob_poller_job() or a progress function is borrowed; agentjob_job_clone() keeps it.
/// It may be read by several threads at once. Texts are borrowed from it: they live until it is freed.
/// @since 0.1.0
pub struct agentjob_job(Arc<Texts>);

struct Texts {
    status: agentjob_status,
    terminal: bool,
    id: Text,
    status_name: Text,
    source_repository: Option<Text>,
    source_ref: Option<Text>,
    model: Option<Text>,
    pr_link: Option<Text>,
    created_at: Option<Text>,
    archived_at: Option<Text>,
    created_at_unix_ms: i64,
    archived_at_unix_ms: i64,
    json: Text,
}

impl agentjob_job {
    pub(crate) fn new(job: &Job) -> agentjob_job {
        let text = |text: Option<&str>| text.map(Text::new);
        agentjob_job(Arc::new(Texts {
            status: job.status().into(),
            terminal: job.is_terminal(),
            id: Text::new(job.id()),
            status_name: Text::new(job.status().as_str()),
            source_repository: text(job.source_repository()),
            source_ref: text(job.source_ref()),
            model: text(job.model()),
            pr_link: text(job.pr_link()),
            created_at: text(job.created_at()),
            archived_at: text(job.archived_at()),
            created_at_unix_ms: since_1970(job.created_at_unix_ms()),
            archived_at_unix_ms: since_1970(job.archived_at_unix_ms()),
            json: Text::new(serde_json::to_vec(job).expect("a record that was JSON can be written as JSON")),
        }))
    }
}

/// No job is older than 1970, so -1 can mean "none" as it does for agentjob_error_retry_after_ms(), and nothing else.
fn since_1970(unix_ms: Option<i64>) -> i64 {
    unix_ms.filter(|ms| *ms >= 0).unwrap_or(-1)
}

/// The texts behind a handle.
///
/// # Safety
/// NULL, or a handle that lives as long as the result is used.
unsafe fn texts<'a>(job: *const agentjob_job) -> Option<&'a Texts> {
    // SAFETY: the caller's promise is the same.
    unsafe { job.as_ref() }.map(|job| &*job.0)
}

/// The job's id.
/// @param job the record
/// @return borrowed from the record; NULL only for a NULL record
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_id(job: *const agentjob_job) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record by the header's rules.
        borrow(unsafe { texts(job) }.map(|job| &job.id))
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
        unsafe { texts(job) }.map_or(agentjob_status::AGENTJOB_STATUS_UNKNOWN, |job| job.status) as i32
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
        borrow(unsafe { texts(job) }.map(|job| &job.status_name))
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
        unsafe { texts(job) }.is_some_and(|job| job.terminal)
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
        borrow(unsafe { texts(job) }.and_then(|job| job.source_repository.as_ref()))
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
        borrow(unsafe { texts(job) }.and_then(|job| job.source_ref.as_ref()))
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
        borrow(unsafe { texts(job) }.and_then(|job| job.model.as_ref()))
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
        borrow(unsafe { texts(job) }.and_then(|job| job.pr_link.as_ref()))
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
        borrow(unsafe { texts(job) }.and_then(|job| job.created_at.as_ref()))
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
        unsafe { texts(job) }.map_or(-1, |job| job.created_at_unix_ms)
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
        borrow(unsafe { texts(job) }.and_then(|job| job.archived_at.as_ref()))
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
        unsafe { texts(job) }.map_or(-1, |job| job.archived_at_unix_ms)
    })
}

/// The whole record as compact JSON, in the service's order and with the keys that this version does not know, untouched. The
/// documented keys are always there: those that the service left out are null and stand at the end.
/// @param job the record
/// @param len where the length goes, in bytes without the NUL at the end; NULL if you do not want it
/// @return borrowed from the record; NULL, and 0 in *len, only for a NULL record
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_json(job: *const agentjob_job, len: *mut usize) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record, and NULL or a place for a length, by the header's rules.
        unsafe { borrow_sized(texts(job).map(|job| &job.json), len) }
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
