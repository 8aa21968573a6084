//! The watchlist: clusters with many old coins that spent nothing for five years, as of one block. It is computed again
//! from time to time.
//!
//! ```text
//! watch_head  'J' → height │ hash (32) │ hash of the set (32) │ clusters │ sats
//! watchlist   'H' ‖ not sats (8) ‖ 0 │ ScriptId (9), or 1 │ root: TxNum (5) → scripts │ since │ 0 or 1 (never spent)
//! ```
//!
//! `sats` are the coins of five years and more of a cluster, 500 BTC at least, written so that the most come first; all
//! of them in `watch_head`. `since` is the newest transaction that spends from the cluster, or else the oldest that
//! pays it. The hash of the set is SHA-256 over lines in the order of the table: `cluster ` and the id of the
//! transaction that a cluster is named after, or `script ` and SHA-256 of a script that is a cluster of its own in hex,
//! a space, the satoshis, and a line feed.

use cairn_model::{BlockHash, Height, Sats, ScriptId, TxNum};

use crate::{
    codec::{DecodeError, Input, KeyCodec, ValueCodec, put_amount, put_varint},
    flushes::Holder,
    table::{Home, Origin, table},
};

table! {
    /// Block of the watchlist.
    pub struct WatchHead("watch_head": () => WatchHeadRow) in Home::Shared(b'J'), from Origin::Index;
}

table! {
    /// The watchlist.
    pub struct Watchlist("watchlist": WatchKey => WatchRow) in Home::Shared(b'H'), from Origin::Index;
}

/// Block and size of the watchlist.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchHeadRow {
    /// The block.
    pub height: Height,
    /// Its hash.
    pub hash: BlockHash,
    /// Hash of the set.
    pub set: [u8; 32],
    /// Number of clusters in it.
    pub clusters: u64,
    /// Value of their old coins.
    pub sats: Sats,
}

impl ValueCodec for WatchHeadRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.height.into());
        out.extend_from_slice(&self.hash.0);
        out.extend_from_slice(&self.set);
        put_varint(out, self.clusters);
        put_amount(out, self.sats);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (height, hash, set) = (b.varint32()?, BlockHash(b.array()?), b.array()?);
        Ok(WatchHeadRow { height, hash, set, clusters: b.varint()?, sats: b.amount()? })
    }
}

/// A cluster of the watchlist; those with more old coins come first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct WatchKey {
    /// Its old coins.
    pub sats: Sats,
    /// The cluster.
    pub holder: Holder,
}

impl Ord for WatchKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        other.sats.cmp(&self.sats).then_with(|| self.holder.cmp(&other.holder))
    }
}

impl PartialOrd for WatchKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl KeyCodec for WatchKey {
    fn encode(&self, out: &mut Vec<u8>) {
        (!self.sats).encode(out);
        match self.holder {
            Holder::Script(script) => {
                out.push(0);
                script.encode(out);
            }
            Holder::Cluster(root) => {
                out.push(1);
                root.encode(out);
            }
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let sats = !u64::decode(b)?;
        let holder = match b.byte()? {
            0 => Holder::Script(ScriptId::decode(b)?),
            1 => Holder::Cluster(TxNum::decode(b)?),
            _ => return Err(b.error("a holder of unknown kind")),
        };
        Ok(WatchKey { sats, holder })
    }
}

/// Further facts about such a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WatchRow {
    /// Number of its scripts.
    pub scripts: u64,
    /// The newest transaction that spends from it; if none does, the oldest that pays it.
    pub since: TxNum,
    /// None does.
    pub never: bool,
}

impl ValueCodec for WatchRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_varint(out, self.scripts);
        put_varint(out, self.since.0);
        out.push(self.never.into());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(WatchRow { scripts: b.varint()?, since: b.short_tx_num()?, never: b.flag_of("flags")? })
    }
}
