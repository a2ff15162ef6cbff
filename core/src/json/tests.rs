//! JSON compared with serde_json, and the hard cases of the grammar from JSON test suites.

use serde_json::Value;

use crate::json::fingerprint::fingerprint;
use crate::json::scan::{Flaw, Scanner};
use crate::json::text::JsonText;
use crate::json::tokens::JsonToken;
use crate::json::value::Json;

fn is_json(text: &str) -> bool {
    Json::read(text).is_ok()
}

/// The tokens as a tree.
fn tree(json: Json<'_>) -> Value {
    let (mut open, mut keys): (Vec<Value>, Vec<String>) = (Vec::new(), Vec::new());
    for token in json.tokens() {
        let value = match token {
            JsonToken::Object => {
                open.push(Value::Object(Default::default()));
                continue;
            }
            JsonToken::List => {
                open.push(Value::Array(Vec::new()));
                continue;
            }
            JsonToken::Key(key) => {
                keys.push(key.decode().into_owned());
                continue;
            }
            JsonToken::End => open.pop().expect("an end has a beginning"),
            JsonToken::Text(text) => text.decode().into_owned().into(),
            JsonToken::Number(digits) => serde_json::from_str(digits).expect(digits),
            JsonToken::Bool(given) => given.into(),
            JsonToken::Null => Value::Null,
        };
        match open.last_mut() {
            None => return value,
            Some(Value::Object(map)) => drop(map.insert(keys.pop().expect("a value has a key"), value)),
            Some(Value::Array(list)) => list.push(value),
            Some(_) => unreachable!(),
        }
    }
    panic!("a value ends")
}

#[test]
fn the_hard_cases_of_the_grammar_are_accepted_and_rejected_as_rfc_8259_says() {
    for text in [
        "[]",
        " [ ] ",
        "[[]   ]",
        "{}",
        "{ }",
        "[1,2]",
        "[null, 1, \"1\", {}]",
        "0",
        "-0",
        "-0.0",
        "1E22",
        "1e-2",
        "1E+2",
        "[123e65]",
        "[1.5e+9999]",
        "20.000000000000000000000000001",
        "\"\"",
        "\"\\u0000\"",
        "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"",
        "\"\u{7f}\"",
        "\"\u{2028}\u{10ffff}\"",
        "\"\\uD83d\\uDE00\"",
        "\"\\ud800\"",
        "\"\\uDFAA\"",
        "\"\\ud800\\n\"",
        "{\"a\":1,\"a\":2}",
        "{\"\":0}",
        "{\"a\\u0000b\":0}",
        "true",
        "false",
        "null",
        "\t\r\n null\t\r\n ",
    ] {
        assert!(is_json(text), "{text}");
    }
    for text in [
        "",
        " ",
        "[",
        "]",
        "[1,]",
        "[,1]",
        "[1,,2]",
        "[1 2]",
        "[1",
        "[\"",
        "[\"a",
        "{",
        "{\"",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "{\"a\":1,}",
        "{a:1}",
        "{'a':1}",
        "{1:1}",
        "{\"a\" 1}",
        "{\"a\"::1}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":1]",
        "[1}",
        "01",
        "-01",
        "-",
        "+1",
        ".5",
        "1.",
        "1.e1",
        "1e",
        "1e+",
        "0x1",
        "1_0",
        "1eE2",
        "--1",
        "NaN",
        "Infinity",
        "-Infinity",
        "nul",
        "nulll",
        "True",
        "tru",
        "truE",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\u12G4\"",
        "\"\\",
        "\"\n\"",
        "\"\t\"",
        "\"\0\"",
        "'a'",
        "[1]x",
        "{}}",
        "[][]",
        "\u{feff}[]",
        "/**/[]",
        "[1]//",
        "\u{a0}1",
        "\x0c1",
        "\x0b1",
        "1\0",
        "{,}",
        "[\"a\":1]",
        "{\"a\":}",
        "{\"a\",1}",
        "*",
        "<html>",
        "\u{2060}[]",
        "[\u{e5}]",
        "-\u{1ff11}",
        "{\"a\":\"b\"}#",
    ] {
        assert!(!is_json(text), "{text:?}");
    }
}

#[test]
fn the_scanner_accepts_the_same_texts_as_serde_json() {
    let mut random = fastrand::Rng::with_seed(11);
    let pieces = [
        "{", "}", "[", "]", ",", ":", "\"", "\"a\"", "\"a\":", "\\", "\\u", "\\u0041", "\\ud800", "d83d", "0", "1",
        "-", ".", "e", "E5", "+", "true", "false", "null", " ", "\n", "\t", "\u{1}", "é", "x", "[]", "{}", "1.5", ",1",
        ",\"b\":2",
    ];
    let mut taken = 0;
    for _ in 0..200_000 {
        let text: String = (0..random.usize(1..9)).map(|_| pieces[random.usize(..pieces.len())]).collect();
        // serde_json rejects half of a surrogate pair.
        let plain = serde_json::from_str::<Value>(&text.replace("\\ud800", "\\u0041"));
        let read = Json::read(&text);
        assert_eq!(read.is_ok(), plain.is_ok(), "{text:?} {read:?} {plain:?}");
        if let (Ok(json), Ok(plain), false) = (read, plain, text.contains("\\ud")) {
            taken += 1;
            assert_eq!(tree(json), plain, "{text:?}");
        }
    }
    assert!(taken > 5000, "{taken}");
}

#[test]
fn exactly_the_bytes_that_end_or_break_a_text_are_found_at_any_place() {
    for length in 0..26 {
        for place in 0..length {
            for byte in 0..=0x7f_u8 {
                let mut text = "x".repeat(length);
                text.replace_range(place..=place, char::from(byte).encode_utf8(&mut [0; 4]));
                let found = Scanner::new(&format!("\"{text}\""), 0).value(0);
                match byte {
                    ..b' ' => {
                        let what = "no control character in a text";
                        assert_eq!(found, Err(Flaw::Expected { what, at: place + 1 }), "{text:?}");
                    }
                    b'"' => assert_eq!(found, Ok(0..place + 2), "{text:?}"),
                    b'\\' => assert!(found.is_err(), "{text:?}"),
                    _ => assert_eq!(found, Ok(0..length + 2), "{text:?}"),
                }
            }
        }
    }
}

#[test]
fn json_may_nest_128_levels_deep_and_no_deeper() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = |depth: usize| format!("{}1{}", open.repeat(depth), close.repeat(depth));
        assert!(is_json(&nested(128)));
        assert_eq!(Json::read(&nested(129)), Err(Flaw::TooDeep));
        assert_eq!(Json::read(&open.repeat(100_000)), Err(Flaw::TooDeep));
        assert_eq!(tree(Json::read(&nested(100)).unwrap()), serde_json::from_str::<Value>(&nested(100)).unwrap());
    }
}

#[test]
fn the_caller_is_asked_regularly_while_anything_long_is_read() {
    let million = 1 << 20;
    for long in [
        " ".repeat(million) + "1",
        format!("\"{}\"", "x".repeat(million)),
        format!("\"{}\"", "\\n".repeat(million / 2)),
        "1".repeat(million),
        format!("1.{}", "1".repeat(million)),
        format!("[{}1]", "1,".repeat(million / 2)),
        format!("[{}[]]", "[],".repeat(million / 3)),
        format!("{{{}\"a\":{{}}}}", "\"a\":{},".repeat(million / 7)),
        format!("[1{}]", " ".repeat(million)),
    ] {
        let mut asked = 0;
        let mut proceed = || {
            asked += 1;
            true
        };
        let mut scanner = Scanner::asking(&long, &mut proceed);
        assert!(scanner.value(0).is_ok());
        assert!(asked >= 14, "asked {asked} times over {}", &long[..20]);
        let mut times = 0;
        let mut stop = || {
            times += 1;
            times < 3
        };
        assert_eq!(Scanner::asking(&long, &mut stop).value(0), Err(Flaw::Stopped));
        assert_eq!(times, 3);
    }
}

#[test]
fn a_text_is_decoded_and_compared_decoded() {
    for (written, text) in [
        ("", ""),
        ("plain é", "plain é"),
        (r#"\"\\\/\b\f\n\r\t"#, "\"\\/\u{8}\u{c}\n\r\t"),
        (r"\u0041\u00e9\u65E5", "Aé日"),
        (r"a\ud83d\ude00b", "a\u{1f600}b"),
        (r"\ud83d", "\u{fffd}"),
        (r"\ude00\ud83d", "\u{fffd}\u{fffd}"),
        (r"\ud83d\ud83d\ude00", "\u{fffd}\u{1f600}"),
        (r"\ud83dx", "\u{fffd}x"),
        (r"\ud83d\n", "\u{fffd}\n"),
        (r"\u0000", "\0"),
    ] {
        let read = JsonText::written(written);
        assert_eq!(read.decode(), text);
        assert_eq!(read.decoded_len(), text.len());
        assert!(read == text && read != "other" && read != format!("{text}x").as_str(), "{written}");
        let mut decoded = "x".to_owned();
        read.decode_into(&mut decoded).unwrap();
        assert_eq!(decoded, format!("x{text}"));
    }
}

#[test]
fn equal_values_have_the_same_fingerprint_and_different_ones_do_not() {
    let of = |json: &str| fingerprint(Json::read(json).expect(json), &mut || true).unwrap();
    let same = [
        [r#"{"a":1,"b":[1,2]}"#, r#" { "b" : [ 1 , 2 ] , "\u0061":1 } "#],
        [r#""\u0041\n""#, "\"A\\u000a\""],
        ["[]", "[ ]"],
    ];
    for [one, other] in same {
        assert_eq!(of(one), of(other), "{one} {other}");
    }
    let all = [
        "null",
        "true",
        "false",
        "0",
        "1",
        "10",
        "\"1\"",
        "\"\"",
        "[]",
        "{}",
        "[[]]",
        "[[],[]]",
        "[[[]]]",
        "[{}]",
        "[null]",
        "[1,2]",
        "[2,1]",
        "[12]",
        "[\"1\",2]",
        r#"{"a":1}"#,
        r#"{"a":2}"#,
        r#"{"b":1}"#,
        r#"{"a":1,"b":2}"#,
        r#"{"a":2,"b":1}"#,
        r#"{"a":{"b":1}}"#,
        r#"{"a":["b",1]}"#,
        r#"{"a":{}}"#,
        r#"{"a":[]}"#,
        r#"{"a":null}"#,
        "[1,[2,3]]",
        "[[1,2],3]",
    ];
    let mut seen: Vec<u64> = all.iter().map(|json| of(json)).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), all.len());
}
