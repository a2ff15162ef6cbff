//! How far a batch is: one set of numbers, for a batch at work and for a journal.

use std::ffi::{CStr, c_char};

use agentjob_core::{BatchProgress, PauseReason};

use crate::code::NO_NAME;
use crate::error::whole_ms;
use crate::guard::guard_or;

/// Why a batch sends nothing for a while.
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_pause {
    /// It sends.
    AGENTJOB_PAUSE_NONE = 0,
    /// The service said 429: the project's allowance is used up.
    AGENTJOB_PAUSE_RATE_LIMIT = 1,
    /// The service cannot be reached, or fails.
    AGENTJOB_PAUSE_SERVICE_FAILURE = 2,
}

/// What agentjob_progress_count() counts.
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_count {
    /// The messages of the batch.
    AGENTJOB_COUNT_ITEMS = 0,
    /// Those that the service took.
    AGENTJOB_COUNT_ACCEPTED = 1,
    /// Those that it refused.
    AGENTJOB_COUNT_REJECTED = 2,
    /// Those of which nobody knows.
    AGENTJOB_COUNT_UNKNOWN = 3,
    /// Those that are still to be sent, the ones under way included.
    AGENTJOB_COUNT_LEFT = 4,
    /// Those under way.
    AGENTJOB_COUNT_SENDING = 5,
    /// Jobs that are waited for.
    AGENTJOB_COUNT_WAITING = 6,
    /// Outcomes that are final. With a wait, an accepted message's is final with its job's end.
    AGENTJOB_COUNT_DONE = 7,
}

impl From<Option<PauseReason>> for agentjob_pause {
    fn from(reason: Option<PauseReason>) -> agentjob_pause {
        match reason {
            None => agentjob_pause::AGENTJOB_PAUSE_NONE,
            Some(PauseReason::RateLimit) => agentjob_pause::AGENTJOB_PAUSE_RATE_LIMIT,
            // The core's list may grow, so Rust asks for this arm.
            Some(_) => agentjob_pause::AGENTJOB_PAUSE_SERVICE_FAILURE,
        }
    }
}

/// How far a batch was at one moment. It never changes while you may look at it, so its numbers fit together.
///
/// Borrowed from what agentjob_batch_progress() or agentjob_batch_status_progress() was asked of.
/// @since 0.1.0
pub struct agentjob_progress(pub(crate) BatchProgress);

/// One of the counts.
/// @param progress the progress
/// @param count an AGENTJOB_COUNT_ number
/// @return the count; 0 for any other number, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_progress_count(progress: *const agentjob_progress, count: i32) -> u64 {
    guard_or(0, || {
        // SAFETY: NULL or a living progress by the header's rules.
        let Some(agentjob_progress(progress)) = (unsafe { progress.as_ref() }) else { return 0 };
        match count {
            0 => progress.items,
            1 => progress.accepted,
            2 => progress.rejected,
            3 => progress.unknown,
            4 => progress.left,
            5 => progress.sending,
            6 => progress.waiting,
            7 => progress.done,
            _ => 0,
        }
    })
}

/// Why nothing was sent at that moment.
/// @param progress the progress
/// @return an AGENTJOB_PAUSE_ number; AGENTJOB_PAUSE_NONE if there was no pause, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_progress_pause(progress: *const agentjob_progress) -> i32 {
    guard_or(0, || {
        // SAFETY: NULL or a living progress by the header's rules.
        let pause = unsafe { progress.as_ref() }.and_then(|progress| progress.0.pause);
        agentjob_pause::from(pause.map(|(reason, _)| reason)) as i32
    })
}

/// How long the pause still lasted.
/// @param progress the progress
/// @return milliseconds; 0 if there was no pause, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_progress_pause_ms(progress: *const agentjob_progress) -> u64 {
    guard_or(0, || {
        // SAFETY: NULL or a living progress by the header's rules.
        unsafe { progress.as_ref() }.and_then(|progress| progress.0.pause).map_or(0, |(_, left)| whole_ms(left))
    })
}

/// In how long the last message is sent, at this pace.
/// @param progress the progress
/// @return milliseconds, 0 when none is left; -1 as long as there is no pace, for a journal, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_progress_finishes_in_ms(progress: *const agentjob_progress) -> i64 {
    guard_or(-1, || {
        // SAFETY: NULL or a living progress by the header's rules.
        let time = unsafe { progress.as_ref() }.and_then(|progress| progress.0.finishes_in);
        time.map_or(-1, |time| i64::try_from(whole_ms(time)).unwrap_or(i64::MAX))
    })
}

/// A pause's name, the same in every language: "rate_limit", "service_failure"; "none" for AGENTJOB_PAUSE_NONE.
/// @param pause any number
/// @return a text that lives for ever; "?" for a number that is no pause
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_pause_name(pause: i32) -> *const c_char {
    guard_or(NO_NAME.as_ptr(), || {
        let name: &CStr = match pause {
            0 => c"none",
            1 => c"rate_limit",
            2 => c"service_failure",
            _ => NO_NAME,
        };
        name.as_ptr()
    })
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
        let progress = agentjob_progress(progress);
        // SAFETY: the progress lives.
        let count = |count: i32| unsafe { agentjob_progress_count(&raw const progress, count) };
        let rows = [
            (AGENTJOB_COUNT_ITEMS, 10),
            (AGENTJOB_COUNT_ACCEPTED, 11),
            (AGENTJOB_COUNT_REJECTED, 12),
            (AGENTJOB_COUNT_UNKNOWN, 13),
            (AGENTJOB_COUNT_LEFT, 14),
            (AGENTJOB_COUNT_SENDING, 15),
            (AGENTJOB_COUNT_WAITING, 16),
            (AGENTJOB_COUNT_DONE, 17),
        ];
        for (name, wanted) in rows {
            assert_eq!(count(name as i32), wanted, "{name:?}");
        }
        assert_eq!([count(-1), count(8), count(i32::MAX)], [0; 3]);
    }
}
