//! No test runs forever: one that is still running after [`LIMIT`] ends its program, and is named.

#![allow(unreachable_pub, reason = "whether another file can see it depends on the test program that includes it")]

use std::cell::OnceCell;
use std::io::Write;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// Far beyond what any test needs, even on a starved machine.
const LIMIT: Duration = Duration::from_secs(300);

thread_local! {
    /// Its sender goes with the test's thread, which ends the watchdog, too.
    static WATCHED: OnceCell<Sender<()>> = const { OnceCell::new() };
}

/// Sets the limit of the test that runs on this thread. The harness gives each test a thread that has its name; a second call
/// changes nothing.
pub fn limited() {
    let current = std::thread::current();
    // With one test at a time, all of them run on the main thread: no test's end can be seen there.
    let Some(name) = current.name().filter(|name| *name != "main") else { return };
    let name = name.to_owned();
    WATCHED.with(|watched| {
        watched.get_or_init(|| {
            let (running, over) = channel::<()>();
            std::thread::spawn(move || {
                if over.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                    // Bypasses the harness, which shows a test's output only when the test has ended.
                    drop(writeln!(std::io::stderr(), "\ntest {name} is still running after {} s", LIMIT.as_secs()));
                    std::process::abort();
                }
            });
            running
        });
    });
}
