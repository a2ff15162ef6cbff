//! Every exported function catches panics: its body starts with `guard`, `guard_or`, or a helper that consists of one.

use std::fs;
use std::path::{Path, PathBuf};

/// Calls that catch a panic. All but the first two are helpers around them, in `setter.rs`, `handle.rs`, `text.rs` and `job.rs`.
const GUARDS: [&str; 8] =
    ["guard(", "guard_or(", "set(", "read(", "read_sized(", "read_with_nul(", "handle::free(", "name("];

/// Functions without a guard, each with its reason.
const EXEMPT: [(&str, &str); 1] = [("agentjob_cancel_trigger", "one atomic store, for signal handlers")];

/// Every source file of the crate.
fn sources() -> Vec<(PathBuf, String)> {
    let (mut folders, mut found) = (vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder can be read") {
            let path = entry.expect("a folder can be read").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let source = fs::read_to_string(&path).expect("a source can be read");
                found.push((path, source));
            }
        }
    }
    found
}

/// The name and the body of every exported function.
fn exported() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (_, source) in sources() {
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        for item in code.split("#[unsafe(no_mangle)]").skip(1) {
            let (head, rest) = item.split_once(" {\n").expect("a function has a body");
            let name =
                head.split_once("fn ").and_then(|(_, rest)| rest.split_once('(')).expect("a function has a name").0;
            assert!(head.contains("extern \"C\""), "{name} is exported, but not for C");
            let body = rest.split_once("\n}\n").expect("a body ends at the margin").0;
            found.push((name.to_owned(), body.to_owned()));
        }
    }
    found
}

/// The first statement of a body, without comments and `unsafe {`.
fn first_statement(body: &str) -> &str {
    let code = body.lines().map(str::trim).filter(|line| !line.starts_with("//") && *line != "unsafe {");
    code.map(|line| line.trim_start_matches("unsafe { ")).next().unwrap_or_default()
}

#[test]
fn every_exported_function_starts_with_a_guard() {
    let functions = exported();
    assert!(functions.len() > 60, "found only {} functions: does this test still read the sources?", functions.len());
    for (name, body) in &functions {
        let first = first_statement(body);
        let guarded = GUARDS.iter().any(|guard| first.starts_with(guard));
        let exempt = EXEMPT.iter().any(|(exempt, _)| exempt == name);
        assert_ne!(guarded, exempt, "{name} starts with `{first}`");
    }
}

#[test]
fn every_function_for_c_is_exported_by_its_own_name() {
    for (path, source) in sources() {
        let exports = source.matches("#[unsafe(no_mangle)]\npub ").count();
        let is_definition = |line: &&str| line.starts_with("pub") && line.contains("extern \"C\" fn agentjob_");
        let definitions = source.lines().filter(is_definition).count();
        assert_eq!(exports, definitions, "{}", path.display());
    }
}
