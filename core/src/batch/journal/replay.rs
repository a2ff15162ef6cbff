//! Reads a journal: checks every line, and tells a damaged end from damage in the middle.

use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, ErrorKind as IoKind, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::batch::journal::damaged_tail::Tail;
use crate::batch::journal::digest::{Checksum, checksum};
use crate::batch::journal::encode::ascii;
use crate::batch::journal::file::{damage, problem};
use crate::batch::journal::format::{self, BEGINNING, Line, NO_LINE, Said, VERSION};
use crate::error::Error;
use crate::os::descriptor::above_standard;

/// The longest line. What is kept of a record is bounded, and so are ids; the service's URL is not.
const MAX_LINE: u64 = 1 << 20;
/// A damaged end that is longer is no line of ours.
const MAX_TAIL: usize = 2 << 20;

/// Where a line stands in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u64,
    pub(crate) bytes: u32,
}

impl Span {
    pub(crate) fn end(self) -> u64 {
        self.start + u64::from(self.bytes)
    }
}

/// What a journal ends with.
#[derive(Debug)]
pub(crate) struct End {
    /// Where it ends, its damaged end included.
    pub(crate) at: u64,
    /// Whether that is the end of a line.
    pub(crate) is_line_end: bool,
    /// The checksum of the last line that can be read.
    pub(crate) sum: Checksum,
    pub(crate) tail: Option<Tail>,
}

/// Reads every line. What cannot be read is the end's, unless another line can be read behind it.
///
/// # Errors
/// `Journal`: it is none, cannot be read, or is damaged before its end; what `each` returns.
pub(crate) fn read_lines(
    path: &Path,
    file: &File,
    mut each: impl FnMut(u64, Span, Line<'_>) -> Result<(), Error>,
) -> Result<End, Error> {
    let cannot = |error: std::io::Error| problem(path, &format!("cannot be read ({error})"));
    let no_journal = || problem(path, "is not a batch's journal, and is left as it is").with_hint("Give another path.");
    let other_version = |version| {
        let what = format!("has format {version}, but this version of agentjob reads only format {VERSION}");
        problem(path, &what).with_hint("Finish the batch with the version that began it, or begin a new journal.")
    };
    let mut file = file;
    file.seek(SeekFrom::Start(0)).map_err(cannot)?;
    let mut reader = BufReader::with_capacity(256 << 10, file);
    let (mut line, mut number) = (Vec::new(), 0);
    let mut end = End { at: 0, is_line_end: true, sum: NO_LINE, tail: None };
    let mut why = "";
    // A line without an end is the last, also if a run that is on has written on meanwhile.
    while end.is_line_end {
        line.clear();
        if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(cannot)? == 0 {
            break;
        }
        number += 1;
        if number == 1 && !line.starts_with(BEGINNING.as_bytes()) {
            return Err(format::other_version(&line).map_or_else(no_journal, other_version));
        }
        let span = Span { start: end.at, bytes: u32::try_from(line.len()).unwrap_or(u32::MAX) };
        end.at += line.len() as u64;
        end.is_line_end = line.last() == Some(&b'\n') || line.len() as u64 == MAX_LINE;
        let read = text(&line).and_then(format::read);
        if let Some(tail) = &mut end.tail {
            match read {
                Ok(Line { said: Said::Recovered { bytes, ref of, .. }, .. }) if covers(tail, bytes, of) => {}
                // A line behind it that can be read was written behind a whole one.
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
        match read {
            Ok(read) if !read.follows(&end.sum) => {
                let what = "it does not follow the line before it: a line is missing, duplicated or moved";
                return Err(damage(path, number, what));
            }
            Ok(read) => {
                end.sum = read.sum;
                each(number, span, read)?;
            }
            Err(what) => {
                why = what;
                end.tail = Some(Tail { number, bytes: line.clone() });
            }
        }
    }
    match &end.tail {
        // It may have been whole once, and lines may have been written behind it.
        Some(tail) if tail.number == 1 => Err(damage(path, tail.number, why)),
        _ => Ok(end),
    }
}

/// A line's text. One zero in the place of its end is a damaged end.
fn text(line: &[u8]) -> Result<&str, &'static str> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    std::str::from_utf8(line.strip_suffix(b"\0").unwrap_or(line)).map_err(|_| "it is not text")
}

/// Whether a line `recovered` is about this end of the journal; the end of a line was given to it if it had none.
fn covers(tail: &Tail, bytes: u64, of: &str) -> bool {
    let end = if tail.bytes.ends_with(b"\n") { &b"\n"[..] } else { b"" };
    usize::try_from(bytes)
        .ok()
        .and_then(|bytes| tail.bytes.split_at_checked(bytes))
        .is_some_and(|(damaged, rest)| (rest.is_empty() || rest == end) && ascii(&checksum(damaged)) == of)
}

/// One line again, without its end.
pub(crate) fn line_at(file: &File, span: Span) -> std::io::Result<String> {
    let mut bytes = vec![0; span.bytes as usize];
    file.read_exact_at(&mut bytes, span.start)?;
    let text = text(&bytes).map_err(|_| std::io::Error::from(IoKind::InvalidData))?;
    Ok(text.to_owned())
}

/// Opens a journal to read it, and returns whether a run is on.
pub(crate) fn open_to_read(path: &Path) -> Result<(File, bool), Error> {
    let cannot = |error: std::io::Error| problem(path, &format!("cannot be opened ({error})"));
    // To open a pipe would wait for its writer.
    if !std::fs::metadata(path).map_err(cannot)?.is_file() {
        return Err(problem(path, "is not a file").with_hint("Give the path of a file."));
    }
    let file = above_standard(|| File::open(path)).map_err(cannot)?;
    let running = match file.try_lock_shared() {
        Ok(()) => {
            drop(file.unlock());
            false
        }
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => false,
    };
    Ok((file, running))
}

/// The path that stays the same file's wherever the program goes.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Error> {
    std::path::absolute(path).map_err(|error| problem(path, &format!("has no absolute path ({error})")))
}
