//! Reading a request's body, whole or up to where a fault strikes.

use std::io;

use crate::head::{BodyFraming, Head};
use crate::input::Input;
use crate::wire::Wire;

/// The largest request body that is read.
const MAX_BODY: u64 = 64 * 1024 * 1024;

/// How reading a body ended.
pub(crate) enum BodyRead {
    Whole(Body),
    /// The limit was reached first; this many bytes of the body were consumed.
    Limited(u64),
    /// The client closed first; this many bytes of the body were consumed.
    BrokenOff(u64),
    /// It cannot be read: the status to respond with, and why.
    Refused(u16, &'static str),
}

/// A whole body.
pub(crate) struct Body {
    /// The bytes of the request, head included, on the wire.
    pub(crate) used: usize,
    /// The content, where it is not simply what follows the head.
    joined: Option<Vec<u8>>,
}

impl Body {
    pub(crate) fn content<'a>(&'a self, head: &Head, input: &'a Input) -> &'a [u8] {
        match &self.joined {
            Some(joined) => joined,
            None => &input.bytes()[head.length..self.used],
        }
    }
}

/// Reads the body that follows `head`, and of its bytes on the wire at most `limit`.
pub(crate) fn read(wire: &mut Wire, input: &mut Input, head: &Head, limit: Option<u64>) -> io::Result<BodyRead> {
    let limit = limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let stop = head.length.saturating_add(limit);
    match head.framing {
        BodyFraming::Length(length) if length > MAX_BODY => Ok(BodyRead::Refused(413, "the body is too large")),
        BodyFraming::Length(length) => {
            let whole = head.length + usize::try_from(length).unwrap_or(usize::MAX);
            let end = whole.min(stop);
            input.reserve(end);
            while input.bytes().len() < end {
                if input.more_up_to(wire, end)? == 0 {
                    return Ok(BodyRead::BrokenOff((input.bytes().len() - head.length) as u64));
                }
            }
            Ok(if end < whole {
                BodyRead::Limited(limit as u64)
            } else {
                BodyRead::Whole(Body { used: whole, joined: None })
            })
        }
        BodyFraming::Chunked => read_chunked(wire, input, head, stop),
    }
}

fn read_chunked(wire: &mut Wire, input: &mut Input, head: &Head, stop: usize) -> io::Result<BodyRead> {
    let mut chunks = Chunks { at: head.length, joined: Vec::new() };
    loop {
        let seen = input.bytes().len().min(stop);
        match chunks.advance(&input.bytes()[..seen]) {
            Progress::Done => {
                return Ok(BodyRead::Whole(Body { used: chunks.at, joined: Some(chunks.joined) }));
            }
            Progress::Bad => return Ok(BodyRead::Refused(400, "the body is not chunked as it should be")),
            Progress::Wanting if seen as u64 > MAX_BODY => {
                return Ok(BodyRead::Refused(413, "the body is too large"));
            }
            Progress::Wanting if seen == stop => return Ok(BodyRead::Limited((stop - head.length) as u64)),
            Progress::Wanting => {}
        }
        if input.more_up_to(wire, stop)? == 0 {
            return Ok(BodyRead::BrokenOff((input.bytes().len() - head.length) as u64));
        }
    }
}

/// A chunked body, joined as far as it was read.
struct Chunks {
    /// Where the next chunk begins.
    at: usize,
    joined: Vec<u8>,
}

enum Progress {
    Done,
    Wanting,
    Bad,
}

impl Chunks {
    /// Joins every chunk that is whole in `bytes`, and steps over the trailer fields after the last.
    fn advance(&mut self, bytes: &[u8]) -> Progress {
        loop {
            let (line, size) = match httparse::parse_chunk_size(&bytes[self.at..]) {
                Ok(httparse::Status::Complete(parsed)) => parsed,
                Ok(httparse::Status::Partial) => return Progress::Wanting,
                Err(_) => return Progress::Bad,
            };
            let begin = self.at + line;
            if size == 0 {
                return self.end_at_blank_line(bytes, begin);
            }
            let Some(end) = usize::try_from(size).ok().and_then(|size| begin.checked_add(size)) else {
                return Progress::Bad;
            };
            match bytes.get(end..end.saturating_add(2)) {
                None => return Progress::Wanting,
                Some(b"\r\n") => {}
                Some(_) => return Progress::Bad,
            }
            self.joined.extend_from_slice(&bytes[begin..end]);
            self.at = end + 2;
        }
    }

    fn end_at_blank_line(&mut self, bytes: &[u8], mut line: usize) -> Progress {
        while let Some(length) = bytes[line..].iter().position(|byte| *byte == b'\n') {
            let blank = matches!(&bytes[line..line + length], b"" | b"\r");
            line += length + 1;
            if blank {
                self.at = line;
                return Progress::Done;
            }
        }
        Progress::Wanting
    }
}
