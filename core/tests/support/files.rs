//! Files with the permissions that a test needs.

use std::fs;
use std::path::Path;

/// Makes a file that only this user can read.
pub fn put_private(path: &Path, text: &str) {
    fs::write(path, "").unwrap();
    set_mode(path, 0o600);
    fs::write(path, text).unwrap();
}

/// Sets a file's mode, where there is one.
pub fn set_mode(path: &Path, mode: u32) {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    let _ = (path, mode);
}

/// Makes a pipe with a name, which only this user can read.
pub fn put_pipe(path: &Path) {
    let made = std::process::Command::new("mkfifo").args(["-m", "600"]).arg(path).status().unwrap();
    assert!(made.success(), "{path:?}");
}
