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
fn of_a_key_that_comes_twice_the_last_value_counts() {
    let job = job(
        r#"{"id":"a","x":1,"status":"active","y":2,"id":"b","x":{"n":3},"source":{"ref":"r"},"source" : {"ref":"s","z":0,"z":1}}"#,
    );
    assert_eq!(
        job.to_json(),
        r#"{"id":"b","status":"active","source":{"repository":null,"ref":"s","z":0,"z":1},"model":null,"prLink":null,"createdAt":null,"archivedAt":null,"x":1,"y":2,"x":{"n":3}}"#
    );
    assert!(matches!(job.get("x"), Some(Field::Json(last)) if last.as_str() == r#"{"n":3}"#));
}

#[test]
fn keys_and_texts_may_be_written_with_escapes() {
    let escaped =
        job(r#"{"\u0069d":"caf\u00e9 \"x\"","status":"\u0061ctive","sourc\u0065":{"r\u0065f":"a\/b"},"k\u00fc":"\n"}"#);
    let plain = job(r#"{"id":"café \"x\"","status":"active","source":{"ref":"a/b"},"kü":"\n"}"#);
    assert_eq!(escaped.id(), "café \"x\"");
    assert_eq!(escaped.status(), &JobStatus::Active);
    assert_eq!(escaped.source_ref(), plain.source_ref());
    assert_eq!(escaped.get("kü").and_then(|field| field.as_text()).as_deref(), Some("\n"));
    assert_eq!(
        escaped.to_json(),
        r#"{"id":"caf\u00e9 \"x\"","status":"\u0061ctive","source":{"repository":null,"ref":"a\/b"},"model":null,"prLink":null,"createdAt":null,"archivedAt":null,"k\u00fc":"\n"}"#
    );
    assert_eq!(escaped, plain, "however they are written");
    assert_ne!(escaped, job(r#"{"id":"b","status":"active"}"#));
}

#[test]
fn a_documented_field_of_another_type_breaks_nothing() {
    let job = job(r#"{"id":"a","status":"active","model":7,"source":"s","prLink":{}}"#);
    assert_eq!(job.model(), None);
    assert_eq!(job.source_ref(), None);
    assert!(matches!(job.get("model"), Some(Field::Json(json)) if json.as_str() == "7"));
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
    let wrong = |json: &[u8]| match Job::read(json.into()) {
        Err(NoJob::Wrong(clause)) => clause,
        other => panic!("{other:?}"),
    };
    for (json, clause) in cases {
        assert_eq!(wrong(json.as_bytes()), clause, "{json}");
    }
    assert_eq!(wrong(b"<html>"), "it is not JSON (a value is expected at byte 0)");
    assert_eq!(wrong(b"{\"id\":\"\xff\"}"), "it is not UTF-8");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(wrong(deep.as_bytes()), "its JSON nests deeper than 128 levels");
}

#[test]
fn half_of_a_surrogate_pair_becomes_the_replacement_character() {
    let job = job(r#"{"id":"a\ud800b","status":"active","\udc00":"\ud83d\ude00\ud83d","m\u006fdel":"\ud800\u0041"}"#);
    assert_eq!(job.id(), "a\u{fffd}b");
    assert_eq!(job.model(), Some("\u{fffd}A"));
    assert_eq!(job.get("\u{fffd}").and_then(|field| field.as_text()).as_deref(), Some("\u{1f600}\u{fffd}"));
    assert_eq!(
        job.to_json(),
        r#"{"id":"a\ufffdb","status":"active","source":{"repository":null,"ref":null},"model":"\ufffd\u0041","prLink":null,"createdAt":null,"archivedAt":null,"\ufffd":"\ud83d\ude00\ufffd"}"#
    );
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
