//! The coins that blocks without undo data spend, picked out of the blocks that made them: one more pass, still in
//! order.

use cairn_model::{OutputMeta, TxNum};
use cairn_reader::Facts;
use cairn_sources::{BlockFiles, BlockRef, Decoded, Survey};
use cairn_tables::codec::put_varint;
use rayon::prelude::*;

use super::{
    BulkOptions, Saver, blocks_step,
    join::WANTED,
    link::batches,
    manifest::{BulkPhase, Manifest},
    notes::NotedBlocks,
    streams::{FoundCoin, SpilledRow, Stream, WantedOutput, rows_of_block},
};
use crate::{Phase, PipelineError, Progress};

pub(crate) fn run(
    manifest: &mut Manifest,
    files: &BlockFiles,
    survey: &Survey,
    facts: &Facts,
    options: &BulkOptions,
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    let (plan, dir) = (manifest.plan, manifest.dir().to_owned());
    let wanted_any = (0..plan.partitions).any(|p| super::spill::partition_path(&dir, WANTED, p).exists());
    if !wanted_any {
        return Ok(());
    }
    let mut saver = Saver::new(plan);
    let (from, lengths) = manifest.partway(BulkPhase::Coins);
    let mut found = manifest.spill(FoundCoin::NAME, &lengths)?;
    let mut wanted = Stream::<WantedOutput>::new(manifest);
    let mut blocks = NotedBlocks::new(manifest, files, facts.script_prefix);
    let mut done = from;
    let mut bytes: u64 = survey.blocks(0..from as u32).map(|b| u64::from(b.size)).sum();
    let of_bytes = survey.blocks(0..options.to + 1).map(|b| u64::from(b.size)).sum();
    for batch in batches(survey, from as u32, options.to, plan.sizes.batch_bytes) {
        let (Some(first), Some(last)) = (batch.first(), batch.last()) else { continue };
        let end = last.first_tx.0 + u64::from(last.tx_count);
        let wanted_here = wanted.take(first.first_tx.0..end)?;
        let notes = blocks.take(&batch)?;
        let pick = |buf: &mut Vec<u8>, at: &BlockRef| {
            let wanted = rows_of_block(&wanted_here, at.first_tx.0..at.first_tx.0 + u64::from(at.tx_count));
            if wanted.is_empty() {
                return Ok(Vec::new());
            }
            let decoded = blocks.read(at, &notes, buf)?;
            let coin = |wanted| {
                coin(at, &decoded, wanted, plan.first_tx(plan.by_tx(wanted.spender)))
                    .map(|coin| (plan.by_tx(wanted.spender), coin))
                    .ok_or_else(|| missing(survey, at, &decoded, wanted))
            };
            wanted.iter().map(coin).collect::<Result<Vec<_>, PipelineError>>()
        };
        let coins = batch.par_iter().map_init(Vec::new, pick).collect::<Result<Vec<_>, PipelineError>>()?;
        let mut cut = vec![Vec::new(); plan.partitions];
        coins.iter().flatten().for_each(|(partition, coin)| cut[*partition].extend_from_slice(coin));
        cut.iter().enumerate().try_for_each(|(partition, coins)| found.put_chunk(partition, coins))?;
        done += batch.len() as u64;
        bytes += batch.iter().map(|b| u64::from(b.size)).sum::<u64>();
        if saver.due() {
            manifest.save_partway(BulkPhase::Coins, done, [&mut found])?;
            wanted.remove_before(end)?;
        }
        blocks_step(progress, Phase::Coins, (done, u64::from(options.to) + 1), (bytes, of_bytes))?;
    }
    manifest.save_partway(BulkPhase::Coins, done, [&mut found])?;
    wanted.remove_before(plan.tx_end)
}

fn output_of<'d>(at: &BlockRef, decoded: &'d Decoded, wanted: &WantedOutput) -> Option<&'d OutputMeta> {
    let tx = decoded.txs.get((wanted.funding - at.first_tx.0) as usize)?;
    let index = tx.outputs.start.checked_add(wanted.vout).filter(|i| *i < tx.outputs.end)?;
    decoded.outputs.get(index as usize).filter(|o| o.spendable && at.height > 0)
}

fn coin(at: &BlockRef, decoded: &Decoded, wanted: &WantedOutput, first_spender: u64) -> Option<Vec<u8>> {
    let output = output_of(at, decoded, wanted)?;
    let script = decoded.script(output);
    let mut out = Vec::with_capacity(script.len() + 24);
    put_varint(&mut out, wanted.spender - first_spender);
    put_varint(&mut out, wanted.vin.into());
    put_varint(&mut out, at.height.into());
    put_varint(&mut out, output.value);
    out.push(u8::from(wanted.funding == at.first_tx.0));
    put_varint(&mut out, script.len() as u64);
    out.extend_from_slice(script);
    Some(out)
}

fn missing(survey: &Survey, at: &BlockRef, decoded: &Decoded, wanted: &WantedOutput) -> PipelineError {
    let later = survey.blocks(at.height..survey.len() as u32);
    let spending = later.take_while(|b| b.first_tx <= TxNum(wanted.spender)).last();
    let txid = decoded.txs.get((wanted.funding - at.first_tx.0) as usize).map(|tx| tx.txid).unwrap_or_default();
    let (height, hash) = spending.map_or((at.height, at.hash), |b| (b.height, b.hash));
    PipelineError::MissingCoin { height, hash, txid, vout: wanted.vout }
}
