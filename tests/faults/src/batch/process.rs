//! Controls one sending process: starts it, reads its output, ends it by its id, and limits its time.

use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::plan::{Plan, Said};

/// The time limit of a run. A healthy run takes less than half of it.
pub(crate) const LONGEST: Duration = Duration::from_secs(100);

/// The pause before a busy program is started again.
const BUSY: Duration = Duration::from_millis(5);

/// What a process is started with besides its plan.
#[derive(Debug, Default, Clone)]
pub(crate) struct With<'a> {
    pub(crate) environment: Vec<(&'a str, String)>,
    pub(crate) user: Option<u32>,
}

/// A sender that runs.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    said: Receiver<Said>,
    received: Vec<Said>,
    began: Instant,
}

/// How a sender ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) said: Vec<Said>,
    pub(crate) status: ExitStatus,
    /// Whether it had to be ended because it took too long.
    pub(crate) stuck: bool,
}

impl Ended {
    pub(crate) fn is_over(&self) -> bool {
        self.said.iter().any(|said| matches!(said, Said::Over))
    }

    pub(crate) fn was_killed(&self) -> bool {
        self.status.signal().is_some() && !self.stuck
    }

    /// What the batch failed with, if it did.
    pub(crate) fn failure(&self) -> Option<(&str, &str)> {
        self.said.iter().find_map(|said| match said {
            Said::Failed { kind, message } => Some((&**kind, &**message)),
            _ => None,
        })
    }
}

impl Process {
    pub(crate) fn start(sender: &Path, plan: &Plan, file: &Path, with: &With<'_>) -> Process {
        std::fs::write(file, serde_json::to_string(plan).expect("a plan is plain data"))
            .expect("a plan can be written");
        let mut command = Command::new(sender);
        command.arg(file).stdin(Stdio::null()).stdout(Stdio::piped());
        command.envs(with.environment.iter().map(|(name, value)| (*name, value)));
        if let Some(user) = with.user {
            command.uid(user);
        }
        let mut child = loop {
            match command.spawn() {
                // Another thread, between fork and exec, still has the descriptor through which the program was copied.
                Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::sleep(BUSY),
                child => break child.expect("the sender can be started: cargo build -p agentjob-faults"),
            }
        };
        let out = child.stdout.take().expect("it is piped");
        let (tell, said) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let Ok(said) = serde_json::from_str(&line) else { break };
                if tell.send(said).is_err() {
                    break;
                }
            }
        });
        Process { child, said, received: Vec::new(), began: Instant::now() }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        // It may have ended meanwhile, but its id stays reserved until it is waited for.
        kill_process(Pid::from_child(&self.child), signal).ok();
    }

    /// Waits until the process reports what is `wanted`, or has ended.
    pub(crate) fn wait_for(&mut self, wanted: impl Fn(&Said) -> bool) -> bool {
        loop {
            let left = LONGEST.saturating_sub(self.began.elapsed());
            match self.said.recv_timeout(left) {
                Ok(said) => {
                    let found = wanted(&said);
                    self.received.push(said);
                    if found {
                        return true;
                    }
                }
                Err(_) => return false,
            }
        }
    }

    /// Whether the process has reported what is `wanted`.
    pub(crate) fn has_said(&mut self, wanted: impl Fn(&Said) -> bool) -> bool {
        self.received.extend(self.said.try_iter());
        self.received.iter().any(wanted)
    }

    /// Whether it may run no longer.
    pub(crate) fn is_late(&self) -> bool {
        self.began.elapsed() > LONGEST
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let mut stuck = false;
        loop {
            let left = LONGEST.saturating_sub(self.began.elapsed());
            match self.said.recv_timeout(left) {
                Ok(said) => self.received.push(said),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    stuck = true;
                    self.signal(Signal::KILL);
                    break;
                }
            }
        }
        let status = self.child.wait().expect("a child can be waited for");
        self.received.extend(self.said.iter());
        Ended { said: std::mem::take(&mut self.received), status, stuck }
    }
}
