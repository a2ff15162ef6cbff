//! Every way in which a list can be wrong, and the sentence that says so.

use super::*;
use crate::operation::Operation;

const GOOD: &str = "{\"job_id\":\"a\",\"prompt\":\"x\"}\n";

fn error(content: &[u8], format: ListFormat) -> String {
    let error = BatchItem::parse_list(content, "FILE", &format.into()).unwrap_err();
    assert!(!error.message().contains('\n'), "{error}");
    error.message().to_owned()
}

#[test]
fn a_wrong_line_of_json_is_named_with_what_is_wrong() {
    let deep = "[".repeat(100_000);
    let long_number = format!("{{\"job_id\":{}}}", "1".repeat(5000));
    let rows = [
        ("", "FILE contains no messages"),
        ("\n  \n\r\n", "FILE contains no messages"),
        (&format!("{GOOD}\nnope"), "FILE, line 3, column 2: not JSON: expected ident"),
        (&format!("{}{GOOD}", GOOD.trim_end()), "FILE, line 1, column 28: not JSON: trailing characters"),
        (
            "{\"job_id\":\"é\",\"prompt\":\"\t\"}",
            "FILE, line 1, column 24: not JSON: control character (\\u0000-\\u001F) found while parsing a string",
        ),
        ("{\"job_id\":\"a\",", "FILE, line 1, column 15: not JSON: the line ends too early"),
        (&deep, "FILE, line 1, column 100001: not JSON: the list ends too early"),
        (&long_number, "FILE, line 1, column 11: job_id must be a string, not a number"),
        (
            "\"job_id\",\"prompt\"\na,x\n",
            "FILE, line 1, column 9: not JSON: trailing characters (and 1 more wrong line). It begins with a header: give its format, csv or tsv (--format).",
        ),
        ("\"x\"", "FILE, line 1: the line is a string. Write one JSON object per line, or one array of objects."),
        (
            &format!("{GOOD}[\"a\",\"x\"]"),
            "FILE, line 2: the line is a list. Write one JSON object per line, or one array of objects.",
        ),
        (
            "{\"job_id\":\"a\",\"prompt\":\"x\"},\n{\"job_id\":\"b\",\"prompt\":\"x\"}",
            "FILE, line 1, column 28: not JSON: a comma follows the object. Remove it, or write one array of objects.",
        ),
        (
            "{\"job_id\":\"a\\ufeff\",\"prompt\":\"x\"}",
            "FILE, line 1: job_id ends with an invisible character (U+FEFF). Give the id as the service shows it.",
        ),
        ("{\"prompt\":\"x\"}", "FILE, line 1, column 1: job_id is missing"),
        (" {\"job_id\":\"a\"}", "FILE, line 1, column 2: prompt is missing"),
        ("{\"job_id\":\"a\",\"promt\":\"x\"}", "FILE, line 1, column 1: prompt is missing; unknown field \"promt\""),
        ("{\"job_id\":\"\",\"prompt\":\"x\"}", "FILE, line 1: job_id is empty. Give the id as the service shows it."),
        ("{\"job_id\":\"a\",\"prompt\":\"\"}", "FILE, line 1: prompt is empty. Give at least one character."),
        (
            "{\"job_id\":\"a\",\"prompt\":\"x\",\"key\":\"\"}",
            "FILE, line 1: key is empty. Give 1 to 1024 bytes, or no key.",
        ),
        ("{\"job_id\":17,\"prompt\":\"x\"}", "FILE, line 1, column 11: job_id must be a string, not a number"),
        ("{\"job_id\":\"a\",\"prompt\":null}", "FILE, line 1, column 24: prompt must be a string, not null"),
        ("{\"job_id\":\"a\",\"prompt\":\"x\",\"key\":[]}", "FILE, line 1, column 34: key must be a string, not a list"),
        (
            "{\"job_id\":\"a\",\"prompt\":\"x\",\"keys\":\"m\"}",
            "FILE, line 1, column 29: unknown field \"keys\" (the nearest known one is key); the option extra (--extra) keeps it. The fields are job_id, prompt and key.",
        ),
        (
            "{\"job_id\":\"a\",\"prompt\":\"x\",\"prompt\":\"y\"}",
            "FILE, line 1, column 29: the field prompt occurs twice",
        ),
        (
            "{\"job_id\":\"a\",\"prompt\":\"x\",\"\\u0070rompt\":\"y\"}",
            "FILE, line 1, column 29: the field prompt occurs twice",
        ),
        (
            "{\"job_id\":\"a\",\"prompt\":\"\\ufffd\\ud83d\"}",
            "FILE, line 1, column 24: prompt contains a lone surrogate: an escape from \\ud800 to \\udfff without its pair",
        ),
        (
            "{\"job_id\":\"a\",\"prompt\":\"x\",\"key\":\"k\"}\n\n{\"job_id\":\"b\",\"prompt\":\"y\",\"key\":\"k\"}",
            "FILE, line 3: key \"k\" is also the key of line 1. Give each item its own key.",
        ),
        (
            &format!("{GOOD}1\n2\n"),
            "FILE, line 2: the line is a number (and 1 more wrong line). Write one JSON object per line, or one array of objects.",
        ),
        (
            &format!("{GOOD}1\n2\n{GOOD}{{}}\nx"),
            "FILE, line 2: the line is a number (and 3 more wrong lines). Write one JSON object per line, or one array of objects.",
        ),
    ];
    for (content, expected) in rows {
        assert_eq!(error(content.as_bytes(), ListFormat::Json), expected);
    }
}

#[test]
fn a_list_that_is_not_utf_8_is_refused() {
    let expected = "FILE, line 2, column 1: not valid UTF-8. Save the file as UTF-8.";
    assert_eq!(error(b"{\"job_id\":\"a\",\"prompt\":\"x\"}\n\xe9\n", ListFormat::Json), expected);
    let expected = "FILE, line 2, column 4: not valid UTF-8. Save the file as UTF-8.";
    assert_eq!(error(b"job_id,prompt\n\xc3\xa9a,\xe9\n", ListFormat::Csv), expected);
    let utf_16: Vec<u8> = format!("\u{feff}{GOOD}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    for utf_16 in [&utf_16[..], &utf_16[2..]] {
        let swapped: Vec<u8> = utf_16.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
        for format in [ListFormat::Json, ListFormat::Csv] {
            assert_eq!(error(utf_16, format), "FILE is UTF-16. Save it as UTF-8.");
            assert_eq!(error(&swapped, format), "FILE is UTF-16. Save it as UTF-8.");
        }
    }
}

#[test]
fn json_lines_may_have_blank_lines_other_line_ends_and_escapes() {
    let content = "\u{feff}{\"prompt\":\"x\",\"job_id\":\"a\"}\r\n\n\
        {\"job_id\":\"a\",\"prompt\":\"line\u{2028}end \\ud83d\\ude00 \\ufffd say \\\"prompt\\\"\",\"key\":null}\n\
        {\"job_id\":\"a\",\"prompt\":\"x\",\"key\":\"k\"}";
    let items = BatchItem::parse_list(content.as_bytes(), "FILE", &ListFormat::Json.into()).unwrap();
    let expected = [
        BatchItem::new("a", "x").with_line(1),
        BatchItem::new("a", "line\u{2028}end \u{1f600} \u{fffd} say \"prompt\"").with_line(3),
        BatchItem::new("a", "x").with_key("k").with_line(4),
    ];
    assert_eq!(items, expected);
}

#[test]
fn json_lines_of_joined_files_and_of_an_old_mac_are_read() {
    let joined = format!("\u{feff}{GOOD}\u{feff}{GOOD}\u{feff}");
    for content in [joined, GOOD.repeat(2).replace('\n', "\r")] {
        let items = BatchItem::parse_list(content.as_bytes(), "FILE", &ListFormat::Json.into()).unwrap();
        assert_eq!(items, [1, 2].map(|line| BatchItem::new("a", "x").with_line(line)), "{content:?}");
    }
}

#[test]
fn a_file_is_read_in_the_format_that_its_name_suggests() {
    let folder = std::env::temp_dir().join(format!("agentjob-list-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let read = |name: &str, options: &ListOptions| BatchItem::read_list(folder.join(name), options);
    let none = ListOptions::new();
    for (name, content) in [
        ("messages.csv", "job_id,prompt\na,x\n"),
        ("MESSAGES.CSV", "job_id,prompt\na,x\n"),
        ("messages.tsv", "job_id\tprompt\na\tx\n"),
        ("messages.json", "[\n{\"job_id\":\"a\",\"prompt\":\"x\"}]"),
        ("messages.jsonl", "\n{\"job_id\":\"a\",\"prompt\":\"x\"}"),
    ] {
        fs::write(folder.join(name), content).unwrap();
        assert_eq!(read(name, &none).unwrap(), [BatchItem::new("a", "x").with_line(2)], "{name}");
    }
    fs::write(folder.join("messages.txt"), "job_id,prompt\na,x\n").unwrap();
    assert!(read("messages.txt", &none).is_err(), "anything else is read as JSON");
    assert!(read("messages.txt", &ListFormat::Csv.into()).is_ok());
    let missing = folder.join("missing\n.jsonl");
    let error = BatchItem::read_list(&missing, &none).unwrap_err();
    let name = folder.join("missing\\n.jsonl");
    let why = fs::read(&missing).unwrap_err();
    assert_eq!(error.message(), format!("{} cannot be read ({why})", name.display()));
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_hundred_thousand_lines_are_read() {
    let line = |n| format!("{{\"job_id\":\"job_{n}\",\"prompt\":\"Añade pruebas\",\"key\":\"k{n}\"}}\n");
    let content: String = (0..100_000).map(line).collect();
    assert_eq!(BatchItem::parse_list(content.as_bytes(), "FILE", &ListFormat::Json.into()).unwrap().len(), 100_000);
}

#[test]
fn a_list_without_a_header_or_with_swapped_columns_quotes_no_prompt() {
    let prompt = "My secret\tprompt";
    let swapped_json = r#"{"job_id":"My secret\tprompt","prompt":"job_1"}"#;
    for (content, format) in [
        (r#"{"My secret prompt":"job_1"}"#.to_owned(), ListFormat::Json),
        (r#"{"job_id":"a","My secret prompt":"x","My secret prompt":"x"}"#.to_owned(), ListFormat::Json),
        (r#"[{"job_id":"a","prompt":"My secret prompt"#.to_owned(), ListFormat::Json),
        (r#"["My secret prompt"]"#.to_owned(), ListFormat::Json),
        (format!("{prompt}\tjob_1\n"), ListFormat::Tsv),
        (format!("job_id,prompt\njob_1,\"{prompt}\n"), ListFormat::Csv),
        (format!("job_1,{prompt}\njob_2,x\n"), ListFormat::Csv),
        (format!("job_id,prompt\n{prompt},job_1\n"), ListFormat::Csv),
        (swapped_json.to_owned(), ListFormat::Json),
    ] {
        let text = error(content.as_bytes(), format);
        assert!(!text.contains("secret"), "{text}");
    }
}

#[test]
fn bytes_that_are_not_utf_8_are_named_by_their_line_whatever_ends_the_lines() {
    for ends in ["\n", "\r\n", "\r"] {
        let content = [format!("job_id,prompt{ends}a,x{ends}b,").as_bytes(), b"\xff\n"].concat();
        assert!(error(&content, ListFormat::Csv).starts_with("FILE, line 3, column 3: not valid UTF-8"));
    }
}

#[test]
fn an_array_is_read_like_lines_of_json() {
    let content = "\u{feff}\n[ {\"job_id\":\"a\",\n\"prompt\":\"x\"},\r\n  {\"key\":\"k\",\"prompt\":\"[y,]\",\"job_id\":\"b\"} ]\n";
    let items = BatchItem::parse_list(content.as_bytes(), "FILE", &ListFormat::Json.into()).unwrap();
    let expected = [BatchItem::new("a", "x").with_line(2), BatchItem::new("b", "[y,]").with_key("k").with_line(4)];
    assert_eq!(items, expected);
}

#[test]
fn what_is_wrong_in_an_array_is_named_by_its_line_and_column() {
    let rows = [
        ("[]", "FILE contains no messages"),
        (
            "[\n  {\"job_id\":\"é\",\"prompt\":7},\n  8]",
            "FILE, line 2, column 26: prompt must be a string, not a number (and 1 more wrong line)",
        ),
        (
            "[{\"job_id\":\"a\",\"prompt\":\"x\"},\n\n  [1]]",
            "FILE, line 3, column 3: the array has a list. Write one JSON object per message.",
        ),
        ("[\n{\"job_id\":\"a\"\n\"prompt\"", "FILE, line 3, column 1: not JSON: expected `,` or `}`"),
        ("[{\"job_id\":\"a\"},\n", "FILE, line 1, column 17: not JSON: the list ends too early"),
        ("[{\"job_id\":\"a\"}]\n{}", "FILE, line 2, column 1: not JSON: trailing characters"),
        (
            "[\n{\"job_id\":\"a\",\"prompt\":\"x\",\"key\":\"k\"},\n{\"job_id\":\"a\",\"prompt\":\"y\",\"key\":\"k\"}]",
            "FILE, line 3: key \"k\" is also the key of line 2. Give each item its own key.",
        ),
    ];
    for (content, expected) in rows {
        assert_eq!(error(content.as_bytes(), ListFormat::Json), expected);
    }
}

#[test]
fn a_hundred_thousand_items_in_one_line_are_read() {
    let items: Vec<String> = (0..100_000).map(|n| format!("{{\"job_id\":\"job_{n}\",\"prompt\":\"x\"}}")).collect();
    let content = format!("[{}]", items.join(","));
    let items = BatchItem::parse_list(content.as_bytes(), "FILE", &ListFormat::Json.into()).unwrap();
    assert_eq!((items.len(), items[99_999].job_id(), items[99_999].line()), (100_000, "job_99999", Some(1)));
}

#[test]
fn other_columns_are_kept_if_the_options_say_so() {
    let extra = |content: &str, format: ListFormat| -> Vec<Option<String>> {
        let options = ListOptions::new().format(format).extra(true);
        let items = BatchItem::parse_list(content.as_bytes(), "FILE", &options).unwrap();
        items.iter().map(|item| item.extra().map(str::to_owned)).collect()
    };
    let csv = "repo,job_id,\"due \"\"by\"\"\",prompt,key\nweb,a,\"1\n2\",x,\n,b,,y,k\n";
    let expected = [r#"{"repo":"web","due \"by\"":"1\n2"}"#, r#"{"repo":"","due \"by\"":""}"#];
    assert_eq!(extra(csv, ListFormat::Csv), expected.map(|json| Some(json.to_owned())));
    let tsv = "job_id\tprompt\trepo\na\tx\t\"w, 1\"\n";
    assert_eq!(extra(tsv, ListFormat::Tsv), [Some(r#"{"repo":"w, 1"}"#.to_owned())]);
    let json = r#"{"job_id":"a","n": 1.50, "tags" : ["x", {"y":null}],"prompt":"x"}
        {"job_id":"b","prompt":"y"}"#;
    let expected = [Some(r#"{"n":1.50,"tags":["x",{"y":null}]}"#.to_owned()), None];
    assert_eq!(extra(json, ListFormat::Json), expected);
    assert_eq!(extra("job_id,prompt\na,x\n", ListFormat::Csv), [None]);
}

#[test]
fn other_columns_with_too_much_text_or_two_of_one_name_are_refused() {
    let error = |content: &str| {
        let options = ListOptions::new().extra(true);
        BatchItem::parse_list(content.as_bytes(), "FILE.csv", &options).unwrap_err().message().to_owned()
    };
    let long = "x".repeat(5000);
    let expected = "FILE.csv, line 2: extra is 5011 bytes long. At most 4096 bytes of JSON are allowed.";
    assert_eq!(error(&format!("job_id,prompt,repo\na,x,{long}\n")), expected);
    assert!(error("job_id,repo,prompt,repo\na,1,x,2\n").contains("the header has the column \"repo\" twice"));
    let json = ListOptions::new().extra(true);
    let twice = br#"{"job_id":"a","prompt":"x","repo":1,"r\u0065po":2}"#;
    let error = BatchItem::parse_list(twice, "FILE", &json).unwrap_err();
    assert_eq!(error.message(), "FILE, line 1, column 38: a field occurs twice");
}

#[test]
fn a_second_column_that_differs_from_a_known_one_only_in_case_or_white_space_is_refused_also_with_others() {
    for (content, format, expected) in [
        ("job_id,prompt,Prompt\na,x,y\n", ListFormat::Csv, "line 1: the header has both \"prompt\" and \"Prompt\""),
        ("job_id,PROM PT,prompt\na,x,y\n", ListFormat::Csv, "line 1: the header has both \"prompt\" and \"PROM PT\""),
        (
            "job_id\tprompt\tkey\tKey\u{200b}\na\tx\t\tk\n",
            ListFormat::Tsv,
            "line 1: the header has both \"key\" and \"Key\\u{200b}\"",
        ),
        (
            r#"{"Prompt":"y","job_id":"a","prompt":"x"}"#,
            ListFormat::Json,
            "line 1, column 3: the object has both \"prompt\" and \"Prompt\"",
        ),
        (
            r#"[{"job_id":"a","prompt":"x","prompt\u00a0":"y"}]"#,
            ListFormat::Json,
            "line 1, column 30: the object has both \"prompt\" and \"prompt\\u{a0}\"",
        ),
    ] {
        for extra in [false, true] {
            let options = ListOptions::new().format(format).extra(extra);
            let error = BatchItem::parse_list(content.as_bytes(), "FILE", &options).unwrap_err();
            let expected = format!(
                "FILE, {expected}, which differ only in case, white space or invisible characters: rename or remove one"
            );
            assert!(error.message().starts_with(&expected), "{error}");
        }
    }
    // Two of the other columns are the program's own matter.
    let own = br#"{"job_id":"a","prompt":"x","ID":1,"id":2}"#;
    assert!(BatchItem::parse_list(own, "FILE", &ListOptions::new().extra(true)).is_ok());
}

#[test]
fn a_prompt_of_white_space_or_with_a_zero_byte_is_a_message_as_in_a_call() {
    for (content, prompt) in [
        (r#"{"job_id":"a","prompt":"  "}"#, "  "),
        (r#"{"job_id":"a","prompt":"\n"}"#, "\n"),
        (r#"{"job_id":"a","prompt":"x\u0000"}"#, "x\0"),
    ] {
        let items = BatchItem::parse_list(content.as_bytes(), "FILE", &ListFormat::Json.into()).unwrap();
        assert_eq!(items[0].prompt(), prompt);
        let call = Operation::SendMessage { job_id: "a", prompt: prompt.into() };
        assert!(call.check(usize::MAX).is_ok());
    }
}

#[test]
fn a_lone_surrogate_in_another_field_is_refused_where_the_option_keeps_it() {
    for other in [r#""n":{"m":["\ud800"]}"#, r#""n":{"\udc00":1}"#, r#""\ud800":1"#] {
        let content = format!(r#"{{"job_id":"a","prompt":"x",{other}}}"#);
        let error = BatchItem::parse_list(content.as_bytes(), "FILE", &ListOptions::new().extra(true)).unwrap_err();
        assert!(error.message().contains(": extra contains a lone surrogate"), "{other}: {error}");
    }
    let whole = br#"{"job_id":"a","prompt":"x","n":"\ud83d\ude00"}"#;
    assert!(BatchItem::parse_list(whole, "FILE", &ListOptions::new().extra(true)).is_ok());
}
