//! The content of a transaction that was not sent yet: the coins that it spends, and what it pays.

use bitcoin::{Transaction, hashes::Hash};
use cairn_domain::mempool::Mempool;
use cairn_model::{Txid, is_unspendable};
use cairn_reader::UnspentCoin;

use super::io::{OutputRow, PartBounds, Prevout, labeled, output_row, prevout};
use crate::{
    operation::prelude::*,
    values::{SatVb, sat_vb},
    vocabulary::label::{ShortLabel, Unlabeled},
};

/// Inputs and outputs that are shown, and the bytes of their scripts.
const SHOWN: PartBounds = PartBounds { from: 0, rows: 100, bytes: 1 << 20 };

/// A transaction that was not sent yet.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DecodedTx {
    version: i32,
    locktime: u32,
    /// Inputs minus outputs; null if the amount of an input is unknown, or if the outputs exceed the inputs.
    fee_sats: Option<u64>,
    /// Fee divided by virtual size.
    fee_rate_sat_vb: Option<SatVb>,
    /// Why the fee is null: `coin_unknown` or `outputs_exceed_inputs`; otherwise null.
    fee_reason: Option<&'static str>,
    /// Number of inputs.
    input_count: u64,
    /// The first 100 inputs.
    inputs: Vec<DecodedInput>,
    /// Number of inputs that are not shown.
    inputs_omitted: u64,
    /// Sum of the outputs.
    output_sats: u64,
    /// Number of outputs.
    output_count: u64,
    /// The first 100 outputs.
    outputs: Vec<OutputRow>,
    /// Number of outputs that are not shown.
    outputs_omitted: u64,
}

/// An input of a transaction that was not sent yet.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DecodedInput {
    index: u32,
    /// Transaction and output that the input spends.
    txid: String,
    vout: u32,
    sequence: u32,
    /// The coin; null if neither index nor mempool have it unspent.
    prevout: Option<Prevout>,
    /// `unknown_or_spent` if the coin is null; otherwise null.
    prevout_reason: Option<&'static str>,
    /// Unconfirmed transaction that spends the same coin, and that this one would have to replace; null without one.
    conflicts_with: Option<String>,
    /// Label of the coin's script; null if no claim gives one.
    label: Option<ShortLabel>,
}

/// A coin that can be spent.
struct Coin {
    value: u64,
    script: Box<[u8]>,
    height: Option<u32>,
    coinbase: bool,
}

impl Coin {
    fn confirmed(coin: UnspentCoin) -> Self {
        let UnspentCoin { value, script, height, coinbase } = coin;
        Coin { value, script, height: Some(height), coinbase }
    }

    fn unconfirmed(pool: &Mempool, (txid, vout): &(Txid, u32)) -> Option<Self> {
        let tx = pool.get(txid)?;
        let output = tx.outputs.get(*vout as usize)?;
        Some(Coin { value: output.value, script: output.script.clone(), height: None, coinbase: false })
    }
}

impl DecodedTx {
    /// Looks up all coins of a transaction: four row reads each.
    pub(super) fn of(ctx: &Ctx<'_>, tx: &Transaction) -> Result<Self, ApiError> {
        let view = ctx.view()?;
        let point = |at: &bitcoin::OutPoint| (Txid(at.txid.to_byte_array()), at.vout);
        let points: Vec<(Txid, u32)> = tx.input.iter().map(|input| point(&input.previous_output)).collect();
        // As it is now: what was sent while the request waited counts.
        let pinned = ctx.slot.pin();
        let pool = match pinned.absent(Some(&view.tip().hash)) {
            None => Some(pinned.mempool()),
            Some(absent) => {
                ctx.warn("mempool_unavailable", format!("unconfirmed coins are not known: {}", absent.reason()));
                None
            }
        };
        let own = Txid(tx.compute_txid().to_byte_array());
        let mut coins: Vec<Option<Coin>> =
            view.transactions().coins(&points)?.into_iter().map(|coin| coin.map(Coin::confirmed)).collect();
        for (coin, point) in coins.iter_mut().zip(&points).filter(|(coin, _)| coin.is_none()) {
            *coin = pool.and_then(|pool| Coin::unconfirmed(pool, point));
        }
        let held = coins.iter().map(|coin| coin.as_ref().map(|coin| coin.value)).sum::<Option<u64>>();
        let paid = tx.output.iter().fold(0_u64, |sum, output| sum.saturating_add(output.value.to_sat()));
        let fee = held.and_then(|held| held.checked_sub(paid));
        let mut unlabeled = Unlabeled::default();
        let inputs = SHOWN.read(ctx, points.len() as u32, |at| {
            let (txid, vout) = &points[at as usize];
            let coin = coins[at as usize].as_ref();
            unlabeled.push(coin.map_or(&[], |coin| &coin.script));
            let prevout = coin.map(|coin| {
                let mut shown = prevout(txid, *vout, coin.value, &coin.script, view.network());
                (shown.height, shown.coinbase) = (coin.height, coin.coinbase);
                shown
            });
            let rival = pool.and_then(|pool| pool.spender(txid, *vout)).filter(|by| *by != own);
            let row = DecodedInput {
                index: at,
                txid: txid.to_string(),
                vout: *vout,
                sequence: tx.input[at as usize].sequence.0,
                prevout_reason: prevout.is_none().then_some("unknown_or_spent"),
                prevout,
                conflicts_with: rival.map(|by| by.to_string()),
                label: None,
            };
            Ok((row, coin.map_or(0, |coin| 2 * coin.script.len())))
        })?;
        let (inputs, _) = labeled(inputs, unlabeled.look_up(ctx, view)?, |row, label| row.label = label);
        let mut unlabeled = Unlabeled::default();
        let outputs = SHOWN.read(ctx, tx.output.len() as u32, |at| {
            let output = &tx.output[at as usize];
            let script = output.script_pubkey.as_bytes();
            unlabeled.push(script);
            Ok(output_row(at, output.value.to_sat(), script, !is_unspendable(script), None, view.network()))
        })?;
        let (outputs, _) = labeled(outputs, unlabeled.look_up(ctx, view)?, |row, label| row.label = label);
        let unknown = if held.is_none() { "coin_unknown" } else { "outputs_exceed_inputs" };
        Ok(DecodedTx {
            version: tx.version.0,
            locktime: tx.lock_time.to_consensus_u32(),
            fee_sats: fee,
            fee_rate_sat_vb: fee.and_then(|fee| sat_vb(fee, tx.vsize() as u64)),
            fee_reason: fee.is_none().then_some(unknown),
            input_count: points.len() as u64,
            inputs_omitted: (points.len() - inputs.len()) as u64,
            inputs,
            output_sats: paid,
            output_count: tx.output.len() as u64,
            outputs_omitted: (tx.output.len() - outputs.len()) as u64,
            outputs,
        })
    }
}
