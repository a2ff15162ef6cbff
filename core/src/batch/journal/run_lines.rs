//! The lines with which a run begins.

use crate::batch::item::Planned;
use crate::batch::journal::clock::Clock;
use crate::batch::journal::damaged_tail::DamagedTail;
use crate::batch::journal::digest::checksum;
use crate::batch::journal::encode::{LineWriter, ascii};
use crate::batch::journal::line::VERSION;
use crate::batch::options::BatchOptions;
use crate::config::settings::Config;

/// How many numbers a line has at most, because the length of lines is bounded.
const NUMBERS: usize = 40_000;

/// Continues behind a damaged tail, which stays in the file.
pub(crate) fn recovered(tail: &DamagedTail, clock: &Clock) -> LineWriter {
    LineWriter::new("recovered")
        .number("bytes", tail.bytes.len() as u64)
        .text("of", ascii(&checksum(&tail.bytes)))
        .stamp(clock.stamp())
}

/// The known items are at these places in the run's list; 0 for one that it lacks.
pub(crate) fn numbers(numbers: &[u64], clock: &Clock) -> impl Iterator<Item = LineWriter> {
    numbers.chunks(NUMBERS).zip((0_u64..).step_by(NUMBERS)).map(|(numbers, from)| {
        let numbers = serde_json::to_string(numbers).expect("numbers always become JSON");
        LineWriter::new("numbers").number("from", from).json("numbers", &numbers).stamp(clock.stamp())
    })
}

/// A run begins, after this many numbers.
pub(crate) fn run(
    config: &Config,
    items: &[Planned],
    numbers: usize,
    options: &BatchOptions,
    clock: &Clock,
) -> LineWriter {
    let rate = options.rate.map(|rate| rate.to_string());
    LineWriter::new("run")
        .number("journal", VERSION)
        .text("agentjob", env!("CARGO_PKG_VERSION"))
        .text("base_url", &config.endpoint.url)
        .text("project_id", &config.project_id)
        .number("pid", std::process::id().into())
        .text_or_none("boot", clock.boot.as_deref())
        .number("items", items.len() as u64)
        .text_or_none("rate", rate.as_deref())
        .json("wait", if options.wait.is_some() { "true" } else { "false" })
        .number("numbers", numbers as u64)
        .stamp(clock.stamp())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::journal::line::NO_LINE;
    use crate::batch::journal::replay::MAX_LINE;

    #[test]
    fn the_numbers_of_a_long_list_are_in_lines_of_a_bounded_length() {
        let all: Vec<u64> = (1..=100_001).map(|number| u64::from(u32::MAX) - number).collect();
        let lines: Vec<String> = numbers(&all, &Clock::new()).map(|line| line.finish(&NO_LINE).0).collect();
        assert!(lines.len() == 3 && lines.iter().all(|line| (line.len() as u64) < MAX_LINE));
        assert!(
            lines[1].starts_with(&format!("{{\"line\":\"numbers\",\"from\":{NUMBERS},\"numbers\":[{}", all[NUMBERS]))
        );
        assert_eq!(numbers(&[], &Clock::new()).count(), 0);
    }
}
