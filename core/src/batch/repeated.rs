//! Finds messages that a list has twice, so that a mistake in the list shows before it costs anything.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::batch::events::BatchUpdate;
use crate::batch::item::BatchItem;

impl BatchItem {
    /// The update [`Repeated`](BatchUpdate::Repeated) of a batch with these items, to have it before the batch begins; `None` if no
    /// two of them have the same job and the same prompt.
    pub fn repeated<'a>(items: impl IntoIterator<Item = &'a BatchItem>) -> Option<BatchUpdate> {
        let (mut seen, mut count, mut first_pair) = (HashMap::new(), 0, None);
        for (number, item) in (1_u64..).zip(items) {
            match seen.entry((item.job_id(), item.prompt())) {
                Entry::Vacant(free) => {
                    free.insert((number, item.line()));
                }
                Entry::Occupied(first) => {
                    count += 1;
                    first_pair.get_or_insert((number, item.line(), *first.get()));
                }
            }
        }
        let (number, line, (first_number, first_line)) = first_pair?;
        Some(BatchUpdate::Repeated { count, number, line, first_number, first_line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_with_the_same_job_and_prompt_are_counted_and_the_first_is_named() {
        let item = BatchItem::new;
        let different = [item("a", "x"), item("a", "y"), item("b", "x"), item("ax", "")];
        assert!(BatchItem::repeated(&different).is_none());
        let items = [item("b", "x"), item("a", "x").with_line(4), item("a", "x").with_key("k").with_line(9)];
        let items = [&items[..], &items[..2], &different[..1]].concat();
        match BatchItem::repeated(&items) {
            Some(BatchUpdate::Repeated { count, number, line, first_number, first_line }) => {
                assert_eq!((count, number, line, first_number, first_line), (4, 3, Some(9), 2, Some(4)));
            }
            other => panic!("{other:?}"),
        }
    }
}
