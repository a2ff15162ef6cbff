use crate::redact::*;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE};

/// Every visible ASCII character.
const ALL: &str = r##"!"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_`abcdefghijklmnopqrstuvwxyz{|}~"##;
const KEYS: [&str; 7] = [
    "sk/9f+3c77aaQQ==",
    "adm_zebra7quilt4mango9",
    "8 is min",
    r#"a"b\c%d&e'f<g>h/i"#,
    r"back\\slash\u0041\n%41%2Fend",
    "&amp;&#47;%25percent\\/",
    ALL,
];

type Encode = fn(&str) -> String;

fn each(text: &str, one: impl Fn(usize, char) -> String) -> String {
    text.chars().enumerate().map(|(n, c)| one(n, c)).collect()
}

fn quoted(text: &str) -> String {
    serde_json::json!([text]).to_string()
}

const ENCODINGS: &[(&str, Encode)] = &[
    ("raw", str::to_owned),
    ("json", quoted),
    ("php", |text| quoted(text).replace('/', "\\/")),
    (".net", |text| {
        each(text, |_, c| if c.is_ascii_alphanumeric() { c.into() } else { format!("\\u{:04X}", c as u32) })
    }),
    ("all of it as \\u", |text| each(text, |_, c| format!("\\u{:04x}", c as u32))),
    ("every other one as \\u", |text| {
        each(text, |n, c| if n % 2 == 0 || "\"\\".contains(c) { format!("\\u{:04X}", c as u32) } else { c.into() })
    }),
    ("c", |text| each(text, |_, c| format!("\\x{:02X}", c as u32))),
    ("octal", |text| each(text, |_, c| format!("\\{:03o}", c as u32))),
    ("percent", |text| {
        each(text, |_, c| if c.is_ascii_alphanumeric() { c.to_string() } else { format!("%{:02x}", c as u32) })
    }),
    ("all of it as percent", |text| each(text, |_, c| format!("%{:02X}", c as u32))),
    ("html", |text| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;")
            .replace('/', "&#x2F;")
    }),
    ("html by numbers", |text| each(text, |_, c| format!("&#{};", c as u32))),
    ("base64", |text| BASE64_STANDARD.encode(text)),
    ("base64 without its end", |text| BASE64_STANDARD_NO_PAD.encode(text)),
    ("base64 for urls", |text| BASE64_URL_SAFE.encode(text)),
    ("base64 of Bearer", |text| BASE64_URL_SAFE_NO_PAD.encode(format!("Bearer {text}"))),
    ("base64 of user:key", |text| BASE64_STANDARD.encode(format!("user:{text}"))),
    ("base64 of key:", |text| BASE64_STANDARD.encode(format!("{text}:"))),
    ("base64 of us:key and more", |text| BASE64_STANDARD.encode(format!("us:{text} and more"))),
    ("base64 in php", |text| BASE64_STANDARD.encode(format!(":{text}")).replace('/', "\\/")),
    ("base64 in a url", |text| {
        BASE64_STANDARD.encode(text).replace('+', "%2B").replace('/', "%2F").replace('=', "%3D")
    }),
];

#[test]
fn a_key_is_removed_in_every_encoding_at_every_place() {
    for key in KEYS {
        let secrets = [key.as_bytes()];
        let redactor = Redactor::new(&secrets);
        for (name, encode) in ENCODINGS {
            let encoded = encode(key);
            for (before, behind) in [
                ("", ""),
                ("unknown key: ", "!"),
                ("{\"error\":\"unknown key ", "\"}"),
                ("é(", ")\n…"),
                ("100%", "%"),
                ("\\\\", "\\n"),
            ] {
                let text = format!("{before}{encoded}{behind}");
                let redacted = redactor.redact(&text);
                let (begin, end) = redacted.split_once("***").unwrap_or_else(|| panic!("{name}: {text} is {redacted}"));
                // Beside a key in base64, characters stay that have bits of what is around it.
                let left = begin.len() + end.len() - before.len() - behind.len();
                let most = if name.starts_with("base64") { 28 } else { 4 };
                assert!(left <= most, "{name}: {text} became {redacted}");
                assert!(redactor.finder()(&text), "{name}: {text}");
            }
        }
    }
}

#[test]
fn the_text_around_a_key_stays() {
    let secrets: [&[u8]; 2] = [b"sk/9f+3c77aaQQ==", b"hunter22pass"];
    let redactor = Redactor::new(&secrets);
    for (text, redacted) in [
        ("unknown key: sk/9f+3c77aaQQ== (sk/9f+3c77aaQQ==)!", "unknown key: *** (***)!"),
        ("sk/9f+3c77aaQQ==sk/9f+3c77aaQQ==", "***"),
        (r#"{"error":"unknown key: sk\/9f\u002B3c77aaQQ=="}"#, r#"{"error":"unknown key: ***"}"#),
        ("é sk%2F9f%2B3c77aaQQ%3D%3D\u{1F600}", "é ***\u{1F600}"),
        ("Basic dXNlcjpodW50ZXIyMnBhc3M= was refused", "Basic dXNlcjp***M= was refused"),
    ] {
        assert_eq!(redactor.redact(text), redacted, "{text}");
    }
}

#[test]
fn a_text_without_a_key_is_returned_unchanged() {
    let secrets: [&[u8]; 1] = [b"sk/9f+3c77aaQQ=="];
    let redactor = Redactor::new(&secrets);
    for text in
        ["", "active", "job not found: sk/9f+", r#"{"a":"\u00e9\/%41&amp;"}"#, "\u{202e}", "é\\é&é%é", "%", "\\", "&"]
    {
        assert!(matches!(redactor.redact(text), Cow::Borrowed(same) if same == text), "{text}");
    }
    assert!(matches!(Redactor::new(&[b"" as &[u8]]).redact("anything"), Cow::Borrowed(_)));
    assert_eq!(format!("{redactor:?}"), "Redactor(not shown)");
}

#[test]
fn a_short_key_is_removed_where_it_stands_alone() {
    let secrets: [&[u8]; 2] = [b"k", b"pw"];
    let redactor = Redactor::new(&secrets);
    assert_eq!(redactor.redact("unknown key 'k', pw: a kept word"), "unknown key '***', ***: a kept word");
    assert_eq!(redactor.redact("k"), "***");
    assert!(redactor.finder()("(k)") && !redactor.finder()("kept"));
}

#[test]
fn a_secret_that_is_not_utf_8_breaks_no_text() {
    let secrets: [&[u8]; 2] = [b"\xa9", b"\xa9 and more"];
    let redactor = Redactor::new(&secrets);
    for text in ["é", "é and more", "\\u00e9 and more", "%a9 and more"] {
        assert_eq!(redactor.redact(text), text);
    }
}

#[test]
fn the_beginning_of_a_key_is_removed_from_the_end_of_a_truncated_text() {
    for key in ["sk/9f+3c77aaQQ==", "adm_zebra7quilt4mango9", &"0123456789abcdef".repeat(9)] {
        let secrets = [key.as_bytes()];
        let redactor = Redactor::new(&secrets);
        for (name, encode) in ENCODINGS {
            // So much of the encoded key that six of its characters, or of its base64's, are there.
            let encoded = encode(key);
            let begin = if name.starts_with("base64 of") {
                continue;
            } else {
                encode(&key[..9]).trim_end_matches(['=', '"', ']']).len()
            };
            for end in begin..encoded.len() {
                let text = format!("unknown key: {}", &encoded[..end]);
                let redacted = redactor.redact_cut(&text);
                assert!(redacted.ends_with("***"), "{name}: {text} became {redacted}");
            }
        }
    }
}

#[test]
fn of_a_text_of_any_length_only_the_beginning_is_read_and_a_key_at_its_end_is_removed() {
    let secrets: [&[u8]; 1] = [b"adm_zebra7quilt4mango9"];
    let redactor = Redactor::new(&secrets);
    assert_eq!(redactor.redact_beginning("unknown key: adm_zebra7quilt4mango9!"), "unknown key: ***!");
    for shown in 0..30 {
        let before = "é".repeat(MAX_BEGINNING - shown);
        let redacted =
            redactor.redact_beginning(&format!("{before}adm_zebra7quilt4mango9{}", "x".repeat(1 << 20))).into_owned();
        let end = redacted.strip_prefix(&before).expect("what is before the key stays");
        match shown {
            ..MIN_CUT => assert_eq!(end.len(), shown),
            _ => assert!(end.starts_with("***") && end.len() <= 3 + shown.saturating_sub(22), "{shown}: {end}"),
        }
    }
}

#[test]
fn the_longest_text_and_the_longest_key_are_redacted_quickly() {
    let (key, text) = ("k".repeat(4096), "k".repeat(64 << 10));
    let began = std::time::Instant::now();
    assert_eq!(Redactor::new(&[key.as_bytes()]).redact(&text), "***");
    let text = "\\u0025&#x32;".repeat(5000);
    assert!(matches!(Redactor::new(&[key.as_bytes()]).redact(&text), Cow::Borrowed(_)));
    assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
}
