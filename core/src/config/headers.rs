//! Extra request headers: checked when they are set, wiped when they are dropped, never shown.

use std::fmt;

use zeroize::Zeroizing;

use crate::error::Error;
use crate::text::BYTE_ORDER_MARK;

/// How many extra headers a request may have.
pub const MAX_HEADERS: usize = 64;
/// How long all extra header lines of a request may be together, in bytes.
pub const MAX_HEADERS_BYTES: usize = 16 << 10;
/// A longer name is a mistake.
const MAX_NAME_BYTES: usize = 256;
/// A shorter value is no secret, and removing it from texts would remove words and numbers.
const MIN_SECRET_BYTES: usize = 4;

/// Headers that only agentjob or a proxy may set, in lower case, and why. A name that ends in `*` stands for all that begin so.
const REFUSED: [(&str, &str); 24] = [
    ("authorization", "agentjob sends the API key in it"),
    ("host", "it comes from base_url"),
    ("user-agent", "use user_agent_suffix"),
    ("content-*", "agentjob describes the body itself"),
    ("accept", "agentjob reads only JSON"),
    ("accept-encoding", "agentjob reads only uncompressed responses"),
    ("accept-charset", "agentjob reads only UTF-8"),
    ("connection", HOP),
    ("keep-alive", HOP),
    ("transfer-encoding", HOP),
    ("te", HOP),
    ("trailer", HOP),
    ("upgrade", HOP),
    ("http2-settings", HOP),
    ("proxy-*", "it would be for a proxy, which gets its credentials from the proxy setting"),
    ("expect", "agentjob sends a message at once"),
    ("early-data", "agentjob never sends early data"),
    ("range", "agentjob needs the whole response"),
    ("if-*", "agentjob needs the whole response"),
    ("x-http-method", METHOD),
    ("x-http-method-override", METHOD),
    ("x-method-override", METHOD),
    ("x-original-url", METHOD),
    ("x-rewrite-url", METHOD),
];
const HOP: &str = "it is about the connection, which agentjob manages";
const METHOD: &str = "it would make another request of this one";

/// Extra request headers, for a client or for a call. A name's case does not matter.
///
/// A value may be a secret: it is not in the `Debug` text, and it is removed from every error, event and log line as the API key is, if
/// it has at least 4 bytes.
///
/// ```
/// # fn main() -> Result<(), agentjob_core::Error> {
/// let headers = agentjob_core::Headers::new().with("X-Tenant", "acme")?;
/// let error = headers.with("Host", "elsewhere").unwrap_err();
/// assert_eq!(error.message(), "header Host cannot be set: it comes from base_url");
/// # Ok(()) }
/// ```
#[derive(Clone, Default)]
pub struct Headers(Vec<Field>);

#[derive(Clone)]
struct Field {
    name: Box<str>,
    value: Zeroizing<String>,
}

impl Headers {
    /// No headers.
    pub fn new() -> Headers {
        Headers::default()
    }

    /// These headers and one more; see [`set`](Headers::set).
    ///
    /// # Errors
    /// Those of `set`.
    pub fn with(mut self, name: &str, value: &str) -> Result<Headers, Error> {
        self.set(name, value)?;
        Ok(self)
    }

    /// Sets a header. It replaces one with the same name.
    ///
    /// `name` is a token (RFC 9110 5.1) of at most 256 bytes. `value` is visible ASCII, with spaces and tabs inside; other bytes have no
    /// agreed meaning (RFC 9110 5.5). There are at most 64 headers, and their lines have at most 16 KiB together.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument): the name or the value is not like that, or the header is one that
    /// agentjob sets itself, such as `Authorization`, `Host`, `Content-*` and everything about the connection.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Error> {
        check_name(name)?;
        check_value(name, value)?;
        self.put(Field { name: name.into(), value: Zeroizing::new(value.to_owned()) });
        self.check_size()
    }

    /// Whether a header of this name is set, in whatever case.
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Their names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|field| (&*field.name, &**field.value))
    }

    /// Reads headers from lines `Name: value`. Empty lines, lines that begin with `#`, and a byte order mark before the first count as
    /// none. `name` is the argument, variable or file that the text comes from, for errors.
    ///
    /// # Errors
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument), which names the line: it has no colon, it repeats a name, or
    /// [`set`](Headers::set) refuses it.
    pub fn parse(name: &str, text: &str) -> Result<Headers, Error> {
        let mut headers = Headers::new();
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let is_one_line = !text.trim_end_matches(['\r', '\n']).contains('\n');
        for (number, line) in text.split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line)).enumerate() {
            if line.trim_matches([' ', '\t']).is_empty() || line.starts_with('#') {
                continue;
            }
            headers.add_line(line).map_err(|error| {
                let hint = error.hint().map(str::to_owned);
                let place = if is_one_line { name.to_owned() } else { format!("line {} of {name}", number + 1) };
                Error::invalid(format!("{place}: {}", error.reason())).with_hint_if_any(hint)
            })?;
        }
        Ok(headers)
    }

    /// Adds one line `Name: value`.
    fn add_line(&mut self, line: &str) -> Result<(), Error> {
        let (name, value) = line.split_once(':').ok_or_else(|| {
            // The line is not quoted: it may be a secret.
            Error::invalid("a header has no colon").with_hint("Write it as Name: value.")
        })?;
        if self.contains(name) {
            return Err(Error::invalid(format!("header {name} is given twice")));
        }
        self.set(name, value.trim_matches([' ', '\t']))
    }

    /// These headers, with others that win over those of the same name.
    ///
    /// # Errors
    /// They are too many or too long together.
    pub(crate) fn merged(&self, others: &Headers) -> Result<Headers, Error> {
        let mut merged = self.clone();
        merged.add(others);
        merged.check_size()?;
        Ok(merged)
    }

    /// Adds others. Whether they are too many or too long together is checked where a request needs them.
    pub(crate) fn add(&mut self, others: &Headers) {
        others.0.iter().for_each(|field| self.put(field.clone()));
    }

    /// The header lines, each with its CRLF.
    pub(crate) fn lines(&self) -> impl Iterator<Item = [&str; 4]> {
        self.0.iter().map(|field| [&*field.name, ": ", &*field.value, "\r\n"])
    }

    /// The values that have to be removed from texts.
    pub(crate) fn secrets(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|field| field.value.as_bytes()).filter(|value| value.len() >= MIN_SECRET_BYTES)
    }

    fn put(&mut self, field: Field) {
        self.0.retain(|other| !other.name.eq_ignore_ascii_case(&field.name));
        self.0.push(field);
    }

    fn check_size(&self) -> Result<(), Error> {
        let bytes: usize = self.lines().flatten().map(str::len).sum();
        match (self.0.len(), bytes) {
            (count, _) if count > MAX_HEADERS => {
                Err(Error::invalid(format!("there are more than {MAX_HEADERS} headers")))
            }
            (_, bytes) if bytes > MAX_HEADERS_BYTES => {
                Err(Error::invalid(format!("the headers are longer than {MAX_HEADERS_BYTES} bytes together")))
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.iter().map(|field| (&field.name, format_args!("(not shown)")))).finish()
    }
}

fn check_name(name: &str) -> Result<(), Error> {
    let wrong =
        |what: &str| Error::invalid(format!("a header's name {what}")).with_hint("Use letters, digits and hyphens.");
    if name.is_empty() {
        return Err(wrong("is empty"));
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(wrong("is longer than 256 bytes"));
    }
    // It is not quoted: where name and value were confused, it is the secret.
    if !name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b)) {
        return Err(wrong("contains a character that is not allowed there"));
    }
    let lower = name.to_ascii_lowercase();
    let is_refused = |pattern: &str| match pattern.strip_suffix('*') {
        Some(start) => lower.starts_with(start),
        None => lower == pattern,
    };
    match REFUSED.iter().find(|(pattern, _)| is_refused(pattern)) {
        Some((_, why)) => Err(Error::invalid(format!("header {name} cannot be set: {why}"))),
        None => Ok(()),
    }
}

fn check_value(name: &str, value: &str) -> Result<(), Error> {
    let wrong = |what: &str| Err(Error::invalid(format!("the value of header {name} {what}")));
    if value.is_empty() {
        return wrong("is empty");
    }
    // A CR or LF would end the header line and begin another.
    if value.bytes().any(|b| matches!(b, b'\r' | b'\n')) {
        return wrong("contains a line break");
    }
    if value.bytes().any(|b| b.is_ascii_control() && b != b'\t') {
        return wrong("contains a control character");
    }
    if !value.is_ascii() {
        return wrong("contains a non-ASCII character");
    }
    if value.starts_with([' ', '\t']) || value.ends_with([' ', '\t']) {
        return wrong("begins or ends with a space");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
