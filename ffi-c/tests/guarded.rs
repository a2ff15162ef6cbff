//! Every exported function begins with the guard: one that does not would end its caller's process with a panic.

use std::fs;
use std::path::Path;

/// Functions without a guard, each with its reason.
const EXEMPT: [(&str, &str); 1] = [("agentjob_cancel_trigger", "one atomic store, for signal handlers")];

/// The sources of all exported functions: name, and body up to the line that closes it.
fn exported() -> Vec<(String, String)> {
    let mut found = Vec::new();
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("src is read") {
        let source = fs::read_to_string(file.expect("src is read").path()).expect("a source is read");
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

/// The first words of a body that do something: comments and `unsafe {` are none.
fn begins(body: &str) -> &str {
    let lines = body.lines().map(str::trim).filter(|line| !line.starts_with("//") && *line != "unsafe {");
    lines.map(|line| line.trim_start_matches("unsafe { ")).next().unwrap_or_default()
}

#[test]
fn every_exported_function_begins_with_the_guard() {
    let functions = exported();
    assert!(
        functions.len() > 60,
        "only {} functions were found: does this test still read the sources?",
        functions.len()
    );
    for (name, body) in &functions {
        let first = begins(body);
        let guarded = first.starts_with("guard(") || first.starts_with("guard_or(");
        let exempt = EXEMPT.iter().any(|(exempt, _)| exempt == name);
        assert_ne!(guarded, exempt, "{name} begins with `{first}`");
    }
}

#[test]
fn whatever_is_for_c_is_exported_by_its_own_name() {
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).expect("src is read") {
        let path = file.expect("src is read").path();
        let source = fs::read_to_string(&path).expect("a source is read");
        let exports = source.matches("#[unsafe(no_mangle)]\npub ").count();
        let is_definition = |line: &&str| line.starts_with("pub") && line.contains("extern \"C\" fn agentjob_");
        let definitions = source.lines().filter(is_definition).count();
        assert_eq!(exports, definitions, "{}", path.display());
    }
}
