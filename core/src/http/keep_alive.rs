//! How long a connection may have been idle before a request (pure): our own limits, and the service's `Keep-Alive: timeout=5, max=100`
//! (RFC 2068 19.7.1.1, which Apache, nginx and Node still send).

use std::time::Duration;

use crate::text::decimal;

/// How long a connection is kept.
pub(crate) const MAX_IDLE: Duration = Duration::from_secs(30);
/// How long a connection may have been idle before it carries a message: common servers close theirs after 5 s, and a message
/// that crosses that close on the wire would end as `unknown`.
const MAX_IDLE_FOR_POST: Duration = Duration::from_secs(4);
/// How much earlier than the service's timeout the last message goes: the service began to count before its response was here, and
/// the message takes time to arrive. Services also round the seconds up or down.
const MARGIN: Duration = Duration::from_secs(1);

/// What a response's `Keep-Alive` declares.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeepAlive {
    /// The service closes the connection after this many idle seconds.
    pub(crate) timeout: Option<u64>,
    /// The service accepts no further request on it.
    pub(crate) exhausted: bool,
}

impl KeepAlive {
    /// Takes in the value of one field. The shortest timeout counts; a parameter that is unknown or no number does not.
    pub(crate) fn take(&mut self, value: &[u8]) {
        for parameter in value.split(|byte| *byte == b',') {
            let Some(equals) = parameter.iter().position(|byte| *byte == b'=') else { continue };
            let (name, Some(number)) =
                (parameter[..equals].trim_ascii(), decimal(parameter[equals + 1..].trim_ascii()))
            else {
                continue;
            };
            if name.eq_ignore_ascii_case(b"timeout") {
                self.timeout = Some(self.timeout.map_or(number, |shortest| shortest.min(number)));
            } else if name.eq_ignore_ascii_case(b"max") {
                // How many more requests the connection takes, so 1 still allows the next one.
                self.exhausted |= number == 0;
            }
        }
    }

    /// Whether the connection is not worth keeping. A timeout of 0 is one of less than a second: Node and Apache cut off fractions.
    pub(crate) fn is_over(self) -> bool {
        self.exhausted || self.timeout == Some(0)
    }
}

/// Whether a connection that has been idle for so long may carry a request. `timeout` is the service's, in seconds.
///
/// A GET that meets the close is made again, so it needs no margin.
pub(crate) fn may_reuse(idle: Duration, is_post: bool, timeout: Option<u64>) -> bool {
    let timeout = timeout.map(Duration::from_secs);
    match is_post {
        // With a timeout of a second no message is safe, even at once: it may arrive after it.
        true => idle <= MAX_IDLE_FOR_POST && timeout.is_none_or(|timeout| timeout > MARGIN && idle <= timeout - MARGIN),
        false => idle <= MAX_IDLE && timeout.is_none_or(|timeout| idle <= timeout),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_declares_a_timeout_and_whether_the_connection_is_exhausted() {
        for (values, timeout, exhausted) in [
            (&["timeout=5"][..], Some(5), false),
            (&["timeout=5, max=100"], Some(5), false),
            (&["MAX=0 , TimeOut = 7"], Some(7), true),
            (&["max=1"], None, false),
            (&["max=00"], None, true),
            (&["timeout=5", "timeout=3,max=0", "timeout=9"], Some(3), true),
            (&["timeout=0"], Some(0), false),
            (&["timeout=5", "timeout=x"], Some(5), false),
            (
                &[
                    "",
                    ",",
                    "timeout",
                    "timeout=",
                    "=5",
                    "timeout=-1",
                    "timeout=1.5",
                    "timeout=\"5\"",
                    "timeout=5;max=0",
                ],
                None,
                false,
            ),
            (&["timeout=99999999999999999999", "max=99999999999999999999"], None, false),
            (&["xtimeout=1, timeout-x=1, maximum=0, max=x"], None, false),
        ] {
            let mut declared = KeepAlive::default();
            values.iter().for_each(|value| declared.take(value.as_bytes()));
            assert_eq!(declared, KeepAlive { timeout, exhausted }, "{values:?}");
            assert_eq!(declared.is_over(), exhausted || timeout == Some(0), "{values:?}");
        }
    }

    #[test]
    fn a_message_keeps_a_second_away_from_the_services_timeout_and_a_get_does_not() {
        for (timeout, longest_for_post, longest_for_get) in [
            (None, Some(4000), 30_000),
            (Some(u64::MAX), Some(4000), 30_000),
            (Some(60), Some(4000), 30_000),
            (Some(20), Some(4000), 20_000),
            (Some(5), Some(4000), 5000),
            (Some(4), Some(3000), 4000),
            (Some(2), Some(1000), 2000),
            (Some(1), None, 1000),
            (Some(0), None, 0),
        ] {
            let longest = [(true, longest_for_post), (false, Some(longest_for_get))];
            for (is_post, longest) in longest {
                let may = |ms| may_reuse(Duration::from_millis(ms), is_post, timeout);
                match longest {
                    Some(longest) => assert!(may(0) && may(longest) && !may(longest + 1), "{timeout:?}, {is_post}"),
                    None => assert!(!may(0), "{timeout:?}"),
                }
            }
        }
    }
}
