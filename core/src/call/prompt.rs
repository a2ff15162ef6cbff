//! The text of a message.

use std::borrow::Cow;

/// The text of a message, or the same encoded piece by piece.
#[derive(Clone, Copy, Debug)]
pub enum Prompt<'a> {
    /// A text; it is encoded as JSON when it is sent.
    Text(&'a str),
    /// A text that is already JSON.
    Encoded(&'a EncodedPrompt),
}

impl<'a> From<&'a str> for Prompt<'a> {
    fn from(text: &'a str) -> Prompt<'a> {
        Prompt::Text(text)
    }
}

impl<'a> From<&'a String> for Prompt<'a> {
    fn from(text: &'a String) -> Prompt<'a> {
        Prompt::Text(text)
    }
}

impl<'a> From<&'a EncodedPrompt> for Prompt<'a> {
    fn from(encoded: &'a EncodedPrompt) -> Prompt<'a> {
        Prompt::Encoded(encoded)
    }
}

impl<'a> Prompt<'a> {
    /// The text's length, in bytes of UTF-8.
    pub(crate) fn bytes(self) -> usize {
        match self {
            Prompt::Text(text) => text.len(),
            Prompt::Encoded(encoded) => encoded.bytes,
        }
    }

    /// The JSON body of its POST.
    pub(crate) fn body(self) -> Cow<'a, [u8]> {
        match self {
            Prompt::Text(text) => {
                let mut encoded = EncodedPrompt::with_capacity(text.len());
                encoded.push(text);
                Cow::Owned(encoded.json)
            }
            Prompt::Encoded(encoded) => Cow::Borrowed(&encoded.json),
        }
    }
}

/// A prompt as the JSON that is sent, built from pieces: for languages whose strings are not UTF-8, which would otherwise need a second
/// copy of the whole text.
pub struct EncodedPrompt {
    json: Vec<u8>,
    bytes: usize,
}

const EMPTY: &[u8] = b"{\"prompt\":\"\"}";

impl EncodedPrompt {
    /// An empty prompt, with room for `bytes` bytes of text with few escapes.
    pub fn with_capacity(bytes: usize) -> EncodedPrompt {
        let mut json = Vec::with_capacity(bytes + bytes / 16 + 16);
        json.extend_from_slice(EMPTY);
        EncodedPrompt { json, bytes: 0 }
    }

    /// Appends a piece of the text.
    pub fn push(&mut self, piece: &str) {
        let first = self.bytes == 0;
        self.json.truncate(self.json.len() - if first { 3 } else { 2 });
        let begin = self.json.len();
        serde_json::to_writer(&mut self.json, piece).expect("a string always becomes JSON");
        if !first {
            // Removes the piece's opening quote.
            self.json.remove(begin);
        }
        self.json.push(b'}');
        self.bytes += piece.len();
    }
}

impl std::fmt::Debug for EncodedPrompt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EncodedPrompt").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_give_the_same_body_as_the_whole_text() {
        for pieces in [&["say \"hi\"\n", "", "\u{1F600}\\", "\"", "\u{1}é"][..], &["", "a"], &["a"], &[]] {
            let mut encoded = EncodedPrompt::with_capacity(3);
            pieces.iter().for_each(|piece| encoded.push(piece));
            let (text, encoded) = (pieces.concat(), Prompt::from(&encoded));
            assert_eq!(encoded.body(), Prompt::from(&text).body(), "{pieces:?}");
            assert_eq!(encoded.bytes(), text.len());
            assert_eq!(encoded.body(), serde_json::json!({ "prompt": text }).to_string().as_bytes());
        }
    }
}
