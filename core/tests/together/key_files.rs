//! Key files: who may own and read them, and pipes in their place.

use std::fs;
use std::io::Write;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::batches::Folder;
use crate::support::files::{put_pipe, set_mode};
use crate::support::{ms, skip, timed, until};
use agentjob_core::{Client, ClientBuilder, Control, Error, ErrorKind, Interrupted};
use rustix::process::getuid;

fn builder(file: &Path) -> ClientBuilder {
    Client::builder().base_url("http://127.0.0.1:9").project_id("p").api_key_file(file)
}

fn key_file(folder: &Folder, mode: u32) -> PathBuf {
    let path = folder.0.join("the key");
    // Only root may write to one that is read-only.
    drop(fs::remove_file(&path));
    fs::write(&path, "adm_zebra7quilt4\n").unwrap();
    set_mode(&path, mode);
    path
}

fn pipe(folder: &Folder) -> PathBuf {
    let path = folder.0.join("pipe");
    put_pipe(&path);
    path
}

#[test]
fn a_key_file_that_others_can_read_or_write_is_refused_with_the_command_that_fixes_it() {
    let folder = Folder::new();
    for (mode, refused) in [
        (0o600, false),
        (0o400, false),
        (0o700, false),
        (0o640, true),
        (0o604, true),
        (0o620, true),
        (0o602, true),
        (0o644, true),
    ] {
        let file = key_file(&folder, mode);
        match builder(&file).build() {
            Ok(_) => assert!(!refused, "{mode:o}"),
            Err(error) => {
                assert!(refused && error.kind() == ErrorKind::InvalidArgument, "{mode:o}: {error}");
                assert!(error.message().contains(&format!("(mode {mode:04o})")), "{error}");
                let command = error.hint().unwrap().split_once("run: ").unwrap().1;
                assert!(Command::new("sh").args(["-c", command]).status().unwrap().success(), "{command}");
                assert!(builder(&file).build().is_ok(), "the command fixes it");
            }
        }
    }
    let file = key_file(&folder, 0o644);
    assert!(builder(&file).allow_shared_key_file(true).build().is_ok());
    assert!(builder(&file).allow_shared_key_file(false).build().is_err());
    let link = folder.0.join("link");
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(builder(&link).build().is_err(), "a link's target is checked");
}

#[test]
fn the_mode_of_another_users_key_file_is_not_checked() {
    let folder = Folder::new();
    let file = key_file(&folder, 0o644);
    let another = if getuid().as_raw() == 65534 { 65533 } else { 65534 };
    if chown(&file, Some(another), None).is_err() {
        return skip("SKIPPED: another user's key file, for only root can make one");
    }
    assert!(builder(&file).build().is_ok());
}

#[test]
fn a_pipe_that_is_written_is_read_to_its_end() {
    let folder = Folder::new();
    let path = pipe(&folder);
    for late in [false, true] {
        let file = path.clone();
        let reader = std::thread::spawn(move || builder(&file).build());
        let writes = |key: &str| {
            // Blocks until there is a reader.
            let mut writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
            writer.write_all(&key.as_bytes()[..5]).unwrap();
            if late {
                std::thread::sleep(ms(120));
            }
            writer.write_all(&key.as_bytes()[5..]).unwrap();
        };
        writes("adm_zebra7quilt4\n");
        reader.join().unwrap().unwrap();
    }
    let script = r#"exec env AGENTJOB_API_KEY_FILE=<(sleep 0.1; echo adm_zebra7quilt4) "$0" --exact "$1" --nocapture"#;
    let substituted = Command::new("bash")
        .args(["-c", script, std::env::current_exe().unwrap().to_str().unwrap()])
        .arg("key_files::a_child_takes_its_settings_from_the_environment")
        .envs([("AGENTJOB_BASE_URL", "http://127.0.0.1:9"), ("AGENTJOB_PROJECT_ID", "p"), (CHILD, "1")])
        .output();
    match substituted {
        Ok(out) => assert!(output_of(&out).contains("made VariableFile"), "{out:?}"),
        Err(_) => skip("SKIPPED: process substitution, for there is no bash"),
    }
}

struct Impatient;

impl Control for Impatient {
    fn check(&self) -> Result<(), Interrupted> {
        Err(Interrupted)
    }
}

#[test]
fn a_pipe_without_a_writer_ends_when_the_caller_cancels() {
    let folder = Folder::new();
    let path = pipe(&folder);
    for set in
        [builder(&path), Client::builder().base_url("http://127.0.0.1:9").project_id("p").api_key("k").ca_file(&path)]
    {
        let (took, made) = timed(|| set.control(Arc::new(Impatient)).build());
        let error: Error = made.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Cancelled, "{error}");
        assert!(took < ms(5000), "{took:?}");
    }
}

/// Counts its checks.
struct Counting {
    wants_checks: bool,
    checks: AtomicU32,
}

impl Control for Counting {
    fn check(&self) -> Result<(), Interrupted> {
        self.checks.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn wants_checks(&self) -> bool {
        self.wants_checks
    }
}

#[test]
fn a_pipe_wakes_nobody_who_wants_no_checks() {
    let folder = Folder::new();
    let path = pipe(&folder);
    for wants_checks in [true, false] {
        let control = Arc::new(Counting { wants_checks, checks: AtomicU32::new(0) });
        let set = builder(&path).control(control.clone());
        let reader = std::thread::spawn(move || set.build());
        let mut writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
        match wants_checks {
            true => until("it checks", || control.checks.load(Ordering::Relaxed) > 0),
            false => std::thread::sleep(ms(300)),
        }
        writer.write_all(b"adm_zebra7quilt4\n").unwrap();
        drop(writer);
        reader.join().unwrap().unwrap();
        assert_eq!(control.checks.load(Ordering::Relaxed) > 0, wants_checks);
    }
}

const CHILD: &str = "AGENTJOB_TEST_CHILD";

fn output_of(out: &std::process::Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr))
}

#[test]
fn a_child_takes_its_settings_from_the_environment() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    match Client::builder().build() {
        Ok(client) => eprintln!("made {:?}", client.key_source()),
        Err(error) => eprintln!("refused: {error}"),
    }
    if let Ok(url) = std::env::var("AGENTJOB_TEST_URL") {
        let client = Client::builder()
            .base_url(url)
            .api_key("adm_zebra7quilt4")
            .project_id("p")
            .trust_env(true)
            .build()
            .unwrap();
        match client.get_job("job_1") {
            Ok(_) => eprintln!("responded"),
            Err(error) => eprintln!("{}", error.kind()),
        }
    }
}

#[test]
fn the_variable_allows_a_shared_key_file() {
    let folder = Folder::new();
    let file = key_file(&folder, 0o644);
    for (value, result) in [
        ("1", "made VariableFile"),
        ("0", "chmod 600"),
        ("", "chmod 600"),
        ("yes", "AGENTJOB_ALLOW_SHARED_KEY_FILE is \"yes\". Give 1 or 0"),
    ] {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "key_files::a_child_takes_its_settings_from_the_environment", "--nocapture"])
            .envs([("AGENTJOB_BASE_URL", "http://127.0.0.1:9"), ("AGENTJOB_PROJECT_ID", "p"), (CHILD, "1")])
            .env("AGENTJOB_API_KEY_FILE", &file)
            .env("AGENTJOB_ALLOW_SHARED_KEY_FILE", value)
            .output()
            .unwrap();
        assert!(output_of(&child).contains(result), "{value}: {}", output_of(&child));
    }
}

/// As `secure_getenv`: a user who starts a program with more rights than their own must not choose where its key goes.
#[test]
fn a_setuid_program_takes_no_setting_from_the_environment() {
    let folder = Folder::new();
    let program = folder.0.join("program");
    // Not fs::copy: until a process that another test starts meanwhile has executed its program, it would have the copy open for
    // writing, and a file that is open for writing cannot be executed.
    assert!(Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap().success());
    set_mode(&folder.0, 0o755);
    let emulator = agentjob_emulator::Emulator::start_tls(agentjob_emulator::Config::default()).unwrap();
    let authority = folder.0.join("authority.pem");
    fs::write(&authority, emulator.ca_pem().unwrap()).unwrap();
    // Whatever the umask is, the other users may read it.
    set_mode(&authority, 0o644);
    let run = |owner: u32, mode: u32| {
        chown(&program, Some(owner), Some(owner)).ok()?;
        set_mode(&program, mode);
        use std::os::unix::process::CommandExt;
        let child = Command::new(&program)
            .args(["--exact", "key_files::a_child_takes_its_settings_from_the_environment", "--nocapture"])
            .env_clear()
            .envs([("AGENTJOB_BASE_URL", "http://127.0.0.1:9"), ("AGENTJOB_PROJECT_ID", "p"), (CHILD, "1")])
            .envs([("AGENTJOB_API_KEY", "adm_zebra7quilt4"), ("AGENTJOB_TEST_URL", emulator.base_url())])
            .env("SSL_CERT_FILE", &authority)
            .current_dir("/")
            .uid(65534)
            .gid(65534)
            .output();
        Some(output_of(&child.ok()?))
    };
    let Some(plain) = run(1, 0o755) else {
        return skip("SKIPPED: a set-user-ID program, for only root can make one for another user");
    };
    assert!(plain.contains("made Variable") && plain.contains("authentication"), "{plain}");
    // Another user's, root's, and a group's.
    for (owner, mode) in [(1, 0o4755), (0, 0o4755), (1, 0o2755)] {
        let raised = run(owner, mode).unwrap();
        assert!(raised.contains("refused: base_url is missing"), "{owner} {mode:o}: {raised}");
        assert!(raised.contains("\ntls"), "SSL_CERT_FILE is ignored: {raised}");
    }
}
