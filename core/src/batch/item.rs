//! The messages of a batch, checked before the first is sent.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::Arc;

use crate::batch::item_limits::{check_extra, check_key};
use crate::batch::journal::digest::Digest;
use crate::error::Error;
use crate::error::sentence::item_name;
use crate::operation::Operation;
use crate::text::describe;

/// One message of a batch.
#[derive(Clone, PartialEq, Eq)]
#[must_use]
pub struct BatchItem {
    job_id: Box<str>,
    prompt: Box<str>,
    key: Option<Box<str>>,
    line: Option<u64>,
    extra: Option<Arc<str>>,
}

impl BatchItem {
    /// The fields that an item has in a list or a mapping.
    pub const FIELDS: [&str; 3] = ["job_id", "prompt", "key"];

    /// A message to a job.
    ///
    /// Without a [key](BatchItem::with_key) the item is known by its content and its place in the list: the same message at two
    /// places is two messages.
    pub fn new(job_id: impl Into<Box<str>>, prompt: impl Into<Box<str>>) -> BatchItem {
        BatchItem { job_id: job_id.into(), prompt: prompt.into(), key: None, line: None, extra: None }
    }

    /// A name that is unique in the batch: 1 to 1024 bytes, without white space or invisible characters around it. An item with a key
    /// is known by it at any place in the list.
    pub fn with_key(mut self, key: impl Into<Box<str>>) -> BatchItem {
        self.key = Some(key.into());
        self
    }

    /// The line of the file that the item is from, counted from 1. Errors then name it.
    pub fn with_line(mut self, line: u64) -> BatchItem {
        self.line = Some(line);
        self
    }

    /// Metadata of your own: any JSON value, as text, of at most 4096 bytes. The item's outcome has it again. It is neither sent
    /// nor written to the journal, so that each run of a journal hands back what its own list has.
    pub fn with_extra(mut self, json: impl Into<Arc<str>>) -> BatchItem {
        self.extra = Some(json.into());
        self
    }

    /// Checks whether this may be a message's metadata, for callers that report what is wrong at once. `send_all` checks it, too.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument): it is not JSON, or too long.
    pub fn check_extra(json: &str) -> Result<(), Error> {
        check_extra(json)
    }

    /// The job that the message is for.
    pub fn job_id(&self) -> &str {
        &self.job_id
    }

    /// The message.
    pub fn prompt(&self) -> &str {
        &self.prompt
    }

    /// The item's own key, if it was given one.
    pub fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// The line of the file that the item is from, if it is from one.
    pub fn line(&self) -> Option<u64> {
        self.line
    }

    /// The item's own metadata, as JSON text, if it was given any.
    pub fn extra(&self) -> Option<&str> {
        self.extra.as_deref()
    }
}

/// Without the prompt, which must not be logged, and the metadata, which may be long.
impl fmt::Debug for BatchItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BatchItem")
            .field("job_id", &self.job_id)
            .field("key", &self.key)
            .field("line", &self.line)
            .finish_non_exhaustive()
    }
}

/// An item of a batch that was checked.
pub(crate) struct Planned {
    item: BatchItem,
    /// Its identity in the journal.
    pub(crate) id: Digest,
    pub(crate) prompt_digest: Digest,
    /// The next item for the same job, which is not sent before this one has ended.
    pub(crate) next_for_job: Option<u32>,
    /// The first item for the same job, which may be this one.
    pub(crate) first_for_job: u32,
    /// Whether its job's result may be another message's.
    pub(crate) lacks_own_result: bool,
}

impl Planned {
    pub(crate) fn item(&self) -> &BatchItem {
        &self.item
    }

    pub(crate) fn job_id(&self) -> &str {
        &self.item.job_id
    }

    pub(crate) fn prompt(&self) -> &str {
        &self.item.prompt
    }

    pub(crate) fn line(&self) -> Option<u64> {
        self.item.line
    }

    pub(crate) fn extra(&self) -> Option<Arc<str>> {
        self.item.extra.clone()
    }

    /// The caller's key, or the derived one.
    pub(crate) fn key(&self) -> Box<str> {
        self.item.key.clone().unwrap_or_else(|| self.id.to_string().into())
    }

    pub(crate) fn own_key(&self) -> Option<&str> {
        self.item.key.as_deref()
    }

    pub(crate) fn has_own_key(&self) -> bool {
        self.item.key.is_some()
    }

    /// Sends this prompt instead of the list's.
    pub(crate) fn replace_prompt(&mut self, prompt: &str, digest: Digest) {
        self.item.prompt = prompt.into();
        self.prompt_digest = digest;
    }
}

/// The items for one job, from this one on.
pub(crate) fn chain(items: &[Planned], from: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(from), |at| items[*at as usize].next_for_job)
}

/// The identity in the journal of an item without a key.
pub(crate) fn derived_id(number: u64, job_id: &str, prompt: &str) -> Digest {
    Digest::of(&[b"place", &number.to_le_bytes(), job_id.as_bytes(), prompt.as_bytes()])
}

/// Checks the items of a list in their order: each by itself, and its key against those of the items before it. It is the one
/// place that says what an item may be, for a list in a file and for items from a program.
pub(crate) struct ItemChecks {
    max_prompt_bytes: usize,
    checked: usize,
    /// What the item with each key is called.
    keys: HashMap<Digest, (Option<u64>, u32)>,
}

impl ItemChecks {
    pub(crate) fn new(max_prompt_bytes: usize) -> ItemChecks {
        ItemChecks { max_prompt_bytes, checked: 0, keys: HashMap::new() }
    }

    /// Checks the next item. Returns its identity in the journal, or what is wrong with it.
    pub(crate) fn check(&mut self, item: &BatchItem) -> Result<Digest, Error> {
        let at = self.checked;
        let place = place(at)?;
        self.checked += 1;
        let message = Operation::SendMessage { job_id: &item.job_id, prompt: (&*item.prompt).into() };
        message.check(self.max_prompt_bytes)?;
        item.extra.as_deref().map_or(Ok(()), check_extra)?;
        let Some(key) = &item.key else {
            return Ok(derived_id(at as u64 + 1, &item.job_id, &item.prompt));
        };
        check_key(key)?;
        let id = Digest::of(&[b"key", key.as_bytes()]);
        match self.keys.entry(id) {
            Entry::Occupied(first) => {
                let (line, place) = *first.get();
                let first = item_name(u64::from(place) + 1, line);
                let reason = format!("key {:?} is also the key of {first}", describe(key));
                Err(Error::invalid(reason).with_hint("Give each item its own key."))
            }
            Entry::Vacant(free) => {
                free.insert((item.line, place));
                Ok(id)
            }
        }
    }
}

/// Checks every item, and notes which are for the same job.
///
/// # Errors
/// `InvalidArgument`, which names the item by its line or its number, from 1.
pub(crate) fn plan(items: impl IntoIterator<Item = BatchItem>, max_prompt_bytes: usize) -> Result<Vec<Planned>, Error> {
    let mut planned: Vec<Planned> = Vec::new();
    let mut checks = ItemChecks::new(max_prompt_bytes);
    let mut last_for_job: HashMap<Digest, u32> = HashMap::new();
    for item in items {
        let at = planned.len();
        let in_item = |error: Error| error.in_item(at as u64 + 1, item.line);
        let id = checks.check(&item).map_err(in_item)?;
        let place = place(at).map_err(in_item)?;
        let previous = last_for_job.insert(Digest::of(&[item.job_id.as_bytes()]), place);
        let first_for_job = previous.map_or(place, |previous| {
            let previous = &mut planned[previous as usize];
            previous.next_for_job = Some(place);
            previous.first_for_job
        });
        let prompt_digest = Digest::of(&[item.prompt.as_bytes()]);
        planned.push(Planned { item, id, prompt_digest, next_for_job: None, first_for_job, lacks_own_result: false });
    }
    Ok(planned)
}

/// An item's place, counted from 0, as the batch keeps it.
fn place(at: usize) -> Result<u32, Error> {
    u32::try_from(at).map_err(|_| Error::invalid("a batch can have at most 4294967295 items"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(job_id: &str, prompt: &str) -> BatchItem {
        BatchItem::new(job_id, prompt)
    }

    #[test]
    fn a_bad_item_is_named_with_what_is_wrong() {
        let good = item("job_1", "p").with_key("a").with_line(3);
        let rows = [
            (item("", "p"), "item 2: job_id is empty"),
            (item("job_1", "").with_line(17), "line 17: prompt is empty"),
            (item("job_1", "123456").with_line(17), "line 17: prompt is 6 bytes long. At most 5"),
            (item("job_1", "p").with_key("").with_line(4), "line 4: key is empty"),
            (item("job_1", "p").with_key("x".repeat(1025)), "item 2: key is 1025 bytes long"),
            (item("job_1 ", "p"), "item 2: job_id ends with white space (U+0020)"),
            (item("job_1", "p").with_key("k\u{200b}"), "item 2: key ends with an invisible character (U+200B)"),
            (
                item("job_1", "p").with_extra("{,}"),
                "item 2: extra is not JSON (key must be a string at line 1 column 2). Give the text of one JSON value.",
            ),
            (
                item("job_1", "p").with_line(9).with_extra(format!("\"{}\"", "x".repeat(4095))),
                "line 9: extra is 4097 bytes long. At most 4096 bytes of JSON are allowed.",
            ),
            (item("job_1", "q").with_key("a").with_line(4), "line 4: key \"a\" is also the key of line 3"),
        ];
        for (bad, start) in rows {
            let error = plan([good.clone(), bad], 5).err().unwrap();
            assert!(error.message().starts_with(start), "{error}");
        }
    }

    #[test]
    fn an_item_without_a_key_is_known_by_content_and_place() {
        let ids = |items: &[BatchItem]| -> Vec<Digest> {
            plan(items.iter().cloned(), 100).unwrap().iter().map(|planned| planned.id).collect()
        };
        let twice = ids(&[item("j", "p"), item("j", "p")]);
        assert_ne!(twice[0], twice[1], "the same message at two places is two messages");
        assert_eq!(ids(&[item("j", "p").with_line(9)])[0], twice[0], "the line is only a name");
        assert_ne!(ids(&[item("j", "q")])[0], twice[0]);
        assert_ne!(ids(&[item("k", "p")])[0], twice[0]);
        let keyed = ids(&[item("j", "p").with_key("k"), item("j", "p").with_key("l")]);
        assert_eq!(ids(&[item("j", "p").with_key("l"), item("j", "p").with_key("k")]), [keyed[1], keyed[0]]);
        let digest = twice[0].to_string();
        assert_ne!(ids(&[item("j", "p").with_key(digest)])[0], twice[0], "a key cannot pass for a derived one");
    }

    #[test]
    fn the_messages_of_one_job_are_a_chain() {
        let planned = plan([item("a", "1"), item("b", "1"), item("a", "2"), item("a", "3")], 100).unwrap();
        let chain: Vec<_> = planned.iter().map(|p| (p.first_for_job, p.next_for_job)).collect();
        assert_eq!(chain, [(0, Some(2)), (1, None), (0, Some(3)), (0, None)]);
    }
}
