//! How ureq gets a connection: ready made, with nothing left for ureq to do.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::ClientConfig;
use rustls::pki_types::CertificateDer;
use rustls::sign::CertifiedKey;
use ureq::config::Config as UreqConfig;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout};

use crate::config::endpoint::Endpoint;
use crate::config::proxy::Proxy;
use crate::config::settings::Config;
use crate::http::call_in_flight::{self, CallInFlight, Phase};
use crate::http::cause::Cause;
use crate::http::connection::Connection;
use crate::http::{dial, tls, tunnel};

/// Connects to the service, the only host that a client talks to.
pub(crate) struct ServiceConnector {
    endpoint: Endpoint,
    proxy: Option<Proxy>,
    extra_roots: Vec<CertificateDer<'static>>,
    client_certificate: Option<Arc<CertifiedKey>>,
    /// Made for the first TLS connection, then shared, so that sessions resume. A failure is not kept.
    tls: Mutex<Option<Arc<ClientConfig>>>,
}

impl ServiceConnector {
    pub(crate) fn new(config: &Config) -> ServiceConnector {
        ServiceConnector {
            endpoint: config.endpoint.clone(),
            proxy: config.proxy.clone(),
            extra_roots: config.extra_roots.clone(),
            client_certificate: config.client_certificate.clone(),
            tls: Mutex::new(None),
        }
    }

    fn connect(&self, call: &CallInFlight) -> Result<Connection, Cause> {
        let to = &self.endpoint;
        let socket = match &self.proxy {
            None => dial::dial(call, &to.host, to.port, to.loopback_only)?,
            Some(proxy) => {
                let socket = dial::dial(call, &proxy.host, proxy.port, false).map_err(|cause| match cause {
                    Cause::Resolve { .. } | Cause::Connect { .. } => {
                        Cause::Proxy(format!("cannot be reached: {}", cause.reason()))
                    }
                    Cause::ConnectTimeout | Cause::Timeout => {
                        let why = format!("cannot be reached: {}", cause.reason());
                        Cause::ProxyTimeout { why, is_reached: false }
                    }
                    other => other,
                })?;
                tunnel::open(call, &socket, proxy, to)?;
                call.end_phase(Phase::Proxy);
                socket
            }
        };
        let tls = match to.https {
            true => Some(tls::handshake(call, self.tls_config()?, &to.host, &socket).map_err(|cause| match cause {
                Cause::Lost(why) => {
                    Cause::Tls { why: format!("the connection was lost in the handshake: {why}"), hint: None }
                }
                other => other,
            })?),
            false => None,
        };
        if to.https {
            call.end_phase(Phase::Tls);
        }
        Ok(Connection::new(socket, tls, self.proxy.is_some(), self.client_certificate.is_some()))
    }

    fn tls_config(&self) -> Result<Arc<ClientConfig>, Cause> {
        let mut made = self.tls.lock().unwrap_or_else(PoisonError::into_inner);
        if made.is_none() {
            *made = Some(tls::configure(&self.extra_roots, self.client_certificate.as_ref())?);
        }
        Ok(made.clone().expect("just made"))
    }
}

impl Connector for ServiceConnector {
    type Out = Connection;

    fn connect(&self, _: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Connection>, ureq::Error> {
        let call = call_in_flight::current().ok_or(ureq::Error::ConnectionFailed)?;
        call.while_connecting(|| self.connect(&call)).map(Some).map_err(|cause| call.fail(cause))
    }
}

impl fmt::Debug for ServiceConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServiceConnector").field("to", &self.endpoint.url).finish_non_exhaustive()
    }
}

/// ureq would resolve the name for every request, even over a kept connection; dial.rs looks names up when it needs them.
#[derive(Debug)]
pub(crate) struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(&self, _: &Uri, _: &UreqConfig, _: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        Ok(self.empty())
    }
}
