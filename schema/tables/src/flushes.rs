//! Dormancy flushes: clusters that spend many coins of two years and more within 144 blocks.
//!
//! ```text
//! flushes         'L' ‖ window → holder │ sats │ coins │ coin-seconds destroyed │ spends │ last spend │ n × (spend │ sats)
//!   window          TxNum (5) ‖ input (4): the first such spend
//!   holder          0 │ ScriptId (9): a script of no cluster    1 │ root of the cluster
//!   n × …           the spends with most old value, 16 at most, in the order of the chain
//! flush_alerts    'R' ‖ TxNum (5) ‖ window (9) → sats      when a window reached 100 BTC, and what it had then
//! ```
//!
//! A window opens with the first spend of such a coin by a cluster, as it is with that transaction, and has the spends
//! of 144 blocks. Where clusters with open windows merge, the later window becomes a part of the earlier one. Windows
//! that close below 100 BTC leave no row. Each window keeps 16 spends, and so does what two became: of a transaction
//! that spent from both, the part that one had not kept is missing.

use cairn_model::{Sats, ScriptId, TxNum};

use crate::{
    codec::{DecodeError, Input, KeyCodec, ValueCodec, key_of_fields, put_amount, put_varint, put_varint128},
    table::{Home, Origin, table},
};

table! {
    /// The windows.
    pub struct Flushes("flushes": InputKey => FlushRow) in Home::Shared(b'L'), from Origin::Late("flushes");
}

table! {
    /// When they reached 100 BTC.
    pub struct FlushAlerts("flush_alerts": (TxNum, InputKey) => FlushAlertRow)
        in Home::Shared(b'R'), from Origin::Late("flushes");
}

/// An input of a transaction.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct InputKey {
    /// The transaction.
    pub tx_num: TxNum,
    /// Index of the input in the transaction, from 0.
    pub vin: u32,
}

key_of_fields! { InputKey { tx_num, vin } }

/// Holder of coins: a cluster, or a script outside all clusters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Holder {
    /// A script that is a cluster of its own.
    Script(ScriptId),
    /// A cluster, by its root.
    Cluster(TxNum),
}

impl Holder {
    pub(crate) fn encode(self, out: &mut Vec<u8>) {
        match self {
            Holder::Script(script) => {
                out.push(0);
                script.encode(out);
            }
            Holder::Cluster(root) => {
                out.push(1);
                put_varint(out, root.0);
            }
        }
    }

    pub(crate) fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        match b.byte()? {
            0 => Ok(Holder::Script(ScriptId::decode(b)?)),
            1 => Ok(Holder::Cluster(b.short_tx_num()?)),
            _ => Err(b.error("a holder of unknown kind")),
        }
    }
}

/// Spends that a row names.
pub const MAX_SPENDS: usize = 16;

/// Coins of two years and more that a cluster spent in a window.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FlushRow {
    /// The cluster, as of the newest block of the window.
    pub holder: Holder,
    /// Value of these coins.
    pub sats: Sats,
    /// Their number.
    pub coins: u64,
    /// Value of each × its age in seconds.
    pub destroyed: u128,
    /// Transactions that spend some.
    pub spends: u64,
    /// The newest of them.
    pub last: TxNum,
    /// Spends with most such value, [`MAX_SPENDS`] at most, each with that value, ascending.
    pub largest: Vec<(TxNum, Sats)>,
}

impl ValueCodec for FlushRow {
    fn encode(&self, out: &mut Vec<u8>) {
        self.holder.encode(out);
        put_amount(out, self.sats);
        put_varint(out, self.coins);
        put_varint128(out, self.destroyed);
        put_varint(out, self.spends);
        put_varint(out, self.last.0);
        for (tx_num, sats) in &self.largest {
            put_varint(out, tx_num.0);
            put_amount(out, *sats);
        }
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (holder, sats, coins, destroyed) = (Holder::decode(b)?, b.amount()?, b.varint()?, b.varint128()?);
        let (spends, last) = (b.varint()?, b.short_tx_num()?);
        let mut largest: Vec<(TxNum, Sats)> = Vec::new();
        while b.left() > 0 {
            let spend = (b.short_tx_num()?, b.amount()?);
            if largest.last().is_some_and(|before| before.0 >= spend.0) {
                return Err(b.error("spends out of order"));
            }
            largest.push(spend);
        }
        if largest.is_empty() || largest.len() > MAX_SPENDS || largest.len() as u64 > spends || coins < spends {
            return Err(b.error("number of spends"));
        }
        Ok(FlushRow { holder, sats, coins, destroyed, spends, last, largest })
    }
}

/// A window that reached 100 BTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlushAlertRow {
    /// Its sum with that transaction.
    pub sats: Sats,
}

impl ValueCodec for FlushAlertRow {
    fn encode(&self, out: &mut Vec<u8>) {
        put_amount(out, self.sats);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(FlushAlertRow { sats: b.amount()? })
    }
}
