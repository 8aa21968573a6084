//! Outpoints meet the numbers of their transactions.

use std::collections::HashSet;

use cairn_model::{TxNum, Txid};
use cairn_sources::Survey;
use cairn_tables::codec::{DecodeError, Input, put_varint};
use parking_lot::Mutex;
use rayon::prelude::*;

use super::{
    BulkOptions, Plan, Saver, lacks_undo,
    link::{Chunk, EDGES, TXIDS},
    manifest::{BulkPhase, Manifest},
    spill::{Chunks, SpillWriter, partition_bytes, remove_partition},
    step,
};
use crate::{Phase, PipelineError, Progress, ProgressStep};

/// By spender, chunks of: spender's TxNum less the one before │ vin │ spender − funding TxNum │ vout.
pub(crate) const PREVOUTS: &str = "join-prevouts";
/// By funding transaction, chunks of: funding TxNum less the partition's first │ vout.
pub(crate) const SPENT: &str = "join-spent";
/// By funding transaction, only of blocks without undo data, chunks of: funding TxNum less the partition's first │ vout
/// │ spender − funding TxNum │ vin.
pub(crate) const WANTED: &str = "join-wanted";

/// Bytes of found links that a thread collects before it writes them.
const COLLECTED: usize = 4 << 20;

pub(crate) fn run(
    manifest: &mut Manifest,
    survey: &Survey,
    options: &BulkOptions,
    progress: &dyn Progress,
) -> Result<(), PipelineError> {
    let plan = manifest.plan;
    let heights = Heights::of(survey, options);
    let mut saver = Saver::new(plan);
    let (from, lengths) = manifest.partway(BulkPhase::Join);
    let writers = Writers {
        prevouts: manifest.spill(PREVOUTS, &lengths)?,
        spent: manifest.spill(SPENT, &lengths)?,
        wanted: manifest.spill(WANTED, &lengths)?,
    };
    let mut writers = Mutex::new(writers);
    if from == 0 {
        manifest.repeated_txids.clear();
    }
    let partitions: Vec<usize> = (from as usize..plan.partitions).collect();
    let mut done = from;
    for few in partitions.chunks(rayon::current_num_threads().max(1)) {
        let join = |&partition: &usize| {
            let join = Join { manifest, survey, heights: &heights, writers: &writers, plan };
            join.partition(partition)
        };
        let repeated = few.par_iter().map(join).collect::<Result<Vec<_>, PipelineError>>()?;
        manifest.repeated_txids.extend(repeated.into_iter().flatten());
        done += few.len() as u64;
        let w = writers.get_mut();
        if saver.due() || done as usize == plan.partitions {
            manifest.save_partway(BulkPhase::Join, done, [&mut w.prevouts, &mut w.spent, &mut w.wanted])?;
            // Not before it is noted: until then the join may have to read them again.
            clean(manifest, done as usize)?;
        }
        step(
            progress,
            ProgressStep { phase: Phase::Join, done, total: plan.partitions as u64, bytes: 0, of_bytes: 0 },
        )?;
    }
    Ok(())
}

/// Removes what the join has read of the first partitions.
fn clean(manifest: &Manifest, partitions: usize) -> Result<(), PipelineError> {
    for partition in 0..partitions {
        remove_partition(manifest.dir(), TXIDS, partition)?;
        remove_partition(manifest.dir(), EDGES, partition)?;
    }
    Ok(())
}

struct Writers {
    prevouts: SpillWriter,
    spent: SpillWriter,
    wanted: SpillWriter,
}

/// Found links that are not written yet.
struct Collected {
    bytes: usize,
    prevouts: Vec<Chunk>,
    spent: Vec<Vec<u8>>,
    wanted: Vec<Vec<u8>>,
}

impl Collected {
    fn new(partitions: usize) -> Self {
        let empty = vec![Vec::new(); partitions];
        Collected { bytes: 0, prevouts: vec![Chunk::default(); partitions], spent: empty.clone(), wanted: empty }
    }

    fn write(&mut self, writers: &Mutex<Writers>) -> Result<(), PipelineError> {
        let mut w = writers.lock();
        for partition in 0..self.prevouts.len() {
            w.prevouts.put_chunk(partition, &self.prevouts[partition].bytes)?;
            w.spent.put_chunk(partition, &self.spent[partition])?;
            w.wanted.put_chunk(partition, &self.wanted[partition])?;
        }
        *self = Collected::new(self.prevouts.len());
        Ok(())
    }
}

struct Join<'j> {
    manifest: &'j Manifest,
    survey: &'j Survey,
    heights: &'j Heights,
    writers: &'j Mutex<Writers>,
    plan: Plan,
}

impl Join<'_> {
    /// Joins one range of txids. Returns numbers of transactions that share one, each txid's in order.
    fn partition(&self, partition: usize) -> Result<Vec<Vec<u64>>, PipelineError> {
        let dir = self.manifest.dir();
        let mut repeated = Vec::new();
        let size = partition_bytes(dir, TXIDS, partition)?;
        // The table takes about three times the bytes of its txids. Where that is too much, a part of them at a time.
        let parts = self.plan.parts(size * 3);
        for part in 0..parts {
            let mine = |txid: &[u8; 32]| parts == 1 || part_of(txid, parts) == part;
            let txids = Txids::read(&mut Chunks::open(dir, TXIDS, partition)?, mine)?;
            repeated.extend(txids.repeated());
            let mut found = Collected::new(self.plan.partitions);
            let mut edges = Chunks::open(dir, EDGES, partition)?;
            loop {
                let chunk = match edges.next()? {
                    Some(chunk) => self.chunk(chunk, &txids, mine, &mut found),
                    None => break,
                };
                match chunk {
                    Ok(Ok(())) => {}
                    Ok(Err(e)) => return Err(e),
                    Err(_) => return Err(edges.damaged()),
                }
                if found.bytes > COLLECTED {
                    found.write(self.writers)?;
                }
            }
            found.write(self.writers)?;
        }
        Ok(repeated)
    }

    /// The inner error is that of an outpoint which does not exist.
    fn chunk(
        &self,
        chunk: &[u8],
        txids: &Txids,
        mine: impl Fn(&[u8; 32]) -> bool,
        found: &mut Collected,
    ) -> Result<Result<(), PipelineError>, DecodeError> {
        let mut b = Input::new(EDGES, chunk);
        let mut spender = 0u64;
        while b.left() > 0 {
            let txid: [u8; 32] = b.array()?;
            let vout = b.varint32()?;
            spender = spender.wrapping_add(b.varint()?);
            let vin = b.varint32()?;
            if spender >= self.plan.tx_end {
                return Err(b.error("spender"));
            }
            if !mine(&txid) {
                continue;
            }
            let Some(funding) = txids.newest_before(&txid, spender) else {
                return Ok(Err(missing(self.heights, self.survey, TxNum(spender), txid, vout)));
            };
            let (by, of) = (self.plan.by_tx(spender), self.plan.by_tx(funding));
            let first = self.plan.first_tx(of);
            let prevout = &mut found.prevouts[by];
            prevout.put_rising(spender);
            put_varint(&mut prevout.bytes, vin.into());
            put_varint(&mut prevout.bytes, spender - funding);
            put_varint(&mut prevout.bytes, vout.into());
            put_varint(&mut found.spent[of], funding - first);
            put_varint(&mut found.spent[of], vout.into());
            if self.heights.lacks_undo(TxNum(spender)) {
                let wanted = &mut found.wanted[of];
                for number in [funding - first, vout.into(), spender - funding, vin.into()] {
                    put_varint(wanted, number);
                }
            }
            // About; it is a bound on memory only.
            found.bytes += 16;
        }
        Ok(Ok(()))
    }
}

/// Which of `parts` parts of a partition a txid belongs to; the partition itself goes by the first two bytes.
fn part_of(txid: &[u8; 32], parts: u64) -> u64 {
    (u64::from(u16::from_be_bytes([txid[2], txid[3]])) * parts) >> 16
}

/// Numbers of transactions by txid: a hash table with open addressing.
struct Txids {
    rows: Vec<([u8; 32], u64)>,
    /// Index of a row and 1; 0 where there is none.
    slots: Vec<u32>,
    shared: HashSet<[u8; 32]>,
}

impl Txids {
    fn read(chunks: &mut Chunks, mine: impl Fn(&[u8; 32]) -> bool) -> Result<Self, PipelineError> {
        let mut rows = Vec::new();
        while let Some(chunk) = chunks.next()? {
            let mut read = || {
                let mut b = Input::new(TXIDS, chunk);
                let mut number = 0u64;
                while b.left() > 0 {
                    let txid: [u8; 32] = b.array()?;
                    number = number.wrapping_add(b.varint()?);
                    if mine(&txid) {
                        rows.push((txid, number));
                    }
                }
                Ok::<(), DecodeError>(())
            };
            if read().is_err() {
                return Err(chunks.damaged());
            }
        }
        let slots = vec![0; (rows.len() * 2).next_power_of_two()];
        let mut table = Txids { rows, slots, shared: HashSet::new() };
        for index in 0..table.rows.len() {
            let mut slot = table.slot(&table.rows[index].0);
            while table.slots[slot] != 0 {
                if table.rows[table.slots[slot] as usize - 1].0 == table.rows[index].0 {
                    table.shared.insert(table.rows[index].0);
                }
                slot = (slot + 1) & (table.slots.len() - 1);
            }
            table.slots[slot] = index as u32 + 1;
        }
        Ok(table)
    }

    /// Where the search for a txid starts.
    fn slot(&self, txid: &[u8; 32]) -> usize {
        let mut head = [0u8; 8];
        head.copy_from_slice(&txid[8..16]);
        u64::from_le_bytes(head) as usize & (self.slots.len() - 1)
    }

    fn numbers<'t>(&'t self, txid: &'t [u8; 32]) -> impl Iterator<Item = u64> + 't {
        let mask = self.slots.len() - 1;
        let first = self.slot(txid);
        let indexes =
            (0..self.slots.len()).map(move |n| self.slots[(first + n) & mask]).take_while(|index| *index != 0);
        indexes.map(|index| &self.rows[index as usize - 1]).filter(move |row| row.0 == *txid).map(|row| row.1)
    }

    /// Returns the newest transaction with a txid before the spender: an older one with coins left was overwritten, one
    /// without cannot be meant.
    fn newest_before(&self, txid: &[u8; 32], spender: u64) -> Option<u64> {
        self.numbers(txid).filter(|number| *number < spender).max()
    }

    fn repeated(&self) -> Vec<Vec<u64>> {
        let mut repeated: Vec<Vec<u64>> = self.shared.iter().map(|txid| self.numbers(txid).collect()).collect();
        repeated.iter_mut().for_each(|numbers| numbers.sort_unstable());
        repeated
    }
}

fn missing(heights: &Heights, survey: &Survey, spender: TxNum, txid: [u8; 32], vout: u32) -> PipelineError {
    let height = heights.height_of(spender);
    let hash = survey.block(height).map(|b| b.hash).unwrap_or_default();
    PipelineError::MissingCoin { height, hash, txid: Txid(txid), vout }
}

/// First transaction of each block, and which blocks lack undo data.
struct Heights {
    firsts: Vec<u64>,
    without: Vec<bool>,
    any: bool,
}

impl Heights {
    fn of(survey: &Survey, options: &BulkOptions) -> Self {
        let blocks = survey.blocks(0..options.to + 1);
        let (firsts, without): (Vec<u64>, Vec<bool>) =
            blocks.map(|b| (b.first_tx.0, lacks_undo(b.undo.is_some(), b.height, options))).unzip();
        let any = without.iter().any(|w| *w);
        Heights { firsts, without, any }
    }

    fn height_of(&self, tx_num: TxNum) -> u32 {
        self.firsts.partition_point(|first| *first <= tx_num.0).saturating_sub(1) as u32
    }

    fn lacks_undo(&self, spender: TxNum) -> bool {
        self.any && self.without[self.height_of(spender) as usize]
    }
}
