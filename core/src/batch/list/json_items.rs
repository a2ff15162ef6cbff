//! The messages of a list of JSON objects with the fields `job_id`, `prompt` and, optionally, `key`: one per line, or in one array.

use std::collections::HashSet;

use crate::batch::item::BatchItem;
use crate::batch::list::columns::{both, mistyped, spelled_alike, unknown};
use crate::batch::list::csv::line_ends;
use crate::batch::list::wrong::Wrong;
use crate::error::Error;
use crate::json::compact::{push_compact, push_quoted};
use crate::json::scan::{Flaw, MAX_DEPTH};
use crate::json::text::JsonText;
use crate::json::tokens::JsonToken;
use crate::json::value::Json;
use crate::text::{BYTE_ORDER_MARK, describe};

/// Each item, or what is wrong with a line.
type Items<'a> = Box<dyn Iterator<Item = Result<BatchItem, Wrong>> + 'a>;

/// The items of a text, each with its line, from 1, or what is wrong with that line.
pub(crate) fn json_items(text: &str, keeps_extra: bool) -> Items<'_> {
    // A line of JSON Lines is an object, so this can only be an array.
    if !text.trim_start().starts_with('[') {
        return Box::new(line_items(text, keeps_extra));
    }
    match Json::read(text) {
        Ok(array) => Box::new(array_items(text, array, keeps_extra)),
        // Without its end an array can't be divided into items.
        Err(flaw) => Box::new([Err(wrong(text, 1, flaw, "list"))].into_iter()),
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
        let value = Json::read(line).map_err(|flaw| wrong(line, number, flaw, "line"))?;
        if !value.as_str().starts_with('{') {
            let error = Error::invalid(format!("the line is {}", noun(value)));
            return Err(Wrong::on(number, error.with_hint("Write one JSON object per line, or one array of objects.")));
        }
        Place::before(line, number).of(value.as_str()).item(value, keeps_extra)
    })
}

fn array_items<'a>(
    text: &'a str,
    array: Json<'a>,
    keeps_extra: bool,
) -> impl Iterator<Item = Result<BatchItem, Wrong>> {
    let mut place = Place::before(text, 1);
    array.elements().map(move |value| {
        place = place.of(value.as_str());
        if value.as_str().starts_with('{') {
            return place.item(value, keeps_extra);
        }
        let error = Error::invalid(format!("the array has {}", noun(value)));
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
    fn item(self, object: Json<'_>, keeps_extra: bool) -> Result<BatchItem, Wrong> {
        let Fields { known, other } = self.fields(object)?;
        for (name, _) in &other {
            let text = name.decode();
            if let Some(field) = spelled_alike(&text).filter(|field| known[*field].is_some()) {
                return Err(self.of(name.as_written()).wrong(Error::invalid(both("object", field, &text))));
            }
        }
        let [job_id, prompt, key] = known;
        let missing = |wanted: &str| {
            let names: Vec<String> = other.iter().map(|(name, _)| name.decode().into_owned()).collect();
            // A name that is nearly right explains why one is missing. Any other may be a message, which no error may quote.
            let instead = mistyped(wanted, names.iter().map(|name| &**name));
            let instead = instead.map_or_else(String::new, |name| format!("; unknown field {:?}", describe(name)));
            self.wrong(Error::invalid(format!("{wanted} is missing{instead}")))
        };
        let job_id = self.text("job_id", job_id.ok_or_else(|| missing("job_id"))?)?;
        let mut item = BatchItem::new(job_id, self.text("prompt", prompt.ok_or_else(|| missing("prompt"))?)?);
        if let Some(key) = key.filter(|key| !key.is_null()) {
            item = item.with_key(self.text("key", key)?);
        }
        if let Some((name, _)) = other.first() {
            if !keeps_extra {
                let reason = format!("{}; the option extra (--extra) keeps it", unknown("field", &name.decode()));
                let error = Error::invalid(reason).with_hint("The fields are job_id, prompt and key.");
                return Err(self.of(name.as_written()).wrong(error));
            }
            if let Some((_, value)) = other.iter().find(|(name, value)| has_lone_surrogate(*name, *value)) {
                return Err(self.of(value.as_str()).wrong(Error::invalid(half_a_character("a field"))));
            }
            item = item.with_extra(object_of(&other));
        }
        Ok(item.with_line(self.line))
    }

    /// The object's fields. Our own reader and not serde's: it keeps a field that occurs twice, where a map would drop one message
    /// silently.
    fn fields<'j>(self, object: Json<'j>) -> Result<Fields<'j>, Wrong> {
        let mut fields = Fields { known: [None; _], other: Vec::new() };
        let mut names = HashSet::new();
        for (name, value) in object.members() {
            let twice = match BatchItem::FIELDS.iter().position(|field| name == *field) {
                Some(field) => fields.known[field].replace(value).is_some(),
                None => {
                    fields.other.push((name, value));
                    !names.insert(name.decode())
                }
            };
            if twice {
                // Only a known name is quoted: another one may be a message.
                let known = BatchItem::FIELDS.into_iter().find(|field| name == *field);
                let which = known.map_or_else(|| "a field".to_owned(), |name| format!("the field {name}"));
                return Err(self.of(name.as_written()).wrong(Error::invalid(format!("{which} occurs twice"))));
            }
        }
        Ok(fields)
    }

    fn text(self, name: &str, value: Json<'_>) -> Result<Box<str>, Wrong> {
        let refused = |reason: String| self.of(value.as_str()).wrong(Error::invalid(reason));
        let text = value.as_text().ok_or_else(|| refused(format!("{name} must be a string, not {}", noun(value))))?;
        // Decoding would replace it, and so send another prompt than the file has.
        if text.has_lone_surrogate() {
            return Err(refused(half_a_character(name)));
        }
        Ok(text.decode().into())
    }
}

/// The fields of an object, in the order of [`BatchItem::FIELDS`], and all others.
struct Fields<'a> {
    known: [Option<Json<'a>>; BatchItem::FIELDS.len()],
    other: Vec<(JsonText<'a>, Json<'a>)>,
}

/// Whether a field has one, in its name or anywhere in its value.
fn has_lone_surrogate(name: JsonText<'_>, value: Json<'_>) -> bool {
    name.has_lone_surrogate()
        || value.tokens().any(|token| match token {
            JsonToken::Key(text) | JsonToken::Text(text) => text.has_lone_surrogate(),
            _ => false,
        })
}

fn half_a_character(what: &str) -> String {
    format!("{what} contains half a character: an escape from \\ud800 to \\udfff without its other half")
}

/// These members as an object, without white space.
fn object_of(members: &[(JsonText<'_>, Json<'_>)]) -> String {
    let mut object = String::from("{");
    for (name, value) in members {
        object.push_str(if object.len() > 1 { "," } else { "" });
        push_quoted(&mut object, *name);
        object.push(':');
        push_compact(&mut object, *value);
    }
    object + "}"
}

fn noun(value: Json<'_>) -> &'static str {
    match value.as_str().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

/// Why a text that begins on this line is not JSON.
fn wrong(text: &str, line: u64, flaw: Flaw, whole: &str) -> Wrong {
    let place = Place::before(text, line);
    match flaw {
        Flaw::Expected { what: "the end", at }
            if whole == "line" && text.starts_with('{') && text.get(at..).is_some_and(|rest| rest.starts_with(',')) =>
        {
            let error = Error::invalid("not JSON: a comma follows the object");
            place.moved(at).wrong(error.with_hint("Remove it, or write one array of objects."))
        }
        Flaw::Expected { what, at } => place.moved(at).wrong(Error::invalid(format!("not JSON: expected {what}"))),
        Flaw::TooDeep => Wrong::on(line, Error::invalid(format!("the JSON nests deeper than {MAX_DEPTH} levels"))),
        Flaw::Ended | Flaw::Stopped => {
            place.moved(text.trim_end().len()).wrong(Error::invalid(format!("not JSON: the {whole} ends too early")))
        }
    }
}
