//! Resolves a block at the tip: the coins of its inputs come from our own coin table, which also checks the chain.

use std::collections::HashMap;

use cairn_model::{
    Block, FilePos, Height, InputFlags, MonoTime, Network, Outpoint, Overwritten, ScriptId, ScriptPrefix,
    ScriptTemplate, SpentCoin, TxNum, Txid, each_once,
};
use cairn_reader::{Reader, View};
use cairn_sources::{BlockRef, Decoded, Prevout};
use cairn_tables::{coins::Coins, totals::TotalsTable};
use rayon::prelude::*;

use crate::{PipelineError, collisions::Collisions};

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

/// Look-ups that a thread takes at a time at least: fewer are not worth handing over.
const LEAST_PIECE: usize = 32;

/// Looks things up on all threads, in order.
pub(crate) fn look_up<T: Sync, R: Send>(
    reader: &Reader,
    things: &[T],
    one: impl Fn(&View<'_>, &T) -> Result<R, PipelineError> + Sync,
) -> Result<Vec<R>, PipelineError> {
    look_up_pieces(reader, things, |view, things| things.iter().map(|thing| one(view, thing)).collect())
}

/// The same for pieces, where look-ups are faster one after the other.
pub(crate) fn look_up_pieces<T: Sync, R: Send>(
    reader: &Reader,
    things: &[T],
    some: impl Fn(&View<'_>, &[T]) -> Result<Vec<R>, PipelineError> + Sync,
) -> Result<Vec<R>, PipelineError> {
    let piece = things.len().div_ceil(rayon::current_num_threads() * 4).max(LEAST_PIECE);
    let found = things.par_chunks(piece).map(|things| some(&reader.view()?, things));
    Ok(found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// Resolves a block against the index before it, which nothing changes meanwhile. `view` is of it.
pub(crate) fn resolve(
    reader: &Reader,
    view: &View<'_>,
    decoded: &mut Decoded,
    place: ChainPosition,
    collisions: &mut Collisions,
) -> Result<Block, PipelineError> {
    let mut block = unresolved(decoded, place);
    give_ids(reader, &mut block, collisions)?;
    let index_of: HashMap<Txid, usize> = block.txs.iter().enumerate().map(|(i, tx)| (tx.txid, i)).collect();
    let spenders = block.txs.iter().enumerate().flat_map(|(i, tx)| tx.inputs.clone().map(move |_| i));
    // A coin of the block itself exists only from its transaction on.
    let made_here =
        |(prevout, spender): (&Prevout, usize)| index_of.get(&prevout.txid).copied().filter(|i| *i < spender);
    let made_here: Vec<Option<usize>> = decoded.prevouts.iter().zip(spenders).map(made_here).collect();
    let stored = stored_coins(reader, &decoded.prevouts, &decoded.flags, &made_here)?;
    for (((prevout, flags), made_here), stored) in
        decoded.prevouts.iter().zip(&decoded.flags).zip(made_here).zip(stored)
    {
        let missing = || PipelineError::MissingCoin {
            height: place.height,
            hash: block.hash,
            txid: prevout.txid,
            vout: prevout.vout,
        };
        let coin = match made_here {
            Some(i) => {
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
            None => stored.ok_or_else(missing)?,
        };
        block.inputs.push(coin);
    }
    block.overwritten = overwritten(view, &block)?;
    check_amounts(view.network(), &block)?;
    Ok(block)
}

/// Compares what each transaction pays with what it spends, and the coinbase with subsidy and fees. No node accepts a
/// block that fails here; refusing it keeps every later sum over coins within the money supply.
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

/// The coins that inputs spend out of the index; `None` for those that are made in the block, and those that there are
/// not.
fn stored_coins(
    reader: &Reader,
    prevouts: &[Prevout],
    flags: &[InputFlags],
    made_here: &[Option<usize>],
) -> Result<Vec<Option<SpentCoin>>, PipelineError> {
    let outside = prevouts.iter().zip(made_here).filter(|(_, made_here)| made_here.is_none());
    let txids = each_once(outside.map(|(prevout, _)| prevout.txid));
    let numbers = look_up(reader, &txids, |view, txid| Ok(view.transactions().by_txid(txid)?.map(|tx| tx.tx_num)))?;
    let number = |txid: &Txid| txids.binary_search(txid).ok().and_then(|at| numbers[at]);
    let outpoints = prevouts.iter().zip(flags).zip(made_here).map(|((prevout, flags), made_here)| {
        let tx_num = if made_here.is_none() { number(&prevout.txid) } else { None };
        tx_num.map(|tx_num| (Outpoint { tx_num, vout: prevout.vout }, *flags))
    });
    look_up(reader, &outpoints.collect::<Vec<_>>(), |view, outpoint| match outpoint {
        Some((outpoint, flags)) => stored_coin(view, *outpoint, *flags),
        None => Ok(None),
    })
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
    let Some(earlier) = view.transactions().by_txid(&coinbase.txid)? else { return Ok(Vec::new()) };
    let mut gone = Vec::new();
    for vout in 0..earlier.outputs().len() as u32 {
        let outpoint = Outpoint { tx_num: earlier.tx_num, vout };
        let coin = stored_coin(view, outpoint, InputFlags::default())?;
        gone.extend(coin.map(|coin| Overwritten { by: 0, coin }));
    }
    Ok(gone)
}

/// Assigns ordinals to the outputs' scripts. For a known prefix, whole scripts are compared.
fn give_ids(reader: &Reader, block: &mut Block, collisions: &mut Collisions) -> Result<(), PipelineError> {
    let spendable = block.outputs.iter().filter(|output| output.spendable);
    let mut prefixes = each_once(spendable.map(|output| output.id.prefix));
    prefixes.retain(|prefix| !collisions.has(*prefix));
    let known = look_up(reader, &prefixes, |view, prefix| {
        let totals = view.get::<TotalsTable>(&ScriptId { prefix: *prefix, ordinal: 0 })?;
        totals.map(|totals| Ok((totals.first.tx_num, view.transactions().script_at(totals.first)?))).transpose()
    })?;
    // Per prefix the script that had it first in the index or in this block.
    let known = prefixes.into_iter().zip(known).filter_map(|(prefix, first)| Some((prefix, first?)));
    let mut seen: HashMap<ScriptPrefix, (TxNum, Vec<u8>)> = known.collect();
    for i in 0..block.txs.len() {
        let tx_num = block.tx_num(i);
        let outputs = block.txs[i].outputs.start as usize..block.txs[i].outputs.end as usize;
        for output in block.outputs[outputs].iter_mut().filter(|o| o.spendable) {
            let prefix = output.id.prefix;
            let script = &block.scripts[output.script.start as usize..output.script.end as usize];
            if !collisions.has(prefix) {
                let first = seen.entry(prefix).or_insert_with(|| (tx_num, script.to_vec()));
                if first.1 != script {
                    collisions.discover(prefix, first.clone());
                }
            }
            output.id.ordinal = collisions.assign(prefix, script, tx_num)?;
        }
    }
    Ok(())
}
