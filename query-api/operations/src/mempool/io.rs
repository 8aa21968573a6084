//! Short form of the inputs and outputs of an unconfirmed transaction.

use cairn_domain::{address_of, mempool::Mempool, script_type};
use cairn_model::{MempoolTx, Network};
use schemars::JsonSchema;
use serde::Serialize;

use crate::values::Btc;

/// Bytes of a row in memory, about.
pub(super) const ROW_BYTES: usize = 400;

/// An input.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UnconfirmedInput {
    /// Index in the transaction.
    index: u32,
    /// Transaction that created the coin.
    txid: String,
    /// Index of the output.
    vout: u32,
    value_sats: u64,
    value_btc: Btc,
    script_type: &'static str,
    /// Address of the script; null if it has none.
    address: Option<String>,
    sequence: u32,
    /// True if the coin is unconfirmed too.
    unconfirmed: bool,
    /// Height of the coin's block; null if the coin was unconfirmed when this transaction was first seen.
    height: Option<u32>,
}

/// An output.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UnconfirmedOutput {
    /// Index in the transaction.
    index: u32,
    value_sats: u64,
    value_btc: Btc,
    script_type: &'static str,
    /// Address of the script; null if it has none.
    address: Option<String>,
    /// Id of the unconfirmed transaction that spends the output; null if none does.
    spent_by: Option<String>,
}

pub(super) fn inputs(mempool: &Mempool, tx: &MempoolTx, network: Network, limit: usize) -> Vec<UnconfirmedInput> {
    let rows = (0u32..).zip(&tx.inputs).take(limit);
    rows.map(|(index, input)| UnconfirmedInput {
        index,
        txid: input.prev_txid.to_string(),
        vout: input.prev_vout,
        value_sats: input.value,
        value_btc: Btc::of(input.value),
        script_type: script_type(&input.script).name(),
        address: address_of(&input.script, network),
        sequence: input.sequence,
        unconfirmed: mempool.get(&input.prev_txid).is_some(),
        height: input.birth,
    })
    .collect()
}

pub(super) fn outputs(mempool: &Mempool, tx: &MempoolTx, network: Network, limit: usize) -> Vec<UnconfirmedOutput> {
    let rows = (0u32..).zip(&tx.outputs).take(limit);
    rows.map(|(index, output)| UnconfirmedOutput {
        index,
        value_sats: output.value,
        value_btc: Btc::of(output.value),
        script_type: script_type(&output.script).name(),
        address: address_of(&output.script, network),
        spent_by: mempool.spender(&tx.txid, index).map(|txid| txid.to_string()),
    })
    .collect()
}
