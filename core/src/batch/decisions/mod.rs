//! What a person decides between the runs of a batch: whether messages whose delivery is unknown arrived, and what happens to those
//! that were rejected. Each decision is a line of the journal, and on the disk before it is reported; the next run acts on it.
//!
//! [`decision`] says what may be decided for which item, [`selection`] finds the items that were named, [`desk`] writes decisions,
//! and [`export`] lists every item with what was decided.

pub(crate) mod decision;
pub(crate) mod desk;
pub(crate) mod export;
pub(crate) mod selection;
