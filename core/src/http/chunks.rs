//! The chunked coding (RFC 9112 section 7.1), checked while it arrives and rewritten in its shortest form for ureq. ureq's own reader
//! accepts signs and spaces in a chunk's size, and rejects long extensions.

/// How many bytes of extensions, trailers and leading zeros one body may have; all of them are skipped.
const MAX_SKIPPED: usize = 64 << 10;

/// What the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    /// The first digit of a size.
    Size,
    /// Another digit, or the size's end.
    Digits,
    /// Spaces between the size and an extension.
    Space,
    Extension,
    /// The LF of a size's line.
    SizeEnd,
    Data,
    /// The CR after a chunk's data, then its LF.
    DataCr,
    DataLf,
    /// The first byte of a trailer line, or of the empty line that ends the body.
    Trailer,
    TrailerLine,
    TrailerLf,
    LastLf,
    End,
}

/// What `take` made of some bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shortened {
    /// How many bytes remain, at the beginning.
    pub(crate) kept: usize,
    /// How many of the given bytes belong to the body.
    pub(crate) used: usize,
}

/// A chunked body that is arriving.
#[derive(Debug)]
pub(crate) struct Chunks {
    at: At,
    /// The current chunk's size, then how much of it is left.
    left: u64,
    skipped: usize,
    /// The sizes stay with the data, because ureq reads them.
    keeps_sizes: bool,
}

impl Chunks {
    pub(crate) fn new() -> Chunks {
        Chunks { at: At::Size, left: 0, skipped: 0, keeps_sizes: true }
    }

    /// One of which only the data is kept.
    pub(crate) fn without_sizes() -> Chunks {
        Chunks { keeps_sizes: false, ..Chunks::new() }
    }

    /// Whether the last chunk and the trailers have come.
    pub(crate) fn ended(&self) -> bool {
        self.at == At::End
    }

    /// Checks the next bytes and shortens them in place: sizes and data stay, extensions and trailers go.
    ///
    /// # Errors
    /// They violate the grammar, as a clause.
    pub(crate) fn take(&mut self, bytes: &mut [u8]) -> Result<Shortened, &'static str> {
        let (mut from, mut to) = (0, 0);
        while from < bytes.len() && self.at != At::End {
            if self.at == At::Data {
                let length = self.left.min((bytes.len() - from) as u64) as usize;
                if from != to {
                    bytes.copy_within(from..from + length, to);
                }
                (from, to, self.left) = (from + length, to + length, self.left - length as u64);
                if self.left == 0 {
                    self.at = At::DataCr;
                }
                continue;
            }
            let byte = bytes[from];
            from += 1;
            if self.is_kept(byte)? {
                if self.keeps_sizes {
                    bytes[to] = byte;
                    to += 1;
                }
            } else {
                self.skipped += 1;
                if self.skipped > MAX_SKIPPED {
                    return Err("its chunks have too many extensions and trailers");
                }
            }
        }
        Ok(Shortened { kept: to, used: from })
    }

    /// Moves over one byte that is not data, and returns whether it is kept.
    fn is_kept(&mut self, byte: u8) -> Result<bool, &'static str> {
        const SIZE: &str = "a chunk's size is not a hexadecimal number";
        let (at, kept) = match (self.at, byte) {
            (At::Size, _) => {
                self.left = hex(byte).ok_or(SIZE)?;
                (At::Digits, true)
            }
            (At::Digits, b'\r') | (At::Extension, b'\r') => (At::SizeEnd, true),
            (At::Digits | At::Space, b' ' | b'\t') => (At::Space, false),
            (At::Digits | At::Space, b';') => (At::Extension, false),
            (At::Digits, _) => {
                let leading_zero = self.left == 0;
                let digit = hex(byte).ok_or(SIZE)?;
                self.left = self.left.checked_mul(16).ok_or("a chunk's size is too large")? + digit;
                // "00a" becomes "0a": the first digit was passed on before the others were seen.
                (At::Digits, !(leading_zero && digit == 0))
            }
            (At::Extension, 0 | b'\n') => return Err("a chunk's extension contains a control character"),
            (At::Extension, _) => (At::Extension, false),
            (At::SizeEnd, b'\n') => (if self.left == 0 { At::Trailer } else { At::Data }, true),
            (At::DataCr, b'\r') => (At::DataLf, true),
            (At::DataLf, b'\n') => (At::Size, true),
            (At::DataCr | At::DataLf, _) => return Err("a chunk is longer than its size"),
            (At::Trailer, b'\r') => (At::LastLf, true),
            (At::TrailerLine, b'\r') => (At::TrailerLf, false),
            (At::Trailer | At::TrailerLine, 0 | b'\n') => return Err("a trailer contains a control character"),
            (At::Trailer | At::TrailerLine, _) => (At::TrailerLine, false),
            (At::TrailerLf, b'\n') => (At::Trailer, false),
            (At::LastLf, b'\n') => (At::End, true),
            (At::Space, _) => return Err(SIZE),
            (At::SizeEnd | At::TrailerLf | At::LastLf, _) => return Err("a line of its chunks contains a bare CR"),
            (At::Data | At::End, _) => unreachable!("take() handles data, and stops at the end"),
        };
        self.at = at;
        Ok(kept)
    }
}

fn hex(byte: u8) -> Option<u64> {
    char::from(byte).to_digit(16).map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The body's shortest form and the length of what follows it, given in pieces of this length.
    fn shortened(body: &[u8], piece: usize) -> Result<(String, usize), &'static str> {
        let (mut chunks, mut out, mut used) = (Chunks::new(), Vec::new(), 0);
        for piece in body.chunks(piece) {
            let mut piece = piece.to_vec();
            let Shortened { kept, used: of_piece } = chunks.take(&mut piece)?;
            out.extend_from_slice(&piece[..kept]);
            used += of_piece;
        }
        Ok((String::from_utf8(out).unwrap(), body.len() - used))
    }

    #[test]
    fn valid_chunks_are_shortened_however_they_arrive() {
        let long = format!("3;{}\r\nabc\r\n0\r\n\r\n", "x".repeat(5000));
        let zeros = format!("{}3\r\nabc\r\n0\r\n\r\n", "0".repeat(300));
        for (body, form, extra) in [
            ("3\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", 0),
            ("A\r\n0123456789\r\n0\r\n\r\nmore", "A\r\n0123456789\r\n0\r\n\r\n", 4),
            ("3;a=b;c=\"d\"\r\nabc\r\n0;e\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", 0),
            ("3 \t ;a\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", 0),
            ("3\r\n\r\n\r\r\n000\r\nx-trailer: y\r\n z\r\n\r\n", "3\r\n\r\n\r\r\n0\r\n\r\n", 0),
            (&long, "3\r\nabc\r\n0\r\n\r\n", 0),
            (&zeros, "03\r\nabc\r\n0\r\n\r\n", 0),
        ] {
            for piece in 1..=body.len() {
                assert_eq!(shortened(body.as_bytes(), piece), Ok((form.to_owned(), extra)), "{body:.30?} by {piece}");
            }
        }
    }

    #[test]
    fn without_their_sizes_chunks_are_their_data_however_they_arrive() {
        let body = b"5;x=y\r\nbusy \r\n00b\r\nfrom \r\n now\r\n0\r\nTrailer: x\r\n\r\nmore";
        for piece in 1..=body.len() {
            let (mut chunks, mut data) = (Chunks::without_sizes(), Vec::new());
            for piece in body.chunks(piece) {
                let mut piece = piece.to_vec();
                let kept = chunks.take(&mut piece).unwrap().kept;
                data.extend_from_slice(&piece[..kept]);
            }
            assert_eq!((data.as_slice(), chunks.ended()), (&b"busy from \r\n now"[..], true), "by {piece}");
        }
        let mut chunks = Chunks::without_sizes();
        chunks.take(&mut b"3\r\nabc\r\n0\r\n\r".to_vec()).unwrap();
        assert!(!chunks.ended());
    }

    #[test]
    fn invalid_chunks_are_rejected_however_they_arrive() {
        let endless = format!("3;{}", "x".repeat(MAX_SKIPPED));
        let trailers = format!("0\r\n{}", "x: y\r\n".repeat(20_000));
        for body in [
            "0x3\r\nabc\r\n",
            "+3\r\nabc\r\n",
            "-3\r\nabc\r\n",
            " 3\r\nabc\r\n",
            "3 \r\nabc\r\n",
            "3\t\r\nabc\r\n",
            "3 3\r\nabc\r\n",
            "\r\nabc\r\n",
            ";a\r\nabc\r\n",
            "3\nabc\r\n",
            "3\rabc\r\n",
            "3;a\nabc\r\n",
            "3;a\0\r\nabc\r\n",
            "3;a\rb\r\nabc\r\n",
            "g\r\nabc\r\n",
            "3h\r\nabc\r\n",
            "\u{ff13}\r\nabc\r\n",
            "3_0\r\nabc\r\n",
            "10000000000000000\r\nabc\r\n",
            "fffffffffffffffff\r\nabc\r\n",
            "2\r\nabc\r\n",
            "3\r\nabc\n0\r\n\r\n",
            "3\r\nabc\r0\r\n\r\n",
            "3\r\nabc\r\n0\r\n\n",
            "3\r\nabc\r\n0\r\nx: y\n\r\n",
            "3\r\nabc\r\n0\r\nx\r y\r\n\r\n",
            &endless,
            &trailers,
        ] {
            for piece in (1..=body.len().min(40)).chain([body.len()]) {
                assert!(shortened(body.as_bytes(), piece).is_err(), "{body:.30?} by {piece}");
            }
        }
    }
}
