//! Writes a scripted response: in one piece, in drips, or endlessly.

use std::io;
use std::time::Duration;

use crate::response::{Response, Shape};
use crate::rule::{Drip, Endless, Framing, Rule};
use crate::wire::Wire;

/// The size at which an endless response ends.
const ENDLESS_CAP: usize = 256 * 1024 * 1024;
const BLOCK: usize = 64 * 1024;

/// Writes `bytes`, piece by piece if asked.
pub(crate) fn write(wire: &mut Wire, bytes: &[u8], drip: Option<Drip>) -> io::Result<()> {
    let Some(drip) = drip else {
        return wire.write_all(bytes);
    };
    for piece in bytes.chunks(drip.bytes.max(1)) {
        wire.write_all(piece)?;
        wire.pause(Duration::from_millis(drip.every_ms))?;
    }
    Ok(())
}

/// Writes a response that does not end. Returns when the client has closed (as an error), or at the cap.
pub(crate) fn write_endless(
    wire: &mut Wire,
    response: &Response,
    rule: &Rule,
    kind: Endless,
    request: u64,
) -> io::Result<()> {
    let framing = match kind {
        Endless::Chunks => Framing::Chunked,
        Endless::Headers | Endless::Body => Framing::Close,
    };
    let shape = Shape { request: Some(request), framing, ..Shape::default() };
    let mut head = Vec::new();
    let bodyless = Response { status: response.status, headers: response.headers.clone(), body: Vec::new() };
    bodyless.encode(&mut head, &shape, Some(rule));
    let tail: &[u8] = match kind {
        Endless::Headers => b"\r\n",
        Endless::Chunks => b"0\r\n\r\n",
        Endless::Body => b"",
    };
    let head = head.strip_suffix(tail).unwrap_or(&head);
    write(wire, head, rule.drip)?;
    let block = block(kind);
    for _ in 0..ENDLESS_CAP / BLOCK {
        write(wire, &block, rule.drip)?;
    }
    Ok(())
}

/// About [`BLOCK`] bytes that can be sent repeatedly.
fn block(kind: Endless) -> Vec<u8> {
    match kind {
        Endless::Body => vec![b' '; BLOCK],
        Endless::Headers => b"x-endless: 0123456789abcdef0123456789abcdef0123456789\r\n".repeat(BLOCK / 56),
        Endless::Chunks => {
            let mut block = format!("{BLOCK:x}\r\n").into_bytes();
            block.resize(block.len() + BLOCK, b' ');
            block.extend_from_slice(b"\r\n");
            block
        }
    }
}
