//! Room for the short head that ureq gets, without an allocation.

/// A head for ureq.
pub(crate) struct Canonical {
    bytes: [u8; Canonical::ROOM],
    length: usize,
}

impl Canonical {
    const ROOM: usize = 64;

    pub(crate) fn new() -> Canonical {
        Canonical { bytes: [0; Canonical::ROOM], length: 0 }
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
