//! The stand-in for an agent-job service: the whole contract on loopback, with jobs that live in memory.
//!
//! It responds like the service, it can misbehave byte by byte (see [`Rule`] and [`Fault`]), and it keeps the truth: the
//! [ledger](Emulator::ledger) lists every message that was really processed, whatever response the client got. It shares no code
//! with the client, so the two cannot share a mistake.
//!
//! ```
//! use agentjob_emulator::{Config, Emulator};
//! use std::io::{Read, Write};
//!
//! let emulator = Emulator::start(Config::default())?;
//! let mut stream = std::net::TcpStream::connect(emulator.address())?;
//! write!(
//!     stream,
//!     "GET /v2/agent/{}/job/{} HTTP/1.1\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
//!     emulator.project_id(), emulator.job_id(), emulator.api_key(),
//! )?;
//! let mut response = String::new();
//! stream.read_to_string(&mut response)?;
//! assert!(response.starts_with("HTTP/1.1 200 OK\r\n"));
//! assert!(response.contains(r#""status":"completed""#));
//! assert!(emulator.ledger().is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The configuration is the JSON of this crate's README, section "Configuration".
#![forbid(unsafe_code)]

mod body;
mod clock;
mod command;
mod config;
mod connection;
mod emulator;
mod exchange;
mod fault;
mod head;
mod input;
mod job;
mod latin1;
mod ledger;
mod response;
mod rule;
mod script;
mod service;
mod shared;
mod state;
#[cfg_attr(windows, path = "windows/thread.rs")]
mod thread;
#[cfg(feature = "tls")]
mod tls;
mod truth;
mod wire;

pub use command::serve_command;
pub use config::{Config, ConfigError, Outcome};
pub use emulator::{Emulator, Listening};
pub use fault::{Deed, Fault, Spot};
pub use latin1::Latin1;
pub use ledger::{Message, MessageKind, RequestEntry, Requests};
pub use rule::{AfterResponse, Drip, Endless, Framing, Rule};
#[cfg(feature = "tls")]
pub use tls::TlsOptions;
