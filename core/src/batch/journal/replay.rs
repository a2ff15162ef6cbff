//! Reads a journal: checks every line, and distinguishes a damaged tail from damage before it.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind as IoKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::batch::journal::damaged_tail::DamagedTail;
use crate::batch::journal::decode::{self, decode};
use crate::batch::journal::digest::{Checksum, checksum};
use crate::batch::journal::encode::ascii;
use crate::batch::journal::error::{damage, problem};
use crate::batch::journal::line::{BEGINNING, Content, Line, LineSpan, NO_LINE, VERSION};
use crate::error::Error;

/// The longest line. Stored records and ids are bounded; the service's URL is not.
pub(crate) const MAX_LINE: u64 = 1 << 20;
/// The longest damaged tail that is recovered.
const MAX_TAIL: usize = 2 << 20;

/// The end of a journal that was read.
#[derive(Debug)]
pub(crate) struct JournalEnd {
    /// How many bytes it has, with its damaged tail.
    pub(crate) at: u64,
    /// Whether it ends with a line end.
    pub(crate) is_line_end: bool,
    /// The checksum of the last good line.
    pub(crate) sum: Checksum,
    pub(crate) tail: Option<DamagedTail>,
}

/// Reads every line. Lines that can't be decoded are the damaged tail, unless a good line follows them.
///
/// # Errors
/// `Journal`: it is not a journal, cannot be read, or is damaged before its end; what `each` returns.
pub(crate) fn read_lines(
    path: &Path,
    file: &File,
    mut each: impl FnMut(u64, LineSpan, Line<'_>) -> Result<(), Error>,
) -> Result<JournalEnd, Error> {
    let cannot = |error: std::io::Error| problem(path, &format!("cannot be read ({error})"));
    let no_journal = || problem(path, "is not a batch's journal and was not changed").with_hint("Give another path.");
    let other_version = |version| {
        let what = format!("has format {version}, but this version of agentjob reads only format {VERSION}");
        problem(path, &what).with_hint("Finish the batch with the version that began it, or begin a new journal.")
    };
    let mut file = file;
    file.seek(SeekFrom::Start(0)).map_err(cannot)?;
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let (mut line, mut number) = (Vec::new(), 0);
    let mut end = JournalEnd { at: 0, is_line_end: true, sum: NO_LINE, tail: None };
    let mut why = "";
    // A line without an end is the last, even if an active run has written more meanwhile.
    while end.is_line_end {
        line.clear();
        if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(cannot)? == 0 {
            break;
        }
        number += 1;
        if number == 1 && !line.starts_with(BEGINNING.as_bytes()) {
            return Err(decode::other_version(&line).map_or_else(no_journal, other_version));
        }
        let span = LineSpan { start: end.at, bytes: u32::try_from(line.len()).unwrap_or(u32::MAX) };
        end.at += line.len() as u64;
        end.is_line_end = line.last() == Some(&b'\n') || line.len() as u64 == MAX_LINE;
        let decoded = text(&line).and_then(decode);
        if let Some(tail) = &mut end.tail {
            match decoded {
                Ok(Line { content: Content::Recovered { bytes, ref of, .. }, .. }) if covers(tail, bytes, of) => {}
                // A good line behind it without `recovered` was written when the damaged one was good.
                Ok(_) => return Err(damage(path, tail.number, why)),
                Err(_) => {
                    tail.bytes.extend_from_slice(&line);
                    if tail.bytes.len() > MAX_TAIL {
                        return Err(damage(path, tail.number, why));
                    }
                    continue;
                }
            }
            end.tail = None;
        }
        match decoded {
            Ok(line) if !line.follows(&end.sum) => {
                let what = "it does not follow the line before it: a line is missing, repeated or moved";
                return Err(damage(path, number, what));
            }
            Ok(line) => {
                end.sum = line.sum;
                each(number, span, line)?;
            }
            Err(what) => {
                why = what;
                end.tail = Some(DamagedTail { number, bytes: line.clone() });
            }
        }
    }
    match &end.tail {
        // The first line may have been good once and followed by others.
        Some(tail) if tail.number == 1 => Err(damage(path, tail.number, why)),
        _ => Ok(end),
    }
}

/// A line's text without its line end, which may be damaged to a zero byte.
fn text(line: &[u8]) -> Result<&str, &'static str> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    std::str::from_utf8(line.strip_suffix(b"\0").unwrap_or(line)).map_err(|_| "it is not text")
}

/// Whether a line `recovered` is about this tail, to which a line end was added if it had none.
fn covers(tail: &DamagedTail, bytes: u64, of: &str) -> bool {
    let end = if tail.bytes.ends_with(b"\n") { &b"\n"[..] } else { b"" };
    usize::try_from(bytes)
        .ok()
        .and_then(|bytes| tail.bytes.split_at_checked(bytes))
        .is_some_and(|(damaged, rest)| (rest.is_empty() || rest == end) && ascii(&checksum(damaged)) == of)
}

/// Reads one line again, without its line end.
pub(crate) fn line_at(file: &File, span: LineSpan) -> std::io::Result<String> {
    let mut bytes = vec![0; span.bytes as usize];
    file.read_exact_at(&mut bytes, span.start)?;
    let text = text(&bytes).map_err(|_| std::io::Error::from(IoKind::InvalidData))?;
    Ok(text.to_owned())
}
