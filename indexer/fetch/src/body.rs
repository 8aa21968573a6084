//! The body of an answer, as it was received, and its content.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;

use crate::pack::Capped;

/// How an answer is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Decoding {
    Plain,
    Gzip,
}

/// The decoding of a content encoding; `None` if it is unknown.
pub(crate) fn decoding(encoding: &str) -> Option<Decoding> {
    match encoding.to_ascii_lowercase().as_str() {
        "" | "identity" => Some(Decoding::Plain),
        "gzip" | "x-gzip" => Some(Decoding::Gzip),
        _ => None,
    }
}

/// A body.
pub struct Body {
    received: Vec<u8>,
    decoding: Decoding,
    most: u64,
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Body").field("received", &self.received.len()).field("decoding", &self.decoding).finish()
    }
}

impl Body {
    pub(crate) fn new(received: Vec<u8>, decoding: Decoding, most: u64) -> Self {
        Body { received, decoding, most }
    }

    /// Bytes that were received.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received.len() as u64
    }

    /// The content, decoded on the way. Reading fails at the limit of unpacked bytes.
    #[must_use]
    pub fn reader(&self) -> Box<dyn Read + '_> {
        match self.decoding {
            Decoding::Plain => Box::new(self.received.as_slice()),
            Decoding::Gzip => Box::new(Capped::new(MultiGzDecoder::new(self.received.as_slice()), self.most)),
        }
    }

    /// The whole content.
    ///
    /// # Errors
    /// Fails if the content is longer than the limit, or not encoded as it should be.
    pub fn content(&self) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        self.reader().read_to_end(&mut content)?;
        Ok(content)
    }

    /// Its beginning, for messages; nothing if it cannot be decoded.
    pub(crate) fn start(&self) -> Vec<u8> {
        let mut start = Vec::new();
        let _ = self.reader().take(400).read_to_end(&mut start);
        start
    }
}
