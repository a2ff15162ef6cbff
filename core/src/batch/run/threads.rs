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

    /// Counts the thread that starts the others, until it is done: the first of them to end must not be the last.
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

    /// Joins the threads, which have ended. If one has not, they are left to themselves.
    pub(crate) fn join_threads(&self) {
        if self.lock().threads > 0 {
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
        let mut state = self.engine.lock();
        if state.threads == 1
            // Before it counts as ended, so that who waits for that finds the journal unlocked.
            && let Err(error) = self.engine.journal.close()
        {
            state.fail(error);
        }
        state.thread_ended(self.role);
        drop(state);
        self.engine.notify_owner();
    }
}
