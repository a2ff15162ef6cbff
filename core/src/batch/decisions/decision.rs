//! What a person may decide about an item, and for which items. Pure.

use std::fmt;

use crate::delivery::Delivery;

/// What was decided about an item of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Decision {
    /// It was unknown whether its message arrived, and it did: it counts as accepted, and no run sends it.
    Arrived,
    /// It was unknown whether its message arrived, and it did not: the next run sends it.
    NotArrived,
    /// It is unknown whether its message arrived, and the next run sends it again anyway. **If it did arrive, the agent works
    /// twice.** The message stays unknown unless the service accepts it.
    Resend,
    /// Its message was rejected, and the next run sends it again, with the same prompt or another one.
    Retry,
    /// The batch is done with it: no run sends or reports it.
    Drop,
}

impl Decision {
    pub(crate) const ALL: [Decision; 5] =
        [Decision::Arrived, Decision::NotArrived, Decision::Resend, Decision::Retry, Decision::Drop];

    /// The decision's name in every language and in the journal: `arrived`, `not_arrived`, `resend`, `retry`, `drop`.
    pub fn as_str(self) -> &'static str {
        match self {
            Decision::Arrived => "arrived",
            Decision::NotArrived => "not_arrived",
            Decision::Resend => "resend",
            Decision::Retry => "retry",
            Decision::Drop => "drop",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Decision> {
        Decision::ALL.into_iter().find(|decision| decision.as_str() == name)
    }

    /// Whether it may be decided about an item with this delivery. `is_decided`: something else was decided before, which can still be
    /// changed.
    ///
    /// # Errors
    /// A clause and a hint that say why not.
    pub(crate) fn check(self, delivery: Delivery, is_decided: bool) -> Result<(), (&'static str, &'static str)> {
        use Decision::*;
        match (self, delivery) {
            // It was dropped.
            (Retry, Delivery::NotSent) if is_decided => Ok(()),
            (Arrived | NotArrived | Resend | Drop, Delivery::Unknown) => Ok(()),
            (Retry | Drop, Delivery::Rejected) => Ok(()),
            (Drop, Delivery::NotSent) => Ok(()),
            (_, Delivery::Accepted) => {
                Err(("its message was accepted", "Nothing is left to decide: leave the item out."))
            }
            (Arrived | NotArrived | Resend, Delivery::Rejected) => {
                Err(("its message was rejected, so it did not arrive", "Retry it, or drop it."))
            }
            (Retry, Delivery::Unknown) => {
                Err(("its message was not rejected: it may have arrived", "Check the job, then resolve it."))
            }
            (Arrived | NotArrived | Resend, Delivery::NotSent) if is_decided => {
                Err(("its message was not sent before it was dropped", "Retry it to have it sent, or drop it."))
            }
            (Arrived | NotArrived | Resend | Retry, Delivery::NotSent) => {
                Err(("its message was not sent yet", "The next run sends it: leave the item out, or drop it."))
            }
        }
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Whether a message whose delivery is unknown arrived, or what to do about it; see [`batch_resolve`](crate::batch_resolve).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resolution {
    /// The message arrived.
    Arrived,
    /// It did not arrive; the next run sends it.
    NotArrived,
    /// That is still unknown, and the next run sends it again anyway.
    Resend,
}

impl From<Resolution> for Decision {
    fn from(resolution: Resolution) -> Decision {
        match resolution {
            Resolution::Arrived => Decision::Arrived,
            Resolution::NotArrived => Decision::NotArrived,
            Resolution::Resend => Decision::Resend,
        }
    }
}

impl std::str::FromStr for Resolution {
    type Err = crate::error::Error;

    /// Reads `arrived`, `not_arrived` or `resend`.
    fn from_str(name: &str) -> Result<Resolution, crate::error::Error> {
        let all = [Resolution::Arrived, Resolution::NotArrived, Resolution::Resend];
        all.into_iter().find(|resolution| Decision::from(*resolution).as_str() == name).ok_or_else(|| {
            let reason = format!("resolution is {:?}", crate::text::describe(name));
            crate::error::Error::invalid(reason).with_hint("Give arrived, not_arrived or resend.")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of docs/reference/batches.md: for each delivery, what may be decided.
    #[test]
    fn each_delivery_has_its_decisions() {
        use Decision::*;
        let rows: [(Delivery, bool, &[Decision]); 5] = [
            (Delivery::Unknown, false, &[Arrived, NotArrived, Resend, Drop]),
            (Delivery::Rejected, false, &[Retry, Drop]),
            (Delivery::NotSent, false, &[Drop]),
            (Delivery::NotSent, true, &[Retry, Drop]),
            (Delivery::Accepted, false, &[]),
        ];
        for (delivery, is_decided, allowed) in rows {
            for decision in Decision::ALL {
                let may = decision.check(delivery, is_decided).is_ok();
                assert_eq!(may, allowed.contains(&decision), "{decision} of {delivery}, decided: {is_decided}");
            }
        }
    }

    #[test]
    fn a_name_is_read_back() {
        for decision in Decision::ALL {
            assert_eq!(Decision::from_name(decision.as_str()), Some(decision));
        }
        for resolution in [Resolution::Arrived, Resolution::NotArrived, Resolution::Resend] {
            assert_eq!(Decision::from(resolution).as_str().parse::<Resolution>().unwrap(), resolution);
        }
        let error = "drop".parse::<Resolution>().unwrap_err();
        assert_eq!(error.message(), "resolution is \"drop\". Give arrived, not_arrived or resend.");
    }
}
