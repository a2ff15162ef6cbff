//! The threads of a batch: how they start, are counted, and are joined.

use std::io;
use std::sync::{Arc, PoisonError};
use std::thread::{self, Builder};

use crate::batch::run::engine::Engine;
use crate::batch::run::state::Role;
use crate::error::Error;
use crate::os;

/// What a thread of a batch runs: `sender::run` or `job_waiters::run`.
pub(crate) type Body = fn(&Arc<Engine>);

impl Engine {
    /// Counts and starts a thread.
    pub(crate) fn start(self: &Arc<Engine>, role: Role, body: Body) -> io::Result<()> {
        self.lock().thread_started(role);
        self.spawn(role, body)
    }

    /// Counts the calling thread while it starts the others. Otherwise one that ends before the next one starts would close the journal.
    pub(crate) fn count_this_thread(&self) -> impl Drop {
        self.lock().thread_started(Role::Sender);
        ThreadGuard { engine: self, role: Role::Sender }
    }

    /// Starts a thread that is counted already. If that fails it is counted no more.
    pub(crate) fn spawn(self: &Arc<Engine>, role: Role, body: Body) -> io::Result<()> {
        let engine = Arc::clone(self);
        let builder = Builder::new().name("agentjob-batch".to_owned());
        let thread = os::thread::spawn(builder, move || {
            let _guard = ThreadGuard { engine: &engine, role };
            body(&engine);
        });
        match thread {
            Ok(thread) => {
                self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
                Ok(())
            }
            Err(error) => {
                drop(ThreadGuard { engine: self, role });
                Err(error)
            }
        }
    }

    /// Joins the threads if all have ended; otherwise does nothing.
    pub(crate) fn join_threads(&self) {
        if !self.lock().is_closed {
            return;
        }
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        for thread in threads {
            // A panic is in the state already.
            drop(thread.join());
        }
    }
}

/// Reports the end of a thread, also if it panics.
struct ThreadGuard<'a> {
    engine: &'a Engine,
    role: Role,
}

impl Drop for ThreadGuard<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.engine.stop(Some(Error::internal("a batch's thread failed", false)));
        }
        if self.engine.lock().thread_ended(self.role) == 0 {
            // Without the lock: others ask for the progress while the disk works.
            let closed = self.engine.journal.close();
            let mut state = self.engine.lock();
            state.is_closed = true;
            if let Err(error) = closed {
                state.fail(error);
            }
        }
        self.engine.notify_owner();
    }
}
