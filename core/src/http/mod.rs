//! One HTTP exchange over ureq: a request in; a reply, or a failure that says how much the kernel took, out.
//!
//! The only room that touches a socket, and the only one that sees the traits of ureq that its version promise does not cover
//! (`ureq::unversioned`). ureq speaks HTTP and keeps connections; every byte goes through our own transport.

pub(crate) mod buffers;
mod call_in_flight;
pub(crate) mod cause;
mod connection;
pub(crate) mod connections;
mod connector;
mod dial;
pub(crate) mod exchange;
pub(crate) mod header_fields;
pub(crate) mod interim;
mod interrupt;
mod keep_alive;
mod lookup;
mod response_body;
pub(crate) mod response_headers;
mod roots;
mod socket;
mod tls;
mod tls_failure;
mod tunnel;
mod unreadable;
#[cfg(test)]
mod ureq_contract;
