//! A client's settings: everything is checked and resolved once, before any request.

pub(crate) mod builder;
pub(crate) mod client_options;
pub(crate) mod endpoint;
mod environment;
pub(crate) mod proxy;
pub(crate) mod request_head;
pub(crate) mod secret;
mod setters;
mod setting_file;
pub(crate) mod settings;
