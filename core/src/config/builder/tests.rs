//! The settings' defaults, their order of precedence, and the errors for wrong ones.

use std::time::Duration;

use crate::config::builder::*;
use crate::config::headers::Headers;
use crate::config::settings::LogLevel;
use crate::duration::duration_from_seconds;
use crate::error::kind::ErrorKind;
use crate::wait::schedule::Schedule;

const FULL: &[(&str, &str)] = &[
    ("AGENTJOB_BASE_URL", "https://variable.example"),
    ("AGENTJOB_API_KEY", "variable_key"),
    ("AGENTJOB_PROJECT_ID", "variable_project"),
    ("AGENTJOB_TIMEOUT", "7.5"),
];

fn with(variables: &[(&str, &str)]) -> ClientBuilder {
    ClientBuilder::default().with_environment(variables)
}

fn refused(builder: ClientBuilder) -> String {
    let error = builder.resolve().err().expect("a setting is wrong");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    error.message().to_owned()
}

#[test]
fn variables_supply_the_arguments_that_are_not_given() {
    let config = with(FULL).resolve().unwrap();
    assert_eq!(config.endpoint.url, "https://variable.example");
    assert!(config.keys.current(std::process::id()).line() == b"Authorization: Bearer variable_key\r\n");
    assert_eq!(config.key_source, KeySource::Variable);
    assert_eq!(config.project_id, "variable_project");
    assert_eq!(config.timeout, Duration::from_millis(7_500));
}

#[test]
fn an_argument_wins_over_its_variable() {
    let builder = with(FULL).base_url("https://argument.example").api_key("argument_key").project_id("argument");
    let config = builder.timeout(Duration::from_secs(3)).resolve().unwrap();
    assert_eq!(config.endpoint.url, "https://argument.example");
    assert!(config.keys.current(std::process::id()).line() == b"Authorization: Bearer argument_key\r\n");
    assert_eq!(config.key_source, KeySource::Argument);
    assert_eq!(config.project_id, "argument");
    assert_eq!(config.timeout, Duration::from_secs(3));
}

#[test]
fn headers_of_the_variable_and_the_argument_are_sent_and_the_argument_wins() {
    let variables = [FULL, &[("AGENTJOB_HEADERS", "X-Tenant: a\nX-Trace: b")]].concat();
    let headers = Headers::new().with("x-tenant", "c").unwrap();
    let config = with(&variables).headers(headers).resolve().unwrap();
    assert!(config.request_head.get_lines().starts_with(b"X-Trace: b\r\nx-tenant: c\r\nUser-Agent: "));
    let variables = [FULL, &[("AGENTJOB_HEADERS", "X-Tenant: a\nHost: b")]].concat();
    assert_eq!(
        refused(with(&variables)),
        "line 2 of AGENTJOB_HEADERS: header Host cannot be set: it comes from base_url"
    );
}

#[test]
fn settings_that_are_not_given_have_the_documented_defaults() {
    let config = with(&FULL[..3]).resolve().unwrap();
    assert_eq!(config.timeout, Duration::from_secs(60));
    assert_eq!(config.connect_timeout, Duration::from_secs(10));
    assert_eq!((config.limits.max_retries, config.limits.max_retry_after), (2, Duration::from_secs(60)));
    assert_eq!((config.max_prompt_bytes, config.max_response_bytes), (4 << 20, 8 << 20));
    assert!(config.proxy.is_none() && config.extra_roots.is_empty() && config.on_event.is_none());
    assert_eq!(config.log, LogLevel::Off);
    let head = String::from_utf8(config.request_head.get_lines().to_vec()).unwrap();
    assert!(head.contains(concat!("User-Agent: agentjob/", env!("CARGO_PKG_VERSION"), "\r\n")), "{head}");
}

#[test]
fn what_waits_take_comes_from_arguments_then_variables_then_defaults() {
    let config = with(FULL).resolve().unwrap();
    assert_eq!(config.waits, DEFAULT_SCHEDULE);
    let variables = [FULL, &[("AGENTJOB_MIN_INTERVAL", "0.02"), ("AGENTJOB_SETTLE", "0.5")]].concat();
    let config = with(&variables).settle(Duration::from_secs(3)).wait_timeout(None).resolve().unwrap();
    let min_interval = Duration::from_millis(20);
    let settle = Duration::from_secs(3);
    assert_eq!(config.waits, Schedule { timeout: None, min_interval, settle, ..DEFAULT_SCHEDULE });
}

#[test]
fn the_error_names_a_missing_setting_and_how_to_set_it() {
    for (left_out, message) in [
        (0, "base_url is missing. Pass base_url or set AGENTJOB_BASE_URL."),
        (1, "api_key is missing. Pass api_key or api_key_file, or set AGENTJOB_API_KEY or AGENTJOB_API_KEY_FILE."),
        (2, "project_id is missing. Pass project_id or set AGENTJOB_PROJECT_ID."),
    ] {
        let mut variables = FULL.to_vec();
        variables[left_out].1 = "";
        assert_eq!(refused(with(&variables)), message);
    }
}

#[test]
fn the_error_names_a_wrong_setting() {
    let week = Duration::from_secs(604_801);
    for (builder, start) in [
        (with(FULL).project_id(".."), "project_id is \"..\""),
        (with(FULL).project_id(""), "project_id is empty"),
        (with(FULL).api_key("a b"), "api_key contains a space"),
        (with(FULL).api_key("k").api_key_file("f"), "api_key and api_key_file are both given"),
        (with(FULL).api_key_file("/nonexistent/key"), "api_key_file \"/nonexistent/key\" cannot be read"),
        (with(FULL).timeout(Duration::ZERO), "timeout is 0"),
        (with(FULL).timeout(week), "timeout is 604801"),
        (with(FULL).connect_timeout(Duration::ZERO), "connect_timeout is 0"),
        (with(FULL).max_retries(101), "max_retries is 101"),
        (with(FULL).max_retry_after(week), "max_retry_after is longer"),
        (with(FULL).max_prompt_bytes(0), "max_prompt_bytes is 0"),
        (with(FULL).max_response_bytes(usize::MAX), "max_response_bytes is more"),
        (with(FULL).wait_timeout(Duration::ZERO), "wait_timeout is 0"),
        (with(FULL).min_interval(Duration::from_secs(61)), "min_interval is longer than max_interval"),
        (with(FULL).max_interval(week), "max_interval is 604801"),
        (with(FULL).lateness(2.0), "lateness is 2"),
        (with(FULL).settle(week), "settle is longer"),
        (with(&[FULL, &[("AGENTJOB_SETTLE", "soon")]].concat()), "AGENTJOB_SETTLE is soon"),
        (with(FULL).ca_file("/nonexistent/ca.pem"), "ca_file \"/nonexistent/ca.pem\" cannot be read"),
        (with(FULL).ca_file("/dev/null"), "ca_file \"/dev/null\" contains no certificate"),
        (with(FULL).proxy("socks5://p:1"), "proxy names a SOCKS proxy"),
        (with(FULL).user_agent_suffix("a\nb"), "user_agent_suffix must be"),
        (with(&[FULL, &[("AGENTJOB_TIMEOUT", "soon")]].concat()), "AGENTJOB_TIMEOUT is soon"),
        (with(&[FULL, &[("AGENTJOB_TIMEOUT", "nan")]].concat()), "AGENTJOB_TIMEOUT is nan"),
        (
            with(&[FULL, &[("AGENTJOB_API_KEY_FILE", "/nonexistent/key")]].concat()),
            &format!(
                "AGENTJOB_API_KEY_FILE \"/nonexistent/key\" cannot be read ({}). AGENTJOB_API_KEY is set, too: unset one of them.",
                std::fs::read("/nonexistent/key").unwrap_err()
            ),
        ),
        (with(&[FULL, &[("AGENTJOB_LOG", "loud")]].concat()), "AGENTJOB_LOG is \"loud\""),
        (with(&[FULL, &[("HTTPS_PROXY", "socks5://p:1")]].concat()), "HTTPS_PROXY names a SOCKS proxy"),
    ] {
        let message = refused(builder);
        assert!(message.starts_with(start), "{message}");
    }
}

#[test]
fn the_proxy_of_the_environment_can_be_turned_off() {
    let variables = [FULL, &[("HTTPS_PROXY", "http://p:1")]].concat();
    assert!(with(&variables).resolve().unwrap().proxy.is_some());
    assert!(with(&variables).trust_env(false).resolve().unwrap().proxy.is_none());
}

#[test]
fn seconds_from_scripts_are_checked() {
    for seconds in [f64::NAN, f64::INFINITY, -1.0, 0.0, -0.0, 604_800.1] {
        let error = duration_from_seconds("timeout", seconds).unwrap_err();
        assert!(error.message().starts_with("timeout is "), "{error}");
    }
    assert_eq!(duration_from_seconds("timeout", 0.25).unwrap(), Duration::from_millis(250));
    assert!(!duration_from_seconds("timeout", 1e-300).unwrap().is_zero());
}
