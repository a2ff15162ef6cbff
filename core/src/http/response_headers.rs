//! The response's header fields, and what is read of them.

use ureq::http::header::{self, AsHeaderName};
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

use crate::http::keep_alive::KeepAlive;
use crate::redact::Redactor;

/// The fields in which services and gateways return a request id, most specific first.
const REQUEST_IDS: [&str; 6] =
    ["x-request-id", "request-id", "x-correlation-id", "x-amzn-requestid", "x-vercel-id", "cf-ray"];
static KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");
/// The longest request id that is kept, in characters.
const MAX_REQUEST_ID_CHARS: usize = 256;

/// The header fields of a response.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct ResponseHeaders(HeaderMap);

impl ResponseHeaders {
    pub(crate) fn new(fields: HeaderMap) -> ResponseHeaders {
        ResponseHeaders(fields)
    }

    /// Every field: those of one name follow each other, and the names are in the response's order, as `HeaderMap` keeps them (the
    /// tests of `header_fields.rs` hold it).
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.0.iter()
    }

    /// Every printable value of a field, in the response's order; a header may hold any byte.
    pub(crate) fn all(&self, name: impl AsHeaderName) -> impl Iterator<Item = &str> {
        self.0.get_all(name).into_iter().filter_map(|value| value.to_str().ok())
    }

    /// The printable values of a field, one per line. They are redacted together, because a secret may be split over several lines of
    /// one name.
    pub(crate) fn redacted(&self, name: &'static str, redactor: &Redactor<'_>) -> String {
        let values: Vec<&str> = self.all(name).collect();
        redactor.redact(&values.join("\n")).into_owned()
    }

    /// The service's or a gateway's id of the request, from the first of the usual fields that has one.
    pub(crate) fn request_id(&self, redactor: &Redactor<'_>) -> Option<String> {
        let first = |name| self.redacted(name, redactor).lines().next().filter(|id| !id.is_empty()).map(str::to_owned);
        let id = REQUEST_IDS.into_iter().find_map(first)?;
        Some(id.chars().take(MAX_REQUEST_ID_CHARS).collect())
    }

    /// What the response declares about its connection; `None` if senders and receivers disagree about where such a body ends
    /// (RFC 9112 6.3), so that what follows on the connection can't be trusted, and if its `Connection` can't be read: ureq skips such
    /// a value, which may have `close` in it.
    pub(crate) fn keep_alive(&self) -> Option<KeepAlive> {
        let (mut declared, mut codings, mut has_length, mut is_readable) = (KeepAlive::default(), 0, false, true);
        for (name, value) in &self.0 {
            if name == header::TRANSFER_ENCODING {
                codings += 1;
                is_readable &= value.as_bytes().eq_ignore_ascii_case(b"chunked");
            } else if name == header::CONTENT_LENGTH {
                has_length = true;
            } else if name == header::CONNECTION {
                is_readable &= value.to_str().is_ok();
            } else if name == KEEP_ALIVE {
                declared.take(value.as_bytes());
            }
        }
        (is_readable && (codings == 0 || (codings == 1 && !has_length))).then_some(declared)
    }

    #[cfg(test)]
    pub(crate) fn of(fields: &[(&str, &str)]) -> ResponseHeaders {
        let field =
            |(name, value): &(&str, &str)| (name.parse().unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap());
        let mut map = HeaderMap::new();
        for (name, value) in fields.iter().map(field) {
            map.append::<HeaderName>(name, value);
        }
        ResponseHeaders(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_kept_only_after_a_response_whose_end_is_certain() {
        let five = Some(KeepAlive { timeout: Some(5), exhausted: false });
        for (fields, declared) in [
            (&[("content-length", "5")][..], Some(KeepAlive::default())),
            (&[("transfer-encoding", "CHUNKED")], Some(KeepAlive::default())),
            (&[("keep-alive", "timeout=9"), ("keep-alive", "timeout=5")], five),
            (&[("transfer-encoding", "chunked"), ("content-length", "5"), ("keep-alive", "timeout=5")], None),
            (&[("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")], None),
            (&[("transfer-encoding", "gzip, chunked")], None),
            (&[("transfer-encoding", "identity"), ("content-length", "5")], None),
        ] {
            assert_eq!(ResponseHeaders::of(fields).keep_alive(), declared, "{fields:?}");
        }
    }

    #[test]
    fn a_connection_is_not_kept_after_a_connection_field_that_cannot_be_read() {
        for (values, is_kept) in [(["keep-alive", "x"], true), (["keep-alive", "close, é"], false)] {
            let fields = values.map(|value| ("connection", value));
            assert_eq!(ResponseHeaders::of(&fields).keep_alive().is_some(), is_kept, "{values:?}");
        }
    }
}
