//! Text from outside, made safe to show: nothing in it drives a terminal, is invisible, or changes the order of what is read.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// What some editors put before a text in a file, and some servers before a response. It is no part of the text.
pub(crate) const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A text without a byte order mark at its beginning.
pub(crate) fn without_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK.as_bytes()).unwrap_or(bytes)
}

/// `1*DIGIT`, and nothing else.
pub(crate) fn decimal<N: FromStr>(digits: &[u8]) -> Option<N> {
    let is_number = digits.iter().all(u8::is_ascii_digit);
    str::from_utf8(digits).ok().filter(|_| is_number)?.parse().ok()
}

/// The text with control characters and invisible characters written as escapes (`\n`, `\u{202e}`): what drives a terminal,
/// separates lines and paragraphs, changes the direction of writing, or has no width, tag characters included. Errors, events
/// as text and log lines are escaped already; this is for other text from outside, such as a record's.
///
/// A joiner in an emoji is escaped, too. The selector that makes a character an emoji (U+FE0F) stays: it is common and hides
/// nothing.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_hidden(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    Cow::Owned(out)
}

/// Unicode's control characters, its Default_Ignorable_Code_Point but for U+FE0F, its line separators and annotations.
fn is_hidden(c: char) -> bool {
    match c {
        ' '..='~' => false,
        c if c.is_control() => true,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => true,
        '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => true,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => false,
    }
}

/// How much of a text from outside is part of a sentence.
const MAX_CHARS: usize = 300;

/// Text from outside as part of a sentence: escaped, and bounded in length.
pub fn describe(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", escape(&text[..end])),
        None => escape(text).into_owned(),
    }
}

/// A path as part of a sentence: between quotes, escaped and bounded, but with single backslashes on Windows, where every path has
/// some.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let beginning = text.char_indices().nth(MAX_CHARS).map(|(end, _)| PathBuf::from(&text[..end]));
    let mut escaped = escape(&format!("{:?}", beginning.as_deref().unwrap_or(path))).into_owned();
    if cfg!(windows) {
        escaped = escaped.replace("\\\\", "\\");
    }
    if beginning.is_some() {
        escaped.insert(escaped.len() - 1, '…');
    }
    escaped
}

/// What is around a name and cannot be seen, as a clause: `ends with an invisible character (U+FEFF)`. A spreadsheet or a web page
/// that a name was copied from leaves it there, and the name is another one with it.
pub(crate) fn hidden_edge(name: &str) -> Option<String> {
    let edges = [("begins", name.chars().next()), ("ends", name.chars().next_back())];
    edges.into_iter().find_map(|(edge, char)| {
        let char = char?;
        let what = match char {
            _ if char.is_whitespace() => "white space",
            _ if is_hidden(char) => "an invisible character",
            _ => return None,
        };
        Some(format!("{edge} with {what} (U+{:04X})", char as u32))
    })
}

/// What is inside a name and cannot be seen, as a clause: `contains an invisible character (U+200B at byte 3)`. A space can be seen.
/// So can a joiner, by what it does to the character before it, if that is a part of an emoji or of a word that is spelled with one.
pub(crate) fn hidden_inside(name: &str) -> Option<String> {
    let mut before = '\0';
    let (at, char) = name.char_indices().find(|(_, char)| {
        let is_spelling = matches!(char, '\u{200c}' | '\u{200d}') && !before.is_ascii();
        before = *char;
        *char != ' ' && (char.is_whitespace() || is_hidden(*char)) && !is_spelling
    })?;
    let what = if char.is_whitespace() { "white space other than a space" } else { "an invisible character" };
    Some(format!("contains {what} (U+{:04X} at byte {at})", char as u32))
}

/// A name as a person reads it aloud: in lower case, without white space and what cannot be seen.
pub(crate) fn folded(name: &str) -> String {
    name.chars().filter(|char| !char.is_whitespace() && !is_hidden(*char)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(windows)]
    fn a_path_is_quoted_with_its_own_backslashes() {
        assert_eq!(quoted(Path::new("C:\\Users\\a b\\key")), "\"C:\\Users\\a b\\key\"");
    }

    #[test]
    fn what_cannot_be_seen_in_a_path_is_escaped() {
        assert_eq!(quoted(Path::new("a\nb\u{3164}c\u{202e}")), r#""a\nb\u{3164}c\u{202e}""#);
    }

    #[test]
    fn a_long_path_is_bounded() {
        let longest = "é".repeat(300);
        assert_eq!(quoted(Path::new(&longest)), format!("\"{longest}\""));
        assert_eq!(quoted(Path::new(&format!("{longest}/a"))), format!("\"{longest}…\""));
    }

    #[test]
    fn what_drives_a_terminal_or_is_invisible_is_escaped() {
        let hidden = "\0\t\r\n\x1b\x7f\u{80}\u{9b}\u{ad}\u{61c}\u{200b}\u{200d}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2060}\
            \u{2066}\u{2069}\u{206f}\u{feff}\u{fe0e}\u{fff9}\u{115f}\u{3164}\u{180e}\u{34f}\u{e0001}\u{e0041}\u{e007f}\u{e0100}\u{e01ef}";
        for c in hidden.chars() {
            assert_eq!(escape(&format!("a{c}b")), format!("a{}b", c.escape_default()));
        }
        assert_eq!(escape("a\x1b[31m\r\nb\u{202e}c"), "a\\u{1b}[31m\\r\\nb\\u{202e}c");
    }

    #[test]
    fn visible_text_stays_as_it_is() {
        for text in [
            "",
            "plain ASCII ~ \\ \"",
            "é ß 漢字 עברית العربية",
            "\u{26a0}\u{fe0f} \u{1f600}",
            "\u{a0}\u{3000}\u{fffd}",
        ] {
            assert!(matches!(escape(text), Cow::Borrowed(same) if same == text), "{text}");
        }
    }

    #[test]
    fn text_from_outside_cannot_drive_a_terminal() {
        assert_eq!(describe("a\x1b[31m\r\nb"), "a\\u{1b}[31m\\r\\nb");
        assert_eq!(describe(&"é".repeat(400)).chars().count(), 301);
    }
}
