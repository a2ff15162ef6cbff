//! The messages of a CSV list. The header names the columns, in any order.

use std::borrow::Cow;

use crate::batch::item::BatchItem;
use crate::batch::list::csv::{Record, Records};
use crate::error::Error;
use crate::text::describe;

/// The items of a CSV text, each with its line, or what is wrong with that line.
pub(crate) struct CsvItems<'a> {
    records: Records<'a>,
    columns: Option<Columns>,
}

/// Where the header has each column.
struct Columns {
    count: usize,
    job_id: usize,
    prompt: usize,
    key: Option<usize>,
}

impl<'a> CsvItems<'a> {
    pub(crate) fn new(text: &'a str) -> CsvItems<'a> {
        CsvItems { records: Records::new(text), columns: None }
    }

    /// The next record that isn't an empty line.
    fn record(&mut self) -> Option<Record<'a>> {
        self.records.find(|(_, fields)| !matches!(fields.as_deref(), Ok([field]) if field.is_empty()))
    }
}

impl Iterator for CsvItems<'_> {
    type Item = (u64, Result<BatchItem, Error>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.columns.is_none() {
            let (line, fields) = self.record()?;
            match fields.map_err(Error::invalid).and_then(|fields| Columns::of_header(&fields)) {
                Ok(columns) => self.columns = Some(columns),
                Err(wrong) => {
                    // Without a header no other line can be read.
                    self.records = Records::new("");
                    return Some((line, Err(wrong)));
                }
            }
        }
        let (line, fields) = self.record()?;
        let columns = self.columns.as_ref()?;
        let item = fields.map_err(Error::invalid).and_then(|fields| columns.item(fields));
        Some((line, item.map(|item| item.with_line(line))))
    }
}

impl Columns {
    fn of_header(fields: &[Cow<'_, str>]) -> Result<Columns, Error> {
        let names: Vec<&str> = fields.iter().map(|name| name.trim()).collect();
        let find = |wanted: &str| names.iter().position(|name| *name == wanted);
        // Without a header the first line is a message, which no error may quote.
        let missing = |wanted: &str| format!("there is no column {wanted}; the first line must be the header");
        let columns = || {
            let job_id = find("job_id").ok_or_else(|| missing("job_id"))?;
            let prompt = find("prompt").ok_or_else(|| missing("prompt"))?;
            if let Some(unknown) = names.iter().find(|name| !BatchItem::FIELDS.contains(name)) {
                return Err(format!("the header has an unknown column {:?}", describe(unknown)));
            }
            if let Some(twice) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
                return Err(format!("the header has the column {} twice", names[twice]));
            }
            Ok(Columns { count: names.len(), job_id, prompt, key: find("key") })
        };
        let hint = "The columns are job_id, prompt and, optionally, key, separated by commas.";
        columns().map_err(|reason: String| Error::invalid(reason).with_hint(hint))
    }

    fn item(&self, mut fields: Vec<Cow<'_, str>>) -> Result<BatchItem, Error> {
        if fields.len() != self.count {
            let (found, noun) = (fields.len(), if fields.len() == 1 { "field" } else { "fields" });
            let reason = format!("the line has {found} {noun}, but the header has {}", self.count);
            return Err(Error::invalid(reason));
        }
        let mut take = |at: usize| std::mem::take(&mut fields[at]);
        let item = BatchItem::new(take(self.job_id), take(self.prompt));
        // An empty field is how CSV writes that an item has no key.
        Ok(match self.key.map(take).filter(|key| !key.is_empty()) {
            Some(key) => item.with_key(key),
            None => item,
        })
    }
}
