//! Ports that no other test gets.

#![allow(dead_code, unreachable_pub, reason = "each test program uses its own part of this")]

use std::net::{Ipv4Addr, TcpStream};
use std::sync::atomic::{AtomicU16, Ordering};

/// A free port below those that the system gives to a program that asks for any. So a service on it can be stopped, and nothing
/// listens there until its test starts another. Binding it would not show that it is free a moment later: a process that another test
/// starts has the same sockets until it runs its program.
pub fn port_of_its_own() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = (std::process::id() * 7 % 10_000) as u16;
    let mut ports = (0..10_000).map(|_| 20_000 + (first + NEXT.fetch_add(1, Ordering::Relaxed)) % 10_000);
    ports
        .find(|port| TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).is_err())
        .expect("a port from 20000 to 29999 is free")
}
