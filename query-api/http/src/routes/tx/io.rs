//! Inputs and outputs of a transaction, as answers show them.

use std::collections::HashMap;

use bitcoin::{Transaction, TxIn};
use cairn_domain::{address_of, asm, script_type};
use cairn_model::{SpentCoin, TxNum};
use cairn_reader::{StoredTx, View};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{error::ApiError, values::Btc};

/// An input.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InputRow {
    /// Position in the transaction.
    index: u32,
    /// What it spends; null for a coinbase.
    prevout: Option<Prevout>,
    /// Labels are not loaded: null.
    label: Option<String>,
    /// Full days (monotone block time) between the coin's block and this one; null for a coinbase.
    age_days: Option<u32>,
    /// Sequence field; null where the raw bytes are not at hand.
    sequence: Option<u32>,
    /// scriptSig, hexadecimal; null where the raw bytes are not at hand.
    script_sig_hex: Option<String>,
    /// Elements of the witness, hexadecimal; null where the raw bytes are not at hand.
    witness: Option<Vec<String>>,
}

/// A spent output.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Prevout {
    txid: String,
    vout: u32,
    value_sats: u64,
    value_btc: Btc,
    script_type: &'static str,
    /// Its address; null if its script has none.
    address: Option<String>,
    script_hex: String,
    /// Block that made it.
    height: u32,
    /// Whether a coinbase made it.
    coinbase: bool,
}

/// An output.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OutputRow {
    /// Position in the transaction.
    index: u32,
    value_sats: u64,
    value_btc: Btc,
    script_type: &'static str,
    /// Its address; null if its script has none.
    address: Option<String>,
    script_hex: String,
    /// The script in Bitcoin Core's notation.
    asm: String,
    /// Whether it can ever be spent: not OP_RETURN, not oversized, not genesis.
    spendable: bool,
    /// Labels are not loaded: null.
    label: Option<String>,
    /// The input that spends it; null while unspent.
    spent_by: Option<SpentBy>,
}

/// An input of another transaction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SpentBy {
    txid: String,
    vin: u32,
    height: u32,
}

fn stored(view: &View<'_>, tx_num: TxNum) -> Result<StoredTx, ApiError> {
    view.tx(tx_num)?.ok_or_else(|| {
        tracing::error!(tx_num = tx_num.0, "a transaction is missing");
        ApiError::internal()
    })
}

/// The transaction and script behind a spent coin. One row read, if the view does not hold it already.
pub(super) fn funding(view: &View<'_>, coin: &SpentCoin) -> Result<(StoredTx, Vec<u8>), ApiError> {
    let tx = stored(view, coin.outpoint.tx_num)?;
    let output = tx.outputs().get(coin.outpoint.vout as usize).ok_or_else(|| {
        tracing::error!(tx_num = coin.outpoint.tx_num.0, "a spent output is missing");
        ApiError::internal()
    })?;
    let script = tx.script(output).to_vec();
    Ok((tx, script))
}

/// The inputs, at most `limit`.
pub(super) fn inputs(
    view: &View<'_>,
    tx: &StoredTx,
    raw: Option<&Transaction>,
    limit: usize,
) -> Result<Vec<InputRow>, ApiError> {
    let raw_input = |at: usize| raw.and_then(|r| r.input.get(at));
    if tx.is_coinbase() {
        return Ok(vec![row(0, None, None, raw_input(0))]);
    }
    let spent_at = view.chain().get(tx.height).map(|b| b.mono_time);
    let mut rows = Vec::new();
    for (at, coin) in view.inputs(tx)?.iter().enumerate().take(limit) {
        let (funding, script) = funding(view, coin)?;
        let born_at = view.chain().get(coin.birth).map(|b| b.mono_time);
        let age = spent_at.zip(born_at).map(|(spent, born)| spent.saturating_sub(born) / 86_400);
        let prevout = Prevout {
            txid: funding.txid().to_string(),
            vout: coin.outpoint.vout,
            value_sats: coin.value,
            value_btc: Btc::of(coin.value),
            script_type: script_type(&script).name(),
            address: address_of(&script, view.network()),
            script_hex: hex::encode(&script),
            height: coin.birth,
            coinbase: coin.flags.coinbase,
        };
        rows.push(row(at as u32, Some(prevout), age, raw_input(at)));
    }
    Ok(rows)
}

fn row(index: u32, prevout: Option<Prevout>, age_days: Option<u32>, raw: Option<&TxIn>) -> InputRow {
    InputRow {
        index,
        prevout,
        label: None,
        age_days,
        sequence: raw.map(|r| r.sequence.0),
        script_sig_hex: raw.map(|r| hex::encode(r.script_sig.as_bytes())),
        witness: raw.map(|r| r.witness.iter().map(hex::encode).collect()),
    }
}

/// The outputs, at most `limit`.
pub(super) fn outputs(view: &View<'_>, tx: &StoredTx, limit: usize) -> Result<Vec<OutputRow>, ApiError> {
    let spenders: HashMap<u32, (TxNum, u32)> =
        view.spenders(tx.tx_num)?.into_iter().map(|(vout, by, vin)| (vout, (by, vin))).collect();
    let mut rows = Vec::new();
    for (at, output) in tx.outputs().iter().enumerate().take(limit) {
        let script = tx.script(output);
        let spent_by = match spenders.get(&(at as u32)) {
            None => None,
            Some((by, vin)) => {
                let spender = stored(view, *by)?;
                Some(SpentBy { txid: spender.txid().to_string(), vin: *vin, height: spender.height })
            }
        };
        rows.push(OutputRow {
            index: at as u32,
            value_sats: output.value,
            value_btc: Btc::of(output.value),
            script_type: script_type(script).name(),
            address: address_of(script, view.network()),
            script_hex: hex::encode(script),
            asm: asm(script),
            spendable: output.spendable,
            label: None,
            spent_by,
        });
    }
    Ok(rows)
}
