//! What the emulator and its connections share.

use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::config::Config;
use crate::state::State;
use crate::wire::Tls;

pub(crate) struct Shared {
    state: Mutex<State>,
    /// What `POST /_emulator/reset` restores.
    pub(crate) initial: Config,
    pub(crate) tls: Option<Tls>,
    stopping: AtomicBool,
    open: Mutex<Open>,
    emptied: Condvar,
}

/// The open connections, by a number that is never used twice.
#[derive(Default)]
struct Open {
    next: u64,
    sockets: HashMap<u64, Arc<TcpStream>>,
}

/// A connection's entry among the open ones, removed when the connection's thread ends.
pub(crate) struct Seat {
    shared: Arc<Shared>,
    number: u64,
}

impl Shared {
    pub(crate) fn new(config: Config, tls: Option<Tls>) -> Self {
        Self {
            state: Mutex::new(State::new(config.clone())),
            initial: config,
            tls,
            stopping: AtomicBool::new(false),
            open: Mutex::default(),
            emptied: Condvar::new(),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::SeqCst)
    }

    pub(crate) fn seat(self: &Arc<Self>, tcp: Arc<TcpStream>) -> Seat {
        let mut open = lock(&self.open);
        open.next += 1;
        let number = open.next;
        open.sockets.insert(number, tcp);
        Seat { shared: Arc::clone(self), number }
    }

    pub(crate) fn open_connections(&self) -> usize {
        lock(&self.open).sockets.len()
    }

    /// Ends every open connection. A shutdown wakes whatever its thread blocks on: a read, a write or a stall.
    pub(crate) fn end_connections(&self, patience: Duration) {
        let open = lock(&self.open);
        for tcp in open.sockets.values() {
            let _ = tcp.shutdown(Shutdown::Both);
        }
        let _ = self.emptied.wait_timeout_while(open, patience, |open| !open.sockets.is_empty());
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = lock(&self.shared.open);
        open.sockets.remove(&self.number);
        if open.sockets.is_empty() {
            self.shared.emptied.notify_all();
        }
    }
}

/// Ignores poisoning: a thread that panics leaves the state usable.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
