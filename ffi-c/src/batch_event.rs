//! What a batch tells: the outcome of each message, and what happens meanwhile.

use std::ffi::{CStr, c_char};
use std::ptr;

use agentjob_core::{BatchEvent, BatchOutcome, BatchUpdate};

use crate::batch_progress::agentjob_pause;
use crate::code::{NO_NAME, agentjob_delivery};
use crate::error::{agentjob_error, whole_ms};
use crate::guard::guard_or;
use crate::job::agentjob_job;
use crate::pointer;
use crate::text::{Text, borrow};

/// What an event of a batch is; see agentjob_batch_event_kind().
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_batch_kind {
    /// Nothing happened in time: there is no event.
    AGENTJOB_BATCH_NOTHING = 0,
    /// A message has its outcome: agentjob_batch_event_delivery() says which.
    AGENTJOB_BATCH_OUTCOME = 1,
    /// A message was accepted, and its job is waited for: the outcome comes later. Only with agentjob_batch_set_wait().
    AGENTJOB_BATCH_ACCEPTED = 2,
    /// A job that is waited for has another record than before. Only with agentjob_batch_set_wait().
    AGENTJOB_BATCH_JOB = 3,
    /// Nothing is sent for a while.
    AGENTJOB_BATCH_PAUSED = 4,
    /// Messages are sent again after a pause.
    AGENTJOB_BATCH_RESUMED = 5,
    /// The journal's end was damaged, and is passed over: agentjob_batch_event_dropped_bytes() says how much. It comes before all
    /// else. Messages that may have been sent by what it said have the outcome AGENTJOB_DELIVERY_UNKNOWN.
    AGENTJOB_BATCH_RECOVERED = 6,
}

/// Something that happened in a batch. It never changes, and may be read by several threads at once.
///
/// It comes from agentjob_batch_next() and is yours: free it with agentjob_batch_event_free(). It lives on when its batch is freed.
/// Texts, the job and the error are borrowed from it: they live until it is freed.
/// @since 0.1.0
pub struct agentjob_batch_event {
    kind: agentjob_batch_kind,
    number: u64,
    line: u64,
    key: Option<Text>,
    job_id: Option<Text>,
    delivery: agentjob_delivery,
    job: Option<agentjob_job>,
    error: Option<agentjob_error>,
    earlier: bool,
    pause: agentjob_pause,
    pause_ms: u64,
    dropped_bytes: u64,
}

impl agentjob_batch_event {
    /// The event of a step; none if it brought nothing.
    pub(crate) fn of(event: BatchEvent) -> Option<agentjob_batch_event> {
        match event {
            BatchEvent::Outcome(outcome) => Some(agentjob_batch_event::outcome(&outcome)),
            BatchEvent::Update(update) => Some(agentjob_batch_event::update(update)),
            _ => None,
        }
    }

    fn new(kind: agentjob_batch_kind) -> agentjob_batch_event {
        agentjob_batch_event {
            kind,
            number: 0,
            line: 0,
            key: None,
            job_id: None,
            delivery: agentjob_delivery::AGENTJOB_DELIVERY_NONE,
            job: None,
            error: None,
            earlier: false,
            pause: agentjob_pause::AGENTJOB_PAUSE_NONE,
            pause_ms: 0,
            dropped_bytes: 0,
        }
    }

    fn outcome(outcome: &BatchOutcome) -> agentjob_batch_event {
        let mut event = agentjob_batch_event::new(agentjob_batch_kind::AGENTJOB_BATCH_OUTCOME);
        event.number = outcome.number();
        event.line = outcome.line().unwrap_or(0);
        event.key = Some(Text::new(outcome.key()));
        event.job_id = Some(Text::new(outcome.job_id()));
        event.delivery = Some(outcome.delivery()).into();
        event.job = outcome.job().cloned().map(agentjob_job::new);
        event.error = outcome.error().map(|error| agentjob_error::new(error, error.delivery()));
        event.earlier = outcome.is_earlier();
        event
    }

    fn update(update: BatchUpdate) -> agentjob_batch_event {
        let mut event = agentjob_batch_event::new(agentjob_batch_kind::AGENTJOB_BATCH_RESUMED);
        match update {
            BatchUpdate::Accepted { number, job_id, job } => {
                event.kind = agentjob_batch_kind::AGENTJOB_BATCH_ACCEPTED;
                (event.number, event.job_id) = (number, Some(Text::new(&*job_id)));
                event.job = job.map(agentjob_job::new);
            }
            BatchUpdate::Job { number, job_id, job } => {
                event.kind = agentjob_batch_kind::AGENTJOB_BATCH_JOB;
                (event.number, event.job_id) = (number, Some(Text::new(&*job_id)));
                event.job = Some(agentjob_job::new(job));
            }
            BatchUpdate::Paused { reason, pause, error } => {
                event.kind = agentjob_batch_kind::AGENTJOB_BATCH_PAUSED;
                (event.pause, event.pause_ms) = (Some(reason).into(), whole_ms(pause));
                event.error = Some(agentjob_error::new(&error, error.delivery()));
            }
            BatchUpdate::Recovered { dropped_bytes, journal_line, .. } => {
                event.kind = agentjob_batch_kind::AGENTJOB_BATCH_RECOVERED;
                (event.dropped_bytes, event.line) = (dropped_bytes, journal_line);
            }
            _ => {}
        }
        event
    }
}

/// What the event is.
/// @param event the event
/// @return an AGENTJOB_BATCH_ number; AGENTJOB_BATCH_NOTHING for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_kind(event: *const agentjob_batch_event) -> i32 {
    guard_or(0, || {
        // SAFETY: NULL or a living event by the header's rules.
        unsafe { event.as_ref() }.map_or(0, |event| event.kind as i32)
    })
}

/// Which message it is about: its place in the batch, from 1.
/// @param event the event
/// @return the number; 0 for a pause and its end, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_number(event: *const agentjob_batch_event) -> u64 {
    guard_or(0, || {
        // SAFETY: NULL or a living event by the header's rules.
        unsafe { event.as_ref() }.map_or(0, |event| event.number)
    })
}

/// The line that was given with the message whose outcome it is; for AGENTJOB_BATCH_RECOVERED the journal's first line, from 1, that
/// cannot be read.
/// @param event the event
/// @return the line; 0 if none was given, for any other event, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_line(event: *const agentjob_batch_event) -> u64 {
    guard_or(0, || {
        // SAFETY: NULL or a living event by the header's rules.
        unsafe { event.as_ref() }.map_or(0, |event| event.line)
    })
}

/// The key of the message whose outcome it is: yours, or the one that was made from its content and place.
/// @param event the event
/// @return borrowed from the event; NULL for one that is no outcome
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_key(event: *const agentjob_batch_event) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living event by the header's rules.
        borrow(unsafe { event.as_ref() }.and_then(|event| event.key.as_ref()))
    })
}

/// The job that the message is for.
/// @param event the event
/// @return borrowed from the event; NULL for a pause and its end
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_job_id(event: *const agentjob_batch_event) -> *const c_char {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living event by the header's rules.
        borrow(unsafe { event.as_ref() }.and_then(|event| event.job_id.as_ref()))
    })
}

/// What became of the message whose outcome it is.
/// @param event the event
/// @return AGENTJOB_DELIVERY_ACCEPTED, AGENTJOB_DELIVERY_REJECTED or AGENTJOB_DELIVERY_UNKNOWN; AGENTJOB_DELIVERY_NONE for an event
/// that is no outcome, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_delivery(event: *const agentjob_batch_event) -> i32 {
    guard_or(agentjob_delivery::AGENTJOB_DELIVERY_UNKNOWN as i32, || {
        // SAFETY: NULL or a living event by the header's rules.
        unsafe { event.as_ref() }.map_or(agentjob_delivery::AGENTJOB_DELIVERY_NONE, |event| event.delivery) as i32
    })
}

/// The job's last record: the answer to the message or, if the batch waits, what the wait saw last.
/// @param event the event
/// @return borrowed from the event; NULL if there is none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_job(event: *const agentjob_batch_event) -> *const agentjob_job {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living event by the header's rules.
        unsafe { event.as_ref() }.and_then(|event| event.job.as_ref()).map_or(ptr::null(), ptr::from_ref)
    })
}

/// Why a message was rejected, why nobody knows whether it arrived, or, for an accepted one, why its record or the end of its job
/// was not seen; for a pause, the failure behind it.
/// @param event the event
/// @return borrowed from the event; NULL if there is none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_error(event: *const agentjob_batch_event) -> *const agentjob_error {
    guard_or(ptr::null(), || {
        // SAFETY: NULL or a living event by the header's rules.
        unsafe { event.as_ref() }.and_then(|event| event.error.as_ref()).map_or(ptr::null(), ptr::from_ref)
    })
}

/// Whether an earlier run of the journal found the outcome out.
/// @param event the event
/// @return false also for an event that is no outcome, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_is_earlier(event: *const agentjob_batch_event) -> bool {
    guard_or(false, || {
        // SAFETY: NULL or a living event by the header's rules.
        unsafe { event.as_ref() }.is_some_and(|event| event.earlier)
    })
}

/// Why the batch pauses.
/// @param event the event
/// @return an AGENTJOB_PAUSE_ number; AGENTJOB_PAUSE_NONE for an event that is no pause, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_pause(event: *const agentjob_batch_event) -> i32 {
    guard_or(0, || {
        // SAFETY: NULL or a living event by the header's rules.
        unsafe { event.as_ref() }.map_or(0, |event| event.pause as i32)
    })
}

/// How long the batch pauses, from when the pause began.
/// @param event the event
/// @return milliseconds; 0 for an event that is no pause, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_pause_ms(event: *const agentjob_batch_event) -> u64 {
    guard_or(0, || {
        // SAFETY: NULL or a living event by the header's rules.
        unsafe { event.as_ref() }.map_or(0, |event| event.pause_ms)
    })
}

/// How many bytes of a damaged journal are passed over.
/// @param event the event
/// @return bytes; 0 for an event that is no AGENTJOB_BATCH_RECOVERED, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_dropped_bytes(event: *const agentjob_batch_event) -> u64 {
    guard_or(0, || {
        // SAFETY: NULL or a living event by the header's rules.
        unsafe { event.as_ref() }.map_or(0, |event| event.dropped_bytes)
    })
}

/// Frees an event. Texts, the job and the error borrowed from it end with it.
/// @param event the event, used no more; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_free(event: *mut agentjob_batch_event) {
    guard_or((), || {
        // SAFETY: NULL or an event that is used no more by the header's rules.
        unsafe { pointer::free(event) }
    });
}

/// A kind's name, the same in every language: "outcome", "accepted", "job", "paused", "resumed", "recovered"; "nothing" for
/// AGENTJOB_BATCH_NOTHING.
/// @param kind any number
/// @return a text that lives for ever; "?" for a number that is no kind
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_batch_kind_name(kind: i32) -> *const c_char {
    guard_or(NO_NAME.as_ptr(), || {
        let name: &CStr = match kind {
            0 => c"nothing",
            1 => c"outcome",
            2 => c"accepted",
            3 => c"job",
            4 => c"paused",
            5 => c"resumed",
            6 => c"recovered",
            _ => NO_NAME,
        };
        name.as_ptr()
    })
}
