//! What a person can do next about a batch, with the commands for it.

use crate::batch::decisions::export::BatchExportItem;
use crate::batch::status::BatchStatus;

/// The most items that a command names one by one.
const MOST_NAMED: usize = 20;

/// A sentence, and the commands for it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) sentence: String,
    pub(crate) commands: Vec<String>,
}

/// What is left to do, the most urgent first; never empty.
pub(crate) fn next_steps(journal: &str, status: &BatchStatus, items: &[BatchExportItem]) -> Vec<Step> {
    let run = quoted(journal);
    if status.running {
        let sentence = format!(
            "Process {} is running the batch. This page shows the journal as it was; make it again to see more:",
            status.pid
        );
        return vec![Step { sentence, commands: vec![format!("agentjob batch report {run} -o report.html --force")] }];
    }
    let named = |state: &str| -> (usize, String) {
        let numbers: Vec<u64> = items.iter().filter(|item| item.state == state).map(|item| item.number).collect();
        let all = numbers.len() > MOST_NAMED;
        let names: Vec<String> = numbers.iter().map(u64::to_string).collect();
        (numbers.len(), if all { "all".to_owned() } else { names.join(" ") })
    };
    let mut steps = Vec::new();
    let (unknown, which) = named("unknown");
    if unknown > 0 {
        let sentence = format!(
            "{} may have arrived. Check the {} first, then say for each message what happened to it:",
            plural(unknown as u64, "message"),
            if unknown == 1 { "job" } else { "jobs" }
        );
        let commands = vec![
            format!("agentjob batch resolve {run} {which} --check"),
            format!("agentjob batch resolve {run} {which} --arrived"),
            format!("agentjob batch resolve {run} {which} --not-arrived"),
        ];
        steps.push(Step { sentence, commands });
    }
    let (rejected, which) = named("rejected");
    if rejected > 0 {
        let them = if rejected == 1 { "it" } else { "them" };
        let was = plural_was(rejected as u64, "message");
        let mut commands = vec![format!("agentjob batch retry {run} {which}")];
        // `drop all` would be about the unknown ones, too.
        let may_drop = unknown == 0 || which != "all";
        if may_drop {
            commands.push(format!("agentjob batch drop {run} {which}"));
        }
        let or_drop = if may_drop { format!(", or drop {them}") } else { String::new() };
        let wrong_job = match may_drop {
            true => ". If a job's id is wrong, drop the message and correct its line in the list",
            false => "",
        };
        let sentence =
            format!("{was} rejected. Fix the cause and let the next run send {them} again{or_drop}{wrong_job}:");
        steps.push(Step { sentence, commands });
    }
    if let Some(first) = items.iter().find(|item| item.job_failed) {
        let count = plural(status.progress.failed, "job");
        let sentence = format!("{count} failed although the message arrived. Check the record, then send a follow-up:");
        steps.push(Step { sentence, commands: vec![format!("agentjob get {}", quoted(&first.job_id))] });
    }
    let progress = &status.progress;
    if progress.left > 0 || progress.waiting > 0 {
        let mut what = Vec::new();
        if progress.left > 0 {
            what.push(format!("{} left to send", plural_is(progress.left, "message")));
        }
        if progress.waiting > 0 {
            what.push(format!("{} not done yet", plural_is(progress.waiting, "job")));
        }
        let rate = status.rate.as_deref().map_or_else(String::new, |rate| format!(" --rate {}", quoted(rate)));
        let wait = if status.waits { " --wait" } else { "" };
        let (prompts, and) = match status.new_prompts {
            0 => ("", ""),
            _ => (" --prompt-file FILE", ", and with the new prompts"),
        };
        let commands = vec![format!("agentjob batch run FILE --journal {run}{rate}{wait}{prompts}")];
        let sentence = format!("{}. Resume with the same list and flags{and}:", what.join(", and "));
        steps.push(Step { sentence, commands });
    }
    if steps.is_empty() {
        steps.push(Step { sentence: "Nothing: every message has its outcome.".to_owned(), commands: Vec::new() });
    }
    steps
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn plural_was(count: u64, noun: &str) -> String {
    format!("{} {}", plural(count, noun), if count == 1 { "was" } else { "were" })
}

fn plural_is(count: u64, noun: &str) -> String {
    format!("{} {}", plural(count, noun), if count == 1 { "is" } else { "are" })
}

/// A word of a command, as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '%' | '+' | '=' | ':' | ',' | '.' | '/');
    // What begins with a hyphen would be a flag.
    let word = if word.starts_with('-') { format!("./{word}") } else { word.to_owned() };
    match !word.is_empty() && word.chars().all(|c| is_plain(c) || c == '-') {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_for_a_shell() {
        for (word, expected) in [
            ("night.journal", "night.journal"),
            ("/a b/n", "'/a b/n'"),
            ("it's", "'it'\\''s'"),
            ("$(rm)", "'$(rm)'"),
            ("-x", "./-x"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
