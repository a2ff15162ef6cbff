//! How a list of messages is read.

use std::path::Path;
use std::str::FromStr;

use crate::error::Error;
use crate::text::describe;

/// How a list of messages is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListFormat {
    /// JSON objects with the string fields `job_id`, `prompt` and, optionally, `key`: one per line, blank lines skipped, or all of
    /// them in one array.
    Json,
    /// CSV (RFC 4180) with a header that names the columns `job_id`, `prompt` and, optionally, `key`, in any order. An empty key is
    /// none. A field with a comma, a quote or a line break is quoted as a whole, without a space before it, and its quotes are
    /// doubled; any other quote is refused. Skipped are rows whose fields are all empty, empty columns behind the last one with a
    /// name, and a first line `sep=,`.
    Csv,
    /// The same with a tab between two columns: a field with a tab, a quote or a line break is quoted. A program that doesn't quote
    /// writes another format: its quotes are refused.
    Tsv,
}

impl ListFormat {
    /// The format that a file's name suggests: CSV if it ends in `.csv`, TSV if it ends in `.tsv`, in any case, otherwise JSON.
    pub fn of_path(path: impl AsRef<Path>) -> ListFormat {
        let extension = path.as_ref().extension().unwrap_or_default();
        match () {
            () if extension.eq_ignore_ascii_case("csv") => ListFormat::Csv,
            () if extension.eq_ignore_ascii_case("tsv") => ListFormat::Tsv,
            () => ListFormat::Json,
        }
    }
}

/// `json` or `jsonl`, `csv`, `tsv`.
impl FromStr for ListFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<ListFormat, Error> {
        match name {
            "json" | "jsonl" => Ok(ListFormat::Json),
            "csv" => Ok(ListFormat::Csv),
            "tsv" => Ok(ListFormat::Tsv),
            other => {
                let error = Error::invalid(format!("format is {:?}", describe(other)));
                Err(error.with_hint("Give json, jsonl, csv or tsv."))
            }
        }
    }
}

/// How a list of messages is read; see [`BatchItem::read_list`](crate::BatchItem::read_list).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use]
pub struct ListOptions {
    pub(crate) format: Option<ListFormat>,
    pub(crate) extra: bool,
}

impl ListOptions {
    /// The defaults.
    pub fn new() -> ListOptions {
        ListOptions::default()
    }

    /// How the list is written. Default: [what the file's name suggests](ListFormat::of_path).
    pub fn format(mut self, format: impl Into<Option<ListFormat>>) -> ListOptions {
        self.format = format.into();
        self
    }

    /// Keeps columns or fields other than `job_id`, `prompt` and `key`: each item's are one JSON object, its
    /// [`extra`](crate::BatchItem::extra). Default: a list that has others is refused, for one of them may be a known name
    /// that was mistyped.
    pub fn extra(mut self, keep: bool) -> ListOptions {
        self.extra = keep;
        self
    }
}

impl From<ListFormat> for ListOptions {
    fn from(format: ListFormat) -> ListOptions {
        ListOptions::new().format(format)
    }
}
