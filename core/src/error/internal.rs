//! Errors that are a bug of agentjob: a panic that was caught, or a state that is impossible.

use std::any::Any;

use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};

impl Error {
    /// The error for a panic that was caught. With `delivers` the call was to deliver a message, and because a panic does not
    /// show whether it left, the verdict is `unknown`.
    #[doc(hidden)]
    pub fn internal(what: &str, delivers: bool) -> Error {
        Error::new(ErrorKind::Internal, internal_reason(what))
            .with_hint(INTERNAL_HINT)
            .with_delivery(delivers.then_some(Delivery::Unknown))
    }
}

/// What to do about [`internal_reason`].
pub(crate) const INTERNAL_HINT: &str = "This is a bug in agentjob: please report it.";

/// The reason of an error that a panic, or an impossible state, made.
pub(crate) fn internal_reason(what: &str) -> String {
    format!("agentjob failed internally ({what})")
}

/// The message of a panic that was caught, for [`Error::internal`].
#[doc(hidden)]
pub fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("a panic without a message").to_owned()
}
