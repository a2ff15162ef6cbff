//! A response's body, read up to a limit.

use std::io::{self, Read};
use std::time::Duration;

use crate::http::call_in_flight::CallInFlight;
use crate::http::cause::Cause;

/// How much of an error's body is read.
pub(crate) const MAX_ERROR_BODY_BYTES: usize = 64 << 10;
/// How long to wait for an error's body once its head has been read: the status decides everything, and the caller should have
/// the error within a second.
pub(crate) const MAX_ERROR_BODY_TIME: Duration = Duration::from_millis(900);
/// The first allocation for a body of unknown length.
const USUAL_BODY_BYTES: u64 = 1 << 10;
/// The largest first allocation, whatever length the response declares.
const MAX_FIRST_BODY_BYTES: u64 = 64 << 10;

/// Reads the body up to `limit` bytes, and returns why it is incomplete, if it is.
pub(crate) fn read(body: &mut ureq::Body, limit: usize, call: &CallInFlight) -> (Vec<u8>, Option<Cause>) {
    let length = body.content_length().map_or(USUAL_BODY_BYTES, |length| length.min(MAX_FIRST_BODY_BYTES));
    // ureq's own limit also fails at exactly the limit; one byte more tells "as long" from "longer".
    let mut reader = body.with_config().limit(limit as u64 + 2).reader();
    let mut whole = Vec::new();
    let mut more = length as usize + 1;
    let cut = loop {
        let room = more.min(limit + 1 - whole.len());
        if whole.try_reserve_exact(room).is_err() {
            break Some(Cause::NoMemory { bytes: whole.len() + room });
        }
        match reader.by_ref().take(room as u64).read_to_end(&mut whole) {
            Err(error) => break Some(call.take_failure().unwrap_or_else(|| cut_short(&error))),
            Ok(_) if whole.len() > limit => break Some(Cause::TooLarge { limit }),
            Ok(n) if n < room => break None,
            // Grows by half, so that little memory goes unused.
            Ok(_) => more = whole.len() / 2 + 1,
        }
    };
    whole.truncate(limit);
    (whole, cut)
}

/// Why ureq could not read the body, where our transport saw no failure.
fn cut_short(error: &io::Error) -> Cause {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<ureq::Error>());
    match inner {
        Some(ureq::Error::Protocol(_)) => Cause::Garbled("its body is not HTTP/1.1".to_owned()),
        _ => Cause::Lost("the response ended too early".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of this length, as its response declares it or not; what is read of it up to the limit.
    fn read_of(length: usize, declared: bool, limit: usize) -> (Vec<u8>, Option<Cause>) {
        let builder = ureq::Body::builder();
        let mut body = match declared {
            true => builder.data(text(length)),
            false => builder.reader(io::Cursor::new(text(length))),
        };
        assert_eq!(body.content_length(), declared.then_some(length as u64));
        read(&mut body, limit, &CallInFlight::for_test())
    }

    fn text(length: usize) -> Vec<u8> {
        (0..length).map(|n| (n % 251) as u8).collect()
    }

    #[test]
    fn a_body_is_read_up_to_the_limit_and_said_to_be_longer_only_if_it_is() {
        for limit in [0, 1, 2, 100, 5_000, 100_000] {
            for length in [0, 1, 2, 99, 100, 101, 4_999, 5_000, 5_001, 99_999, 100_000, 100_001, 300_000] {
                for declared in [true, false] {
                    let (whole, cut) = read_of(length, declared, limit);
                    assert_eq!(whole, text(length.min(limit)), "{length}, {declared}, {limit}");
                    assert_eq!(
                        cut,
                        (length > limit).then_some(Cause::TooLarge { limit }),
                        "{length}, {declared}, {limit}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_body_takes_as_much_memory_as_was_declared_or_grows_by_half() {
        for (length, declared, takes) in [
            (1_000, true, 1_001),
            (10, false, 1_025),
            (1_100, false, 1_025 + 513),
            // At first not more than 64 KiB, whatever was declared.
            (100_000, true, 65_537 + 32_769 + 49_154),
        ] {
            let (whole, cut) = read_of(length, declared, 1 << 20);
            assert_eq!((whole.len(), whole.capacity(), cut), (length, takes, None), "declared: {declared}");
        }
    }
}
