//! Name lookups by the system's resolver, each on a thread of its own: `getaddrinfo` cannot be interrupted, so a call must be able
//! to abandon it. Calls to the same host share a lookup, and stuck lookups of one host cannot use up the threads of others.

use std::io;
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::http::call_in_flight::CallInFlight;
use crate::http::cause::{Cause, describe_io};
use crate::os::descriptor::above_standard;
use crate::os::process::PerProcess;
use crate::os::thread;

/// Concurrent lookups of one host, including abandoned ones.
const MAX_PER_HOST: usize = 4;
/// Concurrent lookups of all hosts.
const MAX_LOOKUPS: usize = 128;
/// A lookup that takes longer may be stuck forever, so a new call begins another if the limits allow it. Resolvers retry after
/// 5 s by default (resolv.conf(5)).
const SHARED_FOR: Duration = Duration::from_secs(5);

/// The lookups in progress. A forked child has its own list, because the parent's threads do not exist there.
static RUNNING: LazyLock<PerProcess<Running>> = LazyLock::new(|| PerProcess::new(Running::default()));

type Running = Mutex<Vec<Arc<Lookup>>>;
/// Addresses, or the resolver's error text.
type Found = Result<Vec<SocketAddr>, String>;

struct Lookup {
    host: String,
    began: Instant,
    found: Mutex<Option<Found>>,
    done: Condvar,
}

/// Returns the addresses of `host`, with port 0. Calls `resolve` on another thread unless a lookup can be shared.
pub(crate) fn look_up(
    call: &CallInFlight,
    host: &str,
    resolve: impl FnOnce(&str) -> io::Result<Vec<SocketAddr>> + Send + 'static,
) -> Result<Vec<SocketAddr>, Cause> {
    let lookup = share_or_begin(RUNNING.get(std::process::id(), Running::default), host, SHARED_FOR, resolve)?;
    let mut found = lock(&lookup.found);
    loop {
        if let Some(found) = &*found {
            return found.clone().map_err(|why| Cause::Resolve { host: host.to_owned(), why });
        }
        found = lookup.done.wait_timeout(found, call.slice()).unwrap_or_else(PoisonError::into_inner).0;
        if found.is_none() {
            // A control may run the program's own code, so hold no lock.
            drop(found);
            call.check()?;
            found = lock(&lookup.found);
        }
    }
}

fn share_or_begin(
    running: &'static Running,
    host: &str,
    shared_for: Duration,
    resolve: impl FnOnce(&str) -> io::Result<Vec<SocketAddr>> + Send + 'static,
) -> Result<Arc<Lookup>, Cause> {
    let mut list = lock(running);
    let of_host = || list.iter().filter(|lookup| lookup.host == host);
    if let Some(youngest) = of_host().max_by_key(|lookup| lookup.began)
        && (youngest.began.elapsed() < shared_for || of_host().count() >= MAX_PER_HOST)
    {
        return Ok(youngest.clone());
    }
    if list.len() >= MAX_LOOKUPS {
        return Err(Cause::Resources(format!("{MAX_LOOKUPS} name lookups are already in progress")));
    }
    let (found, done) = (Mutex::new(None), Condvar::new());
    let lookup = Arc::new(Lookup { host: host.to_owned(), began: Instant::now(), found, done });
    let builder = std::thread::Builder::new().name("agentjob-lookup".into()).stack_size(256 << 10);
    let own = lookup.clone();
    let spawned = thread::spawn(builder, move || {
        // The resolver opens sockets and files itself.
        let resolved = above_standard(|| catch_unwind(AssertUnwindSafe(|| resolve(&own.host))));
        let resolved = resolved.unwrap_or_else(|_| Err(io::Error::other("the name lookup panicked")));
        lock(running).retain(|other| !Arc::ptr_eq(other, &own));
        *lock(&own.found) = Some(resolved.map_err(|error| reason(&error)));
        own.done.notify_all();
    });
    spawned.map_err(|error| Cause::Resources(format!("no thread for the name lookup: {}", describe_io(&error))))?;
    list.push(lookup.clone());
    Ok(lookup)
}

/// The resolver's error text, without std's prefix.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("failed to lookup address information: ").unwrap_or(&text).to_owned()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::control::CancelToken;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    static STUCK: AtomicBool = AtomicBool::new(true);
    static BEGUN: AtomicUsize = AtomicUsize::new(0);

    /// A resolver that does not return until `STUCK` is cleared.
    fn stuck(_: &str) -> io::Result<Vec<SocketAddr>> {
        BEGUN.fetch_add(1, Ordering::SeqCst);
        while STUCK.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(vec!["127.0.0.1:0".parse().unwrap()])
    }

    fn running(host: &str) -> usize {
        let list = lock(RUNNING.get(std::process::id(), Running::default));
        list.iter().filter(|lookup| lookup.host.ends_with(host)).count()
    }

    /// One test, because the list of lookups is global.
    #[test]
    fn stuck_lookups_are_limited_and_shared_and_do_not_block_other_hosts_and_one_that_fails_says_why() {
        let token = CancelToken::new();
        let began = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(100));
                token.cancel();
            });
            let call = CallInFlight::for_test_with(&token, Duration::from_secs(300));
            assert_eq!(look_up(&call, "one.stuck", stuck), Err(Cause::Cancelled));
        });
        assert!(began.elapsed() < Duration::from_secs(150), "long before its time: {:?}", began.elapsed());

        let short = || CallInFlight::for_test_with(&CancelToken::new(), Duration::from_millis(1));
        assert_eq!(look_up(&short(), "one.stuck", stuck), Err(Cause::Timeout));
        let list = RUNNING.get(std::process::id(), Running::default);
        for _ in 0..200 {
            // On a busy machine 200 calls may take longer than the lookup is shared for.
            share_or_begin(list, "one.stuck", Duration::MAX, stuck).expect("it is shared, never refused");
        }
        assert_eq!(running("one.stuck"), 1);

        for n in 1..10 {
            // As if the others had lasted longer than a working lookup.
            share_or_begin(list, "one.stuck", Duration::ZERO, stuck).unwrap();
            assert_eq!(running("one.stuck"), MAX_PER_HOST.min(n + 1));
        }

        let call = CallInFlight::for_test();
        let found = look_up(&call, "another.host", |_| Ok(vec!["127.0.0.2:0".parse().unwrap()]));
        assert_eq!(found, Ok(vec!["127.0.0.2:0".parse().unwrap()]), "another host is looked up at once");

        let many: Vec<_> = (0..MAX_LOOKUPS).map(|n| look_up(&short(), &format!("{n}.stuck"), stuck)).collect();
        assert!(many.iter().any(|end| matches!(end, Err(Cause::Resources(_)))), "all hosts together are limited, too");

        let holders = || -> usize {
            let list = lock(list);
            list.iter().filter(|lookup| lookup.host == "one.stuck").map(Arc::strong_count).sum()
        };
        let before = holders();
        let waits = std::thread::spawn(move || {
            let call = CallInFlight::for_test();
            look_up(&call, "one.stuck", |_| unreachable!("it is shared"))
        });
        while holders() == before {
            assert!(!waits.is_finished(), "it waits with the others");
            std::thread::sleep(Duration::from_millis(1));
        }
        STUCK.store(false, Ordering::SeqCst);
        assert_eq!(waits.join().unwrap(), Ok(vec!["127.0.0.1:0".parse().unwrap()]));
        let limit = Instant::now() + Duration::from_secs(20);
        while running("stuck") > 0 {
            assert!(Instant::now() < limit, "every thread ends");
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(BEGUN.load(Ordering::SeqCst), MAX_LOOKUPS);

        let failed = |resolve: fn(&str) -> _| look_up(&CallInFlight::for_test(), "bad.host", resolve);
        let because = |why: &str| Err(Cause::Resolve { host: "bad.host".to_owned(), why: why.to_owned() });
        let unknown = failed(|_| Err(io::Error::other("failed to lookup address information: no such host")));
        assert_eq!(unknown, because("no such host"));
        assert_eq!(failed(|_| Err(io::Error::other("no memory"))), because("no memory"));
        assert_eq!(failed(|_| panic!("a resolver's bug")), because("the name lookup panicked"));
    }
}
