//! A thousand damaged journals, each compared with the service's ledger: no message is silently sent again.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::batches::{Folder, items, prompts, run, service};
use crate::support::client;
use agentjob_core::{BatchItem, BatchOptions, Client, ErrorKind};

const MUTATIONS: usize = 1200;
const ITEMS: u32 = 8;
/// Of the run that wrote the journal, and of the one that resumes it.
const CONCURRENCY: [u32; 3] = [1, 2, 4];

/// What was done to a journal. A rollback to an earlier complete line can't be detected, nor one into a line that then names no message.
struct Mutation {
    name: &'static str,
    bytes: Vec<u8>,
    /// From here on nothing is left of the lines.
    cut: usize,
}

/// A run's journal, and the prompts that it says may have been sent.
struct Journal {
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

impl Journal {
    fn of(mut bytes: Vec<u8>, rng: &mut fastrand::Rng) -> Journal {
        let starts = starts(&bytes);
        let lines = rng.usize(2..starts.len());
        bytes.truncate(starts[lines]);
        Journal { starts: starts[..=lines].to_vec(), bytes }
    }

    fn line(&self, n: usize) -> &[u8] {
        &self.bytes[self.starts[n]..self.starts[n + 1]]
    }

    fn lines(&self) -> usize {
        self.starts.len() - 1
    }

    /// The prompts of the lines `sending` that name their message before this place.
    fn sent_before(&self, place: usize) -> HashSet<String> {
        let text = String::from_utf8_lossy(&self.bytes[..place.min(self.bytes.len())]);
        let named =
            text.lines().filter(|line| line.starts_with("{\"line\":\"sending\"") && line.contains(",\"at\":\""));
        let number = |line: &str| line.split_once("\"item\":").unwrap().1.split_once(',').unwrap().0.to_owned();
        named.map(|line| format!("message {}", number(line))).collect()
    }

    fn damaged(&self, rng: &mut fastrand::Rng) -> Mutation {
        let mut bytes = self.bytes.clone();
        // Mostly at the end, where a power loss strikes.
        let last = self.starts[self.lines() - 1];
        let from = if rng.u8(..3) == 0 { 0 } else { last };
        let at = rng.usize(from..bytes.len());
        let mut cut = usize::MAX;
        let (n, other) = (rng.usize(1..self.lines()), rng.usize(1..self.lines()));
        let name = match rng.u8(..11) {
            0 | 1 => {
                bytes[at] ^= 1 << rng.u8(..8);
                "a flipped bit"
            }
            2 => {
                bytes[at] = rng.u8(..);
                "another byte"
            }
            3 | 4 => {
                let end = bytes.len().min(at + rng.usize(1..300));
                bytes[at..end].fill(0);
                cut = if end == bytes.len() { at } else { cut };
                "zeros"
            }
            5 | 6 => {
                bytes.truncate(at);
                cut = at;
                "cut"
            }
            7 => {
                let garbage: Vec<u8> = (0..rng.usize(1..50)).map(|_| rng.u8(..)).collect();
                bytes.splice(at..at, garbage);
                "garbage"
            }
            8 => {
                bytes.drain(self.starts[n]..self.starts[n + 1]);
                "a line that is gone"
            }
            9 => {
                let line = self.line(n).to_vec();
                bytes.splice(self.starts[other]..self.starts[other], line);
                "a line that is there twice"
            }
            _ => {
                let line = self.line(other).to_vec();
                bytes.splice(self.starts[n]..self.starts[n + 1], line);
                "a line with another one's text"
            }
        };
        Mutation { name, bytes, cut }
    }
}

fn starts(journal: &[u8]) -> Vec<usize> {
    let ends = journal.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
    std::iter::once(0).chain(ends).collect()
}

/// The journal of a complete run at this concurrency.
fn journal(concurrency: u32) -> Vec<u8> {
    let rule = r#","rules":[{"method":"POST","delay_ms":5,"process":true,"status":200}]"#;
    let (service, folder) = (service(ITEMS, rule), Folder::new());
    run(&client(&service), items(ITEMS), &BatchOptions::new(folder.journal()).concurrency(concurrency));
    std::fs::read(folder.journal()).unwrap()
}

/// Resumes a damaged journal. Returns whether it was refused.
fn resend(client: &Client, path: &PathBuf, list: Vec<BatchItem>, concurrency: u32) -> bool {
    match client.send_all(list, &BatchOptions::new(path).concurrency(concurrency)) {
        Ok(batch) => {
            batch.for_each(|outcome| drop(outcome.unwrap()));
            false
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Journal, "{error}");
            true
        }
    }
}

#[test]
fn no_damage_but_a_rollback_to_an_earlier_line_sends_a_message_again() {
    let journals: Vec<Vec<u8>> = CONCURRENCY.iter().map(|concurrency| journal(*concurrency)).collect();
    let (next, refused, rollbacks) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (service, folder) = (service(ITEMS, ""), Folder::in_memory());
                let (client, path) = (client(&service), folder.journal());
                let base_url = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(service.base_url());
                let mut sent_so_far = 0;
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= MUTATIONS {
                        break;
                    }
                    let mut rng = fastrand::Rng::with_seed(seed as u64);
                    let journal = Journal::of(for_service(&journals[seed % 3], service.base_url()), &mut rng);
                    let mutation = journal.damaged(&mut rng);
                    assert!(base_url(&journal.bytes));
                    if journal.starts.contains(&mutation.bytes.len()) && journal.bytes.starts_with(&mutation.bytes) {
                        rollbacks.fetch_add(1, Ordering::Relaxed);
                        continue;
                    }
                    std::fs::write(&path, &mutation.bytes).unwrap();
                    let was_refused = resend(&client, &path, items(ITEMS), CONCURRENCY[seed / 3 % 3]);
                    refused.fetch_add(usize::from(was_refused), Ordering::Relaxed);
                    let all = prompts(&service);
                    let sent: HashSet<String> = all[sent_so_far..].iter().cloned().collect();
                    assert_eq!(sent.len(), all.len() - sent_so_far, "seed {seed}, {}: twice in one run", mutation.name);
                    sent_so_far = all.len();
                    let twice: Vec<_> = journal.sent_before(mutation.cut).intersection(&sent).cloned().collect();
                    assert!(twice.is_empty(), "seed {seed}, {}: sent again silently: {twice:?}", mutation.name);
                    if was_refused {
                        assert_eq!(std::fs::read(&path).unwrap(), mutation.bytes, "seed {seed}: it is not changed");
                    }
                }
            });
        }
    });
    let (refused, rollbacks) = (refused.into_inner(), rollbacks.into_inner());
    assert!(rollbacks < MUTATIONS / 20, "{rollbacks} mutations were none");
    assert!((MUTATIONS / 10..MUTATIONS * 9 / 10).contains(&refused), "{refused} were refused");
}

/// The journal as it would be for a service at another address: its first line and all checksums differ.
fn for_service(journal: &[u8], base_url: &str) -> Vec<u8> {
    let mut out = String::new();
    let mut before = "0000000000000000".to_owned();
    for line in String::from_utf8_lossy(journal).lines() {
        let (body, _) = line.rsplit_once(",\"after\":").unwrap();
        let body = match body.split_once("\"base_url\":\"") {
            Some((head, rest)) => format!("{head}\"base_url\":\"{base_url}\"{}", rest.split_once('"').unwrap().1),
            None => body.to_owned(),
        };
        let body = format!("{body},\"after\":\"{}\"", &before[..8]);
        let digest = ring::digest::digest(&ring::digest::SHA256, body.as_bytes());
        before = digest.as_ref()[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        out += &format!("{body},\"sum\":\"{before}\"}}\n");
    }
    out.into_bytes()
}
