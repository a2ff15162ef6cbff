//! Reads a list of messages, all of it before anything is sent: a mistake in its last line costs nothing but its correction.

use std::fs;
use std::path::Path;
use std::str;

use crate::batch::item::{BatchItem, ItemChecks};
use crate::batch::list::csv::line_ends;
use crate::batch::list::csv_items::{CsvItems, has_columns};
use crate::batch::list::json_items::json_items;
use crate::batch::list::options::{ListFormat, ListOptions};
use crate::batch::list::wrong::Wrong;
use crate::error::Error;
use crate::error::sentence::Subject;
use crate::text::{escape, without_mark};

impl BatchItem {
    /// Reads a file of messages. Each item has its [line](BatchItem::line).
    ///
    /// ```no_run
    /// use agentjob_core::{BatchItem, ListOptions};
    ///
    /// let items = BatchItem::read_list("night.csv", &ListOptions::new().extra(true))?;
    /// # Ok::<(), agentjob_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument`: the file can't be read, or what [`parse_list`](BatchItem::parse_list) says of its content.
    pub fn read_list(path: impl AsRef<Path>, options: &ListOptions) -> Result<Vec<BatchItem>, Error> {
        let path = path.as_ref();
        let name = path.to_string_lossy();
        let content =
            fs::read(path).map_err(|error| Error::invalid(format!("{} cannot be read ({error})", escape(&name))))?;
        BatchItem::parse_list(&content, &name, options)
    }

    /// Reads messages from a file's content, UTF-8 with or without a byte order mark. `name` is what errors call the file, and
    /// suggests the format if `options` have none.
    ///
    /// ```
    /// use agentjob_core::{BatchItem, ListOptions};
    ///
    /// let content = b"job_id,prompt,repo\njob_1,Add tests,web\njob_2,\"Fix the bug,\nplease\",api\n";
    /// let items = BatchItem::parse_list(content, "night.csv", &ListOptions::new().extra(true))?;
    /// assert_eq!((items[1].job_id(), items[1].line()), ("job_2", Some(3)));
    /// assert_eq!(items[1].extra(), Some(r#"{"repo":"api"}"#));
    /// # Ok::<(), agentjob_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `InvalidArgument`, with the file's name, the first wrong line, where it can be said the character in it, and how many
    /// other lines are wrong: the line is not UTF-8, JSON or CSV, has a missing, unknown, repeated or wrong field, more
    /// [`extra`](BatchItem::with_extra) than allowed, or repeats the key of another line. Also if there is no message in the
    /// list. No error quotes a prompt.
    pub fn parse_list(content: &[u8], name: &str, options: &ListOptions) -> Result<Vec<BatchItem>, Error> {
        let format = options.format.unwrap_or_else(|| ListFormat::of_path(name));
        let name = escape(name);
        let content = without_mark(content);
        if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, 1..=255, ..] | [1..=255, 0, ..] = content {
            return Err(Error::invalid(format!("{name} is UTF-16")).with_hint("Save it as UTF-8."));
        }
        let wrong_at = |at: usize, error: Error| {
            let (before, _) = content.split_at(at);
            let line_start = before.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |end| end + 1);
            let column = String::from_utf8_lossy(&before[line_start..]).chars().count() as u64 + 1;
            error.about(Subject::Line { file: name.to_string(), line: line_ends(before) + 1, column: Some(column) })
        };
        let text = str::from_utf8(content).map_err(|error| {
            wrong_at(error.valid_up_to(), Error::invalid("not valid UTF-8").with_hint("Save the file as UTF-8."))
        })?;
        // JSON has no control characters in its texts anyway.
        if let Some(at) = text.find('\0').filter(|_| format != ListFormat::Json) {
            let error = Error::invalid("a zero byte, which no text has").with_hint("The file may be damaged.");
            return Err(wrong_at(at, error));
        }
        match format {
            ListFormat::Json => collect(&name, json_items(text, options.extra)).map_err(|error| {
                let header = text.lines().next().unwrap_or_default();
                match [',', ';', '\t'].into_iter().any(|separator| has_columns(header, separator)) {
                    true => error.with_hint("It begins with a header: give its format, csv or tsv (--format)."),
                    false => error,
                }
            }),
            ListFormat::Csv => collect(&name, CsvItems::new(text, ',', options.extra)),
            ListFormat::Tsv => collect(&name, CsvItems::new(text, '\t', options.extra)),
        }
    }
}

/// Every item, checked, or an error with the first wrong line.
fn collect(name: &str, items: impl Iterator<Item = Result<BatchItem, Wrong>>) -> Result<Vec<BatchItem>, Error> {
    // How long a prompt may be is the client's setting, which is checked when the batch begins.
    let mut checks = ItemChecks::new(usize::MAX);
    let (mut good, mut first_wrong, mut wrong_lines) = (Vec::new(), None, 0_u64);
    for item in items {
        let checked = item.and_then(|item| match checks.check(&item) {
            Ok(_) => Ok(item),
            Err(error) => Err(Wrong::on(item.line().unwrap_or_default(), error)),
        });
        match checked {
            Ok(item) => good.push(item),
            Err(wrong) => {
                first_wrong.get_or_insert(wrong);
                wrong_lines += 1;
            }
        }
    }
    let Some(Wrong { line, column, error: wrong }) = first_wrong else {
        return if good.is_empty() { Err(Error::invalid(format!("{name} contains no messages"))) } else { Ok(good) };
    };
    let others = match wrong_lines - 1 {
        0 => String::new(),
        1 => " (and 1 more wrong line)".to_owned(),
        others => format!(" (and {others} more wrong lines)"),
    };
    let subject = Subject::Line { file: name.to_owned(), line, column };
    let error = Error::invalid(format!("{}{others}", wrong.reason())).about(subject);
    Err(error.with_hint_if_any(wrong.hint().map(str::to_owned)))
}

#[cfg(test)]
mod tests;
