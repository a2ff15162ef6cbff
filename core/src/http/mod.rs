//! One HTTP exchange over ureq: a request in; a reply, or a failure that says how much the kernel took, out.
//!
//! The only room that touches a socket, and the only one that sees the traits of ureq that its version promise does not cover
//! (`ureq::unversioned`). ureq speaks HTTP and keeps connections; every byte goes through our own transport.

pub(crate) mod buffers;
pub(crate) mod call_in_flight;
pub(crate) mod canonical;
pub(crate) mod chunks;
pub(crate) mod connection;
pub(crate) mod connections;
pub(crate) mod connector;
pub(crate) mod dial;
pub(crate) mod exchange;
pub(crate) mod failure;
pub(crate) mod framing;
pub(crate) mod incoming;
pub(crate) mod interrupt;
pub(crate) mod lookup;
pub(crate) mod response_body;
pub(crate) mod response_head;
pub(crate) mod response_headers;
pub(crate) mod roots;
pub(crate) mod socket;
pub(crate) mod tls;
pub(crate) mod tls_failure;
pub(crate) mod tunnel;
#[cfg(test)]
mod ureq_contract;
