//! The API key that a client sends, which may change while it lives, and the former ones, which are still removed from texts.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use crate::config::key_file::KeyFile;
use crate::config::secret::Secret;
use crate::error::Error;
use crate::os::file::FileStamp;
use crate::os::process::PerProcess;
use crate::os::thread::end_if_forked;

use zeroize::Zeroizing;

/// How many former keys are still removed from texts. A service may quote one in a late response, and a person may still be revoking it.
const MAX_FORMER: usize = 8;

/// The key of one moment, and those before it. Every call that uses it keeps it alive; the last one wipes it.
pub(crate) struct KeyRing {
    current: Arc<Secret>,
    /// The newest first.
    former: VecDeque<Arc<Secret>>,
}

impl KeyRing {
    /// The header line with the key.
    pub(crate) fn line(&self) -> &[u8] {
        self.current.line()
    }

    /// The key.
    pub(crate) fn key(&self) -> &[u8] {
        self.current.key()
    }

    /// The key and the former ones.
    pub(crate) fn all(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&self.current).chain(&self.former).map(|secret| secret.key())
    }

    fn followed_by(&self, next: Secret) -> KeyRing {
        let mut former = self.former.clone();
        former.retain(|secret| secret.key() != next.key());
        if !self.key().is_empty() {
            former.push_front(self.current.clone());
        }
        former.truncate(MAX_FORMER);
        KeyRing { current: Arc::new(next), former }
    }
}

/// The keys of a client, shared with the clients that have its connections.
pub(crate) struct ApiKeys {
    first: State,
    source: LaterKeys,
    /// A forked child begins with the key that its parent had: it must not wait for a lock that a thread of its parent held.
    current: PerProcess<RwLock<State>>,
}

/// The keys of one moment.
#[derive(Clone)]
struct State {
    ring: Arc<KeyRing>,
    /// The source is asked again: the program has not set a key itself.
    follows: bool,
    /// The file from which the key was read.
    stamp: Option<FileStamp>,
}

/// Where later keys come from.
enum LaterKeys {
    /// Only from the program, by `replace`.
    None,
    File(KeyFile),
    Function(KeyFunction),
}

/// A function that returns the API key to send; see [`ClientBuilder::api_key_function`](crate::ClientBuilder::api_key_function).
pub type KeyFunction = Arc<dyn Fn() -> Result<String, Box<dyn std::error::Error + Send + Sync>> + Send + Sync>;

/// What is known after the service refused a key.
pub(crate) enum Renewed {
    /// There is another key.
    Yes,
    /// There is none.
    No,
    /// It could not be read.
    Failed(Error),
}

impl ApiKeys {
    /// A key, and the file in which a later one will be.
    pub(crate) fn new(key: Secret, file: Option<(KeyFile, FileStamp)>) -> ApiKeys {
        let (source, stamp) =
            file.map_or((LaterKeys::None, None), |(file, stamp)| (LaterKeys::File(file), Some(stamp)));
        ApiKeys::from_source(key, source, stamp)
    }

    /// Every key comes from a function.
    pub(crate) fn of_function(function: KeyFunction) -> ApiKeys {
        ApiKeys::from_source(Secret::none(), LaterKeys::Function(function), None)
    }

    fn from_source(key: Secret, source: LaterKeys, stamp: Option<FileStamp>) -> ApiKeys {
        let ring = Arc::new(KeyRing { current: Arc::new(key), former: VecDeque::new() });
        let first = State { ring, follows: !matches!(source, LaterKeys::None), stamp };
        ApiKeys { current: PerProcess::new(RwLock::new(first.clone())), first, source }
    }

    /// The key to send now.
    pub(crate) fn current(&self, pid: u32) -> Arc<KeyRing> {
        self.state(pid).read().unwrap_or_else(PoisonError::into_inner).ring.clone()
    }

    /// Sends this key from now on, and no longer those of the file or function. Requests in flight keep theirs.
    pub(crate) fn replace(&self, pid: u32, key: Secret) {
        let mut state = self.state(pid).write().unwrap_or_else(PoisonError::into_inner);
        state.put(key);
        state.follows = false;
    }

    /// Whether a function has to be called before each call.
    pub(crate) fn has_function(&self) -> bool {
        matches!(self.source, LaterKeys::Function(_))
    }

    /// Before each call: calls the function, or reads the key's file if it changed. While a new key cannot be read, perhaps because it
    /// is being written, the client keeps the one that it has: if the service refuses that one, [`renew`](ApiKeys::renew) says what is
    /// wrong with the file.
    ///
    /// # Errors
    /// The function failed, or returned no key.
    pub(crate) fn refresh(&self, pid: u32) -> Result<(), Error> {
        match &self.source {
            LaterKeys::None => {}
            LaterKeys::File(file) => {
                if let State { follows: true, stamp: Some(stamp), .. } = self.read(pid)
                    && let Ok(Some((key, stamp))) = file.read_if_changed(stamp)
                {
                    self.follow(pid, key, Some(stamp));
                }
            }
            LaterKeys::Function(function) => {
                if self.read(pid).follows {
                    self.follow(pid, key_of(function)?, None);
                }
            }
        }
        Ok(())
    }

    /// Reads the key's file whether it changed or not, or calls the function, because the service refused this key; unless there
    /// already is another one.
    pub(crate) fn renew(&self, pid: u32, refused: &KeyRing) -> Renewed {
        let state = self.read(pid);
        if state.follows && state.ring.key() == refused.key() {
            let read = match &self.source {
                LaterKeys::None => return Renewed::No,
                LaterKeys::File(file) => file.read().map(|(key, stamp)| (key, Some(stamp))),
                LaterKeys::Function(function) => key_of(function).map(|key| (key, None)),
            };
            match read {
                Ok((key, stamp)) => self.follow(pid, key, stamp),
                Err(error) => return Renewed::Failed(error),
            }
        }
        if self.current(pid).key() == refused.key() { Renewed::No } else { Renewed::Yes }
    }

    /// Sends this key from now on, unless the program has set one meanwhile. It was read without the lock, so that no thread waits
    /// for the disk, and a function may do what it likes.
    fn follow(&self, pid: u32, key: Secret, stamp: Option<FileStamp>) {
        let mut state = self.state(pid).write().unwrap_or_else(PoisonError::into_inner);
        if state.follows {
            state.put(key);
            state.stamp = stamp;
        }
    }

    fn read(&self, pid: u32) -> State {
        self.state(pid).read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn state(&self, pid: u32) -> &RwLock<State> {
        self.current.get_from(pid, |parents| {
            let last = parents.try_read().map_or_else(|_| self.first.clone(), |state| state.clone());
            RwLock::new(last)
        })
    }
}

/// The key that the program's function returns.
fn key_of(function: &KeyFunction) -> Result<Secret, Error> {
    let returned = function();
    end_if_forked();
    match returned {
        Ok(key) => Secret::new("the key that the function for the API key returned", &Zeroizing::new(key)),
        Err(why) => {
            let error = Error::invalid(format!("the function for the API key failed ({why})"));
            Err(error.with_source(Some(Arc::from(why))))
        }
    }
}

impl State {
    fn put(&mut self, key: Secret) {
        if self.ring.key() != key.key() {
            self.ring = Arc::new(self.ring.followed_by(key));
        }
    }
}

impl fmt::Debug for ApiKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKeys(not shown)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(key: &str) -> Secret {
        Secret::new("api_key", key).unwrap()
    }

    #[test]
    fn former_keys_are_kept_for_redaction_but_not_all() {
        let (keys, pid) = (ApiKeys::new(secret("key_0"), None), std::process::id());
        let in_flight = keys.current(pid);
        for n in 1..=20 {
            keys.replace(pid, secret(&format!("key_{n}")));
        }
        keys.replace(pid, secret("key_20"));
        let ring = keys.current(pid);
        assert_eq!((ring.key(), ring.line()), (&b"key_20"[..], &b"Authorization: Bearer key_20\r\n"[..]));
        let all: Vec<_> = ring.all().map(|key| String::from_utf8_lossy(key).into_owned()).collect();
        assert_eq!(all, (12..=20).rev().map(|n| format!("key_{n}")).collect::<Vec<_>>());
        assert_eq!(in_flight.key(), b"key_0", "a request in flight keeps its key");
        assert_eq!(format!("{keys:?}"), "ApiKeys(not shown)");
    }

    #[test]
    fn a_key_that_comes_back_is_not_a_former_one() {
        let (keys, pid) = (ApiKeys::new(secret("a"), None), std::process::id());
        keys.replace(pid, secret("b"));
        keys.replace(pid, secret("a"));
        assert_eq!(keys.current(pid).all().collect::<Vec<_>>(), [b"a", b"b"]);
    }
}
