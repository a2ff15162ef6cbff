//! What time does to a batch: the system clock is set, a rate holds across restarts, a pause outlives a killed run.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::plan::Said;
use super::process::With;
use super::round::{Round, Skip};
use super::script;

const RATE: &str = "5/s";
const RATE_MESSAGES: usize = 5;
const RATE_SPAN_MS: u64 = 1000;
/// The ledger counts whole milliseconds.
const ROUNDING_MS: u64 = 1;
const OFFSETS: [&str; 8] = ["+0", "+3h", "-3h", "+40d", "-2y", "+11s", "-11s", "+400ms"];
/// A difference above this means that the clock was set, not that the machine is slow.
const CLEARLY_SET: Duration = Duration::from_secs(8);

/// Another system time for each run.
pub(crate) fn set_between_runs(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let mut round = paced(sender, seed);
    for _ in 0..round.rng.u32(2..=4) {
        let offset = *script::pick(&mut round.rng, &OFFSETS[1..]);
        let with = faked(vec![("FAKETIME", offset.replace("ms", "").replace("+400", "+0.4"))])?;
        let plan = round.plan.clone();
        let ended = round.run(&plan, &with, |process, rng| {
            std::thread::sleep(Duration::from_millis(rng.u64(50..1500)));
            process.signal(Signal::KILL);
        });
        is_faked(&ended.said, offset)?;
    }
    round.finish(&With::default());
    pace(&mut round);
    no_wait_ended(&mut round);
    Ok(round)
}

/// The system clock jumps while messages are sent and jobs are waited for.
pub(crate) fn set_during_a_run(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let mut round = paced(sender, seed);
    round.plan.wait = true;
    let file = round.folder.join("time");
    let set = |offset: &str| std::fs::write(&file, offset).map_err(|error| error.to_string());
    set("+0")?;
    let with =
        faked(vec![("FAKETIME_TIMESTAMP_FILE", file.display().to_string()), ("FAKETIME_NO_CACHE", "1".to_owned())])?;
    for kill in [true, true, false] {
        let plan = round.plan.clone();
        let ended = round.run(&plan, &with, |process, rng| {
            for _ in 0..10 {
                let offset = script::pick(rng, &["+0", "+3h", "-3h", "+40d", "-2y", "+11s", "-11s"]);
                // A file that cannot be written leaves the clock as it is.
                drop(std::fs::write(&file, offset));
                std::thread::sleep(Duration::from_millis(rng.u64(20..150)));
            }
            if kill {
                process.signal(Signal::KILL);
            }
        });
        if ended.is_over() {
            break;
        }
    }
    if !round.over {
        round.finish(&With::default());
    }
    pace(&mut round);
    no_wait_ended(&mut round);
    Ok(round)
}

/// A slow disk must not make the rate higher.
pub(crate) fn slow_disk(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let mut round = paced(sender, seed);
    for _ in 0..2 {
        let mut plan = round.plan.clone();
        plan.slow = Some(("sending_written".into(), round.rng.u64(100..600)));
        round.run(&plan, &With::default(), |process, rng| {
            std::thread::sleep(Duration::from_millis(rng.u64(500..2000)));
            process.signal(Signal::KILL);
        });
    }
    round.plan.slow = Some(("sending_written".into(), round.rng.u64(100..600)));
    round.finish(&With::default());
    pace(&mut round);
    Ok(round)
}

/// Killed in a pause that the service asked for: the next run keeps the pause.
pub(crate) fn killed_in_a_pause(sender: &Path, seed: u64) -> Result<Round, Skip> {
    const ASKED_MS: u64 = 2000;
    let mut nth = 0;
    let mut round = Round::of_idle_jobs(sender, seed, |rng, messages| {
        // One before the pause must be processed, and the echo may refuse the first.
        nth = rng.usize(3..messages);
        let headers = json!({ "Retry-After": (ASKED_MS / 1000).to_string() });
        vec![json!({ "method": "POST", "nth": nth, "status": 429, "headers": headers })]
    });
    // One at a time, so the messages processed before the 429 are those sent before it.
    round.plan.concurrency = 1;
    for _ in 0..2 {
        let offset = *script::pick(&mut round.rng, &OFFSETS[1..7]);
        let with = faked(vec![("FAKETIME", offset.to_owned())]).unwrap_or_default();
        let plan = round.plan.clone();
        round.run(&plan, &with, |process, rng| {
            if process.wait_for(|said| matches!(said, Said::Paused { .. })) {
                std::thread::sleep(Duration::from_millis(rng.u64(100..700)));
                process.signal(Signal::KILL);
            } else {
                process.signal(Signal::KILL);
            }
        });
        if round.kills > 0 {
            break;
        }
    }
    round.finish(&With::default());
    let times = round.times_ms();
    // The echo may have refused one before.
    let kept = times.windows(2).any(|pair| pair[1] - pair[0] + ROUNDING_MS >= ASKED_MS);
    if !kept {
        round.wrong(|f| &mut f.lies, format!("a pause of {ASKED_MS} ms was not kept over a restart: {times:?}"));
    }
    Ok(round)
}

/// A 429 without Retry-After pauses for a minute, even if the process is killed.
pub(crate) fn unnamed_pause(sender: &Path, seed: u64) -> Result<Round, Skip> {
    let mut round = Round::of_idle_jobs(sender, seed, |rng, messages| {
        vec![json!({ "method": "POST", "nth": rng.usize(3..messages), "status": 429 })]
    });
    round.plan.concurrency = 1;
    let plan = round.plan.clone();
    round.run(&plan, &With::default(), |process, rng| {
        if process.wait_for(|said| matches!(said, Said::Paused { .. })) {
            std::thread::sleep(Duration::from_millis(rng.u64(100..3000)));
            process.signal(Signal::KILL);
        }
    });
    round.finish(&With::default());
    let times = round.times_ms();
    if !times.windows(2).any(|pair| pair[1] - pair[0] + ROUNDING_MS >= 60_000) {
        round.wrong(|f| &mut f.lies, format!("the pause of a minute was not kept over a restart: {times:?}"));
    }
    Ok(round)
}

fn paced(sender: &Path, seed: u64) -> Round {
    let mut round = Round::new(sender, seed, |_, _| Vec::<Value>::new());
    round.plan.rate = Some(RATE.to_owned());
    round
}

/// No second of the ledger has more messages than the rate.
fn pace(round: &mut Round) {
    let times = round.times_ms();
    for pair in times.windows(RATE_MESSAGES + 1) {
        let span = pair[RATE_MESSAGES] - pair[0];
        if span + ROUNDING_MS < RATE_SPAN_MS {
            let what = format!("{} messages in {span} ms at {RATE}: {times:?}", RATE_MESSAGES + 1);
            return round.wrong(|f| &mut f.lies, what);
        }
    }
}

/// No wait ended early because of the system clock.
fn no_wait_ended(round: &mut Round) {
    let early = round.reported.iter().flatten().find_map(|said| match said {
        Said::Reported { number, delivery, error: Some(error), .. } if delivery == "accepted" => {
            Some((*number, error.clone()))
        }
        _ => None,
    });
    if let Some((number, error)) = early {
        round.wrong(|f| &mut f.lies, format!("the wait for item {number} ended with {error}"));
    }
}

/// A process with its own system time. Its monotonic clock is unchanged.
fn faked(mut environment: Vec<(&'static str, String)>) -> Result<With<'static>, Skip> {
    let library = library().ok_or("there is no libfaketime (apt-get install faketime)")?;
    environment.push(("LD_PRELOAD", library.display().to_string()));
    environment.push(("DONT_FAKE_MONOTONIC", "1".to_owned()));
    environment.push(("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()));
    Ok(With { environment, ..With::default() })
}

fn library() -> Option<PathBuf> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok).map(|entry| entry.path());
    let mut places = folders.chain([PathBuf::from("/usr/lib"), PathBuf::from("/usr/local/lib")]);
    places.find_map(|folder| Some(folder.join("faketime/libfaketimeMT.so.1")).filter(|path| path.exists()))
}

/// Whether the process really had another system time.
fn is_faked(said: &[Said], offset: &str) -> Result<(), Skip> {
    let Some(Said::Begun { unix_ms, .. }) = said.iter().find(|said| matches!(said, Said::Begun { .. })) else {
        return Ok(());
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let off = now.abs_diff(Duration::from_millis(*unix_ms));
    if offset != "+400ms" && off < CLEARLY_SET {
        return Err("libfaketime does not set this process's calendar".to_owned());
    }
    Ok(())
}
