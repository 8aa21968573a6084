//! Activity of an address, confirmed and unconfirmed.

use crate::operation::prelude::*;
use crate::wallets::{
    Wallet,
    overview::{Activity, TxBlock, Unconfirmed, activity, seen},
};

/// Activity of an address: that of the overview, with the mempool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WalletActivity {
    /// Number of confirmed transactions that fund the address or spend from it.
    tx_count: u64,
    /// Sum of the confirmed coins.
    balance_sats: u64,
    received_sats: u64,
    sent_sats: u64,
    /// Block of the first confirmed transaction.
    first_seen: Option<TxBlock>,
    /// Block of the newest confirmed transaction.
    last_seen: Option<TxBlock>,
    #[serde(flatten)]
    recent: Activity,
    /// Number of unconfirmed transactions; null without a mempool.
    unconfirmed_tx_count: Option<u64>,
    /// Sum of outputs to the address in unconfirmed transactions; null without a mempool.
    unconfirmed_received_sats: Option<u64>,
    /// Sum of inputs from the address in unconfirmed transactions; null without a mempool.
    unconfirmed_sent_sats: Option<u64>,
    /// Why the unconfirmed fields are null; otherwise null.
    unconfirmed_reason: Option<&'static str>,
}

impl WalletActivity {
    /// Reads it: two rows for the first and the last transaction, and three for the periods.
    pub(super) fn of(ctx: &Ctx<'_>, view: &View<'_>, wallet: &Wallet) -> Result<Self, ApiError> {
        let sums = wallet.found.map(|found| found.totals);
        let balance = sums.map_or(0, |totals| totals.balance());
        let pending = Unconfirmed::of(ctx, balance, |pool| pool.mempool.script_totals(&wallet.script_hash));
        let known = pending.as_ref().ok();
        Ok(WalletActivity {
            tx_count: sums.map_or(0, |totals| totals.tx_count),
            balance_sats: balance,
            received_sats: sums.map_or(0, |totals| totals.funded),
            sent_sats: sums.map_or(0, |totals| totals.spent),
            first_seen: sums.map(|totals| seen(view, totals.first.tx_num)).transpose()?,
            last_seen: sums.map(|totals| seen(view, totals.last)).transpose()?,
            recent: activity(view, wallet.found.as_ref())?,
            unconfirmed_tx_count: known.map(|of| of.tx_count),
            unconfirmed_received_sats: known.map(|of| of.received),
            unconfirmed_sent_sats: known.map(|of| of.sent),
            unconfirmed_reason: pending.as_ref().err().copied(),
        })
    }
}
