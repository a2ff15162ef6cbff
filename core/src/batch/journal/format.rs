//! The journal's lines as text: one JSON object a line. Its last field is a checksum of what stands before it, the one before that
//! is the beginning of the checksum of the line before: so no line can be damaged, taken out, doubled or moved unnoticed.

use std::borrow::Cow;
use std::time::Duration;

use crate::batch::journal::clock::Stamp;
use crate::batch::journal::digest::{Checksum, Digest, checksum};
use crate::batch::journal::reason::{Cause, Reason};
use crate::batch::pace::circuit_breaker::PauseReason;
use crate::delivery::Delivery;
use crate::error::ErrorKind;
use crate::timestamp::unix_ms;

/// The journal's format. One of another version is refused, not guessed at.
pub(crate) const VERSION: u64 = 2;
/// How every journal begins.
pub(crate) const BEGINNING: &str = r#"{"line":"run","journal":2,"#;
/// How the line of a message that is about to leave begins.
pub(crate) const SENDING: &str = r#"{"line":"sending","#;
/// What the first line names as the checksum of the line before it.
pub(crate) const NO_LINE: Checksum = *b"0000000000000000";
/// So much of that checksum is named.
pub(crate) const LINK: usize = 8;
pub(crate) const SUM: &str = r#","sum":""#;
pub(crate) const END: &str = "\"}\n";

/// A line of the journal.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) stamp: Stamp,
    pub(crate) said: Said<'a>,
    pub(crate) sum: Checksum,
    after: Cow<'a, str>,
}

impl Line<'_> {
    #[cfg(test)]
    pub(crate) fn of(stamp: Stamp, said: Said<'_>) -> Line<'_> {
        Line { stamp, said, sum: NO_LINE, after: Cow::Borrowed("") }
    }

    /// Whether it was written right behind the line with this checksum.
    pub(crate) fn follows(&self, before: &Checksum) -> bool {
        self.after.as_bytes() == &before[..LINK]
    }
}

/// What a line says.
#[derive(Debug)]
pub(crate) enum Said<'a> {
    /// A run began.
    Run(Run<'a>),
    /// A message is about to leave.
    Sending { item: Place, prompt: Digest, job_id: Cow<'a, str> },
    /// What became of it, with the job's record and, if its job is waited for, the wait's beginning; or with an error, and the
    /// time for which the service asked that nothing is sent.
    Ended {
        item: Place,
        delivery: Delivery,
        job: Option<&'a str>,
        poller: Option<&'a str>,
        error: Option<Reason>,
        retry_after: Option<Duration>,
    },
    /// A wait has seen its job at work.
    Waiting { item: Place, poller: &'a str },
    /// A wait's job is done.
    Finished { item: Place, job: &'a str },
    /// Nothing is sent for a while.
    Paused { reason: PauseReason, pause_ms: u64 },
    /// The bytes before it are damaged, and are passed over. These messages may have been about to leave.
    Recovered { bytes: u64, of: Cow<'a, str>, items: Vec<Begun> },
}

/// A message that may have been about to leave, as far as a damaged line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Begun {
    pub(crate) item: Place,
    pub(crate) prompt: Digest,
    pub(crate) job_id: Box<str>,
}

/// An item as the journal knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) id: Digest,
    /// Its place in the list when it was written, from 1: for people.
    pub(crate) number: u64,
}

/// What a run begins with.
#[derive(Debug)]
pub(crate) struct Run<'a> {
    pub(crate) base_url: Cow<'a, str>,
    pub(crate) project_id: Cow<'a, str>,
    pub(crate) boot: Option<Cow<'a, str>>,
    pub(crate) pid: u32,
    pub(crate) items: u64,
    pub(crate) concurrency: u64,
    pub(crate) rate: Option<Cow<'a, str>>,
    pub(crate) wait: bool,
}

/// The version of a journal that begins so, if it is another one than this.
pub(crate) fn other_version(beginning: &[u8]) -> Option<u64> {
    let (head, _) = BEGINNING.split_at(BEGINNING.len() - 2);
    let rest = beginning.strip_prefix(head.as_bytes())?;
    let digits = &rest[..rest.iter().position(|byte| *byte == b',')?];
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|version| *version != VERSION)
}

/// Reads one line, without its end, or says in a clause what is wrong with it.
pub(crate) fn read(line: &str) -> Result<Line<'_>, &'static str> {
    let (body, sum) = line.rsplit_once(SUM).ok_or("it has no checksum")?;
    let sum = sum.strip_suffix("\"}").ok_or("it has no checksum")?;
    if sum.as_bytes() != checksum(body.as_bytes()) {
        return Err("its checksum does not match its text");
    }
    let sum = Checksum::try_from(sum.as_bytes()).expect("it is as long as a checksum");
    let fields = Fields::of(line).ok_or("it is not a line of a journal")?;
    said(&fields, sum).ok_or("it lacks a field that its kind has")
}

fn said<'a>(fields: &Fields<'a>, sum: Checksum) -> Option<Line<'a>> {
    let unix_ms = u64::try_from(unix_ms(&fields.text("at")?)?).ok()?;
    let stamp = Stamp { unix_ms, up_ms: fields.number("up_ms")? };
    let digest = |name| Digest::from_hex(&fields.text(name)?);
    let item = || Some(Place { id: digest("key")?, number: fields.number("item")? });
    let said = match &*fields.text("line")? {
        "run" if fields.number("journal") == Some(VERSION) => Said::Run(Run {
            base_url: fields.text("base_url")?,
            project_id: fields.text("project_id")?,
            boot: fields.text("boot"),
            pid: u32::try_from(fields.number("pid")?).ok()?,
            items: fields.number("items")?,
            concurrency: fields.number("concurrency")?,
            rate: fields.text("rate"),
            wait: fields.json("wait")? == "true",
        }),
        "sending" => Said::Sending { item: item()?, prompt: digest("prompt")?, job_id: fields.text("job_id")? },
        "waiting" => Said::Waiting { item: item()?, poller: fields.json("poller")? },
        "finished" => Said::Finished { item: item()?, job: fields.json("job")? },
        "paused" => Said::Paused {
            reason: PauseReason::from_name(&fields.text("reason")?)?,
            pause_ms: fields.number("pause_ms")?,
        },
        "recovered" => Said::Recovered {
            bytes: fields.number("bytes")?,
            of: fields.text("of")?,
            items: read_begun(fields.json("items")?)?,
        },
        word => {
            let delivery = Delivery::ALL.into_iter().find(|delivery| delivery.as_str() == word)?;
            let error = match fields.json("error") {
                Some(error) => Some(read_reason(&Fields::of(error)?)?),
                None => None,
            };
            let (job, poller) = (fields.json("job"), fields.json("poller"));
            let retry_after = fields.number("retry_after_ms").map(Duration::from_millis);
            Said::Ended { item: item()?, delivery, job, poller, error, retry_after }
        }
    };
    Some(Line { stamp, said, sum, after: fields.text("after")? })
}

fn read_reason(fields: &Fields<'_>) -> Option<Reason> {
    let kind = fields.text("kind")?;
    Some(Reason {
        cause: fields.text("cause").map_or(Some(Cause::Request), |cause| Cause::from_name(&cause))?,
        kind: ErrorKind::ALL.into_iter().find(|known| known.as_str() == kind)?,
        http_status: fields.number("http_status").and_then(|status| u16::try_from(status).ok()),
        request_id: fields.text("request_id").map(Into::into),
    })
}

fn read_begun(json: &str) -> Option<Vec<Begun>> {
    let items: Vec<serde_json::Value> = serde_json::from_str(json).ok()?;
    let begun = |item: &serde_json::Value| {
        let digest = |name: &str| Digest::from_hex(item[name].as_str()?);
        let place = Place { id: digest("key")?, number: item["item"].as_u64()? };
        Some(Begun { item: place, prompt: digest("prompt")?, job_id: item["job_id"].as_str()?.into() })
    };
    items.iter().map(begun).collect()
}

/// The fields of an object, each as its JSON. A line's checksum says that we wrote it, so they need only be found, not judged;
/// what is no object of ours is none.
struct Fields<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Fields<'a> {
    fn of(object: &'a str) -> Option<Fields<'a>> {
        let mut rest = object.strip_prefix('{')?.strip_suffix('}')?;
        let mut found = Vec::with_capacity(12);
        loop {
            let (name, value) = rest.strip_prefix('"')?.split_once("\":")?;
            let end = value_end(value);
            found.push((name, &value[..end]));
            match value.as_bytes().get(end) {
                Some(_) => rest = &value[end + 1..],
                None => return Some(Fields(found)),
            }
        }
    }

    fn json(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, json)| *json)
    }

    fn text(&self, name: &str) -> Option<Cow<'a, str>> {
        let json = self.json(name)?;
        match json.contains('\\') {
            true => serde_json::from_str(json).ok().map(Cow::Owned),
            false => Some(Cow::Borrowed(json.strip_prefix('"')?.strip_suffix('"')?)),
        }
    }

    fn number(&self, name: &str) -> Option<u64> {
        self.json(name)?.parse().ok()
    }
}

/// Where a value ends: at a comma that is in none of its texts, objects and arrays, or with the text.
fn value_end(text: &str) -> usize {
    let (mut depth, mut in_text, mut escaped) = (0_u32, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::journal::encode::{Writer, begun_text};

    const AT: Stamp = Stamp { unix_ms: 1_767_323_045_678, up_ms: 12 };

    fn sending() -> String {
        let id = Digest::of(&[b"key"]).to_string();
        let writer = Writer::new("sending").text("key", &id).number("item", 17).text("prompt", &id);
        writer.text("job_id", "job \"1\"").stamp(AT).finish(&NO_LINE).0
    }

    #[test]
    fn a_line_is_read_back() {
        let text = sending();
        assert!(text.starts_with(&format!("{SENDING}\"key\":\"")), "{text}");
        let end = r#""item":17,"#;
        assert!(text.contains(end), "{text}");
        let end = r#""at":"2026-01-02T03:04:05.678Z","up_ms":12,"after":"00000000","sum":""#;
        assert!(text.contains(end), "{text}");
        let line = read(text.trim_end()).unwrap();
        assert!(line.follows(&NO_LINE) && !line.follows(&line.sum));
        let (next, _) =
            Writer::new("paused").text("reason", "service_failure").number("pause_ms", 1).stamp(AT).finish(&line.sum);
        assert!(read(next.trim_end()).unwrap().follows(&line.sum));
        assert_eq!(line.stamp, AT);
        let Said::Sending { item, prompt, job_id } = line.said else { panic!("{:?}", line.said) };
        assert_eq!((item.number, item.id, &*job_id), (17, prompt, "job \"1\""));
    }

    #[test]
    fn a_line_that_was_touched_is_not_read() {
        let text = sending();
        let text = text.trim_end();
        for at in 0..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] ^= 1;
            if let Ok(touched) = String::from_utf8(bytes) {
                assert!(read(&touched).is_err(), "{touched}");
            }
            assert!(read(&text[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn a_value_is_found_whatever_is_in_it() {
        let object = r#"{"a":"x,\"}{","b":{"c":[1,{"d":"],}"}],"e":"\\"},"f":17,"g":null}"#;
        let fields = Fields::of(object).unwrap();
        assert_eq!(fields.text("a").as_deref(), Some("x,\"}{"));
        assert_eq!(fields.json("b"), Some(r#"{"c":[1,{"d":"],}"}],"e":"\\"}"#));
        assert_eq!((fields.number("f"), fields.json("g"), fields.json("c")), (Some(17), Some("null"), None));
        for wrong in ["", "{}", "[]", r#"{"a"}"#, r#"{"a":1,}"#, r#"{a:1}"#, r#"{"a":1"#] {
            assert!(Fields::of(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_line_of_another_kind_or_version_is_not_guessed_at() {
        for text in [
            Writer::new("sent").stamp(AT).finish(&NO_LINE).0,
            Writer::new("accepted").stamp(AT).finish(&NO_LINE).0,
            Writer::new("run").number("journal", VERSION + 1).stamp(AT).finish(&NO_LINE).0,
        ] {
            assert!(read(text.trim_end()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_reason_is_read_back() {
        let id = Digest::of(&[b"key"]).to_string();
        let request = Reason {
            cause: Cause::Request,
            kind: ErrorKind::NotFound,
            http_status: Some(404),
            request_id: Some("req_1".into()),
        };
        for reason in [request, Reason::not_noted(Cause::RunEnded)] {
            let line = Writer::new("rejected").number("item", 1).text("key", &id);
            let (text, _) = line.reason(&reason, reason.request_id.as_deref()).stamp(AT).finish(&NO_LINE);
            let Said::Ended { delivery, error, .. } = read(text.trim_end()).unwrap().said else { panic!() };
            assert_eq!((delivery, error), (Delivery::Rejected, Some(reason)));
        }
    }

    #[test]
    fn what_was_recovered_is_read_back() {
        let id = Digest::of(&[b"key"]);
        let begun = |number| Begun { item: Place { id, number }, prompt: id, job_id: "job \"1\", {".into() };
        for items in [vec![], vec![begun(1)], vec![begun(1), begun(2)]] {
            let line = Writer::new("recovered").number("bytes", 7).text("of", "ab");
            let (text, _) = line.json("items", &begun_text(items.iter())).stamp(AT).finish(&NO_LINE);
            let Said::Recovered { bytes, of, items: read } = read(text.trim_end()).unwrap().said else { panic!() };
            assert_eq!((bytes, &*of, read), (7, "ab", items));
        }
    }
}
