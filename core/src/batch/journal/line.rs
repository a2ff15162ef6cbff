//! A line of the journal, and what it can contain.

use std::borrow::Cow;
use std::time::Duration;

use crate::batch::decisions::decision::Decision;
use crate::batch::journal::clock::Stamp;
use crate::batch::journal::digest::{Checksum, Digest};
use crate::batch::journal::reason::Reason;
use crate::batch::pace::circuit_breaker::PauseReason;
use crate::delivery::Delivery;

/// The version of the journal's format. A journal of another version is refused.
pub(crate) const VERSION: u64 = 4;
/// How every journal begins.
pub(crate) const BEGINNING: &str = r#"{"line":"run","journal":4,"#;
/// How the line of a message that is about to be sent begins.
pub(crate) const SENDING: &str = r#"{"line":"sending","#;
/// How the line begins that is written behind a damaged tail.
pub(crate) const RECOVERED: &str = r#"{"line":"recovered","#;
/// The checksum that the first line has of the line before it.
pub(crate) const NO_LINE: Checksum = *b"0000000000000000";
/// How many digits a line has of the checksum of the line before it.
pub(crate) const LINK: usize = 8;
/// What is before and behind a line's checksum.
pub(crate) const SUM: &str = r#","sum":""#;
pub(crate) const END: &str = "\"}\n";

/// A line of the journal.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) stamp: Stamp,
    pub(crate) content: Content<'a>,
    pub(crate) sum: Checksum,
    /// The beginning of the checksum of the line before it.
    pub(crate) after: Cow<'a, str>,
}

impl Line<'_> {
    /// Whether it was written right behind the line with this checksum.
    pub(crate) fn follows(&self, before: &Checksum) -> bool {
        self.after.as_bytes() == &before[..LINK]
    }
}

/// What a line records.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// The numbers that the known items from this place on, in the order of their first lines, have in the list of the run that
    /// begins right behind; 0 for one that it lacks. Only if the numbers differ from before.
    Numbers { from: u64, numbers: Vec<u64> },
    /// A run began.
    Run(RunHeader<'a>),
    /// A message is about to be sent.
    Sending { item: ItemRef, prompt: Digest, job_id: Cow<'a, str>, own_key: Option<Cow<'a, str>> },
    /// A message's outcome: the job's record and, if its job is waited for, the poller; or the error and the service's Retry-After.
    Ended {
        item: ItemRef,
        delivery: Delivery,
        job: Option<&'a str>,
        poller: Option<&'a str>,
        error: Option<Reason>,
        retry_after: Option<Duration>,
    },
    /// A poll has seen that the job works on the message.
    Waiting { item: ItemRef, poller: &'a str },
    /// A job that was waited for is done. Without its record, its result may be another message's.
    Finished { item: ItemRef, job: Option<&'a str> },
    /// A person decided what is next for an item. `new_prompt`: the digest of the prompt that is sent from now on; `new_id`: what
    /// identifies the item in a list that has that prompt.
    Decided { item: ItemRef, decision: Decision, new_prompt: Option<Digest>, new_id: Option<Digest> },
    /// The batch pauses.
    Paused { reason: PauseReason, pause_ms: u64 },
    /// This many bytes before this line and a zero, with this checksum, are a damaged tail and skipped.
    Recovered { bytes: u64, of: Cow<'a, str> },
}

/// An item as the journal identifies it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ItemRef {
    pub(crate) id: Digest,
    /// Its place in the list when the line was written, from 1: for people.
    pub(crate) number: u64,
}

/// What a run begins with.
#[derive(Debug)]
pub(crate) struct RunHeader<'a> {
    pub(crate) base_url: Cow<'a, str>,
    pub(crate) project_id: Cow<'a, str>,
    pub(crate) boot: Option<Cow<'a, str>>,
    pub(crate) pid: u32,
    pub(crate) items: u64,
    pub(crate) rate: Option<Cow<'a, str>>,
    pub(crate) wait: bool,
    /// How many numbers the lines before it have for it.
    pub(crate) numbers: u64,
}

/// Where a line is in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineSpan {
    pub(crate) start: u64,
    pub(crate) bytes: u32,
}

impl LineSpan {
    pub(crate) fn end(self) -> u64 {
        self.start + u64::from(self.bytes)
    }
}
