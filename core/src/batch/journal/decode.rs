//! Decodes a line of the journal, and refuses one that was changed.

use std::time::Duration;

use crate::batch::journal::clock::Stamp;
use crate::batch::journal::digest::{Checksum, Digest, checksum};
use crate::batch::journal::fields::Fields;
use crate::batch::journal::line::{BEGINNING, Content, ItemRef, Line, MessageRef, RunHeader, SUM, VERSION};
use crate::batch::journal::reason::{Cause, Reason};
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
    let fields = Fields::of(line).ok_or("it is not a line of a journal")?;
    decode_fields(&fields, sum).ok_or("a field is missing or wrong")
}

fn decode_fields<'a>(fields: &Fields<'a>, sum: Checksum) -> Option<Line<'a>> {
    let unix_ms = u64::try_from(unix_ms(&fields.text("at")?)?).ok()?;
    let stamp = Stamp { unix_ms, up_ms: fields.number("up_ms")? };
    let digest = |name| Digest::from_hex(&fields.text(name)?);
    let item = || Some(ItemRef { id: digest("key")?, number: fields.number("item")? });
    let content = match &*fields.text("line")? {
        "run" if fields.number("journal") == Some(VERSION) => Content::Run(RunHeader {
            base_url: fields.text("base_url")?,
            project_id: fields.text("project_id")?,
            boot: fields.text("boot"),
            pid: u32::try_from(fields.number("pid")?).ok()?,
            items: fields.number("items")?,
            concurrency: fields.number("concurrency")?,
            rate: fields.text("rate"),
            wait: fields.json("wait")? == "true",
        }),
        "sending" => Content::Sending { item: item()?, prompt: digest("prompt")?, job_id: fields.text("job_id")? },
        "waiting" => Content::Waiting { item: item()?, poller: fields.json("poller")? },
        "finished" => Content::Finished { item: item()?, job: fields.json("job")? },
        "paused" => Content::Paused {
            reason: PauseReason::from_name(&fields.text("reason")?)?,
            pause_ms: fields.number("pause_ms")?,
        },
        "recovered" => Content::Recovered {
            bytes: fields.number("bytes")?,
            of: fields.text("of")?,
            items: decode_messages(fields.json("items")?)?,
        },
        word => {
            let delivery = Delivery::ALL.into_iter().find(|delivery| delivery.as_str() == word)?;
            let error = match fields.json("error") {
                Some(error) => Some(decode_reason(&Fields::of(error)?)?),
                None => None,
            };
            let (job, poller) = (fields.json("job"), fields.json("poller"));
            let retry_after = fields.number("retry_after_ms").map(Duration::from_millis);
            Content::Ended { item: item()?, delivery, job, poller, error, retry_after }
        }
    };
    Some(Line { stamp, content, sum, after: fields.text("after")? })
}

fn decode_reason(fields: &Fields<'_>) -> Option<Reason> {
    let kind = fields.text("kind")?;
    Some(Reason {
        cause: fields.text("cause").map_or(Some(Cause::Request), |cause| Cause::from_name(&cause))?,
        kind: ErrorKind::ALL.into_iter().find(|known| known.as_str() == kind)?,
        http_status: fields.number("http_status").and_then(|status| u16::try_from(status).ok()),
        request_id: fields.text("request_id").map(Into::into),
    })
}

fn decode_messages(json: &str) -> Option<Vec<MessageRef>> {
    let items: Vec<serde_json::Value> = serde_json::from_str(json).ok()?;
    let message = |item: &serde_json::Value| {
        let digest = |name: &str| Digest::from_hex(item[name].as_str()?);
        let item_ref = ItemRef { id: digest("key")?, number: item["item"].as_u64()? };
        Some(MessageRef { item: item_ref, prompt: digest("prompt")?, job_id: item["job_id"].as_str()?.into() })
    };
    items.iter().map(message).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::journal::encode::{LineWriter, messages_json};
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
        let Content::Sending { item, prompt, job_id } = line.content else { panic!("{:?}", line.content) };
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

    #[test]
    fn a_line_of_another_kind_or_version_is_refused() {
        for text in [
            LineWriter::new("sent").stamp(AT).finish(&NO_LINE).0,
            LineWriter::new("accepted").stamp(AT).finish(&NO_LINE).0,
            LineWriter::new("run").number("journal", VERSION + 1).stamp(AT).finish(&NO_LINE).0,
        ] {
            assert!(decode(text.trim_end()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_reason_is_decoded_as_it_was_written() {
        let id = Digest::of(&[b"key"]).to_string();
        let request = Reason {
            cause: Cause::Request,
            kind: ErrorKind::NotFound,
            http_status: Some(404),
            request_id: Some("req_1".into()),
        };
        for reason in [request, Reason::not_noted(Cause::RunEnded)] {
            let line = LineWriter::new("rejected").number("item", 1).text("key", &id);
            let (text, _) = line.reason(&reason, reason.request_id.as_deref()).stamp(AT).finish(&NO_LINE);
            let Content::Ended { delivery, error, .. } = decode(text.trim_end()).unwrap().content else { panic!() };
            assert_eq!((delivery, error), (Delivery::Rejected, Some(reason)));
        }
    }

    #[test]
    fn what_was_recovered_is_decoded_as_it_was_written() {
        let id = Digest::of(&[b"key"]);
        let message = |number| MessageRef { item: ItemRef { id, number }, prompt: id, job_id: "job \"1\", {".into() };
        for items in [vec![], vec![message(1)], vec![message(1), message(2)]] {
            let line = LineWriter::new("recovered").number("bytes", 7).text("of", "ab");
            let (text, _) = line.json("items", &messages_json(items.iter())).stamp(AT).finish(&NO_LINE);
            let Content::Recovered { bytes, of, items: decoded } = decode(text.trim_end()).unwrap().content else {
                panic!()
            };
            assert_eq!((bytes, &*of, decoded), (7, "ab", items));
        }
    }
}
