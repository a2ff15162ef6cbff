//! The plan of one process: the parent writes it, the sender reads it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Item {
    pub(crate) job_id: String,
    pub(crate) prompt: String,
    pub(crate) key: Option<String>,
}

/// Where the process ends itself with SIGKILL: when it takes this step the n-th time.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kill {
    pub(crate) step: String,
    pub(crate) nth: u64,
}

/// A decision, which a process makes instead of sending.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Decide {
    /// The items' numbers.
    pub(crate) items: Vec<u64>,
    pub(crate) decision: String,
    pub(crate) prompt: Option<String>,
}

/// One run of a batch.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) base_url: String,
    pub(crate) api_key: String,
    pub(crate) project_id: String,
    pub(crate) items: Vec<Item>,
    pub(crate) journal: PathBuf,
    /// Where the process notes what is on the disk; see [`Notes`](super::notes::Notes).
    pub(crate) notes: PathBuf,
    pub(crate) concurrency: u32,
    pub(crate) wait: bool,
    pub(crate) rate: Option<String>,
    pub(crate) resend_unknown: bool,
    /// How long a job may be busy.
    pub(crate) max_busy_ms: u64,
    pub(crate) timeout_ms: u64,
    pub(crate) decide: Option<Decide>,
    pub(crate) kill: Option<Kill>,
    /// A seed: the threads pause for a moment at steps it draws, so that they interleave differently. 0: no pauses.
    pub(crate) jostle: u64,
    /// How long the thread that takes this step is held up there, one time in three.
    pub(crate) slow: Option<(String, u64)>,
    /// The limit of a file's length (RLIMIT_FSIZE): simulates a full disk without root.
    pub(crate) file_limit: Option<u64>,
}

/// What the sender says on its standard output, one JSON object a line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Said {
    /// The process has the journal. `unix_ms` is its system time, `waits`: whether it waits for the jobs.
    Begun { unix_ms: u64, waits: bool },
    /// An item has its outcome.
    Reported { number: u64, delivery: String, error: Option<String>, earlier: bool, pr_link: Option<String> },
    /// Nothing is sent for this long.
    Paused { ms: u64 },
    /// A decision was made about these items.
    Decided { numbers: Vec<u64>, decision: String },
    /// The batch came to its end.
    Over,
    /// The batch failed.
    Failed { kind: String, message: String },
}
