//! A batch's progress: the same counts for a running batch and for a journal.

use std::ffi::{CStr, c_char};

use agentjob_core::{BatchProgress, PauseReason};

use crate::handle::{read, write_if_wanted};
use crate::milliseconds::{milliseconds, milliseconds_or_none};
use crate::panic::guard_or;
use crate::text::name;

/// Why a batch sends nothing for a while.
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_pause {
    /// It is not paused.
    AGENTJOB_PAUSE_NONE = 0,
    /// The service responded 429: the project's hourly limit is used up.
    AGENTJOB_PAUSE_RATE_LIMIT = 1,
    /// The service cannot be reached, or fails.
    AGENTJOB_PAUSE_SERVICE_FAILURE = 2,
}

/// Each of the core's reasons, or none, with its number and its name.
const PAUSES: [(Option<PauseReason>, agentjob_pause, &CStr); 3] = {
    use agentjob_pause::*;
    [
        (None, AGENTJOB_PAUSE_NONE, c"none"),
        (Some(PauseReason::RateLimit), AGENTJOB_PAUSE_RATE_LIMIT, c"rate_limit"),
        (Some(PauseReason::ServiceFailure), AGENTJOB_PAUSE_SERVICE_FAILURE, c"service_failure"),
    ]
};

impl From<Option<PauseReason>> for agentjob_pause {
    fn from(reason: Option<PauseReason>) -> agentjob_pause {
        // A reason that this version does not know is still a pause.
        let row = PAUSES.iter().find(|row| row.0 == reason);
        row.map_or(agentjob_pause::AGENTJOB_PAUSE_SERVICE_FAILURE, |row| row.1)
    }
}

/// A count of agentjob_batch_progress_count().
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_count {
    /// All messages of the batch.
    AGENTJOB_COUNT_ITEMS = 0,
    /// Messages that the service accepted.
    AGENTJOB_COUNT_ACCEPTED = 1,
    /// Messages that the service rejected.
    AGENTJOB_COUNT_REJECTED = 2,
    /// Messages whose delivery is unknown.
    AGENTJOB_COUNT_UNKNOWN = 3,
    /// Messages still to be sent, including those in flight.
    AGENTJOB_COUNT_LEFT = 4,
    /// Messages in flight.
    AGENTJOB_COUNT_SENDING = 5,
    /// Jobs that the batch waits for.
    AGENTJOB_COUNT_WAITING = 6,
    /// Final outcomes. If the batch waits for jobs, the outcome of an accepted message is final when its job is done.
    AGENTJOB_COUNT_DONE = 7,
    /// Messages that wait because their job is busy (409). They are among those left.
    AGENTJOB_COUNT_BUSY = 8,
    /// Jobs that the batch waited for and that failed.
    AGENTJOB_COUNT_FAILED = 9,
    /// Messages that agentjob_batch_drop() took out: no run sends them.
    AGENTJOB_COUNT_DROPPED = 10,
}

/// A batch's progress at one moment. It does not change while you read it, so its numbers are consistent.
///
/// Borrowed from the batch (agentjob_batch_get_progress()) or the status (agentjob_batch_status_progress()).
/// @since 0.1.0
pub struct agentjob_batch_progress(pub(crate) BatchProgress);

/// One of the counts.
/// @param progress the progress
/// @param count an AGENTJOB_COUNT_ number
/// @return the count; 0 for any other number, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_progress_count(progress: *const agentjob_batch_progress, count: i32) -> u64 {
    // SAFETY: the header's contract.
    unsafe {
        read(progress, 0, |agentjob_batch_progress(progress)| match count {
            0 => progress.items,
            1 => progress.accepted,
            2 => progress.rejected,
            3 => progress.unknown,
            4 => progress.left,
            5 => progress.sending,
            6 => progress.waiting,
            7 => progress.done,
            8 => progress.busy,
            9 => progress.failed,
            10 => progress.dropped,
            _ => 0,
        })
    }
}

/// Why the batch was paused at that moment, and for how much longer.
/// @param progress the progress
/// @param remaining_ms gets the rest of the pause in milliseconds, 0 if there was no pause; may be NULL
/// @return the reason; AGENTJOB_PAUSE_NONE if there was no pause, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_progress_pause(
    progress: *const agentjob_batch_progress,
    remaining_ms: *mut u64,
) -> agentjob_pause {
    guard_or(agentjob_pause::AGENTJOB_PAUSE_NONE, || {
        // SAFETY: the header's contract.
        unsafe {
            let pause = read(progress, None, |progress| progress.0.pause);
            write_if_wanted(remaining_ms, pause.map_or(0, |(_, left)| milliseconds(left)));
            agentjob_pause::from(pause.map(|(reason, _)| reason))
        }
    })
}

/// The time until the last message is sent, at the current pace.
/// @param progress the progress
/// @return milliseconds, 0 if no message is left; -1 while there is no pace yet, for a journal, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_progress_finishes_in_ms(progress: *const agentjob_batch_progress) -> i64 {
    // SAFETY: the header's contract.
    unsafe { read(progress, -1, |progress| milliseconds_or_none(progress.0.finishes_in)) }
}

/// A pause's name, the same in every language: "rate_limit", "service_failure"; "none" for AGENTJOB_PAUSE_NONE.
/// @param pause any number
/// @return a static text; "?" for a number that is not a pause
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_pause_name(pause: i32) -> *const c_char {
    name(|| PAUSES.iter().find(|row| row.1 as i32 == pause).map(|row| row.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pause_has_the_name_that_the_core_gives_it() {
        for reason in [PauseReason::RateLimit, PauseReason::ServiceFailure] {
            let number = agentjob_pause::from(Some(reason)) as i32;
            // SAFETY: every name is a C literal.
            assert_eq!(unsafe { CStr::from_ptr(agentjob_pause_name(number)) }.to_str().unwrap(), reason.as_str());
        }
        assert_eq!(agentjob_pause::from(None) as i32, 0);
    }

    #[test]
    fn every_count_is_the_one_of_its_name() {
        use agentjob_count::*;
        let mut progress = BatchProgress::default();
        (progress.items, progress.accepted, progress.rejected, progress.unknown) = (10, 11, 12, 13);
        (progress.left, progress.sending, progress.waiting, progress.done) = (14, 15, 16, 17);
        progress.busy = 18;
        (progress.failed, progress.dropped) = (19, 20);
        let progress = agentjob_batch_progress(progress);
        // SAFETY: the progress lives.
        let count = |count: i32| unsafe { agentjob_batch_progress_count(&raw const progress, count) };
        let rows = [
            (AGENTJOB_COUNT_ITEMS, 10),
            (AGENTJOB_COUNT_ACCEPTED, 11),
            (AGENTJOB_COUNT_REJECTED, 12),
            (AGENTJOB_COUNT_UNKNOWN, 13),
            (AGENTJOB_COUNT_LEFT, 14),
            (AGENTJOB_COUNT_SENDING, 15),
            (AGENTJOB_COUNT_WAITING, 16),
            (AGENTJOB_COUNT_DONE, 17),
            (AGENTJOB_COUNT_BUSY, 18),
            (AGENTJOB_COUNT_FAILED, 19),
            (AGENTJOB_COUNT_DROPPED, 20),
        ];
        for (name, wanted) in rows {
            assert_eq!(count(name as i32), wanted, "{name:?}");
        }
        assert_eq!([count(-1), count(11), count(i32::MAX)], [0; 3]);
    }
}
