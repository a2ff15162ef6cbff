use crate::redact::*;
use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_STANDARD_NO_PAD, BASE64_URL_SAFE, BASE64_URL_SAFE_NO_PAD};

/// Every visible ASCII character.
const ALL: &str = r##"!"#$%&'()*+,-./0123456789:;<=>?@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\]^_`abcdefghijklmnopqrstuvwxyz{|}~"##;
const KEYS: [&str; 6] = [
    "sk/9f+3c77aaQQ==",
    "adm_zebra7quilt4mango9",
    r#"a"b\c%d&e'f<g>h/i"#,
    r"back\\slash\u0041\n%41%2Fend",
    "&amp;&#47;%25percent\\/",
    ALL,
];

type Encode = fn(&str) -> String;

fn each(text: &str, one: impl Fn(usize, char) -> String) -> String {
    text.chars().enumerate().map(|(n, c)| one(n, c)).collect()
}

fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string().trim_matches('"').to_owned()
}

/// The same for a text that may begin or end with a quote, which `trim_matches` would remove.
fn quoted(text: &str) -> String {
    serde_json::json!([text]).to_string()
}

fn percent(text: &str) -> String {
    each(text, |_, c| if c.is_ascii_alphanumeric() { c.to_string() } else { format!("%{:02x}", c as u32) })
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
        each(text, |n, c| if n % 2 == 0 { format!("\\u{:04X}", c as u32) } else { json(&c.to_string()) })
    }),
    ("json in json", |text| quoted(&quoted(text))),
    ("json in json in php", |text| quoted(&quoted(&quoted(text))).replace('/', "\\/")),
    ("c", |text| each(text, |_, c| format!("\\x{:02X}", c as u32))),
    ("percent", percent),
    ("all of it as percent", |text| each(text, |_, c| format!("%{:02X}", c as u32))),
    ("percent twice", |text| percent(&percent(text))),
    ("javascript's escape", |text| each(text, |_, c| format!("%u{:04X}", c as u32))),
    ("html", |text| {
        text.replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('"', "&quot;")
            .replace('\'', "&#39;")
            .replace('/', "&#x2F;")
    }),
    ("html by numbers", |text| each(text, |_, c| format!("&#{};", c as u32))),
    ("html of percent of json", |text| percent(&quoted(text)).replace('%', "&percnt;")),
    ("folded", |text| each(text, |n, c| if n % 5 == 4 { format!("{c}\r\n  ") } else { c.into() })),
    ("spaced", |text| each(text, |_, c| format!("{c}\u{200b} \u{a0}"))),
    ("a list", |text| each(text, |n, c| if n % 3 == 2 { format!("{c}, ") } else { c.into() })),
    ("line ends in json", |text| quoted(&each(text, |n, c| if n % 4 == 3 { format!("{c}\n") } else { c.into() }))),
    ("base64", |text| BASE64_STANDARD.encode(text)),
    ("base64 without its end", |text| BASE64_STANDARD_NO_PAD.encode(text)),
    ("base64 for urls", |text| BASE64_URL_SAFE.encode(text)),
    ("base64 of Bearer", |text| BASE64_URL_SAFE_NO_PAD.encode(format!("Bearer {text}"))),
    ("base64 of user:key", |text| BASE64_STANDARD.encode(format!("user:{text}"))),
    ("base64 of us:key", |text| BASE64_STANDARD.encode(format!("us:{text}"))),
    ("base64 in php", |text| BASE64_STANDARD.encode(format!(":{text}")).replace('/', "\\/")),
    ("base64 in lines", |text| {
        each(
            &BASE64_STANDARD.encode(format!("key={text}")),
            |n, c| if n % 8 == 7 { format!("{c}\\n") } else { c.into() },
        )
    }),
    ("base64 of json, for a url", |text| percent(&BASE64_STANDARD.encode(quoted(text)))),
    ("hex", |text| each(text, |_, c| format!("{:02x}", c as u32))),
    ("hex with colons", |text| each(text, |_, c| format!("{:02X}:", c as u32))),
    ("octal", |text| each(text, |_, c| format!("\\{:03o}", c as u32))),
    ("other case", |text| {
        each(text, |_, c| if c.is_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }.into())
    }),
    ("hex with prefixes", |text| each(text, |_, c| format!("0x{:02x}, ", c as u32))),
    ("numbers", |text| format!("{:?}", text.as_bytes())),
    ("go's numbers", |text| format!("{:?}", text.as_bytes()).replace(',', "")),
    ("base64 in base64", |text| BASE64_STANDARD.encode(BASE64_STANDARD.encode(text))),
    ("a header in base64", |text| {
        BASE64_STANDARD.encode(format!("Authorization: Basic {}", BASE64_STANDARD.encode(text)))
    }),
    ("base64 in hex", |text| each(&BASE64_STANDARD.encode(text), |_, c| format!("{:02x}", c as u32))),
];

fn bytes(units: &[Unit]) -> Vec<u8> {
    units.iter().map(|unit| unit.0).collect()
}

/// Whether six consecutive characters of the key can be read or decoded from a text.
fn shows(text: &str, key: &str) -> bool {
    let has = |bytes: &[u8]| key.as_bytes().windows(6).any(|piece| bytes.windows(6).any(|window| window == piece));
    let decoded = plain(units(text.as_bytes()));
    let key_has_escapes = bytes(&plain(units(key.as_bytes()))) != key.as_bytes();
    // A key that itself has escapes decodes to something else.
    has(text.as_bytes())
        || (!key_has_escapes && has(&bytes(&decoded)))
        || (0..4).any(|skipped| has(&bytes(&plain(plain_form::decoded(&decoded, BASE64, skipped)))))
        || (0..2).any(|skipped| has(&bytes(&plain(plain_form::decoded(&decoded, HEX, skipped)))))
}

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
                ("x\\", "n"),
                ("100%", "%"),
            ] {
                let text = format!("{before}{encoded}{behind}");
                let redacted = redactor.redact(&text);
                assert!(redacted.contains("***"), "{name}: {text} became {redacted}");
                assert!(!shows(&redacted, key), "{name}: {text} became {redacted}");
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
        (r#"{"error":"unknown key: sk\/9f\u002B3c77aaQQ=="}"#, r#"{"error":"unknown key: ***"}"#),
        ("é sk%2F9f%2B3c77aaQQ%3D%3D\u{1F600}", "é ***\u{1F600}"),
        ("Basic dXNlcjpodW50ZXIyMnBhc3M= was refused", "Basic *** was refused"),
        ("the first half sk/9f+3c and the second 77aaQQ==", "the first half *** and the second ***"),
    ] {
        let out = redactor.redact(text);
        // One base64 character may also have bits of the text before the key.
        let out = out.replace("Basic dXNlc***=", "Basic ***").replace("Basic dXNlcj***=", "Basic ***");
        assert_eq!(out, redacted, "{text}");
    }
}

#[test]
fn a_key_that_consists_of_escapes_is_removed() {
    let key = "%2F%2F%2F%2F%2F";
    for (name, encode) in ENCODINGS {
        let redacted = Redactor::new(&[key.as_bytes()]).redact(&encode(key)).into_owned();
        assert!(redacted.contains("***"), "{name}: {} became {redacted}", encode(key));
    }
}

#[test]
fn a_text_without_a_key_is_returned_unchanged() {
    let secrets: [&[u8]; 1] = [b"sk/9f+3c77aaQQ=="];
    let redactor = Redactor::new(&secrets);
    for text in ["", "active", "job not found: sk/9f+", r#"{"a":"\u00e9\/%41&amp;"}"#, "\u{202e}", &"=".repeat(99)] {
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
}

#[test]
fn the_beginning_of_a_key_is_removed_from_the_end_of_a_truncated_text() {
    for key in ["sk/9f+3c77aaQQ==", "adm_zebra7quilt4mango9", &"0123456789abcdef".repeat(9)] {
        let secrets = [key.as_bytes()];
        let redactor = Redactor::new(&secrets);
        for (name, encode) in ENCODINGS {
            let text = format!("unknown key: {}", encode(key));
            for (end, _) in text.char_indices().skip("unknown key: ".len()) {
                let redacted = redactor.redact_cut(&text[..end]);
                assert!(
                    !redacted.contains(&key[..MIN_CUT + 1]) && !shows(&redacted, &key[..MIN_CUT + 1]),
                    "{name}: {redacted}"
                );
            }
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
