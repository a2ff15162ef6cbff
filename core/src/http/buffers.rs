//! Room for one request on its way out and for what has come in but is not read yet.

use std::ops::Range;

use ureq::unversioned::transport::Buffers;
use zeroize::Zeroize;

/// ureq writes a whole header line or none, so this much must always be free: the longest line is the key's.
const MIN_FREE: usize = 8 << 10;
/// Output beyond this is handed to the kernel before more is gathered; everything smaller leaves in one write.
pub(crate) const FLUSH_AT: usize = 64 << 10;
/// What a kept connection holds on to.
const KEPT: usize = 12 << 10;
/// The input grows from this …
const FIRST_INPUT: usize = 4 << 10;
/// … to this: more than the longest head that is read.
const MAX_INPUT: usize = 2 * crate::http::response_head::MAX_BYTES;

/// Gathers output until it is flushed, so that head and body leave in one write.
#[derive(Default)]
pub(crate) struct RequestBuffers {
    output: Vec<u8>,
    pending: usize,
    /// Where the key stands.
    secret: Range<usize>,
    input: Vec<u8>,
    start: usize,
    end: usize,
    progress: bool,
}

impl RequestBuffers {
    /// Counts what ureq wrote into [`output`](Buffers::output) as waiting to leave.
    pub(crate) fn gather(&mut self, amount: usize) {
        self.pending += amount;
    }

    /// The same for the request's first piece, with more header lines put in: at the head's end, or, if that is still to come,
    /// behind the request line.
    pub(crate) fn gather_with(&mut self, amount: usize, (lines, key_end): (&[u8], usize)) {
        let written = &self.output[..amount];
        let at = match written.ends_with(b"\r\n\r\n") {
            true => amount - 2,
            false => written.windows(2).position(|pair| pair == b"\r\n").map_or(amount, |end| end + 2),
        };
        self.make_room(amount + lines.len());
        self.output.copy_within(at..amount, at + lines.len());
        self.output[at..at + lines.len()].copy_from_slice(lines);
        self.pending = amount + lines.len();
        self.secret = at..at + key_end;
    }

    pub(crate) fn pending(&self) -> &[u8] {
        &self.output[..self.pending]
    }

    /// Grows the output, and wipes the piece that it outgrows: a vector that grows by itself would leave the key there.
    fn make_room(&mut self, needed: usize) {
        if self.output.len() < needed {
            // What outgrows the kept room is a large prompt, which takes all there is.
            let room = if needed > KEPT { FLUSH_AT + MIN_FREE } else { self.output.len().saturating_mul(2).min(KEPT) };
            let mut larger = vec![0; needed.max(room)];
            larger[..self.output.len()].copy_from_slice(&self.output);
            self.output[self.secret.clone()].zeroize();
            self.output = larger;
        }
    }

    /// Forgets the output that left, and wipes the part that the key is in.
    pub(crate) fn clear_pending(&mut self) {
        self.output[self.secret.clone()].zeroize();
        (self.pending, self.secret) = (0, 0..0);
    }

    /// Puts `shorter` in place of the input's first `length` bytes.
    pub(crate) fn replace_input(&mut self, length: usize, shorter: &[u8]) {
        self.start += length - shorter.len();
        self.input[self.start..][..shorter.len()].copy_from_slice(shorter);
    }

    /// The input's last `length` bytes, to be worked on in place.
    pub(crate) fn last_input(&mut self, length: usize) -> &mut [u8] {
        &mut self.input[self.end - length..self.end]
    }

    /// Drops the input's last `length` bytes.
    pub(crate) fn drop_input(&mut self, length: usize) {
        self.end -= length;
    }

    /// Gives back what a large request took.
    pub(crate) fn shrink(&mut self) {
        if self.output.capacity() > KEPT {
            self.output.truncate(KEPT);
            self.output.shrink_to(KEPT);
        }
        if self.start == self.end && self.input.len() > KEPT {
            self.input.truncate(KEPT);
            self.input.shrink_to(KEPT);
            (self.start, self.end) = (0, 0);
        }
    }
}

impl Buffers for RequestBuffers {
    fn output(&mut self) -> &mut [u8] {
        self.make_room(self.pending + MIN_FREE);
        &mut self.output[self.pending..]
    }

    fn input(&self) -> &[u8] {
        &self.input[self.start..self.end]
    }

    fn input_append_buf(&mut self) -> &mut [u8] {
        if self.start > 0 {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        if self.input.is_empty() {
            self.input.resize(FIRST_INPUT, 0);
        } else if self.end == self.input.len() && self.input.len() < MAX_INPUT {
            self.input.resize(self.input.len() * 2, 0);
        }
        &mut self.input[self.end..]
    }

    fn input_appended(&mut self, amount: usize) {
        self.end += amount;
    }

    fn input_consume(&mut self, amount: usize) {
        self.progress = amount > 0;
        self.start += amount;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }

    fn tmp_and_output(&mut self) -> (&mut [u8], &mut [u8]) {
        // The first half serves chunked bodies alone, which are never sent.
        self.output();
        (&mut [], &mut self.output[self.pending..])
    }

    fn can_use_input(&self) -> bool {
        self.start < self.end && self.progress
    }
}

impl Drop for RequestBuffers {
    fn drop(&mut self) {
        self.output[self.secret.clone()].zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_gathers_until_it_is_cleared_and_is_wiped() {
        let mut buffers = RequestBuffers::default();
        let (head, body) = (b"GET / HTTP/1.1\r\nb: c\r\n\r\n".as_slice(), b"body");
        buffers.output()[..head.len()].copy_from_slice(head);
        buffers.gather_with(head.len(), (b"key: k\r\n", 6));
        buffers.output()[..body.len()].copy_from_slice(body);
        buffers.gather(body.len());
        assert_eq!(buffers.pending(), b"GET / HTTP/1.1\r\nb: c\r\nkey: k\r\n\r\nbody");
        buffers.clear_pending();
        assert_eq!(buffers.pending(), b"");
        assert_eq!(&buffers.output()[22..30], [0, 0, 0, 0, 0, 0, b'\r', b'\n'], "where the key was");
    }

    #[test]
    fn a_head_that_comes_in_pieces_has_our_lines_behind_its_first() {
        let mut buffers = RequestBuffers::default();
        for (piece, first) in [("GET / HTTP/1.1\r\n", true), ("b: c\r\n\r\n", false)] {
            buffers.output()[..piece.len()].copy_from_slice(piece.as_bytes());
            if first { buffers.gather_with(piece.len(), (b"key: k\r\n", 6)) } else { buffers.gather(piece.len()) }
        }
        assert_eq!(buffers.pending(), b"GET / HTTP/1.1\r\nkey: k\r\nb: c\r\n\r\n");
    }

    #[test]
    fn there_is_always_room_for_the_longest_header_line() {
        let mut buffers = RequestBuffers::default();
        while buffers.pending().len() <= FLUSH_AT {
            assert!(buffers.output().len() >= MIN_FREE);
            buffers.gather(MIN_FREE);
        }
        buffers.clear_pending();
        buffers.shrink();
        assert!(buffers.output.capacity() <= KEPT);
    }

    #[test]
    fn input_keeps_what_is_not_consumed_and_grows_to_its_bound() {
        let mut buffers = RequestBuffers::default();
        buffers.input_append_buf()[..6].copy_from_slice(b"abcdef");
        buffers.input_appended(6);
        buffers.input_consume(2);
        assert_eq!(buffers.input(), b"cdef");
        assert!(buffers.can_use_input());
        loop {
            let free = buffers.input_append_buf().len();
            if free == 0 {
                break;
            }
            buffers.input_appended(free);
        }
        assert_eq!(buffers.input().len(), MAX_INPUT);
        assert_eq!(&buffers.input()[..4], b"cdef");
    }
}
