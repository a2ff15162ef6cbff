//! cbindgen generates `include/agentjob.h` from `src/`. This test fails if the checked-in header differs.
//!
//! `AGENTJOB_BLESS=1 cargo test -p agentjob-ffi-c --test header` writes the header.

use std::path::Path;

const FACE: &str = env!("CARGO_MANIFEST_DIR");

/// What cbindgen cannot write: the version macros, and a length that is `SIZE_MAX`.
fn macros() -> String {
    let number = |part: &str| part.parse::<u32>().expect("a part of the version is a number");
    let (major, minor, patch) = (
        number(env!("CARGO_PKG_VERSION_MAJOR")),
        number(env!("CARGO_PKG_VERSION_MINOR")),
        number(env!("CARGO_PKG_VERSION_PATCH")),
    );
    format!(
        r#"
/* Stands before every function. Define it yourself if your build needs something there. */
#ifndef AGENTJOB_API
#define AGENTJOB_API
#endif

/* Stands before every function whose result must not be ignored. Define it as nothing if you do not want the warnings. */
#ifndef AGENTJOB_NODISCARD
#if (defined(__cplusplus) && __cplusplus >= 201703L) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define AGENTJOB_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define AGENTJOB_NODISCARD __attribute__((warn_unused_result))
#else
#define AGENTJOB_NODISCARD
#endif
#endif

/** The version of this header. agentjob_version() returns the version of the loaded library. */
#define AGENTJOB_VERSION "{major}.{minor}.{patch}"
#define AGENTJOB_VERSION_MAJOR {major}
#define AGENTJOB_VERSION_MINOR {minor}
#define AGENTJOB_VERSION_PATCH {patch}

/** The version of this header as one number, 0xXXYYZZ. agentjob_version_number() returns that of the loaded library. */
#define AGENTJOB_VERSION_NUMBER 0x{major:02X}{minor:02X}{patch:02X}

/** Whether this header is of version x.y.z or later. */
#define AGENTJOB_VERSION_AT_LEAST(x, y, z) (AGENTJOB_VERSION_NUMBER >= (((x) << 16) | ((y) << 8) | (z)))

/**
 * Pass this as the length of a NUL-terminated text.
 * @since 0.1.0
 */
#define AGENTJOB_NUL_TERMINATED SIZE_MAX
"#
    )
}

/// The files with exports, in a good order for a reader. They are listed because cbindgen, given a crate, runs `cargo metadata`,
/// which needs the crates of every platform.
const FILES: [&str; 28] = [
    "version",
    "code",
    "delivery",
    "status",
    "text",
    "options",
    "limits",
    "wait_defaults",
    "on_event",
    "client",
    "client_calls",
    "call",
    "on_progress",
    "meta",
    "cancel",
    "job",
    "error",
    "poller",
    "batch/lifecycle",
    "batch/items",
    "batch/settings",
    "batch/event",
    "batch/progress",
    "batch/status",
    "batch/decisions",
    "headers",
    "event_loop",
    "batch/report",
];

fn generated() -> String {
    let mut config = cbindgen::Config::from_file(Path::new(FACE).join("cbindgen.toml")).expect("cbindgen.toml is read");
    config.after_includes = Some(macros());
    let sources = FILES.map(|file| Path::new(FACE).join("src").join(file).with_extension("rs"));
    let builder =
        sources.iter().fold(cbindgen::Builder::new().with_config(config), |builder, file| builder.with_src(file));
    let mut header = Vec::new();
    builder.generate().expect("a header is made").write(&mut header);
    let header = String::from_utf8(header).expect("a header is text");
    // [[nodiscard]] must be the first word of a declaration, and cbindgen writes it after the prefix.
    let header = header.replace("AGENTJOB_API AGENTJOB_NODISCARD ", "AGENTJOB_NODISCARD AGENTJOB_API ");
    let header = header.replace("AGENTJOB_API\nAGENTJOB_NODISCARD\n", "AGENTJOB_NODISCARD AGENTJOB_API\n");
    without_tags(&header)
}

/// Before C23 an enum is a typedef of int32_t, and its constants are those of an enum without a tag: C++ allows no tag that is also the
/// name of another type (-Wc++-compat).
fn without_tags(header: &str) -> String {
    const TYPED: &str = "#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L\n";
    let cut = format!("\n{TYPED}  : int32_t\n#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L\n {{\n");
    let mut parts = header.split(cut.as_str());
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let head = made.rfind("enum ").expect("an enum has a head");
        let head = made.split_off(head);
        made.push_str(&format!("{TYPED}{head} : int32_t {{\n#else\nenum {{\n#endif\n{part}"));
    }
    made
}

#[test]
fn the_checked_in_header_is_the_generated_one() {
    let path = Path::new(FACE).join("../include/agentjob.h");
    let made = generated();
    if std::env::var_os("AGENTJOB_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the header is written");
    }
    let checked_in = std::fs::read_to_string(&path).expect("include/agentjob.h is read");
    for (number, (ours, theirs)) in checked_in.lines().zip(made.lines()).enumerate() {
        assert_eq!(ours, theirs, "include/agentjob.h:{}: regenerate it (see the top of this test)", number + 1);
    }
    assert_eq!(checked_in, made, "include/agentjob.h: regenerate it (see the top of this test)");
}
