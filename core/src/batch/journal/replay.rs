//! Reads a journal: checks every line, and distinguishes what a crash leaves at its end from other damage.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind as IoKind, Read, Seek, SeekFrom};
use std::path::Path;

use crate::batch::journal::clock::Stamp;
use crate::batch::journal::damaged_tail::DamagedTail;
use crate::batch::journal::decode::{self, decode};
use crate::batch::journal::digest::{Checksum, checksum};
use crate::batch::journal::encode::ascii;
use crate::batch::journal::error::{damage, problem};
use crate::batch::journal::line::{BEGINNING, Content, Line, LineSpan, NO_LINE, RECOVERED, VERSION};
use crate::error::Error;
use crate::os::file::read_exact_at;

/// The longest line that is read. No run writes one so long: records, ids and the URL of the service are bounded.
pub(crate) const MAX_LINE: u64 = 1 << 20;
/// The longest damaged tail: the line `recovered` behind it is read as the rest of its line.
const MAX_TAIL: usize = 512 << 10;

/// The end of a journal that was read.
#[derive(Debug)]
pub(crate) struct JournalEnd {
    /// How many bytes it has, with its damaged tail.
    pub(crate) at: u64,
    /// What belongs before the next line: nothing, the newline that the last one lacks, or a zero behind a damaged tail.
    pub(crate) separator: &'static str,
    /// The checksum of the last good line.
    pub(crate) sum: Checksum,
    pub(crate) tail: Option<DamagedTail>,
}

/// Reads every line, and in the place of a damaged tail the line `sending` of the message that it names.
///
/// # Errors
/// `Journal`: it is not a journal, cannot be read, or is damaged, and not by a crash; what `each` returns.
pub(crate) fn read_lines(
    path: &Path,
    file: &File,
    mut each: impl FnMut(u64, LineSpan, Line<'_>) -> Result<(), Error>,
) -> Result<JournalEnd, Error> {
    let cannot = |error: std::io::Error| problem(path, &format!("cannot be read ({error})"));
    let no_journal = || problem(path, "is not an agentjob journal; left untouched").with_hint("Give another path.");
    let other_version = |version| {
        let what = format!("has format {version}, but this version of agentjob reads only format {VERSION}");
        problem(path, &what).with_hint("Finish the batch with the version that began it, or begin a new journal.")
    };
    let mut file = file;
    file.seek(SeekFrom::Start(0)).map_err(cannot)?;
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let (mut bytes, mut number, mut stamp) = (Vec::new(), 0, Stamp { unix_ms: 0, up_ms: 0 });
    let mut end = JournalEnd { at: 0, separator: "", sum: NO_LINE, tail: None };
    let mut is_last = false;
    // A line without an end is the last, even if an active run has written more meanwhile.
    while !is_last {
        bytes.clear();
        if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut bytes).map_err(cannot)? == 0 {
            break;
        }
        number += 1;
        if number == 1 && !bytes.starts_with(BEGINNING.as_bytes()) {
            return Err(decode::other_version(&bytes).map_or_else(no_journal, other_version));
        }
        let span = LineSpan { start: end.at, bytes: u32::try_from(bytes.len()).unwrap_or(u32::MAX) };
        end.at += bytes.len() as u64;
        is_last = bytes.last() != Some(&b'\n') && (bytes.len() as u64) < MAX_LINE;
        let line = match text(&bytes).and_then(decode) {
            Ok(Line { content: Content::Recovered { .. }, .. }) => {
                return Err(damage(path, number, "what it was written behind is missing"));
            }
            Ok(line) => Some(line),
            Err(what) => {
                let (damaged, recovered) =
                    split_recovered(&bytes).map_or((&*bytes, None), |(damaged, line)| (damaged, Some(line)));
                // The first line may have been good once and followed by others.
                let is_tail = number > 1 && (is_last && bytes.len() <= MAX_TAIL || recovered.is_some());
                let tail = DamagedTail::new(number, damaged).filter(|_| is_tail);
                let tail = tail.ok_or_else(|| damage(path, number, what))?;
                if let Some(content) = tail.message() {
                    each(number, span, Line { stamp, content, sum: end.sum, after: "".into() })?;
                }
                if recovered.is_none() {
                    (end.tail, end.separator) = (Some(tail), "\0");
                }
                recovered
            }
        };
        let Some(line) = line else { break };
        if !line.follows(&end.sum) {
            let what = "it does not follow the line before it: a line is missing, repeated or moved";
            return Err(damage(path, number, what));
        }
        (end.sum, end.separator, stamp) = (line.sum, if is_last { "\n" } else { "" }, line.stamp);
        each(number, span, line)?;
    }
    Ok(end)
}

/// A line's text without its newline. In the place of that, or behind the line, the disk may have zeros.
fn text(line: &[u8]) -> Result<&str, &'static str> {
    let line = std::str::from_utf8(line).map_err(|_| "it is not text")?;
    Ok(line.strip_suffix('\n').unwrap_or(line).trim_end_matches('\0'))
}

/// Separates a damaged tail from the line `recovered` that a run wrote behind it.
fn split_recovered(bytes: &[u8]) -> Option<(&[u8], Line<'_>)> {
    let at = bytes.windows(RECOVERED.len()).rposition(|window| window == RECOVERED.as_bytes())?;
    let damaged = bytes[..at].strip_suffix(b"\0")?;
    let line = text(&bytes[at..]).and_then(decode).ok()?;
    let is_about_it = match &line.content {
        Content::Recovered { bytes, of } => *bytes == damaged.len() as u64 && of == ascii(&checksum(damaged)),
        _ => false,
    };
    is_about_it.then_some((damaged, line))
}

/// Reads one line again, without its line end.
pub(crate) fn line_at(file: &File, span: LineSpan) -> std::io::Result<String> {
    let mut bytes = vec![0; span.bytes as usize];
    read_exact_at(file, &mut bytes, span.start)?;
    let text = text(&bytes).map_err(|_| std::io::Error::from(IoKind::InvalidData))?;
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::journal::clock::Clock;
    use crate::batch::journal::run_lines::recovered;

    #[test]
    fn only_the_damaged_tail_that_a_run_found_is_skipped() {
        let found = br#"{"line":"sending","key":"01"#;
        let tail = DamagedTail::new(7, found).unwrap();
        let (line, _) = recovered(&tail, &Clock::new()).finish(&NO_LINE);
        for (what, now, is_skipped) in [
            ("as it was", &found[..], true),
            ("with another byte", br#"{"line":"sending","key":"02"#, false),
            ("shorter", &found[..20], false),
            ("longer", br#"{"line":"sending","key":"0123"#, false),
        ] {
            let bytes = [now, b"\0", line.as_bytes()].concat();
            assert_eq!(split_recovered(&bytes).map(|(damaged, _)| damaged), is_skipped.then_some(now), "{what}");
        }
        assert!(split_recovered(&[found, line.as_bytes()].concat()).is_none(), "without the zero");
        assert!(split_recovered(found).is_none(), "not recovered");
    }
}
