//! Buffers for one request that is being sent and for input that is not consumed yet.

use std::ops::Range;

use ureq::unversioned::transport::Buffers;
use zeroize::Zeroize;

use crate::http::unreadable::MAX_HEAD;

/// ureq writes a header line only if it fits as a whole, so this much must always be free; the longest line has the key.
const MIN_FREE: usize = 8 << 10;
/// Output beyond this is written before more is collected; everything smaller leaves in one write.
pub(crate) const FLUSH_AT: usize = 64 << 10;
/// The buffer size that an idle connection keeps.
const KEPT: usize = 12 << 10;
/// The first size of the input buffer.
const FIRST_INPUT: usize = 4 << 10;
/// The largest size of the input buffer: more than the longest head.
const MAX_INPUT: usize = 2 * MAX_HEAD;

/// Collects output until it is flushed, so that head and body leave in one write.
#[derive(Default)]
pub(crate) struct RequestBuffers {
    output: Vec<u8>,
    pending: usize,
    /// Where in the output the secrets are: the key, and the caller's own headers.
    secret: Range<usize>,
    input: Vec<u8>,
    start: usize,
    end: usize,
    progress: bool,
}

impl RequestBuffers {
    /// Adds what ureq wrote into [`output`](Buffers::output) to the pending output.
    pub(crate) fn gather(&mut self, amount: usize) {
        self.pending += amount;
    }

    /// The same for the request's first piece, adding header lines: at the end of the head, or after the request line if the head
    /// is still incomplete.
    pub(crate) fn gather_with(&mut self, amount: usize, ([key, lines], secret_end): ([&[u8]; 2], usize)) {
        let written = &self.output[..amount];
        let at = match written.ends_with(b"\r\n\r\n") {
            true => amount - 2,
            false => written.windows(2).position(|pair| pair == b"\r\n").map_or(amount, |end| end + 2),
        };
        let added = key.len() + lines.len();
        self.make_room(amount + added);
        self.output.copy_within(at..amount, at + added);
        self.output[at..at + key.len()].copy_from_slice(key);
        self.output[at + key.len()..at + added].copy_from_slice(lines);
        self.pending = amount + added;
        self.secret = at..at + secret_end;
    }

    pub(crate) fn pending(&self) -> &[u8] {
        &self.output[..self.pending]
    }

    /// Grows the output and wipes the old allocation: a vector that grows by itself would leave the key in it.
    fn make_room(&mut self, needed: usize) {
        if self.output.len() < needed {
            // A large prompt: it needs the largest buffer.
            let room = if needed > KEPT { FLUSH_AT + MIN_FREE } else { self.output.len().saturating_mul(2).min(KEPT) };
            let mut larger = vec![0; needed.max(room)];
            larger[..self.output.len()].copy_from_slice(&self.output);
            self.output[self.secret.clone()].zeroize();
            self.output = larger;
        }
    }

    /// Empties the output, and wipes the part that has the key.
    pub(crate) fn clear_pending(&mut self) {
        self.output[self.secret.clone()].zeroize();
        (self.pending, self.secret) = (0, 0..0);
    }

    /// Frees what a large request or response took.
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
        // The first half is for chunked bodies, which we never send.
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
    fn output_collects_until_it_is_cleared_and_is_wiped() {
        let mut buffers = RequestBuffers::default();
        let (head, body) = (b"GET / HTTP/1.1\r\nb: c\r\n\r\n".as_slice(), b"body");
        buffers.output()[..head.len()].copy_from_slice(head);
        buffers.gather_with(head.len(), ([b"key: k\r\n", b"x: y\r\n"], 11));
        buffers.output()[..body.len()].copy_from_slice(body);
        buffers.gather(body.len());
        assert_eq!(buffers.pending(), b"GET / HTTP/1.1\r\nb: c\r\nkey: k\r\nx: y\r\n\r\nbody");
        buffers.clear_pending();
        assert_eq!(buffers.pending(), b"");
        let wiped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, b'y', b'\r', b'\n'];
        assert_eq!(&buffers.output()[22..36], wiped, "where the secrets were");
    }

    #[test]
    fn a_head_in_pieces_gets_our_lines_after_its_first() {
        let mut buffers = RequestBuffers::default();
        for (piece, first) in [("GET / HTTP/1.1\r\n", true), ("b: c\r\n\r\n", false)] {
            buffers.output()[..piece.len()].copy_from_slice(piece.as_bytes());
            if first {
                buffers.gather_with(piece.len(), ([b"key: k\r\n", b"x: y\r\n"], 11))
            } else {
                buffers.gather(piece.len())
            }
        }
        assert_eq!(buffers.pending(), b"GET / HTTP/1.1\r\nkey: k\r\nx: y\r\nb: c\r\n\r\n");
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
    fn a_small_request_takes_little_and_a_large_one_the_largest_buffer_until_it_is_freed() {
        // What is pending, and the buffer that the rest of it needs: at least 8 KiB are free.
        let largest = FLUSH_AT + MIN_FREE;
        for (pending, takes) in [(0, 8 << 10), (1, KEPT), (4 << 10, KEPT), (4097, largest), (FLUSH_AT, largest)] {
            let mut buffers = RequestBuffers::default();
            buffers.output();
            buffers.make_room(pending);
            buffers.gather(pending);
            buffers.output();
            assert_eq!(buffers.output.capacity(), takes, "{pending} bytes");
            buffers.clear_pending();
            buffers.shrink();
            assert_eq!(buffers.output.capacity(), takes.min(KEPT), "{pending} bytes");
        }
        let mut exact = RequestBuffers::default();
        exact.make_room(100);
        let before = exact.output.as_ptr();
        exact.make_room(100);
        assert_eq!(exact.output.as_ptr(), before, "what has room already stays where it is");
    }

    #[test]
    fn lines_that_do_not_fit_get_room() {
        let mut buffers = RequestBuffers::default();
        let (head, lines) = (b"GET / HTTP/1.1\r\n\r\n", vec![b'x'; 20 << 10]);
        buffers.output()[..head.len()].copy_from_slice(head);
        buffers.gather_with(head.len(), ([b"key: k\r\n", &lines], 8));
        assert_eq!(buffers.pending().len(), head.len() + 8 + lines.len());
        assert!(buffers.pending().ends_with(b"xx\r\n"));
    }

    #[test]
    fn input_grows_to_double_its_size_and_is_freed_when_it_is_consumed() {
        let mut buffers = RequestBuffers::default();
        for size in [4 << 10, 8 << 10, 16 << 10] {
            let free = buffers.input_append_buf().len();
            assert_eq!(buffers.input.len(), size);
            buffers.input_appended(free);
        }
        buffers.shrink();
        assert_eq!(buffers.input().len(), 16 << 10, "none of it was consumed");
        buffers.input_consume(16 << 10);
        buffers.shrink();
        assert_eq!(buffers.input.capacity(), KEPT);
    }

    #[test]
    fn input_can_be_used_unless_all_or_none_of_it_was_consumed() {
        let mut buffers = RequestBuffers::default();
        assert!(!buffers.can_use_input());
        buffers.input_append_buf();
        buffers.input_appended(3);
        for (consumed, usable) in [(0, false), (2, true), (0, false), (1, false)] {
            buffers.input_consume(consumed);
            assert_eq!(buffers.can_use_input(), usable, "{consumed} more consumed");
        }
    }

    #[test]
    fn input_keeps_what_is_not_consumed_and_grows_to_its_limit() {
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
