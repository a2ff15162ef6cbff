//! A list of messages: lines of JSON against serde_json, CSV and TSV against the `csv` crate. Every plain list is taken.

use crate::{is_word, record};
use agentjob_core::{BatchItem, ListFormat, ListOptions};
use serde_json::{Map, Value};

/// The names that are not extra.
const KNOWN: [&str; 3] = ["job_id", "prompt", "key"];

pub fn check(data: &[u8]) {
    let Some((flags, content)) = data.split_first() else { return };
    let keeps_extra = flags & 4 == 4;
    let read = |format: ListFormat| {
        BatchItem::parse_list(content, "list", &ListOptions::new().format(format).extra(keeps_extra))
    };
    match flags & 3 {
        0 | 1 => match read(ListFormat::Json) {
            Ok(items) => json(content, &items, keeps_extra),
            Err(why) => assert!(!is_plain_json(content), "{why}"),
        },
        2 => match read(ListFormat::Csv) {
            Ok(items) => table(content, b',', &items, keeps_extra),
            Err(why) => assert!(!is_plain_table(content, ","), "{why}"),
        },
        _ => match read(ListFormat::Tsv) {
            Ok(items) => table(content, b'\t', &items, keeps_extra),
            Err(why) => assert!(!is_plain_table(content, "\t"), "{why}"),
        },
    }
}

/// Whether each line is an object with a job and a prompt that are words.
fn is_plain_json(content: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    !text.is_empty()
        && text.lines().all(|line| match serde_json::from_str(line) {
            Ok(Value::Object(object)) => {
                let is_a_word = |name: &str| object.get(name).and_then(Value::as_str).is_some_and(is_word);
                object.len() == 2 && is_a_word("job_id") && is_a_word("prompt") && line.matches(':').count() == 2
            }
            _ => false,
        })
}

/// Whether the columns are the job and the prompt, and each row has two words.
fn is_plain_table(content: &[u8], separator: &str) -> bool {
    let Ok(text) = std::str::from_utf8(content) else { return false };
    let mut rows = text.lines();
    let is_a_row = |row: &str| row.split_once(separator).is_some_and(|(job, prompt)| is_word(job) && is_word(prompt));
    rows.next() == Some(&["job_id", "prompt"].join(separator)) && rows.clone().next().is_some() && rows.all(is_a_row)
}

fn json(content: &[u8], items: &[BatchItem], keeps_extra: bool) {
    let text = std::str::from_utf8(content).expect("a list that was taken is UTF-8");
    // Each file of several that are one after the other may begin with the mark, and the first of them may have nothing else.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = format!("\n{text}").replace("\n\u{feff}", "\n");
    let values: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&text).into_iter().collect();
    let mut values = match values {
        Ok(values) => values,
        Err(error) => return assert!(record::theirs_is_stricter(&text, &error), "{text:?}: {error}"),
    };
    if let [Value::Array(all)] = &values[..] {
        values = all.clone();
    }
    assert_eq!(values.len(), items.len());
    for (value, item) in values.iter().zip(items) {
        assert_eq!(value["job_id"].as_str(), Some(item.job_id()));
        assert_eq!(value["prompt"].as_str(), Some(item.prompt()));
        assert_eq!(value["key"].as_str(), item.key());
        let mut others = value.as_object().expect("an item is an object").clone();
        others.retain(|name, _| !KNOWN.contains(&name.as_str()));
        same_extra(item, others, keeps_extra);
    }
}

fn same_extra(item: &BatchItem, others: Map<String, Value>, keeps_extra: bool) {
    assert!(others.is_empty() || keeps_extra);
    let extra = item.extra().map(|extra| serde_json::from_str::<Value>(extra).expect("extra is JSON"));
    assert_eq!(extra.unwrap_or_else(|| Map::new().into()), Value::Object(others));
}

fn table(content: &[u8], separator: u8, items: &[BatchItem], keeps_extra: bool) {
    let content = content.strip_prefix(b"\xef\xbb\xbf").unwrap_or(content);
    // A spreadsheet's line, which names the separator.
    let named = [b"sep=", &[separator][..]].concat();
    let content = content
        .strip_prefix(&named[..])
        .filter(|rest| rest.starts_with(b"\r") || rest.starts_with(b"\n"))
        .unwrap_or(content);
    let mut reader =
        csv::ReaderBuilder::new().delimiter(separator).flexible(true).has_headers(false).from_reader(content);
    let records: Vec<_> = reader.records().collect::<Result<_, _>>().expect("a list that was taken is UTF-8");
    // Ours skips rows of empty fields; theirs only empty lines.
    let mut records = records.iter().filter(|record| record.iter().any(|field| !field.is_empty()));
    let Some(names) = records.next() else { return };
    let named = (1..).zip(names).filter(|(_, name)| !name.trim().is_empty()).last().map_or(0, |(count, _)| count);
    let column = |name: &str| names.iter().position(|known| known.trim() == name);
    let records: Vec<_> = records.collect();
    assert_eq!(records.len(), items.len());
    for (record, item) in records.iter().zip(items) {
        assert!(record.iter().skip(named).all(str::is_empty), "no text is lost");
        let field = |name| column(name).and_then(|at| record.get(at));
        assert_eq!(field("job_id"), Some(item.job_id()));
        assert_eq!(field("prompt"), Some(item.prompt()));
        assert_eq!(field("key").filter(|key| !key.is_empty()), item.key());
        let others = names.iter().zip(record.iter()).take(named).map(|(name, text)| (name.trim(), text));
        let others = others.filter(|(name, _)| !KNOWN.contains(name));
        same_extra(item, others.map(|(name, text)| (name.to_owned(), text.into())).collect(), keeps_extra);
    }
}
