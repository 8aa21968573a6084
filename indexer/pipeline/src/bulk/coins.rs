//! The coins that blocks without undo data spend, picked out of the blocks that made them: one more pass, still in
//! order.

use cairn_model::{OutputMeta, TxNum};
use cairn_reader::Facts;
use cairn_sources::{BlockFiles, BlockRef, Decoded, Survey};
use cairn_stages::Delta;
use cairn_tables::codec::{DecodeError, Input, put_varint};
use rayon::prelude::*;

use super::{
    BulkOptions, Plan, blocks_step,
    join::WANTED,
    link::batches,
    manifest::Manifest,
    spill::{SpillWriter, damaged, read_partition, remove_partition},
};
use crate::{Phase, PipelineError, Progress, groups::sorted};

/// Spender TxNum ‖ index among the block's inputs → [`FoundCoin`].
pub(crate) const COINS: &str = "coins-found";

/// A spent coin, as found in the block that made it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FoundCoin {
    pub(crate) value: u64,
    pub(crate) birth: u32,
    pub(crate) coinbase: bool,
    pub(crate) script: Vec<u8>,
}

impl FoundCoin {
    fn encode(value: u64, birth: u32, coinbase: bool, script: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(script.len() + 16);
        put_varint(&mut out, value);
        put_varint(&mut out, birth.into());
        out.push(u8::from(coinbase));
        out.extend_from_slice(script);
        out
    }

    /// Reads it back.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut b = Input::new(COINS, bytes);
        let (value, birth, coinbase) = (b.varint()?, b.varint32()?, b.byte()? != 0);
        Ok(FoundCoin { value, birth, coinbase, script: b.take(b.left())?.to_vec() })
    }
}

pub(crate) fn run(
    manifest: &Manifest,
    files: &BlockFiles,
    survey: &Survey,
    facts: &Facts,
    options: &BulkOptions,
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    super::join::clean(manifest)?;
    let (plan, dir) = (manifest.plan, manifest.dir());
    let wanted_any = (0..plan.partitions).any(|p| super::spill::partition_path(dir, WANTED, p).exists());
    if !wanted_any {
        return Ok(());
    }
    let mut found = SpillWriter::create(dir, COINS, plan.partitions)?;
    let mut wanted = Wanted { manifest, partition: None, bytes: Vec::new() };
    let (mut done, mut bytes) = (0, 0);
    for batch in batches(survey, options.to, plan.sizes.batch_bytes) {
        let decoded = batch
            .par_iter()
            .map_init(Vec::new, |buf, at| files.read_decoded(at, facts.script_prefix, buf))
            .collect::<Result<Vec<_>, _>>()?;
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else { continue };
        let end = last.first_tx.0 + u64::from(last.tx_count);
        for partition in plan.by_tx(first.first_tx.0)..=plan.by_tx(end - 1) {
            for record in wanted.load(partition)? {
                let (tx_num, vout) = outpoint(record.key);
                if tx_num < first.first_tx || tx_num.0 >= end {
                    continue;
                }
                let index = batch.partition_point(|b| b.first_tx <= tx_num) - 1;
                let coin = coin(&batch[index], &decoded[index], tx_num, vout)
                    .ok_or_else(|| missing(survey, &batch[index], &decoded[index], tx_num, vout, record.value))?;
                found.put(spender_partition(plan, record.value), record.value, &coin)?;
            }
        }
        done += batch.len() as u64;
        bytes += batch.iter().map(|b| u64::from(b.size)).sum::<u64>();
        blocks_step(progress, Phase::Coins, done, u64::from(options.to) + 1, bytes)?;
    }
    found.finish()
}

/// Removes what this phase has read. Called once the manifest has noted it.
pub(crate) fn clean(manifest: &Manifest) -> Result<(), PipelineError> {
    (0..manifest.plan.partitions).try_for_each(|p| remove_partition(manifest.dir(), WANTED, p))
}

struct Wanted<'m> {
    manifest: &'m Manifest,
    partition: Option<usize>,
    bytes: Vec<u8>,
}

impl Wanted<'_> {
    fn load(&mut self, partition: usize) -> Result<Vec<Delta<'_>>, PipelineError> {
        let dir = self.manifest.dir();
        if self.partition != Some(partition) {
            self.bytes = read_partition(dir, WANTED, partition)?;
            self.partition = Some(partition);
        }
        sorted(&self.bytes).ok_or_else(|| damaged(dir, WANTED, partition))
    }
}

fn outpoint(key: &[u8]) -> (TxNum, u32) {
    let mut number = [0u8; 5];
    let mut vout = [0u8; 4];
    number.copy_from_slice(&key[..5]);
    vout.copy_from_slice(&key[5..9]);
    (TxNum::from_be5(number), u32::from_be_bytes(vout))
}

fn spender_partition(plan: Plan, value: &[u8]) -> usize {
    let mut number = [0u8; 5];
    number.copy_from_slice(&value[..5]);
    plan.by_tx(TxNum::from_be5(number).0)
}

fn output_of<'d>(at: &BlockRef, decoded: &'d Decoded, tx_num: TxNum, vout: u32) -> Option<&'d OutputMeta> {
    let tx = decoded.txs.get((tx_num.0 - at.first_tx.0) as usize)?;
    let index = tx.outputs.start.checked_add(vout).filter(|i| *i < tx.outputs.end)?;
    decoded.outputs.get(index as usize).filter(|o| o.spendable && at.height > 0)
}

fn coin(at: &BlockRef, decoded: &Decoded, tx_num: TxNum, vout: u32) -> Option<Vec<u8>> {
    let output = output_of(at, decoded, tx_num, vout)?;
    Some(FoundCoin::encode(output.value, at.height, tx_num == at.first_tx, decoded.script(output)))
}

fn missing(
    survey: &Survey,
    at: &BlockRef,
    decoded: &Decoded,
    tx_num: TxNum,
    vout: u32,
    spender: &[u8],
) -> PipelineError {
    let (spender, _) = outpoint(spender);
    let spending = survey.blocks(at.height..survey.len() as u32).take_while(|b| b.first_tx <= spender).last();
    let txid = decoded.txs.get((tx_num.0 - at.first_tx.0) as usize).map(|tx| tx.txid).unwrap_or_default();
    let (height, hash) = spending.map_or((at.height, at.hash), |b| (b.height, b.hash));
    PipelineError::MissingCoin { height, hash, txid, vout }
}
