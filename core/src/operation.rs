//! The service's operations as data (docs/contract.md, "Operations"): path, body, and what an error calls them.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::call::prompt::Prompt;
use crate::error::Error;
use crate::error::sentence::Subject;
use crate::text::{describe, hidden_edge, hidden_inside};

/// The longest id that is accepted, in bytes. The contract names no format, but servers bound the size of a request's head.
const MAX_ID_BYTES: usize = 1024;

/// One call of the service.
#[derive(Clone, Copy)]
pub(crate) enum Operation<'a> {
    SendMessage { job_id: &'a str, prompt: Prompt<'a> },
    GetJob { job_id: &'a str },
    CreateJob { prompt: Prompt<'a> },
}

impl<'a> Operation<'a> {
    /// The name of the method that makes this call, in every language.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Operation::SendMessage { .. } => "send_message",
            Operation::GetJob { .. } => "get_job",
            Operation::CreateJob { .. } => "create_job",
        }
    }

    /// What an error of this call is about.
    pub(crate) fn subject(&self) -> Subject {
        match self {
            Operation::SendMessage { job_id, .. } => Subject::Message(describe(job_id)),
            Operation::GetJob { job_id } => Subject::Job(describe(job_id)),
            Operation::CreateJob { .. } => Subject::NewJob(String::new()),
        }
    }

    pub(crate) fn job_id(&self) -> &'a str {
        match self {
            Operation::SendMessage { job_id, .. } | Operation::GetJob { job_id } => job_id,
            Operation::CreateJob { .. } => "",
        }
    }

    /// Whether the call delivers something: a POST, which the service processes again each time it arrives.
    pub(crate) fn delivers(&self) -> bool {
        self.prompt().is_some()
    }

    fn prompt(&self) -> Option<Prompt<'a>> {
        match self {
            Operation::SendMessage { prompt, .. } | Operation::CreateJob { prompt } => Some(*prompt),
            Operation::GetJob { .. } => None,
        }
    }

    /// Refuses arguments that the service cannot accept, before anything is sent.
    pub(crate) fn check(&self, max_prompt_bytes: usize) -> Result<(), Error> {
        if !matches!(self, Operation::CreateJob { .. }) {
            check_id("job_id", self.job_id())?;
        }
        match self.prompt().map(Prompt::bytes) {
            Some(0) => Err(Error::invalid("prompt is empty").with_hint("Give at least one character.")),
            Some(bytes) if bytes > max_prompt_bytes => {
                let error = Error::invalid(format!("prompt is {bytes} bytes long"));
                Err(error.with_hint(format!("At most {max_prompt_bytes} bytes are sent (max_prompt_bytes).")))
            }
            _ => Ok(()),
        }
    }

    /// The request's path, the job's id as one percent-encoded segment.
    pub(crate) fn path(&self, jobs_path: &str) -> String {
        let mut path = String::with_capacity(jobs_path.len() + self.job_id().len() + 16);
        path.push_str(jobs_path);
        if let Operation::SendMessage { job_id, .. } | Operation::GetJob { job_id } = self {
            path.push('/');
            push_segment(&mut path, job_id);
        }
        if let Operation::SendMessage { .. } = self {
            path.push_str("/message");
        }
        path
    }

    /// The JSON body of a POST.
    pub(crate) fn body(&self) -> Option<Cow<'a, [u8]>> {
        self.prompt().map(Prompt::body)
    }
}

/// The path of a project's jobs below the base URL's own.
pub(crate) fn jobs_path(base: &str, project_id: &str) -> String {
    let mut path = format!("{base}/v2/agent/");
    push_segment(&mut path, project_id);
    path.push_str("/job");
    path
}

/// Refuses an id that would not name one path segment, or that has something around it or in it that cannot be seen.
pub(crate) fn check_id(name: &str, id: &str) -> Result<(), Error> {
    let reason = match id {
        "" => format!("{name} is empty"),
        // Percent-encoding does not neutralise these two: a server or proxy may still walk up the path.
        "." | ".." => format!("{name} is {id:?}, which is not a valid id"),
        _ if id.len() > MAX_ID_BYTES => format!("{name} is {} bytes long, more than {MAX_ID_BYTES}", id.len()),
        // The id is not quoted: in a list whose columns are swapped it is a prompt.
        _ if let Some((at, control)) = id.char_indices().find(|(_, char)| char.is_control()) => {
            format!("{name} contains a control character (U+{:04X} at byte {at})", control as u32)
        }
        _ => match hidden_edge(id).or_else(|| hidden_inside(id)) {
            Some(hidden) => format!("{name} {hidden}"),
            None => return Ok(()),
        },
    };
    Err(Error::invalid(reason).with_hint("Give the id as the service shows it."))
}

/// Every byte outside RFC 3986 unreserved is percent-encoded, so an id can never move the request elsewhere.
fn push_segment(path: &mut String, id: &str) {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
    if id.bytes().all(unreserved) {
        return path.push_str(id);
    }
    for byte in id.bytes() {
        match unreserved(byte) {
            true => path.push(byte as char),
            false => write!(path, "%{byte:02X}").expect("a String takes every write"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn send<'a>(job_id: &'a str, prompt: &'a str) -> Operation<'a> {
        Operation::SendMessage { job_id, prompt: prompt.into() }
    }

    #[test]
    fn the_three_operations_have_the_contracts_paths_and_bodies() {
        let jobs = jobs_path("", "proj");
        assert_eq!(send("job_1", "p").path(&jobs), "/v2/agent/proj/job/job_1/message");
        assert_eq!(Operation::GetJob { job_id: "job_1" }.path(&jobs), "/v2/agent/proj/job/job_1");
        assert_eq!(Operation::CreateJob { prompt: "p".into() }.path(&jobs), "/v2/agent/proj/job");
        assert_eq!(jobs_path("/base", "a/b"), "/base/v2/agent/a%2Fb/job");
        assert_eq!(
            send("j", "say \"hi\"\n\u{1F600}").body().unwrap(),
            "{\"prompt\":\"say \\\"hi\\\"\\n\u{1F600}\"}".as_bytes()
        );
        assert_eq!(Operation::GetJob { job_id: "j" }.body(), None);
    }

    #[test]
    fn an_id_is_always_one_segment() {
        for (id, segment) in [
            ("a/b", "a%2Fb"),
            ("a b?c#d", "a%20b%3Fc%23d"),
            ("..%2f", "..%252f"),
            ("é", "%C3%A9"),
            ("-._~", "-._~"),
            ("a\\b", "a%5Cb"),
        ] {
            assert_eq!(Operation::GetJob { job_id: id }.path("/job"), format!("/job/{segment}"));
        }
    }

    #[test]
    fn wrong_ids_and_prompts_are_named_before_anything_is_sent() {
        let long = "x".repeat(1025);
        for (operation, start) in [
            (send("", "p"), "job_id is empty"),
            (send("..", "p"), "job_id is \"..\""),
            (send(".", "p"), "job_id is \".\""),
            (send("a\0b", "p"), "job_id contains a control character (U+0000 at byte 1)"),
            (send(&long, "p"), "job_id is 1025 bytes long"),
            (send(" j", "p"), "job_id begins with white space (U+0020). Give the id as the service shows it."),
            (send("j\u{a0}", "p"), "job_id ends with white space (U+00A0)"),
            (send("j\u{200b}", "p"), "job_id ends with an invisible character (U+200B)"),
            (send("\u{feff}j", "p"), "job_id begins with an invisible character (U+FEFF)"),
            (Operation::GetJob { job_id: "j " }, "job_id ends with white space (U+0020)"),
            (
                Operation::GetJob { job_id: "jé\u{200b}b" },
                "job_id contains an invisible character (U+200B at byte 3). Give the id as the service shows it.",
            ),
            (send("j\u{ad}b", "p"), "job_id contains an invisible character (U+00AD at byte 1)"),
            (send("j\u{feff}b", "p"), "job_id contains an invisible character (U+FEFF at byte 1)"),
            (send("j\u{200d}b", "p"), "job_id contains an invisible character (U+200D at byte 1)"),
            (send("j\u{202e}b", "p"), "job_id contains an invisible character (U+202E at byte 1)"),
            (send("j\u{e0041}b", "p"), "job_id contains an invisible character (U+E0041 at byte 1)"),
            (send("j\u{a0}b", "p"), "job_id contains white space other than a space (U+00A0 at byte 1)"),
            (send("j\u{2028}b", "p"), "job_id contains white space other than a space (U+2028 at byte 1)"),
            (send("j", ""), "prompt is empty"),
            (send("j", "123456"), "prompt is 6 bytes long. At most 5"),
            (Operation::CreateJob { prompt: "".into() }, "prompt is empty"),
        ] {
            let error = operation.check(5).unwrap_err();
            assert!(error.message().starts_with(start), "{error}");
        }
        // The contract names no format. A joiner is a part of what is seen here.
        for id in ["job 1/é", "\u{1f469}\u{200d}\u{1f4bb}", "می\u{200c}خواهم", "\u{26a0}\u{fe0f}", "e\u{301}", "漢字"]
        {
            send(id, "12345").check(5).unwrap();
        }
    }
}
