//! The tokens of a JSON value, without recursion: from these each language builds its own values.

use crate::json::scan::Scanner;
use crate::json::text::JsonText;

/// A token of a JSON value.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum JsonToken<'a> {
    /// An object begins: keys and values follow alternately, up to its [`End`](JsonToken::End).
    Object,
    /// A list begins: values follow, up to its [`End`](JsonToken::End).
    List,
    /// The innermost object or list ends.
    End,
    /// A key; its value follows.
    Key(JsonText<'a>),
    /// A text.
    Text(JsonText<'a>),
    /// A number, as it was written.
    Number(&'a str),
    /// `true` or `false`.
    Bool(bool),
    /// `null`.
    Null,
}

/// An iterator over the tokens of a [`Json`](crate::Json) value.
#[derive(Debug, Clone)]
pub struct JsonTokens<'a> {
    json: &'a str,
    at: usize,
    /// The open objects and lists, one bit each, the innermost lowest: 1 is an object.
    open: u128,
    /// The next text is a key.
    key_is_next: bool,
}

impl<'a> JsonTokens<'a> {
    pub(crate) fn new(json: &'a str) -> JsonTokens<'a> {
        JsonTokens { json, at: 0, open: 0, key_is_next: false }
    }

    /// How many bytes of the value's text were read.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    fn begin(&mut self, object: bool) {
        self.at += 1;
        self.open = self.open << 1 | u128::from(object);
        self.key_is_next = object;
    }
}

impl<'a> Iterator for JsonTokens<'a> {
    type Item = JsonToken<'a>;

    fn next(&mut self) -> Option<JsonToken<'a>> {
        // The value was checked, so what is between two tokens does not matter.
        let between = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':');
        let bytes = self.json.as_bytes();
        self.at += bytes[self.at..].iter().take_while(|byte| between(byte)).count();
        Some(match *bytes.get(self.at)? {
            kind @ (b'{' | b'[') => {
                self.begin(kind == b'{');
                if kind == b'{' { JsonToken::Object } else { JsonToken::List }
            }
            b'}' | b']' => {
                self.at += 1;
                self.open >>= 1;
                self.key_is_next = self.open & 1 == 1;
                JsonToken::End
            }
            first => {
                let mut scanner = Scanner::new(self.json, self.at);
                let value = &self.json[scanner.value(0).ok()?];
                self.at = scanner.at();
                let was_key = std::mem::replace(&mut self.key_is_next, self.open & 1 == 1);
                match first {
                    b'"' => {
                        let text = JsonText::written(&value[1..value.len() - 1]);
                        self.key_is_next &= !was_key;
                        if was_key { JsonToken::Key(text) } else { JsonToken::Text(text) }
                    }
                    b't' | b'f' => JsonToken::Bool(first == b't'),
                    b'n' => JsonToken::Null,
                    _ => JsonToken::Number(value),
                }
            }
        })
    }
}
