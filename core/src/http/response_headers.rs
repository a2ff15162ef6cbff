//! The response's header fields that matter when something went wrong.

use crate::http::response_head::{Field, REQUEST_IDS};
use crate::redact::Redactor;

/// The longest request id that is kept, in characters.
const MAX_REQUEST_ID_CHARS: usize = 256;

/// The header fields that were kept of a response.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ResponseHeaders(Vec<Field>);

impl ResponseHeaders {
    pub(crate) fn new(fields: Vec<Field>) -> ResponseHeaders {
        ResponseHeaders(fields)
    }

    /// Every value of a field, in the response's order.
    pub(crate) fn all(&self, name: &'static str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(kept, _)| *kept == name).map(|(_, value)| value.as_str())
    }

    /// A field's first value if it is printable; a header may hold any byte.
    pub(crate) fn text(&self, name: &'static str) -> Option<&str> {
        self.all(name).next().filter(|value| is_printable(value))
    }

    /// Every printable value of a field, one per line. They are redacted together, because a secret may be split over several
    /// lines of one name.
    pub(crate) fn redacted(&self, name: &'static str, redactor: &Redactor<'_>) -> String {
        let values: Vec<&str> = self.all(name).filter(|value| is_printable(value)).collect();
        redactor.redact(&values.join("\n")).into_owned()
    }

    /// The service's or a gateway's id of the request, from the first of the usual fields that has one.
    pub(crate) fn request_id(&self, redactor: &Redactor<'_>) -> Option<String> {
        let first = |name| self.redacted(name, redactor).lines().next().filter(|id| !id.is_empty()).map(str::to_owned);
        let id = REQUEST_IDS.into_iter().find_map(first)?;
        Some(id.chars().take(MAX_REQUEST_ID_CHARS).collect())
    }

    #[cfg(test)]
    pub(crate) fn of(fields: &[(&'static str, &'static str)]) -> ResponseHeaders {
        ResponseHeaders(fields.iter().map(|(name, value)| (*name, (*value).to_owned())).collect())
    }
}

fn is_printable(value: &str) -> bool {
    value.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t'))
}
