//! Reads a journal for its report, and writes that into a file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::batch::decisions::export::items_of;
use crate::batch::journal::clock::Clock;
use crate::batch::journal::error::damage;
use crate::batch::journal::history::History;
use crate::batch::journal::open::{absolute, open_to_read};
use crate::batch::journal::replay::read_lines;
use crate::batch::report::page::{Report, render};
use crate::batch::report::timeline::Timeline;
use crate::batch::status::status_of;
use crate::error::Error;
use crate::os::descriptor::above_standard;
use crate::os::file::{is_same, private, rename_if_free};
use crate::text::quoted;

/// How many names are tried for the file that becomes the report.
const NAME_TRIES: u32 = 16;

/// A report about a batch, from its journal: one page of HTML, whether a run is active or not. It sends and writes nothing.
///
/// The page loads nothing from anywhere, and works without a script. It has the counts, what to do next with the commands for it, when
/// each message was in flight and the batch paused, the rate, the decisions, and a table of all messages. It has no prompts and no
/// key, because the journal has none, but it names jobs and pull requests. The same journal makes the same page.
///
/// # Errors
/// `Journal`: it cannot be read, is damaged, or is not a journal.
pub fn batch_report(journal: impl AsRef<Path>) -> Result<String, Error> {
    let (name, path) = (journal.as_ref().to_string_lossy(), &absolute(journal.as_ref())?);
    let (file, running) = open_to_read(path)?;
    let (mut history, mut timeline) = (History::new(Clock::new(), 0), Timeline::default());
    let end = read_lines(path, &file, |number, span, line| {
        timeline.add(&line);
        history.add(span, line).map_err(|what| damage(path, number, &what))
    })?;
    // An active run may be in the middle of a line.
    let tail = end.tail.filter(|_| !running);
    let status = status_of(path, &file, running, &history, tail.as_ref())?;
    let items = items_of(&file, running, &history, history.items.listed().collect());
    timeline.renumber(|id| history.items.place(id).map_or(0, |place| history.items.at(place).number));
    Ok(render(&Report { journal: &name, status: &status, items: &items, timeline: &timeline }))
}

/// Writes [`batch_report`] into a file that other users can't read: all of it, or nothing. An existing file is replaced only if
/// `replace` says so.
///
/// # Errors
/// Those of [`batch_report`]. `InvalidArgument`: the file exists already, is the journal itself, is not a regular file, or cannot be
/// written. Then it is as it was.
pub fn write_batch_report(journal: impl AsRef<Path>, path: impl AsRef<Path>, replace: bool) -> Result<(), Error> {
    let (journal, path) = (journal.as_ref(), path.as_ref());
    check_target(journal, path, replace)?;
    let page = batch_report(journal)?;
    let cannot = |error: io::Error| wrong(path, &format!("cannot be written ({error})"));
    let (written, mut file) = new_file_beside(path).map_err(cannot)?;
    let result = file
        .write_all(page.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| if replace { fs::rename(&written, path) } else { rename_if_free(&written, path) });
    if result.is_err() {
        drop(fs::remove_file(&written));
    }
    result.map_err(|error| if error.kind() == io::ErrorKind::AlreadyExists { exists(path) } else { cannot(error) })
}

fn check_target(journal: &Path, path: &Path, replace: bool) -> Result<(), Error> {
    if path.file_name().is_none() {
        return Err(wrong(path, "is not the path of a file").with_hint("Give the path of the report's file."));
    }
    // Not what a link leads to: the link itself would be replaced.
    let Ok(there) = fs::symlink_metadata(path) else { return Ok(()) };
    if is_same(journal, path) {
        return Err(wrong(path, "is the journal itself").with_hint("Give another path."));
    }
    if !there.is_file() {
        return Err(wrong(path, "is not a regular file").with_hint("Give another path."));
    }
    if replace { Ok(()) } else { Err(exists(path)) }
}

/// A new file in the same folder, which only its owner can read.
fn new_file_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut tries = 0;
    loop {
        let hidden = path.with_file_name(format!(".{name}.{}-{tries}", std::process::id()));
        let mut options = OpenOptions::new();
        match above_standard(|| private(options.write(true).create_new(true)).open(&hidden)) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < NAME_TRIES => tries += 1,
            opened => return opened.map(|file| (hidden, file)),
        }
    }
}

fn exists(path: &Path) -> Error {
    wrong(path, "exists already").with_hint("Give another path, or say that it may be replaced.")
}

fn wrong(path: &Path, what: &str) -> Error {
    Error::invalid(format!("report {} {what}", quoted(path)))
}
