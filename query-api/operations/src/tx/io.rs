//! Inputs and outputs of a transaction, as answers show them.

use std::{cell::RefCell, collections::HashMap};

use bitcoin::{Transaction, TxIn};
use cairn_domain::{address_of, asm, mempool::Mempool, script_type};
use cairn_http::Work;
use cairn_model::{DAY_SECS, MempoolInput, MempoolTx, Network, SpentCoin, Txid, is_unspendable};
use cairn_reader::StoredTx;
use cairn_tables::block_log::BlockLog;

use crate::{
    context::MempoolView,
    operation::prelude::*,
    vocabulary::label::{ShortLabel, Unlabeled},
};

/// An input.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InputRow {
    /// Index in the transaction.
    index: u32,
    /// Output that the input spends; null for a coinbase.
    prevout: Option<Prevout>,
    /// Label of the script; null if no claim gives one.
    label: Option<ShortLabel>,
    /// Age of the coin in full days (monotone block time), up to this transaction's block, or to the tip if it is
    /// unconfirmed; null for a coinbase, and if the coin is unconfirmed.
    age_days: Option<u32>,
    /// Sequence field; null for a confirmed transaction whose raw bytes are not available.
    sequence: Option<u32>,
    /// scriptSig in hexadecimal; null if it is too long, or if the raw bytes are not available.
    script_sig_hex: Option<String>,
    /// Witness items in hexadecimal; null if they are too long, or if the raw bytes are not available.
    witness: Option<Vec<String>>,
    /// `too_long` if scriptSig or witness is null because it has more than 10 000 bytes; `include_hex` returns it.
    /// Otherwise null.
    too_long_reason: Option<&'static str>,
}

/// A spent output.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Prevout {
    txid: String,
    vout: u32,
    value_sats: u64,
    value_btc: Btc,
    script_type: &'static str,
    /// Address of the output; null if its script has none.
    address: Option<String>,
    script_hex: String,
    /// Height of the output's block; null while it is unconfirmed.
    pub(super) height: Option<u32>,
    /// True if the output belongs to a coinbase.
    pub(super) coinbase: bool,
}

/// An output.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OutputRow {
    /// Index in the transaction.
    index: u32,
    value_sats: u64,
    value_btc: Btc,
    script_type: &'static str,
    /// Address of the output; null if its script has none.
    address: Option<String>,
    /// Script in hexadecimal; null if it is too long.
    script_hex: Option<String>,
    /// The script in Bitcoin Core's assembly notation; null if it is too long.
    asm: Option<String>,
    /// `too_long` if the script is null because it has more than 10 000 bytes; `include_hex` returns it. Otherwise
    /// null.
    too_long_reason: Option<&'static str>,
    /// False if the output can never be spent: OP_RETURN, oversized script, or genesis.
    spendable: bool,
    /// Label of the script; null if no claim gives one.
    pub(super) label: Option<ShortLabel>,
    /// Input that spends the output, including unconfirmed inputs if there is a mempool; null while unspent.
    spent_by: Option<SpentBy>,
}

/// An input of another transaction.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SpentBy {
    txid: String,
    vin: u32,
    /// `confirmed` or `mempool`.
    state: &'static str,
    /// Height of the input's block; null while it is unconfirmed.
    height: Option<u32>,
}

fn stored(view: &View<'_>, tx_num: TxNum) -> Result<StoredTx, ApiError> {
    Ok(view.transactions().get(tx_num)?.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", tx_num.0)))?)
}

/// The part of a list that an answer shows, with limits of rows and bytes. The row that exceeds the bytes is still
/// shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct PartBounds {
    pub(super) from: u32,
    pub(super) rows: u32,
    pub(super) bytes: usize,
}

/// Rows of a list, and the index of the next one; `None` at the end.
pub(super) type ListPart<R> = (Vec<R>, Option<u32>);

/// Bytes of a row without its scripts, about: of its JSON, and in memory.
const ROW_BYTES: usize = 600;
/// Longest script, scriptSig or witness that a row shows: the longest script that can be spent (consensus).
const LONGEST: usize = 10_000;
/// Why something longer is null.
const TOO_LONG: &str = "too_long";

impl PartBounds {
    /// Makes the rows of a list with `count` of them. `row` makes one, and says how many bytes its scripts take.
    pub(super) fn read<R>(
        self,
        ctx: &Ctx<'_>,
        count: u32,
        mut row: impl FnMut(u32) -> Result<(R, usize), ApiError>,
    ) -> Result<ListPart<R>, ApiError> {
        let (mut rows, mut bytes) = (Vec::new(), 0);
        let end = self.from.saturating_add(self.rows).min(count);
        for at in self.from..end {
            ctx.work.poll()?;
            let (made, scripts) = row(at)?;
            rows.push(made);
            ctx.work.keep(ROW_BYTES + scripts)?;
            bytes += ROW_BYTES + scripts;
            if bytes >= self.bytes {
                break;
            }
        }
        let next = self.from.saturating_add(rows.len() as u32);
        Ok((rows, Some(next).filter(|next| *next < count)))
    }
}

/// Transactions that fund inputs. One of them often funds many, and may be as large as a block: it is decoded once.
struct Fundings<'v, 'r> {
    view: &'v View<'r>,
    work: &'v Work,
    known: HashMap<TxNum, StoredTx>,
    size: usize,
    /// The largest size so far, which is counted as kept.
    most: usize,
}

const KEPT_BYTES: usize = 4 << 20;
/// Bytes of a decoded output without its script, about.
const OUTPUT_BYTES: usize = 48;

impl<'v, 'r> Fundings<'v, 'r> {
    fn of(view: &'v View<'r>, work: &'v Work) -> Self {
        Fundings { view, work, known: HashMap::new(), size: 0, most: 0 }
    }

    fn get(&mut self, tx_num: TxNum) -> Result<StoredTx, ApiError> {
        if let Some(tx) = self.known.get(&tx_num) {
            return Ok(tx.clone());
        }
        let tx = stored(self.view, tx_num)?;
        let size = tx.meta().size as usize + tx.outputs().len() * OUTPUT_BYTES;
        if self.size + size > KEPT_BYTES {
            self.known.clear();
            self.size = 0;
        }
        self.size += size;
        if let Some(more) = self.size.checked_sub(self.most) {
            self.work.keep(more)?;
            self.most = self.size;
        }
        self.known.insert(tx_num, tx.clone());
        Ok(tx)
    }

    /// The id of the transaction that made a coin, and the coin's script.
    fn script(&mut self, coin: &SpentCoin) -> Result<(Txid, Vec<u8>), ApiError> {
        let tx = self.get(coin.outpoint.tx_num)?;
        let output = tx.outputs().get(coin.outpoint.vout as usize).ok_or_else(|| {
            lacks::<BlockLog>(format!("output {} of transaction {}", coin.outpoint.vout, coin.outpoint.tx_num.0))
        })?;
        Ok((tx.txid(), tx.script(output).to_vec()))
    }
}

pub(super) fn inputs(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    tx: &StoredTx,
    raw: Option<&Transaction>,
    part: PartBounds,
) -> Result<ListPart<InputRow>, ApiError> {
    let raw_input = |at: u32| raw.and_then(|r| r.input.get(at as usize));
    if tx.is_coinbase() {
        return part.read(ctx, 1, |at| Ok(row(at, None, None, raw_input(at))));
    }
    let spent_at = view.chain().get(tx.height).map(|b| b.mono_time);
    let coins = view.transactions().inputs(tx)?;
    let mut fundings = Fundings::of(view, &ctx.work);
    let mut unlabeled = Unlabeled::default();
    let listed = part.read(ctx, coins.len() as u32, |at| {
        let coin = &coins[at as usize];
        let (txid, script) = fundings.script(coin)?;
        unlabeled.push(&script);
        let born_at = view.chain().get(coin.birth).map(|b| b.mono_time);
        let age = spent_at.zip(born_at).map(|(spent, born)| spent.saturating_sub(born) / DAY_SECS);
        let prevout = Prevout {
            height: Some(coin.birth),
            coinbase: coin.flags.coinbase,
            ..prevout(&txid, coin.outpoint.vout, coin.value, &script, view.network())
        };
        Ok(row(at, Some(prevout), age, raw_input(at)))
    })?;
    Ok(labeled(listed, unlabeled.look_up(ctx, view)?, |row, label| row.label = label))
}

/// The rows, each with its label.
pub(super) fn labeled<R>(
    (mut rows, next): ListPart<R>,
    labels: Vec<Option<ShortLabel>>,
    set: impl Fn(&mut R, Option<ShortLabel>),
) -> ListPart<R> {
    rows.iter_mut().zip(labels).for_each(|(row, label)| set(row, label));
    (rows, next)
}

/// The inputs of an unconfirmed transaction. Usually three row reads for each confirmed transaction that funds them.
pub(super) fn unconfirmed_inputs(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    mempool: &Mempool,
    tx: &MempoolTx,
    raw: Option<&Transaction>,
    part: PartBounds,
) -> Result<ListPart<InputRow>, ApiError> {
    let mut births: HashMap<Txid, Option<(u32, bool)>> = HashMap::new();
    let mut unlabeled = Unlabeled::default();
    let listed = part.read(ctx, tx.inputs.len() as u32, |at| {
        let input = &tx.inputs[at as usize];
        unlabeled.push(&input.script);
        let born = match births.get(&input.prev_txid) {
            Some(known) => *known,
            None => *births.entry(input.prev_txid).or_insert(birth(view, mempool, input)?),
        };
        let born_at = born.and_then(|(height, _)| view.chain().get(height)).map(|b| b.mono_time);
        let age = born_at.map(|born| view.tip().mono_time.saturating_sub(born) / DAY_SECS);
        let prevout = Prevout {
            height: born.map(|(height, _)| height),
            coinbase: born.is_some_and(|(_, coinbase)| coinbase),
            ..prevout(&input.prev_txid, input.prev_vout, input.value, &input.script, view.network())
        };
        let (row, bytes) = row(at, Some(prevout), age, raw.and_then(|r| r.input.get(at as usize)));
        Ok((InputRow { sequence: Some(input.sequence), ..row }, bytes))
    })?;
    Ok(labeled(listed, unlabeled.look_up(ctx, view)?, |row, label| row.label = label))
}

/// Height of a coin's block, and whether it is an output of the coinbase; `None` while it is unconfirmed. The
/// transaction was resolved when it was first seen. Its parent may have confirmed since, or a reorg may have moved it.
fn birth(view: &View<'_>, mempool: &Mempool, input: &MempoolInput) -> Result<Option<(u32, bool)>, ApiError> {
    if mempool.get(&input.prev_txid).is_some() {
        return Ok(None);
    }
    match (view.transactions().by_txid(&input.prev_txid)?, input.birth) {
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
pub(super) fn prevout(txid: &Txid, vout: u32, value: u64, script: &[u8], network: Network) -> Prevout {
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

/// A row, and the bytes that its scripts take.
fn row(index: u32, prevout: Option<Prevout>, age_days: Option<u32>, raw: Option<&TxIn>) -> (InputRow, usize) {
    let script_sig = raw.map(|r| r.script_sig.as_bytes());
    let shown_sig = script_sig.filter(|script| script.len() <= LONGEST).map(hex::encode);
    let shown_witness = raw.filter(|r| r.witness.size() <= LONGEST);
    let witness: Option<Vec<String>> = shown_witness.map(|r| r.witness.iter().map(hex::encode).collect());
    let too_long = raw.is_some() && (shown_sig.is_none() || witness.is_none());
    let of_prevout = prevout.as_ref().map_or(0, |p| p.script_hex.len());
    let of_witness: usize = witness.iter().flatten().map(|item| item.len() + 3).sum();
    let bytes = of_prevout + shown_sig.as_ref().map_or(0, String::len) + of_witness;
    let row = InputRow {
        index,
        prevout,
        label: None,
        age_days,
        sequence: raw.map(|r| r.sequence.0),
        script_sig_hex: shown_sig,
        witness,
        too_long_reason: too_long.then_some(TOO_LONG),
    };
    (row, bytes)
}

/// The outputs. The spender may be unconfirmed if there is no confirmed one.
pub(super) fn outputs(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    tx: &StoredTx,
    part: PartBounds,
) -> Result<ListPart<OutputRow>, ApiError> {
    let spenders: HashMap<u32, (TxNum, u32)> =
        view.transactions().spenders(tx.tx_num)?.into_iter().map(|(vout, by, vin)| (vout, (by, vin))).collect();
    let pending = ctx.unconfirmed().map(|pool| Spenders::of(pool, tx.txid()));
    // One transaction often spends many of them.
    let mut known: HashMap<TxNum, (Txid, u32)> = HashMap::new();
    let mut unlabeled = Unlabeled::default();
    let listed = part.read(ctx, tx.outputs().len() as u32, |vout| {
        let output = &tx.outputs()[vout as usize];
        unlabeled.push(tx.script(output));
        let spent_by = match spenders.get(&vout) {
            None => pending.as_ref().and_then(|pending| pending.spent_by(vout)),
            Some((by, vin)) => {
                let (txid, height) = match known.get(by) {
                    Some(known) => *known,
                    None => *known.entry(*by).or_insert(id_of(view, *by)?),
                };
                Some(SpentBy { txid: txid.to_string(), vin: *vin, state: "confirmed", height: Some(height) })
            }
        };
        Ok(output_row(vout, output.value, tx.script(output), output.spendable, spent_by, view.network()))
    })?;
    Ok(labeled(listed, unlabeled.look_up(ctx, view)?, |row, label| row.label = label))
}

/// Id and height of a transaction that a row of the index names.
fn id_of(view: &View<'_>, tx_num: TxNum) -> Result<(Txid, u32), ApiError> {
    Ok(view.transactions().txid(tx_num)?.ok_or_else(|| lacks::<BlockLog>(format!("transaction {}", tx_num.0)))?)
}

/// The id of the transaction that made a spent coin.
pub(super) fn funding_id(view: &View<'_>, coin: &SpentCoin) -> Result<Txid, ApiError> {
    Ok(id_of(view, coin.outpoint.tx_num)?.0)
}

pub(super) fn unconfirmed_outputs(
    ctx: &Ctx<'_>,
    pool: &MempoolView<'_>,
    tx: &MempoolTx,
    part: PartBounds,
    view: &View<'_>,
) -> Result<ListPart<OutputRow>, ApiError> {
    let pending = Spenders::of(pool, tx.txid);
    let mut unlabeled = Unlabeled::default();
    let listed = part.read(ctx, tx.outputs.len() as u32, |vout| {
        let output = &tx.outputs[vout as usize];
        unlabeled.push(&output.script);
        let spendable = !is_unspendable(&output.script);
        Ok(output_row(vout, output.value, &output.script, spendable, pending.spent_by(vout), view.network()))
    })?;
    Ok(labeled(listed, unlabeled.look_up(ctx, view)?, |row, label| row.label = label))
}

/// A row, and the bytes that its script takes.
pub(super) fn output_row(
    index: u32,
    value: u64,
    script: &[u8],
    spendable: bool,
    spent_by: Option<SpentBy>,
    network: Network,
) -> (OutputRow, usize) {
    let shown = (script.len() <= LONGEST).then_some(script);
    let (script_hex, asm) = (shown.map(hex::encode), shown.map(asm));
    let bytes = script_hex.as_ref().map_or(0, String::len) + asm.as_ref().map_or(0, String::len);
    let row = OutputRow {
        index,
        value_sats: value,
        value_btc: Btc::of(value),
        script_type: script_type(script).name(),
        address: address_of(script, network),
        script_hex,
        asm,
        too_long_reason: shown.is_none().then_some(TOO_LONG),
        spendable,
        label: None,
        spent_by,
    };
    (row, bytes)
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
