//! All header fields of a response, as a program may see them: without secrets, and bounded.

use crate::http::response_headers::ResponseHeaders;
use crate::redact::Redactor;

/// The most fields that are kept.
const MAX_FIELDS: usize = 100;
/// The longest value that is kept, in characters.
const MAX_VALUE_CHARS: usize = 2048;
/// The longest name that is kept, in characters.
const MAX_NAME_CHARS: usize = 256;
/// What stands for a secret.
const REDACTED: &str = "***";
/// A field whose name contains one of these holds a secret of the service: a session, a token.
const SECRET_NAMES: [&str; 9] = [
    "cookie",
    "authorization",
    "authentication-info",
    "token",
    "secret",
    "password",
    "credential",
    "api-key",
    "apikey",
];

/// The fields, names in lower case, and whether some were left out or shortened. Values of one name are joined, and redacted
/// together, because a secret may be split over them.
pub(crate) fn header_fields(headers: &ResponseHeaders, redactor: &Redactor<'_>) -> (Vec<(String, String)>, bool) {
    let mut joined: Vec<(String, String)> = Vec::new();
    for (name, value) in headers.fields() {
        let value = String::from_utf8_lossy(value.as_bytes());
        match joined.last_mut().filter(|(known, _)| *known == name.as_str()) {
            Some((_, known)) => {
                known.push('\n');
                known.push_str(&value);
            }
            None => joined.push((name.to_string(), value.into_owned())),
        }
    }
    let mut is_cut = joined.len() > MAX_FIELDS;
    joined.truncate(MAX_FIELDS);
    let mut shortened = |text: &str, most: usize| match text.char_indices().nth(most) {
        Some((end, _)) => {
            is_cut = true;
            text[..end].to_owned()
        }
        None => text.to_owned(),
    };
    let fields = joined.iter().map(|(name, value)| {
        let value = match SECRET_NAMES.iter().any(|secret| name.contains(secret)) {
            true => REDACTED.to_owned(),
            // Redacted first: the rest of a secret that was cut might not be recognised.
            false => shortened(&redactor.redact(value).replace('\n', ", "), MAX_VALUE_CHARS),
        };
        let name = match redactor.is_in_field_name(name) {
            true => REDACTED.to_owned(),
            false => shortened(&redactor.redact(name), MAX_NAME_CHARS),
        };
        (name, value)
    });
    let fields = fields.collect();
    (fields, is_cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &str) -> (Vec<(String, String)>, bool) {
        let fields: Vec<_> = lines.lines().map(|line| line.split_once(':').unwrap()).collect();
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, value.trim())).collect();
        header_fields(
            &ResponseHeaders::of(&fields),
            &Redactor::new(&[b"adm_zebra7quilt4" as &[u8], b"ADM_Walrus9fern2"]),
        )
    }

    #[test]
    fn fields_are_lower_case_joined_and_without_secrets() {
        for (lines, expected) in [
            (
                "X-Request-Id: r1\r\nContent-Type:application/json",
                vec![("x-request-id", "r1"), ("content-type", "application/json")],
            ),
            ("Vary: a\r\nX: 1\r\nvary: b", vec![("vary", "a, b"), ("x", "1")]),
            (
                "Set-Cookie: session=1\r\nX-CSRF-Token: 2\r\nX-Api-Key: 3",
                vec![("set-cookie", "***"), ("x-csrf-token", "***"), ("x-api-key", "***")],
            ),
            ("X-Echo: key adm_zebra7quilt4 it is", vec![("x-echo", "key *** it is")]),
            ("Adm_zebra7quilt4: x", vec![("***", "x")]),
            ("ADM_Walrus9fern2: ADM_Walrus9fern2", vec![("***", "***")]),
            ("X-ADM_Walrus9fern2: x", vec![("***", "x")]),
            ("Empty:", vec![("empty", "")]),
        ] {
            let expected =
                expected.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>();
            assert_eq!(fields(lines), (expected, false), "{lines}");
        }
    }

    #[test]
    fn fields_are_bounded() {
        let many: Vec<String> = (0..=MAX_FIELDS).map(|n| format!("X-{n}: 1")).collect();
        let (kept, is_cut) = fields(&many.join("\r\n"));
        assert_eq!((kept.len(), is_cut), (MAX_FIELDS, true));
        let (kept, is_cut) = fields(&format!("X: {}", "é".repeat(MAX_VALUE_CHARS + 1)));
        assert_eq!((kept[0].1.chars().count(), is_cut), (MAX_VALUE_CHARS, true));
        let (kept, is_cut) = fields(&format!("X: {}", "v".repeat(MAX_VALUE_CHARS)));
        assert_eq!((kept[0].1.len(), is_cut), (MAX_VALUE_CHARS, false));
        // A secret at the end of what is kept is no secret cut in half.
        let (kept, _) = fields(&format!("X: {}adm_zebra7quilt4", "v".repeat(MAX_VALUE_CHARS - 8)));
        assert!(!kept[0].1.contains("adm_z"), "{}", &kept[0].1[MAX_VALUE_CHARS - 10..]);
    }
}
