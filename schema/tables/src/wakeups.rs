//! Whale wake-ups: clusters whose first spend in years is non-zero.
//!
//! ```text
//! wakeups  'W' ‖ TxNum (5) ‖ input (4) → holder │ sats │ spent │ scripts │ since │ 0 or 1 (never spent before)
//! ```
//!
//! The key is the spend and its first input of the cluster. The holder is as in `flushes`: the cluster as it was before
//! that transaction. `sats` are its coins of two years and more, 1,000 BTC at least; `spent` is what the transaction
//! spends of the cluster; `scripts` is how many scripts it had; `since` is the transaction that it spent with before,
//! or else, if it never had, that which paid it first.

use cairn_model::{Sats, TxNum};

use crate::{
    codec::{DecodeError, Input, ValueCodec, put_amount, put_varint},
    flushes::{Holder, InputKey},
    table::{Home, Origin, table},
};

table! {
    /// The wake-ups.
    pub struct Wakeups("wakeups": InputKey => WakeupRow) in Home::Shared(b'W'), from Origin::Late("wakeups");
}

/// A cluster that wakes up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WakeupRow {
    /// The cluster, before the transaction.
    pub holder: Holder,
    /// Its coins of two years and more.
    pub sats: Sats,
    /// Sum that the transaction spends of it.
    pub spent: Sats,
    /// Number of its scripts.
    pub scripts: u64,
    /// The transaction that it spent with before; if it never had, that which paid it first.
    pub since: TxNum,
    /// It never spent before.
    pub never: bool,
}

impl ValueCodec for WakeupRow {
    fn encode(&self, out: &mut Vec<u8>) {
        self.holder.encode(out);
        put_amount(out, self.sats);
        put_amount(out, self.spent);
        put_varint(out, self.scripts);
        put_varint(out, self.since.0);
        out.push(self.never.into());
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let (holder, sats, spent, scripts) = (Holder::decode(b)?, b.amount()?, b.amount()?, b.varint()?);
        let (since, never) = (b.short_tx_num()?, b.flag_of("flags")?);
        if sats == 0 || scripts == 0 {
            return Err(b.error("a cluster without coins"));
        }
        Ok(WakeupRow { holder, sats, spent, scripts, since, never })
    }
}
