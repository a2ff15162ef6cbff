//! A client's settings: everything is checked and resolved once, before any request.

pub(crate) mod api_keys;
pub(crate) mod builder;
pub(crate) mod client_certificate;
pub(crate) mod client_options;
pub(crate) mod endpoint;
pub(crate) mod environment;
pub(crate) mod headers;
pub(crate) mod key_file;
pub(crate) mod no_proxy;
pub(crate) mod proxy;
pub(crate) mod request_head;
pub(crate) mod secret;
mod setters;
mod setting_file;
pub(crate) mod settings;
