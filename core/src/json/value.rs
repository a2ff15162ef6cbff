//! One JSON value, kept as text.

use std::fmt;

use crate::json::scan::{Flaw, Scanner};
use crate::json::text::JsonText;
use crate::json::tokens::JsonTokens;

/// One JSON value as the service wrote it, checked by the grammar of RFC 8259.
///
/// Numbers keep all their digits. Of a key that comes twice the last value counts, as in most JSON libraries. It nests at most 128
/// levels deep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<'a>(&'a str);

impl<'a> Json<'a> {
    pub(crate) const NULL: Json<'static> = Json("null");

    /// A value that a scanner has checked, without white space around it.
    pub(crate) fn checked(json: &'a str) -> Json<'a> {
        Json(json)
    }

    /// Checks a text that must contain one value and nothing else.
    pub(crate) fn read(json: &'a str) -> Result<Json<'a>, Flaw> {
        let mut scanner = Scanner::new(json, 0);
        let value = scanner.value(0)?;
        scanner.end()?;
        Ok(Json(&json[value]))
    }

    /// The value of a text that contains one and nothing else; `None` if it is not JSON.
    pub fn parse(text: &'a str) -> Option<Json<'a>> {
        Json::read(text).ok()
    }

    /// The value's text, for your own JSON parser.
    pub fn as_str(self) -> &'a str {
        self.0
    }

    /// Whether it is `null`.
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// The text, if the value is a text.
    pub fn as_text(self) -> Option<JsonText<'a>> {
        Some(JsonText::written(self.0.strip_prefix('"')?.strip_suffix('"')?))
    }

    /// The value's tokens.
    pub fn tokens(self) -> JsonTokens<'a> {
        JsonTokens::new(self.0)
    }

    /// The members of an object as they came; for other values none.
    pub(crate) fn members(self) -> Members<'a> {
        let at = if self.0.starts_with('{') { 1 } else { self.0.len() };
        Members { object: self.0, at }
    }

    /// The elements of a list as they came; for other values none.
    pub(crate) fn elements(self) -> impl Iterator<Item = Json<'a>> {
        let (list, mut at) = (self.0, if self.0.starts_with('[') { 1 } else { self.0.len() });
        std::iter::from_fn(move || {
            let mut scanner = Scanner::new(list, at);
            scanner.take(b',').ok()?;
            let value = scanner.value(1).ok()?;
            at = scanner.at();
            Some(Json(&list[value]))
        })
    }

    /// An object's last member with this key.
    pub(crate) fn member(self, name: &str) -> Option<Json<'a>> {
        self.members().filter(|(key, _)| *key == name).last().map(|(_, value)| value)
    }
}

/// `null`.
impl Default for Json<'_> {
    fn default() -> Self {
        Json::NULL
    }
}

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// An iterator over an object's members.
#[derive(Debug, Clone)]
pub(crate) struct Members<'a> {
    object: &'a str,
    at: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (JsonText<'a>, Json<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let mut scanner = Scanner::new(self.object, self.at);
        scanner.take(b',').ok()?;
        let (key, value) = (scanner.key().ok()?, scanner.value(1).ok()?);
        self.at = scanner.at();
        Some((JsonText::written(&self.object[key]), Json(&self.object[value])))
    }
}
