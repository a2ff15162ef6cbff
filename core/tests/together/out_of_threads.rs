//! A process that may start no thread: the service's host name cannot be resolved. Root may always start one, so the process
//! runs as another user; it runs this test, too.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::{env, fs};

use crate::support::{JOB, emulator, skip};
use agentjob_core::{Client, Delivery, ErrorKind};
use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

const TEST: &str = "out_of_threads::without_a_thread_nothing_is_sent_and_the_next_call_works";
/// Set in the environment of that process.
const URL: &str = "AGENTJOB_TEST_URL";
const NOBODY: u32 = 65534;

#[test]
fn without_a_thread_nothing_is_sent_and_the_next_call_works() {
    match env::var(URL) {
        Ok(url) => without_a_thread(&url),
        Err(_) => as_another_user(),
    }
}

fn as_another_user() {
    let emulator = emulator("{}");
    // Another user may not have access to the build folder.
    let copy = env::temp_dir().join(format!("agentjob-threads-{}", std::process::id()));
    // Not fs::copy: see `a_setuid_program_takes_no_setting_from_the_environment`.
    assert!(Command::new("cp").arg(env::current_exe().unwrap()).arg(&copy).status().unwrap().success());
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(&copy);
    command.args(["--exact", TEST, "--nocapture"]).current_dir("/");
    command.env(URL, emulator.base_url().replace("127.0.0.1", "localhost"));
    command.env("AGENTJOB_API_KEY", emulator.api_key()).env("AGENTJOB_PROJECT_ID", emulator.project_id());
    if getuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let ran = command.output();
    fs::remove_file(&copy).unwrap();
    let ran = match ran {
        Ok(ran) => ran,
        Err(error) => {
            return skip(&format!("SKIPPED: no other user may run a program from the temporary folder: {error}"));
        }
    };
    let output = String::from_utf8_lossy(&ran.stdout) + String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && output.contains("1 passed"), "{output}");
    assert_eq!(emulator.ledger().len(), 1);
}

fn without_a_thread(url: &str) {
    let client = Client::builder().base_url(url).trust_env(false).max_retries(0).build().unwrap();
    let limit = getrlimit(Resource::Nproc);
    setrlimit(Resource::Nproc, Rlimit { current: Some(0), ..limit }).unwrap();
    let error = client.send_message(JOB, "p").unwrap_err();
    setrlimit(Resource::Nproc, limit).unwrap();
    assert_eq!((error.kind(), error.delivery()), (ErrorKind::Connect, Some(Delivery::NotSent)));
    assert!(error.message().contains("no thread for the name lookup"), "{error}");
    client.send_message(JOB, "p").unwrap();
}
