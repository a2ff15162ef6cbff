//! The header keeps the promises of `tests/abi`: every function with the version that added it, every number unchanged.

use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The lines of a ledger without its comments, sorted.
fn ledger(path: &str) -> Vec<String> {
    sorted(read(path).lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect())
}

fn sorted(mut lines: Vec<String>) -> Vec<String> {
    lines.sort();
    lines
}

/// `name since` for each function of the header. A function without `@since` does not get its neighbour's.
fn functions(header: &str) -> Vec<String> {
    let (mut found, mut since) = (Vec::new(), "");
    for line in header.lines() {
        if line.starts_with("/**") {
            since = "";
        } else if let Some(version) = line.strip_prefix(" * @since ") {
            since = version;
        } else if !line.starts_with(' ') && !line.starts_with("typedef") && !line.starts_with('#') {
            let Some((head, _)) = line.split_once('(') else { continue };
            let name = head.rsplit([' ', '*']).next().unwrap_or_default();
            if name.starts_with("agentjob_") {
                found.push(format!("{name} {since}"));
            }
        }
    }
    sorted(found)
}

/// `name value` for each number of the header: its enumerators and its macros, except the version's and the attribute.
fn numbers(header: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in header.lines() {
        let enumerator = line.strip_prefix("  AGENTJOB_").and_then(|line| line.split_once(" = "));
        let own_macro = line.strip_prefix("#define AGENTJOB_").and_then(|line| line.split_once(' '));
        if let Some((name, value)) =
            enumerator.or(own_macro.filter(|(name, _)| !name.starts_with("VERSION") && *name != "NODISCARD"))
        {
            found.push(format!("AGENTJOB_{name} {}", value.trim_end_matches(',')));
        }
    }
    sorted(found)
}

#[test]
fn every_function_of_the_header_is_in_the_ledger_with_its_version() {
    let found = functions(&read("include/agentjob.h"));
    assert!(found.len() > 60, "found only {} functions: does this test still read the header?", found.len());
    assert_eq!(found, ledger("tests/abi/symbols.txt"), "left: the header, right: tests/abi/symbols.txt");
}

#[test]
fn every_number_of_the_header_is_the_one_in_the_ledger() {
    let found = numbers(&read("include/agentjob.h"));
    assert!(found.len() > 25, "found only {} numbers: does this test still read the header?", found.len());
    assert_eq!(found, ledger("tests/abi/numbers.txt"), "left: the header, right: tests/abi/numbers.txt");
}

#[test]
fn every_function_of_the_header_explains_its_parameters_and_its_result() {
    let header = read("include/agentjob.h");
    let mut functions = 0;
    for item in header.split("/**").skip(1) {
        let (comment, rest) = item.split_once("*/").expect("a comment ends");
        let Some((declaration, _)) = rest
            .trim_start()
            .trim_start_matches("AGENTJOB_NODISCARD ")
            .strip_prefix("AGENTJOB_API")
            .and_then(|rest| rest.split_once(';'))
        else {
            continue;
        };
        functions += 1;
        let (head, parameters) = declaration.trim_end_matches(')').split_once('(').expect("a function has parameters");
        let names = parameters.split(',').filter_map(|one| one.trim().rsplit([' ', '*']).next());
        let names: Vec<&str> = names.filter(|name| *name != "void").collect();
        let explained: Vec<&str> =
            comment.split("@param ").skip(1).filter_map(|text| text.split_whitespace().next()).collect();
        assert_eq!(explained, names, "{declaration}");
        assert_eq!(comment.contains("@return"), !head.trim().starts_with("void "), "{declaration}");
    }
    assert_eq!(functions, ledger("tests/abi/symbols.txt").len());
}

/// Ignoring a code hides an error, and ignoring a new object leaks it.
#[test]
fn the_compiler_warns_if_a_code_or_a_new_object_is_ignored() {
    let header = read("include/agentjob.h");
    let mut marked = 0;
    for item in header.split("\n\n").filter_map(|item| item.split_once(" */\n")).map(|(_, item)| item) {
        let Some((head, _)) = item.split_once('(').filter(|_| item.contains("AGENTJOB_API")) else { continue };
        let name = head.rsplit([' ', '*', '\n']).next().unwrap_or_default();
        let returns_a_code = head.contains("agentjob_code ") && name != "agentjob_error_code";
        let makes = name.ends_with("_new") || name.ends_with("_clone");
        assert_eq!(head.starts_with("AGENTJOB_NODISCARD AGENTJOB_API"), returns_a_code || makes, "{head}");
        marked += usize::from(returns_a_code || makes);
    }
    assert!(marked > 45, "found only {marked} functions: does this test still read the header?");
}
