//! The messages of a batch as people keep them in a file: one JSON object per line, or CSV with a header.

mod csv;
mod csv_items;
mod json_items;
pub(crate) mod read;
