//! What a batch's threads do: send, note, look. Every message goes the same way: its line `sending` is on the disk before its
//! first byte can leave, and its outcome is there before the thread takes another.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::batch::events::{BatchOutcome, BatchUpdate};
use crate::batch::item::Planned;
use crate::batch::journal::clock::Clock;
use crate::batch::journal::encode::Writer;
use crate::batch::journal::entry;
use crate::batch::journal::file::Journal;
use crate::batch::journal::reason::refused_again;
use crate::batch::journal::replay::Span;
use crate::batch::journal::stored_record::Kept;
use crate::batch::options::BatchOptions;
use crate::batch::pace::circuit_breaker::{MAX_ASKED, PauseReason};
use crate::batch::pace::failure_scope::{Concern, concern, verdict};
use crate::batch::pace::rate::{Moment, moment};
use crate::batch::run::state::{State, Told, Turn};
use crate::batch::run::stop_errors::{closed, describe_time, no_thread, stopped};
use crate::call::control::CancelToken;
use crate::call::options::CallOptions;
use crate::call::request_loop::execute;
use crate::delivery::Delivery;
use crate::error::{Error, ErrorKind};
use crate::jitter;
use crate::job::Job;
use crate::operation::Operation;
use crate::shared::Shared;
use crate::wait::options::WaitOptions;
use crate::wait::poller::Poller;

/// No sleep is longer: a machine that was put to sleep meanwhile is noticed within it.
const MAX_SLEEP: Duration = Duration::from_secs(30);

/// What the threads of a batch have in common.
pub(crate) struct Engine {
    pub(crate) shared: Shared,
    pub(crate) options: BatchOptions,
    pub(crate) journal: Journal,
    pub(crate) items: Vec<Planned>,
    pub(crate) clock: Clock,
    /// Ends the calls that are under way.
    pub(crate) abort: CancelToken,
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
    pub(crate) state: Mutex<State>,
    /// Something changed for senders, for watchers, for the owner.
    pub(crate) for_senders: Condvar,
    pub(crate) for_watchers: Condvar,
    pub(crate) for_owner: Condvar,
}

impl Engine {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn now(&self) -> Moment {
        moment(self.clock.now())
    }

    /// Ends the batch: nothing more is taken. The first failure is the one that is told.
    pub(crate) fn stop(&self, failure: Option<Error>) {
        let mut state = self.lock();
        state.stopping.get_or_insert_with(Instant::now);
        // That the journal could not be written goes before everything: what was told of the messages under way is not in it.
        let is_journal =
            |failure: &Option<Error>| failure.as_ref().is_some_and(|error| error.kind() == ErrorKind::Journal);
        if state.failure.is_none() || (is_journal(&failure) && !is_journal(&state.failure)) {
            state.failure = failure;
        }
        drop(state);
        self.for_senders.notify_all();
        self.for_watchers.notify_all();
        self.for_owner.notify_all();
    }

    /// Starts a thread that sends, or one that watches.
    pub(crate) fn start(self: &Arc<Engine>, watches: bool) -> std::io::Result<()> {
        self.lock().count(watches);
        self.spawn(watches)
    }

    /// Starts a thread that is counted already: it may be gone again at once.
    pub(crate) fn spawn(self: &Arc<Engine>, watches: bool) -> std::io::Result<()> {
        let work = Arc::clone(self);
        let builder = std::thread::Builder::new().name("agentjob-batch".to_owned());
        let thread = crate::os::thread::spawn(builder, move || {
            let _leaving = Leaving { work: &work, watches };
            if watches { work.watch() } else { work.send() }
        });
        match thread {
            Ok(thread) => {
                self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(thread);
                Ok(())
            }
            Err(error) => {
                self.lock().discount(watches);
                Err(error)
            }
        }
    }

    pub(crate) fn step(&self, name: &'static str) {
        if let Some(handler) = &self.options.on_step {
            handler(name);
        }
    }

    pub(crate) fn call(&self) -> CallOptions {
        CallOptions::new().cancel(&self.abort).outliving_close()
    }

    /// Whether nothing more is to be sent.
    fn is_stopping(&self) -> bool {
        self.is_cancelled() || self.lock().stopping.is_some()
    }

    fn is_cancelled(&self) -> bool {
        self.shared.connections.is_closed() || self.options.cancel.as_ref().is_some_and(CancelToken::is_cancelled)
    }

    /// Sends one message after the other, until there is none left.
    fn send(self: &Arc<Engine>) {
        let mut state = self.lock();
        loop {
            if self.is_cancelled() {
                state.stopping.get_or_insert_with(Instant::now);
            }
            match state.turn(self.now()) {
                Turn::Over => break,
                Turn::Until(time) => state = self.sleep(&self.for_senders, state, time),
                Turn::Send { at, ask_first } => {
                    drop(state);
                    self.deliver(at, ask_first);
                    state = self.lock();
                    // The next one of this job, the first after a pause, or the end: others may wait for it.
                    self.for_senders.notify_all();
                }
            }
        }
        drop(state);
        self.for_senders.notify_all();
        self.for_watchers.notify_all();
    }

    pub(crate) fn sleep<'a>(&self, on: &Condvar, state: MutexGuard<'a, State>, until: Moment) -> MutexGuard<'a, State> {
        let left = u64::try_from(until.saturating_sub(self.now())).unwrap_or(0).max(1);
        let left = Duration::from_millis(left).min(MAX_SLEEP);
        on.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
    }

    fn deliver(self: &Arc<Engine>, at: u32, ask_first: bool) {
        let (place, item) = (at as usize, &self.items[at as usize]);
        let give_back = || {
            let mut state = self.lock();
            state.window.give_back();
            state.put_back(at, false);
        };
        if ask_first {
            // A look delivers nothing, however it ends.
            let asked = execute(&self.shared, &Operation::GetJob { job_id: item.job_id() }, &self.call(), Some(0));
            if let Err(error) = asked
                && concern(&error) != Concern::None
            {
                // A pause begins before anybody can take the message again.
                self.concerned(&error);
                return give_back();
            }
            if self.is_stopping() {
                return give_back();
            }
        }
        let line = entry::sending(place, item, self.clock.stamp());
        let written = self.journal.append_sending(line);
        let noted = written.and_then(|span| self.noted(span, ["sending_written", "sending_synced"]));
        if let Err(error) = noted {
            // Before anybody can take it again.
            self.stop(Some(error));
            return give_back();
        }
        let message = Operation::SendMessage { job_id: item.job_id(), prompt: item.prompt().into() };
        let (delivery, job, error) = match execute(&self.shared, &message, &self.call(), Some(0)) {
            Ok(job) => (Delivery::Accepted, Some(job), None),
            Err(error) => (verdict(&error), None, Some(error)),
        };
        let answered = !matches!(delivery, Delivery::Unknown | Delivery::NotSent);
        // What is said of the second time says nothing of the first.
        let doubtful = delivery == Delivery::Rejected && self.lock().doubtful[place];
        let (delivery, error) = match error {
            Some(error) if doubtful => (Delivery::Unknown, Some(refused_again(item.job_id(), &error))),
            error => (delivery, error),
        };
        self.step("answered");
        let poller = match (&self.options.wait, delivery) {
            (Some(wait), Delivery::Accepted) => Some(begin_wait(&self.shared, item.job_id(), wait, job.clone())),
            _ => None,
        };
        let (job_seen, error_seen, poller_seen) = (job.as_ref(), error.as_ref(), poller.as_ref());
        let ended = entry::Ended { delivery, job: job_seen, error: error_seen, poller: poller_seen };
        let now = self.clock.stamp();
        let line = self.keeping(place, |kept| entry::ended(place, item, &ended, kept, now));
        let written = self.journal.append_outcome(line, || entry::ended_short(place, item, &ended, now));
        let noted = written.and_then(|span| self.noted(span, ["ended_written", "ended_synced"]));
        // Before anybody can take the message again: a journal that does not say how it ended must not say that it is sent again.
        if let Err(error) = noted {
            self.stop(Some(error));
        }
        // A pause begins before anybody can take the message again.
        if let Some(error) = &error {
            self.concerned(error);
        }
        self.settle(at, Settled { delivery, answered, tried: ask_first, job, error, poller });
    }

    /// Sees to it that a line that was written is on the disk.
    fn noted(&self, span: Span, [written, synced]: [&'static str; 2]) -> Result<(), Error> {
        self.step(written);
        self.journal.sync(span.end())?;
        self.step(synced);
        Ok(())
    }

    /// Takes in what became of a message.
    fn settle(self: &Arc<Engine>, at: u32, settled: Settled) {
        let Settled { delivery, answered, tried, job, error, poller } = settled;
        let now = self.now();
        let mut state = self.lock();
        // What the service answered counts for it, so it counts for the pace.
        match delivery == Delivery::NotSent && error.as_ref().is_none_or(|error| error.http_status().is_none()) {
            true => state.window.give_back(),
            false => state.window.ended(now),
        }
        match delivery {
            Delivery::NotSent => {
                let passes = error.as_ref().is_some_and(|error| concern(error) == Concern::Trouble);
                return state.put_back(at, tried && passes);
            }
            Delivery::Accepted => state.progress.accepted += 1,
            Delivery::Rejected => state.progress.rejected += 1,
            Delivery::Unknown => state.progress.unknown += 1,
        }
        state.close(at, &self.items);
        if answered && state.gate.answered() {
            state.told.push_back(Told::Update(BatchUpdate::Resumed));
        }
        match poller {
            Some(poller) if !poller.is_done() => {
                let item = &self.items[at as usize];
                let update = BatchUpdate::Accepted { number: u64::from(at) + 1, job_id: item.job_id().into(), job };
                state.told.push_back(Told::Update(update));
                state.wait_for(at, Box::new(poller), now);
                let first = state.watchers == 0 && state.stopping.is_none();
                if first {
                    state.count(true);
                }
                drop(state);
                match first.then(|| self.spawn(true)) {
                    Some(Err(error)) => self.stop(Some(no_thread(&error))),
                    _ => self.for_watchers.notify_one(),
                }
            }
            Some(_) => {
                drop(state);
                if let Some(job) = &job {
                    self.finish(at, job);
                }
                self.tell(at, delivery, job, None);
            }
            None => {
                drop(state);
                self.tell(at, delivery, job, error);
            }
        }
        self.for_owner.notify_all();
    }

    /// The owner hears an item's outcome.
    pub(crate) fn tell(&self, at: u32, delivery: Delivery, job: Option<Job>, error: Option<Error>) {
        let mut state = self.lock();
        state.progress.done += 1;
        let outcome = outcome(&self.items, at, delivery, job, error, false);
        state.told.push_back(Told::Outcome(outcome));
        drop(state);
        self.for_owner.notify_all();
    }

    /// A failure that is not one message's alone.
    pub(crate) fn concerned(&self, error: &Error) {
        let now = self.now();
        let mut state = self.lock();
        let before = state.gate.shut(now);
        let until = match concern(error) {
            Concern::None => return,
            // What the owner ended is the owner's to tell.
            Concern::All if error.kind() == ErrorKind::Cancelled => {
                drop(state);
                return self.stop(None);
            }
            Concern::All => {
                drop(state);
                return self.stop(Some(stopped(error, "")));
            }
            Concern::Allowance if error.retry_after().is_some_and(|asked| asked > MAX_ASKED) => {
                drop(state);
                return self.stop(Some(stopped(error, " because the service asked for a pause of more than a day")));
            }
            Concern::Allowance => state.gate.refused(now, error.retry_after()),
            Concern::Trouble => state.gate.trouble(now, jitter::draw()),
        };
        let troubled = state.gate.troubled_for(now);
        if !troubled.is_zero() && troubled >= self.options.max_outage {
            drop(state);
            let after = format!(" after an outage of {} (max_outage)", describe_time(troubled));
            return self.stop(Some(stopped(error, after)));
        }
        // Several that were under way at once are told once, though each asks for its own millisecond.
        let same = |(reason, until): (PauseReason, Moment)| {
            before.is_some_and(|(known, end)| known == reason && until.saturating_sub(end) < 1000)
        };
        if state.gate.shut(now).is_none_or(same) {
            return;
        }
        let reason = state.gate.shut(now).map_or(PauseReason::ServiceFailure, |(reason, _)| reason);
        let pause = Duration::from_millis(u64::try_from(until - now).unwrap_or(0));
        let update = BatchUpdate::Paused { reason, pause, error: error.clone() };
        state.told.push_back(Told::Update(update));
        drop(state);
        self.for_owner.notify_all();
        // A pause that is not noted costs the next run one request.
        let pause_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
        let line = Writer::new("paused").text("reason", reason.as_str()).number("pause_ms", pause_ms);
        drop(self.journal.append(line.stamp(self.clock.stamp())));
    }

    /// Writes a line with what may be kept of an answer about this item.
    pub(crate) fn keeping(&self, place: usize, write: impl FnOnce(&Kept<'_>) -> Writer) -> Writer {
        write(&Kept::new(&self.items, place, &self.shared.config.redactor().finder()))
    }
}

/// The wait for a message that was just accepted.
pub(crate) fn begin_wait(shared: &Shared, job_id: &str, wait: &WaitOptions, answer: Option<Job>) -> Poller {
    match answer {
        Some(answer) => Poller::after_message(job_id, wait.schedule, answer, &shared.config.redactor()),
        None => Poller::after_lost_answer(job_id, wait.schedule),
    }
}

pub(crate) fn outcome(
    items: &[Planned],
    at: u32,
    delivery: Delivery,
    job: Option<Job>,
    error: Option<Error>,
    earlier: bool,
) -> BatchOutcome {
    let item = &items[at as usize];
    BatchOutcome {
        number: u64::from(at) + 1,
        line: item.line(),
        key: item.key(),
        job_id: item.job_id().into(),
        delivery,
        job,
        error,
        earlier,
    }
}

/// What became of a message that was taken.
struct Settled {
    delivery: Delivery,
    /// Whether the service said whether it took it.
    answered: bool,
    /// Whether it went alone, after a look that was answered.
    tried: bool,
    job: Option<Job>,
    error: Option<Error>,
    poller: Option<Poller>,
}

/// A thread goes, by whatever way.
struct Leaving<'a> {
    work: &'a Engine,
    watches: bool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.work.stop(Some(Error::internal("a thread of the batch panicked", false)));
        }
        self.work.lock().discount(self.watches);
        self.work.for_owner.notify_all();
    }
}

impl Engine {
    /// Sees to what may end the batch: its token, the client, and the time of the messages in flight.
    pub(crate) fn attend(&self) {
        if self.options.cancel.as_ref().is_some_and(CancelToken::is_cancelled) {
            self.stop(None);
        } else if self.shared.connections.is_closed() {
            self.stop(Some(closed()));
        }
        let stopping = self.lock().stopping;
        if stopping.is_some_and(|since| since.elapsed() >= self.options.grace) {
            self.abort.cancel();
        }
    }
}
