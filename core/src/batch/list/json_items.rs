//! The messages of a list of JSON lines: one object per line, with the fields `job_id`, `prompt` and, optionally, `key`.

use crate::batch::item::BatchItem;
use crate::error::Error;
use crate::json::scan::{Flaw, MAX_DEPTH};
use crate::json::value::Json;
use crate::text::describe;

/// The items of a text, each with its line, from 1, or what is wrong with that line. Blank lines are passed over.
pub(crate) fn json_items(text: &str) -> impl Iterator<Item = (u64, Result<BatchItem, Error>)> {
    // Not `lines`: a text in JSON may contain other line ends of Unicode, and a `\r` before the end is white space to JSON.
    let lines = (1..).zip(text.split('\n')).filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(number, line)| (number, item(line).map(|item| item.with_line(number))))
}

fn item(line: &str) -> Result<BatchItem, Error> {
    // Our own reader and not serde's: it keeps a field that occurs twice, where a map would drop one message silently, and says
    // what is wrong in parts, where serde_json's sentence ends with a line number that is not the file's.
    let value = Json::read(line).map_err(|flaw| Error::invalid(describe_flaw(line, flaw)))?;
    if !value.as_str().starts_with('{') {
        let error = Error::invalid(format!("the line is {}", noun(value)));
        return Err(error.with_hint("Write one JSON object per line."));
    }
    let mut found: [Option<Json<'_>>; BatchItem::FIELDS.len()] = [None; _];
    let mut unknown = None;
    for (name, value) in value.members() {
        match BatchItem::FIELDS.iter().position(|field| name == *field) {
            None => unknown = unknown.or(Some(name)),
            Some(field) if found[field].is_none() => found[field] = Some(value),
            Some(field) => return Err(Error::invalid(format!("the field {} occurs twice", BatchItem::FIELDS[field]))),
        }
    }
    let [job_id, prompt, key] = found;
    let unknown = unknown.map(|name| format!("unknown field {:?}", describe(&name.decode())));
    // A name that is nearly right explains why one is missing.
    let instead = unknown.as_ref().map_or_else(String::new, |unknown| format!("; {unknown}"));
    let missing = |name: &str| Error::invalid(format!("{name} is missing{instead}"));
    let required = |name: &str, value: Option<Json<'_>>| text(name, value.ok_or_else(|| missing(name))?);
    let item = BatchItem::new(required("job_id", job_id)?, required("prompt", prompt)?);
    if let Some(unknown) = unknown {
        return Err(Error::invalid(unknown).with_hint("The fields are job_id, prompt and key."));
    }
    Ok(match key.filter(|key| !key.is_null()) {
        Some(key) => item.with_key(text("key", key)?),
        None => item,
    })
}

fn text(name: &str, value: Json<'_>) -> Result<Box<str>, Error> {
    let wrong = || Error::invalid(format!("{name} must be a string, not {}", noun(value)));
    let text = value.as_text().ok_or_else(wrong)?;
    // Decoding would replace it, and so send another prompt than the file has.
    if text.has_lone_surrogate() {
        return Err(Error::invalid(format!(
            "{name} contains half a character: an escape from \\ud800 to \\udfff without its other half"
        )));
    }
    Ok(text.decode().into())
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

fn describe_flaw(line: &str, flaw: Flaw) -> String {
    match flaw {
        Flaw::Expected { what, at } => {
            let column = line.get(..at).map_or(at, |before| before.chars().count()) + 1;
            format!("not JSON: expected {what} at column {column}")
        }
        Flaw::TooDeep => format!("the JSON nests deeper than {MAX_DEPTH} levels"),
        Flaw::Ended | Flaw::Stopped => "not JSON: the line ends too early".to_owned(),
    }
}
