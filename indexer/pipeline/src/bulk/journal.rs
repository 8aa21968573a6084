//! The journal's blocks, for rebuilding a stage.

use std::{collections::HashSet, ops::Range};

use cairn_model::{Height, TxNum};
use cairn_reader::{Reader, View};
use cairn_tables::{codec::put_varint, journal::OverwrittenCoins, prevouts::Prevouts};
use rayon::prelude::*;

use super::{
    join::SPENT,
    manifest::{BulkPhase, Manifest},
    source::{Blocks, Marks, Resolved, spent_outputs},
    spill::Lengths,
    streams::{Spent, Stream, rows_of_block},
};
use crate::{Phase, PipelineError, Progress, ProgressStep};

/// Bytes of spent outpoints that are collected before they are written.
const COLLECTED: usize = 4 << 20;

/// Spills the outpoints that the journal's blocks spend, by funding transaction.
pub(crate) fn spill_spent(
    manifest: &mut Manifest,
    view: &View<'_>,
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    let plan = manifest.plan;
    let mut spill = manifest.spill(SPENT, &Lengths::new())?;
    let mut cut = vec![Vec::new(); plan.partitions];
    let mut collected = 0;
    for row in view.scan::<Prevouts>(None)? {
        let (first, row) = row?;
        for outpoint in row.unpack(first)? {
            let partition = plan.by_tx(outpoint.tx_num.0);
            put_varint(&mut cut[partition], outpoint.tx_num.0.saturating_sub(plan.first_tx(partition)));
            put_varint(&mut cut[partition], outpoint.vout.into());
            collected += 6;
        }
        if collected > COLLECTED {
            collected = 0;
            for (partition, bytes) in cut.iter_mut().enumerate() {
                spill.put_chunk(partition, bytes)?;
                bytes.clear();
            }
            super::step(
                progress,
                ProgressStep { phase: Phase::Join, done: first.0, total: plan.tx_end, bytes: 0, of_bytes: 0 },
            )?;
        }
    }
    cut.iter().enumerate().try_for_each(|(partition, bytes)| spill.put_chunk(partition, bytes))?;
    manifest.save_partway(BulkPhase::Join, plan.tx_end, [&mut spill])
}

pub(crate) struct JournalSource<'r> {
    /// Views are one thread's; the tip does not move while a stage is rebuilt.
    reader: &'r Reader,
    /// `None` where nobody asks which outputs are spent.
    spent: Option<Stream<Spent>>,
    marks: Marks,
    repeated: HashSet<TxNum>,
    heights: Range<Height>,
    batch_bytes: u64,
    /// Blocks of the next batch.
    blocks: u32,
    next_tx: u64,
}

impl<'r> JournalSource<'r> {
    /// All of them from a height on.
    pub(crate) fn new(
        reader: &'r Reader,
        manifest: &Manifest,
        with_spent: bool,
        from: Height,
    ) -> Result<Self, PipelineError> {
        let view = reader.view()?;
        let mut repeated = HashSet::new();
        for row in view.scan::<OverwrittenCoins>(None)? {
            repeated.extend(row?.1.0.iter().map(|o| o.coin.outpoint.tx_num));
        }
        Ok(JournalSource {
            reader,
            spent: with_spent.then(|| Stream::new(manifest)),
            marks: Marks::new(manifest.salt),
            repeated,
            heights: from..view.tip().height + 1,
            batch_bytes: manifest.plan.sizes.batch_bytes,
            blocks: rayon::current_num_threads() as u32,
            next_tx: 0,
        })
    }
}

impl Blocks for JournalSource<'_> {
    fn next_batch(&mut self) -> Result<Option<Vec<Resolved>>, PipelineError> {
        let Range { start, end } = self.heights;
        if start >= end {
            return Ok(None);
        }
        let stop = start.saturating_add(self.blocks).min(end);
        self.heights.start = stop;
        // As many runs as threads: where a run begins has to be looked up.
        let run = (stop - start).div_ceil(rayon::current_num_threads().max(1) as u32).max(1);
        let runs: Vec<Range<u32>> =
            (start..stop).step_by(run as usize).map(|from| from..(from + run).min(stop)).collect();
        let reader = self.reader;
        let read = |heights: Range<u32>| {
            let view = reader.view()?;
            view.journal(heights.start, heights.end - 1)?.collect::<Result<Vec<_>, _>>()
        };
        let read: Vec<Vec<_>> = runs.into_par_iter().map(read).collect::<Result<_, _>>()?;
        let blocks: Vec<_> = read.into_iter().flatten().collect();
        let (Some(first), Some(last)) = (blocks.first(), blocks.last()) else { return Ok(None) };
        let txs = first.first_tx.0..last.first_tx.0 + last.txs.len() as u64;
        self.next_tx = txs.end;
        // Sizes change slowly along the chain; a batch at most doubles.
        let bytes: u64 = blocks.iter().map(|b| u64::from(b.size)).sum();
        let fitting = u64::from(stop - start) * self.batch_bytes / bytes.max(1);
        self.blocks = fitting.clamp(1, u64::from(self.blocks) * 2).min(4096) as u32;
        let marks = self.marks;
        match &mut self.spent {
            None => {
                let resolved = |block| Resolved { block, spent: Vec::new(), balance: 0 };
                Ok(Some(blocks.into_iter().map(resolved).collect()))
            }
            Some(stream) => {
                let rows = stream.take(txs)?;
                let resolve = |block: cairn_model::Block| {
                    let txs = block.first_tx.0..block.first_tx.0 + block.txs.len() as u64;
                    let spent = spent_outputs(&block, rows_of_block(&rows, txs))?;
                    let balance = marks.balance(&block, &spent);
                    Ok(Resolved { block, spent, balance })
                };
                blocks.into_par_iter().map(resolve).collect::<Result<Vec<_>, PipelineError>>().map(Some)
            }
        }
    }

    fn repeated(&self) -> HashSet<TxNum> {
        self.repeated.clone()
    }

    fn note(&self, _: &mut Manifest) {}

    fn remove_read(&self) -> Result<(), PipelineError> {
        self.spent.as_ref().map_or(Ok(()), |stream| stream.remove_before(self.next_tx))
    }
}
