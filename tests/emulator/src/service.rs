//! The contract: one request in, one response out.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::Deserialize;

use crate::job::{Assignment, Job, record};
use crate::ledger::{Message, MessageKind};
use crate::response::Response;
use crate::state::State;

const HOUR: Duration = Duration::from_secs(3_600);

/// The parts of a request that the contract defines.
pub(crate) struct Call<'a> {
    pub(crate) now: Instant,
    pub(crate) method: &'a str,
    /// The path as it is on the wire.
    pub(crate) path: &'a str,
    pub(crate) authorized: bool,
    /// The body; none if the response comes before the body was read.
    pub(crate) body: Option<&'a [u8]>,
    /// Whether a valid message is really processed, or only responded to.
    pub(crate) process: bool,
    /// The request's ordinal.
    pub(crate) request: u64,
}

enum Operation<'a> {
    Create,
    Get(Cow<'a, str>),
    Message(Cow<'a, str>),
}

/// Responds to `call`. A message that is processed is in the ledger when this returns, so before any byte of its response is sent.
pub(crate) fn serve(state: &mut State, call: &Call<'_>) -> Response {
    if !call.authorized {
        return Response::error(401, "the API key is missing or wrong");
    }
    let Some((project, operation)) = operation(call.path) else {
        return Response::error(404, "there is nothing at this path");
    };
    let allowed = match operation {
        Operation::Get(_) => "GET",
        Operation::Create | Operation::Message(_) => "POST",
    };
    if call.method != allowed {
        return Response::error(405, "this path takes another method").with("allow", allowed.into());
    }
    if project != state.config.project_id.as_str() {
        return Response::error(403, "this key does not open this project");
    }
    match operation {
        Operation::Get(id) => get(state, call, &id),
        Operation::Create => create(state, call),
        Operation::Message(id) => message(state, call, &id),
    }
}

fn get(state: &mut State, call: &Call<'_>, id: &str) -> Response {
    match state.jobs.get_mut(id) {
        Some(job) if !job.is_hidden(call.now) => Response::json(200, job.shown(call.now, &state.clock)),
        _ => Response::error(404, "job not found"),
    }
}

fn message(state: &mut State, call: &Call<'_>, id: &str) -> Response {
    if let Some(refusal) = over_limit(state, call.now) {
        return refusal;
    }
    if !state.jobs.contains_key(id) {
        return Response::error(404, "job not found");
    }
    let prompt = match prompt(call) {
        Ok(prompt) => prompt,
        Err(refusal) => return refusal,
    };
    let is_busy = state.config.busy && state.jobs.get_mut(id).is_some_and(|job| job.is_active(call.now, &state.clock));
    if is_busy {
        return Response::error(409, "the job is active");
    }
    let assignment = call.process.then(|| {
        let assignment = assignment(state, call.now);
        let pr_link = state.jobs.get(id).and_then(|job| job.pull_request(&assignment));
        enter(state, call, id, prompt, MessageKind::Message, pr_link);
        assignment
    });
    let Some(job) = state.jobs.get_mut(id) else {
        return Response::error(404, "job not found");
    };
    if let Some(assignment) = &assignment {
        job.assign(assignment, &state.clock);
    }
    let record = match state.config.stale_post {
        true => job.shown(call.now, &state.clock),
        false => job.fresh(call.now, &state.clock),
    };
    Response::json(200, record)
}

fn create(state: &mut State, call: &Call<'_>) -> Response {
    if let Some(refusal) = over_limit(state, call.now) {
        return refusal;
    }
    let prompt = match prompt(call) {
        Ok(prompt) => prompt,
        Err(refusal) => return refusal,
    };
    let id = new_id(state);
    if !call.process {
        return Response::json(201, &record(&id, "active", state.clock.date(call.now).into()));
    }
    state.created += 1;
    let assignment = assignment(state, call.now);
    let hidden = Duration::from_millis(state.config.visible_after_ms);
    let mut job = Job::created(&id, &state.clock, &assignment, hidden);
    enter(state, call, &id, prompt, MessageKind::Create, job.pull_request(&assignment));
    let response = Response::json(201, job.fresh(call.now, &state.clock));
    state.jobs.insert(id, job);
    response
}

/// The next id that no job of the configuration has taken.
fn new_id(state: &State) -> String {
    (state.created + 1..).map(|n| format!("job_{n}")).find(|id| !state.jobs.contains_key(id)).unwrap_or_default()
}

/// Records the message in the ledger.
fn enter(
    state: &mut State,
    call: &Call<'_>,
    id: &str,
    prompt: Cow<'_, str>,
    kind: MessageKind,
    pr_link: Option<String>,
) {
    let prompt = if state.config.keep_prompts { prompt.into_owned() } else { String::new() };
    state.uses.push_back(call.now);
    state.ledger.push(Message {
        n: state.ledger.len() as u64 + 1,
        job_id: id.to_owned(),
        prompt,
        kind,
        pr_link,
        at_ms: state.clock.since_start_ms(call.now),
        request: call.request,
    });
}

fn assignment(state: &mut State, now: Instant) -> Assignment {
    state.pulls += 1;
    Assignment {
        now,
        work: Duration::from_millis(state.config.work_ms),
        stale: Duration::from_millis(state.config.stale_ms),
        outcome: state.config.outcome,
        pull: state.pulls,
    }
}

/// The refusal of a message above the hourly limit.
fn over_limit(state: &mut State, now: Instant) -> Option<Response> {
    while state.uses.front().is_some_and(|oldest| now.saturating_duration_since(*oldest) >= HOUR) {
        state.uses.pop_front();
    }
    if (state.uses.len() as u64) < state.config.hourly_limit {
        return None;
    }
    let oldest = state.uses.front().copied().unwrap_or(now);
    let wait = HOUR.saturating_sub(now.saturating_duration_since(oldest));
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    let refusal = Response::error(429, "the hourly limit of this project is reached");
    Some(refusal.with("retry-after", seconds.max(1).to_string()))
}

/// The body's prompt, or the refusal of a body that has none. A body that was not read yet is not checked.
fn prompt<'a>(call: &Call<'a>) -> Result<Cow<'a, str>, Response> {
    /// A string that is borrowed from the body unless it has escapes.
    #[derive(Deserialize)]
    struct Body<'a> {
        #[serde(borrow)]
        prompt: Cow<'a, str>,
    }
    let Some(body) = call.body else {
        return Ok(Cow::Borrowed(""));
    };
    // serde would take an array for a struct as well.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(Response::error(400, "the body must be a JSON object"));
    }
    match serde_json::from_slice::<Body<'a>>(body) {
        Ok(Body { prompt }) if prompt.is_empty() => Err(Response::error(400, "prompt must not be empty")),
        Ok(Body { prompt }) => Ok(prompt),
        Err(error) => Err(Response::error(400, &format!("the body is not valid: {error}"))),
    }
}

/// The project and the operation that a path names.
fn operation(path: &str) -> Option<(Cow<'_, str>, Operation<'_>)> {
    let (project, rest) = path.strip_prefix("/v2/agent/")?.split_once('/')?;
    let operation = match rest.strip_prefix("job")? {
        "" => Operation::Create,
        job => match job.strip_prefix('/')?.split_once('/') {
            None => Operation::Get(decode(job.strip_prefix('/')?)),
            Some((id, "message")) => Operation::Message(decode(id)),
            Some(_) => return None,
        },
    };
    Some((decode(project), operation))
}

/// A path segment with its percent-encoding undone. Invalid encodings stay as they are.
fn decode(segment: &str) -> Cow<'_, str> {
    if !segment.contains('%') {
        return Cow::Borrowed(segment);
    }
    let bytes = segment.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = |i: usize| bytes.get(i).and_then(|digit| char::from(*digit).to_digit(16));
        match (bytes[at], hex(at + 1), hex(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                decoded.push((high * 16 + low) as u8);
                at += 3;
            }
            (byte, ..) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&decoded).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_decoded_once() {
        for (segment, decoded) in
            [("job_1", "job_1"), ("a%2Fb%20c", "a/b c"), ("%C3%A9", "é"), ("%252F", "%2F"), ("%zz%4", "%zz%4")]
        {
            assert_eq!(decode(segment), decoded);
        }
    }
}
