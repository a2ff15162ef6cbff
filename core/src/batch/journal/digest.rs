//! What the journal has in place of a prompt: the first half of its SHA-256.

use std::fmt;

use ring::digest::{Context, SHA256};
use serde::de::{Deserialize, Deserializer, Error as _};

/// 128 bits of SHA-256 (FIPS 180-4), enough that no two texts of a batch have the same by chance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub(crate) struct Digest([u8; 16]);

impl Digest {
    /// The digest of parts, each with its length before it, so that different parts never make the same text.
    pub(crate) fn of(parts: &[&[u8]]) -> Digest {
        let mut context = Context::new(&SHA256);
        for part in parts {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&context.finish().as_ref()[..16]);
        Digest(bytes)
    }

    /// Reads what `Display` writes.
    pub(crate) fn from_hex(text: &str) -> Option<Digest> {
        let text: &[u8; 32] = text.as_bytes().try_into().ok()?;
        let digit = |at: usize| char::from(text[at]).to_digit(16).filter(|_| !text[at].is_ascii_uppercase());
        let mut bytes = [0; 16];
        for (n, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::try_from(digit(2 * n)? << 4 | digit(2 * n + 1)?).ok()?;
        }
        Some(Digest(bytes))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Digest, D::Error> {
        // Without an escape, hexadecimal digits are borrowed from the line.
        let text = <&str>::deserialize(deserializer)?;
        Digest::from_hex(text).ok_or_else(|| D::Error::custom("a digest has 32 hexadecimal digits"))
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&hex::<32>(&self.0)).unwrap_or_default())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// 64 bits of SHA-256 in hexadecimal digits.
pub(crate) type Checksum = [u8; 16];

/// The checksum at a line's end.
pub(crate) fn checksum(line: &[u8]) -> Checksum {
    hex(ring::digest::digest(&SHA256, line).as_ref())
}

/// The first `DIGITS` hexadecimal digits of the bytes.
fn hex<const DIGITS: usize>(bytes: &[u8]) -> [u8; DIGITS] {
    let mut hex = [0; DIGITS];
    for (two, byte) in hex.chunks_exact_mut(2).zip(bytes) {
        two[0] = b"0123456789abcdef"[usize::from(byte >> 4)];
        two[1] = b"0123456789abcdef"[usize::from(byte & 15)];
    }
    hex
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_digest_is_parsed() {
        let digest = Digest::of(&[b"job_1", b"prompt"]);
        assert_eq!(Digest::from_hex(&digest.to_string()), Some(digest));
        assert_eq!(format!("{digest:?}"), digest.to_string());
        for wrong in ["", "00", &"g".repeat(32), &"A".repeat(32), &"0".repeat(33), &"é".repeat(16)] {
            assert_eq!(Digest::from_hex(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn parts_do_not_run_together() {
        assert_ne!(Digest::of(&[b"ab", b"c"]), Digest::of(&[b"a", b"bc"]));
        assert_ne!(Digest::of(&[b"ab"]), Digest::of(&[b"ab", b""]));
    }

    #[test]
    fn the_checksum_is_what_sha256sum_prints() {
        // `printf abc | sha256sum | cut -c 1-16`
        assert_eq!(&checksum(b"abc"), b"ba7816bf8f01cfea");
    }
}
