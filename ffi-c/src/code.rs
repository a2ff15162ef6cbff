//! Error codes, and the one table that ties each to the core's kind and to its name.

use std::ffi::{CStr, c_char};

use agentjob_core::ErrorKind;

use crate::text::name;

/// How a call of a function that can fail ended. Later versions only add numbers, so treat an unknown number as a failure.
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_code {
    /// Success.
    AGENTJOB_OK = 0,
    /// An argument or a setting is wrong or missing. Nothing was sent.
    AGENTJOB_ERR_INVALID_ARGUMENT = -1,
    /// No connection: the name lookup or TCP failed, or a proxy refused.
    AGENTJOB_ERR_CONNECT = -2,
    /// The TLS handshake failed: an unknown authority, a wrong name, an expired certificate.
    AGENTJOB_ERR_TLS = -3,
    /// The connection ended before the response was complete.
    AGENTJOB_ERR_CONNECTION_LOST = -4,
    /// The call's deadline, or the one for connecting, was exceeded.
    AGENTJOB_ERR_TIMEOUT = -5,
    /// The call's cancel token or its progress function ended it.
    AGENTJOB_ERR_CANCELLED = -6,
    /// The client was closed.
    AGENTJOB_ERR_CLOSED = -7,
    /// 401: the API key is wrong or expired.
    AGENTJOB_ERR_AUTHENTICATION = -8,
    /// 403: the API key lacks permission, or this IP address is not allowed.
    AGENTJOB_ERR_PERMISSION_DENIED = -9,
    /// 404: there is no such job or project.
    AGENTJOB_ERR_NOT_FOUND = -10,
    /// 409: the job cannot take the request now.
    AGENTJOB_ERR_CONFLICT = -11,
    /// 429: the project's hourly limit is used up.
    AGENTJOB_ERR_RATE_LIMIT = -12,
    /// 400 or another 4xx: the service refused the request.
    AGENTJOB_ERR_BAD_REQUEST = -13,
    /// 5xx: the service or a gateway in front of it failed.
    AGENTJOB_ERR_SERVER = -14,
    /// 3xx: redirects are never followed, so the API key cannot reach another host.
    AGENTJOB_ERR_REDIRECT = -15,
    /// The response is not HTTP, not JSON, not a job record, or too large.
    AGENTJOB_ERR_INVALID_RESPONSE = -16,
    /// The wait's deadline was exceeded before the job was done.
    AGENTJOB_ERR_WAIT_TIMEOUT = -17,
    /// A bug in this library.
    AGENTJOB_ERR_INTERNAL = -18,
    /// A batch's journal cannot be opened, read or written, is damaged, or is in use by another run.
    AGENTJOB_ERR_JOURNAL = -19,
}

/// Each kind of error with its code and the code's name.
const KINDS: [(ErrorKind, agentjob_code, &CStr); 19] = {
    use ErrorKind::*;
    use agentjob_code::*;
    [
        (InvalidArgument, AGENTJOB_ERR_INVALID_ARGUMENT, c"AGENTJOB_ERR_INVALID_ARGUMENT"),
        (Connect, AGENTJOB_ERR_CONNECT, c"AGENTJOB_ERR_CONNECT"),
        (Tls, AGENTJOB_ERR_TLS, c"AGENTJOB_ERR_TLS"),
        (ConnectionLost, AGENTJOB_ERR_CONNECTION_LOST, c"AGENTJOB_ERR_CONNECTION_LOST"),
        (Timeout, AGENTJOB_ERR_TIMEOUT, c"AGENTJOB_ERR_TIMEOUT"),
        (Cancelled, AGENTJOB_ERR_CANCELLED, c"AGENTJOB_ERR_CANCELLED"),
        (Closed, AGENTJOB_ERR_CLOSED, c"AGENTJOB_ERR_CLOSED"),
        (Authentication, AGENTJOB_ERR_AUTHENTICATION, c"AGENTJOB_ERR_AUTHENTICATION"),
        (PermissionDenied, AGENTJOB_ERR_PERMISSION_DENIED, c"AGENTJOB_ERR_PERMISSION_DENIED"),
        (NotFound, AGENTJOB_ERR_NOT_FOUND, c"AGENTJOB_ERR_NOT_FOUND"),
        (Conflict, AGENTJOB_ERR_CONFLICT, c"AGENTJOB_ERR_CONFLICT"),
        (RateLimit, AGENTJOB_ERR_RATE_LIMIT, c"AGENTJOB_ERR_RATE_LIMIT"),
        (BadRequest, AGENTJOB_ERR_BAD_REQUEST, c"AGENTJOB_ERR_BAD_REQUEST"),
        (Server, AGENTJOB_ERR_SERVER, c"AGENTJOB_ERR_SERVER"),
        (Redirect, AGENTJOB_ERR_REDIRECT, c"AGENTJOB_ERR_REDIRECT"),
        (InvalidResponse, AGENTJOB_ERR_INVALID_RESPONSE, c"AGENTJOB_ERR_INVALID_RESPONSE"),
        (WaitTimeout, AGENTJOB_ERR_WAIT_TIMEOUT, c"AGENTJOB_ERR_WAIT_TIMEOUT"),
        (Internal, AGENTJOB_ERR_INTERNAL, c"AGENTJOB_ERR_INTERNAL"),
        (Journal, AGENTJOB_ERR_JOURNAL, c"AGENTJOB_ERR_JOURNAL"),
    ]
};

impl From<ErrorKind> for agentjob_code {
    fn from(kind: ErrorKind) -> agentjob_code {
        // The test below finds every kind of the core in the table.
        KINDS.iter().find(|row| row.0 == kind).map_or(agentjob_code::AGENTJOB_ERR_INTERNAL, |row| row.1)
    }
}

/// A code's name as it is spelled in this header: "AGENTJOB_ERR_NOT_FOUND".
/// @param code any number
/// @return a static text; "?" for a number that is not a code
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_code_name(code: i32) -> *const c_char {
    name(|| match code {
        0 => Some(c"AGENTJOB_OK"),
        _ => KINDS.iter().find(|row| row.1 as i32 == code).map(|row| row.2),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(code: i32) -> &'static str {
        // SAFETY: every name is a C literal.
        unsafe { CStr::from_ptr(agentjob_code_name(code)) }.to_str().unwrap()
    }

    #[test]
    fn every_kind_of_the_core_has_its_own_code_and_name() {
        for (index, kind) in ErrorKind::ALL.into_iter().enumerate() {
            let code = agentjob_code::from(kind);
            assert_eq!(code as i32, -1 - i32::try_from(index).unwrap(), "{kind}");
            let wanted = format!("AGENTJOB_ERR_{}", kind.as_str().to_uppercase());
            assert_eq!(name_of(code as i32), wanted);
            assert_eq!(format!("{code:?}"), wanted);
        }
        assert_eq!(name_of(0), "AGENTJOB_OK");
    }

    #[test]
    fn any_other_number_can_be_printed() {
        for number in [1, -20, i32::MIN, i32::MAX] {
            assert_eq!(name_of(number), "?");
        }
    }
}
