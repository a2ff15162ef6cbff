//! What a batch reports to its owner, in the order in which it happened.

use std::collections::VecDeque;

use crate::batch::events::{BatchEvent, BatchUpdate};
use crate::call::event::Event;

/// The most events of calls that are kept for an owner who does not take them. Outcomes and updates are all kept.
const MAX_CALL_EVENTS: usize = 10_000;

/// What the owner has not taken yet.
#[derive(Debug, Default)]
pub(crate) struct EventQueue {
    events: VecDeque<BatchEvent>,
    /// How many of them are events of calls.
    call_events: usize,
}

impl EventQueue {
    pub(crate) fn push(&mut self, event: BatchEvent) {
        self.events.push_back(event);
    }

    pub(crate) fn update(&mut self, update: BatchUpdate) {
        self.push(BatchEvent::Update(update));
    }

    /// Adds an event of a call, unless too many of them are there.
    pub(crate) fn call(&mut self, event: Event<'static>) {
        if self.call_events < MAX_CALL_EVENTS {
            self.call_events += 1;
            self.push(BatchEvent::Call(event));
        }
    }

    pub(crate) fn pop(&mut self) -> Option<BatchEvent> {
        let event = self.events.pop_front()?;
        self.call_events -= usize::from(matches!(event, BatchEvent::Call(_)));
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_calls_are_bounded_and_nothing_else_is() {
        let mut queue = EventQueue::default();
        for _ in 0..MAX_CALL_EVENTS + 5 {
            queue.call(Event::Resumed);
            queue.update(BatchUpdate::Resumed);
        }
        let (mut calls, mut updates) = (0, 0);
        while let Some(event) = queue.pop() {
            match event {
                BatchEvent::Call(_) => calls += 1,
                _ => updates += 1,
            }
        }
        assert_eq!((calls, updates), (MAX_CALL_EVENTS, MAX_CALL_EVENTS + 5));
        queue.call(Event::Resumed);
        assert!(queue.pop().is_some(), "there is room again");
    }
}
