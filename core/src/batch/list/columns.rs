//! The columns that a list may have, and which of them an unknown one comes nearest to.

use crate::batch::item::BatchItem;
use crate::text::{describe, folded};

/// How many changes make another name of a known one. A name this near is a mistyped one, and never a message.
const NEAR: usize = 2;
/// How much of a name is compared.
const MAX_COMPARED: usize = 32;

/// `unknown`, with the known name that comes nearest to it.
pub(crate) fn unknown(noun: &str, name: &str) -> String {
    let known = BatchItem::FIELDS.into_iter().min_by_key(|known| distance(known, name)).unwrap_or_default();
    format!("unknown {noun} {:?} (the nearest known one is {known})", describe(name))
}

/// The name that was perhaps meant to be `wanted`.
pub(crate) fn mistyped<'a>(wanted: &str, mut names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names.find(|name| !BatchItem::FIELDS.contains(name) && distance(wanted, name) <= NEAR)
}

/// The known field of whose name another one is only a different spelling. If a list has both, either may be the one that was meant.
pub(crate) fn spelled_alike(name: &str) -> Option<usize> {
    let folded = folded(name);
    BatchItem::FIELDS.iter().position(|known| *known == folded && *known != name)
}

/// That a list has both names.
pub(crate) fn both(whole: &str, field: usize, name: &str) -> String {
    let known = BatchItem::FIELDS[field];
    let name: String = name.chars().take(MAX_COMPARED).collect();
    format!(
        "the {whole} has both {known:?} and {name:?}, which differ only in case, white space or invisible characters: rename or remove one"
    )
}

/// How many letters and digits to insert, delete or replace to get from one name to the other, in any case (Levenshtein).
fn distance(known: &str, name: &str) -> usize {
    let letters = |text: &str| -> Vec<char> {
        let letters = text.chars().filter(|letter| letter.is_alphanumeric());
        letters.flat_map(char::to_lowercase).take(MAX_COMPARED).collect()
    };
    let (known, name) = (letters(known), letters(name));
    let mut row: Vec<usize> = (0..=name.len()).collect();
    for (above, wanted) in known.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], above + 1);
        for (at, found) in name.iter().enumerate() {
            let replaced = diagonal + usize::from(wanted != found);
            diagonal = row[at + 1];
            row[at + 1] = replaced.min(diagonal + 1).min(row[at] + 1);
        }
    }
    row[name.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_is_near_the_one_that_was_meant() {
        let rows = [
            ("promt", "prompt"),
            ("Prompt:", "prompt"),
            ("Job ID", "job_id"),
            ("jobid", "job_id"),
            ("job", "job_id"),
            ("KEY", "key"),
            ("keys", "key"),
        ];
        for (name, expected) in rows {
            assert!(unknown("column", name).ends_with(&format!("(the nearest known one is {expected})")), "{name}");
            assert_eq!(mistyped(expected, ["prompt", name].into_iter()), Some(name));
        }
        assert_eq!(mistyped("prompt", ["Fix the bug", "model", "key"].into_iter()), None);
        assert_eq!(
            distance("prompt", &"x".repeat(100_000)),
            MAX_COMPARED,
            "a long text costs no more than a short one"
        );
    }
}
