//! A request's head.

/// The most header fields a request may have.
const MAX_HEADERS: usize = 100;

/// The parts of a request's head that matter here.
pub(crate) struct Head {
    pub(crate) method: String,
    /// The target as it is on the wire.
    pub(crate) target: String,
    pub(crate) authorization: Option<String>,
    /// Every field, for the request log; empty unless asked for.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) framing: BodyFraming,
    /// Whether the client waits for a `100 Continue` before it sends the body.
    pub(crate) expects_continue: bool,
    /// Whether the connection ends with this exchange.
    pub(crate) closes: bool,
    /// The bytes of the head.
    pub(crate) length: usize,
}

/// How a request's body is delimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFraming {
    Length(u64),
    Chunked,
}

/// The result of parsing the bytes so far.
pub(crate) enum Parsed {
    Whole(Head),
    Partial,
    /// Not HTTP, for this reason.
    Bad(String),
}

impl Head {
    /// The target without its query; of an absolute target (as a proxy is sent) only the path.
    pub(crate) fn path(&self) -> &str {
        let target = self.target.as_str();
        let from_path = match target.strip_prefix("http://") {
            Some(rest) => rest.find('/').map_or("/", |at| &rest[at..]),
            None => target,
        };
        from_path.split_once('?').map_or(from_path, |(path, _)| path)
    }
}

/// Parses the head that `bytes` begin with.
pub(crate) fn parse(bytes: &[u8], keep_headers: bool) -> Parsed {
    let mut fields = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Parsed::Partial,
        Err(error) => return Parsed::Bad(format!("the request is not HTTP: {error}")),
    };
    let mut head = Head {
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        authorization: None,
        headers: Vec::new(),
        framing: BodyFraming::Length(0),
        expects_continue: false,
        closes: request.version == Some(0),
        length,
    };
    if keep_headers {
        head.headers = request.headers.iter().map(|field| (field.name.to_owned(), text(field.value))).collect();
    }
    match take_fields(&mut head, request.headers) {
        Ok(()) => Parsed::Whole(head),
        Err(reason) => Parsed::Bad(reason.into()),
    }
}

fn take_fields(head: &mut Head, fields: &[httparse::Header<'_>]) -> Result<(), &'static str> {
    let (mut length, mut chunked) = (None, false);
    for field in fields {
        let named = |name: &str| field.name.eq_ignore_ascii_case(name);
        if named("authorization") {
            // Two keys count as none: services differ in which one they take.
            let first = head.authorization.is_none();
            head.authorization = Some(if first { text(field.value) } else { String::new() });
        } else if named("content-length") {
            let digits = !field.value.is_empty() && field.value.iter().all(u8::is_ascii_digit);
            let value = text(field.value).parse().ok().filter(|_| digits);
            let value: u64 = value.ok_or("content-length is no number")?;
            if length.replace(value).is_some_and(|earlier| earlier != value) {
                return Err("content-length stands twice");
            }
        } else if named("transfer-encoding") {
            chunked = field.value.eq_ignore_ascii_case(b"chunked");
            if !chunked {
                return Err("transfer-encoding is not understood");
            }
        } else if named("expect") {
            head.expects_continue = field.value.eq_ignore_ascii_case(b"100-continue");
        } else if named("connection") {
            head.closes |= text(field.value).split(',').any(|token| token.trim().eq_ignore_ascii_case("close"));
        }
    }
    head.framing = match (length, chunked) {
        (Some(_), true) => return Err("content-length and transfer-encoding stand together"),
        (Some(length), false) => BodyFraming::Length(length),
        (None, true) => BodyFraming::Chunked,
        (None, false) => BodyFraming::Length(0),
    };
    Ok(())
}

/// Method and target of a head that broke off, if its first line is whole.
pub(crate) fn request_line(bytes: &[u8]) -> Option<(String, String)> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let line = text(&bytes[..end]);
    let mut parts = line.split_ascii_whitespace();
    Some((parts.next()?.to_owned(), parts.next()?.to_owned()))
}

/// A field's value; bytes that are not UTF-8 are read as ISO 8859-1.
fn text(value: &[u8]) -> String {
    match std::str::from_utf8(value) {
        Ok(text) => text.to_owned(),
        Err(_) => value.iter().map(|byte| char::from(*byte)).collect(),
    }
}
