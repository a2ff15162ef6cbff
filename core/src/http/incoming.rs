//! What comes in over a connection, made fit for ureq: interim responses are skipped, the head is read here and replaced by a
//! short one, and chunks are checked.

use ureq::unversioned::transport::Buffers;

use crate::http::buffers::RequestBuffers;
use crate::http::chunks::Chunks;
use crate::http::response_head::{self, Framing, Head, Search};

/// How many interim responses (1xx) may come before the final one.
const MAX_INTERIM: u32 = 1000;

/// A response that is coming in.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// Its head, after so many interim ones.
    Head { search: Search, interim: u32 },
    /// A body that ureq reads as it is.
    Body,
    /// A body in chunks.
    Chunks(Chunks),
    /// A body that went wrong in the same piece as its head: the head counts all the same, and comes first.
    Broken(String),
}

impl Incoming {
    /// Nothing has come yet.
    pub(crate) fn new() -> Incoming {
        Incoming::Head { search: Search::default(), interim: 0 }
    }

    /// Whether the head is not here yet.
    pub(crate) fn is_headless(&self) -> bool {
        matches!(self, Incoming::Head { .. })
    }

    /// Why there is no sense in reading on.
    pub(crate) fn fault(&self) -> Option<&str> {
        if let Incoming::Broken(why) = self { Some(why) } else { None }
    }

    /// Takes in the last `count` bytes of the input, which just came.
    ///
    /// # Errors
    /// They are no HTTP that is read, as a clause.
    pub(crate) fn take(&mut self, buffers: &mut RequestBuffers, count: usize) -> Result<Taken, String> {
        match self {
            Incoming::Head { search, interim } => {
                while let Some(end) = search.end(buffers.input())? {
                    let head = response_head::parse(&buffers.input()[..end])?;
                    if !head.is_interim() {
                        return self.begin_body(buffers, end, head);
                    }
                    buffers.input_consume(end);
                    (*search, *interim) = (Search::default(), *interim + 1);
                    if *interim > MAX_INTERIM {
                        return Err(format!("more than {MAX_INTERIM} interim responses (1xx) came first"));
                    }
                }
                Ok(Taken::default())
            }
            Incoming::Body => Ok(Taken { ready: count > 0, ..Taken::default() }),
            Incoming::Chunks(chunks) => take_chunks(chunks, buffers, count),
            Incoming::Broken(why) => Err(why.clone()),
        }
    }

    /// The head is here, and perhaps a part of the body.
    fn begin_body(&mut self, buffers: &mut RequestBuffers, end: usize, head: Head) -> Result<Taken, String> {
        let canonical = head.canonical();
        buffers.replace_input(end, canonical.bytes());
        let body = buffers.input().len() - canonical.bytes().len();
        let mut surplus = false;
        *self = Incoming::Body;
        if head.framing == Framing::Chunked {
            let mut chunks = Chunks::new();
            *self = match take_chunks(&mut chunks, buffers, body) {
                Ok(taken) => {
                    surplus = taken.surplus;
                    Incoming::Chunks(chunks)
                }
                Err(why) => {
                    buffers.drop_input(body);
                    Incoming::Broken(why)
                }
            };
        }
        Ok(Taken { ready: true, surplus, head: Some(head) })
    }
}

fn take_chunks(chunks: &mut Chunks, buffers: &mut RequestBuffers, count: usize) -> Result<Taken, String> {
    let (kept, read) = chunks.take(buffers.last_input(count))?;
    buffers.drop_input(count - kept);
    Ok(Taken { ready: kept > 0, surplus: read < count, head: None })
}

/// What came of the bytes.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// There is something for ureq.
    pub(crate) ready: bool,
    /// Bytes came that belong to no response.
    pub(crate) surplus: bool,
    /// The final head, the moment that it is whole.
    pub(crate) head: Option<Head>,
}
