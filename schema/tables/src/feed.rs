//! The feed: what was announced, and what was taken back. It is a history of announcements, not of the chain: no stage
//! owns it, rebuilding does not change it, and two indexes of one chain have different ones.
//!
//! ```text
//! feed       'F' ‖ seq (8)                → kind (1) │ announced at │ height │ id (32) │ sats │ number │ text │ retracts?
//! announced  'A' ‖ height (4) ‖ seq (8)   → ∅                  announcements that stand, by the height that they are about
//! ```
//!
//! Sequence numbers begin at 0 with the beginning of the feed itself, whose time distinguishes feeds, and have no gaps.
//! Each block is an announcement, so the last height of `announced` is how far the feed has followed the chain. The
//! text has its length in front; `retracts` is there if the row takes another one back: it repeats what that said.

use cairn_model::{Height, Sats};

use crate::{
    codec::{DecodeError, Input, ValueCodec, key_of_fields, put_amount, put_bytes, put_varint},
    table::{Home, Origin, table},
};

table! {
    /// The feed.
    pub struct Feed("feed": u64 => FeedRow) in Home::Shared(b'F'), from Origin::Observations;
}

table! {
    /// Announcements that stand.
    pub struct Announced("announced": AnnouncedKey => ()) in Home::Shared(b'A'), from Origin::Observations;
}

/// The height that an announcement is about, and its sequence number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AnnouncedKey {
    /// The height.
    pub height: Height,
    /// The sequence number.
    pub seq: u64,
}

key_of_fields! { AnnouncedKey { height, seq } }

/// Kind of an announcement.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FeedKind {
    /// The beginning of the feed.
    Begun,
    /// A block. `id`: its hash; `number`: its transactions; `sats`: its fees.
    Block,
    /// A transaction that pays much to others. `id`: its txid; `sats`: what it pays to others.
    Whale,
    /// A CoinJoin that moves much. `sats`: what it pays to scripts that it does not spend from.
    CoinJoinRound,
    /// An old coin that was spent. `id`: the transaction; `number`: the input; `sats`: its value.
    Awakening,
    /// A transaction that gathers many coins. `number`: its inputs; `sats`: what these bring.
    Consolidation,
    /// Blocks were replaced. `height`: the last block that stays; `id`: hash of the block that was the tip; `number`:
    /// blocks that are gone.
    Reorg,
    /// Labels were imported. `id`: hash of the document; `number`: rows that say something new; `text`: source and
    /// list.
    LabelChange,
    /// A cluster spent 100 BTC of coins of two years and more within 144 blocks. `id`: the transaction with which it
    /// reached them; `sats`: what it had spent with that; `number`: how many such windows reached them with the same
    /// transaction before.
    DormancyFlush,
    /// A cluster with many old coins spends for the first time in two years. `id`: the transaction; `number`: its first
    /// input of the cluster; `sats`: its coins of two years and more.
    WhaleWakeup,
    /// A list of sanctions changed: labels, too. As `LabelChange`.
    SanctionsListChange,
    /// Dust was sent to a hundred scripts with a history within 30 days. `id`: the transaction that reached them;
    /// `number`: these scripts.
    DustCampaign,
}

impl FeedKind {
    /// All.
    pub const ALL: [FeedKind; 12] = [
        FeedKind::Begun,
        FeedKind::Block,
        FeedKind::Whale,
        FeedKind::CoinJoinRound,
        FeedKind::Awakening,
        FeedKind::Consolidation,
        FeedKind::Reorg,
        FeedKind::LabelChange,
        FeedKind::DormancyFlush,
        FeedKind::WhaleWakeup,
        FeedKind::SanctionsListChange,
        FeedKind::DustCampaign,
    ];

    /// True if it is about labels, and no block.
    #[must_use]
    pub const fn is_of_labels(self) -> bool {
        matches!(self, FeedKind::LabelChange | FeedKind::SanctionsListChange)
    }

    const fn code(self) -> u8 {
        self as u8
    }

    fn of_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }
}

/// Longest text in bytes: a source, a slash, and a list.
pub const MAX_TEXT: usize = 128;

/// An announcement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FeedRow {
    /// Its subject.
    pub kind: FeedKind,
    /// When it was announced, in seconds since 1970.
    pub at: u32,
    /// The height that it is about; of labels, that of the tip.
    pub height: Height,
    /// A hash, by kind.
    pub id: [u8; 32],
    /// An amount, by kind.
    pub sats: Sats,
    /// A number, by kind.
    pub number: u64,
    /// A text, by kind.
    pub text: String,
    /// The announcement that it takes back.
    pub retracts: Option<u64>,
}

impl ValueCodec for FeedRow {
    fn encode(&self, out: &mut Vec<u8>) {
        out.push(self.kind.code());
        put_varint(out, self.at.into());
        put_varint(out, self.height.into());
        out.extend_from_slice(&self.id);
        put_amount(out, self.sats);
        put_varint(out, self.number);
        put_bytes(out, self.text.as_bytes());
        self.retracts.iter().for_each(|seq| put_varint(out, *seq));
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let kind = FeedKind::of_code(b.byte()?).ok_or_else(|| b.error("an announcement of unknown kind"))?;
        let (at, height, id) = (b.varint32()?, b.varint32()?, b.array()?);
        let (sats, number) = (b.amount()?, b.varint()?);
        let text = b.text(MAX_TEXT)?.to_owned();
        let retracts = if b.left() > 0 { Some(b.varint()?) } else { None };
        Ok(FeedRow { kind, at, height, id, sats, number, text, retracts })
    }
}
