//! Records of every shape, field by field.

use crate::job::*;

fn job(json: &str) -> Job {
    Job::read(json.into()).expect(json)
}

#[test]
fn a_full_record_is_read_field_by_field() {
    let job = job(r#"{"id":"job_1","status":"archived","source":{"repository":"https://example.com/r","ref":"main"},
        "model":"m","prLink":"https://example.com/pull/1","createdAt":"2026-01-02T03:04:05.678Z","archivedAt":"2026-01-03T00:00:00Z"}"#);
    assert_eq!(job.id(), "job_1");
    assert_eq!(job.status(), &JobStatus::Archived);
    assert!(job.is_terminal());
    assert_eq!(job.source_repository(), Some("https://example.com/r"));
    assert_eq!(job.source_ref(), Some("main"));
    assert_eq!(job.model(), Some("m"));
    assert_eq!(job.pr_link(), Some("https://example.com/pull/1"));
    assert_eq!(job.created_at(), Some("2026-01-02T03:04:05.678Z"));
    assert_eq!(job.archived_at(), Some("2026-01-03T00:00:00Z"));
    assert_eq!(job.created_at_unix_ms(), Some(1_767_323_045_678));
    assert_eq!(job.archived_at_unix_ms(), Some(1_767_398_400_000));
}

#[test]
fn missing_fields_and_nulls_are_the_same_and_the_keys_are_always_there() {
    let bare = job(r#"{"id":"a","status":"active"}"#);
    let nulls = job(
        r#"{"id":"a","status":"active","source":null,"model":null,"prLink":null,"createdAt":null,"archivedAt":null}"#,
    );
    assert_eq!(bare, nulls);
    assert_eq!(
        bare.to_json(),
        r#"{"id":"a","status":"active","source":{"repository":null,"ref":null},"model":null,"prLink":null,"createdAt":null,"archivedAt":null}"#
    );
    assert_eq!(bare.source_repository(), None);
}

#[test]
fn an_unknown_status_is_kept_and_is_not_terminal() {
    let job = job(r#"{"id":"a","status":"paused"}"#);
    assert_eq!(job.status(), &JobStatus::Other("paused".into()));
    assert_eq!(job.status().as_str(), "paused");
    assert!(!job.is_terminal());
}

#[test]
fn unknown_fields_are_kept_digit_by_digit() {
    let job = job(
        r#"{"cost":1.10,"big":123456789012345678901234567890,"id":"a","status":"failed","source":{"sha":"f00"},"tags":[1,{"x":null}]}"#,
    );
    assert_eq!(
        job.to_json(),
        r#"{"id":"a","status":"failed","source":{"repository":null,"ref":null,"sha":"f00"},"model":null,"prLink":null,"createdAt":null,"archivedAt":null,"cost":1.10,"big":123456789012345678901234567890,"tags":[1,{"x":null}]}"#
    );
}

#[test]
fn of_a_key_that_comes_twice_the_last_value_counts_but_the_id_and_the_status_must_be_clear() {
    let job = job(
        r#"{"id":"a","x":1,"status":"active","y":2,"model":"m","x":{"n":3},"model":"n","source":{"ref":"r"},"source" : {"ref":"s","z":0,"z":1}}"#,
    );
    assert_eq!(
        job.to_json(),
        r#"{"id":"a","status":"active","source":{"repository":null,"ref":"s","z":0,"z":1},"model":"n","prLink":null,"createdAt":null,"archivedAt":null,"x":1,"y":2,"x":{"n":3}}"#
    );
    assert_eq!((job.get("x"), job.model()), (Some(r#"{"n":3}"#), Some("n")));
    let twice = Job::read(r#"{"id":"a","status":"active","\u0069d":"b"}"#.into()).unwrap_err();
    assert_eq!(twice, "it is no record (duplicate field `id` at line 1 column 37)");
}

#[test]
fn keys_and_texts_may_be_written_with_escapes() {
    let escaped =
        job(r#"{"\u0069d":"caf\u00e9 \"x\"","status":"\u0061ctive","sourc\u0065":{"r\u0065f":"a\/b"},"k\u00fc":"\n"}"#);
    let plain = job(r#"{"id":"café \"x\"","status":"active","source":{"ref":"a/b"},"kü":"\n"}"#);
    assert_eq!(escaped.id(), "café \"x\"");
    assert_eq!(escaped.status(), &JobStatus::Active);
    assert_eq!(escaped.source_ref(), plain.source_ref());
    assert_eq!(escaped.get("kü"), Some(r#""\n""#));
    assert_eq!(
        escaped.to_json(),
        r#"{"id":"caf\u00e9 \"x\"","status":"\u0061ctive","source":{"repository":null,"ref":"a\/b"},"model":null,"prLink":null,"createdAt":null,"archivedAt":null,"k\u00fc":"\n"}"#
    );
}

#[test]
fn a_documented_field_of_another_type_breaks_nothing() {
    let job = job(r#"{"id":"a","status":"active","model":7,"source":"s","prLink":{}}"#);
    assert_eq!(job.model(), None);
    assert_eq!(job.source_ref(), None);
    assert_eq!((job.get("model"), job.get("prLink")), (Some("7"), Some("{}")));
    assert_eq!(job.get("source"), Some(r#"{"repository":null,"ref":null}"#), "a source that is none has no fields");
}

#[test]
fn a_response_that_is_no_record_is_refused_with_the_reason() {
    let cases = [
        (r#"{"status":"active"}"#, r#"it has no "id""#),
        (r#"{"id":"a"}"#, r#"it has no "status""#),
        (r#"{"id":"a","status":null}"#, r#"it has no "status""#),
        (r#"{"id":7,"status":"active"}"#, r#"its "id" is not a string"#),
        (r#"{"id":"","status":"active"}"#, r#"its "id" is empty"#),
        ("[]", "it is JSON, but not an object"),
        (r#"{"id":"a""#, "its JSON ends too early"),
        ("", "it is empty"),
    ];
    let wrong = |json: &[u8]| Job::read(json.into()).unwrap_err();
    for (json, clause) in cases {
        assert_eq!(wrong(json.as_bytes()), clause, "{json}");
    }
    assert_eq!(wrong(b"<html>"), "it is not JSON (expected value at line 1 column 1)");
    assert_eq!(wrong(b"{\"id\":\"\xff\"}"), "it is not UTF-8");
    let deep = |depth| format!(r#"{{"id":"a","status":"active","x":{}1{}}}"#, "[".repeat(depth), "]".repeat(depth));
    assert_eq!(wrong(deep(100_000).as_bytes()), "its JSON nests deeper than 128 levels");
    assert!(Job::read(deep(127).into()).is_ok());
}

#[test]
fn half_of_a_surrogate_pair_becomes_the_replacement_character() {
    let job = job(r#"{"id":"a\ud800b","status":"active","\udc00":"\ud83d\ude00\ud83d","m\u006fdel":"\ud800\u0041"}"#);
    assert_eq!((job.id(), job.model()), ("a\u{fffd}b", Some("\u{fffd}A")));
    assert_eq!(
        job.to_json(),
        r#"{"id":"a\ufffdb","status":"active","source":{"repository":null,"ref":null},"model":"\ufffd\u0041","prLink":null,"createdAt":null,"archivedAt":null,"\ufffd":"\ud83d\ude00\ufffd"}"#
    );
}

#[test]
fn records_are_equal_if_their_json_is_without_white_space_and_with_the_documented_keys_in_order() {
    let one = job(r#"{"x":[1,{"y":2}],"id":"a","status":"active","source":null}"#);
    assert_eq!(one, job("{ \"status\" : \"active\", \"x\": [ 1, { \"y\": 2 } ],\n\"id\":\"a\" }"));
    assert_ne!(one, job(r#"{"x":[1,{"y":3}],"id":"a","status":"active"}"#));
    assert_ne!(one, job(r#"{"x":[1,{"y":2}],"id":"a","status":"active","source":{"ref":"main"}}"#));
}

/// A random JSON value, written in a random way.
fn any(random: &mut fastrand::Rng, depth: u32) -> String {
    match random.u32(..if depth == 0 { 5 } else { 7 }) {
        0 => "null".to_owned(),
        1 => ["true", "false"][random.usize(..2)].to_owned(),
        2 => ["0", "-0", "7", "-12", "1.10", "1e+5", "-1e-3", "18446744073709551616", "0.1e+400"][random.usize(..9)]
            .to_owned(),
        3 | 4 => {
            let pieces = ["", "x", "é", "\\n", "\\u0041", "\\ud83d\\ude00", "{", "\\\"", ":", "日本"];
            format!("\"{}\"", (0..random.usize(..3)).map(|_| pieces[random.usize(..pieces.len())]).collect::<String>())
        }
        5 => {
            format!("[{}]", (0..random.usize(..3)).map(|_| any(random, depth - 1)).collect::<Vec<_>>().join(" , "))
        }
        _ => object(random, &["a", "ref", "source"], depth - 1),
    }
}

fn object(random: &mut fastrand::Rng, keys: &[&str], depth: u32) -> String {
    let mut fields = Vec::new();
    for _ in 0..random.usize(..10) {
        let mut key = keys[random.usize(..keys.len())].to_owned();
        if random.bool() && !key.is_empty() {
            key = format!("\\u{:04x}{}", key.as_bytes()[0], &key[1..]);
        }
        let (before, behind) = (["", " "][random.usize(..2)], ["", "\n\t "][random.usize(..2)]);
        fields.push(format!("{before}\"{key}\"{behind}:{behind}{}{before}", any(random, depth)));
    }
    format!("{{{}}}", fields.join(","))
}

#[test]
fn a_record_has_the_fields_that_a_straightforward_reader_finds() {
    const KEYS: [&str; 7] = ["id", "status", "source", "model", "prLink", "createdAt", "archivedAt"];
    let mut random = fastrand::Rng::with_seed(7);
    let keys = [&KEYS[2..], &["source", "source", "x", "y", "repository", ""]].concat();
    for _ in 0..20_000 {
        let members = object(&mut random, &keys, 3);
        let json = format!("{} , \"id\":\"a\",\"status\":\"b\"}}", members.strip_suffix('}').unwrap());
        let json = json.replacen("{ ,", "{", 1);
        let mut plain: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&json).expect(&json);
        let record = job(&json);
        for key in KEYS {
            plain.entry(key).or_insert(serde_json::Value::Null);
        }
        if !plain["source"].is_object() {
            plain["source"] = serde_json::json!({});
        }
        for key in ["repository", "ref"] {
            plain["source"].as_object_mut().unwrap().entry(key).or_insert(serde_json::Value::Null);
        }
        let written = record.to_json();
        assert_eq!(&serde_json::from_str::<serde_json::Map<_, _>>(written).expect(written), &plain, "{json}");
        assert!(!written.contains([' ', '\t', '\n']), "on one line: {written}");
        assert_eq!(job(written), record, "{json}");
        let model = |job: &Job| job.model().map(str::to_owned);
        assert_eq!(model(&record).as_deref(), plain["model"].as_str(), "{json}");
        // Truncated JSON, and JSON with something after it, is refused.
        let cut: String = json.chars().take(random.usize(..json.chars().count())).collect();
        assert!(Job::read(cut.as_str().into()).is_err(), "{cut}");
        assert!(Job::read(format!("{json} x").into()).is_err(), "{json}");
    }
}

#[test]
fn keys_with_a_private_meaning_in_serde_json_are_kept_as_they_came() {
    let added = format!(r#""n":{{"$serde_json::private::Number":"5"}},"big":{}"#, "7".repeat(5000));
    let job = job(&format!(r#"{{"id":"a","status":"active","model":{{"$serde_json::private::Number":"x"}},{added}}}"#));
    assert!(job.to_json().contains(r#""model":{"$serde_json::private::Number":"x"}"#));
    assert!(job.to_json().ends_with(&format!("{added}}}")));
}

#[test]
fn a_text_for_c_ends_in_a_nul() {
    let job = job(r#"{"id":"a\u0000b","status":"active","source":{"ref":"m"}}"#);
    assert_eq!(job.id(), "a\0b");
    assert_eq!(job.text_with_nul(TextField::Id), Some("a\0b\0"));
    assert_eq!(job.text_with_nul(TextField::SourceRef), Some("m\0"));
    assert_eq!(job.text_with_nul(TextField::Model), None);
}
