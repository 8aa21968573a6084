//! Resolves a block at the tip: the coins of its inputs come from our own coin table, which also checks the chain.

use std::collections::HashMap;

use cairn_model::{
    Block, FilePos, Height, InputFlags, MonoTime, Network, Outpoint, Overwritten, ScriptId, ScriptPrefix,
    ScriptTemplate, SpentCoin, TxNum, Txid,
};
use cairn_reader::View;
use cairn_sources::{BlockRef, Decoded};
use cairn_tables::{coins::Coins, totals::TotalsTable};

use crate::{PipelineError, collisions::Collisions};

/// Position of a block in the chain.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChainPosition {
    pub(crate) height: Height,
    pub(crate) first_tx: TxNum,
    pub(crate) mono_time: MonoTime,
    pub(crate) position: Option<FilePos>,
}

impl ChainPosition {
    /// Position from the survey of block files.
    pub(crate) fn of(at: &BlockRef) -> Self {
        let position = Some(at.position());
        ChainPosition { height: at.height, first_tx: at.first_tx, mono_time: at.mono_time, position }
    }
}

/// The block with nothing resolved: no inputs, ordinals 0. Genesis makes no coins: its coinbase is not in Bitcoin
/// Core's coin set and can never be spent.
pub(crate) fn unresolved(decoded: &mut Decoded, place: ChainPosition) -> Block {
    let mut outputs = std::mem::take(&mut decoded.outputs);
    if place.height == 0 {
        for output in &mut outputs {
            output.spendable = false;
            output.id = ScriptId::default();
        }
    }
    Block {
        height: place.height,
        hash: decoded.hash,
        header: decoded.header,
        mono_time: place.mono_time,
        first_tx: place.first_tx,
        size: decoded.size,
        position: place.position,
        coinbase_script: std::mem::take(&mut decoded.coinbase_script),
        txs: std::mem::take(&mut decoded.txs),
        inputs: Vec::with_capacity(decoded.prevouts.len()),
        outputs,
        scripts: std::mem::take(&mut decoded.scripts),
        overwritten: Vec::new(),
    }
}

/// Resolves a block against the index before it.
///
/// # Errors
/// A spent coin is missing, or the index cannot be read.
pub(crate) fn resolve(
    view: &View<'_>,
    decoded: &mut Decoded,
    place: ChainPosition,
    collisions: &mut Collisions,
) -> Result<Block, PipelineError> {
    let mut block = unresolved(decoded, place);
    give_ids(view, &mut block, collisions)?;
    let index_of: HashMap<Txid, usize> = block.txs.iter().enumerate().map(|(i, tx)| (tx.txid, i)).collect();
    let mut numbers: HashMap<Txid, TxNum> = HashMap::new();
    let spenders = block.txs.iter().enumerate().flat_map(|(i, tx)| tx.inputs.clone().map(move |_| i));
    let spenders: Vec<usize> = spenders.collect();
    for ((prevout, flags), spender) in decoded.prevouts.iter().zip(&decoded.flags).zip(spenders) {
        let missing = || PipelineError::MissingCoin {
            height: place.height,
            hash: block.hash,
            txid: prevout.txid,
            vout: prevout.vout,
        };
        // A coin of the block itself exists only from its transaction on.
        let coin = match index_of.get(&prevout.txid).filter(|i| **i < spender) {
            Some(&i) => {
                let tx = &block.txs[i];
                let output = block.outputs_of(tx).get(prevout.vout as usize).filter(|o| o.spendable);
                let output = output.ok_or_else(missing)?;
                SpentCoin {
                    outpoint: Outpoint { tx_num: block.tx_num(i), vout: prevout.vout },
                    value: output.value,
                    script: output.id,
                    birth: place.height,
                    flags: InputFlags {
                        coinbase: i == 0,
                        template: ScriptTemplate::of(block.script(output)),
                        ..*flags
                    },
                }
            }
            None => {
                let tx_num = match numbers.get(&prevout.txid) {
                    Some(tx_num) => *tx_num,
                    None => view.tx_by_id(&prevout.txid)?.ok_or_else(missing)?.tx_num,
                };
                numbers.insert(prevout.txid, tx_num);
                let outpoint = Outpoint { tx_num, vout: prevout.vout };
                stored_coin(view, outpoint, *flags)?.ok_or_else(missing)?
            }
        };
        block.inputs.push(coin);
    }
    block.overwritten = overwritten(view, &block)?;
    check_amounts(view.network(), &block)?;
    Ok(block)
}

/// Compares what each transaction pays with what it spends, and the coinbase with subsidy and fees. No node accepts a
/// block that fails here; refusing it keeps every later sum over coins within the money supply.
///
/// # Errors
/// [`PipelineError::MakesMoney`].
pub(crate) fn check_amounts(network: Network, block: &Block) -> Result<(), PipelineError> {
    fn sum(mut values: impl Iterator<Item = u64>) -> Option<u64> {
        values.try_fold(0u64, u64::checked_add)
    }
    let amounts = || {
        let mut fees = 0u64;
        for tx in block.txs.iter().skip(1) {
            let received = sum(block.inputs_of(tx).iter().map(|i| i.value))?;
            let paid = sum(block.outputs_of(tx).iter().map(|o| o.value))?;
            fees = fees.checked_add(received.checked_sub(paid)?)?;
        }
        let claimed = sum(block.outputs_of(block.txs.first()?).iter().map(|o| o.value))?;
        // Headers add all of it up.
        sum(block.inputs.iter().map(|i| i.value).chain([claimed]))?;
        fees.checked_add(network.subsidy_sats(block.height))?.checked_sub(claimed)
    };
    let error = PipelineError::MakesMoney { height: block.height, hash: block.hash };
    amounts().map(|_| ()).ok_or(error)
}

fn stored_coin(view: &View<'_>, outpoint: Outpoint, flags: InputFlags) -> Result<Option<SpentCoin>, PipelineError> {
    let Some(coin) = view.get::<Coins>(&outpoint)? else { return Ok(None) };
    let birth = view.chain().height_of(outpoint.tx_num).unwrap_or_default();
    Ok(Some(SpentCoin {
        outpoint,
        value: coin.value,
        script: coin.script,
        birth,
        flags: InputFlags { coinbase: coin.coinbase, template: coin.template, ..flags },
    }))
}

/// Coins of an earlier transaction with the txid of this block's coinbase (BIP 30). Only coinbases can repeat: any
/// other transaction would have to spend the same coin twice.
fn overwritten(view: &View<'_>, block: &Block) -> Result<Vec<Overwritten>, PipelineError> {
    let Some(coinbase) = block.txs.first() else { return Ok(Vec::new()) };
    let Some(earlier) = view.tx_by_id(&coinbase.txid)? else { return Ok(Vec::new()) };
    let mut gone = Vec::new();
    for vout in 0..earlier.outputs().len() as u32 {
        let outpoint = Outpoint { tx_num: earlier.tx_num, vout };
        let coin = stored_coin(view, outpoint, InputFlags::default())?;
        gone.extend(coin.map(|coin| Overwritten { by: 0, coin }));
    }
    Ok(gone)
}

/// Assigns ordinals to the outputs' scripts. For a known prefix, whole scripts are compared.
fn give_ids(view: &View<'_>, block: &mut Block, collisions: &mut Collisions) -> Result<(), PipelineError> {
    // Per prefix the script that had it first in this block or in the index.
    let mut seen: HashMap<ScriptPrefix, (TxNum, Vec<u8>)> = HashMap::new();
    for i in 0..block.txs.len() {
        let tx_num = block.tx_num(i);
        let outputs = block.txs[i].outputs.start as usize..block.txs[i].outputs.end as usize;
        for output in block.outputs[outputs].iter_mut().filter(|o| o.spendable) {
            let prefix = output.id.prefix;
            let script = &block.scripts[output.script.start as usize..output.script.end as usize];
            if !collisions.has(prefix) {
                let first = match seen.get(&prefix) {
                    Some(first) => first,
                    None => {
                        let known = view.get::<TotalsTable>(&ScriptId { prefix, ordinal: 0 })?;
                        let first = match known {
                            Some(totals) => (totals.first.tx_num, view.script_at(totals.first)?),
                            None => (tx_num, script.to_vec()),
                        };
                        seen.entry(prefix).or_insert(first)
                    }
                };
                if first.1 != script {
                    collisions.discover(prefix, first.clone());
                }
            }
            output.id.ordinal = collisions.assign(prefix, script, tx_num)?;
        }
    }
    Ok(())
}
