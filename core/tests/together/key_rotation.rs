//! A key file that changes while a client uses it.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::batches::Folder;
use crate::support::files;
use crate::support::{JOB, emulator, ms, quick, until};
use agentjob_core::{
    BatchItem, BatchOptions, Client, ClientBuilder, Delivery, ErrorKind, Event, EventHandler, KeyFunction, KeySource,
};
use agentjob_emulator::{Config, Emulator};

const OLD: &str = "old9walrus5ginger";
const NEW: &str = "new7zebra3quilted";

/// A key file, removed at the end.
#[derive(Clone)]
struct KeyFile(Arc<Folder>);

impl KeyFile {
    fn with(key: &str) -> KeyFile {
        let file = KeyFile(Arc::new(Folder::new()));
        file.put(key);
        file
    }

    fn path(&self) -> PathBuf {
        self.0.0.join("key")
    }

    /// Puts a new file in the place of the old one, as secret stores do: a client that reads it meanwhile gets either key, whole. Several
    /// threads may do so at once.
    fn put(&self, key: &str) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let next = self.0.0.join(format!("next-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        files::put_private(&next, key);
        // Windows may refuse this while a client reads the old file.
        if cfg!(windows) {
            until("the old file is replaced", || fs::rename(&next, self.path()).is_ok());
        } else {
            fs::rename(next, self.path()).unwrap();
        }
    }
}

fn with_file(emulator: &Emulator, file: &KeyFile) -> ClientBuilder {
    let set = Client::builder().base_url(emulator.base_url()).project_id(emulator.project_id()).trust_env(false);
    set.timeout(ms(20_000)).api_key_file(file.path())
}

/// The statuses of the requests: the emulator's ledger hides the keys, but only the right one gets a 200.
fn statuses(emulator: &Emulator) -> Vec<u16> {
    emulator.requests().requests.iter().map(|one| one.status.unwrap_or(0)).collect()
}

/// Does something when the service has returned a 401.
fn at_401(act: impl Fn() + Send + Sync + 'static) -> EventHandler {
    Arc::new(move |event: &Event<'_>| {
        if let Event::Response { status: 401, .. } = event {
            act();
        }
    })
}

#[test]
fn the_next_call_sends_the_files_new_key() {
    let emulator = emulator(&format!(r#"{{"api_key": "{OLD}"}}"#));
    let file = KeyFile::with(OLD);
    let client = with_file(&emulator, &file).build().unwrap();
    client.get_job(JOB).unwrap();
    emulator.reset(Config::from_json(&format!(r#"{{"api_key": "{NEW}"}}"#)).unwrap()).unwrap();
    file.put(NEW);
    client.send_message(JOB, "p").unwrap();
    client.get_job(JOB).unwrap();
    assert_eq!(statuses(&emulator), [200, 200], "no request had the old key");
    // In place, with the same length. A write within the same tick of the file system's clock leaves the same times.
    let third = NEW.replace('7', "8");
    let time = || fs::metadata(file.path()).unwrap().modified().unwrap();
    let before = time();
    until("the file has another time", || {
        fs::write(file.path(), &third).unwrap();
        time() != before
    });
    emulator.reset(Config::from_json(&format!(r#"{{"api_key": "{third}"}}"#)).unwrap()).unwrap();
    client.get_job(JOB).unwrap();
    assert_eq!(statuses(&emulator), [200]);
}

#[test]
fn a_message_that_a_401_rejected_is_sent_once_more_with_the_new_key() {
    let emulator = emulator(&format!(r#"{{"api_key": "{NEW}"}}"#));
    let file = KeyFile::with(OLD);
    let (later, events) = (file.clone(), Arc::new(std::sync::Mutex::new(Vec::new())));
    let seen = events.clone();
    let handler: EventHandler = Arc::new(move |event: &Event<'_>| {
        seen.lock().unwrap().push(event.to_string());
        if let Event::Response { status: 401, .. } = event {
            later.put(NEW);
        }
    });
    // No retry is left, and none is needed.
    let client = with_file(&emulator, &file).max_retries(0).on_event(handler).build().unwrap();
    client.send_message(JOB, "p").unwrap();
    assert_eq!(statuses(&emulator), [401, 200]);
    assert_eq!((emulator.ledger().len(), emulator.requests().connections), (1, 1));
    let events = events.lock().unwrap();
    assert!(events[2].contains("request 1 failed (the service returned 401") && events.len() == 5, "{events:?}");
    assert!(!events.iter().any(|event| event.contains(OLD) || event.contains(NEW)), "{events:?}");
}

#[test]
fn a_refused_key_that_is_still_in_the_file_is_not_sent_again() {
    let emulator = emulator(&format!(r#"{{"api_key": "{NEW}"}}"#));
    let file = KeyFile::with(OLD);
    let again = file.clone();
    let client = with_file(&emulator, &file).on_event(at_401(move || again.put(OLD))).build().unwrap();
    let error = client.send_message(JOB, "p").unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Authentication, 1));
    assert_eq!(error.delivery(), Some(Delivery::Rejected));
    assert_eq!(error.hint(), Some("Check the API key: it may be wrong or expired."));
    assert_eq!(statuses(&emulator), [401]);
}

#[test]
fn a_second_401_ends_the_call_even_if_the_file_changes_again() {
    let emulator = emulator(r#"{"api_key": "another5key9altogether"}"#);
    let file = KeyFile::with("key_number_0");
    let (later, next) = (file.clone(), AtomicU32::new(1));
    let change = move || later.put(&format!("key_number_{}", next.fetch_add(1, Ordering::Relaxed)));
    let client = with_file(&emulator, &file).on_event(at_401(change)).build().unwrap();
    let error = client.send_message(JOB, "p").unwrap_err();
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Authentication, 2));
    assert_eq!(statuses(&emulator), [401, 401]);
}

#[test]
fn while_the_new_key_cannot_be_read_the_old_one_is_sent_and_a_401_says_why() {
    let emulator = emulator(&format!(r#"{{"api_key": "{OLD}"}}"#));
    let file = KeyFile::with(OLD);
    let client = with_file(&emulator, &file).build().unwrap();
    let path = file.path();
    let missing = format!("cannot be read ({})", fs::read(file.0.0.join("nothing")).unwrap_err());
    let spoil: [(&dyn Fn(), &str); 4] = [
        (&|| fs::remove_file(&path).unwrap(), &missing),
        (&|| file.put(""), "is empty. Give the key as the service shows it."),
        (&|| files::set_mode(&path, 0o644), "is open to other users (mode 0644)"),
        (
            &|| {
                fs::remove_file(&path).unwrap();
                files::put_pipe(&path);
            },
            "is no longer a regular file.",
        ),
    ];
    // Windows has no modes, and no pipes that are files.
    let here = if cfg!(unix) { spoil.len() } else { 2 };
    for (spoil, why) in spoil.into_iter().take(here) {
        file.put(NEW);
        emulator.reset(Config::from_json(&format!(r#"{{"api_key": "{NEW}"}}"#)).unwrap()).unwrap();
        client.get_job(JOB).unwrap();
        spoil();
        client.get_job(JOB).expect("the key in use is right");
        emulator.reset(Config::from_json(&format!(r#"{{"api_key": "{OLD}"}}"#)).unwrap()).unwrap();
        let error = client.send_message(JOB, "p").unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::Authentication, Some(Delivery::Rejected)), "{error}");
        let message = error.message();
        assert!(message.contains("a new one could not be read: ") && message.contains(why), "{message}");
        assert!(message.contains(path.to_str().unwrap()) && error.attempts() == 1, "{message}");
        assert!(message.ends_with(". You can send it again once that is fixed.") || why.contains("mode"), "{message}");
        drop(fs::remove_file(&path));
        file.put(OLD);
        client.send_message(JOB, "p").unwrap();
    }
}

#[test]
fn a_batch_and_its_waits_continue_over_a_rotation() {
    let jobs: Vec<_> = (0..8).map(|n| format!("job_{n}")).collect();
    let records = jobs.iter().map(|id| format!(r#"{{"id": "{id}"}}"#)).collect::<Vec<_>>().join(", ");
    let emulator = Arc::new(emulator(&format!(r#"{{"api_key": "{OLD}", "work_ms": 100, "jobs": [{records}]}}"#)));
    let file = KeyFile::with(OLD);
    let (later, service, sent_before) = (file.clone(), emulator.clone(), AtomicU32::new(0));
    let handler: EventHandler = Arc::new(move |event: &Event<'_>| match event {
        // The service takes only the new key from here on, and the file has it only when the old one was refused.
        Event::Response { status: 200..300, operation: "send_message", .. }
            if sent_before.fetch_add(1, Ordering::Relaxed) == 2 =>
        {
            service.set_api_key(NEW).unwrap();
        }
        Event::Response { status: 401, .. } => later.put(NEW),
        _ => {}
    });
    let client = with_file(&emulator, &file).on_event(handler).build().unwrap();
    let options = BatchOptions::new(file.0.0.join("journal")).wait(quick());
    let mut done = 0;
    for outcome in client.send_all(jobs.iter().map(|id| BatchItem::new(id.as_str(), "p")), &options).unwrap() {
        let outcome = outcome.unwrap();
        assert_eq!(outcome.delivery(), Delivery::Accepted, "{outcome:?}");
        assert!(outcome.job().is_some_and(|job| job.is_terminal()), "{outcome:?}");
        done += 1;
    }
    assert_eq!((done, emulator.ledger().len()), (8, 8));
    assert!(statuses(&emulator).contains(&401), "the service refused the old key");
}

#[test]
fn a_wait_continues_over_a_rotation() {
    // The first poll shows an active job, whenever it comes, so there is a second one.
    let active = r#"{"method": "GET", "nth": 1, "json": {"id": "job_demo", "status": "active"}}"#;
    let emulator = Arc::new(emulator(&format!(r#"{{"api_key": "{OLD}", "work_ms": 150, "rules": [{active}]}}"#)));
    let file = KeyFile::with(OLD);
    let (later, service) = (file.clone(), emulator.clone());
    let handler: EventHandler = Arc::new(move |event: &Event<'_>| match event {
        Event::Response { status: 200..300, operation: "get_job", .. } => service.set_api_key(NEW).unwrap(),
        Event::Response { status: 401, .. } => later.put(NEW),
        _ => {}
    });
    let client = with_file(&emulator, &file).on_event(handler).build().unwrap();
    assert!(client.send_and_wait(JOB, "p", &quick()).unwrap().is_terminal());
    assert!(statuses(&emulator).contains(&401) && emulator.ledger().len() == 1);
}

#[test]
fn every_key_that_was_sent_is_removed_from_texts() {
    let body = format!(r#"{{"error": "{OLD} was followed by {NEW}"}}"#);
    let emulator =
        emulator(&format!(r#"{{"api_key": "{OLD}", "rules": [{{"nth": 3, "status": 400, "body": {body:?}}}]}}"#));
    let file = KeyFile::with(OLD);
    let client = with_file(&emulator, &file).build().unwrap();
    client.get_job(JOB).unwrap();
    file.put(NEW);
    client.get_job(JOB).unwrap_err();
    let error = client.send_message(JOB, "p").unwrap_err();
    let text = format!("{error} {error:?}");
    assert!(text.contains("*** was followed by ***") && !text.contains(OLD) && !text.contains(NEW), "{text}");
    assert!(!format!("{client:?}").contains(NEW));
}

#[test]
fn a_key_that_the_program_sets_ends_the_reading_of_the_file() {
    let emulator = emulator(&format!(r#"{{"api_key": "{NEW}"}}"#));
    let file = KeyFile::with(OLD);
    let client = with_file(&emulator, &file).build().unwrap();
    client.set_api_key(NEW).unwrap();
    file.put("a_third_key");
    client.get_job(JOB).unwrap();
    client.set_api_key("a_fourth_key").unwrap();
    assert_eq!(client.get_job(JOB).unwrap_err().attempts(), 1);
    assert_eq!(statuses(&emulator), [200, 401]);
}

#[test]
#[cfg(unix)]
fn a_pipe_is_read_once() {
    use std::io::Write;
    let emulator = emulator(&format!(r#"{{"api_key": "{NEW}"}}"#));
    let file = KeyFile::with(OLD);
    fs::remove_file(file.path()).unwrap();
    files::put_pipe(&file.path());
    let set = with_file(&emulator, &file);
    let reader = std::thread::spawn(move || set.build());
    fs::OpenOptions::new().write(true).open(file.path()).unwrap().write_all(OLD.as_bytes()).unwrap();
    let client = reader.join().unwrap().unwrap();
    let error = client.get_job(JOB).unwrap_err();
    assert_eq!((error.attempts(), error.hint()), (1, Some("Check the API key: it may be wrong or expired.")));
}

fn with_function(emulator: &Emulator, function: KeyFunction) -> ClientBuilder {
    let set = Client::builder().base_url(emulator.base_url()).project_id(emulator.project_id()).trust_env(false);
    set.timeout(ms(20_000)).api_key_function(function)
}

#[test]
fn a_function_is_called_for_each_call_and_once_more_after_a_401() {
    let emulator = emulator(&format!(r#"{{"api_key": "{NEW}"}}"#));
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let function: KeyFunction = Arc::new(move || {
        let first = counted.fetch_add(1, Ordering::Relaxed) == 0;
        Ok(if first { OLD } else { NEW }.to_owned())
    });
    let client = with_function(&emulator, function).max_retries(0).build().unwrap();
    assert_eq!((calls.load(Ordering::Relaxed), client.key_source()), (0, &KeySource::Function));
    client.send_message(JOB, "p").unwrap();
    assert_eq!((calls.load(Ordering::Relaxed), statuses(&emulator)), (2, vec![401, 200]));
    client.get_job(JOB).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    client.set_api_key(NEW).unwrap();
    client.get_job(JOB).unwrap();
    assert_eq!((calls.load(Ordering::Relaxed), emulator.ledger().len()), (3, 1));
}

#[test]
fn a_function_that_fails_ends_the_call_before_anything_is_sent() {
    let emulator = emulator(&format!(r#"{{"api_key": "{NEW}"}}"#));
    let failed: KeyFunction = Arc::new(|| Err(std::io::Error::other("the vault is closed").into()));
    let empty: KeyFunction = Arc::new(|| Ok(String::new()));
    for (function, reason, own) in [
        (failed, "the function for the API key failed (the vault is closed)", true),
        (empty, "the key that the function for the API key returned is empty", false),
    ] {
        let client = with_function(&emulator, function).build().unwrap();
        let error = client.send_message(JOB, "p").unwrap_err();
        assert_eq!((error.kind(), error.delivery()), (ErrorKind::InvalidArgument, Some(Delivery::NotSent)));
        assert_eq!((error.reason(), error.attempts()), (reason, 0));
        assert_eq!(error.function_error().is_some_and(|own| own.is::<std::io::Error>()), own);
        client.close();
        assert_eq!(client.get_job(JOB).unwrap_err().kind(), ErrorKind::Closed, "a closed client needs no key");
    }
    assert_eq!(emulator.requests().total, 0);
    let two = with_function(&emulator, Arc::new(|| Ok(NEW.to_owned()))).api_key(NEW).build().unwrap_err();
    assert!(two.message().contains("api_key and a function for it are both given"), "{two}");
}
