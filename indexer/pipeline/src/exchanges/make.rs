//! Makes a generation of flows.

use std::{collections::BTreeMap, path::Path};

use cairn_domain::exchange_flows::Part;
use cairn_events::EntityName;
use cairn_model::{BlockHash, CancelToken, DAY_SECS, Height, Sats, ScriptId, TxNum, day_of};
use cairn_reader::{ReadError, Tip, View};
use cairn_tables::{
    block_log::TXS_PER_ROW,
    exchange_flows::{ExchangeBalance, FlowMode},
    stages::{AGES, CLUSTERS, SCRIPTS},
    tx_sums::{TxSum, TxSums, TxSumsRow},
};

use super::{
    assign::{ScriptReceiver, assign},
    buckets::{Buckets, Item, SpillError},
    known::{ExchangeId, Exchanges},
    sums::{DaySums, FlowRows, Parts, held, overflow},
    timeline::{Owner, Spans},
};
use crate::PipelineError;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FlowGeneration {
    pub(crate) height: Height,
    pub(crate) hash: BlockHash,
    /// The newest input event that the labels had.
    pub(crate) seq: u64,
    pub(crate) mark: [u8; 8],
    pub(crate) held: Vec<ExchangeBalance>,
    pub(crate) rows: FlowRows,
}

/// Whether the tables that flows are made from can be read, and labels follow from all claims.
pub(crate) fn can_make(view: &View<'_>) -> Result<bool, ReadError> {
    for stage in [AGES, SCRIPTS, CLUSTERS] {
        match view.require(&stage) {
            Err(ReadError::Unfinished(_) | ReadError::StageVersion { .. }) => return Ok(false),
            other => other?,
        }
    }
    view.labels().are_settled()
}

impl From<SpillError> for PipelineError {
    fn from(SpillError { path, source }: SpillError) -> Self {
        PipelineError::io(path)(source)
    }
}

/// Makes the flows of all blocks up to the tip of a view; `None` while the tables that they are made from are being
/// made. Without a folder for data that does not fit in memory, few flows can be made.
pub(crate) fn make(
    view: &View<'_>,
    dir: Option<&Path>,
    cancel: &CancelToken,
) -> Result<Option<FlowGeneration>, PipelineError> {
    if !can_make(view)? {
        return Ok(None);
    }
    let exchanges = Exchanges::read(view)?;
    let mut reading = Reading { view, buckets: Buckets::new(dir)?, sums: DaySums::default() };
    assign(view, &exchanges, cancel, &mut reading)?;
    let rows = reading.add_up(cancel)?.rows(&exchanges).map_err(overflow)?;
    let held = balances(&exchanges, &rows)?;
    let &Tip { height, hash, seq, .. } = view.tip();
    Ok(Some(FlowGeneration { height, hash, seq, mark: exchanges.mark, held, rows }))
}

/// Returns the balances of exchanges by their flows; those by the latest labels must equal the balances of their
/// scripts.
fn balances(exchanges: &Exchanges, rows: &FlowRows) -> Result<Vec<ExchangeBalance>, ReadError> {
    let [latest, point_in_time] = FlowMode::ALL.map(|mode| held(rows, mode));
    let of = |held: &BTreeMap<EntityName, Option<Sats>>, exchange| held.get(exchange).copied().unwrap_or(Some(0));
    let mut all = Vec::new();
    for (exchange, sats) in exchanges.held() {
        let wrong = |what: &str| ReadError::Broken(format!("the flows of exchange {exchange} {what}"));
        if of(&latest, exchange) != Some(sats) {
            return Err(wrong("do not add up to what its scripts hold"));
        }
        let then = of(&point_in_time, exchange).ok_or_else(|| wrong("add up to less than nothing"))?;
        all.push(ExchangeBalance { exchange: exchange.clone(), latest: sats, point_in_time: then });
    }
    Ok(all)
}

struct Reading<'v> {
    view: &'v View<'v>,
    buckets: Buckets,
    sums: DaySums,
}

impl ScriptReceiver for Reading<'_> {
    fn receive(&mut self, script: ScriptId, spans: &Spans, latest: Option<ExchangeId>) -> Result<(), PipelineError> {
        if latest.is_none() && spans.iter().all(|span| span.1.is_none()) {
            return Ok(());
        }
        let mut cursor = OwnerCursor { spans, next: 0, owner: None, known_from: TxNum(0) };
        let mut balance: i64 = 0;
        for row in self.view.scripts().history_rows(script)? {
            for entry in row?.entries {
                cursor.pass(self.view, entry.tx_num, balance, &mut self.sums)?;
                let is_known_later = cursor.owner.is_some() && entry.tx_num < cursor.known_from;
                let exchange = cursor.owner.map(|owner| owner.exchange);
                let item = |exchange, is_latest, is_point_in_time| Item {
                    tx_num: entry.tx_num,
                    exchange,
                    is_latest,
                    is_point_in_time,
                    is_backfilled: is_point_in_time && is_known_later,
                    sent: entry.sent,
                    received: entry.received,
                };
                match (latest, exchange) {
                    (Some(latest), Some(exchange)) if latest == exchange => {
                        self.buckets.add(&item(exchange, true, true))?;
                    }
                    (latest, exchange) => {
                        latest.map_or(Ok(()), |latest| self.buckets.add(&item(latest, true, false)))?;
                        exchange.map_or(Ok(()), |exchange| self.buckets.add(&item(exchange, false, true)))?;
                    }
                }
                let change = i64::try_from(i128::from(entry.received) - i128::from(entry.sent));
                let after = change.ok().and_then(|change| balance.checked_add(change));
                balance = after.ok_or_else(|| ReadError::Broken("a balance is out of range".to_owned()))?;
            }
        }
        cursor.pass(self.view, TxNum(u64::MAX), balance, &mut self.sums)
    }
}

/// The owner of a script over time, while its history is read.
struct OwnerCursor<'s> {
    spans: &'s Spans,
    next: usize,
    owner: Option<Owner>,
    /// The first transaction of the day on which the owner was known.
    known_from: TxNum,
}

impl OwnerCursor<'_> {
    /// Passes the changes up to a transaction; `balance` is what the script holds before it.
    fn pass(&mut self, view: &View<'_>, tx_num: TxNum, balance: i64, sums: &mut DaySums) -> Result<(), PipelineError> {
        while let Some((height, owner)) = self.spans.get(self.next) {
            let lacks = || ReadError::Broken(format!("block {height} is missing"));
            let block = view.chain().get(*height).ok_or_else(lacks)?;
            if block.first_tx > tx_num {
                break;
            }
            let day = day_of(block.mono_time);
            let exchange = |owner: &Option<Owner>| owner.map(|owner| owner.exchange);
            if exchange(owner) != exchange(&self.owner) {
                let mode = FlowMode::PointInTime;
                for (exchange, sats) in [(exchange(&self.owner), -balance), (exchange(owner), balance)] {
                    exchange
                        .filter(|_| sats != 0)
                        .map_or(Ok(()), |exchange| sums.reclassified(mode, exchange, day, sats))
                        .map_err(overflow)?;
                }
            }
            self.owner = *owner;
            self.known_from = owner.map_or(TxNum(0), |owner| {
                let before = owner.known.saturating_mul(DAY_SECS).checked_sub(1);
                let last = before.and_then(|time| view.chain().height_at(time));
                let first = view.chain().get(last.map_or(0, |height| height + 1));
                first.map_or(TxNum(u64::MAX), |block| block.first_tx)
            });
            self.next += 1;
        }
        Ok(())
    }
}

impl Reading<'_> {
    /// Adds up the items that were read, transaction by transaction.
    fn add_up(mut self, cancel: &CancelToken) -> Result<DaySums, PipelineError> {
        let mut txs = TxFigures { view: self.view, row: None };
        while let Some(items) = self.buckets.take()? {
            for items in items.chunk_by(|a, b| a.tx_num == b.tx_num) {
                let Some(first) = items.first() else { continue };
                PipelineError::if_cancelled(cancel)?;
                let (day, moved) = txs.figures(first.tx_num)?;
                for mode in FlowMode::ALL {
                    let parts = parts(items, mode);
                    self.sums.transaction(mode, day, moved, &parts).map_err(overflow)?;
                }
            }
        }
        Ok(self.sums)
    }
}

fn parts(items: &[Item], mode: FlowMode) -> BTreeMap<ExchangeId, Parts> {
    let mut parts: BTreeMap<ExchangeId, Parts> = BTreeMap::new();
    for item in items {
        let (counts, is_backfilled) = match mode {
            FlowMode::Latest => (item.is_latest, false),
            FlowMode::PointInTime => (item.is_point_in_time, item.is_backfilled),
        };
        if !counts {
            continue;
        }
        let of = parts.entry(item.exchange).or_default();
        let add = |part: &mut Part| {
            part.sent = part.sent.saturating_add(item.sent);
            part.received = part.received.saturating_add(item.received);
        };
        add(&mut of.all);
        if is_backfilled {
            add(&mut of.backfilled);
        }
    }
    parts
}

/// Days, fees and inputs of transactions that ascend.
struct TxFigures<'v> {
    view: &'v View<'v>,
    row: Option<(TxNum, TxSumsRow)>,
}

impl TxFigures<'_> {
    fn figures(&mut self, tx_num: TxNum) -> Result<(u32, TxSum), ReadError> {
        let lacks = || ReadError::Lacks { table: "tx_sums", what: format!("transaction {}", tx_num.0) };
        let chain = self.view.chain();
        let block = chain.height_of(tx_num).and_then(|height| chain.get(height)).ok_or_else(lacks)?;
        let place = (tx_num.0 - block.first_tx.0) as usize;
        let first = TxNum(block.first_tx.0 + (place - place % TXS_PER_ROW) as u64);
        if self.row.as_ref().is_none_or(|(of, _)| *of != first) {
            self.row = Some((first, self.view.get::<TxSums>(&first)?.ok_or_else(lacks)?));
        }
        let moved = self.row.as_ref().and_then(|(_, row)| row.0.get(place % TXS_PER_ROW));
        Ok((day_of(block.mono_time), *moved.ok_or_else(lacks)?))
    }
}
