//! What of the service's texts is stored in the journal. A record may quote a prompt or the API key anywhere, so only the
//! documented fields are stored, and each only if it is short, has plain characters, and has nothing in common with a prompt to
//! its job.

use crate::batch::item::{Planned, prompts_for_job};
use crate::batch::journal::encode::LineWriter;
use crate::job::{Job, JobStatus};

/// The longest of each, in bytes.
const MAX_URL: usize = 512;
const MAX_REF: usize = 255;
const MAX_NAME: usize = 128;
const MAX_MOMENT: usize = 40;
/// So many characters in a row are a quotation, as they are or with only the letters and digits of both texts.
const QUOTED: usize = 8;
/// How many bytes of prompts a text is compared with. For a job that has more, none of the service's texts is stored.
const MAX_COMPARED: usize = 256 << 10;

/// Decides what of a response is stored.
pub(crate) struct RecordFilter<'a> {
    items: &'a [Planned],
    at: usize,
    quotes_key: &'a dyn Fn(&str) -> bool,
}

impl<'a> RecordFilter<'a> {
    /// For responses about the item at this place. `quotes_key` says whether a text contains the API key.
    pub(crate) fn new(items: &'a [Planned], at: usize, quotes_key: &'a dyn Fn(&str) -> bool) -> RecordFilter<'a> {
        RecordFilter { items, at, quotes_key }
    }

    /// The documented fields of a record, without those that may not be stored. The id is the one that was requested.
    pub(crate) fn record(&self, job: &Job) -> String {
        let status = match job.status() {
            JobStatus::Other(_) => "other",
            known => known.as_str(),
        };
        let mut texts = [
            (job.source_repository(), MAX_URL, is_repository as fn(&str) -> bool),
            (job.source_ref(), MAX_REF, is_plain),
            (job.model(), MAX_NAME, is_plain),
            (job.pr_link(), MAX_URL, is_url),
            (job.created_at().filter(|_| job.created_at_unix_ms().is_some()), MAX_MOMENT, is_plain),
            (job.archived_at().filter(|_| job.archived_at_unix_ms().is_some()), MAX_MOMENT, is_plain),
        ]
        .map(|(text, longest, shape)| text.filter(|text| text.len() <= longest && shape(text)));
        self.without_quotations(&mut texts);
        let [repository, git_ref, model, pr_link, created_at, archived_at] = texts;
        let source = LineWriter::object("repository", repository).text_or_none("ref", git_ref).json_text();
        LineWriter::object("id", Some(self.items[self.at].job_id()))
            .text("status", status)
            .json("source", &source)
            .text_or_none("model", model)
            .text_or_none("prLink", pr_link)
            .text_or_none("createdAt", created_at)
            .text_or_none("archivedAt", archived_at)
            .json_text()
    }

    /// A name, such as a request's id or an item's key, if it may be stored.
    pub(crate) fn name<'t>(&self, id: Option<&'t str>) -> Option<&'t str> {
        let mut texts = [id.filter(|id| id.len() <= MAX_NAME && is_plain(id))];
        self.without_quotations(&mut texts);
        texts[0]
    }

    fn without_quotations(&self, texts: &mut [Option<&str>]) {
        for text in texts.iter_mut() {
            *text = text.filter(|text| !(self.quotes_key)(text));
        }
        if texts.iter().all(Option::is_none) {
            return;
        }
        let mut quoted = QuoteFinder::of(texts);
        let mut left = MAX_COMPARED;
        for prompt in prompts_for_job(self.items, self.at) {
            // A prompt that this run doesn't have can't be compared either.
            let fits = prompt.and_then(|prompt| Some((prompt, left.checked_sub(prompt.len())?)));
            let Some((prompt, rest)) = fits else {
                return texts.fill(None);
            };
            left = rest;
            let found = quoted.find(prompt);
            for (n, text) in texts.iter_mut().enumerate() {
                *text = text.filter(|_| found & 1 << n == 0);
            }
        }
    }
}

/// Finds quotations of a few texts in prompts, in any case and with any characters between the words.
struct QuoteFinder<'t> {
    texts: Vec<Option<&'t str>>,
    /// Each run of [`QUOTED`] characters, with a bit for each text that has it.
    windows: Vec<(u64, u8)>,
    are_sorted: bool,
    /// A Bloom filter of the windows: it rejects most windows of a prompt.
    filter: [u64; 256],
}

impl<'t> QuoteFinder<'t> {
    fn of(texts: &[Option<&'t str>]) -> QuoteFinder<'t> {
        let length = texts.iter().flatten().map(|text| text.len()).sum::<usize>();
        let (mut windows, mut filter) = (Vec::with_capacity(2 * length), [0; 256]);
        for (n, text) in texts.iter().enumerate() {
            each_window(text.unwrap_or_default(), |window| {
                windows.push((window, 1 << n));
                let (at, bit) = place(window);
                filter[at] |= bit;
            });
        }
        QuoteFinder { texts: texts.to_vec(), windows, are_sorted: false, filter }
    }

    /// The texts that the prompt shares a window with, a bit each.
    fn find(&mut self, prompt: &str) -> u8 {
        // A prompt that is shorter than a window has to be the whole text.
        let is_whole = |text: &str| words(text).next().is_some() && words(prompt).eq(words(text).take(QUOTED));
        let whole = self.texts.iter().enumerate().filter(|(_, text)| text.is_some_and(is_whole));
        let mut found = whole.map(|(n, _)| 1 << n).sum();
        each_window(prompt, |window| {
            let (at, bit) = place(window);
            if self.filter[at] & bit != 0 {
                found |= self.with_window(window);
            }
        });
        found
    }

    /// The texts that have this window, a bit each.
    fn with_window(&mut self, window: u64) -> u8 {
        if !self.are_sorted {
            self.windows.sort_unstable();
            self.are_sorted = true;
        }
        let first = self.windows.partition_point(|(known, _)| *known < window);
        let same = self.windows[first..].iter().take_while(|(known, _)| *known == window);
        same.fold(0, |found, (_, text)| found | text)
    }
}

fn lower(text: &str) -> impl Iterator<Item = u8> {
    text.bytes().map(|byte| byte.to_ascii_lowercase())
}

fn words(text: &str) -> impl Iterator<Item = u8> {
    lower(text).filter(u8::is_ascii_alphanumeric)
}

/// Each run of [`QUOTED`] bytes as a number: of the text in lower case, and of its letters and digits only.
fn each_window(text: &str, mut take: impl FnMut(u64)) {
    let (mut all, mut taken, mut of_words, mut in_words) = (0, 0, 0, 0);
    for byte in lower(text) {
        all = all << 8 | u64::from(byte);
        taken += 1;
        if taken >= QUOTED {
            take(all);
        }
        if byte.is_ascii_alphanumeric() {
            of_words = of_words << 8 | u64::from(byte);
            in_words += 1;
            // Without other characters between them, both are the same.
            if in_words >= QUOTED && of_words != all {
                take(of_words);
            }
        }
    }
}

/// A window's bit in the filter (Fibonacci hashing).
fn place(window: u64) -> (usize, u64) {
    let hash = window.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 50;
    ((hash >> 6) as usize, 1 << (hash & 63))
}

/// Letters, digits, and the separators of names, refs and URLs; nothing that escapes anything.
fn is_plain(text: &str) -> bool {
    let between = |byte| matches!(byte, b'.' | b'_' | b'/' | b':' | b'@' | b'+' | b'~' | b'-');
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || between(byte))
}

/// An absolute http URL of plain characters: no user, no query, no fragment, no escapes.
fn is_url(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| is_plain(rest) && !rest.starts_with(['/', ':']) && !rest.contains('@'))
        && text.parse::<ureq::http::Uri>().is_ok_and(|url| url.host().is_some())
}

/// A repository as a URL, or by its name as in `git@host:owner/name`.
fn is_repository(text: &str) -> bool {
    if text.contains("://") { is_url(text) } else { is_plain(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::item::{BatchItem, plan};

    const RECORD: &str = r#"{"id":"job_1","status":"active","source":{"repository":"https://example.com/r","ref":"main"},"model":"m-4","prLink":"https://example.com/r/pull/1","createdAt":"2026-01-02T03:04:05.678Z"}"#;

    fn items(prompts: &[&str]) -> Vec<Planned> {
        plan(prompts.iter().map(|prompt| BatchItem::new("job_1", *prompt)), 1 << 20).unwrap()
    }

    fn stored(prompts: &[&str], json: &str) -> String {
        let (items, job) = (items(prompts), Job::read(json.into()).unwrap());
        RecordFilter::new(&items, 0, &|text| text.contains("adm_marker")).record(&job)
    }

    #[test]
    fn the_documented_fields_of_an_ordinary_record_are_stored() {
        assert_eq!(stored(&["Add tests"], RECORD), RECORD);
        let more = RECORD.replace("\"model\"", "\"note\":\"anything\",\"model\"");
        assert_eq!(stored(&["Add tests"], &more), RECORD, "and no other");
        let bare = r#"{"id":"job_1","status":"completed","source":{}}"#;
        assert_eq!(stored(&["Add tests"], r#"{"id":"job_1","status":"completed","prLink":null,"model":7}"#), bare);
    }

    #[test]
    fn a_text_of_another_shape_is_not_stored() {
        let with = |field: &str, value: &str| {
            let value = serde_json::Value::from(value).to_string();
            let mut record: serde_json::Value = serde_json::from_str(RECORD).unwrap();
            record[field] = serde_json::from_str(&value).unwrap();
            serde_json::from_str::<serde_json::Value>(&stored(&["Add tests"], &record.to_string())).unwrap()
        };
        for link in [
            "javascript:alert(1)",
            "https://u:p@example.com/",
            "https://example.com/?q=1",
            "https://example.com/#f",
            "https://example.com/a%20b",
            "https:///x",
            "//example.com/1",
            "https://example.com/a b",
            &format!("https://example.com/{}", "x".repeat(500)),
        ] {
            assert_eq!(with("prLink", link)["prLink"], serde_json::Value::Null, "{link}");
        }
        assert_eq!(with("prLink", "http://127.0.0.1:8080/pull/7")["prLink"], "http://127.0.0.1:8080/pull/7");
        assert_eq!(with("model", "two words")["model"], serde_json::Value::Null);
        assert_eq!(with("model", &"m".repeat(129))["model"], serde_json::Value::Null);
        assert_eq!(with("model", "adm_marker")["model"], serde_json::Value::Null, "the key");
        assert_eq!(with("createdAt", "yesterday")["createdAt"], serde_json::Value::Null);
        assert_eq!(with("status", "paused by the operator")["status"], "other");
        assert_eq!(with("id", "another")["id"], "job_1");
    }

    #[test]
    fn a_text_that_shares_eight_characters_with_a_prompt_to_the_job_is_not_stored() {
        let link = |prompts: &[&str]| stored(prompts, RECORD).contains("prLink");
        assert!(link(&["Add tests", "See pull 1"]));
        for prompts in [
            &["Fix https://example.com/issues/7"][..],
            &["Add tests", "look at EXAMPLE.COM"],
            &["ex-ample com slash r"],
            &["ple.com/r/p"],
            &[&"long ".repeat(60 << 10)],
        ] {
            assert!(!link(prompts), "{:.40}", prompts[0]);
        }
        assert!(!stored(&["m4"], RECORD).contains("model"), "a short prompt, whole");
        assert!(stored(&["4"], RECORD).contains("model"));
    }
}
