//! Decodes a line of the journal, and refuses one that was changed.

use std::borrow::Cow;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::batch::decisions::decision::Decision;
use crate::batch::journal::clock::Stamp;
use crate::batch::journal::digest::{Checksum, Digest, checksum};
use crate::batch::journal::line::{BEGINNING, Content, ItemRef, Line, RunHeader, SUM, VERSION};
use crate::batch::journal::reason::{Origin, Reason};
use crate::batch::pace::circuit_breaker::PauseReason;
use crate::delivery::Delivery;
use crate::error::ErrorKind;
use crate::timestamp::unix_ms;

/// The version of a journal that begins like this, if it isn't [`VERSION`].
pub(crate) fn other_version(beginning: &[u8]) -> Option<u64> {
    let (head, _) = BEGINNING.split_at(BEGINNING.len() - 2);
    let rest = beginning.strip_prefix(head.as_bytes())?;
    let digits = &rest[..rest.iter().position(|byte| *byte == b',')?];
    std::str::from_utf8(digits).ok()?.parse().ok().filter(|version| *version != VERSION)
}

/// Decodes one line, without its end.
///
/// # Errors
/// A clause that says what is wrong with the line.
pub(crate) fn decode(line: &str) -> Result<Line<'_>, &'static str> {
    let (body, sum) = line.rsplit_once(SUM).ok_or("it has no checksum")?;
    let sum = sum.strip_suffix("\"}").ok_or("it has no checksum")?;
    if sum.as_bytes() != checksum(body.as_bytes()) {
        return Err("its checksum does not match its text");
    }
    let sum = Checksum::try_from(sum.as_bytes()).expect("it is as long as a checksum");
    let fields: Fields<'_> = serde_json::from_str(line).map_err(|_| "it is not a line of a journal")?;
    let stamp = fields.stamp().ok_or("a field is missing or wrong")?;
    let after = fields.after.clone();
    let content = fields.content().ok_or("a field is missing or wrong")?;
    Ok(Line { stamp, content, sum, after })
}

/// The fields of every kind of line. Each kind has some of them.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    line: Cow<'a, str>,
    #[serde(borrow)]
    at: Cow<'a, str>,
    up_ms: u64,
    #[serde(borrow)]
    after: Cow<'a, str>,
    key: Option<Digest>,
    item: Option<u64>,
    prompt: Option<Digest>,
    job_id: Option<Cow<'a, str>>,
    own_key: Option<Cow<'a, str>>,
    decision: Option<Box<str>>,
    new_prompt: Option<Digest>,
    new_id: Option<Digest>,
    #[serde(borrow)]
    job: Option<&'a RawValue>,
    #[serde(borrow)]
    poller: Option<&'a RawValue>,
    error: Option<ReasonFields>,
    retry_after_ms: Option<u64>,
    journal: Option<u64>,
    base_url: Option<Cow<'a, str>>,
    project_id: Option<Cow<'a, str>>,
    boot: Option<Cow<'a, str>>,
    pid: Option<u32>,
    items: Option<u64>,
    rate: Option<Cow<'a, str>>,
    wait: Option<bool>,
    from: Option<u64>,
    /// A list in `numbers`, how many there are in `run`.
    #[serde(borrow)]
    numbers: Option<&'a RawValue>,
    reason: Option<Box<str>>,
    pause_ms: Option<u64>,
    bytes: Option<u64>,
    of: Option<Cow<'a, str>>,
}

/// Why a message was not accepted.
#[derive(Deserialize)]
struct ReasonFields {
    kind: Box<str>,
    origin: Option<Box<str>>,
    http_status: Option<u16>,
    request_id: Option<Box<str>>,
}

impl<'a> Fields<'a> {
    fn stamp(&self) -> Option<Stamp> {
        Some(Stamp { unix_ms: u64::try_from(unix_ms(&self.at)?).ok()?, up_ms: self.up_ms })
    }

    fn item(&self) -> Option<ItemRef> {
        Some(ItemRef { id: self.key?, number: self.item? })
    }

    fn content(self) -> Option<Content<'a>> {
        Some(match &*self.line {
            "run" if self.journal == Some(VERSION) => Content::Run(RunHeader {
                base_url: self.base_url?,
                project_id: self.project_id?,
                boot: self.boot,
                pid: self.pid?,
                items: self.items?,
                rate: self.rate,
                wait: self.wait?,
                numbers: match self.numbers {
                    Some(count) => count.get().parse().ok()?,
                    None => 0,
                },
            }),
            "numbers" => {
                Content::Numbers { from: self.from?, numbers: serde_json::from_str(self.numbers?.get()).ok()? }
            }
            "sending" => Content::Sending {
                item: self.item()?,
                prompt: self.prompt?,
                job_id: self.job_id?,
                own_key: self.own_key,
            },
            "decided" => Content::Decided {
                item: self.item()?,
                decision: Decision::from_name(&self.decision?)?,
                new_prompt: self.new_prompt,
                new_id: self.new_id,
            },
            "waiting" => Content::Waiting { item: self.item()?, poller: self.poller?.get() },
            "finished" => Content::Finished { item: self.item()?, job: self.job.map(RawValue::get) },
            "paused" => Content::Paused { reason: PauseReason::from_name(&self.reason?)?, pause_ms: self.pause_ms? },
            "recovered" => Content::Recovered { bytes: self.bytes?, of: self.of? },
            name => Content::Ended {
                item: self.item()?,
                delivery: Delivery::ALL.into_iter().find(|delivery| delivery.as_str() == name)?,
                job: self.job.map(RawValue::get),
                poller: self.poller.map(RawValue::get),
                error: match self.error {
                    Some(error) => Some(error.reason()?),
                    None => None,
                },
                retry_after: self.retry_after_ms.map(Duration::from_millis),
            },
        })
    }
}

impl ReasonFields {
    fn reason(self) -> Option<Reason> {
        Some(Reason {
            origin: self.origin.map_or(Some(Origin::Request), |origin| Origin::from_name(&origin))?,
            kind: ErrorKind::ALL.into_iter().find(|known| known.as_str() == &*self.kind)?,
            http_status: self.http_status,
            request_id: self.request_id,
        })
    }
}

/// Reads what [`reason_fields`](crate::batch::journal::encode::LineWriter::reason_fields) wrote.
pub(crate) fn decode_reason(json: &str) -> Option<Reason> {
    serde_json::from_str::<ReasonFields>(json).ok()?.reason()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::journal::encode::LineWriter;
    use crate::batch::journal::line::NO_LINE;
    use crate::batch::journal::line::SENDING;

    const AT: Stamp = Stamp { unix_ms: 1_767_323_045_678, up_ms: 12 };

    fn sending() -> String {
        let id = Digest::of(&[b"key"]).to_string();
        let writer = LineWriter::new("sending").text("key", &id).number("item", 17).text("prompt", &id);
        writer.text("job_id", "job \"1\"").stamp(AT).finish(&NO_LINE).0
    }

    #[test]
    fn a_line_is_decoded_as_it_was_written() {
        let text = sending();
        assert!(text.starts_with(&format!("{SENDING}\"key\":\"")), "{text}");
        let end = r#""item":17,"#;
        assert!(text.contains(end), "{text}");
        let end = r#""at":"2026-01-02T03:04:05.678Z","up_ms":12,"after":"00000000","sum":""#;
        assert!(text.contains(end), "{text}");
        let line = decode(text.trim_end()).unwrap();
        assert!(line.follows(&NO_LINE) && !line.follows(&line.sum));
        let (next, _) = LineWriter::new("paused")
            .text("reason", "service_failure")
            .number("pause_ms", 1)
            .stamp(AT)
            .finish(&line.sum);
        assert!(decode(next.trim_end()).unwrap().follows(&line.sum));
        assert_eq!(line.stamp, AT);
        let Content::Sending { item, prompt, job_id, .. } = line.content else { panic!("{:?}", line.content) };
        assert_eq!((item.number, item.id, &*job_id), (17, prompt, "job \"1\""));
    }

    #[test]
    fn a_line_that_was_changed_is_refused() {
        let text = sending();
        let text = text.trim_end();
        for at in 0..text.len() {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] ^= 1;
            if let Ok(touched) = String::from_utf8(bytes) {
                assert!(decode(&touched).is_err(), "{touched}");
            }
            assert!(decode(&text[..at]).is_err(), "cut at {at}");
        }
    }

    fn run_of(version: u64) -> String {
        let writer = LineWriter::new("run").number("journal", version).text("base_url", "https://a.example");
        let writer = writer.text("project_id", "p").number("pid", 7).number("items", 2).json("wait", "true");
        writer.stamp(AT).finish(&NO_LINE).0
    }

    #[test]
    fn the_first_line_of_a_journal_says_whether_it_is_of_another_version() {
        assert!(run_of(VERSION).starts_with(BEGINNING));
        for (version, other) in [(VERSION, None), (0, Some(0)), (VERSION + 1, Some(VERSION + 1)), (123, Some(123))] {
            assert_eq!(other_version(run_of(version).as_bytes()), other, "{version}");
        }
        for text in
            ["", "{", r#"{"line":"run","journal":"#, r#"{"line":"run","journal":7"#, r#"{"line":"run","journal":x,"#]
        {
            assert_eq!(other_version(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_line_of_another_kind_or_version_is_refused() {
        let run = run_of(VERSION);
        let Content::Run(run) = decode(run.trim_end()).unwrap().content else { panic!("it is a run's line") };
        assert_eq!((&*run.base_url, run.items, run.wait), ("https://a.example", 2, true));
        for text in [
            LineWriter::new("sent").stamp(AT).finish(&NO_LINE).0,
            LineWriter::new("accepted").stamp(AT).finish(&NO_LINE).0,
            run_of(VERSION + 1),
        ] {
            assert!(decode(text.trim_end()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_reason_is_decoded_as_it_was_written() {
        let id = Digest::of(&[b"key"]).to_string();
        let request = Reason {
            origin: Origin::Request,
            kind: ErrorKind::NotFound,
            http_status: Some(404),
            request_id: Some("req_1".into()),
        };
        for reason in [request, Reason::not_noted()] {
            let line = LineWriter::new("rejected").number("item", 1).text("key", &id);
            let (text, _) = line.reason(&reason, reason.request_id.as_deref()).stamp(AT).finish(&NO_LINE);
            let Content::Ended { delivery, error, .. } = decode(text.trim_end()).unwrap().content else { panic!() };
            assert_eq!((delivery, error), (Delivery::Rejected, Some(reason)));
        }
    }

    #[test]
    fn a_decision_is_decoded_as_it_was_written() {
        let id = Digest::of(&[b"key"]);
        for decision in Decision::ALL {
            for new in [None, Some(Digest::of(&[b"prompt"]))] {
                let item = ItemRef { id, number: 7 };
                let new_id = new.map(|_| id);
                let writer = crate::batch::journal::item_lines::decided(item, decision, new, new_id, AT);
                let (text, _) = writer.finish(&NO_LINE);
                let Content::Decided { item: read, decision: decoded, new_prompt, new_id } =
                    decode(text.trim_end()).unwrap().content
                else {
                    panic!("{text}")
                };
                assert_eq!((read, decoded, new_prompt, new_id), (item, decision, new, new.map(|_| id)));
            }
        }
    }
}
