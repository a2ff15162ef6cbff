//! Prepares what a connection receives for ureq: skips interim responses, parses the head and replaces it by a short one, and
//! checks chunks.

use ureq::unversioned::transport::Buffers;

use crate::http::buffers::RequestBuffers;
use crate::http::chunks::{Chunks, Shortened};
use crate::http::framing::Framing;
use crate::http::response_head::{self, ResponseHead, Search};

/// How many interim responses (1xx) may precede the final one.
pub(crate) const MAX_INTERIM: u32 = 1000;

/// A response that is arriving.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// Its head is incomplete; `interim` responses preceded it.
    Head { search: Search, interim: u32 },
    /// The body arrives as ureq reads it.
    Body,
    /// The body arrives in chunks.
    Chunks(Chunks),
    /// The body was invalid in the same piece of input that had the head. ureq gets the head first; the error comes after.
    Invalid(String),
}

impl Incoming {
    /// Nothing has arrived yet.
    pub(crate) fn new() -> Incoming {
        Incoming::Head { search: Search::default(), interim: 0 }
    }

    /// Whether the head is still incomplete.
    pub(crate) fn awaits_head(&self) -> bool {
        matches!(self, Incoming::Head { .. })
    }

    /// Why the rest cannot be read, as a clause.
    pub(crate) fn fault(&self) -> Option<&str> {
        if let Incoming::Invalid(why) = self { Some(why) } else { None }
    }

    /// Processes the last `count` bytes of the input, which just arrived. With `keep_head` the final head keeps its bytes.
    ///
    /// # Errors
    /// They are not HTTP that we accept, as a clause.
    pub(crate) fn take(
        &mut self,
        buffers: &mut RequestBuffers,
        count: usize,
        keep_head: bool,
    ) -> Result<Taken, String> {
        match self {
            Incoming::Head { search, interim } => {
                while let Some(end) = search.end(buffers.input())? {
                    let mut head = response_head::parse(&buffers.input()[..end])?;
                    if !head.is_interim() {
                        if keep_head {
                            head.raw = buffers.input()[..end].to_vec();
                        }
                        return self.begin_body(buffers, end, head);
                    }
                    buffers.input_consume(end);
                    (*search, *interim) = (Search::default(), *interim + 1);
                    if *interim > MAX_INTERIM {
                        return Err(too_many_interim());
                    }
                }
                Ok(Taken::default())
            }
            Incoming::Body => Ok(Taken { ready: count > 0, ..Taken::default() }),
            Incoming::Chunks(chunks) => take_chunks(chunks, buffers, count),
            Incoming::Invalid(why) => Err(why.clone()),
        }
    }

    /// Handles the input once it has the whole head, and perhaps a part of the body.
    fn begin_body(&mut self, buffers: &mut RequestBuffers, end: usize, head: ResponseHead) -> Result<Taken, String> {
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
                    Incoming::Invalid(why)
                }
            };
        }
        Ok(Taken { ready: true, surplus, head: Some(head) })
    }
}

pub(crate) fn too_many_interim() -> String {
    format!("more than {MAX_INTERIM} interim responses (1xx) came first")
}

fn take_chunks(chunks: &mut Chunks, buffers: &mut RequestBuffers, count: usize) -> Result<Taken, String> {
    let Shortened { kept, used } = chunks.take(buffers.last_input(count))?;
    buffers.drop_input(count - kept);
    Ok(Taken { ready: kept > 0, surplus: used < count, head: None })
}

/// What `take` found in the bytes.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// There is something for ureq.
    pub(crate) ready: bool,
    /// There were bytes that belong to no response.
    pub(crate) surplus: bool,
    /// The final head, once, when it is complete.
    pub(crate) head: Option<ResponseHead>,
}
