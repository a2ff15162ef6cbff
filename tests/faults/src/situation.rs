//! An emulator, plain or TLS, that gets a new configuration for each message.

use std::time::Duration;

use agentjob_core::{Client, ClientBuilder};
use agentjob_emulator::{Config, Emulator};

/// One emulator and the file that holds its authority, if it speaks TLS.
pub(crate) struct Place {
    pub(crate) emulator: Emulator,
    ca_file: Option<std::path::PathBuf>,
}

impl Place {
    pub(crate) fn plain() -> Place {
        Place { emulator: Emulator::start(Config::default()).expect("a free port"), ca_file: None }
    }

    pub(crate) fn tls() -> Place {
        let emulator = Emulator::start_tls(Config::default()).expect("a free port");
        let path = std::env::temp_dir().join(format!("agentjob-faults-{}.pem", std::process::id()));
        std::fs::write(&path, emulator.ca_pem().expect("it speaks TLS")).expect("the temporary folder can be written");
        Place { emulator, ca_file: Some(path) }
    }

    /// A client of this emulator, without the environment's proxies.
    pub(crate) fn builder(&self) -> ClientBuilder {
        let builder = Client::builder()
            .base_url(self.emulator.base_url())
            .api_key(self.emulator.api_key())
            .project_id(self.emulator.project_id())
            .trust_env(false)
            .timeout(Duration::from_secs(30));
        match &self.ca_file {
            Some(path) => builder.ca_file(path),
            None => builder,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(path) = &self.ca_file {
            // If the file is gone already, there is nothing to do.
            drop(std::fs::remove_file(path));
        }
    }
}
