//! The Rust driver: reads calls from stdin, makes them, and prints the result of each as JSON (see `tests/drivers/README.md`).

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::time::Duration;

use agentjob_core::{
    CallOptions, CancelToken, Client, Error, Headers, Job, WaitOptions, duration_from_seconds,
    duration_from_seconds_or_zero,
};
use serde_json::json;

type Settings = BTreeMap<String, String>;

fn main() -> io::Result<()> {
    let (mut settings, mut out) = (Settings::new(), io::stdout().lock());
    for line in io::stdin().lock().lines().chain([Ok(String::new())]) {
        let line = line?;
        if let Some((key, value)) = line.split_once('=') {
            settings.insert(key.to_owned(), decoded(value));
        } else if !settings.is_empty() {
            match call(&settings) {
                Ok(record) => writeln!(out, "{{\"ok\":{record}}}")?,
                Err(error) => writeln!(out, "{{\"error\":{}}}", error_json(&error))?,
            }
            out.flush()?;
            settings.clear();
        }
    }
    Ok(())
}

/// Makes the call that the settings describe.
fn call(settings: &Settings) -> Result<String, Error> {
    let client = client(settings)?;
    let text = |key: &str| settings.get(key).map_or("", String::as_str);
    let (job_id, prompt) = (text("job_id"), text("prompt"));

    let mut options = CallOptions::new();
    if let Some(timeout) = seconds(settings, "call.timeout")? {
        options = options.timeout(timeout);
    }
    if let Some(line) = settings.get("call.header") {
        options = options.headers(header(line)?);
    }
    if let Some(after) = seconds(settings, "cancel_after")? {
        let token = CancelToken::new();
        options = options.cancel(&token);
        std::thread::spawn(move || {
            std::thread::sleep(after);
            token.cancel();
        });
    }
    let wait = wait_options(settings)?.call(options.clone());

    let record = |job: Job| job.to_json().to_owned();
    match text("operation") {
        "send_message" => client.send_message_with(job_id, prompt, &options).map(record),
        "get_job" => client.get_job_with(job_id, &options).map(record),
        "create_job" => client.create_job_with(prompt, &options).map(record),
        "wait" => client.wait(job_id, &wait).map(record),
        "send_and_wait" => client.send_and_wait(job_id, prompt, &wait).map(record),
        "watch" => {
            let jobs: Vec<_> = client.watch(job_id, &wait)?.map(|job| job.map(record)).collect::<Result<_, _>>()?;
            Ok(format!("[{}]", jobs.join(",")))
        }
        other => Err(Error::invalid_argument(format!("operation {other:?} is not known"))),
    }
}

fn client(settings: &Settings) -> Result<Client, Error> {
    let mut builder = Client::builder();
    for (key, value) in settings {
        let whole = || value.parse::<usize>().map_err(|_| Error::invalid_argument(format!("{key} is no whole number")));
        builder = match key.as_str() {
            "base_url" => builder.base_url(value),
            "api_key" => builder.api_key(value),
            "api_key_file" => builder.api_key_file(value),
            "project_id" => builder.project_id(value),
            "ca_file" => builder.ca_file(value),
            "client_cert" => builder.client_cert(value),
            "client_key" => builder.client_key(value),
            "header" => builder.headers(header(value)?),
            "proxy" => builder.proxy(value),
            "user_agent_suffix" => builder.user_agent_suffix(value),
            "max_retries" => builder.max_retries(u32::try_from(whole()?).unwrap_or(u32::MAX)),
            "max_prompt_bytes" => builder.max_prompt_bytes(whole()?),
            "max_response_bytes" => builder.max_response_bytes(whole()?),
            "trust_env" => builder.trust_env(value == "true"),
            "allow_plaintext" => builder.allow_plaintext(value == "true"),
            _ => builder,
        };
    }
    if let Some(timeout) = seconds(settings, "timeout")? {
        builder = builder.timeout(timeout);
    }
    if let Some(timeout) = seconds(settings, "connect_timeout")? {
        builder = builder.connect_timeout(timeout);
    }
    if let Some(limit) = seconds(settings, "max_retry_after")? {
        builder = builder.max_retry_after(limit);
    }
    if settings.get("wait_timeout").is_some_and(|value| value == "none") {
        builder = builder.wait_timeout(None);
    } else if let Some(timeout) = seconds(settings, "wait_timeout")? {
        builder = builder.wait_timeout(timeout);
    }
    if let Some(interval) = seconds(settings, "min_interval")? {
        builder = builder.min_interval(interval);
    }
    if let Some(interval) = seconds(settings, "max_interval")? {
        builder = builder.max_interval(interval);
    }
    if let Some(settle) = settings.get("settle") {
        builder = builder.settle(duration_from_seconds_or_zero("settle", settle.parse().unwrap_or(f64::NAN))?);
    }
    if let Some(Ok(part)) = settings.get("lateness").map(|value| value.parse()) {
        builder = builder.lateness(part);
    }
    builder.build()
}

fn header(line: &str) -> Result<Headers, Error> {
    let (name, value) = line.split_once(": ").unwrap_or((line, ""));
    Headers::new().with(name, value)
}

fn wait_options(settings: &Settings) -> Result<WaitOptions, Error> {
    let mut options = WaitOptions::new();
    if settings.get("wait.timeout").is_some_and(|value| value == "none") {
        options = options.timeout(None);
    } else if let Some(timeout) = seconds(settings, "wait.timeout")? {
        options = options.timeout(timeout);
    }
    if let Some(interval) = seconds(settings, "wait.min_interval")? {
        options = options.min_interval(interval);
    }
    if let Some(interval) = seconds(settings, "wait.max_interval")? {
        options = options.max_interval(interval);
    }
    if let Some(settle) = settings.get("wait.settle") {
        options = options.settle(duration_from_seconds_or_zero("settle", settle.parse().unwrap_or(f64::NAN))?);
    }
    if let Some(Ok(part)) = settings.get("wait.lateness").map(|value| value.parse()) {
        options = options.lateness(part);
    }
    Ok(options)
}

fn seconds(settings: &Settings, key: &str) -> Result<Option<Duration>, Error> {
    settings.get(key).map(|value| number(value, key)).transpose()
}

fn number(value: &str, key: &str) -> Result<Duration, Error> {
    let name = key.rsplit('.').next().unwrap_or(key);
    let seconds = value.parse().map_err(|_| Error::invalid_argument(format!("{name} is no number")))?;
    duration_from_seconds(name, seconds)
}

/// The error as JSON. Its record stays text, because serde_json would change some of it, like long numbers.
fn error_json(error: &Error) -> String {
    let facts = json!({
        "kind": error.kind().as_str(),
        "delivery": error.delivery().map(|delivery| delivery.as_str()),
        "message": error.message(),
        "http_status": error.http_status(),
        "retry_after": error.retry_after().map(|after| after.as_secs_f64()),
        "request_id": error.request_id(),
        "body": error.body(),
        "attempts": error.attempts(),
    });
    let job = error.job().map_or("null", Job::to_json);
    let facts = facts.to_string();
    format!("{},\"job\":{job}}}", facts.strip_suffix('}').expect("an object ends"))
}

fn decoded(value: &str) -> String {
    let (mut out, mut rest) = (Vec::with_capacity(value.len()), value.as_bytes());
    while let [first, tail @ ..] = rest {
        let escape = (*first == b'%').then(|| tail.get(..2)).flatten();
        let byte = escape.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8_lossy(&out).into_owned()
}
