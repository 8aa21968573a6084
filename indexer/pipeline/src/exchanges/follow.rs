//! Recomputes exchange flows periodically and adds the blocks since.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use cairn_events::EntityName;
use cairn_model::{CancelToken, Height, Sats};
use cairn_reader::{ReadError, View};
use cairn_tables::{
    TableInfo,
    exchange_flows::{ExchangeFlows, FlowBlockRow, FlowBlocks, FlowKey, FlowSum, FlowsHead, FlowsHeadRow},
    sums::Sums,
};
use cairn_writer::WriteError;

use super::{Exchanges, FlowGeneration, can_make, change, flows_of_block, make, overflow};
use crate::{Engine, PipelineError, Progress, background::Outcome};

/// Blocks after which the flows are made again: a day.
const EVERY: u32 = 144;
/// The same, after a document has changed which scripts are members of exchanges: an hour.
const EVERY_CHANGE: u32 = 6;
/// Blocks that are added in one commit, while no new block can be taken in. If more are missing, they wait for the next
/// generation.
const MAX_AT_ONCE: u32 = 144;
/// Blocks that are added to a generation: a week's, if the next one cannot be made.
const MAX_SINCE: u32 = 1_008;
/// Blocks that keep the balances of exchanges: a reorganization goes back to the newest of them.
const HELD_BLOCKS: u32 = 12;
/// Rows of a commit.
const ROWS: usize = 8_192;

/// Keeps the flows of exchanges of an engine up to date.
pub(crate) struct FlowFollower<'e> {
    pub(crate) engine: &'e Engine,
}

impl FlowFollower<'_> {
    /// As [`Engine::follow_flows`].
    pub(crate) fn follow(&self, progress: &dyn Progress, waits: bool) -> Result<bool, PipelineError> {
        if self.engine.tip()?.is_none() {
            return Ok(false);
        }
        let view = self.engine.reader.view()?;
        match self.follow_undamaged(progress, waits) {
            Err(error) if error.is_damage() => self.cannot(&view, &error).map(|()| false),
            wrote => wrote,
        }
    }

    fn follow_undamaged(&self, progress: &dyn Progress, waits: bool) -> Result<bool, PipelineError> {
        let mut view = self.engine.reader.view()?;
        let taken = self.engine.flows.making.take(waits);
        // A result that is not written, since its block is gone, is begun again.
        let is_done = taken.is_some();
        let mut wrote = taken.map_or(Ok(false), |made| self.take(&view, made))?;
        let now = (view.tip().hash, view.tip().seq);
        let seen = *self.engine.flows.seen.lock();
        if !is_done && seen == Some(now) || !can_make(&view)? {
            return Ok(wrote);
        }
        let exchanges = Exchanges::read(&view)?;
        if !self.engine.flows.making.is_busy(view.tip().height) && is_due(&view, &exchanges, waits)? {
            let dir = self.engine.datadir.join("exchange-flows");
            if waits {
                let made = make(&view, Some(&dir), progress.cancel_token());
                wrote |= self.take(&view, made)?;
            } else {
                let reader = Arc::clone(&self.engine.reader);
                let work = move |cancel: &CancelToken| make(&reader.view()?, Some(&dir), cancel);
                self.engine.flows.making.start("flows", work);
            }
        }
        if wrote {
            view = self.engine.reader.view()?;
        }
        wrote |= self.add_since(&view, &exchanges, progress.cancel_token())?;
        *self.engine.flows.seen.lock() = Some(now);
        Ok(wrote)
    }

    /// Logs an error and tries again some blocks later: it must not stop blocks.
    fn cannot(&self, view: &View<'_>, error: &PipelineError) -> Result<(), PipelineError> {
        if error.is_damage() {
            tracing::error!(%error, "flows of exchanges cannot be made: `cairn verify` says what is damaged");
        } else {
            tracing::error!(%error, "flows of exchanges cannot be made; it is tried again");
        }
        self.engine.flows.making.rest(view.tip().height);
        Ok(())
    }

    /// Writes a finished generation, if its block is still there.
    fn take(&self, view: &View<'_>, made: Outcome<FlowGeneration>) -> Result<bool, PipelineError> {
        match made {
            Ok(Some(made)) if view.chain().is(made.height, &made.hash) => self.write(&made).map(|()| true),
            Ok(_) => Ok(false),
            Err(PipelineError::Stopped) => Err(PipelineError::Stopped),
            Err(error) => self.cannot(view, &error).map(|()| false),
        }
    }

    fn write(&self, made: &FlowGeneration) -> Result<(), PipelineError> {
        let old = self.engine.reader.view()?.get::<FlowsHead>(&())?.map(|head| head.generation);
        let generation = old.map_or(0, |old| 1 - old);
        let clear = |generation: u8| {
            self.engine.writer.commit::<WriteError>(|batch| {
                batch.delete_beginning::<ExchangeFlows>(&[generation]);
                Ok(())
            })
        };
        // Removes the rows that a killed process left of it.
        clear(generation)?;
        let rows: Vec<_> = made.rows.iter().collect();
        for rows in rows.chunks(ROWS) {
            self.engine.writer.commit::<WriteError>(|batch| {
                for ((mode, exchange, day), sums) in rows {
                    let key = FlowKey { generation, mode: *mode, exchange: exchange.clone(), day: *day };
                    batch.put_row::<ExchangeFlows>(&key, sums);
                }
                Ok(())
            })?;
        }
        let FlowGeneration { height, hash, seq, mark, held, .. } = made;
        let head =
            FlowsHeadRow { generation, height: *height, hash: *hash, seq: *seq, mark: *mark, held: held.clone() };
        self.engine.writer.commit::<WriteError>(|batch| {
            batch.put_row::<FlowsHead>(&(), &head);
            batch.delete_range::<FlowBlocks>(&0, &Height::MAX);
            Ok(())
        })?;
        Ok(old.map_or(Ok(()), clear)?)
    }

    /// Adds the flows of the blocks since, if they follow what there is.
    fn add_since(&self, view: &View<'_>, exchanges: &Exchanges, cancel: &CancelToken) -> Result<bool, PipelineError> {
        let head = match view.flows().head() {
            Err(ReadError::Unfinished(_)) => return Ok(false),
            head => head?,
        };
        let tip = view.tip().height;
        let (base, held) = base_of(view, &head)?;
        if base == tip || tip - base > MAX_AT_ONCE || tip - head.height > MAX_SINCE {
            return Ok(false);
        }
        let mut before = held;
        let mut rows: Vec<(Height, FlowBlockRow)> = Vec::new();
        for height in base + 1..=tip {
            PipelineError::if_cancelled(cancel)?;
            let lacks = || ReadError::Broken(format!("block {height} is missing"));
            let block = view.journal_block(height)?.ok_or_else(lacks)?;
            let flows = flows_of_block(view, exchanges, &block)?;
            for (exchange, sums) in &flows {
                if let Some(exchange) = exchange {
                    *before.entry(exchange.clone()).or_default() += change(sums);
                }
            }
            rows.push((height, FlowBlockRow { hash: block.hash, flows, held: Vec::new() }));
        }
        // The difference that flows do not explain comes from labels and clusters that have changed meanwhile.
        if let Some((_, row)) = rows.last_mut() {
            row.held = exchanges.held().map(|(exchange, sats)| (exchange.clone(), sats)).collect();
            reclassify(row, &before)?;
        }
        let old = view.flows().blocks_after(head.height)?.into_iter();
        let is_old = |(height, row): &(Height, FlowBlockRow)| *height + HELD_BLOCKS <= tip && !row.held.is_empty();
        let old: Vec<(Height, FlowBlockRow)> = old.filter(is_old).collect();
        self.engine.writer.commit::<WriteError>(|batch| {
            for (height, row) in old {
                batch.put_row::<FlowBlocks>(&height, &FlowBlockRow { held: Vec::new(), ..row });
            }
            batch.delete_range::<FlowBlocks>(&(base + 1), &Height::MAX);
            rows.iter().for_each(|(height, row)| batch.put_row::<FlowBlocks>(height, row));
            Ok(())
        })?;
        Ok(true)
    }

    /// Removes the flows: they are made again when the chain is followed next.
    pub(crate) fn forget(&self) -> Result<(), PipelineError> {
        *self.engine.flows.seen.lock() = None;
        [TableInfo::of::<FlowsHead>(), TableInfo::of::<ExchangeFlows>(), TableInfo::of::<FlowBlocks>()]
            .iter()
            .try_for_each(|table| Ok(self.engine.writer.clear(table)?))
    }
}

/// Whether they must be made: there are none, their block is gone or old, or documents have changed members.
fn is_due(view: &View<'_>, exchanges: &Exchanges, waits: bool) -> Result<bool, ReadError> {
    let head = match view.flows().head() {
        Err(ReadError::Unfinished(_)) => return Ok(true),
        head => head?,
    };
    let is_older = |blocks: u32| view.tip().height >= head.height.saturating_add(blocks);
    Ok(is_older(EVERY) || head.mark != exchanges.mark && (waits || is_older(EVERY_CHANGE)))
}

/// Balances of exchanges, in satoshis.
type Holdings = BTreeMap<EntityName, i128>;

/// The newest block with known balances of exchanges, and these balances.
fn base_of(view: &View<'_>, head: &FlowsHeadRow) -> Result<(Height, Holdings), ReadError> {
    let since = view.flows().blocks_after(head.height)?;
    let holdings = |held: &mut dyn Iterator<Item = (EntityName, Sats)>| -> Holdings {
        held.map(|(exchange, sats)| (exchange, i128::from(sats))).collect()
    };
    Ok(match since.into_iter().rfind(|(_, row)| !row.held.is_empty()) {
        Some((height, row)) => (height, holdings(&mut row.held.into_iter())),
        None => (head.height, holdings(&mut head.held.iter().map(|held| (held.exchange.clone(), held.latest)))),
    })
}

/// Adds to the row of the tip the difference between the balances of exchanges and those that follow from their flows.
fn reclassify(row: &mut FlowBlockRow, expected: &Holdings) -> Result<(), PipelineError> {
    let held: BTreeMap<&EntityName, Sats> = row.held.iter().map(|(exchange, sats)| (exchange, *sats)).collect();
    let names: BTreeSet<&EntityName> = held.keys().copied().chain(expected.keys()).collect();
    let mut flows: BTreeMap<Option<EntityName>, Sums> = std::mem::take(&mut row.flows).into_iter().collect();
    for exchange in names {
        let now = i128::from(held.get(exchange).copied().unwrap_or_default());
        let more = now - expected.get(exchange).copied().unwrap_or_default();
        if more == 0 {
            continue;
        }
        for of in [Some(exchange.clone()), None] {
            let sums = flows.entry(of).or_default();
            sums.add(FlowSum::Reclassified.position(), more).map_err(overflow)?;
        }
    }
    row.flows = flows.into_iter().filter(|(_, sums)| !sums.is_zero()).collect();
    Ok(())
}
