//! Messages as bytes.

use std::io::{self, Read, Write};

use cairn_model::{BlockHash, Height, MAX_DELTA_BYTES, MempoolDelta};

/// Version of the protocol; both ends must speak the same.
pub const VERSION: u32 = 1;
/// Largest body of a frame, in bytes.
pub const MAX_FRAME: usize = MAX_DELTA_BYTES + 1;

/// What the writer says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// First of all: the protocol's version.
    Hello {
        /// [`VERSION`] of the writer.
        version: u32,
    },
    /// The index is at this block, durably.
    Tip {
        /// Its height.
        height: Height,
        /// Its hash.
        hash: BlockHash,
    },
    /// Height of the best chain that the writer knows of; `None` if it lost sight of it.
    Best(Option<Height>),
    /// The mempool changed.
    Mempool(MempoolDelta),
}

/// The other end speaks another language.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// A frame longer than any message.
    #[error("a frame of {0} bytes")]
    TooLong(usize),
    /// A body that does not read.
    #[error("a frame of kind {0} that cannot be read")]
    Unreadable(u8),
    /// A kind that this version does not know.
    #[error("a frame of unknown kind {0}")]
    UnknownKind(u8),
}

impl From<BadFrame> for io::Error {
    fn from(e: BadFrame) -> Self {
        io::Error::new(io::ErrorKind::InvalidData, e)
    }
}

impl Message {
    /// The whole frame.
    #[must_use]
    pub fn to_frame(&self) -> Vec<u8> {
        let mut out = vec![0; 4];
        match self {
            Message::Hello { version } => {
                out.push(0);
                out.extend_from_slice(&version.to_le_bytes());
            }
            Message::Tip { height, hash } => {
                out.push(1);
                out.extend_from_slice(&height.to_le_bytes());
                out.extend_from_slice(&hash.0);
            }
            Message::Best(height) => {
                out.push(2);
                out.extend(height.iter().flat_map(|h| h.to_le_bytes()));
            }
            Message::Mempool(delta) => {
                out.push(3);
                delta.encode(&mut out);
            }
        }
        let length = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&length.to_le_bytes());
        out
    }

    /// Reads a frame's body.
    ///
    /// # Errors
    /// It is no message of this version.
    pub fn from_body(body: &[u8]) -> Result<Self, BadFrame> {
        let (&kind, rest) = body.split_first().ok_or(BadFrame::Unreadable(0))?;
        let bad = BadFrame::Unreadable(kind);
        let number = |bytes: &[u8]| bytes.try_into().map(u32::from_le_bytes).map_err(|_| bad.clone());
        match kind {
            0 => Ok(Message::Hello { version: number(rest)? }),
            1 => {
                let (height, hash) = rest.split_at_checked(4).ok_or(bad.clone())?;
                let hash: [u8; 32] = hash.try_into().map_err(|_| bad.clone())?;
                Ok(Message::Tip { height: number(height)?, hash: BlockHash(hash) })
            }
            2 if rest.is_empty() => Ok(Message::Best(None)),
            2 => Ok(Message::Best(Some(number(rest)?))),
            3 => MempoolDelta::decode(rest).map(Message::Mempool).map_err(|_| bad),
            other => Err(BadFrame::UnknownKind(other)),
        }
    }

    /// Writes the frame.
    ///
    /// # Errors
    /// The other end is gone.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.to_frame())
    }

    /// Reads the next frame; memory is taken as bytes come, not as the length promises.
    ///
    /// # Errors
    /// The other end is gone, or speaks another language.
    pub fn read(from: &mut impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_FRAME {
            return Err(BadFrame::TooLong(length).into());
        }
        let mut body = Vec::new();
        from.take(length as u64).read_to_end(&mut body)?;
        if body.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(Message::from_body(&body)?)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn samples() -> Vec<Message> {
        vec![
            Message::Hello { version: VERSION },
            Message::Tip { height: 840_000, hash: BlockHash([7; 32]) },
            Message::Best(None),
            Message::Best(Some(0)),
            Message::Mempool(MempoolDelta::Sequence(u64::MAX)),
        ]
    }

    #[test]
    fn messages_read_back() {
        let bytes: Vec<u8> = samples().iter().flat_map(Message::to_frame).collect();
        let mut from = &bytes[..];
        for sample in samples() {
            assert_eq!(Message::read(&mut from).unwrap(), sample);
        }
        assert_eq!(Message::read(&mut from).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }

    #[test]
    fn what_is_cut_or_foreign_is_refused() {
        for sample in samples() {
            let frame = sample.to_frame();
            for cut in 0..frame.len() {
                assert!(Message::read(&mut &frame[..cut]).is_err());
            }
            // A body that is longer than the message.
            let mut longer = frame.clone();
            longer.push(0);
            longer[0] += 1;
            let read = Message::read(&mut &longer[..]);
            assert!(read.is_err() || read.unwrap() != sample);
        }
        assert!(Message::from_body(&[]).is_err());
        assert_eq!(Message::from_body(&[9]), Err(BadFrame::UnknownKind(9)));
        let huge = u32::MAX.to_le_bytes();
        assert_eq!(Message::read(&mut &huge[..]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
