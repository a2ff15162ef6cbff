//! The messages of a batch as people keep them in a file: JSON objects, one per line or in an array, or CSV or TSV with a header.

mod columns;
mod csv;
mod csv_items;
mod json_items;
pub(crate) mod options;
pub(crate) mod read;
mod wrong;
