//! Walks totals, history and coins by script together: all are in script order.

use std::iter::Peekable;

use cairn_model::{Sats, ScriptId, ScriptTemplate};
use cairn_reader::{ReadError, Scan, View};
use cairn_stages::{HearContext, Lane, NoPast, ReturnTally, ScriptDayTally, Spread};
use cairn_tables::{
    Table,
    clusters::ClusterOf,
    coins::{CoinValue, CoinsByScript},
    history::{ENTRIES_PER_ROW, History, HistoryEntry},
    returns::Returns,
    script_days::ScriptDays,
    totals::{Totals, TotalsTable},
};

use super::{
    Check, Finding,
    clusters::Nodes,
    damage::Damages,
    meter::{Meter, place},
    tally::{Fact, Tallies, is_long},
};
use crate::{PipelineError, error::unwrap_stage, times::IndexTimes};

/// Scripts between two steps of progress.
const STEP: u64 = 4096;
/// The first output of one in this many scripts is read.
const SAMPLE: u64 = 64;

pub(crate) fn audit(
    view: &View<'_>,
    supply: Sats,
    meter: &mut Meter<'_>,
    tallies: &mut Tallies,
    damages: &mut Damages,
) -> Result<Check, PipelineError> {
    meter.begin(&[TotalsTable::FAMILY, History::FAMILY, CoinsByScript::FAMILY, ClusterOf::FAMILY]);
    let mut finding = Finding::new("coins = history = totals, per script");
    let mut scripts = 0;
    let times = IndexTimes(view.chain().clone()).compact();
    let mut days = ScriptDayTally::new(HearContext { times: &times, past: &NoPast });
    // The supply is not known if coins cannot be read.
    let supply = (damages.count == 0).then_some(supply);
    let mut told = Ok(());
    let mut returns = ReturnTally::new(HearContext { times: &times, past: &NoPast });
    let mut tell = |id: ScriptId, template: ScriptTemplate, entry: &HistoryEntry, tallies: &mut Tallies| {
        if told.is_ok() {
            told = days.entry(id, template, entry).and_then(|()| {
                if returns.entry(id, entry)? {
                    tallies.expect(Fact::Returns, entry.tx_num);
                }
                Ok(())
            });
        }
    };
    let mut nodes = Nodes::open(view);
    let damage = match walk(view, supply, meter, tallies, (&mut finding, &mut tell, &mut nodes), &mut scripts) {
        Ok(()) => None,
        Err(PipelineError::Read(error)) => Some(error),
        Err(error) => return Err(error),
    };
    told.map_err(unwrap_stage)?;
    let whole = damage.is_none();
    nodes.finish(whole, &mut tallies.clusters, damages)?;
    if whole {
        let mut expected = Ok(());
        let lane = Lane::add::<ScriptDays>(Spread::Few);
        let mut expect = |_: usize, key: &[u8], value: &[u8]| {
            if expected.is_ok() {
                expected = tallies.expect_emitted(&lane, key, value);
            }
        };
        days.finish(&mut expect).map_err(unwrap_stage)?;
        expected.map_err(|error| unwrap_stage(error.into()))?;
    } else {
        tallies.do_not_compare(ScriptDays::NAME);
        tallies.do_not_compare(Returns::NAME);
    }
    if let Some(error) = damage {
        damages.take(error, TotalsTable::NAME, None)?;
        // The walk ends at the first damage of three tables; the others may have more.
        others::<TotalsTable>(view, damages)?;
        others::<History>(view, damages)?;
        others::<CoinsByScript>(view, damages)?;
    }
    let figures = if whole { format!("{scripts} scripts") } else { "not compared: a table is damaged".to_owned() };
    Ok(finding.into_check(figures))
}

/// Reads a table to find whether it is damaged, unless it is known to be.
fn others<T: Table>(view: &View<'_>, damages: &mut Damages) -> Result<(), PipelineError> {
    if damages.listed.iter().any(|damage| damage.place == T::NAME) {
        return Ok(());
    }
    let error = view.scan::<T>(None).and_then(|mut rows| rows.find_map(Result::err).map_or(Ok(()), Err));
    error.or_else(|error| damages.take(error, T::NAME, None))
}

type EntrySink<'t> = dyn FnMut(ScriptId, ScriptTemplate, &HistoryEntry, &mut Tallies) + 't;

/// Ends with [`PipelineError::Read`] at the first damage.
fn walk(
    view: &View<'_>,
    supply: Option<Sats>,
    meter: &Meter<'_>,
    tallies: &mut Tallies,
    (finding, tell, nodes): (&mut Finding, &mut EntrySink<'_>, &mut Nodes<'_, '_>),
    scripts: &mut u64,
) -> Result<(), PipelineError> {
    let mut coins = view.scan::<CoinsByScript>(None)?.peekable();
    let mut history = view.scan::<History>(None)?.peekable();
    let mut sum = 0u64;
    for row in view.scan::<TotalsTable>(None)? {
        let (id, totals) = row?;
        let (mut held, mut count) = (0u64, 0u64);
        while let Some(row) = coins.next_if(|row| row.as_ref().map_or(true, |((found, _), _)| *found == id)) {
            let ((_, outpoint), CoinValue(value)) = row?;
            tallies.find(Fact::CoinsByScript, (id, outpoint, value));
            (held, count) = (held.saturating_add(value), count + 1);
        }
        tallies.find_totals(id, &totals);
        let walked = walk_history(id, &totals, &mut history, tallies, tell)?;
        let agrees = (held, count) == (totals.balance(), totals.coin_count())
            && walked.received == totals.funded
            && walked.sent == totals.spent
            && walked.entries == totals.tx_count
            && walked.ends == Some((totals.first.tx_num, totals.tail, totals.last))
            && walked.marks_agree;
        finding.expect(agrees, || {
            let h = ScriptId::to_bytes(id);
            format!("script {h:02x?}: {count} coins hold {held}; totals {totals:?}; history {walked:?}")
        });
        if scripts.is_multiple_of(SAMPLE) && agrees {
            let first = first_output(view, id, &totals)?;
            finding.expect(first, || format!("script {id:02x?}: its first output has another script"));
        }
        nodes.script(id, held, &mut tallies.clusters);
        (*scripts, sum) = (*scripts + 1, sum.saturating_add(held));
        if scripts.is_multiple_of(STEP) {
            meter.at(place(&ScriptId::to_bytes(id)), 1 << 16)?;
        }
    }
    for row in [coins.next().map(|row| row.map(drop)), history.next().map(|row| row.map(drop))].into_iter().flatten() {
        row?;
        finding.expect(false, || "rows of a script without totals".to_owned());
    }
    if let Some(supply) = supply {
        finding.expect(sum == supply, || format!("scripts hold {sum} sats, the supply is {supply}"));
    }
    Ok(())
}

/// Whether the output that `totals` names as the script's first is one of the script.
fn first_output(view: &View<'_>, id: ScriptId, totals: &Totals) -> Result<bool, ReadError> {
    let script = match view.transactions().script_at(totals.first) {
        // Damage of the journal is found where it is read.
        Err(error) if error.is_damage() => return Ok(true),
        script => script?,
    };
    Ok(cairn_model::ScriptPrefix::of(&script, view.facts().script_prefix) == id.prefix)
}

#[derive(Debug, Default)]
struct HistoryWalk {
    entries: u64,
    received: Sats,
    sent: Sats,
    marks_agree: bool,
    /// First transaction, first one of the newest row, last one.
    ends: Option<(cairn_model::TxNum, cairn_model::TxNum, cairn_model::TxNum)>,
}

fn walk_history<'v, 'r: 'v>(
    id: ScriptId,
    totals: &Totals,
    history: &mut Peekable<Scan<'v, 'r, History>>,
    tallies: &mut Tallies,
    tell: &mut EntrySink<'_>,
) -> Result<HistoryWalk, ReadError> {
    let mut walked = HistoryWalk { marks_agree: true, ..HistoryWalk::default() };
    let mut last = None;
    while let Some(row) = history.next_if(|row| row.as_ref().map_or(true, |((found, _), _)| *found == id)) {
        let ((_, first), row) = row?;
        let row = row.absolute(first).map_err(ReadError::from)?;
        tallies.find_history(id, first, &row, is_long(totals.tx_count));
        let mark = (row.number.saturating_mul(ENTRIES_PER_ROW), row.received_before, row.sent_before);
        walked.marks_agree &= mark == (walked.entries, walked.received, walked.sent);
        for e in &row.entries {
            tell(id, totals.template, e, tallies);
            walked.marks_agree &= last < Some(e.tx_num);
            last = Some(e.tx_num);
            walked.entries += 1;
            walked.received = walked.received.saturating_add(e.received);
            walked.sent = walked.sent.saturating_add(e.sent);
            walked.ends = Some((walked.ends.map_or(first, |ends| ends.0), first, e.tx_num));
        }
    }
    Ok(walked)
}
