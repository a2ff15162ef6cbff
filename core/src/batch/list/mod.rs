//! The messages of a batch as people keep them in a file: one JSON object per line, or CSV with a header.

pub(crate) mod csv;
pub(crate) mod csv_items;
pub(crate) mod json_items;
pub(crate) mod read;
