//! The interim responses before a response: the same in one piece and in many, and against `httparse`.

use agentjob_core::fuzzing;

pub fn check(data: &[u8]) {
    let Some((size, bytes)) = data.split_first() else { return };
    let whole = fuzzing::final_response(std::iter::once(bytes));
    let pieces = fuzzing::final_response(bytes.chunks(usize::from(*size % 16) + 1));
    assert_eq!(pieces, whole, "in pieces of {}", size % 16 + 1);
    let mut rest = bytes;
    loop {
        let mut headers = [httparse::EMPTY_HEADER; 512];
        let mut theirs = httparse::Response::new(&mut headers);
        match theirs.parse(rest) {
            Ok(httparse::Status::Complete(end)) if matches!(theirs.code, Some(100 | 102..=199)) => rest = &rest[end..],
            Ok(httparse::Status::Complete(_)) => break,
            _ => return,
        }
    }
    assert_eq!(whole.as_deref(), Some(rest));
}
