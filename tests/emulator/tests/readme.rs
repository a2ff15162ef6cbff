//! Every example of the README is a configuration that parses, and its tables name every field.

use agentjob_emulator::Config;

const README: &str = include_str!("../README.md");

#[test]
fn every_json_example_is_a_configuration() {
    let examples: Vec<_> = README.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 3);
    for example in examples {
        Config::from_json(example).unwrap_or_else(|error| panic!("{error} in {example}"));
    }
}

#[test]
fn the_tables_name_every_field() {
    let fields = |unknown: &str| {
        let error = Config::from_json(unknown).unwrap_err().to_string();
        let (_, expected) = error.split_once("expected one of ").unwrap();
        expected.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let all = [fields(r#"{"?": 0}"#), fields(r#"{"rules": [{"?": 0}]}"#)].concat();
    assert!(all.len() > 30, "{all:?}");
    for field in all {
        assert!(README.contains(&format!("\n| `{field}`")), "{field} has no row");
    }
}
