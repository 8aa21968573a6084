//! Silent payments: the public tweaks of the transactions of each block ([BIP 352]), made only if the operator asks for
//! it.
//!
//! ```text
//! tweak_head  'T' → height │ hash (32) │ first height
//! tweaks      height (4) → hash of the block (32) │ n × (gap │ tweak (33) │ sats │ outputs │ outputs × prefix (8))
//!   gap         transactions of the block between the one before and this one
//!   sats        the largest value of its P2TR outputs
//!   prefix      the first bytes of the x coordinate of the key of each P2TR output
//! ```
//!
//! `tweak_head` is the newest block that has a row; each from the first height on has one, also a block without
//! tweaks. A row names its block: after a reorganization it is known as one of a block that is gone.
//!
//! [BIP 352]: https://github.com/bitcoin/bips/blob/master/bip-0352.mediawiki

use cairn_model::{BlockHash, Height, Sats};

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_amount, put_varint},
    table::{Home, Origin, Tuning, table},
};

table! {
    /// How far the tweaks are made.
    pub struct TweakHead("tweak_head": () => TweakHeadRow) in Home::Shared(b'T'), from Origin::Index;
}

table! {
    /// The tweaks.
    // Rows of up to 100 KB on mainnet, nearly all of it points of the curve. Readers take many in order.
    pub struct Tweaks("tweaks": Height => TweakRow) in Home::Own(Tuning::PLAIN), from Origin::Index;
}

/// The first and the newest block that have a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TweakHeadRow {
    /// The newest block.
    pub height: Height,
    /// Its hash.
    pub hash: BlockHash,
    /// The first block.
    pub first: Height,
}

impl ValueCodec for TweakHeadRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.height.into());
        out.extend_from_slice(&self.hash.0);
        put_varint(out, self.first.into());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let head = TweakHeadRow { height: b.varint32()?, hash: BlockHash(b.array()?), first: b.varint32()? };
        if head.first <= head.height { Ok(head) } else { Err(b.error("first block above the newest")) }
    }
}

/// The tweaks of a block.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TweakRow {
    /// Hash of the block.
    pub hash: BlockHash,
    /// In the order of the transactions.
    pub tweaks: Vec<StoredTweak>,
}

/// The tweak of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredTweak {
    /// Index of the transaction in its block.
    pub index: u32,
    /// The point, compressed.
    pub tweak: [u8; 33],
    /// The largest value of its P2TR outputs.
    pub largest: Sats,
    /// The first bytes of the x coordinate of the key of each P2TR output, in the order of the outputs.
    pub outputs: Vec<[u8; 8]>,
}

impl ValueCodec for TweakRow {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.hash.0);
        let mut next = 0;
        for of in &self.tweaks {
            put_varint(out, u64::from(of.index - next));
            out.extend_from_slice(&of.tweak);
            put_amount(out, of.largest);
            put_varint(out, of.outputs.len() as u64);
            of.outputs.iter().for_each(|prefix| out.extend_from_slice(prefix));
            next = of.index + 1;
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let mut row = TweakRow { hash: BlockHash(b.array()?), tweaks: Vec::new() };
        let mut next = 0u32;
        while b.left() > 0 {
            let index = next.checked_add(b.varint32()?).filter(|index| *index < u32::MAX);
            let index = index.ok_or_else(|| b.error("index of a transaction"))?;
            let (tweak, largest) = (b.array::<33>()?, b.coin_amount()?);
            if !matches!(tweak[0], 2 | 3) {
                return Err(b.error("tweak"));
            }
            let outputs = match b.count()? {
                0 => return Err(b.error("no output")),
                outputs => (0..outputs).map(|_| b.array()).collect::<Result<_, _>>()?,
            };
            row.tweaks.push(StoredTweak { index, tweak, largest, outputs });
            next = index + 1;
        }
        Ok(row)
    }
}
