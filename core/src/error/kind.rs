//! The kinds of error: one table for every language.

use std::fmt;

/// Makes the enum, [`ErrorKind::ALL`] and [`ErrorKind::as_str`] from one table.
macro_rules! error_kinds {
    ($($(#[doc = $doc:literal])+ $kind:ident = $name:literal,)+) => {
        /// What went wrong. One list for every language: each kind is one Python class and one C code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[doc = $doc])+ $kind,)+
        }

        impl ErrorKind {
            /// Every kind, in the order of the codes in C (-1, -2, …).
            pub const ALL: [ErrorKind; [$($name),+].len()] = [$(ErrorKind::$kind),+];

            /// The kind's name in snake case, the same in every language: `not_found`, `wait_timeout`, …
            pub fn as_str(self) -> &'static str {
                match self {
                    $(ErrorKind::$kind => $name,)+
                }
            }
        }
    };
}

error_kinds! {
    /// An argument or a setting is wrong or missing. Nothing was sent.
    InvalidArgument = "invalid_argument",
    /// No connection: name lookup, TCP, or a proxy that refused.
    Connect = "connect",
    /// The TLS handshake failed: an unknown authority, a wrong name, an expired certificate.
    Tls = "tls",
    /// The connection ended before the response did.
    ConnectionLost = "connection_lost",
    /// The call timed out (`timeout`, or `connect_timeout` while connecting).
    Timeout = "timeout",
    /// The caller's cancel token or callback ended the call.
    Cancelled = "cancelled",
    /// The client was closed.
    Closed = "closed",
    /// 401: the key is wrong or expired.
    Authentication = "authentication",
    /// 403: the key lacks permission, or this IP address is not allowed.
    PermissionDenied = "permission_denied",
    /// 404: the job or the project does not exist.
    NotFound = "not_found",
    /// 409: the job cannot take the request now.
    Conflict = "conflict",
    /// 429: the project's hourly limit is used up.
    RateLimit = "rate_limit",
    /// 400 or another 4xx: the service refused the request.
    BadRequest = "bad_request",
    /// 5xx: the service, or a gateway in front of it, failed.
    Server = "server",
    /// 3xx: redirects are never followed, because the key would go to another place.
    Redirect = "redirect",
    /// A response that does not follow the contract: no HTTP, no JSON, no record, or too large.
    InvalidResponse = "invalid_response",
    /// A wait timed out before the job was done.
    WaitTimeout = "wait_timeout",
    /// A bug in this library, caught.
    Internal = "internal",
    /// A batch's journal cannot be opened, read or written, is damaged, or is in use by another run.
    Journal = "journal",
}

impl ErrorKind {
    /// The kind of a response whose status is no success.
    pub(crate) fn of_status(status: u16) -> ErrorKind {
        match status {
            300..=399 => ErrorKind::Redirect,
            401 => ErrorKind::Authentication,
            403 => ErrorKind::PermissionDenied,
            404 => ErrorKind::NotFound,
            409 => ErrorKind::Conflict,
            429 => ErrorKind::RateLimit,
            400..=499 => ErrorKind::BadRequest,
            500..=599 => ErrorKind::Server,
            _ => ErrorKind::InvalidResponse,
        }
    }

    /// Whether a setting has to change first: the key, the base URL, the trusted authorities. Another request cannot succeed, so it
    /// ends a wait and stops a batch.
    pub(crate) fn is_a_setting(self) -> bool {
        use ErrorKind::*;
        matches!(self, Authentication | PermissionDenied | Redirect | Tls | InvalidArgument)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_kind() {
        let rows = [
            (301, ErrorKind::Redirect),
            (308, ErrorKind::Redirect),
            (400, ErrorKind::BadRequest),
            (401, ErrorKind::Authentication),
            (402, ErrorKind::BadRequest),
            (403, ErrorKind::PermissionDenied),
            (404, ErrorKind::NotFound),
            (408, ErrorKind::BadRequest),
            (409, ErrorKind::Conflict),
            (422, ErrorKind::BadRequest),
            (429, ErrorKind::RateLimit),
            (500, ErrorKind::Server),
            (504, ErrorKind::Server),
            (599, ErrorKind::Server),
            (101, ErrorKind::InvalidResponse),
            (700, ErrorKind::InvalidResponse),
        ];
        for (status, kind) in rows {
            assert_eq!(ErrorKind::of_status(status), kind, "{status}");
        }
    }

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let mut names = ErrorKind::ALL.map(ErrorKind::as_str).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorKind::ALL.len());
    }
}
