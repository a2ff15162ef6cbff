//! A response's head and body: the same in one piece and in many, and against `httparse`.

use agentjob_core::fuzzing::{self, Response};

pub fn check(data: &[u8]) {
    let Some((size, bytes)) = data.split_first() else { return };
    let whole = fuzzing::response(std::iter::once(bytes));
    let pieces = fuzzing::response(bytes.chunks(usize::from(*size % 16) + 1));
    assert_eq!(without_bytes(&pieces), without_bytes(&whole), "in pieces of {}", size % 16 + 1);
    // What is invalid is noticed after the pieces before it were passed on.
    match whole.failed {
        true => assert!(pieces.bytes.starts_with(&whole.bytes), "{:?}\n{:?}", pieces.bytes, whole.bytes),
        false => assert_eq!(pieces.bytes, whole.bytes),
    }
    let mut headers = [httparse::EMPTY_HEADER; 512];
    let mut theirs = httparse::Response::new(&mut headers);
    let mut config = httparse::ParserConfig::default();
    config.allow_obsolete_multiline_headers_in_responses(true);
    let Ok(httparse::Status::Complete(end)) = config.parse_response(&mut theirs, bytes) else { return };
    let Some(status) = whole.status else { return };
    if matches!(theirs.code, Some(100 | 102..=199)) {
        return; // an interim response, which ours skipped
    }
    assert_eq!(theirs.code, Some(status));
    let names = |name: &str| name.to_ascii_lowercase();
    let fields = theirs.headers.iter().map(|field| (names(field.name), one_line(field.value)));
    let ours =
        whole.fields.iter().map(|(name, value)| (names(name), value.split_whitespace().collect::<Vec<_>>().join(" ")));
    assert_eq!(ours.collect::<Vec<_>>(), fields.collect::<Vec<_>>());
    if let Some(body) = chunked(&whole, &bytes[end..]) {
        let head = whole.bytes.windows(2).position(|two| two == b"\n\n").expect("a head has an end") + 2;
        assert_eq!(chunked(&whole, &whole.bytes[head..]), Some(body), "the chunks that ureq gets");
    }
}

fn without_bytes(it: &Response) -> (Option<u16>, bool, &[(String, String)], bool) {
    (it.status, it.reusable, &it.fields, it.failed)
}

fn one_line(value: &[u8]) -> String {
    String::from_utf8_lossy(value).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A complete chunked body's data, decoded with `httparse`; `None` if the response is not chunked or not complete.
fn chunked(response: &Response, mut bytes: &[u8]) -> Option<Vec<u8>> {
    let head = String::from_utf8_lossy(&response.bytes);
    if response.failed || !head.split("\n\n").next()?.ends_with("Transfer-Encoding:chunked") {
        return None;
    }
    let mut data = Vec::new();
    loop {
        let httparse::Status::Complete((used, size)) = httparse::parse_chunk_size(bytes).ok()? else { return None };
        if size == 0 {
            return Some(data);
        }
        let size = usize::try_from(size).ok()?;
        data.extend_from_slice(bytes.get(used..used.checked_add(size)?)?);
        bytes = bytes.get(used + size + 2..)?;
    }
}
