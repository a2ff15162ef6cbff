//! What the emulator records: the messages it processed, and the requests it received.

use serde::{Deserialize, Serialize};

/// One message that was really processed: the whole request arrived, it was valid, and no rule said otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Its place in the ledger, from 1.
    pub n: u64,
    /// The job it was for.
    pub job_id: String,
    /// Its text; empty where [`Config::keep_prompts`](crate::Config::keep_prompts) is off.
    pub prompt: String,
    /// Whether it followed up a job or created one.
    pub kind: MessageKind,
    /// The pull request that its work makes; none if its work fails. A later message to the job may take its place before it is done.
    pub pr_link: Option<String>,
    /// Milliseconds from the start (or the last reset) to its processing.
    pub at_ms: u64,
    /// The [request](RequestEntry::n) that brought it.
    pub request: u64,
}

/// What a message did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageKind {
    /// It followed up a job that existed.
    Message,
    /// It created a job.
    Create,
}

/// Every request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// How many connections were accepted, without those to the truth endpoints.
    pub connections: u64,
    /// How many requests began.
    pub total: u64,
    /// Each of them; empty where [`Config::keep_requests`](crate::Config::keep_requests) is off.
    pub requests: Vec<RequestEntry>,
}

/// One request, complete or broken off.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestEntry {
    /// Its ordinal, from 1, by the order in which first bytes arrived.
    pub n: u64,
    /// The connection it came on, from 1.
    pub connection: u64,
    /// Its method, if the request line arrived.
    pub method: Option<String>,
    /// Its target as it was on the wire, if the request line arrived.
    pub path: Option<String>,
    /// Its header fields as they were on the wire, but for the key: `Bearer ***` if it was right, `***` if not.
    pub headers: Vec<(String, String)>,
    /// How many bytes of its body were consumed.
    pub body_bytes: u64,
    /// Whether the whole request was consumed.
    pub complete: bool,
    /// The status it was responded to with, if it was.
    pub status: Option<u16>,
    /// The fault that broke it, such as `close at body:10`.
    pub fault: Option<String>,
}
