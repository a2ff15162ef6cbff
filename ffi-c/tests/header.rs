//! `include/agentjob.h` is what cbindgen makes of `src/`. Drift fails here, offline and without a build script.
//!
//! `AGENTJOB_BLESS=1 cargo test -p agentjob-ffi-c --test header` writes the header anew.

use std::path::Path;

const FACE: &str = env!("CARGO_MANIFEST_DIR");

/// What cbindgen has no words for, put in front of what it writes: the version, and a length that is `SIZE_MAX`.
fn macros() -> String {
    let number = |part: &str| part.parse::<u32>().expect("a part of the version is a number");
    let (major, minor, patch) = (
        number(env!("CARGO_PKG_VERSION_MAJOR")),
        number(env!("CARGO_PKG_VERSION_MINOR")),
        number(env!("CARGO_PKG_VERSION_PATCH")),
    );
    format!(
        r#"
/* Put before every function; define it yourself if your build needs something there. */
#ifndef AGENTJOB_API
#define AGENTJOB_API
#endif

/** The version of this header. agentjob_version() has that of the library that runs. */
#define AGENTJOB_VERSION "{major}.{minor}.{patch}"
#define AGENTJOB_VERSION_MAJOR {major}
#define AGENTJOB_VERSION_MINOR {minor}
#define AGENTJOB_VERSION_PATCH {patch}

/** The version of this header as one number, 0xXXYYZZ. agentjob_version_number() has that of the library that runs. */
#define AGENTJOB_VERSION_NUMBER 0x{major:02X}{minor:02X}{patch:02X}

/** Whether this header is of version x.y.z or later. */
#define AGENTJOB_VERSION_AT_LEAST(x, y, z) (AGENTJOB_VERSION_NUMBER >= (((x) << 16) | ((y) << 8) | (z)))

/**
 * Give this as a length for a text that ends with a NUL.
 * @since 0.1.0
 */
#define AGENTJOB_NUL_TERMINATED SIZE_MAX
"#
    )
}

/// The files that export something, in the order in which a reader wants to meet them. They are named one by one because
/// cbindgen, given a crate, runs `cargo metadata`, which wants the crates of every platform downloaded.
const FILES: [&str; 20] = [
    "version",
    "code",
    "text",
    "options",
    "limits",
    "event",
    "client",
    "work",
    "call",
    "progress",
    "cancel",
    "job",
    "error",
    "poller",
    "batch",
    "batch_list",
    "batch_settings",
    "batch_event",
    "batch_progress",
    "batch_status",
];

fn made_from_the_sources() -> String {
    let mut config = cbindgen::Config::from_file(Path::new(FACE).join("cbindgen.toml")).expect("cbindgen.toml is read");
    config.after_includes = Some(macros());
    let sources = FILES.map(|file| Path::new(FACE).join("src").join(file).with_extension("rs"));
    let builder =
        sources.iter().fold(cbindgen::Builder::new().with_config(config), |builder, file| builder.with_src(file));
    let mut header = Vec::new();
    builder.generate().expect("a header is made").write(&mut header);
    String::from_utf8(header).expect("a header is text")
}

#[test]
fn the_checked_in_header_is_the_one_that_the_sources_make() {
    let path = Path::new(FACE).join("../include/agentjob.h");
    let made = made_from_the_sources();
    if std::env::var_os("AGENTJOB_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the header is written");
    }
    let checked_in = std::fs::read_to_string(&path).expect("include/agentjob.h is read");
    for (number, (ours, theirs)) in checked_in.lines().zip(made.lines()).enumerate() {
        assert_eq!(ours, theirs, "include/agentjob.h:{}: bless it (see the top of this test)", number + 1);
    }
    assert_eq!(checked_in, made, "include/agentjob.h: bless it (see the top of this test)");
}
