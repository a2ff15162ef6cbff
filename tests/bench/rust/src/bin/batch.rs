//! A batch that runs: `batch URL KEY JOURNAL loop N`, `… send N CONCURRENCY`, `… resume N`, `… wait N WORK_MS SPREAD_MS`. Prints one
//! JSON object: what it took in seconds and processor seconds, and the most memory over what the program had before, in bytes.
//!
//! `loop` is the same messages without a batch, one after the other. `resume` continues with the journal of a `send` that is done:
//! it opens it, holds the items against it, and reports every outcome.

use std::fs;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use agentjob_core::{BatchEvent, BatchItem, BatchOptions, Client, Delivery, WaitOptions};
use nix::time::{ClockId, clock_gettime};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [url, key, journal, what, rest @ ..] = arguments.as_slice() else { panic!("URL KEY JOURNAL WHAT N …") };
    let number = |at: usize| rest[at].parse::<u32>().expect("a number");
    let client =
        Client::builder().base_url(url).api_key(key).project_id("demo").trust_env(false).build().expect("a client");
    client.get_job("warm").expect("it responds");
    let options = BatchOptions::new(journal);
    let measure = Measure::begin();
    match what.as_str() {
        "loop" => {
            for n in 0..number(0) {
                client.send_message(&format!("job_{n}"), &prompt(n)).expect("it is taken");
            }
        }
        "send" => run(&client, messages(number(0)), &options.concurrency(number(1)), number(0), false),
        "resume" => run(&client, messages(number(0)), &options, number(0), true),
        "wait" => {
            let (begin, jobs) = (unix_ms() + u64::from(number(1)), u64::from(number(0)));
            let until = |n: u64| begin + u64::from(number(2)) * n / jobs;
            let items: Vec<BatchItem> =
                (0..jobs).map(|n| BatchItem::new(format!("until_{}_{n}", until(n)), prompt(n as u32))).collect();
            wait(&client, items, &options.concurrency(64).wait(WaitOptions::new()), measure);
            return;
        }
        other => panic!("what is {other}?"),
    }
    measure.end(&[]);
}

fn prompt(n: u32) -> String {
    format!("Also cover the error cases of part {n}, and say in the pull request what you found")
}

fn messages(count: u32) -> Vec<BatchItem> {
    (0..count).map(|n| BatchItem::new(format!("job_{n}"), prompt(n))).collect()
}

fn run(client: &Client, items: Vec<BatchItem>, options: &BatchOptions, count: u32, earlier: bool) {
    let mut outcomes = 0;
    for outcome in client.send_all(items, options).expect("it begins") {
        let outcome = outcome.expect("the batch runs");
        assert_eq!((outcome.delivery(), outcome.is_earlier()), (Delivery::Accepted, earlier));
        assert_eq!(outcome.job().expect("its record").id(), outcome.job_id());
        outcomes += 1;
    }
    assert_eq!(outcomes, count);
}

/// Prints also how late the ends were noticed, in seconds, sorted.
fn wait(client: &Client, items: Vec<BatchItem>, options: &BatchOptions, measure: Measure) {
    let mut batch = client.send_all(items, options).expect("it begins");
    let mut late = Vec::new();
    loop {
        match batch.next_event(Duration::MAX).expect("the batch runs") {
            BatchEvent::Outcome(outcome) => {
                assert_eq!(outcome.job().expect("its record").status().as_str(), "completed");
                let until: u64 = outcome.job_id().split('_').nth(1).and_then(|ms| ms.parse().ok()).expect("a job");
                late.push((unix_ms() as f64 - until as f64) / 1000.0);
            }
            BatchEvent::Finished => break,
            _ => {}
        }
    }
    late.sort_by(f64::total_cmp);
    measure.end(&late);
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64
}

struct Measure {
    began: Instant,
    used: Duration,
    memory: u64,
}

impl Measure {
    fn begin() -> Measure {
        // The peak starts over (proc(5), clear_refs).
        drop(fs::write("/proc/self/clear_refs", "5"));
        Measure { began: Instant::now(), used: processor(), memory: memory("VmRSS:") }
    }

    fn end(self, late: &[f64]) {
        let (took, used) = (self.began.elapsed().as_secs_f64(), (processor() - self.used).as_secs_f64());
        let memory = memory("VmHWM:").saturating_sub(self.memory);
        println!("{}", serde_json::json!({"took": took, "processor": used, "memory": memory, "late": late}));
    }
}

fn processor() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).expect("a clock").into()
}

fn memory(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let value = status.lines().find_map(|found| found.strip_prefix(line)).expect("a line");
    value.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}
