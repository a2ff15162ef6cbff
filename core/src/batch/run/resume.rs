//! How a batch begins or resumes from its journal.

use std::collections::HashSet;
use std::sync::{Arc, Condvar, Mutex, OnceLock};

use crate::batch::events::BatchUpdate;
use crate::batch::handle::{BatchHandle, Batches};
use crate::batch::item::{BatchItem, Planned};
use crate::batch::iterator::Batch;
use crate::batch::journal::clock::Clock;
use crate::batch::journal::decode::decode;
use crate::batch::journal::error::{changed, damage};
use crate::batch::journal::file::Journal;
use crate::batch::journal::history::History;
use crate::batch::journal::item_history::{ItemHistory, ItemState, Split};
use crate::batch::journal::item_lines;
use crate::batch::journal::line::{Content, LineSpan};
use crate::batch::journal::run_lines;
use crate::batch::options::BatchOptions;
use crate::batch::pace::moment::moment;
use crate::batch::pace::rate::RateWindow;
use crate::batch::run::busy_jobs::busy_poller;
use crate::batch::run::earlier::{Earlier, EarlierOutcome};
use crate::batch::run::engine::Engine;
use crate::batch::run::job_waiters::{self, begin_wait};
use crate::batch::run::lost_results::mark_lost_results;
use crate::batch::run::match_items::{check_service, match_items};
use crate::batch::run::retry_prompts::take_prompts;
use crate::batch::run::sender;
use crate::batch::run::state::{Role, State};
use crate::batch::run::stop_errors::no_thread;
use crate::call::control::CancelToken;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::Job;
use crate::redact::Redactor;
use crate::shared::Shared;
use crate::wait::poller::Poller;
use crate::wait::schedule::Schedule;

/// Opens the journal, compares the items with it, and starts the threads.
///
/// # Errors
/// As [`Client::send_all`](crate::Client::send_all).
pub(crate) fn begin(
    shared: &Shared,
    batches: &Batches,
    mut items: Vec<Planned>,
    options: BatchOptions,
) -> Result<Batch, Error> {
    let clock = Clock::new();
    let journal = Journal::open(&options.journal)?;
    let keep_sends = options.rate.map_or(0, |rate| rate.messages() as usize);
    let mut history = History::new(clock.clone(), keep_sends);
    let tail = journal
        .replay(|number, span, line| history.add(span, line).map_err(|what| damage(journal.path(), number, &what)))?;
    check_service(&history, shared, &journal)?;
    let mut window = RateWindow::new(options.rate);
    let now = moment(clock.now());
    history.sends.iter().for_each(|ago| window.count(now.saturating_sub(moment(*ago))));
    let Split { listed: mut histories, numbers, .. } =
        match_items(&items, std::mem::take(&mut history.items), &journal)?;
    take_prompts(&mut items, &histories, &options, shared.config.max_prompt_bytes, &journal)?;
    // A message without an outcome may have reached the service as late as now.
    let interrupted = histories.iter().flatten().filter(|history| history.state == ItemState::Sending);
    interrupted.for_each(|_| window.count(now));
    let recovered = tail.as_ref().map(|tail| BatchUpdate::Recovered {
        dropped_bytes: tail.bytes.len() as u64,
        journal_line: tail.number,
        unknown: u64::from(tail.message().is_some()),
    });
    let recovered_line = tail.map(|tail| run_lines::recovered(&tail, &clock));
    let numbers = numbers.unwrap_or_default();
    let run = run_lines::run(&shared.config, &items, numbers.len(), &options, &clock);
    let numbers = run_lines::numbers(&numbers, &clock);
    journal.append_all(recovered_line.into_iter().chain(numbers).chain([run]))?;
    journal.sync_all()?;
    record_interrupted(&journal, &items, &mut histories, &clock)?;
    mark_lost_results(&mut items, &histories);

    let mut state = State::new(items.len(), window, now);
    if let Some((reason, left)) = history.pause {
        state.breaker.restore(reason, now.saturating_add(moment(left)));
    }
    let (mut earlier, mut unknown, mut busy) = (Vec::new(), Vec::new(), HashSet::new());
    for (place, history) in histories.into_iter().enumerate() {
        let at = u32::try_from(place).expect("a plan has at most 2^32 items");
        if history.as_deref().is_some_and(ItemHistory::is_dropped) {
            state.progress.dropped += 1;
            state.progress.done += 1;
            continue;
        }
        state.earlier_send_unknown[place] = history.as_deref().is_some_and(ItemHistory::resends);
        if !options.max_busy.is_zero() && history.as_ref().is_some_and(|history| history.job_was_busy) {
            busy.insert(at);
        }
        let ended = history.and_then(|history| Some((history.delivery()?, history.outcome_line?, history)));
        let Some((delivery, outcome_line, history)) = ended else {
            state.unsettled[place] = true;
            continue;
        };
        match delivery {
            Delivery::Unknown if options.resend_unknown => {
                (state.unsettled[place], state.earlier_send_unknown[place]) = (true, true);
                continue;
            }
            Delivery::Unknown => {
                state.progress.unknown += 1;
                unknown.push(at);
            }
            Delivery::Rejected => state.progress.rejected += 1,
            _ => state.progress.accepted += 1,
        }
        state.progress.failed += u64::from(history.job_failed);
        let ItemHistory { earlier_send_unknown, finished_line, .. } = *history;
        match (&options.wait, delivery) {
            (Some(wait), Delivery::Accepted) if finished_line.is_none() => {
                let poller = {
                    let call = options.call();
                    let secrets = shared.secrets(&call);
                    let redactor = Redactor::new(&secrets);
                    resume_wait(
                        &redactor,
                        &journal,
                        &items[place],
                        &history,
                        outcome_line,
                        wait.schedule.over(&shared.config.waits),
                    )?
                };
                state.wait_for_job(at, Box::new(poller), now);
            }
            _ => {
                earlier.push(EarlierOutcome { at, delivery, earlier_send_unknown, outcome_line, finished_line });
            }
        }
    }
    state.make_ready(&items, &unknown);
    for at in state.take_ready(&busy) {
        let item = &items[at as usize];
        let recheck = state.sequence.still_busy(item.first_for_job, now, options.max_busy);
        state.park(
            at,
            Box::new(busy_poller(item.job_id(), options.wait.as_ref(), &shared.config.waits, recheck, now)?),
            recheck.first,
            now,
        );
    }
    let repeated = BatchItem::repeated(items.iter().map(Planned::item));
    let earlier_pause = history.pause.filter(|_| state.has_more_to_send());
    let engine = Arc::new(Engine {
        shared: shared.clone(),
        options,
        journal,
        items,
        clock,
        abort: CancelToken::new(),
        threads: Mutex::default(),
        state: Mutex::new(state),
        for_senders: Condvar::new(),
        for_job_waiters: Condvar::new(),
        for_owner: Condvar::new(),
        bell: OnceLock::new(),
    });
    if let Some((reason, left)) = earlier_pause {
        engine.report_earlier_pause(reason, left);
    }
    start(&engine, batches, Earlier::new(recovered, repeated, earlier))
}

fn start(engine: &Arc<Engine>, batches: &Batches, earlier: Earlier) -> Result<Batch, Error> {
    let (senders, has_waits) = {
        let state = engine.lock();
        let senders = state.unsettled.iter().filter(|item| **item).take(engine.options.concurrency as usize);
        (senders.count(), state.jobs_waited_for() > 0)
    };
    batches.add(BatchHandle::new(engine, std::process::id()));
    // The client may have been closed meanwhile.
    engine.check_end();
    let batch = Batch::new(engine.clone(), earlier);
    let _starting = engine.count_this_thread();
    for n in 0..senders {
        match engine.start(Role::Sender, sender::run) {
            // One sender is enough.
            Err(error) if n == 0 => return Err(no_thread(&error)),
            _ => {}
        }
    }
    if has_waits {
        engine.start(Role::JobWaiter, job_waiters::run).map_err(|error| no_thread(&error))?;
    }
    Ok(batch)
}

/// Records that each message without an outcome may have arrived, before this run does anything else.
fn record_interrupted(
    journal: &Journal,
    items: &[Planned],
    histories: &mut [Option<Box<ItemHistory>>],
    clock: &Clock,
) -> Result<(), Error> {
    for (at, history) in histories.iter_mut().enumerate() {
        if let Some(history) = history
            && history.state == ItemState::Sending
        {
            let line = item_lines::unknown_outcome(at, &items[at], clock.stamp());
            history.outcome_line = Some(journal.append(line)?);
            history.state = ItemState::Ended(Delivery::Unknown);
        }
    }
    journal.sync_all()
}

/// Resumes the wait of an earlier run. One that never began, begins with the response to the message.
fn resume_wait(
    redactor: &Redactor<'_>,
    journal: &Journal,
    item: &Planned,
    history: &ItemHistory,
    outcome_line: LineSpan,
    schedule: Schedule,
) -> Result<Poller, Error> {
    let span = history.poller_line.unwrap_or(outcome_line);
    let text = journal.line_at(span)?;
    let (job, poller) = match decode(&text).map(|line| line.content) {
        Ok(Content::Ended { job, poller, .. }) => (job, poller),
        Ok(Content::Waiting { poller, .. }) => (None, Some(poller)),
        Ok(Content::Decided { .. }) => (None, None),
        _ => return Err(changed(journal.path())),
    };
    match poller {
        Some(poller) => Poller::resume(poller, |_| history.poller_age, schedule),
        None => Ok(begin_wait(item.job_id(), schedule, job.and_then(|job| Job::read(job.into()).ok()), redactor)),
    }
}
