//! The sending process: runs a batch as a good program does, and kills itself where its plan says.

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agentjob_core::{BatchEvent, BatchItem, BatchOptions, BatchUpdate, CancelToken, Client, Error, Rate, WaitOptions};
use rustix::process::{Resource, Rlimit, Signal};

use super::decisions;
use super::notes::Notes;
use super::plan::{Plan, Said};

/// How often the batch is asked for events.
const SLICE: Duration = Duration::from_millis(200);

/// Does what the plan in this file says, and reports it on standard output. Exit status 0: the batch came to its end.
pub fn send(plan: &str) -> ExitCode {
    let text = std::fs::read_to_string(plan).expect("the plan can be read");
    let plan: Plan = serde_json::from_str(&text).expect("the plan is one");
    if let Some(limit) = plan.file_limit {
        limit_files(limit);
    }
    let notes = Arc::new(Notes::open(&plan.notes, &plan.journal).expect("the notes can be opened"));
    if let Some(decide) = &plan.decide {
        return match decisions::decide(&plan.journal, decide, &steps(&plan, &notes)) {
            Ok(said) => {
                say(&said);
                ExitCode::SUCCESS
            }
            Err(error) => failed(&error),
        };
    }
    match run(&plan, &notes) {
        Ok(()) => {
            notes.over();
            say(&Said::Over);
            ExitCode::SUCCESS
        }
        Err(error) => failed(&error),
    }
}

fn failed(error: &Error) -> ExitCode {
    say(&Said::Failed { kind: error.kind().as_str().to_owned(), message: error.message().to_owned() });
    ExitCode::FAILURE
}

fn run(plan: &Plan, notes: &Arc<Notes>) -> Result<(), Error> {
    let client = Client::builder()
        .base_url(&plan.base_url)
        .api_key(&plan.api_key)
        .project_id(&plan.project_id)
        .trust_env(false)
        .timeout(Duration::from_millis(plan.timeout_ms))
        .build()?;
    let items = plan.items.iter().map(|item| {
        let message = BatchItem::new(item.job_id.as_str(), item.prompt.as_str());
        item.key.iter().fold(message, |message, key| message.with_key(key.as_str()))
    });
    let mut options = BatchOptions::new(&plan.journal)
        .concurrency(plan.concurrency)
        .resend_unknown(plan.resend_unknown)
        .max_busy(Duration::from_millis(plan.max_busy_ms))
        .cancel(cancelled_by_ctrl_c())
        .on_checkpoint(steps(plan, notes));
    if let Some(rate) = &plan.rate {
        options = options.rate(rate.parse::<Rate>()?);
    }
    if plan.wait {
        let short = Duration::from_millis(40);
        options = options.wait(WaitOptions::new().min_interval(short).max_interval(short).settle(10 * short));
    }
    let mut batch = client.send_all(items, &options)?;
    notes.begun();
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    say(&Said::Begun { unix_ms: unix.as_millis() as u64, waits: plan.wait });
    loop {
        match batch.next_event(SLICE)? {
            BatchEvent::Outcome(outcome) => say(&Said::Reported {
                number: outcome.number(),
                delivery: outcome.delivery().as_str().to_owned(),
                error: outcome.error().map(|error| error.kind().as_str().to_owned()),
                earlier: outcome.is_earlier(),
                pr_link: outcome.job().and_then(|job| job.pr_link()).map(str::to_owned),
            }),
            BatchEvent::Update(BatchUpdate::Paused { pause, .. }) => {
                say(&Said::Paused { ms: pause.as_millis() as u64 })
            }
            BatchEvent::Finished => return Ok(()),
            _ => {}
        }
    }
}

/// What happens at each step: a note of what is on the disk, a moment's pause, the end.
fn steps(plan: &Plan, notes: &Arc<Notes>) -> Arc<dyn Fn(&'static str) + Send + Sync> {
    let (kill, slow, jostle, notes) = (plan.kill.clone(), plan.slow.clone(), plan.jostle, Arc::clone(notes));
    let (taken, drawn) = (AtomicU64::new(0), AtomicU64::new(jostle));
    Arc::new(move |name| {
        notes.step(name);
        let draw = fastrand::Rng::with_seed(drawn.fetch_add(1, Ordering::Relaxed)).u64(..);
        if let Some((step, ms)) = &slow
            && step == name
            && draw.is_multiple_of(3)
        {
            std::thread::sleep(Duration::from_millis(*ms));
        }
        if jostle > 0 && draw.is_multiple_of(4) {
            std::thread::sleep(Duration::from_micros(draw >> 20 & 0xfff));
        }
        if let Some(kill) = &kill
            && kill.step == name
            && taken.fetch_add(1, Ordering::Relaxed) + 1 == kill.nth
        {
            end_here();
        }
    })
}

/// SIGKILL: no destructor runs, no buffer is flushed.
fn end_here() {
    rustix::process::kill_process(rustix::process::getpid(), Signal::KILL).expect("a process may end itself");
    std::thread::sleep(Duration::from_secs(60));
}

/// One line in one write, so a killed process leaves no partial line.
fn say(said: &Said) {
    let line = serde_json::to_string(said).expect("it is plain data") + "\n";
    let mut out = std::io::stdout().lock();
    // Cannot be written: the parent is gone, so this process is of no more use.
    if out.write_all(line.as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(3);
    }
}

static TOKEN: OnceLock<CancelToken> = OnceLock::new();

/// A token that SIGINT cancels.
fn cancelled_by_ctrl_c() -> &'static CancelToken {
    extern "C" fn cancel(_: libc::c_int) {
        if let Some(token) = TOKEN.get() {
            token.cancel();
        }
    }
    let token = TOKEN.get_or_init(CancelToken::new);
    // SAFETY: the handler reads a cell that is filled and stores one atomic, which a signal handler may do.
    unsafe { libc::signal(libc::SIGINT, cancel as *const () as libc::sighandler_t) };
    token
}

/// A write beyond the limit writes what fits, then fails with EFBIG.
fn limit_files(bytes: u64) {
    // SAFETY: ignoring a signal runs no code.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    rustix::process::setrlimit(Resource::Fsize, limit).expect("a limit may be lowered");
}
