//! Which messages the damaged tail of a journal may have been about. A message whose line `sending` is damaged may have been
//! sent, so it must not be sent again. What is left of the line identifies it; otherwise every message that may have been next
//! counts. Pure.

use std::collections::HashSet;

use crate::batch::item::Planned;
use crate::batch::journal::digest::Digest;
use crate::batch::journal::item_history::{ItemHistory, ItemState};
use crate::batch::journal::line::{DECIDED, NUMBERS, RUN, SENDING};
use crate::delivery::Delivery;

const LINE: &[u8] = br#"{"line":""#;
const PROMPT: &[u8] = br#""prompt":""#;
const KEY: &[u8] = br#""key":""#;
/// The kinds of lines that don't say that a message is about to be sent.
const OTHER_KINDS: [&[u8]; 10] = [
    b"numbers",
    b"run",
    b"accepted",
    b"rejected",
    b"not_sent",
    b"unknown",
    b"waiting",
    b"finished",
    b"paused",
    b"decided",
];
/// A digest in hexadecimal digits.
const DIGITS: usize = 32;
/// So many digits of a key that was cut off identify it.
const MIN_KEY_DIGITS: usize = 8;
/// A shorter run of foreign bytes leaves the key or the prompt's digest of a line that it overwrote.
const MIN_HIDING_BYTES: usize = 64;
/// No line has fewer bytes.
const SHORTEST_LINE: usize = 128;

/// How a run sends: its options of these names.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Senders {
    pub(crate) concurrency: u64,
    pub(crate) wait: bool,
    pub(crate) resend_unknown: bool,
}

/// The end of a journal, from the first line on that can't be decoded.
#[derive(Debug)]
pub(crate) struct DamagedTail {
    /// The number of its first line.
    pub(crate) number: u64,
    pub(crate) bytes: Vec<u8>,
}

impl DamagedTail {
    /// The places of the items that may have been about to be sent by the run that wrote the tail.
    pub(crate) fn may_have_sent(
        &self,
        items: &[Planned],
        histories: &[Option<Box<ItemHistory>>],
        senders: Senders,
    ) -> Vec<usize> {
        let mut is_candidate = vec![false; items.len()];
        let mut are_all_identified = true;
        let by_prompt = self.by_prompt(items, histories);
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
            // The item of a line of another kind is not one that was about to be sent.
            let (prompts, own) = (count(piece, PROMPT), usize::from(is_other(piece)));
            let is_identified = match is_recovered(piece) {
                true => prompts <= here.len(),
                false => prompts + own <= here.len() || (own == 1 && prompts == 0),
            };
            are_all_identified &= is_identified && !hides_a_line(piece) && (own == 1 || !here.is_empty());
            here.into_iter().for_each(|at| is_candidate[at] = true);
        }
        if !are_all_identified {
            let in_flight = histories.iter().flatten().filter(|history| history.state == ItemState::Sending).count();
            let mut most = usize::try_from(senders.concurrency).unwrap_or(usize::MAX);
            let is_short = self.bytes.len() < SHORTEST_LINE;
            if is_short {
                // It is less than one line, so no message in flight ended in it.
                most = most.saturating_sub(in_flight);
            }
            next_ones(items, histories, senders, is_short, most).into_iter().for_each(|at| is_candidate[at] = true);
        }
        (0..items.len()).filter(|at| is_candidate[*at] && may_be_sent(&histories[*at])).collect()
    }

    /// The prompts in the tail that only one item has that may be sent, each with the item's place.
    fn by_prompt(&self, items: &[Planned], histories: &[Option<Box<ItemHistory>>]) -> HashSet<(Digest, usize)> {
        let found = digests(&self.bytes);
        let with = |digest: Digest| {
            let mut places =
                (0..items.len()).filter(move |at| items[*at].prompt_digest == digest && may_be_sent(&histories[*at]));
            places.next().filter(|_| places.next().is_none())
        };
        found.into_iter().filter_map(|digest| with(digest).map(|at| (digest, at))).collect()
    }

    /// Whether it can only be a decision that was cut off while it was written: then no message may have been sent, whatever the
    /// list is.
    pub(crate) fn is_cut_decision(&self) -> bool {
        self.is_cut(&[DECIDED])
    }

    /// The same of a line before the first message of a run.
    pub(crate) fn is_cut_beginning(&self) -> bool {
        self.is_cut(&[NUMBERS, RUN])
    }

    /// Whether it is one line that begins like this, and hides no other.
    fn is_cut(&self, beginnings: &[&str]) -> bool {
        let pieces = pieces(&self.bytes);
        let is_it = |piece: &[u8]| beginnings.iter().any(|line| piece.starts_with(line.as_bytes()));
        pieces.len() == 1 && is_it(pieces[0]) && !hides_a_line(pieces[0]) && count(&self.bytes, PROMPT) == 0
    }

    /// The messages that its readable `sending` lines name: item number and job id.
    pub(crate) fn readable_messages(&self) -> Vec<(u64, String)> {
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

/// The items that a sender may have taken next. It takes the first one that is ready; at most `most` others are in flight, and those
/// are before it. Whether an item was ready isn't always certain: such an item may be the next, and doesn't count for those behind it.
/// `is_short`: the tail is less than one line, so it hides nothing that would have made another item ready.
fn next_ones(
    items: &[Planned],
    histories: &[Option<Box<ItemHistory>>],
    senders: Senders,
    is_short: bool,
    most: usize,
) -> Vec<usize> {
    let is_blocking = |history: &ItemHistory| match history.state {
        ItemState::Sending => true,
        ItemState::Ended(Delivery::Unknown) => !senders.resend_unknown,
        ItemState::Ended(Delivery::Accepted) => senders.wait && history.finished_line.is_none(),
        ItemState::Ended(_) | ItemState::Dropped => false,
    };
    let (mut is_blocked, mut is_taken) = (vec![false; items.len()], vec![false; items.len()]);
    for (item, history) in items.iter().zip(histories) {
        is_blocked[item.first_for_job as usize] |= history.as_deref().is_some_and(is_blocking);
    }
    let (mut found, mut certain) = (Vec::new(), 0);
    for (at, item) in items.iter().enumerate() {
        if certain == most {
            break;
        }
        let job = item.first_for_job as usize;
        if is_taken[job] || !may_be_sent(&histories[at]) {
            continue;
        }
        is_taken[job] = true;
        if is_blocked[job] && is_short {
            continue;
        }
        found.push(at);
        // One that was sent before is behind the others after it failed as a probe, or waits for its busy job.
        certain += usize::from(!is_blocked[job] && histories[at].is_none());
    }
    found
}

/// Whether the next run would send an item without asking.
fn may_be_sent(history: &Option<Box<ItemHistory>>) -> bool {
    history.as_ref().is_none_or(|history| history.state == ItemState::Ended(Delivery::NotSent))
}

/// Its lines, also those that lost their line ends.
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
    OTHER_KINDS.iter().any(is) || is_recovered(piece)
}

/// Whether it is a line `recovered`, which names messages that other lines were about.
fn is_recovered(piece: &[u8]) -> bool {
    piece.strip_prefix(LINE).is_some_and(|kind| kind.starts_with(b"recovered\""))
}

/// Whether it may have another line in it: overwritten by zeros or noise, or behind a lost line end.
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
    foreign.is_some_and(|(first, end)| end - first >= MIN_HIDING_BYTES) || count(piece, br#""sum":""#) > 1
}

/// Every digest in it.
fn digests(piece: &[u8]) -> HashSet<Digest> {
    let runs = piece.split(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let windows = runs.flat_map(|run| run.windows(DIGITS));
    windows.filter_map(|digits| Digest::from_hex(std::str::from_utf8(digits).ok()?)).collect()
}

/// The beginning of a key, in a piece that ends within the key.
fn cut_key(piece: &[u8]) -> Option<String> {
    let at = (0..piece.len()).rev().find(|at| piece[*at..].starts_with(KEY))?;
    let digits = &piece[at + KEY.len()..];
    let is_key = (MIN_KEY_DIGITS..DIGITS).contains(&digits.len()) && digits.iter().all(u8::is_ascii_hexdigit);
    is_key.then(|| String::from_utf8_lossy(digits).into_owned())
}

fn count(piece: &[u8], text: &[u8]) -> usize {
    piece.windows(text.len()).filter(|window| *window == text).count()
}

#[cfg(test)]
mod tests;
