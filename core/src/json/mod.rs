//! JSON as the text that it is: checked in one pass, passed on as it came, and taken apart only when a caller asks.

pub(crate) mod compact;
pub(crate) mod fingerprint;
pub(crate) mod scan;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod tokens;
pub(crate) mod value;
