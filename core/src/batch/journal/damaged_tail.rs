//! What the damaged end of a journal may have said. A message whose line `sending` is damaged may have been sent, so
//! whatever is left of it is used, and what is not is guessed to the safe side. Pure.

use std::collections::HashSet;

use crate::batch::item::Planned;
use crate::batch::journal::digest::Digest;
use crate::batch::journal::format::SENDING;
use crate::batch::journal::history::{Entry, Past};
use crate::delivery::Delivery;

const LINE: &[u8] = br#"{"line":""#;
const PROMPT: &[u8] = br#""prompt":""#;
const KEY: &[u8] = br#""key":""#;
/// The kinds of which no line says that a message is about to leave.
const OTHERS: [&[u8]; 8] =
    [b"run", b"accepted", b"rejected", b"not_sent", b"unknown", b"waiting", b"finished", b"paused"];
/// A digest in hexadecimal digits.
const DIGITS: usize = 32;
/// So many digits of a key that was cut off tell it from every other one.
const ENOUGH_DIGITS: usize = 8;
/// A shorter stretch of what no line holds leaves the key or the prompt's digest of a line that was there.
const HIDING: usize = 64;
/// No line is shorter.
const SHORTEST_LINE: usize = 128;

/// The end of a journal from its first line on that cannot be read.
#[derive(Debug)]
pub(crate) struct Tail {
    /// The number of its first line.
    pub(crate) number: u64,
    pub(crate) bytes: Vec<u8>,
}

impl Tail {
    /// The places of the items that may have been about to leave in it: none of these may be sent again as if nothing had been.
    ///
    /// `concurrency`: of the run that wrote it.
    pub(crate) fn may_have_sent(&self, items: &[Planned], entries: &[Option<Entry>], concurrency: u64) -> Vec<usize> {
        let mut named = vec![false; items.len()];
        let mut all_told = true;
        let by_prompt = self.by_prompt(items, entries);
        for piece in pieces(&self.bytes) {
            let (digests, beginning) = (digests(piece), cut_key(piece));
            let is_named = |at: usize| {
                let item = &items[at];
                let is_beginning =
                    || beginning.as_ref().is_some_and(|key| item.id.to_string().starts_with(key.as_str()));
                digests.contains(&item.id)
                    || by_prompt.contains(&(item.prompt_digest, at)) && digests.contains(&item.prompt_digest)
                    || is_beginning()
            };
            let here: Vec<usize> = (0..items.len()).filter(|at| is_named(*at)).collect();
            // Of another kind's item a second one must be told apart.
            let (prompts, own) = (count(piece, PROMPT), usize::from(is_other(piece)));
            let is_told = match is_recovered(piece) {
                true => prompts <= here.len(),
                false => prompts + own <= here.len() || (own == 1 && prompts == 0),
            };
            all_told &= is_told && !hides_a_line(piece) && (own == 1 || !here.is_empty());
            here.into_iter().for_each(|at| named[at] = true);
        }
        if !all_told {
            let in_flight = entries.iter().flatten().filter(|entry| entry.past == Past::Sending).count();
            let mut most = usize::try_from(concurrency).unwrap_or(usize::MAX);
            if self.bytes.len() < SHORTEST_LINE {
                // It is less than one line: no other message ended in it.
                most = most.saturating_sub(in_flight);
            }
            next_ones(items, entries, most).into_iter().for_each(|at| named[at] = true);
        }
        (0..items.len()).filter(|at| named[*at] && may_be_sent(&entries[*at])).collect()
    }

    /// The prompts that only one item has which may be sent, with its place.
    fn by_prompt(&self, items: &[Planned], entries: &[Option<Entry>]) -> HashSet<(Digest, usize)> {
        let found = digests(&self.bytes);
        let with = |digest: Digest| {
            let mut places =
                (0..items.len()).filter(move |at| items[*at].prompt_digest == digest && may_be_sent(&entries[*at]));
            places.next().filter(|_| places.next().is_none())
        };
        found.into_iter().filter_map(|digest| with(digest).map(|at| (digest, at))).collect()
    }

    /// What a line `sending` in it says of its message, as far as it can be read: the item's number and its job's id.
    pub(crate) fn says(&self) -> Vec<(u64, String)> {
        let sending = pieces(&self.bytes).into_iter().filter(|piece| piece.starts_with(SENDING.as_bytes()));
        sending
            .filter_map(|piece| {
                let text = String::from_utf8_lossy(piece);
                let number = text.split_once(r#""item":"#)?.1.split_once(',')?.0.parse().ok()?;
                let job = text.split_once(r#""job_id":""#)?.1.split_once("\",")?.0;
                Some((number, serde_json::from_str(&format!("\"{job}\"")).ok()?))
            })
            .collect()
    }
}

/// The items that a sender takes next. It takes the first one of those whose job is not waited for, and those before it are with
/// other senders or have waited for a sender since; so among the first `most` of each way to count is the one that was taken.
fn next_ones(items: &[Planned], entries: &[Option<Entry>], most: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let not_begun = |at: &usize| entries[*at].is_none();
    found.extend(ready(items, entries, true).take(most));
    found.extend(ready(items, entries, false).take(most));
    // An item that failed goes behind the others.
    found.extend(ready(items, entries, true).filter(not_begun).take(most));
    found.extend(ready(items, entries, false).filter(not_begun).take(most));
    found
}

/// The first item of each job that may be sent, in the order of the list. `behind`: whether one waits for a message in flight.
fn ready<'a>(items: &'a [Planned], entries: &'a [Option<Entry>], behind: bool) -> impl Iterator<Item = usize> + 'a {
    let mut taken = vec![false; items.len()];
    (0..items.len()).filter(move |at| {
        let first = items[*at].first_for_job as usize;
        let in_flight = entries[*at].as_ref().is_some_and(|entry| entry.past == Past::Sending);
        let is_next = !taken[first] && may_be_sent(&entries[*at]);
        taken[first] |= is_next || (behind && in_flight);
        is_next
    })
}

/// Whether the next run would send an item without a word.
fn may_be_sent(entry: &Option<Entry>) -> bool {
    entry.as_ref().is_none_or(|entry| entry.past == Past::Ended(Delivery::NotSent))
}

/// The lines of it, also those that lost their end.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let mut starts: Vec<usize> =
        (0..bytes.len()).filter(|at| *at == 0 || bytes[at - 1] == b'\n' || bytes[*at..].starts_with(LINE)).collect();
    starts.push(bytes.len());
    let piece = |pair: &[usize]| bytes[pair[0]..pair[1]].strip_suffix(b"\n").unwrap_or(&bytes[pair[0]..pair[1]]);
    let mut pieces: Vec<&[u8]> = Vec::new();
    for pair in starts.windows(2) {
        pieces.push(piece(pair));
    }
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

/// Whether it is a line of another kind than `sending`, whatever else is wrong with it.
fn is_other(piece: &[u8]) -> bool {
    let kind = piece.strip_prefix(LINE);
    let is =
        |other: &&[u8]| kind.and_then(|kind| kind.strip_prefix(*other)).is_some_and(|rest| rest.starts_with(b"\""));
    OTHERS.iter().any(is) || is_recovered(piece)
}

/// It names messages that another line was about.
fn is_recovered(piece: &[u8]) -> bool {
    piece.strip_prefix(LINE).is_some_and(|kind| kind.starts_with(b"recovered\""))
}

/// Whether another line may have been where something else is now, zeros or noise, or was behind its end.
fn hides_a_line(piece: &[u8]) -> bool {
    let (mut at, mut foreign) = (0, None);
    for chunk in piece.utf8_chunks() {
        for (place, byte) in chunk.valid().bytes().enumerate() {
            if byte.is_ascii_control() {
                foreign = Some((foreign.map_or(at + place, |(first, _)| first), at + place + 1));
            }
        }
        at += chunk.valid().len() + chunk.invalid().len();
        if !chunk.invalid().is_empty() {
            foreign = Some((foreign.map_or(at - chunk.invalid().len(), |(first, _)| first), at));
        }
    }
    foreign.is_some_and(|(first, end)| end - first >= HIDING) || count(piece, br#""sum":""#) > 1
}

/// Every digest in it.
fn digests(piece: &[u8]) -> HashSet<Digest> {
    let runs = piece.split(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let windows = runs.flat_map(|run| run.windows(DIGITS));
    windows.filter_map(|digits| Digest::from_hex(std::str::from_utf8(digits).ok()?)).collect()
}

/// The beginning of a key in a piece that ends within it.
fn cut_key(piece: &[u8]) -> Option<String> {
    let at = (0..piece.len()).rev().find(|at| piece[*at..].starts_with(KEY))?;
    let digits = &piece[at + KEY.len()..];
    let is_key = (ENOUGH_DIGITS..DIGITS).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
    is_key.then(|| String::from_utf8_lossy(digits).into_owned())
}

fn count(piece: &[u8], text: &[u8]) -> usize {
    piece.windows(text.len()).filter(|window| *window == text).count()
}

#[cfg(test)]
mod tests;
