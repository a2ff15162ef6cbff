//! Sends one message through each fault and compares the verdict with the ledger.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use agentjob_core::{CallOptions, CancelToken, Client, Delivery, Error, Job};
use agentjob_emulator::Config;

use crate::cases::Case;
use crate::situation::Place;

const JOB: &str = "job_demo";

/// How one fault's messages ended.
#[derive(Debug, Default, Clone)]
pub struct Count {
    /// Messages sent.
    pub sends: u64,
    /// Calls that returned a record.
    pub ok: u64,
    /// Errors by their verdict, in the order of [`Delivery::ALL`].
    pub verdicts: [u64; 4],
    /// Messages that the ledger has more than once.
    pub duplicates: u64,
    /// Verdicts that the ledger contradicts.
    pub lies: u64,
}

/// How all of them ended.
#[derive(Debug, Default)]
pub struct Tally {
    /// By fault, plain and TLS together.
    pub faults: BTreeMap<&'static str, Count>,
    /// Everything that was wrong.
    pub wrong: Vec<String>,
    /// How long after its timeout the slowest call ended.
    pub worst_overshoot: Duration,
    /// How long after its cancel the slowest call ended.
    pub worst_cancel: Duration,
    next: u64,
}

impl Tally {
    /// Messages sent in all.
    pub fn sends(&self) -> u64 {
        self.faults.values().map(|count| count.sends).sum()
    }
}

/// Runs the cases over and over until at least `sends` messages were sent; slow cases run only in every tenth round.
pub fn run(cases: &[Case], sends: u64) -> Tally {
    let (plain, tls) = (Place::plain(), Place::tls());
    let mut tally = Tally::default();
    for round in 0.. {
        for case in cases {
            let slow = case.timeout.is_some() || case.cancel.is_some() || case.padding > 0;
            if slow && round % 10 != 0 {
                continue;
            }
            one(case, if case.tls { &tls } else { &plain }, &mut tally);
        }
        if tally.sends() >= sends {
            break;
        }
    }
    tally
}

/// One message.
fn one(case: &Case, place: &Place, tally: &mut Tally) {
    let config = Config::from_json(&case.config.to_string()).expect("a case is a valid script");
    place.emulator.reset(config).expect("a case keeps the port");
    tally.next += 1;
    let prompt = format!("message {}{}", tally.next, "x".repeat(case.padding));
    let client = client(case, place);
    if case.warm {
        client.get_job(JOB).expect("the first request works");
        std::thread::sleep(case.idle);
    }

    let (ended, late) = send(case, &client, &prompt);
    if case.timeout.is_some() {
        tally.worst_overshoot = tally.worst_overshoot.max(late);
    } else if case.cancel.is_some() {
        tally.worst_cancel = tally.worst_cancel.max(late);
    }
    judge(case, place, &prompt, ended, tally);
}

fn client(case: &Case, place: &Place) -> Client {
    let builder = place.builder().max_retries(1);
    let builder = if case.refused {
        // tcpmux: nothing listens there, and no program gets this port by asking for any.
        builder.base_url("http://127.0.0.1:1").max_retries(0)
    } else {
        builder
    };
    builder.build().expect("the settings are right")
}

/// Makes the call. Returns its result, and how long after its timeout or cancel it ended.
fn send(case: &Case, client: &Client, prompt: &str) -> (Result<Job, Error>, Duration) {
    let token = CancelToken::new();
    let options = CallOptions::new().cancel(&token);
    let options = if let Some(timeout) = case.timeout { options.timeout(timeout) } else { options };
    let began = Instant::now();
    std::thread::scope(|scope| {
        let cancelled = case.cancel.map(|after| {
            let token = &token;
            scope.spawn(move || {
                std::thread::sleep(after);
                token.cancel();
                Instant::now()
            })
        });
        let ended = client.send_message_with(JOB, prompt, &options);
        let end = Instant::now();
        let due = match cancelled {
            Some(cancelled) => cancelled.join().expect("it only sleeps"),
            None => began + case.timeout.unwrap_or_default(),
        };
        (ended, end.saturating_duration_since(due))
    })
}

/// Whether this becomes true, in as much time as a busy machine may need.
fn soon(fact: impl Fn() -> bool) -> bool {
    let began = Instant::now();
    while !fact() {
        if began.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Compares what the ledger has of this message with what the client reported.
fn judge(case: &Case, place: &Place, prompt: &str, ended: Result<Job, Error>, tally: &mut Tally) {
    // A message in flight when the call ended may be processed a moment later, and a reset may be counted late, so the
    // ledger is read again after a moment.
    let processed = || place.emulator.ledger().iter().filter(|message| message.prompt == prompt).count();
    let verdict = ended.as_ref().err().map(|error| error.delivery().expect("every error of a message has a verdict"));
    let mut times = processed();
    if !matches!(verdict, None | Some(Delivery::Accepted)) && case.cancel.or(case.timeout).is_some() {
        std::thread::sleep(Duration::from_millis(5));
        times = processed();
    }
    let contradiction = match verdict {
        None | Some(Delivery::Accepted) => times == 0,
        Some(Delivery::NotSent | Delivery::Rejected) => times > 0,
        // The service may see the connection later than the client, which has given up waiting.
        Some(Delivery::Unknown) => !soon(|| place.emulator.requests().connections > 0),
    };
    let count = tally.faults.entry(case.fault).or_default();
    count.sends += 1;
    match verdict {
        None => count.ok += 1,
        Some(verdict) => {
            let place = Delivery::ALL.iter().position(|known| *known == verdict).expect("a known verdict");
            count.verdicts[place] += 1;
        }
    }
    if times > 1 {
        count.duplicates += 1;
    }
    count.lies += u64::from(contradiction);
    if times > 1 || contradiction {
        let reported = ended.map_or_else(|error| error.to_string(), |_| "ok".to_owned());
        tally.wrong.push(format!(
            "{} (tls: {}, warm: {}): the ledger has it {times} times, the client reported: {reported}; script {}",
            case.fault, case.tls, case.warm, case.config["rules"]
        ));
    }
}
