//! Compares the tables of late stages with the chain: each is folded again from the first block on.

use std::collections::BTreeMap;

use cairn_model::Height;
use cairn_reader::{ReadError, View};
use cairn_tables::{
    Table,
    exchange_flows::{ExchangeBalance, ExchangeFlows, FlowKey, FlowMode, FlowsHead},
    late::{LateUndo, UndoKey},
    stages::{LATE, StageInfo},
    watchlist::{WatchHead, Watchlist},
};

use super::{Check, Finding, damage::Damages, meter::Meter};
use crate::{
    PipelineError,
    exchanges::{Exchanges, FlowRows, held, make},
    late::{LateRows, can_follow, fold_of},
    watchlist::make as make_watchlist,
};

const NAME: &str = "late stages match the chain";

/// Blocks between two steps of progress.
const STEP: Height = 256;

/// Entries of histories from which flows are made again to be compared: they are all in memory.
const MAX_ENTRIES: u64 = 8_000_000;

/// Rows by their keys without the tag.
type Rows = BTreeMap<Vec<u8>, Vec<u8>>;

/// Compares them, as far as they have followed the chain.
pub(crate) fn audit(view: &View<'_>, meter: &mut Meter<'_>, damages: &mut Damages) -> Result<Check, PipelineError> {
    meter.begin(&[]);
    let mut finding = Finding::new(NAME);
    let mut figures = Vec::new();
    for (place, stage) in (0..).zip(LATE) {
        let followed = followed(view, stage)?;
        let Some(height) = followed.filter(|_| can_follow(stage, view).unwrap_or(false)) else {
            // A command that writes makes them.
            figures.push(format!("{} is not made yet", stage.name));
            continue;
        };
        let is_read = |name: &str| damages.listed.iter().any(|damage| damage.place == name);
        let reads = || stage.depends_on.iter().flat_map(|other| other.tables).chain(stage.tables);
        if damages.has_blocks() || reads().any(|table| is_read(table.name)) || is_read(LateUndo::NAME) {
            figures.push(format!("{} is not compared: tables are damaged", stage.name));
            continue;
        }
        match compare(view, meter, (place, stage), height) {
            Ok((rows, differences)) => {
                figures.push(format!("{}: {rows} rows at height {height}", stage.name));
                for (table, what) in differences {
                    finding.differs(damages, table, &what);
                }
            }
            Err(PipelineError::Read(error)) => {
                let detail = error.to_string();
                damages.take(error, stage.tables.first().map_or(LateUndo::NAME, |table| table.name), None)?;
                finding.expect(false, || detail);
            }
            Err(error) => return Err(error),
        }
    }
    figures.push(watchlist(view, meter, damages, &mut finding)?);
    figures.push(flows(view, meter, damages, &mut finding)?);
    Ok(finding.into_check(figures.join(", ")))
}

/// Compares the watchlist, if it is of the tip: its tables are those of the newest block.
fn watchlist(
    view: &View<'_>,
    meter: &mut Meter<'_>,
    damages: &mut Damages,
    finding: &mut Finding,
) -> Result<String, PipelineError> {
    let not_compared = |why: &str| Ok(format!("the watchlist is not compared: {why}"));
    if !damages.listed.is_empty() {
        return not_compared("tables are damaged");
    }
    let Some(head) = view.get::<WatchHead>(&())? else { return not_compared("it is not made yet") };
    if (head.height, head.hash) != (view.tip().height, view.tip().hash) {
        return not_compared("it is of an earlier block");
    }
    let Some(made) = make_watchlist(view, meter.cancel())? else { return not_compared("its tables are not made yet") };
    let rows = view.scan::<Watchlist>(None)?.collect::<Result<Vec<_>, _>>()?;
    for (table, is_same) in [(WatchHead::NAME, head == made.head), (Watchlist::NAME, rows == made.rows)] {
        if !is_same {
            finding.differs(damages, table, "it has other rows than follow from the chain");
        }
    }
    Ok(format!("watchlist: {} clusters", rows.len()))
}

/// Compares the flows of exchanges with the balances of exchanges; if they are of the tip and few, also with flows that
/// are made again from the index.
fn flows(
    view: &View<'_>,
    meter: &mut Meter<'_>,
    damages: &mut Damages,
    finding: &mut Finding,
) -> Result<String, PipelineError> {
    let not_compared = |why: &str| Ok(format!("flows of exchanges are not compared: {why}"));
    if !damages.listed.is_empty() {
        return not_compared("tables are damaged");
    }
    let head = match view.flows().head() {
        Err(ReadError::Unfinished(_)) => return not_compared("they are not made yet"),
        head => head?,
    };
    let mut rows = FlowRows::new();
    for row in view.scan::<ExchangeFlows>(None)? {
        let (FlowKey { generation, mode, exchange, day }, sums) = row?;
        if generation == head.generation {
            rows.insert((mode, exchange, day), sums);
        }
    }
    let mut differs = |table: &str, what: &str| finding.differs(damages, table, what);
    let [latest, then] = FlowMode::ALL.map(|mode| held(&rows, mode));
    let adds_up = |of: &ExchangeBalance| {
        let [latest, then] = [&latest, &then].map(|all| all.get(&of.exchange).copied().unwrap_or(Some(0)));
        (latest, then) == (Some(of.latest), Some(of.point_in_time))
    };
    let is_known = |(_, exchange, _): &(_, Option<_>, _)| {
        exchange.as_ref().is_none_or(|exchange| head.held.iter().any(|held| held.exchange == *exchange))
    };
    if !head.held.iter().all(adds_up) || !rows.keys().all(is_known) {
        differs(ExchangeFlows::NAME, "flows do not add up to what exchanges held");
    }
    let is_of_tip = (head.height, head.hash, head.seq) == (view.tip().height, view.tip().hash, view.tip().seq);
    let figure = format!("flows of {} exchanges at height {}: {} rows", head.held.len(), head.height, rows.len());
    if !is_of_tip {
        return Ok(format!("{figure}, which add up; labels or blocks have come since"));
    }
    if Exchanges::read(view)?.entries > MAX_ENTRIES {
        return Ok(format!("{figure}, which add up; they are too many to be made again"));
    }
    match make(view, None, meter.cancel()) {
        Ok(Some(made)) => {
            if rows != made.rows {
                differs(ExchangeFlows::NAME, "it has other rows than follow from the chain and the claims");
            }
            if (head.mark, &head.held) != (made.mark, &made.held) {
                differs(FlowsHead::NAME, "it has other figures than follow from the chain and the claims");
            }
            Ok(figure)
        }
        Ok(None) => Ok(format!("{figure}, which add up; labels are being made")),
        // Too many for memory.
        Err(error) if !error.is_damage() && !matches!(error, PipelineError::Stopped) => {
            Ok(format!("{figure}, which add up; they are too many to be made again"))
        }
        Err(error) => Err(error),
    }
}

/// The height that a late stage has followed the chain to; `None` if it has to be made, or to go back first.
fn followed(view: &View<'_>, stage: &StageInfo) -> Result<Option<Height>, PipelineError> {
    let found = view.checkpoint(stage.name)?;
    let found = found.filter(|found| found.is_of(stage) && view.chain().is(found.height, &found.hash));
    Ok(found.map(|found| found.height))
}

/// Rows of a stage, and its differences: table and description.
type Compared = (usize, Vec<(&'static str, String)>);

fn compare(
    view: &View<'_>,
    meter: &mut Meter<'_>,
    (place, stage): (u8, &StageInfo),
    to: Height,
) -> Result<Compared, PipelineError> {
    let mut differences = Vec::new();
    let mut rows = LateRows::empty();
    let mut fold = fold_of(stage, view, 0, &rows)?;
    let mut wrong_undo = 0u32;
    for height in 0..=to {
        fold.block(view, height, &mut rows, meter.cancel())?;
        let replaced = rows.end_block();
        if let Some(kept) = view.get::<LateUndo>(&UndoKey { stage: place, height })? {
            wrong_undo += u32::from(kept.rows != replaced);
        }
        if height.is_multiple_of(STEP) {
            meter.at(height.into(), u64::from(to) + 1)?;
        }
    }
    if wrong_undo > 0 {
        differences.push((LateUndo::NAME, format!("{wrong_undo} blocks of {} are kept otherwise", stage.name)));
    }
    let made = rows.into_rows();
    let mut count = 0;
    for table in stage.tables {
        let mut found = Rows::new();
        view.tables().rows(table, |key, value| drop(found.insert(key.to_vec(), value.to_vec())))?;
        let of_table = |key: &[u8]| key.first().copied() == table.tag;
        let expected: Rows = made
            .iter()
            .filter(|(key, _)| of_table(key))
            .filter_map(|(key, row)| Some((key.get(1..)?.to_vec(), row.clone()?)))
            .collect();
        count += found.len();
        if found != expected {
            let wrong = expected.iter().filter(|(key, row)| found.get(*key) != Some(row)).count();
            let more = found.keys().filter(|key| !expected.contains_key(*key)).count();
            differences.push((table.name, format!("{wrong} rows lack or differ, {more} are too many")));
        }
    }
    Ok((count, differences))
}
