//! Computes the tweaks of some blocks.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bitcoin::{Script, Transaction, consensus::deserialize, hashes::Hash};
use cairn_domain::silent_payments::{KeyHash, SpentScript, output_prefix, tweak};
use cairn_model::{CancelToken, Height, ScriptTemplate, SpentCoin, TxNum};
use cairn_reader::{ReadError, View};
use cairn_tables::{
    headers::HeaderRow,
    tweaks::{StoredTweak, TweakRow},
};
use rayon::prelude::*;

use super::WholeBlocks;
use crate::PipelineError;

/// After this time, or this many bytes of blocks, the blocks so far are enough.
const SLICE_TIME: Duration = Duration::from_secs(2);
const SLICE_BYTES: u64 = 64 << 20;
/// Transactions whose rows are looked up together.
const AT_ONCE: usize = 64;

/// Rows of successive blocks.
pub(crate) struct NewTweaks {
    pub(super) rows: Vec<(Height, TweakRow)>,
}

/// A transaction, its index in the block, and what its inputs spend.
type Candidate = (u32, Transaction, Vec<SpentScript>);

/// Makes rows from a block on, at most to the tip; `None` if the first block cannot be had.
pub(super) fn make(
    view: &View<'_>,
    from: Height,
    whole_blocks: Option<&Arc<dyn WholeBlocks>>,
    cancel: &CancelToken,
) -> Result<Option<NewTweaks>, PipelineError> {
    let started = Instant::now();
    let (mut rows, mut bytes) = (Vec::new(), 0);
    for height in from..=view.tip().height {
        PipelineError::if_cancelled(cancel)?;
        if started.elapsed() > SLICE_TIME || bytes > SLICE_BYTES {
            break;
        }
        let header = header_of(view, height)?;
        let Some(txs) = transactions(view, &header, whole_blocks) else { break };
        bytes += u64::from(header.size);
        rows.push((height, row(view, &header, txs)?));
    }
    Ok(if rows.is_empty() { None } else { Some(NewTweaks { rows }) })
}

/// Makes the row of a block again; `None` if the block files do not have it.
pub(crate) fn make_again(view: &View<'_>, height: Height) -> Result<Option<TweakRow>, PipelineError> {
    let header = header_of(view, height)?;
    let Some(txs) = in_files(view, &header) else { return Ok(None) };
    row(view, &header, txs).map(Some)
}

fn header_of(view: &View<'_>, height: Height) -> Result<HeaderRow, ReadError> {
    view.header(height)?.ok_or_else(|| ReadError::Broken(format!("block {height} is missing")))
}

fn row(view: &View<'_>, header: &HeaderRow, txs: Vec<Transaction>) -> Result<TweakRow, PipelineError> {
    let candidates = candidates(view, header, txs)?;
    let tweaks = candidates.par_iter().filter_map(stored).collect();
    Ok(TweakRow { hash: header.hash, tweaks })
}

/// The transactions in these bytes, if they are of this block.
fn of_block(bytes: &[u8], header: &HeaderRow) -> Option<Vec<Transaction>> {
    let block = deserialize::<bitcoin::Block>(bytes).ok()?;
    (block.block_hash().to_byte_array() == header.hash.0).then_some(block.txdata)
}

fn in_files(view: &View<'_>, header: &HeaderRow) -> Option<Vec<Transaction>> {
    let (raw, position) = view.raw().zip(header.position)?;
    of_block(&raw.read(position, 0, header.size as usize).ok()?, header)
}

/// The transactions of a block, from the block files or from elsewhere; `None` if nobody has it.
fn transactions(
    view: &View<'_>,
    header: &HeaderRow,
    whole_blocks: Option<&Arc<dyn WholeBlocks>>,
) -> Option<Vec<Transaction>> {
    let from_elsewhere = || {
        let why = match whole_blocks.map(|blocks| blocks.block(&header.hash)) {
            Some(Ok(Some(bytes))) => match of_block(&bytes, header) {
                Some(txs) => return Some(txs),
                None => "the node gave other bytes".to_owned(),
            },
            Some(Ok(None)) => "the node does not have it: it may be pruned".to_owned(),
            Some(Err(error)) => error,
            None => "it is not in the block files, and there is no node".to_owned(),
        };
        tracing::error!(block = %header.hash, why, "tweaks of silent payments need this block whole; it is tried again");
        None
    };
    in_files(view, header).or_else(from_elsewhere)
}

/// The transactions that pay to taproot, with what their inputs spend.
fn candidates(view: &View<'_>, header: &HeaderRow, txs: Vec<Transaction>) -> Result<Vec<Candidate>, PipelineError> {
    let pays = |tx: &Transaction| tx.output.iter().any(|output| output.script_pubkey.is_p2tr());
    let mut paying = (0..).zip(txs).skip(1).filter(|(_, tx)| pays(tx)).peekable();
    let mut candidates = Vec::new();
    while paying.peek().is_some() {
        let some: Vec<(u32, Transaction)> = paying.by_ref().take(AT_ONCE).collect();
        let coins = some.iter().map(|(index, _)| coins(view, TxNum(header.first_tx.0 + u64::from(*index))));
        let coins = coins.collect::<Result<Vec<_>, _>>()?;
        let funding = coins.iter().flatten().filter(|coin| needs_script(coin)).map(|coin| coin.outpoint.tx_num);
        view.transactions().fetch(&funding.collect::<Vec<_>>())?;
        for ((index, tx), coins) in some.into_iter().zip(coins) {
            let spent = coins.iter().map(|coin| spent_script(view, coin)).collect::<Result<_, _>>()?;
            candidates.push((index, tx, spent));
        }
    }
    Ok(candidates)
}

/// The coins that a transaction spends.
fn coins(view: &View<'_>, tx_num: TxNum) -> Result<Vec<SpentCoin>, ReadError> {
    let tx = view.transactions().get(tx_num)?;
    view.transactions().inputs(&tx.ok_or_else(|| ReadError::Broken("a transaction beyond the tip".to_owned()))?)
}

/// True if the public key of an input does not follow from template and witness alone.
fn needs_script(coin: &SpentCoin) -> bool {
    matches!(coin.flags.template, ScriptTemplate::WitnessV1Taproot | ScriptTemplate::WitnessUnknown)
}

fn spent_script(view: &View<'_>, coin: &SpentCoin) -> Result<SpentScript, ReadError> {
    Ok(match coin.flags.template {
        ScriptTemplate::PubKeyHash => {
            SpentScript::PubKeyHash(KeyHash::Script(coin.script.prefix, view.facts().script_prefix))
        }
        ScriptTemplate::ScriptHash => SpentScript::ScriptHash,
        ScriptTemplate::WitnessV0KeyHash => SpentScript::WitnessKeyHash,
        _ if needs_script(coin) => {
            let lacks = || ReadError::Broken("a coin without its transaction".to_owned());
            let tx = view.transactions().get(coin.outpoint.tx_num)?.ok_or_else(lacks)?;
            let output = tx.outputs().get(coin.outpoint.vout as usize).ok_or_else(lacks)?;
            SpentScript::of(Script::from_bytes(tx.script(output)))
        }
        _ => SpentScript::Other,
    })
}

fn stored((index, tx, spent): &Candidate) -> Option<StoredTweak> {
    let tweak = tweak(tx, spent)?.serialize();
    let taproot = || tx.output.iter().filter(|output| output.script_pubkey.is_p2tr());
    let largest = taproot().map(|output| output.value.to_sat()).max()?;
    let outputs = taproot().filter_map(|output| output_prefix(&output.script_pubkey)).collect();
    Some(StoredTweak { index: *index, tweak, largest, outputs })
}
