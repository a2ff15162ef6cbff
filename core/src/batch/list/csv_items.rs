//! The messages of a list with a header: CSV, or TSV with tabs. The header names the columns, in any order.

use std::borrow::Cow;

use crate::batch::item::BatchItem;
use crate::batch::list::columns::{both, mistyped, spelled_alike, unknown};
use crate::batch::list::csv::{Record, Records, WrongRecord};
use crate::batch::list::wrong::Wrong;
use crate::error::Error;
use crate::text::describe;

/// The items of a text, each with its line, or what is wrong with a line.
pub(crate) struct CsvItems<'a> {
    records: Records<'a>,
    /// The separator that the first line names, if it is another one.
    other_separator: Option<char>,
    columns: Option<Columns>,
    separator: char,
    keeps_extra: bool,
}

/// Where the header has each column.
struct Columns {
    /// The names, without the empty ones at the end that a spreadsheet writes.
    names: Vec<String>,
    /// How many fields the header has with those.
    count: usize,
    job_id: usize,
    prompt: usize,
    key: Option<usize>,
    /// All others, with their names as JSON.
    extra: Vec<(String, usize)>,
}

impl<'a> CsvItems<'a> {
    pub(crate) fn new(text: &'a str, separator: char, keeps_extra: bool) -> CsvItems<'a> {
        let (records, other_separator) = match separator_line(text) {
            Some((named, rest)) => (Records::new(rest, 2, separator), Some(named).filter(|named| *named != separator)),
            None => (Records::new(text, 1, separator), None),
        };
        CsvItems { records, other_separator, columns: None, separator, keeps_extra }
    }

    /// The next record that isn't empty: a spreadsheet writes empty rows behind the last one.
    fn record(&mut self) -> Option<Result<Record<'a>, Wrong>> {
        let is_empty = |fields: &[Cow<'_, str>]| fields.iter().all(|field| field.is_empty());
        let record = self.records.find(|record| !matches!(record, Ok((_, fields)) if is_empty(fields)))?;
        Some(record.map_err(|WrongRecord { line, column, what }| Wrong::at(line, column, Error::invalid(what))))
    }

    fn header(&mut self) -> Option<Result<Columns, Wrong>> {
        if let Some(named) = self.other_separator.take() {
            let reason = format!("the columns are separated by {named:?}");
            let hint = separator_hint(named).unwrap_or("Save the list with commas.");
            return Some(Err(Wrong::on(1, Error::invalid(reason).with_hint(hint))));
        }
        Some(self.record()?.and_then(|record| self.columns_of(record)))
    }

    fn columns_of(&self, (line, fields): Record<'_>) -> Result<Columns, Wrong> {
        Columns::of_header(&fields, self.keeps_extra).map_err(|reason| {
            if let Some(hint) = wrong_separator(&fields) {
                return Wrong::on(line, Error::invalid(reason).with_hint(hint));
            }
            let between = if self.separator == '\t' { "tabs" } else { "commas" };
            let others = if self.keeps_extra { ", and any others" } else { "" };
            let hint = format!("The columns are job_id, prompt and, optionally, key{others}, separated by {between}.");
            Wrong::on(line, Error::invalid(reason).with_hint(hint))
        })
    }
}

/// The separator that a first line `sep=,` names, which is for spreadsheets, and the text behind that line.
fn separator_line(text: &str) -> Option<(char, &str)> {
    let mut rest = text.strip_prefix("sep=")?.chars();
    let separator = rest.next()?;
    let rest = rest.as_str();
    let rest = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix(['\n', '\r']))?;
    Some((separator, rest))
}

/// What to do about a header whose separators are not the format's: a spreadsheet's choice, or the file's ending.
fn wrong_separator(fields: &[Cow<'_, str>]) -> Option<&'static str> {
    let separated_by = |separator: &char| fields.iter().any(|field| has_columns(field, *separator));
    [';', '\t', ','].into_iter().find(separated_by).and_then(separator_hint)
}

fn separator_hint(separator: char) -> Option<&'static str> {
    match separator {
        ';' => Some("Its columns are separated by semicolons: save the list with commas."),
        '\t' => Some("Its columns are separated by tabs: give the format tsv (--format tsv)."),
        ',' => Some("Its columns are separated by commas: give the format csv (--format csv)."),
        _ => None,
    }
}

/// Whether a line is a header with this separator.
pub(crate) fn has_columns(line: &str, separator: char) -> bool {
    let mut names = line.split(separator).map(|name| name.trim().trim_matches('"'));
    line.contains(separator) && names.any(|name| name == "job_id")
}

impl Iterator for CsvItems<'_> {
    type Item = Result<BatchItem, Wrong>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.columns.is_none() {
            match self.header()? {
                Ok(columns) => self.columns = Some(columns),
                Err(wrong) => {
                    // Without a header no other line can be read.
                    self.records.end();
                    return Some(Err(wrong));
                }
            }
        }
        let record = self.record()?;
        let columns = self.columns.as_ref()?;
        Some(record.and_then(|(line, fields)| {
            if columns.are_named_by(&fields) {
                let error = Error::invalid("the line is the header again, probably because files were joined");
                return Err(Wrong::on(line, error.with_hint("Remove it.")));
            }
            let item = columns.item(fields).map_err(|error| Wrong::on(line, error))?;
            Ok(item.with_line(line))
        }))
    }
}

impl Columns {
    fn of_header(fields: &[Cow<'_, str>], keeps_extra: bool) -> Result<Columns, String> {
        let mut names: Vec<&str> = fields.iter().map(|name| name.trim()).collect();
        names.truncate(names.iter().rposition(|name| !name.is_empty()).map_or(0, |last| last + 1));
        let find = |wanted: &str| names.iter().position(|name| *name == wanted);
        // Without a header the first line is a message, which no error may quote.
        let missing = |wanted: &str| match mistyped(wanted, names.iter().copied()) {
            Some(instead) => format!("there is no column {wanted}, but one called {instead:?}"),
            None => format!("there is no column {wanted}; the first line must be the header"),
        };
        let job_id = find("job_id").ok_or_else(|| missing("job_id"))?;
        let prompt = find("prompt").ok_or_else(|| missing("prompt"))?;
        for name in &names {
            if let Some(field) = spelled_alike(name).filter(|field| find(BatchItem::FIELDS[*field]).is_some()) {
                return Err(both("header", field, name));
            }
        }
        let is_other = |name: &str| !BatchItem::FIELDS.contains(&name);
        if let Some(at) = names.iter().position(|name| is_other(name) && !keeps_extra) {
            let name = names[at];
            if name.is_empty() {
                let number = at + 1;
                return Err(format!("column {number} of the header has no name; the option extra (--extra) keeps it"));
            }
            return Err(format!("the header has an {}; the option extra (--extra) keeps it", unknown("column", name)));
        }
        if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            return Err(format!("the header has the column {:?} twice", describe(names[twice])));
        }
        let others = names.iter().enumerate().filter(|(_, name)| is_other(name));
        let extra = others.map(|(at, name)| (serde_json::Value::from(*name).to_string(), at)).collect();
        let key = find("key");
        let names = names.into_iter().map(str::to_owned).collect();
        Ok(Columns { names, count: fields.len(), job_id, prompt, key, extra })
    }

    /// Whether a record is the header again.
    fn are_named_by(&self, fields: &[Cow<'_, str>]) -> bool {
        fields.len() == self.count && self.names.iter().zip(fields).all(|(name, field)| name == field.trim())
    }

    fn item(&self, mut fields: Vec<Cow<'_, str>>) -> Result<BatchItem, Error> {
        let named = self.names.len();
        if fields.len() == self.count {
            if let Some(at) = (named..self.count).find(|at| !fields[*at].is_empty()) {
                let reason = format!("the line has text in column {}, for which the header has no name", at + 1);
                return Err(Error::invalid(reason).with_hint("Quote a field that contains the separator."));
            }
            fields.truncate(named);
        }
        if fields.len() != named {
            let (found, noun) = (fields.len(), if fields.len() == 1 { "field" } else { "fields" });
            return Err(Error::invalid(format!("the line has {found} {noun}, but the header has {named}")));
        }
        let extra = self.extra_of(&fields);
        let mut take = |at: usize| std::mem::take(&mut fields[at]);
        let mut item = BatchItem::new(take(self.job_id), take(self.prompt));
        // An empty field is how CSV writes that an item has no key.
        if let Some(key) = self.key.map(take).filter(|key| !key.is_empty()) {
            item = item.with_key(key);
        }
        Ok(match extra {
            Some(extra) => item.with_extra(extra),
            None => item,
        })
    }

    /// The other columns as a JSON object of strings.
    fn extra_of(&self, fields: &[Cow<'_, str>]) -> Option<String> {
        let member = |(name, at): &(String, usize)| format!("{name}:{}", serde_json::Value::from(&*fields[*at]));
        let members: Vec<String> = self.extra.iter().map(member).collect();
        (!members.is_empty()).then(|| format!("{{{}}}", members.join(",")))
    }
}

#[cfg(test)]
mod tests;
