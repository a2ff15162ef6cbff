//! Messages whose own result can't be known any more. A run that waits sends a message when its job is done with the one before. An
//! earlier run may not have waited: then the job shows the result of the last message that reached it, and no other's.

use crate::batch::item::Planned;
use crate::batch::journal::item_history::ItemHistory;
use crate::delivery::Delivery;

/// Marks the accepted items whose job's result may be another message's.
pub(crate) fn mark_lost_results(items: &mut [Planned], histories: &[Option<Box<ItemHistory>>]) {
    // Where the journal has the last message that may have reached each job.
    let mut last = vec![0; items.len()];
    for (item, history) in items.iter().zip(histories) {
        if let Some(history) = history.as_deref().filter(|history| history.may_have_arrived()) {
            let last = &mut last[item.first_for_job as usize];
            *last = outcome_at(history).max(*last);
        }
    }
    for (item, history) in items.iter_mut().zip(histories) {
        if let Some(history) = history.as_deref().filter(|history| history.delivery() == Some(Delivery::Accepted)) {
            let is_last = outcome_at(history) == last[item.first_for_job as usize];
            item.lacks_own_result = history.is_accepted_by_decision() || !is_last;
        }
    }
}

/// One without an outcome was interrupted, and its next send decided: it may have arrived after all others.
fn outcome_at(history: &ItemHistory) -> u64 {
    history.outcome_line.map_or(u64::MAX, |line| line.start)
}
