//! Transactions as the list of recent ones shows them.

use cairn_model::MempoolTx;
use serde::Serialize;

/// A transaction in the list of recent ones.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Overview {
    txid: String,
    fee: u64,
    vsize: u64,
    value: u64,
}

impl Overview {
    pub(crate) fn new(tx: &MempoolTx) -> Self {
        let value = tx.inputs.iter().fold(0u64, |sum, input| sum.saturating_add(input.value));
        // electrs rounds the size down here.
        Overview { txid: tx.txid.to_string(), fee: tx.fee_sats, vsize: tx.weight() / 4, value }
    }
}
