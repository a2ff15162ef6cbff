//! The job record as C sees it: every text is made once, when it is first asked for, and borrowed ever after.

use std::ffi::c_char;
use std::ptr;
use std::sync::{Arc, OnceLock};

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
pub struct agentjob_job(Arc<Record>);

struct Record {
    job: Job,
    id: Lazy,
    status_name: Lazy,
    source_repository: Lazy,
    source_ref: Lazy,
    model: Lazy,
    pr_link: Lazy,
    created_at: Lazy,
    archived_at: Lazy,
    json: Lazy,
}

/// A text of the record with the NUL that C wants behind it. Made when somebody asks: most callers look at one or two.
#[derive(Default)]
struct Lazy(OnceLock<Text>);

impl Lazy {
    fn of(&self, text: &str) -> &Text {
        self.made(|| text.into())
    }

    fn made(&self, text: impl FnOnce() -> Vec<u8>) -> &Text {
        self.0.get_or_init(|| Text::new(text()))
    }
}

impl agentjob_job {
    pub(crate) fn new(job: Job) -> agentjob_job {
        let lazy = Lazy::default;
        agentjob_job(Arc::new(Record {
            job,
            id: lazy(),
            status_name: lazy(),
            source_repository: lazy(),
            source_ref: lazy(),
            model: lazy(),
            pr_link: lazy(),
            created_at: lazy(),
            archived_at: lazy(),
            json: lazy(),
        }))
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

/// The job's id.
/// @param job the record
/// @return borrowed from the record; NULL only for a NULL record
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_id(job: *const agentjob_job) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record by the header's rules.
        borrow(unsafe { record(job) }.map(|record| record.id.of(record.job.id())))
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
        borrow(unsafe { record(job) }.map(|record| record.status_name.of(record.job.status().as_str())))
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
        borrow(
            unsafe { record(job) }
                .and_then(|record| Some(record.source_repository.of(record.job.source_repository()?))),
        )
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
        borrow(unsafe { record(job) }.and_then(|record| Some(record.source_ref.of(record.job.source_ref()?))))
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
        borrow(unsafe { record(job) }.and_then(|record| Some(record.model.of(record.job.model()?))))
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
        borrow(unsafe { record(job) }.and_then(|record| Some(record.pr_link.of(record.job.pr_link()?))))
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
        borrow(unsafe { record(job) }.and_then(|record| Some(record.created_at.of(record.job.created_at()?))))
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
        borrow(unsafe { record(job) }.and_then(|record| Some(record.archived_at.of(record.job.archived_at()?))))
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
/// this version does not know, untouched and in the service's order.
/// @param job the record
/// @param len where the length goes, in bytes without the NUL at the end; NULL if you do not want it
/// @return borrowed from the record; NULL, and 0 in *len, only for a NULL record
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_job_json(job: *const agentjob_job, len: *mut usize) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living record, and NULL or a place for a length, by the header's rules.
        unsafe { borrow_sized(record(job).map(|record| record.json.made(|| record.job.to_json().into())), len) }
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
