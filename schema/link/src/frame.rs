//! Binary form of messages.

use std::io::{self, Read, Write};

use cairn_events::{LiveQuote, put_live_quotes, read_live_quotes};
use cairn_model::{BlockHash, Height, MAX_DELTA_BYTES, MempoolDelta, SourceStatus, Trouble};

/// Version of the protocol; both ends must have the same.
pub const VERSION: u32 = 5;
/// Maximum size of a frame's body in bytes: the largest delta and its header.
pub const MAX_FRAME: usize = MAX_DELTA_BYTES + 6;
/// Bytes of deltas after which a frame is full.
const FULL: usize = 4 << 20;

/// A message of the writer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// The first message: the protocol version.
    Hello {
        /// [`VERSION`] of the writer.
        version: u32,
    },
    /// The tip of the index, durable on disk.
    Tip {
        /// Its height.
        height: Height,
        /// Its hash.
        hash: BlockHash,
    },
    /// The ledger of input events has, on disk, all events up to this one.
    Events(u64),
    /// Height of the best chain that the writer knows; `None` if unknown.
    Best(Option<Height>),
    /// The mempool changed.
    Mempool {
        /// The deltas, in order.
        deltas: Vec<MempoolDelta>,
        /// True if the step is complete. Before that, its deltas must not be visible.
        complete: bool,
    },
    /// Status of the source of blocks.
    Source(Box<SourceStatus>),
    /// The newest prices, one of each pair.
    Prices(Vec<LiveQuote>),
    /// All that keeps the writer from working at present. Only a writer that goes on until it is stopped sends it.
    Troubles(Vec<Trouble>),
}

/// One step of the mempool as messages of bounded size.
#[must_use]
pub fn mempool_messages(deltas: &[MempoolDelta]) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut rest = deltas;
    while !rest.is_empty() {
        let mut bytes = 0;
        let fits = rest.iter().take_while(|delta| {
            let before = bytes;
            bytes += match delta {
                MempoolDelta::Add(tx) => 256 + tx.raw.as_ref().map_or(0, |r| r.len()) + 4 * tx.size as usize,
                _ => 64,
            };
            before == 0 || bytes <= FULL
        });
        let (now, later) = rest.split_at(fits.count().max(1));
        messages.push(Message::Mempool { deltas: now.to_vec(), complete: later.is_empty() });
        rest = later;
    }
    messages
}

/// The other end sent an invalid message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    /// The frame is longer than any message.
    #[error("invalid frame length: {0} bytes")]
    TooLong(usize),
    /// The body cannot be decoded.
    #[error("cannot decode a frame of kind {0}")]
    Unreadable(u8),
    /// The kind is unknown to this version.
    #[error("unknown frame kind {0}")]
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
            Message::Mempool { deltas, complete } => {
                out.extend([3, u8::from(*complete)]);
                for delta in deltas {
                    let at = out.len();
                    out.extend([0; 4]);
                    delta.encode(&mut out);
                    let length = (out.len() - at - 4) as u32;
                    out[at..at + 4].copy_from_slice(&length.to_le_bytes());
                }
            }
            Message::Events(seq) => {
                out.push(5);
                out.extend_from_slice(&seq.to_le_bytes());
            }
            Message::Prices(quotes) => {
                out.push(6);
                put_live_quotes(&mut out, quotes);
            }
            Message::Troubles(troubles) => {
                out.push(7);
                // As with the status of the source.
                out.extend(serde_json::to_vec(troubles).unwrap_or_default());
            }
            Message::Source(status) => {
                out.push(4);
                // Plain data: this cannot fail, and a reader refuses an empty body.
                out.extend(serde_json::to_vec(status).unwrap_or_default());
            }
        }
        let length = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&length.to_le_bytes());
        out
    }

    /// Reads a frame's body.
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
            3 => {
                let (flag, mut rest) = rest.split_first().filter(|(flag, _)| **flag < 2).ok_or(bad.clone())?;
                let mut deltas = Vec::new();
                while !rest.is_empty() {
                    let (length, from) = rest.split_at_checked(4).ok_or(bad.clone())?;
                    let (body, next) = from.split_at_checked(number(length)? as usize).ok_or(bad.clone())?;
                    deltas.push(MempoolDelta::decode(body).map_err(|_| bad.clone())?);
                    rest = next;
                }
                Ok(Message::Mempool { deltas, complete: *flag == 1 })
            }
            4 => serde_json::from_slice(rest).map(|status| Message::Source(Box::new(status))).map_err(|_| bad),
            5 => rest.try_into().map(|seq| Message::Events(u64::from_le_bytes(seq))).map_err(|_| bad),
            6 => read_live_quotes(rest).map(Message::Prices).map_err(|_| bad),
            7 => serde_json::from_slice(rest).map(Message::Troubles).map_err(|_| bad),
            other => Err(BadFrame::UnknownKind(other)),
        }
    }

    /// Writes the frame.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.to_frame())
    }

    /// Reads the next frame. Memory grows with the received bytes, not with the declared length.
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
    use super::*;

    fn samples() -> Vec<Message> {
        vec![
            Message::Hello { version: VERSION },
            Message::Tip { height: 840_000, hash: BlockHash([7; 32]) },
            Message::Events(u64::MAX - 1),
            Message::Best(None),
            Message::Best(Some(0)),
            Message::Mempool { deltas: vec![MempoolDelta::Sequence(u64::MAX)], complete: true },
            Message::Mempool { deltas: vec![MempoolDelta::Reset { sequence: 1 }; 3], complete: false },
            Message::Prices(Vec::new()),
            Message::Prices(vec![live_quote()]),
            Message::Source(Box::new(SourceStatus { at: 7, mempool_sequence: Some(9), ..SourceStatus::default() })),
            Message::Troubles(Vec::new()),
            Message::Troubles(vec![Trouble::new(cairn_model::Part::Disk, "full", "waits", 5)]),
        ]
    }

    fn live_quote() -> LiveQuote {
        LiveQuote {
            base: cairn_events::Currency::BTC,
            quote: cairn_events::Currency::USD,
            price: 98_765.into(),
            at: 1_700_000_000,
            source: None,
            sources: 2,
            dropped: 1,
            disputed: true,
        }
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
    fn large_steps_come_in_pieces_and_end_once() {
        use std::sync::Arc;
        let tx = cairn_model::MempoolTx {
            txid: cairn_model::Txid([1; 32]),
            wtxid: cairn_model::Txid([2; 32]),
            size: 400_000,
            base_size: 400_000,
            sigop_cost: 0,
            fee_sats: 1,
            version: 2,
            lock_time: 0,
            first_seen_ms: 0,
            inputs: Box::new([]),
            outputs: Box::new([]),
            raw: Some(vec![0; 400_000].into()),
        };
        let deltas = vec![MempoolDelta::Add(Arc::new(tx)); 25];
        let messages = mempool_messages(&deltas);
        assert!(messages.len() > 3);
        let mut joined = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            assert!(message.to_frame().len() < 16 << 20);
            let Message::Mempool { deltas, complete } = message else { panic!("{message:?}") };
            assert_eq!(*complete, at + 1 == messages.len());
            joined.extend(deltas.iter().cloned());
        }
        assert_eq!(joined, deltas);
        assert!(mempool_messages(&[]).is_empty());
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
            longer[0] = longer[0].wrapping_add(1);
            if longer[0] == 0 {
                continue;
            }
            let read = Message::read(&mut &longer[..]);
            assert!(read.is_err() || read.unwrap() != sample);
        }
        assert!(Message::from_body(&[]).is_err());
        assert_eq!(Message::from_body(&[9]), Err(BadFrame::UnknownKind(9)));
        let huge = u32::MAX.to_le_bytes();
        assert_eq!(Message::read(&mut &huge[..]).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
