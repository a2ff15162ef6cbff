//! Whether this program has more rights than the user who started it. If so, the environment must not be trusted, as in
//! `secure_getenv`(3).

use std::sync::OnceLock;

use rustix::process::{getegid, geteuid, getgid, getuid};

use crate::os::descriptor::above_standard;

/// Linux: the entry of the auxiliary vector for this; it covers set-user-ID, set-group-ID and file capabilities.
const AT_SECURE: usize = 23;

/// Reads it once: it depends only on how the program was started.
pub(crate) fn is_raised() -> bool {
    static RAISED: OnceLock<bool> = OnceLock::new();
    *RAISED.get_or_init(|| {
        let auxv = above_standard(|| std::fs::read("/proc/self/auxv")).ok();
        let status = || above_standard(|| std::fs::read_to_string("/proc/self/status")).ok();
        let by_kernel = auxv.and_then(|auxv| of_auxv(&auxv));
        // A privileged program may be unable to read the first, and other systems have neither.
        by_kernel.or_else(|| of_status(&status()?)).unwrap_or_else(|| getuid() != geteuid() || getgid() != getegid())
    })
}

fn of_auxv(auxv: &[u8]) -> Option<bool> {
    let (words, _) = auxv.as_chunks::<{ size_of::<usize>() }>();
    let mut pairs = words.chunks_exact(2).map(|pair| (usize::from_ne_bytes(pair[0]), usize::from_ne_bytes(pair[1])));
    pairs.find(|(key, _)| *key == AT_SECURE).map(|(_, value)| value != 0)
}

/// The kernel's rule, applied to the process's current state: ids that differ, or capabilities that were not inherited.
fn of_status(status: &str) -> Option<bool> {
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let differ = |ids: &str| {
        let mut ids = ids.split_whitespace();
        let first = ids.next();
        ids.any(|id| Some(id) != first)
    };
    let capabilities = |name| u64::from_str_radix(field(name)?.trim(), 16).ok();
    let (uids, gids) = (field("Uid")?, field("Gid")?);
    let is_root = uids.split_whitespace().next() == Some("0");
    let gained = capabilities("CapPrm")? & !capabilities("CapAmb").unwrap_or(0);
    Some(differ(uids) || differ(gids) || (!is_root && gained != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_no_raised_rights() {
        assert!(!is_raised());
    }

    #[test]
    fn raised_rights_are_read_from_proc() {
        let vector = |pairs: &[(usize, usize)]| {
            pairs.iter().flat_map(|(key, value)| [key.to_ne_bytes(), value.to_ne_bytes()].concat()).collect::<Vec<u8>>()
        };
        for (pairs, raised) in [
            (&[(6, 4096), (23, 0), (0, 0)][..], Some(false)),
            (&[(6, 23), (23, 1), (0, 0)], Some(true)),
            (&[(6, 4096), (0, 0)], None),
            (&[], None),
        ] {
            assert_eq!(of_auxv(&vector(pairs)), raised, "{pairs:?}");
        }
        for (uid, gid, permitted, ambient, raised) in [
            ("1000\t1000\t1000\t1000", "5\t5\t5\t5", "0", "0", false),
            ("0\t0\t0\t0", "0\t0\t0\t0", "1ffffffffff", "0", false),
            ("1000\t0\t0\t0", "5\t5\t5\t5", "1ffffffffff", "0", true),
            ("1000\t1000\t0\t1000", "5\t5\t5\t5", "0", "0", true),
            ("1000\t1000\t1000\t1000", "5\t7\t7\t7", "0", "0", true),
            ("1000\t1000\t1000\t1000", "5\t5\t5\t5", "400", "0", true),
            ("1000\t1000\t1000\t1000", "5\t5\t5\t5", "400", "400", false),
        ] {
            let status = format!("Name:\tx\nUid:\t{uid}\nGid:\t{gid}\nCapPrm:\t{permitted}\nCapAmb:\t{ambient}\n");
            assert_eq!(of_status(&status), Some(raised), "{status}");
        }
        assert_eq!(of_status(""), None);
    }
}
