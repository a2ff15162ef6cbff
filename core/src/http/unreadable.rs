//! Why a response's head cannot be read, as a clause. The parser is ureq's.

use ureq_proto::Error;

/// The longest head that is accepted, in bytes.
pub(crate) const MAX_HEAD: usize = 64 << 10;

/// What ureq's parser refused.
pub(crate) fn refused_head(error: &Error) -> String {
    let why = match error {
        Error::BadContentLengthHeader | Error::TooManyContentLengthHeaders => {
            "its Content-Length is not a single number"
        }
        Error::HttpParseTooManyHeaders => "its head has too many fields",
        _ => "it is not valid HTTP/1.1",
    };
    why.to_owned()
}

pub(crate) fn too_long_head() -> String {
    format!("its head is longer than {} KiB", MAX_HEAD >> 10)
}
