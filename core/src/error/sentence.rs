//! An error's parts as one text: what failed, why, what to do about the cause, what to do with the message. No other place puts
//! the parts together, and none takes the text apart.

use std::borrow::Cow;

use crate::delivery::Delivery;
use crate::error::kind::ErrorKind;

/// What failed. It begins the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    /// What the reason names itself: an argument, a setting, a journal.
    Named,
    /// A message to this job.
    Message(String),
    /// A message of a batch, which itself decides whether to send it again.
    BatchMessage(String),
    /// The message of a step, which a store keeps under its key.
    Step { key: String, job_id: String },
    /// The same while another worker sends it.
    StepInFlight { key: String, job_id: String },
    /// A job to create, and its id once the service has said it; `""` before.
    NewJob(String),
    /// The record of this job.
    Job(String),
    /// The wait for this job; `after_message`: for the outcome of a message that was accepted.
    Wait { job_id: String, after_message: bool },
    /// An item of a batch's list.
    Item { number: u64, line: Option<u64> },
    /// A line of a file with messages, and, where it can be said, the character in it, from 1.
    Line { file: String, line: u64, column: Option<u64> },
    /// A whole batch, and what it stopped after or because of (`""` if the reason says it).
    Batch(Cow<'static, str>),
}

impl Subject {
    /// Changes the text of the job's id.
    pub(crate) fn change_job(&mut self, change: impl Fn(&str) -> String) {
        match self {
            Subject::Message(job_id)
            | Subject::BatchMessage(job_id)
            | Subject::NewJob(job_id)
            | Subject::Job(job_id)
            | Subject::Step { job_id, .. }
            | Subject::StepInFlight { job_id, .. }
            | Subject::Wait { job_id, .. } => *job_id = change(job_id),
            Subject::Named | Subject::Batch(_) => {}
            Subject::Item { .. } | Subject::Line { .. } => {}
        }
    }
}

/// The name of a batch's item: `line 17`, or `item 17` if it is from no file.
pub(crate) fn item_name(number: u64, line: Option<u64>) -> String {
    line.map_or_else(|| format!("item {number}"), |line| format!("line {line}"))
}

/// The parts that the text is made of.
pub(crate) struct Sentence<'a> {
    pub(crate) subject: &'a Subject,
    pub(crate) kind: ErrorKind,
    pub(crate) delivery: Option<Delivery>,
    pub(crate) reason: &'a str,
    pub(crate) hint: Option<&'a str>,
    /// The hint says when to try again, and there is nothing to fix.
    pub(crate) hint_is_time: bool,
}

impl Sentence<'_> {
    /// Everything: `message to job job_1 was not sent: no connection to … . Check base_url and the network. It is safe to send it
    /// again.`
    pub(crate) fn whole(&self) -> String {
        self.text(self.advice())
    }

    /// The message without the advice; lists print the advice once.
    pub(crate) fn without_advice(&self) -> String {
        self.text(None)
    }

    fn text(&self, advice: Option<&str>) -> String {
        let mut text = self.lead() + self.reason;
        let sentences = [self.hint, advice];
        if sentences.iter().any(Option::is_some) && !text.ends_with(['.', '?', '!']) {
            text.push('.');
        }
        for sentence in sentences.into_iter().flatten() {
            text.push(' ');
            text.push_str(sentence);
        }
        text
    }

    /// What comes before the reason.
    fn lead(&self) -> String {
        let wait = if self.kind == ErrorKind::WaitTimeout { "timed out" } else { "ended" };
        let accepted = self.delivery == Some(Delivery::Accepted);
        match self.subject {
            Subject::Named => String::new(),
            Subject::Message(job_id) | Subject::BatchMessage(job_id) => {
                format!("message to job {job_id} {}", self.outcome("was not sent", "may have arrived", "was accepted"))
            }
            Subject::Step { key, job_id } => {
                let outcome = self.outcome("was not sent", "may have arrived", "was accepted");
                format!("step \"{key}\": message to job {job_id} {outcome}")
            }
            Subject::StepInFlight { key, job_id } => {
                format!("step \"{key}\": another worker is sending the message to job {job_id}: ")
            }
            Subject::NewJob(job_id) => {
                let space = if job_id.is_empty() { "" } else { " " };
                format!(
                    "new job{space}{job_id} {}",
                    self.outcome("was not created", "may have been created", "was created")
                )
            }
            Subject::Job(job_id) if accepted => {
                format!("message to job {job_id} was accepted, but the job could not be read: ")
            }
            Subject::Job(job_id) => format!("job {job_id} could not be read: "),
            Subject::Wait { job_id, after_message } if accepted || *after_message => {
                format!("message to job {job_id} was accepted, but waiting for its result {wait}: ")
            }
            Subject::Wait { job_id, .. } => format!("wait for job {job_id} {wait}: "),
            Subject::Item { number, line } => format!("{}: ", item_name(*number, *line)),
            Subject::Line { file, line, column: None } => format!("{file}, line {line}: "),
            Subject::Line { file, line, column: Some(column) } => format!("{file}, line {line}, column {column}: "),
            Subject::Batch(after) if after.is_empty() => "the batch stopped: ".to_owned(),
            Subject::Batch(after) => format!("the batch stopped {after}: "),
        }
    }

    fn outcome(&self, not_sent: &str, unknown: &str, accepted: &str) -> String {
        match self.delivery {
            Some(Delivery::NotSent) => format!("{not_sent}: "),
            Some(Delivery::Unknown) => format!("{unknown}: "),
            Some(Delivery::Rejected) => "was rejected: ".to_owned(),
            Some(Delivery::Accepted) => format!("{accepted}, but "),
            None => "failed: ".to_owned(),
        }
    }

    /// What to do with the message, which the verdict decides.
    fn advice(&self) -> Option<&'static str> {
        match (self.subject, self.delivery) {
            (Subject::Batch(_), _) if self.hint.is_some() => {
                Some("Then run it again with the same journal: it continues where it stopped.")
            }
            (Subject::Batch(_), _) => Some("Run it again with the same journal: it continues where it stopped."),
            (Subject::Wait { after_message: true, .. }, None) => Some("Do not send it again."),
            (_, None) | (Subject::Item { .. } | Subject::Line { .. } | Subject::StepInFlight { .. }, _) => None,
            // A wrong argument: it is plain that nothing was sent.
            (Subject::Named, Some(Delivery::NotSent | Delivery::Rejected)) => None,
            (Subject::Named, Some(Delivery::Unknown)) => {
                Some("The message may have arrived: check the job before you send it again.")
            }
            (Subject::Named, Some(Delivery::Accepted)) => Some("The message was accepted: do not send it again."),
            // The hint says when to send it again.
            (_, Some(Delivery::Rejected)) if self.hint_is_time => None,
            (Subject::BatchMessage(_), Some(Delivery::NotSent)) => None,
            (Subject::BatchMessage(_), Some(Delivery::Rejected)) => Some("A later run does not send it again."),
            (Subject::Step { .. }, Some(Delivery::Unknown)) => {
                Some("Check the job, then resolve the step: arrived, not_arrived or resend.")
            }
            (Subject::NewJob(_), Some(delivery)) => Some(match delivery {
                Delivery::NotSent => "It is safe to create it again.",
                Delivery::Rejected => "You can create it again once that is fixed.",
                Delivery::Unknown => "Check the project's jobs before you create it again.",
                Delivery::Accepted => "Do not create it again.",
            }),
            (_, Some(delivery)) => Some(match delivery {
                Delivery::NotSent => "It is safe to send it again.",
                Delivery::Rejected => "You can send it again once that is fixed.",
                Delivery::Unknown => "Check the job before you send it again.",
                Delivery::Accepted => "Do not send it again.",
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Delivery::*;

    fn text(subject: &Subject, kind: ErrorKind, delivery: Option<Delivery>, hint: Option<&str>) -> String {
        Sentence { subject, kind, delivery, reason: "why", hint, hint_is_time: false }.whole()
    }

    #[test]
    fn every_verdict_has_its_beginning_and_its_advice() {
        let (message, new_job) = (Subject::Message("j".into()), Subject::NewJob(String::new()));
        let known = Subject::NewJob("j".into());
        let in_batch = Subject::BatchMessage("j".into());
        let step = Subject::Step { key: "a/b".into(), job_id: "j".into() };
        let rows = [
            (&message, NotSent, "message to job j was not sent: why. It is safe to send it again."),
            (&message, Rejected, "message to job j was rejected: why. You can send it again once that is fixed."),
            (&message, Unknown, "message to job j may have arrived: why. Check the job before you send it again."),
            (&message, Accepted, "message to job j was accepted, but why. Do not send it again."),
            (&in_batch, NotSent, "message to job j was not sent: why"),
            (&in_batch, Rejected, "message to job j was rejected: why. A later run does not send it again."),
            (&in_batch, Unknown, "message to job j may have arrived: why. Check the job before you send it again."),
            (&in_batch, Accepted, "message to job j was accepted, but why. Do not send it again."),
            (&step, NotSent, "step \"a/b\": message to job j was not sent: why. It is safe to send it again."),
            (
                &step,
                Unknown,
                "step \"a/b\": message to job j may have arrived: why. Check the job, then resolve the step: arrived, not_arrived or resend.",
            ),
            (&new_job, NotSent, "new job was not created: why. It is safe to create it again."),
            (&new_job, Rejected, "new job was rejected: why. You can create it again once that is fixed."),
            (
                &new_job,
                Unknown,
                "new job may have been created: why. Check the project's jobs before you create it again.",
            ),
            (&new_job, Accepted, "new job was created, but why. Do not create it again."),
            (&known, Accepted, "new job j was created, but why. Do not create it again."),
        ];
        for (subject, delivery, expected) in rows {
            assert_eq!(text(subject, ErrorKind::Connect, Some(delivery), None), expected);
        }
        for (delivery, expected) in [
            (Rejected, "message to job j was rejected: why. Retry now."),
            (NotSent, "message to job j was not sent: why. Retry now. It is safe to send it again."),
        ] {
            let (hint, subject, delivery) = (Some("Retry now."), &message, Some(delivery));
            let kind = ErrorKind::BadRequest;
            let limited = Sentence { subject, kind, delivery, reason: "why", hint, hint_is_time: true };
            assert_eq!(limited.whole(), expected, "nothing is to be fixed");
        }
    }

    #[test]
    fn every_subject_has_its_beginning() {
        let (job, batch) = (Subject::Job("j".into()), Subject::Batch("after an hour".into()));
        let wait = |after_message| Subject::Wait { job_id: "j".into(), after_message };
        let rows = [
            (Subject::Named, None, "why"),
            (Subject::Named, Some(NotSent), "why"),
            (Subject::Item { number: 3, line: None }, None, "item 3: why"),
            (Subject::Item { number: 3, line: Some(17) }, None, "line 17: why"),
            (Subject::Line { file: "night.csv".into(), line: 17, column: None }, None, "night.csv, line 17: why"),
            (
                Subject::Line { file: "night.csv".into(), line: 17, column: Some(4) },
                None,
                "night.csv, line 17, column 4: why",
            ),
            (job.clone(), None, "job j could not be read: why"),
            (
                job,
                Some(Accepted),
                "message to job j was accepted, but the job could not be read: why. Do not send it again.",
            ),
            (wait(false), None, "wait for job j timed out: why"),
            (
                wait(true),
                None,
                "message to job j was accepted, but waiting for its result timed out: why. Do not send it again.",
            ),
            (
                wait(false),
                Some(Accepted),
                "message to job j was accepted, but waiting for its result timed out: why. Do not send it again.",
            ),
            (
                batch,
                None,
                "the batch stopped after an hour: why. Run it again with the same journal: it continues where it stopped.",
            ),
        ];
        for (subject, delivery, expected) in rows {
            assert_eq!(text(&subject, ErrorKind::WaitTimeout, delivery, None), expected);
        }
        assert_eq!(text(&wait(false), ErrorKind::Closed, None, None), "wait for job j ended: why");
    }

    #[test]
    fn a_hint_comes_between_the_reason_and_the_advice() {
        let message = Subject::Message("j".into());
        let parts = Sentence {
            subject: &message,
            kind: ErrorKind::Tls,
            delivery: Some(NotSent),
            reason: "why",
            hint: Some("Do it."),
            hint_is_time: false,
        };
        assert_eq!(parts.whole(), "message to job j was not sent: why. Do it. It is safe to send it again.");
        assert_eq!(parts.without_advice(), "message to job j was not sent: why. Do it.");
        assert_eq!(text(&Subject::Named, ErrorKind::Journal, None, Some("Do it.")), "why. Do it.");
    }
}
