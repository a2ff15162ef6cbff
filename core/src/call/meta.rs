//! The metadata of a success: everything about the response except its record.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::call::timings::{Timings, seconds_to_the_microsecond};
use crate::job::Job;

/// A function that receives the metadata of a success, on the calling thread; see [`CallOptions::meta`](crate::CallOptions::meta).
pub type MetaHandler = Arc<dyn Fn(&ResponseMeta) + Send + Sync>;

/// The metadata of a success. It has no secret of the client's, and neither a prompt nor the record.
#[derive(Debug, Clone, PartialEq)]
pub struct ResponseMeta {
    pub(crate) operation: &'static str,
    pub(crate) job_id: Box<str>,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) headers_cut: bool,
    pub(crate) request_id: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) attempts: u32,
    pub(crate) elapsed: Duration,
    pub(crate) timings: Timings,
}

impl ResponseMeta {
    /// `send_message`, `get_job` or `create_job`.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// The job; for `create_job` the new one.
    pub fn job_id(&self) -> &str {
        &self.job_id
    }

    /// The HTTP status: 200 to 299.
    pub fn status(&self) -> u16 {
        self.status
    }

    /// The response's header fields, names in lower case, in the response's order; the values of a repeated name are joined by `", "`.
    ///
    /// `***` replaces the client's key and the proxy's password, and the value of each field whose name says that it is a secret, such
    /// as `Set-Cookie`. At most 100 fields with at most 2,048 characters each are kept; see
    /// [`headers_cut`](ResponseMeta::headers_cut).
    pub fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The value of one header field; the name's case does not matter.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Whether the response had more fields, or longer values, than are kept.
    pub fn headers_cut(&self) -> bool {
        self.headers_cut
    }

    /// The service's or a gateway's id of the request, if the response has one.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// How many bytes the record had.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many requests the call made; each poll of a wait is a call of its own.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// How long the call took until the response had been read, its retries and pauses included.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }

    /// Where the time of the last request went.
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// The metadata as a JSON object, the same in every language. Durations are seconds.
    pub fn to_json(&self) -> String {
        let headers = self.headers().map(|(name, value)| (name.to_owned(), Value::from(value)));
        let mut json = String::from("{");
        for (key, value) in [
            ("operation", self.operation.into()),
            ("job_id", (*self.job_id).into()),
            ("status", self.status.into()),
            ("headers", Value::Object(headers.collect())),
            ("headers_cut", self.headers_cut.into()),
            ("request_id", self.request_id.as_deref().into()),
            ("bytes", self.bytes.into()),
            ("attempts", self.attempts.into()),
            ("elapsed", seconds_to_the_microsecond(self.elapsed)),
            ("timings", self.timings.to_json()),
        ] {
            let comma = if json.len() > 1 { "," } else { "" };
            write!(json, "{comma}\"{key}\":{value}").expect("a String takes every write");
        }
        json.push('}');
        json
    }

    /// The metadata of the response with this record.
    pub(crate) fn of_job(mut self, job: &Job) -> ResponseMeta {
        if self.job_id.is_empty() {
            self.job_id = job.id().into();
        }
        self
    }
}
