//! The program: flags in, one JSON line out, then service until the end.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::config::Config;
use crate::emulator::{Emulator, Listening};

/// What follows the program's name in its help. A build without TLS does not offer it.
const HELP: &str = "\
[flags]

Serves an agent-job service on loopback. Prints one JSON line (base_url, api_key, project_id, job_id) when it listens.

  --config FILE          the configuration, JSON; - reads it from stdin
  --port N               the port to listen on (default: a free one)
  --work-ms N            how long a message keeps its job active, in milliseconds
  --until-stdin-closes   end when stdin does
";
const HELP_OF_TLS: &str = "\
  --tls                  over TLS; the JSON line then has ca_file, the authority to trust
  --mutual-tls           the same, and clients must have a certificate; the line also has client_cert, a file with one and its key
";
const HAS_TLS: bool = cfg!(feature = "tls");
const NEEDS_TLS: &str =
    "needs an emulator that was built with TLS; in a clone: cargo build --release -p agentjob-emulator --features tls";

/// How often a served command checks whether to end.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Flags {
    config: Option<String>,
    port: Option<u16>,
    work_ms: Option<u64>,
    tls: bool,
    mutual_tls: bool,
    until_stdin_closes: bool,
    help: bool,
}

/// Runs the emulator's command line: `program`, the name under which it was called, and `args` without it. `ended` is called every 50 ms and ends it with `true`, for a
/// program that catches signals itself (Python does); `&mut || false` serves until stdin closes, if asked, or forever.
///
/// Returns the exit status: 0 when it ended, 2 for bad flags or a bad configuration, with one sentence on stderr, and 1 if it
/// could not listen.
pub fn serve_command(program: &str, args: impl IntoIterator<Item = String>, ended: &mut dyn FnMut() -> bool) -> i32 {
    match run(program, args.into_iter(), ended) {
        Ok(()) => 0,
        Err((status, sentence)) => {
            let _ = writeln!(io::stderr(), "{program}: {sentence}");
            status
        }
    }
}

fn run(
    program: &str,
    args: impl Iterator<Item = String>,
    ended: &mut dyn FnMut() -> bool,
) -> Result<(), (i32, String)> {
    let usage = |sentence: String| (2, sentence);
    let flags = parse(args).map_err(usage)?;
    if flags.help {
        let help = format!("Usage: {program} {HELP}{}", if HAS_TLS { HELP_OF_TLS } else { "" });
        return io::stdout().write_all(help.as_bytes()).map_err(cannot("print"));
    }
    let config = configure(&flags).map_err(usage)?;
    let (emulator, files) = start(config, &flags)?;
    let mut listening = emulator.listening();
    let mut paths = files.iter().map(|file| file.0.clone());
    (listening.ca_file, listening.client_cert) = (paths.next(), paths.next());
    announce(&listening).map_err(cannot("print"))?;
    let stdin_closed = flags.until_stdin_closes.then(watch_stdin).transpose().map_err(cannot("start a thread"))?;
    while !ended() && !stdin_closed.as_ref().is_some_and(|closed| closed.load(Ordering::SeqCst)) {
        std::thread::sleep(CHECK_INTERVAL);
    }
    Ok(())
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Flags, String> {
    let mut flags = Flags::default();
    while let Some(flag) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--config" => flags.config = Some(value()?),
            "--port" => flags.port = Some(number(&flag, &value()?)?),
            "--work-ms" => flags.work_ms = Some(number(&flag, &value()?)?),
            "--tls" if HAS_TLS => flags.tls = true,
            "--mutual-tls" if HAS_TLS => (flags.tls, flags.mutual_tls) = (true, true),
            "--until-stdin-closes" => flags.until_stdin_closes = true,
            "--help" | "-h" => flags.help = true,
            "--tls" | "--mutual-tls" => return Err(format!("{flag} {NEEDS_TLS}")),
            _ => return Err(format!("there is no flag {flag}; there are {}", flags_of_help())),
        }
    }
    if flags.until_stdin_closes && flags.config.as_deref() == Some("-") {
        return Err("--config - reads stdin to its end, so it cannot go with --until-stdin-closes".into());
    }
    Ok(flags)
}

/// The flags that the help explains.
fn flags_of_help() -> String {
    let help = [HELP, if HAS_TLS { HELP_OF_TLS } else { "" }].concat();
    let flags: Vec<&str> = help.split_whitespace().filter(|word| word.starts_with("--")).collect();
    flags.join(", ")
}

fn number<T: std::str::FromStr>(flag: &str, value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("{flag} takes a number in its range, not `{value}`"))
}

fn configure(flags: &Flags) -> Result<Config, String> {
    let mut config = match flags.config.as_deref() {
        None => Config::default(),
        Some(source) => {
            let mut text = String::new();
            let read = match source {
                "-" => io::stdin().read_to_string(&mut text),
                file => std::fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text)),
            };
            read.map_err(|error| format!("the configuration {source} cannot be read: {error}"))?;
            Config::from_json(&text).map_err(|error| error.to_string())?
        }
    };
    config.port = flags.port.unwrap_or(config.port);
    config.work_ms = flags.work_ms.unwrap_or(config.work_ms);
    Ok(config)
}

/// A PEM file, which is removed when the emulator ends.
struct PemFile(String);

impl Drop for PemFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The emulator, and the files that it wrote: the authority's, and then that for clients, if they must have one.
fn start(config: Config, flags: &Flags) -> Result<(Emulator, Vec<PemFile>), (i32, String)> {
    if !flags.tls {
        return Emulator::start(config).map(|emulator| (emulator, Vec::new())).map_err(cannot("listen"));
    }
    #[cfg(feature = "tls")]
    {
        let requires_client_certificate = flags.mutual_tls;
        let options = crate::tls::TlsOptions { requires_client_certificate, ..Default::default() };
        let emulator = Emulator::start_tls_with(config, &options).map_err(cannot("listen"))?;
        let write = |kind: &str, pem: Option<&str>| {
            let name = format!("agentjob-emulator-{}-{}{kind}.pem", std::process::id(), emulator.address().port());
            let path = temporary_folder().join(name);
            // Never follows a link that another user left under this name. Clients refuse a key that others can read.
            let mut options = std::fs::OpenOptions::new();
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options
                .write(true)
                .create_new(true)
                .open(&path)
                .and_then(|mut file| file.write_all(pem.unwrap_or_default().as_bytes()))
                .map_err(cannot("write a certificate's file"))?;
            Ok(PemFile(path.to_string_lossy().into_owned()))
        };
        let mut files = vec![write("", emulator.ca_pem())?];
        if requires_client_certificate {
            files.push(write("-client", emulator.client_pem())?);
        }
        Ok((emulator, files))
    }
    #[cfg(not(feature = "tls"))]
    unreachable!("this build has no flag for it")
}

/// An empty TMPDIR counts as not set. std takes it for the current folder, where another program would not find the file.
#[cfg(feature = "tls")]
fn temporary_folder() -> std::path::PathBuf {
    Some(std::env::temp_dir()).filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| "/tmp".into())
}

fn announce(listening: &Listening) -> io::Result<()> {
    let mut line = serde_json::to_string(listening)?;
    line.push('\n');
    let mut stdout = io::stdout();
    stdout.write_all(line.as_bytes())?;
    stdout.flush()
}

/// Discards stdin on its own thread. The flag becomes true when stdin ends.
fn watch_stdin() -> io::Result<Arc<AtomicBool>> {
    let closed = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&closed);
    crate::thread::spawn("emulator-stdin", move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        seen.store(true, Ordering::SeqCst);
    })?;
    Ok(closed)
}

fn cannot(what: &'static str) -> impl Fn(io::Error) -> (i32, String) {
    move |error| (1, format!("cannot {what}: {error}"))
}
