//! An event of a batch: the outcome of a message, or a change on the way there.

use std::ffi::{CStr, c_char};
use std::ptr;

use agentjob_core::{BatchEvent, BatchOutcome, BatchUpdate};

use crate::batch::progress::agentjob_pause;
use crate::delivery::agentjob_delivery;
use crate::error::agentjob_error;
use crate::handle::{self, read, write_if_wanted};
use crate::job::agentjob_job;
use crate::milliseconds::milliseconds;
use crate::panic::guard_or;
use crate::text::{NO_TEXT, Text, borrow, name};

/// The kind of a batch's event; see agentjob_batch_event_kind().
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_batch_kind {
    /// There is no event: none came in time.
    AGENTJOB_BATCH_KIND_NOTHING = 0,
    /// A message has its outcome: see agentjob_batch_event_delivery().
    AGENTJOB_BATCH_KIND_OUTCOME = 1,
    /// A message was accepted, and the batch waits for its job: the outcome comes later. Only with agentjob_batch_set_wait().
    AGENTJOB_BATCH_KIND_ACCEPTED = 2,
    /// A job that the batch waits for has a new record. Only with agentjob_batch_set_wait().
    AGENTJOB_BATCH_KIND_JOB = 3,
    /// The batch is paused: it sends nothing for a while.
    AGENTJOB_BATCH_KIND_PAUSED = 4,
    /// The pause is over.
    AGENTJOB_BATCH_KIND_RESUMED = 5,
    /// The end of the journal was cut off, as a crash cuts it off, and is skipped: see agentjob_batch_event_dropped_bytes(). It is the
    /// first event. If the cut line still says that a message was about to be sent, that message has the outcome
    /// AGENTJOB_DELIVERY_UNKNOWN.
    AGENTJOB_BATCH_KIND_RECOVERED = 6,
    /// Messages have the same job and the same prompt as one before them: see agentjob_batch_event_repeats(). Each of them is sent.
    /// Of the run's events only AGENTJOB_BATCH_KIND_RECOVERED comes before it.
    AGENTJOB_BATCH_KIND_REPEATED = 7,
    /// The job of a message is busy (409). The batch polls it, and sends the message again when the job is no longer active: see
    /// agentjob_batch_set_max_busy_ms().
    AGENTJOB_BATCH_KIND_BUSY = 8,
}

/// Each kind of event with its name.
const KINDS: [(agentjob_batch_kind, &CStr); 9] = {
    use agentjob_batch_kind::*;
    [
        (AGENTJOB_BATCH_KIND_NOTHING, c"nothing"),
        (AGENTJOB_BATCH_KIND_OUTCOME, c"outcome"),
        (AGENTJOB_BATCH_KIND_ACCEPTED, c"accepted"),
        (AGENTJOB_BATCH_KIND_JOB, c"job"),
        (AGENTJOB_BATCH_KIND_PAUSED, c"paused"),
        (AGENTJOB_BATCH_KIND_RESUMED, c"resumed"),
        (AGENTJOB_BATCH_KIND_RECOVERED, c"recovered"),
        (AGENTJOB_BATCH_KIND_REPEATED, c"repeated"),
        (AGENTJOB_BATCH_KIND_BUSY, c"busy"),
    ]
};

/// An event of a batch. It never changes, and several threads may read it at once.
///
/// agentjob_batch_next() returns it and it is yours: free it with agentjob_batch_event_free(). It stays valid after its batch is
/// freed. Texts, the job and the error are borrowed from it and are valid until it is freed.
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
    extra: Option<Text>,
    /// How many messages repeat an earlier one, and the number of the message that the first of them repeats.
    repeats: (u64, u64),
}

impl agentjob_batch_event {
    /// The event for C; none if nothing happened.
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
            extra: None,
            repeats: (0, 0),
        }
    }

    fn outcome(outcome: &BatchOutcome) -> agentjob_batch_event {
        let mut event = agentjob_batch_event::new(agentjob_batch_kind::AGENTJOB_BATCH_KIND_OUTCOME);
        event.number = outcome.number();
        event.line = outcome.line().unwrap_or(0);
        event.key = Some(Text::new(outcome.key()));
        event.job_id = Some(Text::new(outcome.job_id()));
        event.delivery = Some(outcome.delivery()).into();
        event.job = outcome.job().cloned().map(agentjob_job::new);
        event.error = outcome.error().map(|error| agentjob_error::new(error, error.delivery()));
        event.earlier = outcome.is_earlier();
        event.extra = outcome.extra().map(Text::new);
        event
    }

    fn update(update: BatchUpdate) -> agentjob_batch_event {
        let mut event = agentjob_batch_event::new(agentjob_batch_kind::AGENTJOB_BATCH_KIND_RESUMED);
        match update {
            BatchUpdate::Accepted { number, job_id, job } => {
                event.kind = agentjob_batch_kind::AGENTJOB_BATCH_KIND_ACCEPTED;
                (event.number, event.job_id) = (number, Some(Text::new(&*job_id)));
                event.job = job.map(agentjob_job::new);
            }
            BatchUpdate::Job { number, job_id, job } => {
                event.kind = agentjob_batch_kind::AGENTJOB_BATCH_KIND_JOB;
                (event.number, event.job_id) = (number, Some(Text::new(&*job_id)));
                event.job = Some(agentjob_job::new(job));
            }
            BatchUpdate::Busy { number, job_id, error } => {
                event.kind = agentjob_batch_kind::AGENTJOB_BATCH_KIND_BUSY;
                (event.number, event.job_id) = (number, Some(Text::new(&*job_id)));
                event.error = Some(agentjob_error::new(&error, error.delivery()));
            }
            BatchUpdate::Paused { reason, pause, error } => {
                event.kind = agentjob_batch_kind::AGENTJOB_BATCH_KIND_PAUSED;
                (event.pause, event.pause_ms) = (Some(reason).into(), milliseconds(pause));
                event.error = error.map(|error| agentjob_error::new(&error, error.delivery()));
            }
            BatchUpdate::Recovered { dropped_bytes, journal_line, .. } => {
                event.kind = agentjob_batch_kind::AGENTJOB_BATCH_KIND_RECOVERED;
                (event.dropped_bytes, event.line) = (dropped_bytes, journal_line);
            }
            BatchUpdate::Repeated { count, number, line, first_number, .. } => {
                event.kind = agentjob_batch_kind::AGENTJOB_BATCH_KIND_REPEATED;
                (event.number, event.line, event.repeats) = (number, line.unwrap_or(0), (count, first_number));
            }
            _ => {}
        }
        event
    }
}

/// The event's kind.
/// @param event the event
/// @return the kind; AGENTJOB_BATCH_KIND_NOTHING for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_kind(event: *const agentjob_batch_event) -> agentjob_batch_kind {
    // SAFETY: the header's contract.
    unsafe { read(event, agentjob_batch_kind::AGENTJOB_BATCH_KIND_NOTHING, |event| event.kind) }
}

/// The number of the event's message: its position in the batch, from 1. For AGENTJOB_BATCH_KIND_REPEATED it is the first message that
/// repeats another one.
/// @param event the event
/// @return the number; 0 for an event without a message, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_number(event: *const agentjob_batch_event) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(event, 0, |event| event.number) }
}

/// The line that was passed with the message of an outcome, or of AGENTJOB_BATCH_KIND_REPEATED. For AGENTJOB_BATCH_KIND_RECOVERED it
/// is the first line of the journal, from 1, that cannot be read.
/// @param event the event
/// @return the line; 0 if none was passed, for any other event, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_line(event: *const agentjob_batch_event) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(event, 0, |event| event.line) }
}

/// The key of an outcome's message: yours, or the one made from its content and position.
/// @param event the event
/// @return borrowed from the event; NULL for an event that is not an outcome
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_key(event: *const agentjob_batch_event) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(event, NO_TEXT, |event| borrow(event.key.as_ref())) }
}

/// The id of the message's job.
/// @param event the event
/// @return borrowed from the event; NULL for an event without a message
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_job_id(event: *const agentjob_batch_event) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(event, NO_TEXT, |event| borrow(event.job_id.as_ref())) }
}

/// The delivery verdict of an outcome.
/// @param event the event
/// @return AGENTJOB_DELIVERY_ACCEPTED, AGENTJOB_DELIVERY_REJECTED or AGENTJOB_DELIVERY_UNKNOWN; AGENTJOB_DELIVERY_NOT_SENT for a
/// message that this run holds back because of an earlier one to its job (the error says which); AGENTJOB_DELIVERY_NONE for an event that
/// is not an outcome, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_delivery(event: *const agentjob_batch_event) -> agentjob_delivery {
    // SAFETY: the header's contract.
    unsafe { read(event, agentjob_delivery::AGENTJOB_DELIVERY_NONE, |event| event.delivery) }
}

/// The job's last record: the response to the message or, if the batch waits for jobs, the last record of the wait, or
/// NULL if that may show the result of another message.
/// @param event the event
/// @return borrowed from the event; NULL if there is none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_job(event: *const agentjob_batch_event) -> *const agentjob_job {
    // SAFETY: the header's contract.
    unsafe { read(event, ptr::null(), |event| event.job.as_ref().map_or(ptr::null(), ptr::from_ref)) }
}

/// Why a message was rejected or held back or its delivery is unknown; for an accepted message, why its record or the end of its job is
/// missing; for a pause, the failure that caused it, or NULL if it began in an earlier run; for a busy job, the refusal.
/// @param event the event
/// @return borrowed from the event; NULL if there is none
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_error(event: *const agentjob_batch_event) -> *const agentjob_error {
    // SAFETY: the header's contract.
    unsafe { read(event, ptr::null(), |event| event.error.as_ref().map_or(ptr::null(), ptr::from_ref)) }
}

/// Whether an outcome comes from an earlier run of the journal.
/// @param event the event
/// @return true if it does; false for an event that is not an outcome, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_is_earlier(event: *const agentjob_batch_event) -> bool {
    // SAFETY: the header's contract.
    unsafe { read(event, false, |event| event.earlier) }
}

/// Why the batch pauses, and for how long.
/// @param event the event
/// @param ms gets the whole length of the pause in milliseconds, 0 for an event that is not a pause; may be NULL
/// @return the reason; AGENTJOB_PAUSE_NONE for an event that is not a pause, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_pause(
    event: *const agentjob_batch_event,
    ms: *mut u64,
) -> agentjob_pause {
    guard_or(agentjob_pause::AGENTJOB_PAUSE_NONE, || {
        // SAFETY: the header's contract.
        unsafe {
            write_if_wanted(ms, read(event, 0, |event| event.pause_ms));
            read(event, agentjob_pause::AGENTJOB_PAUSE_NONE, |event| event.pause)
        }
    })
}

/// How many bytes of a line that was cut off were skipped.
/// @param event the event
/// @return bytes; 0 for an event that is not AGENTJOB_BATCH_KIND_RECOVERED, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_dropped_bytes(event: *const agentjob_batch_event) -> u64 {
    // SAFETY: the header's contract.
    unsafe { read(event, 0, |event| event.dropped_bytes) }
}

/// The metadata of an outcome's message, as JSON: what this run passed to agentjob_batch_set_item_extra(), or an object of the
/// columns that agentjob_batch_add_file() kept.
/// @param event the event
/// @return borrowed from the event; NULL if the message has none, for any other event, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_extra(event: *const agentjob_batch_event) -> *const c_char {
    // SAFETY: the header's contract.
    unsafe { read(event, NO_TEXT, |event| borrow(event.extra.as_ref())) }
}

/// How many messages have the same job and the same prompt as one before them.
/// @param event the event
/// @param first gets the number of the message that the event's message repeats, 0 for any other event; may be NULL
/// @return how many; 0 for an event that is not AGENTJOB_BATCH_KIND_REPEATED, and for NULL
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_repeats(event: *const agentjob_batch_event, first: *mut u64) -> u64 {
    guard_or(0, || {
        // SAFETY: the header's contract.
        unsafe {
            let (count, of) = read(event, (0, 0), |event| event.repeats);
            write_if_wanted(first, of);
            count
        }
    })
}

/// Frees an event, and with it the texts, the job and the error that are borrowed from it.
/// @param event the event; NULL does nothing
/// @since 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn agentjob_batch_event_free(event: *mut agentjob_batch_event) {
    // SAFETY: the header's contract.
    unsafe { handle::free(event) }
}

/// A kind's name, the same in every language: "outcome", "accepted", "job", "busy", "paused", "resumed", "recovered",
/// "repeated"; "nothing" for AGENTJOB_BATCH_KIND_NOTHING.
/// @param kind any number
/// @return a static text; "?" for a number that is not a kind
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_batch_kind_name(kind: i32) -> *const c_char {
    name(|| KINDS.iter().find(|row| row.0 as i32 == kind).map(|row| row.1))
}
