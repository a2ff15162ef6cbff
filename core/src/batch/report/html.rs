//! Writes HTML so that a text from outside can only become text: markup is what this program's own source has, and everything else
//! is escaped when it is added.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA256, digest};

use crate::text::escape;

/// A page that grows.
#[derive(Debug, Default)]
pub(crate) struct Html(String);

impl Html {
    /// Adds markup of our own.
    pub(crate) fn markup(&mut self, markup: &'static str) -> &mut Html {
        self.0.push_str(markup);
        self
    }

    /// Adds a text from anywhere, as text or in an attribute in quotes. What would be invisible or change the direction of reading is
    /// shown as an escape.
    pub(crate) fn text(&mut self, text: &str) -> &mut Html {
        for c in escape(text).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        self
    }

    pub(crate) fn number(&mut self, number: u64) -> &mut Html {
        write!(self.0, "{number}").expect("a String takes every write");
        self
    }

    /// A coordinate or a length of a drawing, to a tenth.
    pub(crate) fn length(&mut self, length: f64) -> &mut Html {
        let tenths = (length * 10.0).round() / 10.0;
        write!(self.0, "{tenths}").expect("a String takes every write");
        self
    }

    /// A link to a pull request: only to an https address of plain characters. Any other text is shown as it is.
    pub(crate) fn link(&mut self, url: &str, name: &str) -> &mut Html {
        match is_safe(url) {
            true => self.markup("<a rel=\"noopener noreferrer\" target=\"_blank\" href=\"").text(url).markup("\">"),
            false => return self.text(url),
        };
        self.text(name).markup("</a>")
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }
}

/// Whether a browser can be sent there: https, no user in front of the host, and nothing that a parser could read in two ways.
fn is_safe(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("https://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    !host.is_empty()
        && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'_'))
        && rest
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'<' | b'>' | b'\\' | b'`'))
}

/// The source of a style or a script as a Content-Security-Policy names it: the SHA-256 in base64.
pub(crate) fn policy_hash(source: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(digest(&SHA256, source.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_can_only_become_text() {
        let rows = [
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("\" onmouseover='x'", "&quot; onmouseover=&#39;x&#39;"),
            ("&lt;", "&amp;lt;"),
            ("a\u{202e}b\0\n\u{1b}[31m", "a\\u{202e}b\\u{0}\\n\\u{1b}[31m"),
            ("naïve 語", "naïve 語"),
        ];
        for (text, expected) in rows {
            let mut html = Html::default();
            html.text(text);
            assert_eq!(html.finish(), expected);
        }
    }

    #[test]
    fn only_https_addresses_of_plain_characters_are_links() {
        let link = |url: &str| {
            let mut html = Html::default();
            html.link(url, "name");
            html.finish()
        };
        let expected =
            "<a rel=\"noopener noreferrer\" target=\"_blank\" href=\"https://example.com/r/pull/1?a=b&amp;c\">name</a>";
        assert_eq!(link("https://example.com/r/pull/1?a=b&c"), expected);
        for url in [
            "http://example.com/",
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " https://example.com/",
            "HTTPS://example.com/",
            "https://",
            "https:///x",
            "https://user@example.com/",
            "https://good.example\\@evil.example/",
            "https://example.com/\"onclick=",
            "https://example.com/<b>",
            "https://example.com/a b",
            "https://example.com/\n",
            "https://ex\u{430}mple.com/",
            "//example.com",
            "data:text/html,x",
        ] {
            assert!(!link(url).contains("<a"), "{url:?}");
        }
    }

    #[test]
    fn a_hash_is_written_as_a_policy_expects_it() {
        assert_eq!(policy_hash("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
    }
}
