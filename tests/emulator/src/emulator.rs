//! The emulator as a value: it listens from its creation until it is dropped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::config::{Config, ConfigError};
use crate::connection;
use crate::ledger::{Message, Requests};
use crate::shared::Shared;
use crate::thread;

/// How long a stop waits for the connections' threads. They are woken, so only a starved machine needs all of it.
const STOP_PATIENCE: Duration = Duration::from_millis(150);
/// How long the listener pauses when the system lacks a resource, such as file descriptors.
const ACCEPT_FAILED: Duration = Duration::from_millis(20);

/// A service that listens on loopback. Dropping it stops it.
///
/// ```
/// use agentjob_emulator::{Config, Emulator};
///
/// let emulator = Emulator::start(Config::default())?;
/// assert!(emulator.base_url().starts_with("http://127.0.0.1:"));
/// assert_eq!(emulator.job_id(), "job_demo");
/// emulator.stop();
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Emulator {
    shared: Arc<Shared>,
    base_url: String,
    addresses: Vec<SocketAddr>,
    listeners: Mutex<Vec<JoinHandle<()>>>,
    #[cfg(feature = "tls")]
    ca_pem: Option<String>,
    #[cfg(feature = "tls")]
    client_pem: Option<String>,
}

/// What a client needs to know of an emulator that listens; as JSON, the line that the program prints.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listening {
    /// Where it listens.
    pub base_url: String,
    /// The key that it accepts.
    pub api_key: String,
    /// The project that it has.
    pub project_id: String,
    /// Its first job.
    pub job_id: String,
    /// A file with the certificate authority to trust, PEM. Only over TLS, and only the program writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// A file with a certificate for clients and its key, PEM. Only where clients must have one, and only the program writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cert: Option<String>,
}

impl Emulator {
    /// Listens on 127.0.0.1, in plain text.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] with a [`ConfigError`] if `config` is contradictory; otherwise the system's
    /// error for the port.
    pub fn start(config: Config) -> io::Result<Self> {
        config.check().map_err(invalid)?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, config.port))?;
        let base_url = format!("http://{}", listener.local_addr()?);
        Self::serve(Shared::new(config, None), base_url, vec![listener])
    }

    /// Listens over TLS with a certificate for `localhost`, 127.0.0.1 and ::1, reachable under each of them.
    ///
    /// # Errors
    /// As [`Emulator::start`].
    #[cfg(feature = "tls")]
    pub fn start_tls(config: Config) -> io::Result<Self> {
        Self::start_tls_with(config, &crate::tls::TlsOptions::default())
    }

    /// Listens over TLS with the certificate that `options` describe, which may be one that no client should accept.
    ///
    /// # Errors
    /// As [`Emulator::start`], and [`io::ErrorKind::InvalidInput`] if a name in `options` is invalid.
    #[cfg(feature = "tls")]
    pub fn start_tls_with(config: Config, options: &crate::tls::TlsOptions) -> io::Result<Self> {
        config.check().map_err(invalid)?;
        let identity = crate::tls::identity(options)?;
        let listeners = crate::tls::bind_localhost(config.port)?;
        let port = listeners[0].local_addr()?.port();
        let shared = Shared::new(config, Some(identity.tls));
        let mut emulator = Self::serve(shared, format!("https://localhost:{port}"), listeners)?;
        (emulator.ca_pem, emulator.client_pem) = (Some(identity.ca_pem), Some(identity.client_pem));
        Ok(emulator)
    }

    fn serve(shared: Shared, base_url: String, listeners: Vec<TcpListener>) -> io::Result<Self> {
        let emulator = Self {
            shared: Arc::new(shared),
            base_url,
            addresses: listeners.iter().map(TcpListener::local_addr).collect::<Result<_, _>>()?,
            listeners: Mutex::default(),
            #[cfg(feature = "tls")]
            ca_pem: None,
            #[cfg(feature = "tls")]
            client_pem: None,
        };
        for listener in listeners {
            let shared = Arc::clone(&emulator.shared);
            let thread = thread::spawn("emulator-accept", move || accept(&listener, &shared))?;
            emulator.threads().push(thread);
        }
        Ok(emulator)
    }

    /// The URL under which the service is reached, without a slash at its end.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// The key that requests must carry.
    pub fn api_key(&self) -> String {
        self.shared.state().config.api_key.clone()
    }

    /// The project that exists.
    pub fn project_id(&self) -> String {
        self.shared.state().config.project_id.clone()
    }

    /// The first job of the configuration; empty if it has none.
    pub fn job_id(&self) -> String {
        let state = self.shared.state();
        let id = state.config.jobs.first().and_then(|job| job.get("id")).and_then(|id| id.as_str());
        id.unwrap_or_default().to_owned()
    }

    /// The address on 127.0.0.1 under which the service is reached.
    pub fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// The certificate authority that signed the service's certificate, PEM; none in plain text.
    #[cfg(feature = "tls")]
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// A certificate of that authority for clients, followed by its private key, PEM; none in plain text.
    #[cfg(feature = "tls")]
    pub fn client_pem(&self) -> Option<&str> {
        self.client_pem.as_deref()
    }

    /// What a client needs to know.
    pub fn listening(&self) -> Listening {
        Listening {
            base_url: self.base_url.clone(),
            api_key: self.api_key(),
            project_id: self.project_id(),
            job_id: self.job_id(),
            ca_file: None,
            client_cert: None,
        }
    }

    /// Every message that was really processed, oldest first.
    pub fn ledger(&self) -> Vec<Message> {
        self.shared.state().ledger.clone()
    }

    /// Every request that began.
    pub fn requests(&self) -> Requests {
        self.shared.state().requests()
    }

    /// Starts again with `config`, whose port is ignored: jobs, rules, ledger and counters are new, connections stay open.
    ///
    /// # Errors
    /// [`ConfigError`] if `config` is contradictory; then nothing changes.
    pub fn reset(&self, config: Config) -> Result<(), ConfigError> {
        config.check()?;
        self.shared.state().reset(config);
        Ok(())
    }

    /// Takes only this key from now on, as a service does whose keys rotate. Everything else stays.
    ///
    /// # Errors
    /// [`ConfigError`] if it is no key; then nothing changes.
    pub fn set_api_key(&self, key: &str) -> Result<(), ConfigError> {
        let mut state = self.shared.state();
        let config = Config { api_key: key.to_owned(), ..state.config.clone() };
        config.check()?;
        state.config = config;
        Ok(())
    }

    /// How many connections are open now. One whose client has gone stays until everything that came over it was processed.
    pub fn open_connections(&self) -> usize {
        self.shared.open_connections()
    }

    /// Stops listening and ends every connection, including those that a fault keeps silent. Takes less than 200 ms; the ledger can
    /// still be read. A second call does nothing.
    pub fn stop(&self) {
        self.shared.stop();
        for address in &self.addresses {
            // Wakes the listener's thread, which then sees the stop.
            let _ = TcpStream::connect_timeout(address, STOP_PATIENCE);
        }
        let threads: Vec<_> = self.threads().drain(..).collect();
        for thread in threads {
            let _ = thread.join();
        }
        self.shared.end_connections(STOP_PATIENCE);
    }

    fn threads(&self) -> std::sync::MutexGuard<'_, Vec<JoinHandle<()>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop();
    }
}

impl std::fmt::Debug for Emulator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Emulator").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

/// Accepts connections until the emulator stops, each on its own thread.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let accepted = listener.accept();
        if shared.is_stopping() {
            return;
        }
        let Ok((tcp, _)) = accepted else {
            std::thread::sleep(ACCEPT_FAILED);
            continue;
        };
        // Each response is one write, which must not wait for the acknowledgement of the one before.
        let _ = tcp.set_nodelay(true);
        let tcp = Arc::new(tcp);
        let seat = shared.seat(Arc::clone(&tcp));
        let (place, fault) = shared.state().accept();
        let shared = Arc::clone(shared);
        // If no thread can be started, the connection is dropped, as an overloaded service would do.
        let _ = thread::spawn("emulator-connection", move || connection::serve(shared, tcp, seat, place, fault));
    }
}

fn invalid(error: ConfigError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, error)
}
