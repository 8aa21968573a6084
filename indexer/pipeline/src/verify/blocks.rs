//! Walks the journal and the coin table together: both are in transaction order.

use std::collections::BTreeMap;

use bitcoin::hashes::{Hash, sha256d};
use cairn_model::{
    Block, BlockHash, Height, MuHash, Outpoint, Sats, ScriptId, ScriptPrefix, ScriptTemplate, TxNum, coin_bytes,
};
use cairn_reader::{ReadError, Scan, View};
use cairn_stages::{CHAIN, MapContext, Merge, Stage, StageError};
use cairn_tables::{
    Table,
    block_log::BlockLog,
    clusters::Clusters,
    coins::{Coin, Coins},
    headers::{HeaderRow, Headers},
    journal::Collisions,
    prevouts::Prevouts,
};

use super::{
    Check, Finding, clusters,
    damage::{Damage, Damages, Repair},
    meter::Meter,
    pings,
    raw::RawCheck,
    tally::Tallies,
};
use crate::{PipelineError, times::IndexTimes};

/// Results of the walk besides damage.
pub(crate) struct ChainAudit {
    pub(crate) checks: Vec<Check>,
    pub(crate) coins: u64,
    pub(crate) supply: Sats,
    pub(crate) muhash: MuHash,
}

/// Sums over the blocks that could be read.
#[derive(Default)]
struct Sums {
    coins: u64,
    supply: Sats,
    // Coins move many times: the sum of all outputs is a multiple of the supply.
    made: u128,
    spent: u128,
    burned: u128,
    gone: u128,
    made_count: u64,
    spent_count: u64,
    // A block issues a negative amount if its miner did not claim all fees.
    issued: i128,
    allowed: i128,
}

type Rows<'v, 'r> = std::iter::Peekable<Scan<'v, 'r, Coins>>;

struct Walk<'a, 'v, 'r> {
    view: &'v View<'r>,
    tallies: &'a mut Tallies,
    damages: &'a mut Damages,
    headers: Finding,
    coins: Finding,
    sums: Sums,
    muhash: MuHash,
    bytes: Vec<u8>,
    /// `None` once the table could not be read on.
    table: Option<Rows<'v, 'r>>,
    /// Hash of the last block, its monotone time, and one past its last transaction; `None` behind a damaged one.
    previous: Option<(BlockHash, u32, TxNum)>,
    /// Scripts that share a prefix, as `collisions` has them; `None` if it cannot be read.
    known: Option<BTreeMap<ScriptPrefix, Vec<(TxNum, Vec<u8>)>>>,
    /// Scripts that share a prefix, read from the outputs of the journal.
    seen: BTreeMap<ScriptId, (TxNum, Vec<u8>)>,
    /// Stages whose tables are compared row by row with what they make of the blocks.
    mapped: Vec<Box<dyn Stage>>,
    times: IndexTimes,
}

/// The stages of which every row comes from one block, or is a sum over blocks; without the journal.
pub(crate) fn mapped() -> impl Iterator<Item = Box<dyn Stage>> {
    let only_maps = |stage: &dyn Stage| stage.lanes().iter().all(|lane| matches!(lane.merge, Merge::Put | Merge::Add));
    cairn_stages::all().into_iter().filter(move |stage| stage.name() != CHAIN && only_maps(stage.as_ref()))
}

pub(crate) fn audit(
    view: &View<'_>,
    raw: RawCheck,
    meter: &mut Meter<'_>,
    tallies: &mut Tallies,
    damages: &mut Damages,
) -> Result<ChainAudit, PipelineError> {
    let mut table = None;
    match view.scan::<Coins>(None) {
        Ok(rows) => table = Some(rows.peekable()),
        Err(error) => damages.take(error, Coins::NAME, None)?,
    }
    // Damage there is noted where all tables are read.
    let known = view.scan::<Collisions>(None)?.map(|row| row.map(|(prefix, row)| (prefix, row.0)));
    let mut walk = Walk {
        view,
        tallies,
        damages,
        headers: Finding::new("headers form a chain"),
        coins: Finding::new("coins are unspent outputs"),
        sums: Sums::default(),
        muhash: MuHash::new(),
        bytes: Vec::new(),
        table,
        previous: Some((BlockHash::default(), 0, TxNum(0))),
        known: known.collect::<Result<_, ReadError>>().ok(),
        seen: BTreeMap::new(),
        mapped: mapped().collect(),
        times: IndexTimes(view.chain().clone()),
    };
    meter.begin(&[Headers::FAMILY, BlockLog::FAMILY, Prevouts::FAMILY, Coins::FAMILY]);
    let last = view.tip().height;
    let mut from = 0;
    while from <= last {
        let Err(error) = walk.run(&mut from, last, raw, meter)? else { break };
        // A damaged block is noted, and the walk starts again behind it.
        walk.previous = None;
        walk.damages.take(error, BlockLog::NAME, Some(from))?;
        from += 1;
    }
    walk.finish()
}

impl Walk<'_, '_, '_> {
    /// Walks on from a height up to the first damage, which is the inner error.
    fn run(
        &mut self,
        from: &mut Height,
        last: Height,
        raw: RawCheck,
        meter: &Meter<'_>,
    ) -> Result<Result<(), ReadError>, PipelineError> {
        let blocks = match self.view.journal(*from, last) {
            Ok(blocks) => blocks,
            Err(error) => return Ok(Err(error)),
        };
        for block in blocks {
            let block = match block {
                Ok(block) => block,
                Err(error) => return Ok(Err(error)),
            };
            if block.height != *from {
                return Ok(Err(ReadError::Broken(format!("the header of height {from} is missing"))));
            }
            self.block(&block)?;
            if let Some(damage) = raw.compare(self.view, &block) {
                self.damages.note(damage);
            }
            *from = block.height + 1;
            meter.at(u64::from(*from), u64::from(last) + 1)?;
        }
        let whole = *from > last;
        Ok(if whole { Ok(()) } else { Err(ReadError::Broken(format!("headers end below height {from}"))) })
    }

    fn block(&mut self, block: &Block) -> Result<(), PipelineError> {
        if let Some(what) = self.wrong_with(block)? {
            self.headers.expect(false, || format!("height {}: {what}", block.height));
            let (place, height) = (Headers::NAME.to_owned(), Some(block.height));
            self.damages.note(Damage { place, height, what: what.to_owned(), repair: Repair::Blocks });
        }
        self.previous = Some((block.hash, block.mono_time, TxNum(block.first_tx.0 + block.txs.len() as u64)));
        self.tallies.expect_block(block, self.view.facts().txid_prefix);
        self.expect_mapped(block)?;
        self.nodes(block)?;
        pings::expect(self.view, block, self.tallies, self.damages)?;
        let sums = &mut self.sums;
        let fees: Sats = HeaderRow::of(block).fees;
        let coinbase = block.txs.first().map_or(&[][..], |tx| block.outputs_of(tx));
        let coinbase: Sats = coinbase.iter().map(|o| o.value).fold(0, Sats::saturating_add);
        sums.issued += i128::from(coinbase) - i128::from(fees);
        sums.allowed += i128::from(self.view.network().subsidy_sats(block.height));
        sums.spent += block.inputs.iter().map(|i| u128::from(i.value)).sum::<u128>();
        sums.spent_count += (block.inputs.len() + block.overwritten.len()) as u64;
        sums.gone += block.overwritten.iter().map(|o| u128::from(o.coin.value)).sum::<u128>();
        for (i, tx) in block.txs.iter().enumerate() {
            let tx_num = block.tx_num(i);
            for (vout, output) in block.outputs_of(tx).iter().enumerate() {
                if !output.spendable {
                    self.sums.burned += u128::from(output.value);
                    continue;
                }
                self.sums.made += u128::from(output.value);
                self.sums.made_count += 1;
                let script = block.script(output);
                let collides = self.known.as_ref().is_some_and(|known| known.contains_key(&output.id.prefix));
                if collides || output.id.ordinal > 0 {
                    self.seen.entry(output.id).or_insert_with(|| (tx_num, script.to_vec()));
                }
                let Some(coin) = self.coin(Outpoint { tx_num, vout: vout as u32 })? else { continue };
                let template = ScriptTemplate::of(script);
                let agrees = coin == Coin { value: output.value, script: output.id, coinbase: i == 0, template };
                self.coins.expect(agrees, || format!("output {vout} of {}", tx.txid));
                let outpoint = Outpoint { tx_num, vout: vout as u32 };
                self.tallies.find_coin(outpoint, coin, block.height);
                self.sums.coins += 1;
                self.sums.supply = self.sums.supply.saturating_add(coin.value);
                self.bytes.clear();
                let bytes = &mut self.bytes;
                coin_bytes(&tx.txid, outpoint.vout, block.height, coin.coinbase, coin.value, script, bytes);
                self.muhash.insert(bytes);
            }
        }
        Ok(())
    }

    /// Notes the rows of a block that the tables of stages that only map must have.
    fn expect_mapped(&mut self, block: &Block) -> Result<(), StageError> {
        let context = MapContext { txid_prefix: self.view.facts().txid_prefix, times: &self.times };
        let (mut result, tallies) = (Ok(()), &mut *self.tallies);
        for stage in &self.mapped {
            stage.map(block, &context, &mut |lane, key, value| {
                if result.is_ok() {
                    result = tallies.expect_emitted(&stage.lanes()[lane], key, value);
                }
            });
        }
        Ok(result?)
    }

    /// The transactions of a block that tie clusters together.
    fn nodes(&mut self, block: &Block) -> Result<(), PipelineError> {
        match clusters::nodes_of(self.view, block, &mut self.tallies.clusters) {
            Ok(None) => Ok(()),
            Ok(Some((table, wrong))) => {
                self.damages.differs(table, wrong);
                Ok(())
            }
            // Not finished: that is reported where stages are compared with the tip.
            Err(ReadError::Unfinished(_) | ReadError::StageVersion { .. }) => Ok(()),
            Err(error) => self.damages.take(error, Clusters::NAME, None),
        }
    }

    /// The coin of an output, if there is one. Coins of outputs that were passed over are counted as differences.
    fn coin(&mut self, at: Outpoint) -> Result<Option<Coin>, PipelineError> {
        while let Some(table) = &mut self.table {
            match table.next_if(|row| row.as_ref().map_or(true, |(found, _)| *found <= at)) {
                None => return Ok(None),
                Some(Ok((found, coin))) if found == at => return Ok(Some(coin)),
                Some(Ok((found, _))) => {
                    // Outputs of a damaged block are unknown.
                    let known = !self.damages.has_blocks();
                    self.coins.expect(!known, || format!("a coin without an output: {found:?}"));
                }
                Some(Err(error)) => {
                    self.table = None;
                    self.damages.take(error, Coins::NAME, None)?;
                }
            }
        }
        Ok(None)
    }

    /// Returns the contradiction of a block with itself or the block before, if there is one.
    fn wrong_with(&self, block: &Block) -> Result<Option<&'static str>, PipelineError> {
        let row = self.view.header(block.height)?;
        let (hash, mono_time, first_tx) = match self.previous {
            Some((hash, mono_time, first_tx)) => (hash, block.time().max(mono_time), first_tx),
            None => (block.previous(), block.mono_time, block.first_tx),
        };
        let txids = block.txs.iter().map(|tx| sha256d::Hash::from_byte_array(tx.txid.0));
        let root = bitcoin::merkle_tree::calculate_root(txids).map(|root| root.to_byte_array());
        Ok(if block.previous() != hash {
            Some("it does not follow the block before")
        } else if sha256d::Hash::hash(&block.header).to_byte_array() != block.hash.0 {
            Some("its header has another hash")
        } else if block.mono_time != mono_time {
            Some("wrong monotone time")
        } else if block.first_tx != first_tx {
            Some("wrong number of its first transaction")
        } else if root.as_ref().map(|root| &root[..]) != block.header.get(36..68) {
            Some("its transactions do not match its Merkle root")
        } else if row != Some(HeaderRow::of(block)) {
            Some("its sums do not match its transactions")
        } else {
            None
        })
    }

    fn finish(mut self) -> Result<ChainAudit, PipelineError> {
        // No output is behind the last one.
        while self.coin(Outpoint { tx_num: TxNum(u64::MAX), vout: u32::MAX })?.is_some() {}
        let tip = *self.view.tip();
        let Sums { coins, supply, made, spent, burned, gone, made_count, spent_count, issued, allowed } = self.sums;
        let mut sums = Finding::new("supply matches issuance");
        // With damage, sums say nothing.
        if self.table.is_some() && !self.damages.has_blocks() {
            self.coins.expect(coins + spent_count == made_count, || {
                format!("{made_count} coins made, {spent_count} spent or overwritten, {coins} left")
            });
            let left = u128::from(supply);
            sums.expect(left + spent + gone == made, || {
                format!("made {made}, spent {spent}, overwritten {gone}, left {supply}")
            });
            sums.expect((left + burned + gone) as i128 == issued, || {
                format!("issued {issued}, unspendable {burned}, overwritten {gone}, left {supply}")
            });
            sums.expect(issued <= allowed, || format!("issued {issued} sats, the subsidy allows {allowed}"));
            self.collisions();
        }
        self.rows_above_tip()?;
        let checks = vec![
            self.headers.into_check(format!("{} blocks, {} transactions", u64::from(tip.height) + 1, tip.tx_end.0)),
            self.coins.into_check(format!("{coins} coins, {supply} sats")),
            sums.into_check(format!("{issued} sats issued, {burned} unspendable, {gone} overwritten")),
        ];
        Ok(ChainAudit { checks, coins, supply, muhash: self.muhash })
    }

    /// Compares `collisions` with the outputs.
    fn collisions(&mut self) {
        let Some(known) = &self.known else { return };
        let rows = known.iter().flat_map(|(prefix, scripts)| {
            (0u8..).zip(scripts).map(|(ordinal, row)| (ScriptId { prefix: *prefix, ordinal }, row.clone()))
        });
        if !rows.eq(std::mem::take(&mut self.seen)) {
            self.damages.differs(Collisions::NAME, "other scripts share a prefix than in the journal".to_owned());
        }
    }

    /// Nothing of the journal lies above the tip.
    fn rows_above_tip(&mut self) -> Result<(), PipelineError> {
        let tip = *self.view.tip();
        let found = [
            (Headers::NAME, self.view.scan::<Headers>(Some(&(tip.height + 1)))?.next().map(|row| row.map(drop))),
            (BlockLog::NAME, self.view.scan::<BlockLog>(Some(&tip.tx_end))?.next().map(|row| row.map(drop))),
            (Prevouts::NAME, self.view.scan::<Prevouts>(Some(&tip.tx_end))?.next().map(|row| row.map(drop))),
        ];
        for (table, row) in found {
            match row {
                None => {}
                Some(Ok(())) => self.damages.differs(table, "it has rows above the tip".to_owned()),
                Some(Err(error)) => self.damages.take(error, table, None)?,
            }
        }
        Ok(())
    }
}
