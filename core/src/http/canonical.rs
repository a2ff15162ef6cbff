//! The short head that ureq gets in place of the response's own, built without an allocation.

/// A head for ureq.
pub(crate) struct CanonicalHead {
    bytes: [u8; CanonicalHead::CAPACITY],
    length: usize,
}

impl CanonicalHead {
    /// Enough for the longest status line and one field.
    const CAPACITY: usize = 64;

    pub(crate) fn new() -> CanonicalHead {
        CanonicalHead { bytes: [0; CanonicalHead::CAPACITY], length: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..][..bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }

    pub(crate) fn push_number(&mut self, number: u64) {
        let mut digits = [0; 20];
        let (mut rest, mut at) = (number, digits.len());
        while at == digits.len() || rest > 0 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        self.push(&digits[at..]);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}
