//! What no text about a call may have: the keys, the proxy's password or token, also in its login, the values of the caller's own headers.

use std::sync::Arc;

use crate::call::options::CallOptions;
use crate::config::api_keys::KeyRing;
use crate::config::proxy::Proxy;
use crate::config::settings::Config;
use crate::redact::Secrets;

/// The secrets of one call.
pub(crate) struct CallSecrets<'a> {
    config: &'a Config,
    keys: Arc<KeyRing>,
    call: &'a CallOptions,
}

impl<'a> CallSecrets<'a> {
    pub(crate) fn new(config: &'a Config, keys: Arc<KeyRing>, call: &'a CallOptions) -> CallSecrets<'a> {
        CallSecrets { config, keys, call }
    }
}

impl Secrets for CallSecrets<'_> {
    fn secrets(&self) -> Vec<&[u8]> {
        let headers = self.config.request_head.headers().secrets();
        let own = self.call.headers.iter().flat_map(|headers| headers.secrets());
        self.keys.all().chain(self.config.proxy.iter().flat_map(Proxy::secrets)).chain(headers).chain(own).collect()
    }
}
