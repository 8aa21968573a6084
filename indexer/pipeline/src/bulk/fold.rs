//! Blocks into the stages: rows that rise with the chain are written at once, other deltas are spilled by key.

use std::collections::HashMap;

use cairn_model::{Block, InputFlags, Outpoint, OutputMeta, Overwritten, ScriptId, ScriptPrefix, SpentCoin, TxNum};
use cairn_reader::{Facts, JournalBlocks, View};
use cairn_sources::{BlockFiles, BlockRef, Decoded, Survey, Undo};
use cairn_stages::{Settings, Spread};
use cairn_writer::SstWriter;
use rayon::prelude::*;

use super::{
    BulkOptions, Job, Plan, blocks_step,
    coins::{COINS, FoundCoin},
    join::PREVOUTS,
    lacks_undo,
    link::batches,
    manifest::{CollisionRows, Manifest},
    spill::{SpillWriter, damaged, read_partition},
};
use crate::{
    Phase, PipelineError, Progress,
    collisions::Collisions,
    groups::{SortedRecords, put_record, take_record},
    resolve::{Place, check_amounts, unresolved},
};

/// Resolved blocks in order.
pub(crate) trait Blocks {
    /// The next few; `None` at the end.
    fn next_batch(&mut self) -> Result<Option<Vec<Block>>, PipelineError>;

    /// What it learned of colliding scripts.
    fn collisions(self) -> CollisionRows;
}

/// Name of a lane's spill.
pub(crate) fn spill_name(job: &Job<'_>) -> String {
    format!("lane-{}", job.lane.name)
}

/// Maps all blocks. Returns what the source learned of colliding scripts.
pub(crate) fn run(
    manifest: &mut Manifest,
    mut source: impl Blocks,
    jobs: &[Job<'_>],
    settings: &Settings,
    total: u64,
    progress: &dyn Progress,
) -> Result<CollisionRows, PipelineError> {
    let (plan, dir) = (manifest.plan, manifest.dir().to_owned());
    manifest.files.clear();
    let mut sinks = jobs
        .iter()
        .map(|job| match job.lane.spread {
            Spread::Ascending => Ok(Sink::Ascending(Ascending::new(job))),
            _ => SpillWriter::create(&dir, &spill_name(job), plan.partitions).map(Sink::Spill),
        })
        .collect::<Result<Vec<_>, PipelineError>>()?;
    let (mut done, mut bytes) = (0, 0);
    while let Some(blocks) = source.next_batch()? {
        let piece = blocks.len().div_ceil(rayon::current_num_threads()).max(1);
        let mapped: Vec<Vec<Vec<Vec<u8>>>> =
            blocks.par_chunks(piece).map(|blocks| map(blocks, jobs, settings, plan)).collect();
        for cuts in mapped {
            for (sink, cut) in sinks.iter_mut().zip(cuts) {
                sink.take(manifest, cut)?;
            }
        }
        done += blocks.len() as u64;
        bytes += blocks.iter().map(|b| u64::from(b.size)).sum::<u64>();
        blocks_step(progress, Phase::Fold, done, total, bytes)?;
    }
    for sink in sinks {
        match sink {
            Sink::Ascending(rows) => rows.finish(manifest)?,
            Sink::Spill(spill) => spill.finish()?,
        }
    }
    Ok(source.collisions())
}

/// Deltas of a few blocks: per job, per partition (one for ascending lanes), records.
fn map(blocks: &[Block], jobs: &[Job<'_>], settings: &Settings, plan: Plan) -> Vec<Vec<Vec<u8>>> {
    let mut cuts: Vec<Vec<Vec<u8>>> = jobs
        .iter()
        .map(|job| vec![Vec::new(); if job.lane.spread == Spread::Ascending { 1 } else { plan.partitions }])
        .collect();
    for block in blocks {
        let mut first = 0;
        // Jobs of one stage follow each other, in the order of its lanes.
        for of_stage in jobs.chunk_by(|a, b| a.stage.name() == b.stage.name()) {
            let cuts = &mut cuts[first..first + of_stage.len()];
            of_stage[0].stage.map(block, settings, &mut |lane, key, value| {
                let partition = match of_stage[lane].lane.spread {
                    Spread::Ascending => 0,
                    Spread::Hash { skip } => plan.by_hash(&key[skip..]),
                    Spread::TxNum => plan.by_tx(key.first_chunk::<5>().map_or(0, |b| TxNum::from_be5(*b).0)),
                };
                put_record(&mut cuts[lane][partition], key, value);
            });
            first += of_stage.len();
        }
    }
    cuts
}

enum Sink {
    Ascending(Ascending),
    Spill(SpillWriter),
}

impl Sink {
    fn take(&mut self, manifest: &mut Manifest, cut: Vec<Vec<u8>>) -> Result<(), PipelineError> {
        match self {
            Sink::Ascending(rows) => cut.iter().try_for_each(|records| rows.take(manifest, records)),
            Sink::Spill(spill) => {
                let mut cut = cut.into_iter().enumerate().filter(|(_, records)| !records.is_empty());
                cut.try_for_each(|(partition, records)| spill.put_raw(partition, &records))
            }
        }
    }
}

/// Rows that rise with the chain, straight into table files.
struct Ascending {
    name: &'static str,
    family: cairn_tables::Family,
    number: u32,
    file: Option<(SstWriter, String)>,
}

impl Ascending {
    fn new(job: &Job<'_>) -> Self {
        Ascending { name: job.lane.name, family: job.lane.families[0], number: 0, file: None }
    }

    fn take(&mut self, manifest: &mut Manifest, mut records: &[u8]) -> Result<(), PipelineError> {
        while let Some((row, rest)) = take_record(records) {
            if self.file.as_ref().is_some_and(|(file, _)| file.bytes() >= manifest.plan.sizes.file_bytes) {
                self.complete(manifest)?;
            }
            let file = match &mut self.file {
                Some((file, _)) => file,
                none => {
                    let name = format!("rows-{}.{:05}.sst", self.name, self.number);
                    self.number += 1;
                    let path = manifest.table_path(&name);
                    &mut none.insert((SstWriter::create(self.family, path)?, name)).0
                }
            };
            file.put(row.key, row.value)?;
            records = rest;
        }
        Ok(())
    }

    fn complete(&mut self, manifest: &mut Manifest) -> Result<(), PipelineError> {
        if let Some((file, name)) = self.file.take() {
            file.finish()?;
            manifest.files.push((self.family.index(), name));
        }
        Ok(())
    }

    fn finish(mut self, manifest: &mut Manifest) -> Result<(), PipelineError> {
        self.complete(manifest)
    }
}

/// The journal's blocks.
pub(crate) struct JournalSource<'v, 'r> {
    blocks: JournalBlocks<'v, 'r>,
    batch_bytes: u64,
}

impl<'v, 'r> JournalSource<'v, 'r> {
    /// All of them.
    pub(crate) fn new(view: &'v View<'r>, plan: Plan) -> Result<Self, PipelineError> {
        Ok(JournalSource { blocks: view.journal(0, view.tip().height)?, batch_bytes: plan.sizes.batch_bytes })
    }
}

impl Blocks for JournalSource<'_, '_> {
    fn next_batch(&mut self) -> Result<Option<Vec<Block>>, PipelineError> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while bytes < self.batch_bytes.max(1) && batch.len() < 4096 {
            let Some(block) = self.blocks.next().transpose()? else { break };
            bytes += u64::from(block.size);
            batch.push(block);
        }
        Ok((!batch.is_empty()).then_some(batch))
    }

    fn collisions(self) -> CollisionRows {
        Vec::new()
    }
}

/// The files' blocks, resolved by what link, join and coins found.
pub(crate) struct FileBlocks<'s> {
    reads: FileReads<'s>,
    batches: Box<dyn Iterator<Item = Vec<BlockRef>> + 's>,
    prevouts: Stream,
    coins: Stream,
    /// First transaction of each block.
    firsts: Vec<u64>,
    collisions: Collisions,
    repeats: Repeats,
}

impl<'s> FileBlocks<'s> {
    pub(crate) fn new(
        manifest: &Manifest,
        files: &'s BlockFiles,
        survey: &'s Survey,
        facts: &'s Facts,
        options: &BulkOptions,
    ) -> Self {
        FileBlocks {
            reads: FileReads { files, facts, options: *options },
            batches: Box::new(batches(survey, options.to, manifest.plan.sizes.batch_bytes)),
            prevouts: Stream::new(manifest, PREVOUTS),
            coins: Stream::new(manifest, COINS),
            firsts: survey.blocks(0..options.to + 1).map(|b| b.first_tx.0).collect(),
            collisions: Collisions::of_prefixes(manifest.colliding_prefixes.iter().map(|p| ScriptPrefix(*p))),
            repeats: Repeats { earlier: manifest.repeats().collect(), live: HashMap::new() },
        }
    }

    fn resolve(&mut self, at: &BlockRef, mut decoded: Decoded, undo: Option<Undo>) -> Result<Block, PipelineError> {
        let mut block = unresolved(&mut decoded, Place::of(at));
        self.give_ordinals(&mut block)?;
        for i in 0..block.txs.len() {
            let spender = block.tx_num(i);
            for input in block.txs[i].inputs.clone() {
                let outpoint = self.prevouts.next_outpoint(spender, input)?;
                let flags = decoded.flags[input as usize];
                let coin = match &undo {
                    Some(undo) => self.coin_of_undo(at, undo, input, outpoint, flags)?,
                    None => self.coin_found(spender, input, outpoint, flags)?,
                };
                block.inputs.push(coin);
            }
        }
        self.repeats.pass(&mut block);
        check_amounts(self.reads.facts.network, &block)?;
        Ok(block)
    }

    /// Scripts with colliding prefixes get ordinals in the order of their first appearance.
    fn give_ordinals(&mut self, block: &mut Block) -> Result<(), PipelineError> {
        for i in 0..block.txs.len() {
            let tx_num = block.tx_num(i);
            for o in block.txs[i].outputs.clone() {
                let output: &mut OutputMeta = &mut block.outputs[o as usize];
                if output.spendable && self.collisions.has(output.id.prefix) {
                    let script = &block.scripts[output.script.start as usize..output.script.end as usize];
                    output.id.ordinal = self.collisions.assign(output.id.prefix, script, tx_num)?;
                }
            }
        }
        Ok(())
    }

    fn coin_of_undo(
        &self,
        at: &BlockRef,
        undo: &Undo,
        input: u32,
        outpoint: Outpoint,
        flags: InputFlags,
    ) -> Result<SpentCoin, PipelineError> {
        // `read_undo` has compared the numbers of inputs. Its checksum cannot tell siblings apart: the height of the
        // funding block must agree as well, and the coins stage compares value and script.
        let coin = &undo.coins[input as usize];
        let birth = self.firsts.partition_point(|first| *first <= outpoint.tx_num.0).saturating_sub(1) as u32;
        let script = self.script_id(undo.script(coin)).filter(|_| birth == coin.birth);
        let script = script.ok_or(PipelineError::UndoContradicts(at.height))?;
        let flags = InputFlags { coinbase: coin.coinbase, ..flags };
        Ok(SpentCoin { outpoint, value: coin.value, script, birth, flags })
    }

    fn coin_found(
        &mut self,
        spender: TxNum,
        input: u32,
        outpoint: Outpoint,
        flags: InputFlags,
    ) -> Result<SpentCoin, PipelineError> {
        let coin = FoundCoin::decode(&self.coins.next_value(spender, input)?)?;
        let script = self.script_id(&coin.script).ok_or_else(|| self.coins.damaged())?;
        let flags = InputFlags { coinbase: coin.coinbase, ..flags };
        Ok(SpentCoin { outpoint, value: coin.value, script, birth: coin.birth, flags })
    }

    fn script_id(&self, script: &[u8]) -> Option<ScriptId> {
        let prefix = ScriptPrefix::of(script, self.reads.facts.script_prefix);
        self.collisions.find(prefix, script).map(|ordinal| ScriptId { prefix, ordinal })
    }
}

impl Blocks for FileBlocks<'_> {
    fn next_batch(&mut self) -> Result<Option<Vec<Block>>, PipelineError> {
        let Some(batch) = self.batches.next() else { return Ok(None) };
        let reads = &self.reads;
        let read = batch
            .par_iter()
            .map_init(Default::default, |bufs, at| reads.read(at, bufs))
            .collect::<Result<Vec<_>, PipelineError>>()?;
        let blocks = batch.iter().zip(read).map(|(at, (decoded, undo))| self.resolve(at, decoded, undo));
        blocks.collect::<Result<Vec<_>, _>>().map(Some)
    }

    fn collisions(mut self) -> CollisionRows {
        let rows = self.collisions.take_changes().into_iter();
        rows.filter_map(|(prefix, row)| {
            Some((prefix.0, row?.0.into_iter().map(|(first, script)| (first.0, script)).collect()))
        })
        .collect()
    }
}

/// What threads need to read blocks.
struct FileReads<'s> {
    files: &'s BlockFiles,
    facts: &'s Facts,
    options: BulkOptions,
}

impl FileReads<'_> {
    fn read(&self, at: &BlockRef, bufs: &mut (Vec<u8>, Vec<u8>)) -> Result<(Decoded, Option<Undo>), PipelineError> {
        let decoded = self.files.read_decoded(at, self.facts.script_prefix, &mut bufs.0)?;
        if at.height == 0 || lacks_undo(at.undo.is_some(), at.height, &self.options) {
            return Ok((decoded, None));
        }
        let undo = self.files.read_undo(at, &decoded, &mut bufs.1)?;
        Ok((decoded, Some(undo.ok_or(PipelineError::UndoContradicts(at.height))?)))
    }
}

/// A spill read in the order of spenders and their inputs.
struct Stream {
    dir: std::path::PathBuf,
    name: &'static str,
    plan: Plan,
    partition: Option<usize>,
    records: Option<SortedRecords>,
}

impl Stream {
    fn new(manifest: &Manifest, name: &'static str) -> Self {
        Stream { dir: manifest.dir().to_owned(), name, plan: manifest.plan, partition: None, records: None }
    }

    fn damaged(&self) -> PipelineError {
        damaged(&self.dir, self.name, self.partition.unwrap_or(0))
    }

    fn next_value(&mut self, spender: TxNum, input: u32) -> Result<Vec<u8>, PipelineError> {
        let partition = self.plan.by_tx(spender.0);
        if self.partition != Some(partition) {
            self.partition = Some(partition);
            let bytes = read_partition(&self.dir, self.name, partition)?;
            self.records = Some(SortedRecords::new(bytes).ok_or_else(|| self.damaged())?);
        }
        let mut key = [0u8; 9];
        key[..5].copy_from_slice(&spender.to_be5());
        key[5..].copy_from_slice(&input.to_be_bytes());
        let record = self.records.as_mut().and_then(SortedRecords::next).filter(|r| r.key == key);
        record.map(|r| r.value.to_vec()).ok_or_else(|| self.damaged())
    }

    fn next_outpoint(&mut self, spender: TxNum, input: u32) -> Result<Outpoint, PipelineError> {
        let value = self.next_value(spender, input)?;
        match (value.first_chunk::<5>(), value.last_chunk::<4>()) {
            (Some(tx_num), Some(vout)) if value.len() == 9 => {
                Ok(Outpoint { tx_num: TxNum::from_be5(*tx_num), vout: u32::from_be_bytes(*vout) })
            }
            _ => Err(self.damaged()),
        }
    }
}

/// Transactions that share a txid with an earlier one (BIP 30): whatever is left of the earlier one's coins goes.
struct Repeats {
    /// To each such transaction, the ones before it.
    earlier: HashMap<TxNum, Vec<TxNum>>,
    /// Coins of such transactions that are not spent.
    live: HashMap<TxNum, Vec<SpentCoin>>,
}

impl Repeats {
    fn pass(&mut self, block: &mut Block) {
        if self.earlier.is_empty() {
            return;
        }
        // Only coinbases can repeat while coins are left of an earlier one; see `resolve::overwritten`.
        let tx_num = block.first_tx;
        if let Some(earlier) = self.earlier.get(&tx_num) {
            let gone = earlier.iter().filter_map(|e| self.live.remove(e)).flatten();
            block.overwritten.extend(gone.map(|coin| Overwritten { by: 0, coin }));
            let made = block.txs.first().map_or(&[][..], |tx| block.outputs_of(tx)).iter().enumerate();
            let coins = made.filter(|(_, o)| o.spendable).map(|(vout, o)| SpentCoin {
                outpoint: Outpoint { tx_num, vout: vout as u32 },
                value: o.value,
                script: o.id,
                birth: block.height,
                flags: InputFlags { coinbase: true, anyone_can_pay: false },
            });
            self.live.insert(tx_num, coins.collect());
        }
        for input in &block.inputs {
            if let Some(coins) = self.live.get_mut(&input.outpoint.tx_num) {
                coins.retain(|c| c.outpoint != input.outpoint);
            }
        }
    }
}
