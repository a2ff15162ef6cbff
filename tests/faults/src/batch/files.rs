//! Disks that are full, and files that may not be written.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::plan::Kill;
use super::process::{Ended, With};
use super::round::{Round, Skip};
use super::script;

/// The user `nobody`, who is not root.
const NOBODY: u32 = 65534;
/// The size of a page: a tmpfs allocates whole pages.
const PAGE: u64 = 4096;
const DISK: u64 = 512 * PAGE;
/// The free bytes when a run starts: from none to more than a batch reserves for its outcomes.
const MOST_LEFT: u64 = 200 * PAGE;

/// A limit on the file's length, which may cut a line at any byte.
pub(crate) fn limit(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let mut round = Round::new(sender, seed, script::faults);
    for _ in 0..round.rng.u32(2..=5) {
        let mut plan = round.plan.clone();
        let length = std::fs::metadata(&plan.journal).map_or(0, |about| about.len());
        plan.file_limit = Some((length + round.rng.u64(..2500)).max(64));
        if round.rng.u8(..4) == 0 {
            plan.kill = Some(Kill { step: "ended_written".into(), nth: round.rng.u64(1..4) });
        }
        let ended = round.run(&plan, &With::default(), |_, _| {});
        says_so(&mut round, &ended);
        if round.over {
            return Ok(round);
        }
    }
    round.finish(&With::default());
    Ok(round)
}

/// Fills the disk, then frees the last pages.
fn fill(filler: &Path, left: u64) {
    let mut file = OpenOptions::new().create(true).append(true).open(filler).expect("a disk takes a name");
    while file.write_all(&[1; PAGE as usize]).is_ok() {}
    let length = file.metadata().map_or(0, |about| about.len());
    file.set_len(length.saturating_sub(left)).expect("a file may become shorter");
}

/// A run on a full disk fails and says so, or did not need the space.
fn says_so(round: &mut Round, ended: &Ended) {
    match ended.failure() {
        Some(("journal", message)) if !message.contains("cannot be written") => {
            round.wrong(|f| &mut f.lies, format!("the disk was full, but the error was: {message}"));
        }
        _ => {}
    }
}

/// A disk for the journal alone, which is removed with this value.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: PathBuf) -> Result<Disk, Skip> {
        std::fs::create_dir(&at).map_err(|error| error.to_string())?;
        let size = format!("size={DISK},mode=0777");
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(&at).output();
        let mount = mount.map_err(|error| format!("there is no mount ({error})"))?;
        match mount.status.success() {
            true => Ok(Disk(at)),
            false => Err("mounting a tmpfs takes root".to_owned()),
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: a process that is being started has its descriptors for a moment.
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

/// A tmpfs with little space left, which another process fills to the last byte while the batch runs.
pub(crate) fn full(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let mut round = Round::new(sender, seed, script::faults);
    let disk = Disk::mount(round.folder.join("disk"))?;
    round.plan.journal = disk.0.join("journal");
    let filler = disk.0.join("filler");
    for _ in 0..round.rng.u32(1..=3) {
        let left = round.rng.u64(..MOST_LEFT / PAGE) * PAGE;
        fill(&filler, left);
        let plan = round.plan.clone();
        let ended = round.run(&plan, &With::default(), |_, rng| {
            std::thread::sleep(Duration::from_millis(rng.u64(..60)));
            fill(&filler, 0);
        });
        says_so(&mut round, &ended);
        std::fs::remove_file(&filler).map_err(|error| error.to_string())?;
        if round.over {
            break;
        }
    }
    if !round.over {
        round.finish(&With::default());
    }
    // The row is counted from the journal, and the disk goes.
    let kept = round.folder.join("journal");
    std::fs::copy(&round.plan.journal, &kept).map_err(|error| error.to_string())?;
    round.plan.journal = kept;
    Ok(round)
}

/// A user who is bound by permissions: this one, or `nobody` when this is root.
fn bound(round: &Round) -> Result<With<'static>, Skip> {
    if !rustix::process::geteuid().is_root() {
        return Ok(With::default());
    }
    chown(&round.folder, Some(NOBODY), None).map_err(|error| format!("a folder cannot be given away ({error})"))?;
    Ok(With { user: Some(NOBODY), ..With::default() })
}

fn allow(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("one's own file's mode can be set");
}

/// A copy of the sender that every user may run.
fn reachable(sender: &Path, round: &Round) -> Result<PathBuf, Skip> {
    let copy = round.folder.join("sender");
    std::fs::copy(sender, &copy).map_err(|error| format!("the sender cannot be copied ({error})"))?;
    allow(&copy, 0o755);
    Ok(copy)
}

/// A run that must be refused before anything is sent.
fn must_be_refused(round: &mut Round, with: &With<'_>) {
    let (plan, before) = (round.plan.clone(), round.ledger().len());
    let ended = round.run(&plan, with, |_, _| {});
    let refused = matches!(ended.failure(), Some(("journal", message)) if message.contains("cannot be opened"));
    if !refused || round.ledger().len() != before {
        round.wrong(|f| &mut f.lies, format!("a journal that cannot be written: {ended:?}"));
    }
}

/// A journal that is made read-only after its first run, then writable again.
pub(crate) fn read_only_journal(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let (mut round, with) = for_nobody(sender, seed)?;
    let mut plan = round.plan.clone();
    plan.kill = Some(Kill { step: "ended_written".into(), nth: round.rng.u64(1..4) });
    round.run(&plan, &with, |_, _| {});
    if !round.over {
        allow(&round.plan.journal, 0o400);
        must_be_refused(&mut round, &with);
        allow(&round.plan.journal, 0o600);
        round.finish(&with);
    }
    Ok(round)
}

/// No new journal can be created in the folder; an existing one can be continued.
pub(crate) fn read_only_folder(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let (mut round, with) = for_nobody(sender, seed)?;
    let folder = round.folder.join("journals");
    std::fs::create_dir(&folder).map_err(|error| error.to_string())?;
    if let Some(user) = with.user {
        chown(&folder, Some(user), None).map_err(|error| error.to_string())?;
    }
    round.plan.journal = folder.join("journal");
    allow(&folder, 0o555);
    must_be_refused(&mut round, &with);
    allow(&folder, 0o755);
    let mut plan = round.plan.clone();
    plan.kill = Some(Kill { step: "sending_synced".into(), nth: round.rng.u64(1..4) });
    round.run(&plan, &with, |_, _| {});
    // Neither written nor, sometimes, read.
    allow(&folder, *script::pick(&mut round.rng, &[0o555, 0o111]));
    if !round.over {
        round.finish(&with);
    }
    allow(&folder, 0o755);
    Ok(round)
}

fn for_nobody(sender: &Path, seed: u64) -> Result<(Round, With<'static>), Skip> {
    let mut round = Round::new(sender, seed, script::faults);
    let copy = reachable(sender, &round)?;
    round.send_with(copy);
    let with = bound(&round)?;
    Ok((round, with))
}
