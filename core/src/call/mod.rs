//! One call: its requests until one of them settles it, and what its caller sees of it.

pub(crate) mod control;
pub(crate) mod error_body;
pub(crate) mod event;
pub(crate) mod meta;
pub(crate) mod options;
pub(crate) mod prompt;
pub(crate) mod recent_deliveries;
pub(crate) mod request_loop;
pub(crate) mod response;
pub(crate) mod response_text;
pub(crate) mod retry;
pub(crate) mod retry_after;
pub(crate) mod secrets;
pub(crate) mod timings;
