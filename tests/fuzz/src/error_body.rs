//! An error's body: whatever is around it, the key never comes out, and the texts are short.

use crate::is_word;
use agentjob_core::fuzzing;
use serde_json::Value;

/// Where the input has one of these bytes, the body has the key: as it is, as JSON, a URL and HTML escape it, and in base64.
const FORMS: [(u8, &str); 5] = [
    (1, KEY),
    (2, r"sk\u005fQ7d0\u006bX2mZp94LrTs"),
    (3, "sk%5FQ7d0kX2mZp94LrT%73"),
    (4, "sk&#95;Q7d0kX2mZp94LrTs"),
    (5, "c2tfUTdkMGtYMm1acDk0THJUcw"),
];
const KEY: &str = "sk_Q7d0kX2mZp94LrTs";
/// As much of it as no text has by chance.
const PART: usize = 8;

pub fn check(data: &[u8]) {
    let Some((flags, data)) = data.split_first() else { return };
    let mut body = Vec::new();
    for byte in data {
        match FORMS.iter().find(|(here, _)| here == byte) {
            Some((_, form)) => body.extend_from_slice(form.as_bytes()),
            None => body.push(*byte),
        }
    }
    // What is no end of the body is no key that was cut off.
    let cut = flags & 1 == 1 && !data.windows(PART).any(|part| part == &KEY.as_bytes()[..PART]);
    if cut {
        body.extend_from_slice(&KEY.as_bytes()[..PART + usize::from(flags >> 1) % (KEY.len() - PART)]);
    }
    let [text, message] = fuzzing::error_body(&body, cut, KEY);
    assert_eq!(text.is_none(), matches!(body.as_slice(), b"" | b"\xef\xbb\xbf"), "{body:?}");
    for kept in [&text, &message].into_iter().flatten() {
        for (_, form) in FORMS {
            assert!(!kept.contains(form), "{kept:?}");
        }
        assert!(!(cut && kept.ends_with(&KEY[..PART])), "{kept:?}");
        assert!(kept.len() <= 8 << 10, "{} bytes", kept.len());
    }
    if !cut && std::str::from_utf8(data).is_ok_and(is_word) && serde_json::from_slice::<Value>(data).is_err() {
        assert_eq!(text, message, "a word that is no JSON is the message");
    }
    if let Some(message) = message {
        assert!(!message.contains(['\n', '\r', '\0', '\u{1b}']), "{message:?}");
    }
}
