//! Unspent outputs of a script.

use std::collections::HashMap;

use cairn_chain::{At, Pinned, Script};
use cairn_domain::script_sha256;
use cairn_http::Work;
use cairn_model::{Height, Outpoint, TxNum, Txid, is_unspendable};
use serde::Serialize;

use crate::{
    answer::{Age, Answer, List, Refusal},
    status::TxStatus,
};

/// Outputs of a list. electrs lists 500 unless it is configured otherwise.
const MAX_UTXOS: u64 = 5_000;
/// Transactions whose ids are looked up together: not more than a view keeps.
const AT_A_TIME: usize = 64;

/// An unspent output.
#[derive(Debug, Serialize)]
struct UtxoJson {
    txid: String,
    vout: u32,
    status: TxStatus,
    value: u64,
}

fn too_many() -> Refusal {
    // The whole text of electrs: clients match on it.
    Refusal::bad("Too many unspent outputs")
}

/// All unspent outputs of a script: confirmed ones, oldest first, without those that an unconfirmed transaction spends;
/// then unconfirmed ones, newest first.
pub(crate) fn list(at: &Pinned<'_>, work: &Work, script: &Script) -> Result<Answer, Refusal> {
    let coins = script.totals().map_or(0, |totals| totals.coin_count());
    if coins > MAX_UTXOS || at.unconfirmed_totals(script)?.tx_count > MAX_UTXOS {
        return Err(too_many());
    }
    let mut list = List::new(work);
    confirmed(at, script, &mut list)?;
    unconfirmed(at, work, script, &mut list)?;
    list.finish(Age::Short)
}

fn confirmed(at: &Pinned<'_>, script: &Script, list: &mut List<'_>) -> Result<(), Refusal> {
    let Some(found) = &script.found else { return Ok(()) };
    let first = Outpoint { tx_num: TxNum(0), vout: 0 };
    let coins = at.view.scripts().coins(found.id, first, MAX_UTXOS as usize)?;
    let (mempool, mut blocks) = (at.mempool()?, HashMap::<Height, At>::new());
    for some in coins.chunks(AT_A_TIME) {
        let numbers: Vec<TxNum> = some.iter().map(|(coin, _)| coin.tx_num).collect();
        let txids = at.view.transactions().txids(&numbers)?;
        for ((coin, value), (txid, height)) in some.iter().zip(txids) {
            if mempool.spender(&txid, coin.vout).is_some() {
                continue;
            }
            let block = match blocks.get(&height) {
                Some(known) => *known,
                None => *blocks.entry(height).or_insert(at.at(height)?),
            };
            list.push(&utxo(&txid, coin.vout, Some(block), *value))?;
        }
    }
    Ok(())
}

fn unconfirmed(at: &Pinned<'_>, work: &Work, script: &Script, list: &mut List<'_>) -> Result<(), Refusal> {
    let (mempool, mut rows) = (at.mempool()?, 0);
    for effect in at.unconfirmed_history(script, MAX_UTXOS as usize)? {
        let Some(tx) = mempool.get(&effect.txid) else { continue };
        for (vout, output) in (0u32..).zip(&tx.outputs) {
            work.poll()?;
            let is_of_script = !is_unspendable(&output.script) && script_sha256(&output.script) == script.hash;
            if is_of_script && mempool.spender(&tx.txid, vout).is_none() {
                rows += 1;
                if rows > MAX_UTXOS {
                    return Err(too_many());
                }
                list.push(&utxo(&tx.txid, vout, None, output.value))?;
            }
        }
    }
    Ok(())
}

fn utxo(txid: &Txid, vout: u32, at: Option<At>, value: u64) -> UtxoJson {
    UtxoJson { txid: txid.to_string(), vout, status: TxStatus::new(at), value }
}
