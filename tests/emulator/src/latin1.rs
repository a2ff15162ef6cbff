//! Bytes written as a JSON string, one character per byte.

use serde::Deserialize;

/// Bytes on the wire, written in JSON as a string whose characters are the bytes 0 to 255 (ISO 8859-1).
///
/// JSON strings cannot hold arbitrary bytes, but rules must be able to send responses that are not UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Latin1(Vec<u8>);

impl Latin1 {
    /// The bytes as they are sent.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl From<Vec<u8>> for Latin1 {
    fn from(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }
}

impl TryFrom<String> for Latin1 {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.chars()
            .map(|c| {
                u8::try_from(u32::from(c))
                    .map_err(|_| format!("the character {c:?} is no byte; write bytes as \\u0000 to \\u00ff"))
            })
            .collect::<Result<_, _>>()
            .map(Self)
    }
}
