//! How a batch begins, and how it goes on from its journal.

use std::sync::{Arc, Condvar, Mutex};

use crate::batch::events::BatchUpdate;
use crate::batch::handle::{BatchHandle, Batches};
use crate::batch::item::Planned;
use crate::batch::iterator::Batch;
use crate::batch::journal::clock::Clock;
use crate::batch::journal::damaged_tail::Tail;
use crate::batch::journal::encode::Writer;
use crate::batch::journal::entry;
use crate::batch::journal::file::{Journal, damage, problem};
use crate::batch::journal::format::{self, Begun, Place, Said, VERSION};
use crate::batch::journal::history::{Entry, History, Items, Past};
use crate::batch::journal::reason::Cause;
use crate::batch::journal::replay::Span;
use crate::batch::options::BatchOptions;
use crate::batch::pace::rate::{Window, moment};
use crate::batch::run::earlier::{Earlier, Found};
use crate::batch::run::engine::{Engine, begin_wait};
use crate::batch::run::state::State;
use crate::batch::run::stop_errors::no_thread;
use crate::call::control::CancelToken;
use crate::delivery::Delivery;
use crate::error::Error;
use crate::job::Job;
use crate::shared::Shared;
use crate::text::describe;
use crate::wait::options::WaitOptions;
use crate::wait::poller::Poller;

/// Opens the journal, holds the items against it, and starts the threads.
pub(crate) fn begin(
    shared: &Shared,
    batches: &Batches,
    items: Vec<Planned>,
    options: BatchOptions,
) -> Result<Batch, Error> {
    let clock = Clock::new();
    let journal = Journal::open(&options.journal)?;
    let keep_sends = options.rate.map_or(0, |rate| rate.messages() as usize);
    let mut history = History::new(clock.clone(), keep_sends);
    let tail = journal
        .replay(|number, span, line| history.take(span, line).map_err(|what| damage(journal.path(), number, &what)))?;
    check_service(&history, shared, &journal)?;
    let mut window = Window::new(options.rate);
    let now = moment(clock.now());
    history.sends.iter().for_each(|ago| window.note(now.saturating_sub(moment(*ago))));
    let mut entries = match_up(&items, std::mem::take(&mut history.items), &journal)?;
    let concurrency = history.run.as_ref().map_or(0, |run| run.concurrency);
    let recovered = tail.map(|tail| recover(&journal, &tail, &items, &mut entries, concurrency, &clock)).transpose()?;
    // What its run never saw the end of may have reached the service as late as now.
    entries.iter().flatten().filter(|entry| entry.past == Past::Sending).for_each(|_| window.note(now));
    append_run(&journal, shared, &items, &options, &clock)?;
    name_interrupted(&journal, &items, &mut entries, &clock)?;

    let mut state = State::new(items.len(), window, now);
    if let Some((reason, left)) = history.pause {
        state.gate.resume(reason, now.saturating_add(moment(left)));
    }
    let mut found = Vec::new();
    for (at, slot) in entries.into_iter().enumerate() {
        let place = u32::try_from(at).expect("a plan has at most 2^32 items");
        let known = slot.and_then(|entry| Some((entry.verdict()?, entry.ended?, entry)));
        let Some((delivery, ended, entry)) = known else {
            state.open[at] = true;
            continue;
        };
        match delivery {
            Delivery::Unknown if options.resend_unknown => {
                (state.open[at], state.doubtful[at]) = (true, true);
                continue;
            }
            Delivery::Unknown => state.progress.unknown += 1,
            Delivery::Rejected => state.progress.rejected += 1,
            _ => state.progress.accepted += 1,
        }
        match (&options.wait, delivery) {
            (Some(wait), Delivery::Accepted) if entry.finished.is_none() => {
                let poller = go_on_waiting(shared, &journal, &items[at], &entry, ended, wait)?;
                state.wait_for(place, Box::new(poller), now);
            }
            _ => found.push(Found { at: place, delivery, doubtful: entry.doubtful, ended, finished: entry.finished }),
        }
    }
    state.line_up(&items);

    let senders = state.open.iter().filter(|open| **open).take(options.concurrency as usize).count();
    let waits = state.waits() > 0;
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
        for_watchers: Condvar::new(),
        for_owner: Condvar::new(),
    });
    batches.add(BatchHandle::new(&engine, std::process::id()));
    // One that began while the client was closed sends nothing.
    engine.attend();
    let batch = Batch::new(engine.clone(), Earlier::new(recovered, found));
    for n in 0..senders {
        match engine.start(false) {
            // One is enough.
            Err(error) if n == 0 => return Err(no_thread(&error)),
            _ => {}
        }
    }
    if waits {
        engine.start(true).map_err(|error| no_thread(&error))?;
    }
    Ok(batch)
}

/// A journal is one service's and one project's.
fn check_service(history: &History, shared: &Shared, journal: &Journal) -> Result<(), Error> {
    let Some(run) = &history.run else { return Ok(()) };
    if *run.base_url == *shared.config.endpoint.url && *run.project_id == *shared.config.project_id {
        return Ok(());
    }
    Err(problem(
        journal.path(),
        &format!(
            "belongs to project {} at {}, but this client to project {} at {}",
            describe(&run.project_id),
            describe(&run.base_url),
            describe(&shared.config.project_id),
            describe(&shared.config.endpoint.url)
        ),
    )
    .with_hint("Give each project its own journal."))
}

/// Finds each item's entry, and refuses a list from which something was changed or taken that may have been delivered.
fn match_up(items: &[Planned], begun: Items, journal: &Journal) -> Result<Vec<Option<Entry>>, Error> {
    let journal = describe(&journal.path().to_string_lossy());
    let (entries, others) = begun.split(items.iter().map(|item| &item.id));
    for (at, (item, entry)) in items.iter().zip(&entries).enumerate() {
        if let Some(entry) = entry
            && (entry.prompt != item.prompt_digest || *entry.job_id != *item.job_id())
        {
            let what = if entry.prompt == item.prompt_digest { "job" } else { "prompt" };
            let reason = format!(
                "its {what} was changed since journal {journal:?} was begun, where it is a message to job {}",
                describe(&entry.job_id)
            );
            let hint = "Give the item as it was, give it another key, or begin a new journal.";
            return Err(Error::invalid(reason).with_hint(hint).in_item(at as u64 + 1, item.line()));
        }
    }
    // What was never delivered may be left out.
    let lost = others.into_iter().flatten().filter(|entry| entry.verdict().is_some());
    let Some(entry) = lost.min_by_key(|entry| entry.number) else { return Ok(entries) };
    let at = usize::try_from(entry.number).unwrap_or(0).wrapping_sub(1);
    let (line, change) = match items.get(at) {
        Some(item) if !item.has_own_key() => (item.line(), "it is another message now"),
        _ => (None, "it is no longer in the list"),
    };
    let job_id = describe(&entry.job_id);
    let reason = format!("{change}, but journal {journal:?} has begun to send its message to job {job_id}");
    let hint = "Give the list as it was, with new items at its end, or begin a new journal.";
    Err(Error::invalid(reason).with_hint(hint).in_item(entry.number, line))
}

fn append_run(
    journal: &Journal,
    shared: &Shared,
    items: &[Planned],
    options: &BatchOptions,
    clock: &Clock,
) -> Result<(), Error> {
    let rate = options.rate.map(|rate| rate.to_string());
    let line = Writer::new("run")
        .number("journal", VERSION)
        .text("agentjob", crate::VERSION)
        .text("base_url", &shared.config.endpoint.url)
        .text("project_id", &shared.config.project_id)
        .number("pid", std::process::id().into())
        .text_or_none("boot", clock.boot.as_deref())
        .number("items", items.len() as u64)
        .number("concurrency", options.concurrency.into())
        .text_or_none("rate", rate.as_deref())
        .json("wait", if options.wait.is_some() { "true" } else { "false" });
    let span = journal.append(line.stamp(clock.stamp()))?;
    journal.sync(span.end())
}

/// Continues behind a damaged end: what may have been sent by it is `unknown` from now on.
fn recover(
    journal: &Journal,
    tail: &Tail,
    items: &[Planned],
    entries: &mut [Option<Entry>],
    concurrency: u64,
    clock: &Clock,
) -> Result<BatchUpdate, Error> {
    let places = tail.may_have_sent(items, entries, concurrency);
    let begun = |at: usize| Begun {
        item: Place { id: items[at].id, number: at as u64 + 1 },
        prompt: items[at].prompt_digest,
        job_id: items[at].job_id().into(),
    };
    let begun: Vec<Begun> = places.iter().map(|at| begun(*at)).collect();
    journal.recover(tail, &begun, clock.stamp())?;
    for (at, begun) in places.iter().zip(&begun) {
        let entry = entries[*at].get_or_insert_with(|| Entry { line_damaged: true, ..Entry::begun(begun) });
        entry.may_have_left();
    }
    Ok(BatchUpdate::Recovered {
        dropped_bytes: tail.bytes.len() as u64,
        journal_line: tail.number,
        unknown: places.len() as u64,
    })
}

/// A message that was about to leave when its run ended may have arrived: that is written down before anything else is done.
fn name_interrupted(
    journal: &Journal,
    items: &[Planned],
    entries: &mut [Option<Entry>],
    clock: &Clock,
) -> Result<(), Error> {
    for (at, entry) in entries.iter_mut().enumerate() {
        if let Some(entry) = entry
            && entry.past == Past::Sending
        {
            let cause = if entry.line_damaged { Cause::LineDamaged } else { Cause::RunEnded };
            let line = entry::not_noted(at, &items[at], cause, clock.stamp());
            entry.ended = Some(journal.append(line)?);
            entry.past = Past::Ended(Delivery::Unknown);
        }
    }
    journal.sync_all()
}

/// A wait of an earlier run goes on where it was. One that never began begins with the message's own answer.
fn go_on_waiting(
    shared: &Shared,
    journal: &Journal,
    item: &Planned,
    entry: &Entry,
    ended: Span,
    wait: &WaitOptions,
) -> Result<Poller, Error> {
    let span = entry.poller.unwrap_or(ended);
    let text = journal.line_at(span)?;
    let (job, poller) = match format::read(&text).map(|line| line.said) {
        Ok(Said::Ended { job, poller, .. }) => (job, poller),
        Ok(Said::Waiting { poller, .. }) => (None, Some(poller)),
        _ => return Err(problem(journal.path(), "was changed while the batch ran")),
    };
    match poller {
        Some(poller) => Poller::resume(poller, entry.poller_age, wait.schedule),
        None => Ok(begin_wait(shared, item.job_id(), wait, job.and_then(|job| Job::read(job.into()).ok()))),
    }
}
