//! How a caller names items of a journal, and which items those are.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use crate::batch::journal::digest::Digest;
use crate::batch::journal::item_history::Items;
use crate::error::Error;
use crate::text::describe;

/// The name of an item, or of every item: a number, a key, or `all`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum BatchRef {
    /// The item's place in the last run's list, from 1.
    Number(u64),
    /// The item's own key, or the one that its outcome and [`batch_export`](crate::batch_export) show.
    Key(Box<str>),
    /// Every item that the decision may be about.
    All,
}

/// Reads what a person types: `all`, a number, or a key. A key that reads as one of the others is written `key:17`.
impl FromStr for BatchRef {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<BatchRef, Infallible> {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        Ok(match text.strip_prefix("key:") {
            Some(key) => BatchRef::Key(key.into()),
            None if text == "all" => BatchRef::All,
            None => match text.parse() {
                Ok(number) if is_number => BatchRef::Number(number),
                _ => BatchRef::Key(text.into()),
            },
        })
    }
}

impl From<u64> for BatchRef {
    fn from(number: u64) -> BatchRef {
        BatchRef::Number(number)
    }
}

impl fmt::Display for BatchRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BatchRef::Number(number) => write!(f, "item {number}"),
            BatchRef::Key(key) => write!(f, "item {:?}", describe(key)),
            BatchRef::All => f.write_str("all"),
        }
    }
}

/// The items that were named.
pub(crate) enum Selected {
    /// Every item, wherever a decision is possible.
    All,
    /// The places of these items in the journal, in the order of the names.
    Places(Vec<usize>),
}

/// Finds the items that were named.
///
/// # Errors
/// `InvalidArgument`: no item is named, or one is named twice or together with `all`, or is not in the journal.
pub(crate) fn select(names: &[BatchRef], items: &Items) -> Result<Selected, Error> {
    if names.is_empty() {
        return Err(Error::invalid("no item is named").with_hint("Give the items' numbers or keys, or all."));
    }
    if names.contains(&BatchRef::All) {
        if names.len() > 1 {
            return Err(Error::invalid("all is given together with items").with_hint("Give either all or the items."));
        }
        return Ok(Selected::All);
    }
    let mut places = Vec::with_capacity(names.len());
    let mut named = std::collections::HashMap::with_capacity(names.len());
    // No place for a number that two items have: then a run was cut off as it began, with another list.
    let mut numbers: std::collections::HashMap<u64, Option<usize>> = std::collections::HashMap::new();
    if names.iter().any(|name| matches!(name, BatchRef::Number(_))) {
        for place in items.listed() {
            numbers.entry(items.at(place).number).and_modify(|other| *other = None).or_insert(Some(place));
        }
    }
    for name in names {
        let found = match name {
            BatchRef::Number(number) => numbers.get(number).copied().flatten(),
            BatchRef::Key(key) => by_key(key, items).filter(|place| items.at(*place).is_listed()),
            BatchRef::All => None,
        };
        let Some(place) = found else { return Err(not_there(name, items)) };
        if let Some(before) = named.insert(place, name) {
            let reason = match before == name {
                true => format!("{name} is named twice"),
                false => format!("{before} and {name} are the same item"),
            };
            return Err(Error::invalid(reason).with_hint("Name each item once."));
        }
        places.push(place);
    }
    Ok(Selected::Places(places))
}

/// What was named is not in the journal, or not in the last run's list. A number may have been meant as a key, which reads like one.
fn not_there(name: &BatchRef, items: &Items) -> Error {
    if let BatchRef::Key(key) = name
        && by_key(key, items).is_some()
    {
        return Error::invalid(format!("{name} is not in the list of the last run"))
            .with_hint("Run the batch with it first.");
    }
    let error = Error::invalid(format!("{name} is not in the journal"));
    if let BatchRef::Number(number) = name
        && let Some(place) = by_key(&number.to_string(), items)
    {
        let item = items.at(place).number;
        return error.with_hint(format!("Item {item} has that key: name it by its number, or write key:{number}."));
    }
    error.with_hint(
        "A journal has only messages that were sent or tried: check the number or the key in its status. To leave out \
         any other message, remove it from the list.",
    )
}

/// The item with this key of the caller's, or else with this derived one.
fn by_key(key: &str, items: &Items) -> Option<usize> {
    let own = items.place(&Digest::of(&[b"key", key.as_bytes()]));
    own.or_else(|| items.place(&Digest::from_hex(key)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_person_types_is_a_number_a_key_or_all() {
        for (text, name) in [
            ("17", BatchRef::Number(17)),
            ("all", BatchRef::All),
            ("tests", BatchRef::Key("tests".into())),
            ("key:17", BatchRef::Key("17".into())),
            ("key:all", BatchRef::Key("all".into())),
            ("-1", BatchRef::Key("-1".into())),
            ("+1", BatchRef::Key("+1".into())),
            ("", BatchRef::Key("".into())),
            ("99999999999999999999", BatchRef::Key("99999999999999999999".into())),
        ] {
            assert_eq!(text.parse(), Ok(name), "{text}");
        }
    }
}
