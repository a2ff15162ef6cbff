//! The program: flags in, one JSON line out, then service until the end.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::config::Config;
use crate::emulator::{Emulator, Listening};

const HELP: &str = "\
Usage: agentjob-emulator [--config FILE|-] [--port N] [--work-ms N] [--tls] [--until-stdin-closes]

Serves an agent-job service on loopback. Prints one JSON line (base_url, api_key, project_id, job_id) when it listens.

  --config FILE          the configuration, JSON; - reads it from stdin
  --port N               the port to listen on (default: a free one)
  --work-ms N            how long a message keeps its job active, in milliseconds
  --tls                  over TLS; the JSON line then has ca_file, the authority to trust
  --until-stdin-closes   end when stdin does
";

/// How often a served command checks whether to end.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Default)]
struct Flags {
    config: Option<String>,
    port: Option<u16>,
    work_ms: Option<u64>,
    tls: bool,
    until_stdin_closes: bool,
    help: bool,
}

/// Runs the emulator's command line: `args` without the program's name. `ended` is called every 50 ms and ends it with `true`, for a
/// program that catches signals itself (Python does); `&mut || false` serves until stdin closes, if asked, or forever.
///
/// Returns the exit status: 0 when it ended, 2 for bad flags or a bad configuration, with one sentence on stderr, and 1 if it
/// could not listen.
pub fn serve_command(args: impl IntoIterator<Item = String>, ended: &mut dyn FnMut() -> bool) -> i32 {
    match run(args.into_iter(), ended) {
        Ok(()) => 0,
        Err((status, sentence)) => {
            let _ = writeln!(io::stderr(), "agentjob-emulator: {sentence}");
            status
        }
    }
}

fn run(args: impl Iterator<Item = String>, ended: &mut dyn FnMut() -> bool) -> Result<(), (i32, String)> {
    let usage = |sentence: String| (2, sentence);
    let flags = parse(args).map_err(usage)?;
    if flags.help {
        return io::stdout().write_all(HELP.as_bytes()).map_err(cannot("print"));
    }
    let config = configure(&flags).map_err(usage)?;
    let (emulator, ca_file) = start(config, flags.tls)?;
    let mut listening = emulator.listening();
    listening.ca_file = ca_file.as_ref().map(|file| file.0.clone());
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
            "--tls" => flags.tls = true,
            "--until-stdin-closes" => flags.until_stdin_closes = true,
            "--help" | "-h" => flags.help = true,
            _ => return Err(format!("{flag} is not understood; --help says what is")),
        }
    }
    if flags.until_stdin_closes && flags.config.as_deref() == Some("-") {
        return Err("--config - reads stdin to its end, so it cannot go with --until-stdin-closes".into());
    }
    Ok(flags)
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

/// The authority's file, which is removed when the emulator ends.
struct CaFile(String);

impl Drop for CaFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn start(config: Config, tls: bool) -> Result<(Emulator, Option<CaFile>), (i32, String)> {
    if !tls {
        return Emulator::start(config).map(|emulator| (emulator, None)).map_err(cannot("listen"));
    }
    #[cfg(feature = "tls")]
    {
        let emulator = Emulator::start_tls(config).map_err(cannot("listen"))?;
        let name = format!("agentjob-emulator-{}-{}.pem", std::process::id(), emulator.address().port());
        let path = std::env::temp_dir().join(name);
        // Never follows a link that another user left under this name.
        std::fs::File::create_new(&path)
            .and_then(|mut file| file.write_all(emulator.ca_pem().unwrap_or_default().as_bytes()))
            .map_err(cannot("write the authority's file"))?;
        Ok((emulator, Some(CaFile(path.to_string_lossy().into_owned()))))
    }
    #[cfg(not(feature = "tls"))]
    Err((2, "--tls is not in this build, which was made without the feature `tls`".into()))
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
