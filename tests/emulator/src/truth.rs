//! The truth endpoints, `/_emulator/…`: no key, no rules, and nothing of them is counted.

use serde::Serialize;
use serde_json::{Value, json};

use crate::config::Config;
use crate::ledger::Message;
use crate::response::Response;
use crate::shared::Shared;

const PREFIX: &[u8] = b" /_emulator/";
const METHODS: [&[u8]; 5] = [b"GET", b"POST", b"PUT", b"HEAD", b"DELETE"];

/// The ledger as it is sent; borrowed, since a benchmark's is long.
#[derive(Serialize)]
struct Ledger<'a> {
    messages: &'a [Message],
}

/// Whether a request that begins with `bytes` is for the truth; none while that is open.
pub(crate) fn is_addressed(bytes: &[u8]) -> Option<bool> {
    let mut open = false;
    for method in METHODS {
        let mut wanted = method.iter().chain(PREFIX);
        let same = bytes.iter().take(method.len() + PREFIX.len()).all(|byte| wanted.next() == Some(byte));
        if same && wanted.next().is_none() {
            return Some(true);
        }
        open |= same;
    }
    if open { None } else { Some(false) }
}

/// Responds to a request for the truth.
pub(crate) fn serve(shared: &Shared, method: &str, path: &str, body: &[u8]) -> Response {
    let empty = || Response::json(200, &json!({}));
    match (method, path) {
        ("GET", "/_emulator/health") => empty(),
        ("GET", "/_emulator/ledger") => Response::json(200, &Ledger { messages: &shared.state().ledger }),
        ("GET", "/_emulator/requests") => Response::json(200, &shared.state().requests()),
        ("POST", "/_emulator/reset") => {
            shared.state().reset(shared.initial.clone());
            empty()
        }
        ("PUT", "/_emulator/config") => match read_config(body) {
            Ok(config) => {
                shared.state().reset(config);
                empty()
            }
            Err(text) => Response::error(400, &text),
        },
        _ => Response::error(404, "the emulator has ledger, requests, health (GET), config (PUT) and reset (POST)"),
    }
}

fn read_config(body: &[u8]) -> Result<Config, String> {
    let text = std::str::from_utf8(body).map_err(|_| "the configuration is not UTF-8".to_owned())?;
    let config = Config::from_json(text).map_err(|error| error.to_string())?;
    let names_port = serde_json::from_str::<Value>(text).is_ok_and(|value| value.get("port").is_some());
    if names_port {
        return Err("port: the emulator listens already, leave it out".into());
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_for_the_truth_is_known_by_its_first_bytes() {
        for (bytes, addressed) in [
            ("", None),
            ("G", None),
            ("GET /", None),
            ("GET /_emulator", None),
            ("GET /_emulator/", Some(true)),
            ("PUT /_emulator/config HTTP/1.1", Some(true)),
            ("GET /v2/agent", Some(false)),
            ("PATCH", Some(false)),
            ("\x16\x03\x01", Some(false)),
        ] {
            assert_eq!(is_addressed(bytes.as_bytes()), addressed, "{bytes:?}");
        }
    }
}
