//! The messages of a list of JSON objects with the fields `job_id`, `prompt` and, optionally, `key`: one per line, or in one array.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;

use crate::batch::item::BatchItem;
use crate::batch::item_limits::LONE_SURROGATE;
use crate::batch::list::columns::{both, mistyped, spelled_alike, unknown};
use crate::batch::list::csv::line_ends;
use crate::batch::list::wrong::Wrong;
use crate::error::Error;
use crate::json::{self, each_member, push_compact};
use crate::text::{BYTE_ORDER_MARK, describe};

/// Each item, or what is wrong with a line.
type Items<'a> = Box<dyn Iterator<Item = Result<BatchItem, Wrong>> + 'a>;

/// The items of a text, each with its line, from 1, or what is wrong with that line.
pub(crate) fn json_items(text: &str, keeps_extra: bool) -> Items<'_> {
    // A line of JSON Lines is an object, so this can only be an array.
    if !text.trim_start().starts_with('[') {
        return Box::new(line_items(text, keeps_extra));
    }
    match serde_json::from_str(text) {
        Ok(elements) => Box::new(array_items(text, elements, keeps_extra)),
        // Without its end an array can't be divided into items.
        Err(error) => Box::new([Err(not_json(text, 1, &error, "list"))].into_iter()),
    }
}

/// One object per line. Blank lines are passed over.
fn line_items(text: &str, keeps_extra: bool) -> impl Iterator<Item = Result<BatchItem, Wrong>> {
    // Not `lines`: a text in JSON may contain other line ends of Unicode, and a `\r` before the end is white space to JSON. It is
    // the line end of a text that has no other.
    let end = if text.contains('\n') { '\n' } else { '\r' };
    // Each of several files that were joined may begin with a byte order mark.
    let lines = text.split(end).map(|line| line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line));
    let lines = (1..).zip(lines).filter(|(_, line)| !line.trim().is_empty());
    lines.map(move |(number, line)| {
        let value: &RawValue = serde_json::from_str(line).map_err(|error| not_json(line, number, &error, "line"))?;
        if !value.get().starts_with('{') {
            let error = Error::invalid(format!("the line is {}", noun(value.get())));
            return Err(Wrong::on(number, error.with_hint("Write one JSON object per line, or one array of objects.")));
        }
        Place::before(line, number).of(value.get()).item(value.get(), keeps_extra)
    })
}

fn array_items<'a>(
    text: &'a str,
    elements: Vec<&'a RawValue>,
    keeps_extra: bool,
) -> impl Iterator<Item = Result<BatchItem, Wrong>> {
    let mut place = Place::before(text, 1);
    elements.into_iter().map(move |value| {
        place = place.of(value.get());
        if value.get().starts_with('{') {
            return place.item(value.get(), keeps_extra);
        }
        let error = Error::invalid(format!("the array has {}", noun(value.get())));
        Err(place.wrong(error.with_hint("Write one JSON object per message.")))
    })
}

/// A position in a text: where a value begins.
#[derive(Clone, Copy)]
struct Place<'a> {
    text: &'a str,
    /// How many bytes are before it.
    at: usize,
    /// The number of its line, and where that begins.
    line: u64,
    line_start: usize,
}

impl<'a> Place<'a> {
    /// Before a text that begins on this line.
    fn before(text: &'a str, line: u64) -> Place<'a> {
        Place { text, at: 0, line, line_start: 0 }
    }

    /// Where this part of the text begins, which is behind this place. What is before this place isn't read again, so that a list
    /// is read in one pass even if it is all in one line.
    fn of(self, part: &str) -> Place<'a> {
        self.moved((part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize))
    }

    fn moved(self, to: usize) -> Place<'a> {
        let at = (self.at..=to.min(self.text.len())).rfind(|at| self.text.is_char_boundary(*at)).unwrap_or(self.at);
        let passed = &self.text[self.at..at];
        let line_start = passed.rfind(['\n', '\r']).map_or(self.line_start, |end| self.at + end + 1);
        Place { text: self.text, at, line: self.line + line_ends(passed.as_bytes()), line_start }
    }

    /// What is wrong here.
    fn wrong(self, error: Error) -> Wrong {
        Wrong::at(self.line, self.text[self.line_start..self.at].chars().count() as u64 + 1, error)
    }

    /// The item of the object that begins here.
    fn item(self, object: &str, keeps_extra: bool) -> Result<BatchItem, Wrong> {
        let Fields { known, other } = self.fields(object)?;
        for (name, _) in &other {
            let text = decoded(name);
            if let Some(field) = spelled_alike(&text).filter(|field| known[*field].is_some()) {
                return Err(self.of(&name[1..]).wrong(Error::invalid(both("object", field, &text))));
            }
        }
        let [job_id, prompt, key] = known;
        let missing = |wanted: &str| {
            let names: Vec<Cow<'_, str>> = other.iter().map(|(name, _)| decoded(name)).collect();
            // A name that is nearly right explains why one is missing. Any other may be a message, which no error may quote.
            let instead = mistyped(wanted, names.iter().map(|name| &**name));
            let instead = instead.map_or_else(String::new, |name| format!("; unknown field {:?}", describe(name)));
            self.wrong(Error::invalid(format!("{wanted} is missing{instead}")))
        };
        let job_id = self.text("job_id", job_id.ok_or_else(|| missing("job_id"))?)?;
        let mut item = BatchItem::new(job_id, self.text("prompt", prompt.ok_or_else(|| missing("prompt"))?)?);
        if let Some(key) = key.filter(|key| *key != "null") {
            item = item.with_key(self.text("key", key)?);
        }
        if let Some((name, _)) = other.first() {
            if !keeps_extra {
                let reason = format!("{}; the option extra (--extra) keeps it", unknown("field", &decoded(name)));
                let error = Error::invalid(reason).with_hint("The fields are job_id, prompt and key.");
                return Err(self.of(&name[1..]).wrong(error));
            }
            item = item.with_extra(object_of(&other));
        }
        Ok(item.with_line(self.line))
    }

    /// The object's fields. A map would keep one of two fields with the same name, and drop a message silently.
    fn fields<'j>(self, object: &'j str) -> Result<Fields<'j>, Wrong> {
        let mut fields = Fields { known: [None; _], other: Vec::new() };
        let (mut names, mut twice) = (HashSet::new(), None);
        each_member(object, |name, value| {
            let text = decoded(name);
            let known = BatchItem::FIELDS.iter().position(|field| text == *field);
            let is_new = match known {
                Some(field) => fields.known[field].replace(value).is_none(),
                None => {
                    fields.other.push((name, value));
                    names.insert(text)
                }
            };
            if !is_new {
                twice.get_or_insert((name, known));
            }
        })
        .expect("the object was checked");
        let Some((name, known)) = twice else { return Ok(fields) };
        // Only a known name is quoted: another one may be a message.
        let which =
            known.map_or_else(|| "a field".to_owned(), |field| format!("the field {}", BatchItem::FIELDS[field]));
        Err(self.of(&name[1..]).wrong(Error::invalid(format!("{which} occurs twice"))))
    }

    fn text(self, name: &str, value: &str) -> Result<Box<str>, Wrong> {
        let refused = |reason: String| Err(self.of(value).wrong(Error::invalid(reason)));
        match json::text(value) {
            Some(text) => Ok(text.into()),
            None if value.starts_with('"') => refused(format!("{name} {LONE_SURROGATE}")),
            None => refused(format!("{name} must be a string, not {}", noun(value))),
        }
    }
}

/// The fields of an object, in the order of [`BatchItem::FIELDS`], and all others, as they are written.
struct Fields<'a> {
    known: [Option<&'a str>; BatchItem::FIELDS.len()],
    other: Vec<(&'a str, &'a str)>,
}

/// A field's name; one with a lone surrogate as it is written.
fn decoded(name: &str) -> Cow<'_, str> {
    json::text(name).unwrap_or(Cow::Borrowed(name))
}

/// These members as an object, without white space.
fn object_of(members: &[(&str, &str)]) -> String {
    let mut object = String::from("{");
    for (name, value) in members {
        object.push_str(if object.len() > 1 { "," } else { "" });
        object.extend([*name, ":"]);
        push_compact(&mut object, value);
    }
    object + "}"
}

fn noun(value: &str) -> &'static str {
    match value.as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// Why a text that begins on this line is not JSON. serde_json counts lines and bytes from 1; for a control character it names the byte
/// before.
fn not_json(text: &str, line: u64, error: &serde_json::Error, whole: &str) -> Wrong {
    let place = Place::before(text, line);
    if error.is_eof() {
        let error = Error::invalid(format!("not JSON: the {whole} ends too early"));
        return place.moved(text.trim_end().len()).wrong(error);
    }
    let before: usize = text.split_inclusive('\n').take(error.line() - 1).map(str::len).sum();
    let at = before + error.column().saturating_sub(1);
    if whole == "line" && text.starts_with('{') && text.get(at..).is_some_and(|rest| rest.starts_with(',')) {
        let wrong = Error::invalid("not JSON: a comma follows the object");
        return place.moved(at).wrong(wrong.with_hint("Remove it, or write one array of objects."));
    }
    let (what, at_end) = (error.to_string(), format!(" at line {} column {}", error.line(), error.column()));
    place.moved(at).wrong(Error::invalid(format!("not JSON: {}", what.strip_suffix(&at_end).unwrap_or(&what))))
}
