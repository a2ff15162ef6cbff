//! Every way in which a list with a header can be wrong, and what a spreadsheet adds to one.

use crate::batch::item::BatchItem;
use crate::batch::list::options::{ListFormat, ListOptions};

const COLUMNS: &str = ". The columns are job_id, prompt and, optionally, key, separated by commas.";

fn error(content: &[u8], format: ListFormat) -> String {
    let error = BatchItem::parse_list(content, "FILE", &format.into()).unwrap_err();
    assert!(!error.message().contains('\n'), "{error}");
    error.message().to_owned()
}

#[test]
fn a_wrong_line_of_csv_is_named_with_what_is_wrong() {
    let rows = [
        ("", "FILE contains no messages".to_owned()),
        ("job_id,prompt\n", "FILE contains no messages".to_owned()),
        ("a,x\n", format!("FILE, line 1: there is no column job_id; the first line must be the header{COLUMNS}")),
        (
            "job_id;prompt\na;x\n",
            "FILE, line 1: there is no column job_id; the first line must be the header. Its columns are separated by semicolons: \
            save the list with commas."
                .to_owned(),
        ),
        (
            "key\tjob_id\tprompt\nk\ta\tx\n",
            "FILE, line 1: there is no column job_id; the first line must be the header. Its columns are separated by tabs: give the \
            format tsv (--format tsv)."
                .to_owned(),
        ),
        (
            "job_id,message\na,x\n",
            format!("FILE, line 1: there is no column prompt; the first line must be the header{COLUMNS}"),
        ),
        (
            "Job ID,prompt\na,x\n",
            format!("FILE, line 1: there is no column job_id, but one called \"Job ID\"{COLUMNS}"),
        ),
        (
            "job_id,prompt,keys\n",
            format!(
                "FILE, line 1: the header has an unknown column \"keys\" (the nearest known one is key); the option \
                extra (--extra) keeps it{COLUMNS}"
            ),
        ),
        ("job_id,prompt,prompt\n", format!("FILE, line 1: the header has the column \"prompt\" twice{COLUMNS}")),
        ("job_id,prompt\na,\"x\ny\"\n\nb\n", "FILE, line 5: the line has 1 field, but the header has 2".to_owned()),
        ("job_id,prompt\na,x,y\n", "FILE, line 2: the line has 3 fields, but the header has 2".to_owned()),
        ("job_id,prompt\n\"a b\",\n", "FILE, line 2: prompt is empty. Give at least one character.".to_owned()),
        (
            "job_id,prompt\n,x\nb,\n",
            "FILE, line 2: job_id is empty (and 1 more wrong line). Give the id as the service shows it.".to_owned(),
        ),
        (
            "job_id,prompt\na,x\nb,\"x\ny\n",
            "FILE, line 3, column 3: a quoted field begins here and is never closed".to_owned(),
        ),
        (
            "job_id,prompt\na,\"x\"y\n",
            "FILE, line 2, column 6: text follows a closing quote; write a quote inside a quoted field as \"\""
                .to_owned(),
        ),
        (
            "job_id,prompt\njob_1, \"Fix it\"\n",
            "FILE, line 2, column 8: a quote is inside a field that does not begin with one; quote the whole field, without a space \
            before it, and write a quote inside it as \"\""
                .to_owned(),
        ),
        (
            "job_id,prompt\n a,x\nb,x\n",
            "FILE, line 2: job_id begins with white space (U+0020). Give the id as the service shows it.".to_owned(),
        ),
        (
            "job_id,prompt,key\na,x,k\u{a0}\n",
            "FILE, line 2: key ends with white space (U+00A0). Give the key without it.".to_owned(),
        ),
        (
            "job_id,prompt,,\na,x,,\n,y,,\n",
            "FILE, line 3: job_id is empty. Give the id as the service shows it.".to_owned(),
        ),
        (
            "job_id,prompt,,\na,x,please,\n",
            "FILE, line 2: the line has text in column 3, for which the header has no name. Quote a field that contains the separator."
                .to_owned(),
        ),
        ("job_id,prompt,,\na,x,\n", "FILE, line 2: the line has 3 fields, but the header has 2".to_owned()),
        (
            ",job_id,prompt\n0,a,x\n",
            format!("FILE, line 1: column 1 of the header has no name; the option extra (--extra) keeps it{COLUMNS}"),
        ),
        (
            "job_id,prompt\na,x\njob_id, prompt\nb,y\n",
            "FILE, line 3: the line is the header again, probably because files were joined. Remove it.".to_owned(),
        ),
        (
            "job_id,prompt\na,x\n\u{feff}job_id,prompt\nb,y\n",
            "FILE, line 3, column 1: a byte order mark (U+FEFF) is before the line, probably because files were joined; remove it".to_owned(),
        ),
        (
            "sep=;\njob_id;prompt\na;x\n",
            "FILE, line 1: the columns are separated by ';'. Its columns are separated by semicolons: save the list with commas."
                .to_owned(),
        ),
        (
            "job_id,prompt\na,x\nb,\"y\0\"\n",
            "FILE, line 3, column 5: a zero byte, which no text has. The file may be damaged.".to_owned(),
        ),
        (
            "key,job_id,prompt\nk,a,x\n,a,x\n,a,x\nk,a,x\n",
            "FILE, line 5: key \"k\" is also the key of line 2. Give each item its own key.".to_owned(),
        ),
    ];
    for (content, expected) in rows {
        assert_eq!(error(content.as_bytes(), ListFormat::Csv), expected);
    }
}

#[test]
fn what_a_spreadsheet_adds_to_a_list_is_skipped() {
    let expected = [BatchItem::new("a", "x").with_line(2), BatchItem::new("b", "y, z").with_key("k").with_line(4)];
    for (content, first_line) in [
        ("job_id,prompt,key,,\na,x,,,\n,,,,\nb,\"y, z\",k,,\n,,,,\n,,,,\n", 0),
        ("job_id,prompt,key,\r\na,x,,\r\n,\r\nb,\"y, z\",k\r\n,,,,,,,\r\n", 0),
        (",,\njob_id,prompt,key\na,x,\n\nb,\"y, z\",k\n", 1),
        ("sep=,\njob_id,prompt,key\na,x,\n\nb,\"y, z\",k\n", 1),
        ("sep=,\rjob_id,prompt,key\ra,x,\r\rb,\"y, z\",k\r", 1),
    ] {
        for extra in [false, true] {
            let options = ListOptions::new().format(ListFormat::Csv).extra(extra);
            let items = BatchItem::parse_list(content.as_bytes(), "FILE", &options).unwrap();
            let expected: Vec<_> =
                expected.iter().map(|item| item.clone().with_line(item.line().unwrap() + first_line)).collect();
            assert_eq!(items, expected, "{content:?}");
        }
    }
}

#[test]
fn csv_may_have_any_order_of_columns_long_prompts_and_lines_in_quotes() {
    let long = "x".repeat(200_000);
    let content = format!("\u{feff}prompt, key ,job_id\r\n\"two\r\nlines, \"\"quoted\"\"\",,a\r\n\r\n{long},k,b\r\n");
    let items = BatchItem::parse_list(content.as_bytes(), "FILE", &ListFormat::Csv.into()).unwrap();
    let expected = [
        BatchItem::new("a", "two\r\nlines, \"quoted\"").with_line(2),
        BatchItem::new("b", long).with_key("k").with_line(5),
    ];
    assert_eq!(items, expected);
}
