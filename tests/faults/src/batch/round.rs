//! One batch from its first run to its end: a folder, a service, a list, and as many runs as it takes.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use agentjob_emulator::{Config, Emulator};
use fastrand::Rng;
use serde_json::{Value, json};

use super::judge::{Evidence, Findings, Processed, judge};
use super::plan::{Item, Plan, Said};
use super::process::{Ended, Process, With};
use super::script;

/// No batch needs more undisturbed runs than this.
const MOST_RUNS: usize = 30;
/// How long a connection that was taken off the listener's queue may take to be counted.
const LAGGARDS: Duration = Duration::from_millis(50);
/// How long everything that came over it may take to be processed on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// A batch in progress.
#[derive(Debug)]
pub(crate) struct Round {
    sender: PathBuf,
    pub(crate) rng: Rng,
    seed: u64,
    pub(crate) folder: PathBuf,
    pub(crate) emulator: Emulator,
    /// The plan of its next run.
    pub(crate) plan: Plan,
    pub(crate) reported: Vec<Vec<Said>>,
    pub(crate) kills: u64,
    pub(crate) over: bool,
    resend: bool,
    disk_full: bool,
    work_ms: u64,
    /// Whether some of its runs wait for the jobs and others do not.
    pub(crate) mixed: bool,
    pub(crate) findings: Findings,
}

/// Why a situation cannot be played here.
pub(crate) type Skip = String;

impl Round {
    /// A list of messages for a few jobs, some of them with keys of their own, and a service with these `rules`.
    pub(crate) fn new(sender: &Path, seed: u64, rules: impl FnOnce(&mut Rng, usize) -> Vec<Value>) -> Round {
        Round::of_jobs(sender, seed, None, rules)
    }

    /// The same, for a batch that waits, and jobs that are all busy at first.
    pub(crate) fn of_busy_jobs(sender: &Path, seed: u64, rules: impl FnOnce(&mut Rng, usize) -> Vec<Value>) -> Round {
        Round::of_jobs(sender, seed, Some(true), rules)
    }

    /// The same, for jobs that refuse no message because they are busy.
    pub(crate) fn of_idle_jobs(sender: &Path, seed: u64, rules: impl FnOnce(&mut Rng, usize) -> Vec<Value>) -> Round {
        Round::of_jobs(sender, seed, Some(false), rules)
    }

    fn of_jobs(
        sender: &Path,
        seed: u64,
        busy: Option<bool>,
        rules: impl FnOnce(&mut Rng, usize) -> Vec<Value>,
    ) -> Round {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let next = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut rng = Rng::with_seed(seed);
        let folder = std::env::temp_dir().join(format!("agentjob-faults-{}-{next}", std::process::id()));
        std::fs::create_dir(&folder).expect("the temporary folder can be written");
        let messages = rng.usize(6..=16);
        let jobs = rng.usize(messages / 2..=messages);
        let items: Vec<Item> = (1..=messages)
            .map(|n| Item {
                job_id: format!("job_{}", rng.usize(1..=jobs)),
                prompt: format!("secret{:016x}{} do item {n}", rng.u64(..), "x".repeat(rng.usize(..60))),
                key: (rng.u8(..3) == 0).then(|| format!("key {n}")),
            })
            .collect();
        let mut rules = rules(&mut rng, messages);
        rules.extend(echo(&mut rng, &items));
        let wait = rng.bool() || busy == Some(true);
        // Without a wait, a busy job is polled every two seconds, so such batches take long.
        let busy = busy.unwrap_or_else(|| if wait { rng.bool() } else { rng.u8(..6) == 0 });
        let mut job = |n: usize| match busy && wait {
            true => json!({ "id": format!("job_{n}"), "status": "active", "finish_after_ms": rng.u64(..400) }),
            false => json!({ "id": format!("job_{n}"), "status": "completed" }),
        };
        let jobs: Vec<Value> = (1..=jobs).map(&mut job).collect();
        // A response of 200 to a message that a busy job has not taken would be a lie of the service.
        rules.retain(|rule| !busy || rule["status"] != 200);
        let work_ms = rng.u64(20..300);
        let config = json!({
            "work_ms": work_ms,
            "busy": busy,
            "stale_ms": *script::pick(&mut rng, &[0, 60, 60]),
            "hourly_limit": 1_000_000,
            "jobs": jobs,
            "rules": rules,
        });
        let config = Config::from_json(&config.to_string()).expect("a round's script is valid");
        let emulator = Emulator::start(config).expect("a free port");
        let plan = Plan {
            base_url: emulator.base_url().to_owned(),
            api_key: emulator.api_key(),
            project_id: emulator.project_id(),
            items,
            journal: folder.join("journal"),
            notes: folder.join("notes"),
            concurrency: rng.u32(1..=8),
            wait,
            max_busy_ms: *script::pick(&mut rng, &[3_600_000, 3_600_000, 300]),
            timeout_ms: 1500,
            jostle: rng.u64(1..1 << 40),
            ..Plan::default()
        };
        let sender = sender.to_owned();
        let (reported, findings) = (Vec::new(), Findings::default());
        let (over, resend, disk_full, mixed) = (false, false, false, false);
        Round {
            sender,
            rng,
            seed,
            folder,
            emulator,
            plan,
            reported,
            kills: 0,
            over,
            resend,
            disk_full,
            work_ms,
            mixed,
            findings,
        }
    }

    /// Sets the program that sends from now on.
    pub(crate) fn send_with(&mut self, sender: PathBuf) {
        self.sender = sender;
    }

    /// Starts a run of this plan; [`ended`](Round::ended) records how it ends.
    pub(crate) fn start(&mut self, plan: &Plan, with: &With<'_>) -> Process {
        self.resend |= plan.resend_unknown;
        self.disk_full |= plan.file_limit.is_some();
        let file = self.folder.join(format!("plan-{}", self.rng.u32(..)));
        Process::start(&self.sender, plan, &file, with)
    }

    /// Makes a run, and disturbs it from outside.
    pub(crate) fn run(&mut self, plan: &Plan, with: &With<'_>, act: impl FnOnce(&mut Process, &mut Rng)) -> Ended {
        let mut process = self.start(plan, with);
        act(&mut process, &mut self.rng);
        let ended = process.end();
        self.ended(&ended);
        ended
    }

    /// Records how a run ended, and judges what it left.
    pub(crate) fn ended(&mut self, ended: &Ended) {
        self.reported.push(ended.said.clone());
        self.kills += u64::from(ended.was_killed());
        self.over = ended.is_over();
        self.settle();
        if ended.stuck {
            self.wrong(|f| &mut f.never_ended, "a run had to be ended because it took too long".into());
        } else if !ended.was_killed() && !matches!(ended.status.code(), Some(0 | 1)) {
            self.wrong(|f| &mut f.lies, format!("a run ended by itself, and badly: {}", ended.status));
        }
        self.inspect();
    }

    /// Waits until everything that a process sent before its end has arrived: otherwise a message could arrive after those of the next
    /// run, out of order.
    fn settle(&self) {
        let began = Instant::now();
        while has_queue(self.emulator.address()) && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(LAGGARDS);
        while self.emulator.open_connections() > 0 && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Makes undisturbed runs until the batch is over.
    pub(crate) fn finish(&mut self, with: &With<'_>) {
        let mut failure = String::new();
        for _ in 0..MOST_RUNS {
            let plan = self.plan.clone();
            let ended = self.run(&plan, with, |_, _| {});
            if self.over || !self.findings.descriptions.is_empty() {
                return;
            }
            failure = ended.failure().map_or_else(|| ended.status.to_string(), |(_, message)| message.to_owned());
            if failure.contains("is damaged") {
                break;
            }
        }
        self.wrong(|f| &mut f.never_ended, format!("the batch does not come to its end: {failure}"));
    }

    /// Compares the present state with the ledger. A finding is counted only once.
    fn inspect(&mut self) {
        if !self.findings.descriptions.is_empty() {
            return;
        }
        let ledger = self.ledger();
        // The ledger first: no process writes the journal now, so what the ledger has is in it.
        let journal = std::fs::read(&self.plan.journal).unwrap_or_default();
        let found = judge(&Evidence {
            items: &self.plan.items,
            api_key: &self.plan.api_key,
            journal: &journal,
            reported: &self.reported,
            ledger: &ledger,
            over: self.over,
            resend: self.resend,
            disk_full: self.disk_full,
            work_ms: (self.plan.wait && !self.mixed).then_some(self.work_ms),
        });
        self.take_in(found, &journal);
    }

    fn take_in(&mut self, found: Findings, journal: &[u8]) {
        if found.descriptions.is_empty() {
            return;
        }
        self.findings.add(found);
        // Everything needed to understand the finding.
        let kept = std::env::temp_dir().join(format!("agentjob-faults-wrong-{}", self.seed));
        let reported = self.reported.iter().map(|said| format!("{said:?}")).collect::<Vec<_>>().join("\n");
        let ledger = format!("{:#?}", self.emulator.ledger());
        let requests = format!("{:#?}", self.emulator.requests());
        let all = [&*String::from_utf8_lossy(journal), &reported, &ledger, &requests].join("\n----\n");
        if std::env::var_os("AGENTJOB_FAULTS_KEEP").is_some() && std::fs::write(&kept, all).is_ok() {
            self.findings.descriptions.push(format!("kept in {}", kept.display()));
        }
    }

    pub(crate) fn wrong(&mut self, count: fn(&mut Findings) -> &mut u64, what: String) {
        let mut found = Findings { descriptions: vec![what], ..Findings::default() };
        *count(&mut found) += 1;
        let journal = std::fs::read(&self.plan.journal).unwrap_or_default();
        self.take_in(found, &journal);
    }

    pub(crate) fn ledger(&self) -> Vec<Processed> {
        let message = |message: agentjob_emulator::Message| Processed {
            job_id: message.job_id,
            prompt: message.prompt,
            pr_link: message.pr_link,
            at_ms: message.at_ms,
        };
        self.emulator.ledger().into_iter().map(message).collect()
    }

    /// When each message was processed, by the service's clock.
    pub(crate) fn times_ms(&self) -> Vec<u64> {
        self.emulator.ledger().iter().map(|message| message.at_ms).collect()
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }
}

impl Drop for Round {
    fn drop(&mut self) {
        self.emulator.stop();
        // If the folder is gone already, there is nothing to do.
        drop(std::fs::remove_dir_all(&self.folder));
    }
}

/// Whether connections to this listener wait to be accepted (proc(5): the receive queue of a listener, in state 0A). Unknown on
/// other systems, and then `false`.
fn has_queue(listener: SocketAddr) -> bool {
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let local = format!(":{:04X} 00000000:0000 0A ", listener.port());
    let queue = sockets.lines().find_map(|line| line.split_once(&local)?.1.split([':', ' ']).nth(1));
    queue.is_some_and(|length| length.bytes().any(|digit| digit != b'0'))
}

/// A service that quotes the prompt, in a refusal or in the record. Its job has no other message, so it quotes only what it received.
fn echo(rng: &mut Rng, items: &[Item]) -> Option<Value> {
    let alone = |item: &&Item| items.iter().filter(|other| other.job_id == item.job_id).count() == 1;
    let item = items.iter().find(alone)?;
    let (job, path) = (&item.job_id, format!("/v2/agent/*/job/{}", item.job_id));
    let record =
        |status: &str| json!({ "id": job, "status": status, "source": {}, "you_said": [{ "text": item.prompt }] });
    let mut rule = match rng.u8(..6) {
        0 => json!({ "status": 400, "json": { "error": { "message": item.prompt } } }),
        1 => json!({ "status": 200, "json": record("active") }),
        2 => return Some(json!({ "method": "GET", "path": path, "status": 200, "json": record("completed") })),
        _ => return None,
    };
    rule["method"] = "POST".into();
    rule["path"] = (path + "/message").into();
    Some(rule)
}
