//! Attestations: claims that a message existed at a time.

use crate::{
    encoding::{Fault, Input, is_uri_byte, put_bytes, put_number},
    flaw::Flaw,
    limits::MAX_URI_BYTES,
};

/// The kind of an attestation in the format: 8 bytes.
pub type AttestationTag = [u8; 8];

pub(crate) const PENDING: AttestationTag = [0x83, 0xdf, 0xe3, 0x0d, 0x2e, 0xf9, 0x0c, 0x8e];
pub(crate) const BITCOIN: AttestationTag = [0x05, 0x88, 0x96, 0x0d, 0x73, 0xd7, 0x19, 0x01];
pub(crate) const LITECOIN: AttestationTag = [0x06, 0x86, 0x9a, 0x0d, 0x73, 0xd7, 0x1b, 0x45];
pub(crate) const ETHEREUM: AttestationTag = [0x30, 0xfe, 0x80, 0x87, 0xb5, 0xc7, 0xea, 0xd7];

/// An attestation of a message. Nothing is checked against a chain here.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Attestation {
    /// The message is the Merkle root of the Bitcoin block at a height, in the byte order of the header.
    Bitcoin {
        /// Height of the block.
        height: u64,
    },
    /// The same of Litecoin.
    Litecoin {
        /// Height of the block.
        height: u64,
    },
    /// The message is the root of the transactions of the Ethereum block at a height.
    Ethereum {
        /// Height of the block.
        height: u64,
    },
    /// A calendar has accepted the message and promised to anchor it.
    Pending {
        /// Address of the calendar: letters, digits, and the characters `-._/:`.
        uri: String,
    },
    /// An attestation of another kind.
    Unknown {
        /// Its kind.
        tag: AttestationTag,
        /// Its content.
        payload: Vec<u8>,
    },
}

impl Attestation {
    /// Its kind.
    #[must_use]
    pub const fn tag(&self) -> AttestationTag {
        match self {
            Attestation::Bitcoin { .. } => BITCOIN,
            Attestation::Litecoin { .. } => LITECOIN,
            Attestation::Ethereum { .. } => ETHEREUM,
            Attestation::Pending { .. } => PENDING,
            Attestation::Unknown { tag, .. } => *tag,
        }
    }

    /// The promise of the calendar at `uri`; `None` if an attestation cannot have this address: it has 1 to 1,000
    /// letters, digits and characters `-._/:`.
    #[must_use]
    pub fn pending(uri: &str) -> Option<Self> {
        let fits = (1..=MAX_URI_BYTES).contains(&uri.len()) && uri.bytes().all(is_uri_byte);
        fits.then(|| Attestation::Pending { uri: uri.to_owned() })
    }

    /// Reads the payload of a kind, which must be the rest of `input`.
    pub(crate) fn read(tag: AttestationTag, input: &mut Input<'_>) -> Result<Self, Fault> {
        let read = match tag {
            BITCOIN => Attestation::Bitcoin { height: input.number()? },
            LITECOIN => Attestation::Litecoin { height: input.number()? },
            ETHEREUM => Attestation::Ethereum { height: input.number()? },
            PENDING => Attestation::Pending { uri: input.uri()? },
            _ => Attestation::Unknown { tag, payload: input.rest().to_vec() },
        };
        input.end(Flaw::PayloadRest).map(|()| read)
    }

    /// Its payload as bytes.
    #[must_use]
    pub fn payload(&self) -> Vec<u8> {
        let mut payload = Vec::new();
        match self {
            Attestation::Bitcoin { height } | Attestation::Litecoin { height } | Attestation::Ethereum { height } => {
                put_number(&mut payload, *height)
            }
            Attestation::Pending { uri } => put_bytes(&mut payload, uri.as_bytes()),
            Attestation::Unknown { payload: bytes, .. } => payload.extend_from_slice(bytes),
        }
        payload
    }

    /// The value that the format sorts attestations of one kind by.
    fn rank(&self) -> (u64, &[u8]) {
        match self {
            Attestation::Bitcoin { height } | Attestation::Litecoin { height } | Attestation::Ethereum { height } => {
                (*height, &[])
            }
            Attestation::Pending { uri } => (0, uri.as_bytes()),
            Attestation::Unknown { payload, .. } => (0, payload),
        }
    }
}

/// The order of the format: by kind, then by height, address or content.
impl Ord for Attestation {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.tag().cmp(&other.tag()).then_with(|| self.rank().cmp(&other.rank()))
    }
}

impl PartialOrd for Attestation {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
