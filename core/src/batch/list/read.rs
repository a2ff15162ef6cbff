//! Reads a list of messages, all of it before anything is sent: a mistake in its last line costs nothing but its correction.

use std::fs;
use std::path::Path;
use std::str::{self, FromStr};

use crate::batch::item::{BatchItem, ItemChecks};
use crate::batch::list::csv::line_ends;
use crate::batch::list::csv_items::CsvItems;
use crate::batch::list::json_items::json_items;
use crate::error::Error;
use crate::error::sentence::Subject;
use crate::text::{describe, escape};

/// How a list of messages is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListFormat {
    /// One JSON object per line, with the string fields `job_id`, `prompt` and, optionally, `key`. Blank lines are skipped.
    JsonLines,
    /// CSV (RFC 4180) with a header that names the columns `job_id`, `prompt` and, optionally, `key`, in any order. An empty key is
    /// none.
    Csv,
}

impl ListFormat {
    /// The format that a file's name suggests: CSV if it ends in `.csv`, in any case, otherwise JSON lines.
    pub fn of_path(path: impl AsRef<Path>) -> ListFormat {
        let extension = path.as_ref().extension().unwrap_or_default();
        if extension.eq_ignore_ascii_case("csv") { ListFormat::Csv } else { ListFormat::JsonLines }
    }
}

/// `jsonl` or `csv`.
impl FromStr for ListFormat {
    type Err = Error;

    fn from_str(name: &str) -> Result<ListFormat, Error> {
        match name {
            "jsonl" => Ok(ListFormat::JsonLines),
            "csv" => Ok(ListFormat::Csv),
            other => Err(Error::invalid(format!("format is {:?}", describe(other))).with_hint("Give jsonl or csv.")),
        }
    }
}

impl BatchItem {
    /// Reads a file of messages. Each item has its [line](BatchItem::line). `None` for the format means
    /// [what the name suggests](ListFormat::of_path).
    ///
    /// # Errors
    /// `InvalidArgument`: the file can't be read, or what [`parse_list`](BatchItem::parse_list) says of its content.
    pub fn read_list(path: impl AsRef<Path>, format: impl Into<Option<ListFormat>>) -> Result<Vec<BatchItem>, Error> {
        let path = path.as_ref();
        let name = path.to_string_lossy();
        let content =
            fs::read(path).map_err(|error| Error::invalid(format!("{} cannot be read ({error})", escape(&name))))?;
        BatchItem::parse_list(&content, &name, format.into().unwrap_or_else(|| ListFormat::of_path(path)))
    }

    /// Reads messages from a file's content, UTF-8 with or without a byte order mark. `name` is what errors call the file.
    ///
    /// ```
    /// use agentjob_core::{BatchItem, ListFormat};
    ///
    /// let content = b"job_id,prompt\njob_1,Add tests\njob_2,\"Fix the bug,\nplease\"\n";
    /// let items = BatchItem::parse_list(content, "night.csv", ListFormat::Csv)?;
    /// assert_eq!((items[1].job_id(), items[1].line()), ("job_2", Some(3)));
    /// # Ok::<(), agentjob_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument`, with the file's name, the number of the first wrong line and how many other lines are wrong: the line
    /// is not UTF-8, JSON or CSV, has a missing, unknown, repeated or wrong field, or repeats the key of another line. Also if
    /// there is no message in the list.
    pub fn parse_list(content: &[u8], name: &str, format: ListFormat) -> Result<Vec<BatchItem>, Error> {
        let name = escape(name);
        let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
        let text = str::from_utf8(content).map_err(|error| {
            let line = line_ends(&content[..error.valid_up_to()]) + 1;
            let error = Error::invalid("not valid UTF-8").with_hint("Save the file as UTF-8.");
            error.about(Subject::Line { file: name.to_string(), line })
        })?;
        match format {
            ListFormat::JsonLines => collect(&name, json_items(text)),
            ListFormat::Csv => collect(&name, CsvItems::new(text)),
        }
    }
}

/// Every item, checked, or an error with the first wrong line.
fn collect(name: &str, lines: impl Iterator<Item = (u64, Result<BatchItem, Error>)>) -> Result<Vec<BatchItem>, Error> {
    // How long a prompt may be is the client's setting, which is checked when the batch begins.
    let mut checks = ItemChecks::new(usize::MAX);
    let (mut items, mut first_wrong, mut wrong_lines) = (Vec::new(), None, 0_u64);
    for (line, item) in lines {
        match item.and_then(|item| checks.check(&item).map(|_| item)) {
            Ok(item) => items.push(item),
            Err(wrong) => {
                first_wrong.get_or_insert((line, wrong));
                wrong_lines += 1;
            }
        }
    }
    let Some((line, wrong)) = first_wrong else {
        return if items.is_empty() { Err(Error::invalid(format!("{name} contains no messages"))) } else { Ok(items) };
    };
    let others = match wrong_lines - 1 {
        0 => String::new(),
        1 => " (and 1 more wrong line)".to_owned(),
        others => format!(" (and {others} more wrong lines)"),
    };
    let error =
        Error::invalid(format!("{}{others}", wrong.reason())).about(Subject::Line { file: name.to_owned(), line });
    Err(error.with_hint_if_any(wrong.hint().map(str::to_owned)))
}

#[cfg(test)]
mod tests;
