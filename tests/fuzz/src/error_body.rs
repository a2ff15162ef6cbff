//! An error's body: whatever is around it, the key never comes out, and the texts are short.

use agentjob_core::fuzzing;

/// Where the input has this byte, the body has the key.
const HERE: u8 = 1;
const KEY: &str = "sk_Q7d0kX2mZp94LrTs";

pub fn check(data: &[u8]) {
    let Some((flags, data)) = data.split_first() else { return };
    let mut body = Vec::new();
    for byte in data {
        match *byte {
            HERE => body.extend_from_slice(KEY.as_bytes()),
            other => body.push(other),
        }
    }
    let [text, message] = fuzzing::error_body(&body, flags & 1 == 1, KEY);
    for kept in [&text, &message].into_iter().flatten() {
        assert!(!kept.contains(KEY), "{kept:?}");
        assert!(kept.len() <= 8 << 10, "{} bytes", kept.len());
    }
    if let Some(message) = message {
        assert!(!message.contains(['\n', '\r', '\0', '\u{1b}']), "{message:?}");
    }
}
