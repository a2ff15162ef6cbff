//! Delivery verdicts: what happened to a message whose call failed.

use std::ffi::{CStr, c_char};

use agentjob_core::Delivery;

use crate::text::name;

/// What happened to a message, or to a job to create, whose call failed; see agentjob_error_delivery().
/// @since 0.1.0
#[repr(i32)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum agentjob_delivery {
    /// The call does not deliver anything.
    AGENTJOB_DELIVERY_NONE = 0,
    /// It was not sent completely: sending it again is safe.
    AGENTJOB_DELIVERY_NOT_SENT = 1,
    /// The service refused it: fix the cause, then send it again.
    AGENTJOB_DELIVERY_REJECTED = 2,
    /// It was sent, and no usable response came: check the job before you send it again.
    AGENTJOB_DELIVERY_UNKNOWN = 3,
    /// The service accepted it: do not send it again.
    AGENTJOB_DELIVERY_ACCEPTED = 4,
}

/// Each of the core's verdicts, or none, with its number and its name.
const VERDICTS: [(Option<Delivery>, agentjob_delivery, &CStr); 5] = {
    use agentjob_delivery::*;
    [
        (None, AGENTJOB_DELIVERY_NONE, c"none"),
        (Some(Delivery::NotSent), AGENTJOB_DELIVERY_NOT_SENT, c"not_sent"),
        (Some(Delivery::Rejected), AGENTJOB_DELIVERY_REJECTED, c"rejected"),
        (Some(Delivery::Unknown), AGENTJOB_DELIVERY_UNKNOWN, c"unknown"),
        (Some(Delivery::Accepted), AGENTJOB_DELIVERY_ACCEPTED, c"accepted"),
    ]
};

impl From<Option<Delivery>> for agentjob_delivery {
    fn from(delivery: Option<Delivery>) -> agentjob_delivery {
        // The test below finds every verdict of the core in the table.
        let row = VERDICTS.iter().find(|row| row.0 == delivery);
        row.map_or(agentjob_delivery::AGENTJOB_DELIVERY_UNKNOWN, |row| row.1)
    }
}

/// A verdict's name, the same in every language: "not_sent", "rejected", "unknown", "accepted"; "none" for
/// AGENTJOB_DELIVERY_NONE.
/// @param delivery any number
/// @return a static text; "?" for a number that is not a verdict
/// @since 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn agentjob_delivery_name(delivery: i32) -> *const c_char {
    name(|| VERDICTS.iter().find(|row| row.1 as i32 == delivery).map(|row| row.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name_of(delivery: i32) -> &'static str {
        // SAFETY: every name is a C literal.
        unsafe { CStr::from_ptr(agentjob_delivery_name(delivery)) }.to_str().unwrap()
    }

    #[test]
    fn every_verdict_has_the_name_that_the_core_gives_it() {
        for delivery in Delivery::ALL {
            assert_eq!(name_of(agentjob_delivery::from(Some(delivery)) as i32), delivery.as_str());
        }
        assert_eq!(name_of(agentjob_delivery::from(None) as i32), "none");
    }

    #[test]
    fn any_other_number_can_be_printed() {
        for number in [-1, 5, i32::MIN, i32::MAX] {
            assert_eq!(name_of(number), "?");
        }
    }
}
