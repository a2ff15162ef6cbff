//! The configuration: one JSON object, checked as a whole before anything listens.

use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::rule::Rule;

/// What the emulator serves, and how it behaves.
///
/// ```
/// let config = agentjob_emulator::Config::from_json(r#"{"work_ms": 20, "rules": [{"nth": 1, "status": 503}]}"#)?;
/// assert_eq!(config.project_id, "demo");
///
/// let error = agentjob_emulator::Config::from_json(r#"{"rules": [{"nth": 0}]}"#).unwrap_err();
/// assert_eq!(error.to_string(), "rules[0].nth: counts from 1");
/// # Ok::<(), agentjob_emulator::ConfigError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The key that requests must carry. Default: `emulator_0123456789abcdef`.
    pub api_key: String,
    /// The one project that exists. Default: `demo`.
    pub project_id: String,
    /// The TCP port to listen on; 0 takes a free one. Default: 0.
    pub port: u16,
    /// How long a message keeps its job `active`, in milliseconds. Default: 1500.
    pub work_ms: u64,
    /// What a job becomes then. Default: completed.
    pub outcome: Outcome,
    /// For how long after a message a job that was terminal still shows its previous record, in milliseconds. Default: 0.
    pub stale_ms: u64,
    /// Whether the response to the message itself shows the previous record, too. Default: true.
    pub stale_post: bool,
    /// Whether a message to a job that is active is refused with 409. Default: no; the job then works on the new message instead.
    pub busy: bool,
    /// For how long a created job responds to a GET with 404, in milliseconds. Default: 0.
    pub visible_after_ms: u64,
    /// How many messages and creates are processed in a rolling hour. Default: 100.
    pub hourly_limit: u64,
    /// The jobs that exist at the start: job records, of which only `id` is required, plus `finish_after_ms`. Default: one
    /// completed job, `job_demo`.
    pub jobs: Vec<Map<String, Value>>,
    /// Rules that change the service's behaviour. Default: none.
    pub rules: Vec<Rule>,
    /// Whether the ledger keeps the prompts' text. Default: true.
    pub keep_prompts: bool,
    /// Whether requests are kept one by one, or only counted. Default: true.
    pub keep_requests: bool,
}

/// What a job becomes when its work is done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// `completed`, with a `prLink`.
    #[default]
    Completed,
    /// `failed`, with no `prLink`.
    Failed,
    /// `archived`, with a `prLink` and `archivedAt`.
    Archived,
}

impl Default for Config {
    fn default() -> Self {
        let mut job = Map::new();
        job.insert("id".into(), "job_demo".into());
        Self {
            api_key: "emulator_0123456789abcdef".into(),
            project_id: "demo".into(),
            port: 0,
            work_ms: 1_500,
            outcome: Outcome::Completed,
            stale_ms: 0,
            stale_post: true,
            busy: false,
            visible_after_ms: 0,
            hourly_limit: 100,
            jobs: vec![job],
            rules: Vec::new(),
            keep_prompts: true,
            keep_requests: true,
        }
    }
}

impl Config {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// One sentence that begins with the field it is about.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        // An editor may have put a byte order mark before it.
        let value: Value = serde_json::from_str(text.strip_prefix('\u{feff}').unwrap_or(text))
            .map_err(|error| ConfigError(format!("the configuration is no JSON: {error}")))?;
        let Value::Object(mut fields) = value else {
            return Err(ConfigError("the configuration must be a JSON object".into()));
        };
        let rules = match fields.remove("rules") {
            None => Vec::new(),
            Some(Value::Array(rules)) => rules,
            Some(_) => return Err(ConfigError("rules: must be an array of objects".into())),
        };
        let mut config: Self = by_field(fields, "")?;
        for (at, rule) in rules.into_iter().enumerate() {
            let Value::Object(rule) = rule else {
                return Err(ConfigError(format!("rules[{at}]: must be an object")));
            };
            config.rules.push(by_field(rule, &format!("rules[{at}]."))?);
        }
        config.check()?;
        Ok(config)
    }

    /// Checks what the types do not: a configuration made in code goes through this at the start.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let refuse = |text: String| Err(ConfigError(text));
        if self.api_key.is_empty() || !self.api_key.chars().all(|c| c.is_ascii_graphic()) {
            return refuse("api_key: must be visible ASCII, and not empty".into());
        }
        if self.project_id.is_empty() {
            return refuse("project_id: must not be empty".into());
        }
        let mut ids = HashSet::new();
        for (at, job) in self.jobs.iter().enumerate() {
            match job.get("id").and_then(Value::as_str) {
                None | Some("") => return refuse(format!("jobs[{at}].id: must be a string, and not empty")),
                Some(id) if !ids.insert(id) => return refuse(format!("jobs[{at}].id: `{id}` stands twice")),
                Some(_) => {}
            }
            if job.get("status").is_some_and(|status| !status.is_string()) {
                return refuse(format!("jobs[{at}].status: must be a string"));
            }
            if job.get("finish_after_ms").is_some_and(|ms| ms.as_u64().is_none()) {
                return refuse(format!("jobs[{at}].finish_after_ms: must be a whole number of milliseconds"));
            }
        }
        for (at, rule) in self.rules.iter().enumerate() {
            rule.check().map_err(|text| ConfigError(format!("rules[{at}].{text}")))?;
        }
        Ok(())
    }
}

/// Reads an object whose fields are all optional. serde rarely says which field is wrong, so an object that fails is read again,
/// one field at a time.
fn by_field<T: DeserializeOwned>(fields: Map<String, Value>, prefix: &str) -> Result<T, ConfigError> {
    for (name, value) in &fields {
        let alone = Map::from_iter([(name.clone(), value.clone())]);
        if let Err(error) = serde_json::from_value::<T>(Value::Object(alone)) {
            return Err(ConfigError(format!("{prefix}{name}: {error}")));
        }
    }
    serde_json::from_value(Value::Object(fields)).map_err(|error| ConfigError(format!("{prefix} {error}")))
}

/// A configuration that cannot be served, as one sentence that names the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(pub(crate) String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_names_its_field() {
        for (json, begins) in [
            (r#"["x"]"#, "the configuration must be"),
            (r#"{"#, "the configuration is no JSON: "),
            (r#"{"work": 1}"#, "work: unknown field `work`"),
            (r#"{"work_ms": "soon"}"#, "work_ms: invalid type"),
            (r#"{"work_ms": -1}"#, "work_ms: "),
            (r#"{"outcome": "lost"}"#, "outcome: unknown variant `lost`"),
            (r#"{"api_key": ""}"#, "api_key: "),
            (r#"{"jobs": [{"status": "active"}]}"#, "jobs[0].id: "),
            (r#"{"jobs": [{"id": "a"}, {"id": "a"}]}"#, "jobs[1].id: `a` stands twice"),
            (r#"{"jobs": [{"id": "a", "finish_after_ms": "x"}]}"#, "jobs[0].finish_after_ms: "),
            (r#"{"rules": {}}"#, "rules: must be an array"),
            (r#"{"rules": [{}, {"staus": 500}]}"#, "rules[1].staus: unknown field"),
            (r#"{"rules": [{"status": 99}]}"#, "rules[0].status: "),
            (r#"{"rules": [{"raw": "€"}]}"#, "rules[0].raw: the character '€'"),
            (r#"{"rules": [{"raw": "x", "status": 200}]}"#, "rules[0].raw: "),
            (r#"{"rules": [{"json": 1, "body": "x"}]}"#, "rules[0].body: "),
            (r#"{"rules": [{"fault": {"do": "close"}}]}"#, "rules[0].fault: missing field `at`"),
            (r#"{"rules": [{"fault": {"do": "close", "at": "tail:1"}}]}"#, "rules[0].fault: `tail:1` is no place"),
            (r#"{"rules": [{"path": "/", "fault": {"do": "close", "at": "head:1"}}]}"#, "rules[0].fault: at `head:1`"),
            (r#"{"rules": [{"fault": {"do": "close", "at": "body:1", "process": true}}]}"#, "rules[0].process: "),
            (r#"{"rules": [{"early": true, "process": true}]}"#, "rules[0].process: "),
            (r#"{"rules": [{"linger_ms": 5}]}"#, "rules[0].linger_ms: "),
            (r#"{"rules": [{"headers": {"a": "b\r\nc: d"}}]}"#, "rules[0].headers: "),
        ] {
            let error = Config::from_json(json).expect_err(json).to_string();
            assert!(error.starts_with(begins), "{json} gave {error:?}");
        }
    }

    #[test]
    fn an_empty_object_is_the_default() {
        assert_eq!(Config::from_json("{}"), Ok(Config::default()));
        assert_eq!(Config::from_json("\u{feff}{}"), Ok(Config::default()), "with a byte order mark");
    }
}
