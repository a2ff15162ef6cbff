//! One HTTP exchange as data: a request in; a reply, or the reason why there is none, out.

use std::sync::Arc;
use std::time::Instant;

use crate::call::options::CallOptions;
use crate::call::timings::Timings;
use crate::config::api_keys::KeyRing;
use crate::config::request_head::RequestHead;
use crate::delivery::Sent;
use crate::http::cause::Cause;
use crate::http::response_headers::ResponseHeaders;

/// A request.
pub(crate) struct Exchange<'a> {
    pub(crate) path: String,
    /// The key to send.
    pub(crate) key: &'a Arc<KeyRing>,
    /// The other header lines.
    pub(crate) head: &'a Arc<RequestHead>,
    /// The JSON of a POST; `None` makes it a GET.
    pub(crate) body: Option<&'a [u8]>,
    pub(crate) deadline: Instant,
    /// Use no kept connection.
    pub(crate) new_connection: bool,
    /// The current process.
    pub(crate) pid: u32,
    pub(crate) call: &'a CallOptions,
}

/// A response whose head was read.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: ResponseHeaders,
    pub(crate) body: Vec<u8>,
    /// Why the body is incomplete or unusable.
    pub(crate) cut: Option<Cause>,
    /// What ended the call before the whole response was read, if it had arrived by then.
    pub(crate) ended_by: Option<Cause>,
    /// How much of the request the kernel had taken: a response may come early.
    pub(crate) sent: Sent,
    /// When the whole response had been read.
    pub(crate) at: Instant,
    pub(crate) timings: Timings,
}

/// An exchange without a reply.
#[derive(Debug)]
pub(crate) struct Broken {
    pub(crate) cause: Cause,
    pub(crate) sent: Sent,
}

#[cfg(test)]
impl Default for Reply {
    fn default() -> Reply {
        Reply {
            status: 200,
            headers: ResponseHeaders::default(),
            body: Vec::new(),
            cut: None,
            ended_by: None,
            sent: Sent::All,
            at: Instant::now(),
            timings: Timings::default(),
        }
    }
}
