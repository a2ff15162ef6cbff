//! The end of a journal that a crash leaves: the beginning of a line, and zeros where the disk was not written. It was never synced, so
//! nothing that it was about has happened. Pure.

use std::borrow::Cow;

use serde::Deserialize;

use crate::batch::journal::digest::Digest;
use crate::batch::journal::line::{Content, ItemRef, RECOVERED, SENDING, SUM};

/// How every line begins.
const LINE: &str = r#"{"line":""#;
/// How many bytes a line has from [`SUM`] on, without its newline.
const SUM_BYTES: usize = SUM.len() + 18;

/// The end of a journal: its last line, which can't be decoded.
#[derive(Debug)]
pub(crate) struct DamagedTail {
    /// The number of that line.
    pub(crate) number: u64,
    pub(crate) bytes: Vec<u8>,
}

/// The fields of a line `sending` up to the time when it was written.
#[derive(Deserialize)]
struct Named<'a> {
    key: Digest,
    item: u64,
    prompt: Digest,
    #[serde(borrow)]
    job_id: Cow<'a, str>,
    own_key: Option<Cow<'a, str>>,
}

impl DamagedTail {
    /// None if a crash can't have left this. A run that continues writes `recovered` behind the tail and a zero: if it is killed
    /// meanwhile, the beginning of that line is part of the tail.
    pub(crate) fn new(number: u64, bytes: &[u8]) -> Option<DamagedTail> {
        let mut written = bytes.split(|byte| *byte == 0);
        let is_crash =
            written.next().is_some_and(|line| is_cut(line, LINE)) && written.all(|line| is_cut(line, RECOVERED));
        is_crash.then(|| DamagedTail { number, bytes: bytes.to_vec() })
    }

    /// The message of a line `sending` that still names it. It never left, unless the line was cut off after it was synced, which can't
    /// be seen: so it counts as a message that was about to be sent.
    pub(crate) fn message(&self) -> Option<Content<'static>> {
        let text = String::from_utf8_lossy(&self.bytes);
        let (fields, _) = text.split_once(r#","at":""#).filter(|_| text.starts_with(SENDING))?;
        let closed = format!("{fields}}}");
        let Named { key, item, prompt, job_id, own_key } = serde_json::from_str(&closed).ok()?;
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        let item = ItemRef { id: key, number: item };
        Some(Content::Sending { item, prompt, job_id: owned(job_id), own_key: own_key.map(owned) })
    }
}

/// Whether it begins like this, or is the beginning of this, and has no line's end in it.
fn is_cut(line: &[u8], beginning: &str) -> bool {
    let is_sum = |bytes: &[u8]| bytes.starts_with(SUM.as_bytes()) && bytes.ends_with(b"\"}");
    let begins = line.starts_with(beginning.as_bytes()) || beginning.as_bytes().starts_with(line);
    begins && !line.windows(SUM_BYTES).any(is_sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_crash_leaves_is_a_damaged_tail() {
        let key = "0123456789abcdef".repeat(2);
        let named = format!(
            r#"{SENDING}"key":"{key}","item":3,"prompt":"{key}","job_id":"j\",\"at\":\"","at":"2026-01-01T00:00:00.000Z"{SUM}0123456789abcdef""#
        );
        let recovering = format!("{}\0{RECOVERED}\"bytes\":200,\"of\":\"ab\",\"at\":\"2026", &named[..150]);
        let whole = format!("{named}}}");
        let glued = format!("{whole}{{\"li");
        let braced = format!(r#"{SENDING}"key":"{key}","item":3,"prompt":"{key}","job_id":"looks closed\"}}"#);
        let rows: [(&str, &[u8], bool); 14] = [
            ("its job's id ends like a line", braced.as_bytes(), true),
            ("only its checksum's end is cut off", named.as_bytes(), true),
            ("it is whole", whole.as_bytes(), false),
            ("it is whole, and something is behind it", glued.as_bytes(), false),
            ("its first byte", b"{", true),
            ("a part of its kind", br#"{"line":"sen"#, true),
            ("zeros behind it", b"{\"line\":\"sending\",\"k\0\0\0", true),
            ("only zeros", &[0; 4000], true),
            ("no line", b"what is this?", false),
            ("a newline", b"\n", false),
            ("something behind the zeros", b"{\"line\":\"\0\0\"item\":3", false),
            ("a run was killed while it continued", recovering.as_bytes(), true),
            ("the same behind zeros", b"\0\0\0{\"line\":\"recovered\",\"bytes\":3\0\0{\"li", true),
            ("a line behind zeros", b"\0\0\0{\"line\":\"sending\",", false),
        ];
        for (what, bytes, is_tail) in rows {
            assert_eq!(DamagedTail::new(7, bytes).is_some(), is_tail, "{what}");
        }
        let message = |bytes: &str| DamagedTail::new(7, bytes.as_bytes()).unwrap().message();
        let at = named.find(r#","at":""#).unwrap() + 7;
        let Some(Content::Sending { item, job_id, .. }) = message(&named[..at]) else { panic!("it names its message") };
        assert_eq!((item.number, &*job_id), (3, "j\",\"at\":\""));
        for cut in 0..at {
            assert!(message(&named[..cut]).is_none(), "cut at {cut}");
            let recovering = format!("{}\0{RECOVERED}\"bytes\":7,\"of\":\"ab\",\"at\":\"2026\"", &named[..cut]);
            assert!(message(&recovering).is_none(), "cut at {cut}, and continued behind");
        }
        let accepted = named.replace("sending", "accepted");
        assert!(message(&accepted).is_none(), "only a line `sending` says that a message may have left");
    }
}
