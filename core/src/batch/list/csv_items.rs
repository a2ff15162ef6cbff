//! The messages of a list with a header: CSV, or TSV with tabs. The header names the columns, in any order.

use std::borrow::Cow;

use crate::batch::item::BatchItem;
use crate::batch::list::columns::{mistyped, unknown};
use crate::batch::list::csv::{Record, Records, WrongRecord};
use crate::batch::list::wrong::Wrong;
use crate::error::Error;
use crate::text::describe;

/// The items of a text, each with its line, or what is wrong with a line.
pub(crate) struct CsvItems<'a> {
    records: Records<'a>,
    columns: Option<Columns>,
    separator: char,
    keeps_extra: bool,
}

/// Where the header has each column.
struct Columns {
    count: usize,
    job_id: usize,
    prompt: usize,
    key: Option<usize>,
    /// All others, with their names as JSON.
    extra: Vec<(String, usize)>,
}

impl<'a> CsvItems<'a> {
    pub(crate) fn new(text: &'a str, separator: char, keeps_extra: bool) -> CsvItems<'a> {
        CsvItems { records: Records::new(text, separator), columns: None, separator, keeps_extra }
    }

    /// The next record that isn't an empty line.
    fn record(&mut self) -> Option<Result<Record<'a>, Wrong>> {
        let record = self.records.find(|record| !matches!(record, Ok((_, fields)) if is_empty_line(fields)))?;
        Some(record.map_err(|WrongRecord { line, column, what }| Wrong::at(line, column, Error::invalid(what))))
    }

    fn header(&self, (line, fields): Record<'_>) -> Result<Columns, Wrong> {
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

/// What to do about a header whose names are between other separators than the format's: a spreadsheet's choice, or the file's
/// ending.
fn wrong_separator(fields: &[Cow<'_, str>]) -> Option<&'static str> {
    let separated_by = |separator| fields.iter().any(|field| has_columns(field, separator));
    match () {
        () if separated_by(';') => Some("Its columns are separated by semicolons: save the list with commas."),
        () if separated_by('\t') => Some("Its columns are separated by tabs: give the format tsv (--format tsv)."),
        () if separated_by(',') => Some("Its columns are separated by commas: give the format csv (--format csv)."),
        () => None,
    }
}

/// Whether a line is a header with this separator.
pub(crate) fn has_columns(line: &str, separator: char) -> bool {
    let mut names = line.split(separator).map(|name| name.trim().trim_matches('"'));
    line.contains(separator) && names.any(|name| name == "job_id")
}

fn is_empty_line(fields: &[Cow<'_, str>]) -> bool {
    matches!(fields, [field] if field.is_empty())
}

impl Iterator for CsvItems<'_> {
    type Item = Result<BatchItem, Wrong>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.columns.is_none() {
            match self.record()?.and_then(|record| self.header(record)) {
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
            let item = columns.item(fields).map_err(|error| Wrong::on(line, error))?;
            Ok(item.with_line(line))
        }))
    }
}

impl Columns {
    fn of_header(fields: &[Cow<'_, str>], keeps_extra: bool) -> Result<Columns, String> {
        let names: Vec<&str> = fields.iter().map(|name| name.trim()).collect();
        let find = |wanted: &str| names.iter().position(|name| *name == wanted);
        // Without a header the first line is a message, which no error may quote.
        let missing = |wanted: &str| match mistyped(wanted, names.iter().copied()) {
            Some(instead) => format!("there is no column {wanted}, but one called {instead:?}"),
            None => format!("there is no column {wanted}; the first line must be the header"),
        };
        let job_id = find("job_id").ok_or_else(|| missing("job_id"))?;
        let prompt = find("prompt").ok_or_else(|| missing("prompt"))?;
        let is_other = |name: &str| !BatchItem::FIELDS.contains(&name);
        if let Some(name) = names.iter().find(|name| is_other(name) && !keeps_extra) {
            return Err(format!("the header has an {}; the option extra (--extra) keeps it", unknown("column", name)));
        }
        if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            return Err(format!("the header has the column {:?} twice", describe(names[twice])));
        }
        let others = names.iter().enumerate().filter(|(_, name)| is_other(name));
        let extra = others.map(|(at, name)| (serde_json::Value::from(*name).to_string(), at)).collect();
        Ok(Columns { count: names.len(), job_id, prompt, key: find("key"), extra })
    }

    fn item(&self, mut fields: Vec<Cow<'_, str>>) -> Result<BatchItem, Error> {
        if fields.len() != self.count {
            let (found, noun) = (fields.len(), if fields.len() == 1 { "field" } else { "fields" });
            let reason = format!("the line has {found} {noun}, but the header has {}", self.count);
            return Err(Error::invalid(reason));
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
