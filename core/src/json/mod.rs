//! JSON kept as text: checked in one pass, passed on as it came, and parsed further only on demand.

pub(crate) mod compact;
pub(crate) mod fingerprint;
pub(crate) mod scan;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod tokens;
pub(crate) mod value;
