//! Inputs and outputs of a transaction, as answers show them.

use std::{cell::RefCell, collections::HashMap};

use bitcoin::{Transaction, TxIn};
use cairn_domain::{address_of, asm, mempool::Mempool, script_type};
use cairn_http::{ApiError, ErrorCode};
use cairn_model::{MempoolInput, MempoolTx, Network, SpentCoin, TxNum, Txid, is_unspendable};
use cairn_reader::{StoredTx, View};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    context::{Ctx, MempoolView},
    values::Btc,
};

/// An input.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InputRow {
    /// Index in the transaction.
    index: u32,
    /// The output that it spends; null for a coinbase.
    prevout: Option<Prevout>,
    /// Label of the address; null, because no labels are loaded.
    label: Option<String>,
    /// Full days (monotone block time) from the coin's block to this transaction's block, or to the tip if it is
    /// unconfirmed; null for a coinbase, and if the coin is unconfirmed.
    age_days: Option<u32>,
    /// Sequence field; null for a confirmed transaction whose raw bytes are not available.
    sequence: Option<u32>,
    /// scriptSig in hexadecimal; null if the raw bytes are not available.
    script_sig_hex: Option<String>,
    /// Witness items in hexadecimal; null if the raw bytes are not available.
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
    /// Its address; null if the script has none.
    address: Option<String>,
    script_hex: String,
    /// Height of its block; null while it is unconfirmed.
    height: Option<u32>,
    /// True if it is an output of a coinbase.
    coinbase: bool,
}

/// An output.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OutputRow {
    /// Index in the transaction.
    index: u32,
    value_sats: u64,
    value_btc: Btc,
    script_type: &'static str,
    /// Its address; null if the script has none.
    address: Option<String>,
    script_hex: String,
    /// The script in Bitcoin Core's assembly notation.
    asm: String,
    /// False if it can never be spent: OP_RETURN, oversized script, or genesis.
    spendable: bool,
    /// Label of the address; null, because no labels are loaded.
    label: Option<String>,
    /// The input that spends it, including unconfirmed inputs if there is a mempool; null while unspent.
    spent_by: Option<SpentBy>,
}

/// An input of another transaction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SpentBy {
    txid: String,
    vin: u32,
    /// `confirmed` or `mempool`.
    state: &'static str,
    /// Height of its block; null while it is unconfirmed.
    height: Option<u32>,
}

fn stored(view: &View<'_>, tx_num: TxNum) -> Result<StoredTx, ApiError> {
    view.tx(tx_num)?.ok_or_else(|| {
        tracing::error!(tx_num = tx_num.0, "a transaction is missing");
        ApiError::internal()
    })
}

/// The funding transaction and script of a spent coin. One row read, unless the view has it already.
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
            height: Some(coin.birth),
            coinbase: coin.flags.coinbase,
            ..prevout(&funding.txid(), coin.outpoint.vout, coin.value, &script, view.network())
        };
        rows.push(row(at as u32, Some(prevout), age, raw_input(at)));
    }
    Ok(rows)
}

/// The inputs of an unconfirmed transaction, at most `limit`. Usually three row reads for each confirmed transaction
/// that funds them.
pub(super) fn unconfirmed_inputs(
    view: &View<'_>,
    mempool: &Mempool,
    tx: &MempoolTx,
    raw: Option<&Transaction>,
    limit: usize,
) -> Result<Vec<InputRow>, ApiError> {
    let mut births: HashMap<Txid, Option<(u32, bool)>> = HashMap::new();
    let mut rows = Vec::new();
    for (at, input) in tx.inputs.iter().enumerate().take(limit) {
        let born = match births.get(&input.prev_txid) {
            Some(known) => *known,
            None => *births.entry(input.prev_txid).or_insert(birth(view, mempool, input)?),
        };
        let born_at = born.and_then(|(height, _)| view.chain().get(height)).map(|b| b.mono_time);
        let age = born_at.map(|born| view.tip().mono_time.saturating_sub(born) / 86_400);
        let prevout = Prevout {
            height: born.map(|(height, _)| height),
            coinbase: born.is_some_and(|(_, coinbase)| coinbase),
            ..prevout(&input.prev_txid, input.prev_vout, input.value, &input.script, view.network())
        };
        let row = row(at as u32, Some(prevout), age, raw.and_then(|r| r.input.get(at)));
        rows.push(InputRow { sequence: Some(input.sequence), ..row });
    }
    Ok(rows)
}

/// Height of a coin's block, and whether it is an output of the coinbase; `None` while it is unconfirmed. The
/// transaction was resolved when it was first seen. Its parent may have confirmed since, or a reorg may have moved it.
fn birth(view: &View<'_>, mempool: &Mempool, input: &MempoolInput) -> Result<Option<(u32, bool)>, ApiError> {
    if mempool.get(&input.prev_txid).is_some() {
        return Ok(None);
    }
    match (view.tx_by_id(&input.prev_txid)?, input.birth) {
        (Some(parent), _) => Ok(Some((parent.height, parent.is_coinbase()))),
        // The parent has just left the mempool, and this transaction has not yet.
        (None, None) => Ok(None),
        (None, Some(_)) => {
            tracing::warn!(txid = %input.prev_txid, "an unconfirmed transaction spends a coin that is in no block");
            let detail = "mempool and index are momentarily inconsistent";
            Err(ApiError::unavailable(ErrorCode::MempoolUnavailable, detail, 1))
        }
    }
}

/// A spent output, shown as unconfirmed.
fn prevout(txid: &Txid, vout: u32, value: u64, script: &[u8], network: Network) -> Prevout {
    Prevout {
        txid: txid.to_string(),
        vout,
        value_sats: value,
        value_btc: Btc::of(value),
        script_type: script_type(script).name(),
        address: address_of(script, network),
        script_hex: hex::encode(script),
        height: None,
        coinbase: false,
    }
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

/// The outputs, at most `limit`. The spender may be unconfirmed if there is no confirmed one.
pub(super) fn outputs(ctx: &Ctx<'_>, view: &View<'_>, tx: &StoredTx, limit: usize) -> Result<Vec<OutputRow>, ApiError> {
    let spenders: HashMap<u32, (TxNum, u32)> =
        view.spenders(tx.tx_num)?.into_iter().map(|(vout, by, vin)| (vout, (by, vin))).collect();
    let pending = ctx.unconfirmed().map(|pool| Spenders::of(pool, tx.txid()));
    let mut rows = Vec::new();
    for (at, output) in tx.outputs().iter().enumerate().take(limit) {
        let vout = at as u32;
        let spent_by = match spenders.get(&vout) {
            None => pending.as_ref().and_then(|pending| pending.spent_by(vout)),
            Some((by, vin)) => {
                let spender = stored(view, *by)?;
                let txid = spender.txid().to_string();
                Some(SpentBy { txid, vin: *vin, state: "confirmed", height: Some(spender.height) })
            }
        };
        let spendable = output.spendable;
        rows.push(output_row(vout, output.value, tx.script(output), spendable, spent_by, view.network()));
    }
    Ok(rows)
}

/// The outputs of an unconfirmed transaction, at most `limit`.
pub(super) fn unconfirmed_outputs(
    pool: &MempoolView<'_>,
    tx: &MempoolTx,
    limit: usize,
    network: Network,
) -> Vec<OutputRow> {
    let pending = Spenders::of(pool, tx.txid);
    let rows = (0u32..).zip(&tx.outputs).take(limit);
    rows.map(|(vout, output)| {
        let spendable = !is_unspendable(&output.script);
        output_row(vout, output.value, &output.script, spendable, pending.spent_by(vout), network)
    })
    .collect()
}

fn output_row(
    index: u32,
    value: u64,
    script: &[u8],
    spendable: bool,
    spent_by: Option<SpentBy>,
    network: Network,
) -> OutputRow {
    OutputRow {
        index,
        value_sats: value,
        value_btc: Btc::of(value),
        script_type: script_type(script).name(),
        address: address_of(script, network),
        script_hex: hex::encode(script),
        asm: asm(script),
        spendable,
        label: None,
        spent_by,
    }
}

/// The unconfirmed inputs that spend outputs of one transaction. Each spender is walked only once.
struct Spenders<'p> {
    mempool: &'p Mempool,
    txid: Txid,
    /// For each walked spender: the output that each of its inputs spends.
    walked: RefCell<HashMap<Txid, HashMap<u32, u32>>>,
}

impl<'p> Spenders<'p> {
    fn of(pool: &MempoolView<'p>, txid: Txid) -> Self {
        Spenders { mempool: pool.mempool, txid, walked: RefCell::default() }
    }

    fn spent_by(&self, vout: u32) -> Option<SpentBy> {
        let by = self.mempool.spender(&self.txid, vout)?;
        let mut walked = self.walked.borrow_mut();
        let vins = walked.entry(by).or_insert_with(|| {
            let inputs = self.mempool.get(&by).map_or(&[][..], |tx| &tx.inputs);
            let spending = (0u32..).zip(inputs).filter(|(_, input)| input.prev_txid == self.txid);
            spending.map(|(vin, input)| (input.prev_vout, vin)).collect()
        });
        Some(SpentBy { txid: by.to_string(), vin: *vins.get(&vout)?, state: "mempool", height: None })
    }
}
