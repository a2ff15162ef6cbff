//! The pieces that values of header fields are made of.

/// The elements of a list (RFC 9110 5.6.1), empty ones ignored.
pub(crate) fn list(value: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    value.split(|byte| *byte == b',').map(trim).filter(|element| !element.is_empty())
}

/// `1*DIGIT`, and nothing else.
pub(crate) fn decimal(digits: &[u8]) -> Result<u64, ()> {
    if digits.is_empty() {
        return Err(());
    }
    digits.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0')).ok_or(())?;
        number.checked_mul(10).and_then(|number| number.checked_add(digit)).ok_or(())
    })
}

/// The bytes without the spaces and tabs around them.
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = bytes {
        bytes = rest;
    }
    bytes
}
