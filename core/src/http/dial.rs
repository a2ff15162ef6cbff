//! From a host name to a connected socket: lookup, then a race over the addresses, interruptible throughout.

use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::AddressFamily;

use crate::http::call_in_flight::{CallInFlight, Phase};
use crate::http::cause::{Cause, describe_io};
use crate::http::lookup;
use crate::http::socket::Socket;
use crate::os::descriptor::above_standard;
use crate::os::socket;

/// RFC 8305 "Connection Attempt Delay": how long to wait for one address before the next is tried in parallel.
const STAGGER: Duration = Duration::from_millis(250);

/// Connects to `host`. With `loopback_only` only loopback addresses are used, whatever the name resolves to.
pub(crate) fn dial(call: &CallInFlight, host: &str, port: u16, loopback_only: bool) -> Result<Socket, Cause> {
    let mut addresses = match host.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => {
            let found = lookup::look_up(call, host, |host| (host, 0).to_socket_addrs().map(Iterator::collect))?;
            call.end_phase(Phase::Resolve);
            found
        }
    };
    addresses.iter_mut().for_each(|address| address.set_port(port));
    if loopback_only {
        addresses.retain(|address| address.ip().is_loopback());
    }
    if addresses.is_empty() {
        let why = if loopback_only { "it is not an address of this machine" } else { "it has no address" };
        return Err(Cause::Resolve { host: host.to_owned(), why: why.to_owned() });
    }
    let to = if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") };
    let stream = race(call, &to, alternating(addresses), begin)?;
    let socket = Socket::new(stream).map_err(|error| Cause::Connect { to, why: describe_io(&error) })?;
    call.end_phase(Phase::Connect);
    Ok(socket)
}

/// The resolver's order with IPv6 and IPv4 interleaved (RFC 8305 section 4), so that a broken family costs one [`STAGGER`].
fn alternating(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let first_is_v6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (first, second): (Vec<_>, Vec<_>) = addresses.into_iter().partition(|a| a.is_ipv6() == first_is_v6);
    let mut out = Vec::with_capacity(first.len() + second.len());
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    loop {
        let pair = [first.next(), second.next()];
        if pair == [None, None] {
            return out;
        }
        out.extend(pair.into_iter().flatten());
    }
}

/// Returns the first connection that is established. The other attempts are closed.
fn race(
    call: &CallInFlight,
    to: &str,
    addresses: Vec<SocketAddr>,
    mut begin: impl FnMut(&SocketAddr) -> Result<Attempt, Errno>,
) -> Result<TcpStream, Cause> {
    let mut untried = addresses.into_iter().peekable();
    let mut running: Vec<OwnedFd> = Vec::new();
    let mut next_at = Instant::now();
    let mut why = String::new();
    loop {
        call.check()?;
        if untried.peek().is_some() && (running.is_empty() || Instant::now() >= next_at) {
            let address = untried.next().expect("just seen");
            next_at = Instant::now() + STAGGER;
            match begin(&address) {
                Ok(Attempt::Connected(socket)) => return Ok(TcpStream::from(socket)),
                Ok(Attempt::InProgress(socket)) => running.push(socket),
                Err(error) if socket::is_shortage(error) && running.is_empty() => {
                    return Err(Cause::Resources(describe_io(&error.into())));
                }
                Err(error) => {
                    why = describe_io(&error.into());
                    next_at = Instant::now();
                }
            }
            continue;
        }
        if running.is_empty() {
            return Err(Cause::Connect { to: to.to_owned(), why });
        }
        let mut wait = call.slice();
        if untried.peek().is_some() {
            wait = wait.min(next_at.saturating_duration_since(Instant::now()));
        }
        let ended = wait_for_any(&running, wait)?;
        let mut still = Vec::with_capacity(running.len());
        for (socket, has_ended) in running.into_iter().zip(ended) {
            match rustix::net::sockopt::socket_error(&socket).flatten() {
                // On Windows a connect in progress has a peer's name, too. On Unix either check alone would be enough.
                Ok(()) if has_ended && rustix::net::getpeername(&socket).is_ok() => {
                    return Ok(TcpStream::from(socket));
                }
                Ok(()) => still.push(socket),
                Err(error) => {
                    why = describe_io(&error.into());
                    next_at = Instant::now();
                }
            }
        }
        running = still;
    }
}

/// A connect that was begun.
enum Attempt {
    /// Already connected, as loopback often is.
    Connected(OwnedFd),
    InProgress(OwnedFd),
}

/// Begins to connect, without waiting.
fn begin(address: &SocketAddr) -> Result<Attempt, Errno> {
    let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
    let socket = above_standard(|| socket::open(family))?;
    rustix::io::ioctl_fionbio(&socket, true)?;
    match rustix::net::connect(&socket, address) {
        Ok(()) => Ok(Attempt::Connected(socket)),
        Err(error) if socket::is_in_progress(error) => Ok(Attempt::InProgress(socket)),
        Err(error) => Err(error),
    }
}

/// Which of these attempts have ended, when one has or the time has passed.
fn wait_for_any(sockets: &[OwnedFd], wait: Duration) -> Result<Vec<bool>, Cause> {
    let mut fds: Vec<_> = sockets.iter().map(|socket| PollFd::new(socket, PollFlags::OUT)).collect();
    socket::wait_for(&mut fds, wait).map_err(|error| Cause::Resources(describe_io(&error.into())))?;
    Ok(fds.iter().map(|fd| !fd.revents().is_empty()).collect())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use rustix::net::{SocketAddrV4, bind, listen};

    use super::*;

    fn listening() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// An address that refuses every connection: its socket does not listen, and keeps the port from others.
    fn refusing() -> (TcpListener, SocketAddr) {
        let socket = socket::open(AddressFamily::INET).unwrap();
        bind(&socket, &SocketAddrV4::new([127, 0, 0, 1].into(), 0)).unwrap();
        let socket = TcpListener::from(socket);
        let address = socket.local_addr().unwrap();
        (socket, address)
    }

    /// An address whose listener does not respond, because its queue is full.
    fn silent() -> (Vec<TcpStream>, TcpListener, SocketAddr) {
        let (listener, address) = refusing();
        listen(&listener, 0).unwrap();
        let mut queued = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            queued.push(stream);
            assert!(queued.len() < 64, "the queue never fills");
        }
        (queued, listener, address)
    }

    /// How often this thread has waited for something.
    #[cfg(target_os = "linux")]
    fn waits() -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        line.unwrap().trim().parse().unwrap()
    }

    #[test]
    fn the_next_address_is_tried_beside_one_that_does_not_respond_but_not_at_once() {
        let ((_queued, _full, silent), (_listener, address)) = (silent(), listening());
        let began = Instant::now();
        let connected = race(&CallInFlight::for_test(), "localhost", vec![silent, address], begin).unwrap();
        assert_eq!(connected.peer_addr().unwrap(), address);
        assert!(began.elapsed() >= STAGGER, "{:?}", began.elapsed());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_race_waits_and_does_not_ask_all_the_time() {
        let ((_queued, _full, silent), (_listener, address)) = (silent(), listening());
        // A machine that stands still until the next address is due leaves nothing to wait for.
        let waited = (0..10).any(|_| {
            let before = waits();
            race(&CallInFlight::for_test(), "localhost", vec![silent, address], begin).unwrap();
            waits() > before
        });
        assert!(waited);
    }

    #[test]
    fn the_next_address_is_tried_after_one_that_refuses_or_to_which_there_is_no_route() {
        let ((_bound, refusing), (_listener, address)) = (refusing(), listening());
        // The broadcast address is no host's.
        for failing in [refusing, SocketAddr::from(([255; 4], 1))] {
            let connected = race(&CallInFlight::for_test(), "localhost", vec![failing, address], begin).unwrap();
            assert_eq!(connected.peer_addr().unwrap(), address);
            let failure = race(&CallInFlight::for_test(), "localhost", vec![failing], begin).unwrap_err();
            assert!(matches!(&failure, Cause::Connect { to, .. } if to == "localhost"), "{failure:?}");
        }
    }

    #[test]
    fn an_address_that_fails_at_once_beside_another_attempt_costs_no_time() {
        let ((_queued, _full, silent), (_listener, address)) = (silent(), listening());
        // A machine that stands still between two attempts shows nothing.
        let at_once = (0..10).any(|_| {
            let mut begun = Vec::new();
            let addresses = vec![silent, SocketAddr::from(([255; 4], 1)), address];
            let connected = race(&CallInFlight::for_test(), "localhost", addresses, |address| {
                begun.push(Instant::now());
                begin(address)
            });
            assert_eq!(connected.unwrap().peer_addr().unwrap(), address);
            assert_eq!(begun.len(), 3);
            begun[2] - begun[1] < STAGGER / 2
        });
        assert!(at_once);
    }

    #[test]
    fn without_room_for_another_socket_the_attempt_that_is_running_may_still_succeed() {
        let ((queued, full, silent), call) = (silent(), CallInFlight::for_test());
        let none = race(&call, "localhost", vec![silent], |_| Err(Errno::MFILE)).unwrap_err();
        assert!(matches!(none, Cause::Resources(_)), "{none:?}");
        let mut attempts = 0;
        let connected = race(&call, "localhost", vec![silent, silent], |address| {
            attempts += 1;
            if attempts == 1 {
                return begin(address);
            }
            // The first one succeeds now, as soon as the kernel tries again.
            queued.iter().for_each(|_| drop(full.accept().unwrap()));
            Err(Errno::MFILE)
        });
        assert_eq!((connected.unwrap().peer_addr().unwrap(), attempts), (silent, 2));
    }

    #[test]
    fn the_families_take_turns_and_the_resolvers_first_stays_first() {
        let parse = |list: &[&str]| list.iter().map(|a| a.parse().unwrap()).collect::<Vec<SocketAddr>>();
        let (a6, b6, a4, b4, c4) = ("[::1]:1", "[::2]:1", "1.1.1.1:1", "2.2.2.2:1", "3.3.3.3:1");
        assert_eq!(alternating(parse(&[a6, b6, a4, b4, c4])), parse(&[a6, a4, b6, b4, c4]));
        assert_eq!(alternating(parse(&[a4, a6, b4])), parse(&[a4, a6, b4]));
        assert_eq!(alternating(parse(&[b4, a4])), parse(&[b4, a4]));
        assert_eq!(alternating(vec![]), vec![]);
    }
}
