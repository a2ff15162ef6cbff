//! Numbers and their names: error codes, delivery verdicts, job statuses. Frozen once released (`tests/abi/numbers.txt`).

use std::ffi::{CStr, c_char};

use agentjob_core::{Delivery, ErrorKind, JobStatus};

use crate::guard::guard_or;

/// How a function that can fail ended. Numbers are only ever added, so treat one that you do not know as a failure.
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_code {
    /// It did what it says.
    AGENTJOB_OK = 0,
    /// An argument or a setting is wrong or missing. Nothing was sent.
    AGENTJOB_ERR_INVALID_ARGUMENT = -1,
    /// No connection: name lookup, TCP, or a proxy that said no.
    AGENTJOB_ERR_CONNECT = -2,
    /// The TLS handshake failed: an unknown authority, a wrong name, an expired certificate.
    AGENTJOB_ERR_TLS = -3,
    /// The connection ended before the answer did.
    AGENTJOB_ERR_CONNECTION_LOST = -4,
    /// The call's total time was over, or the time to connect.
    AGENTJOB_ERR_TIMEOUT = -5,
    /// The call's cancel token or its progress function ended it.
    AGENTJOB_ERR_CANCELLED = -6,
    /// The client was closed.
    AGENTJOB_ERR_CLOSED = -7,
    /// 401: the key is wrong or expired.
    AGENTJOB_ERR_AUTHENTICATION = -8,
    /// 403: the key may not do this, or not from this address.
    AGENTJOB_ERR_PERMISSION_DENIED = -9,
    /// 404: no such job or project.
    AGENTJOB_ERR_NOT_FOUND = -10,
    /// 409: the job cannot take the request now.
    AGENTJOB_ERR_CONFLICT = -11,
    /// 429: the project's hourly allowance is used up.
    AGENTJOB_ERR_RATE_LIMIT = -12,
    /// 400 or another 4xx: the service refused the request.
    AGENTJOB_ERR_BAD_REQUEST = -13,
    /// 5xx: the service or a gateway before it failed.
    AGENTJOB_ERR_SERVER = -14,
    /// 3xx: none is ever followed, so that the key goes nowhere else.
    AGENTJOB_ERR_REDIRECT = -15,
    /// An answer that is not the service's: no HTTP, no JSON, no record, or too large.
    AGENTJOB_ERR_INVALID_RESPONSE = -16,
    /// A wait's time was over and the job was not done.
    AGENTJOB_ERR_WAIT_TIMEOUT = -17,
    /// A bug of this library, caught.
    AGENTJOB_ERR_INTERNAL = -18,
    /// A batch's journal cannot be opened, read or written, is damaged, or another run has it.
    AGENTJOB_ERR_JOURNAL = -19,
}

/// What became of a message (or of a job to create) whose call failed; see agentjob_error_delivery().
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_delivery {
    /// The call was not to deliver anything.
    AGENTJOB_DELIVERY_NONE = 0,
    /// It never left whole: sending again is safe.
    AGENTJOB_DELIVERY_NOT_SENT = 1,
    /// The service answered that it did not take it: mend the cause, then send again.
    AGENTJOB_DELIVERY_REJECTED = 2,
    /// It left whole and no usable answer came: look at the job before sending again.
    AGENTJOB_DELIVERY_UNKNOWN = 3,
    /// The service took it: do not send again.
    AGENTJOB_DELIVERY_ACCEPTED = 4,
}

/// Where a job stands; see agentjob_job_status().
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_status {
    /// A word that this version does not know; agentjob_job_status_name() has it. The job is not done.
    AGENTJOB_STATUS_UNKNOWN = 0,
    /// The job is at work.
    AGENTJOB_STATUS_ACTIVE = 1,
    /// The job finished.
    AGENTJOB_STATUS_COMPLETED = 2,
    /// The job was put away.
    AGENTJOB_STATUS_ARCHIVED = 3,
    /// The job gave up.
    AGENTJOB_STATUS_FAILED = 4,
}

impl From<ErrorKind> for agentjob_code {
    fn from(kind: ErrorKind) -> agentjob_code {
        match kind {
            ErrorKind::InvalidArgument => agentjob_code::AGENTJOB_ERR_INVALID_ARGUMENT,
            ErrorKind::Connect => agentjob_code::AGENTJOB_ERR_CONNECT,
            ErrorKind::Tls => agentjob_code::AGENTJOB_ERR_TLS,
            ErrorKind::ConnectionLost => agentjob_code::AGENTJOB_ERR_CONNECTION_LOST,
            ErrorKind::Timeout => agentjob_code::AGENTJOB_ERR_TIMEOUT,
            ErrorKind::Cancelled => agentjob_code::AGENTJOB_ERR_CANCELLED,
            ErrorKind::Closed => agentjob_code::AGENTJOB_ERR_CLOSED,
            ErrorKind::Authentication => agentjob_code::AGENTJOB_ERR_AUTHENTICATION,
            ErrorKind::PermissionDenied => agentjob_code::AGENTJOB_ERR_PERMISSION_DENIED,
            ErrorKind::NotFound => agentjob_code::AGENTJOB_ERR_NOT_FOUND,
            ErrorKind::Conflict => agentjob_code::AGENTJOB_ERR_CONFLICT,
            ErrorKind::RateLimit => agentjob_code::AGENTJOB_ERR_RATE_LIMIT,
            ErrorKind::BadRequest => agentjob_code::AGENTJOB_ERR_BAD_REQUEST,
            ErrorKind::Server => agentjob_code::AGENTJOB_ERR_SERVER,
            ErrorKind::Redirect => agentjob_code::AGENTJOB_ERR_REDIRECT,
            ErrorKind::InvalidResponse => agentjob_code::AGENTJOB_ERR_INVALID_RESPONSE,
            ErrorKind::WaitTimeout => agentjob_code::AGENTJOB_ERR_WAIT_TIMEOUT,
            ErrorKind::Internal => agentjob_code::AGENTJOB_ERR_INTERNAL,
            ErrorKind::Journal => agentjob_code::AGENTJOB_ERR_JOURNAL,
            // The core's list may grow, so Rust asks for this arm; the test below fails before it is ever taken.
            _ => agentjob_code::AGENTJOB_ERR_INTERNAL,
        }
    }
}

impl From<Option<Delivery>> for agentjob_delivery {
    fn from(delivery: Option<Delivery>) -> agentjob_delivery {
        match delivery {
            None => agentjob_delivery::AGENTJOB_DELIVERY_NONE,
            Some(Delivery::NotSent) => agentjob_delivery::AGENTJOB_DELIVERY_NOT_SENT,
            Some(Delivery::Rejected) => agentjob_delivery::AGENTJOB_DELIVERY_REJECTED,
            Some(Delivery::Unknown) => agentjob_delivery::AGENTJOB_DELIVERY_UNKNOWN,
            Some(Delivery::Accepted) => agentjob_delivery::AGENTJOB_DELIVERY_ACCEPTED,
        }
    }
}

impl From<&JobStatus> for agentjob_status {
    fn from(status: &JobStatus) -> agentjob_status {
        match status {
            JobStatus::Active => agentjob_status::AGENTJOB_STATUS_ACTIVE,
            JobStatus::Completed => agentjob_status::AGENTJOB_STATUS_COMPLETED,
            JobStatus::Archived => agentjob_status::AGENTJOB_STATUS_ARCHIVED,
            JobStatus::Failed => agentjob_status::AGENTJOB_STATUS_FAILED,
            _ => agentjob_status::AGENTJOB_STATUS_UNKNOWN,
        }
    }
}

/// What a number that is none of its list is called. No NULL, so that it can be printed without a look.
pub(crate) const NO_NAME: &CStr = c"?";

/// A code's name, as it is spelled in this header: "AGENTJOB_ERR_NOT_FOUND".
/// @param code any number
/// @return a text that lives for ever; "?" for a number that is no code
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_code_name(code: i32) -> *const c_char {
    guard_or(NO_NAME.as_ptr(), || code_name(code).as_ptr())
}

/// A verdict's name, the same in every language: "not_sent", "rejected", "unknown", "accepted"; "none" for AGENTJOB_DELIVERY_NONE.
/// @param delivery any number
/// @return a text that lives for ever; "?" for a number that is no verdict
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_delivery_name(delivery: i32) -> *const c_char {
    guard_or(NO_NAME.as_ptr(), || {
        let name = match delivery {
            0 => c"none",
            1 => c"not_sent",
            2 => c"rejected",
            3 => c"unknown",
            4 => c"accepted",
            _ => NO_NAME,
        };
        name.as_ptr()
    })
}

/// A status's name, the service's own word: "active", "completed", "archived", "failed"; "unknown" for AGENTJOB_STATUS_UNKNOWN.
/// @param status any number
/// @return a text that lives for ever; "?" for a number that is no status
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_status_name(status: i32) -> *const c_char {
    guard_or(NO_NAME.as_ptr(), || {
        let name = match status {
            0 => c"unknown",
            1 => c"active",
            2 => c"completed",
            3 => c"archived",
            4 => c"failed",
            _ => NO_NAME,
        };
        name.as_ptr()
    })
}

fn code_name(code: i32) -> &'static CStr {
    match code {
        0 => c"AGENTJOB_OK",
        -1 => c"AGENTJOB_ERR_INVALID_ARGUMENT",
        -2 => c"AGENTJOB_ERR_CONNECT",
        -3 => c"AGENTJOB_ERR_TLS",
        -4 => c"AGENTJOB_ERR_CONNECTION_LOST",
        -5 => c"AGENTJOB_ERR_TIMEOUT",
        -6 => c"AGENTJOB_ERR_CANCELLED",
        -7 => c"AGENTJOB_ERR_CLOSED",
        -8 => c"AGENTJOB_ERR_AUTHENTICATION",
        -9 => c"AGENTJOB_ERR_PERMISSION_DENIED",
        -10 => c"AGENTJOB_ERR_NOT_FOUND",
        -11 => c"AGENTJOB_ERR_CONFLICT",
        -12 => c"AGENTJOB_ERR_RATE_LIMIT",
        -13 => c"AGENTJOB_ERR_BAD_REQUEST",
        -14 => c"AGENTJOB_ERR_SERVER",
        -15 => c"AGENTJOB_ERR_REDIRECT",
        -16 => c"AGENTJOB_ERR_INVALID_RESPONSE",
        -17 => c"AGENTJOB_ERR_WAIT_TIMEOUT",
        -18 => c"AGENTJOB_ERR_INTERNAL",
        -19 => c"AGENTJOB_ERR_JOURNAL",
        _ => NO_NAME,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(of: extern "C" fn(i32) -> *const c_char, number: i32) -> &'static str {
        // SAFETY: every name is a C literal.
        unsafe { CStr::from_ptr(of(number)) }.to_str().unwrap()
    }

    #[test]
    fn every_kind_of_the_core_has_its_own_code_and_name() {
        for (index, kind) in ErrorKind::ALL.into_iter().enumerate() {
            let code = agentjob_code::from(kind);
            assert_eq!(code as i32, -1 - i32::try_from(index).unwrap(), "{kind}");
            let wanted = format!("AGENTJOB_ERR_{}", kind.as_str().to_uppercase());
            assert_eq!(name(agentjob_code_name, code as i32), wanted);
            assert_eq!(format!("{code:?}"), wanted);
        }
        assert_eq!(name(agentjob_code_name, 0), "AGENTJOB_OK");
    }

    #[test]
    fn every_verdict_has_the_name_that_the_core_gives_it() {
        for delivery in Delivery::ALL {
            let number = agentjob_delivery::from(Some(delivery)) as i32;
            assert_eq!(name(agentjob_delivery_name, number), delivery.as_str());
        }
        assert_eq!(name(agentjob_delivery_name, 0), "none");
    }

    #[test]
    fn every_status_has_the_services_word() {
        for status in [JobStatus::Active, JobStatus::Completed, JobStatus::Archived, JobStatus::Failed] {
            assert_eq!(name(agentjob_status_name, agentjob_status::from(&status) as i32), status.as_str());
        }
        assert_eq!(agentjob_status::from(&JobStatus::Other("paused".into())) as i32, 0);
    }

    #[test]
    fn any_other_number_can_be_printed() {
        for of in [agentjob_code_name, agentjob_delivery_name, agentjob_status_name] {
            for number in [6, 19, -20, i32::MIN, i32::MAX] {
                assert_eq!(name(of, number), "?");
            }
        }
    }
}
