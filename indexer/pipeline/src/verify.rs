//! Audits the index: compares its tables with each other, coin by coin and script by script.

use cairn_model::{BlockHash, Height, MuHash, MuHashDigest, Outpoint, Sats, ScriptId, ScriptTemplate, coin_bytes};
use cairn_reader::{ReadError, Scan, StageStatus, View};
use cairn_tables::{
    coins::{Coin, CoinValue, Coins, CoinsByScript},
    headers::Headers,
    history::{ENTRIES_PER_ROW, History, HistoryIndex, ROWS_PER_INDEX},
    spenders::Spenders,
    totals::TotalsTable,
};

use crate::{Phase, PipelineError, Progress, ProgressStep, bulk::step};

/// One comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// What was compared.
    pub name: &'static str,
    /// True if it matched.
    pub ok: bool,
    /// Figures, or the first difference.
    pub detail: String,
}

/// What an audit found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Audit {
    /// The comparisons.
    pub checks: Vec<Check>,
    /// Height of the audited tip.
    pub height: Height,
    /// Its hash.
    pub hash: BlockHash,
    /// Number of coins.
    pub coins: u64,
    /// Their sum.
    pub supply_sats: Sats,
    /// MuHash3072 of the coins in Bitcoin Core's serialization, as `gettxoutsetinfo muhash` prints it.
    pub muhash: MuHashDigest,
}

impl Audit {
    /// True if all checks matched.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.checks.iter().all(|c| c.ok)
    }
}

/// Collects a check: counts differences and keeps the first.
struct Finding {
    name: &'static str,
    first: Option<String>,
    differences: u64,
}

impl Finding {
    fn new(name: &'static str) -> Self {
        Finding { name, first: None, differences: 0 }
    }

    fn expect(&mut self, holds: bool, detail: impl FnOnce() -> String) {
        if !holds {
            self.differences += 1;
            self.first.get_or_insert_with(detail);
        }
    }

    fn into_check(self, figures: String) -> Check {
        let ok = self.differences == 0;
        let detail = match self.first {
            Some(first) => format!("{} differences, the first: {first}", self.differences),
            None => figures,
        };
        Check { name: self.name, ok, detail }
    }
}

/// Audits everything below the view's tip. Reads all tables once, in order.
///
/// # Errors
/// A table cannot be read or a row is damaged; [`PipelineError::Stopped`] if cancelled. A difference is not an error:
/// it is reported in the audit.
pub fn audit(view: &View<'_>, progress: &dyn Progress) -> Result<Audit, PipelineError> {
    let chain = audit_chain(view, progress)?;
    let mut checks = vec![checkpoints(view)?];
    checks.extend(chain.checks);
    checks.push(audit_scripts(view, chain.supply, progress)?);
    let tip = view.tip();
    Ok(Audit {
        checks,
        height: tip.height,
        hash: tip.hash,
        coins: chain.coins,
        supply_sats: chain.supply,
        muhash: chain.muhash.finalize(),
    })
}

fn checkpoints(view: &View<'_>) -> Result<Check, PipelineError> {
    let mut finding = Finding::new("stages are at the tip");
    let stages = view.stages()?;
    for state in &stages {
        let is_finished = state.status == StageStatus::Finished;
        finding.expect(is_finished, || format!("{}: {:?}", state.stage.name, state.checkpoint));
    }
    Ok(finding.into_check(format!("{} stages at height {}", stages.len(), view.tip().height)))
}

struct ChainAudit {
    checks: Vec<Check>,
    coins: u64,
    supply: Sats,
    muhash: MuHash,
}

/// Walks the journal and the coin table together: both are in transaction order.
fn audit_chain(view: &View<'_>, progress: &dyn Progress) -> Result<ChainAudit, PipelineError> {
    let mut headers = Finding::new("headers form a chain");
    let mut coins = Finding::new("coins are unspent outputs");
    let (mut previous, mut mono_time) = (BlockHash::default(), 0);
    let (mut count, mut supply, mut muhash, mut bytes) = (0u64, 0u64, MuHash::new(), Vec::new());
    // Coins move many times: the sum of all outputs is a multiple of the supply.
    let (mut made, mut spent, mut burned, mut gone) = (0u128, 0u128, 0u128, 0u128);
    let (mut made_count, mut spent_count) = (0u64, 0u64);
    // A block issues a negative amount if its miner did not claim all fees.
    let (mut issued, mut allowed) = (0i128, 0i128);
    let mut table = view.scan::<Coins>(None)?.peekable();
    let total = u64::from(view.tip().height) + 1;
    for block in view.journal(0, view.tip().height)? {
        let block = block?;
        headers.expect(block.previous() == previous, || format!("height {} does not follow {previous}", block.height));
        mono_time = block.time().max(mono_time);
        headers.expect(block.mono_time == mono_time, || format!("wrong monotone time at height {}", block.height));
        previous = block.hash;
        let fees: Sats = cairn_tables::headers::HeaderRow::of(&block).fees;
        let coinbase: Sats = block
            .txs
            .first()
            .map_or(0, |tx| block.outputs_of(tx).iter().map(|o| o.value).fold(0, Sats::saturating_add));
        issued += i128::from(coinbase) - i128::from(fees);
        allowed += i128::from(view.network().subsidy_sats(block.height));
        spent += block.inputs.iter().map(|i| u128::from(i.value)).sum::<u128>();
        spent_count += (block.inputs.len() + block.overwritten.len()) as u64;
        gone += block.overwritten.iter().map(|o| u128::from(o.coin.value)).sum::<u128>();
        for (i, tx) in block.txs.iter().enumerate() {
            let tx_num = block.tx_num(i);
            for (vout, output) in block.outputs_of(tx).iter().enumerate() {
                if !output.spendable {
                    burned += u128::from(output.value);
                    continue;
                }
                (made, made_count) = (made + u128::from(output.value), made_count + 1);
                let outpoint = Outpoint { tx_num, vout: vout as u32 };
                let same = |row: &Result<(Outpoint, _), ReadError>| row.as_ref().map_or(true, |(o, _)| *o == outpoint);
                let Some(row) = table.next_if(same) else { continue };
                let coin = row?.1;
                let template = ScriptTemplate::of(block.script(output));
                let made = Coin { value: output.value, script: output.id, coinbase: i == 0, template };
                let agrees = coin == made;
                coins.expect(agrees, || format!("output {vout} of {}", tx.txid));
                (count, supply) = (count + 1, supply.saturating_add(coin.value));
                bytes.clear();
                let script = block.script(output);
                coin_bytes(&tx.txid, outpoint.vout, block.height, coin.coinbase, coin.value, script, &mut bytes);
                muhash.insert(&bytes);
            }
        }
        let (done, bytes) = (u64::from(block.height) + 1, 0);
        step(progress, ProgressStep { phase: Phase::Verify, done, total, bytes, of_bytes: 0 })?;
    }
    let extra = table.next().transpose()?;
    coins.expect(extra.is_none(), || format!("a coin without an output: {:?}", extra.map(|(o, _)| o)));
    coins.expect(count + spent_count == made_count, || {
        format!("{made_count} coins made, {spent_count} spent or overwritten, {count} left")
    });
    let mut sums = Finding::new("supply matches issuance");
    let left = u128::from(supply);
    sums.expect(left + spent + gone == made, || {
        format!("made {made}, spent {spent}, overwritten {gone}, left {supply}")
    });
    sums.expect((left + burned + gone) as i128 == issued, || {
        format!("issued {issued}, unspendable {burned}, overwritten {gone}, left {supply}")
    });
    sums.expect(issued <= allowed, || format!("issued {issued} sats, the subsidy allows {allowed}"));
    let checks = vec![
        headers.into_check(format!("{total} blocks, {} transactions", view.tip().tx_end.0)),
        coins.into_check(format!("{count} coins, {supply} sats")),
        sums.into_check(format!("{issued} sats issued, {burned} unspendable, {gone} overwritten")),
        spenders(view)?,
    ];
    Ok(ChainAudit { checks, coins: count, supply, muhash })
}

/// Checks that there are as many spenders as inputs, and that each points at the input that spends the output.
fn spenders(view: &View<'_>) -> Result<Check, PipelineError> {
    let mut finding = Finding::new("spenders match inputs");
    let mut inputs = 0u64;
    for row in view.scan::<Headers>(None)? {
        inputs += u64::from(row?.1.input_count);
    }
    let mut found = 0u64;
    for (at, row) in view.scan::<Spenders>(None)?.enumerate() {
        let (funding, row) = row?;
        found += row.0.len() as u64;
        // Every 64th in full: both directions of the link are read.
        for spender in row.0.iter().filter(|_| at % 64 == 0) {
            let tx = view.tx(cairn_model::TxNum(funding.0 + spender.distance))?;
            let inputs = tx.as_ref().map(|tx| view.inputs(tx)).transpose()?.unwrap_or_default();
            let named = inputs.get(spender.vin as usize).map(|c| c.outpoint);
            finding.expect(named == Some(Outpoint { tx_num: funding, vout: spender.vout }), || format!("{funding:?}"));
        }
    }
    finding.expect(found == inputs, || format!("{inputs} inputs, {found} spenders"));
    Ok(finding.into_check(format!("{inputs} inputs")))
}

/// Walks totals, history and coins by script together: all are in script order.
fn audit_scripts(view: &View<'_>, supply: Sats, progress: &dyn Progress) -> Result<Check, PipelineError> {
    let mut finding = Finding::new("coins = history = totals, per script");
    let mut coins = view.scan::<CoinsByScript>(None)?.peekable();
    let mut history = view.scan::<History>(None)?.peekable();
    let (mut scripts, mut sum, mut index_rows) = (0u64, 0u64, 0u64);
    for row in view.scan::<TotalsTable>(None)? {
        let (id, totals) = row?;
        let (mut held, mut count) = (0u64, 0u64);
        while let Some(row) = coins.next_if(|row| row.as_ref().map_or(true, |((found, _), _)| *found == id)) {
            let (_, CoinValue(value)) = row?;
            (held, count) = (held.saturating_add(value), count + 1);
        }
        let walked = walk_history(id, &mut history)?;
        let agrees = (held, count) == (totals.balance(), totals.coin_count())
            && walked.received == totals.funded
            && walked.sent == totals.spent
            && walked.entries == totals.tx_count
            && walked.marks_agree;
        finding.expect(agrees, || {
            let h = ScriptId::to_bytes(id);
            format!("script {h:02x?}: {count} coins hold {held}; totals {totals:?}; history {walked:?}")
        });
        if walked.entries > ENTRIES_PER_ROW {
            index_rows += walked.entries.div_ceil(ENTRIES_PER_ROW).div_ceil(ROWS_PER_INDEX);
        }
        (scripts, sum) = (scripts + 1, sum.saturating_add(held));
        if scripts.is_multiple_of(4096) {
            step(progress, ProgressStep { phase: Phase::Verify, done: scripts, total: 0, bytes: 0, of_bytes: 0 })?;
        }
    }
    finding.expect(coins.next().is_none() && history.next().is_none(), || "rows of a script without totals".to_owned());
    finding.expect(sum == supply, || format!("scripts hold {sum} sats, the supply is {supply}"));
    let found = view.scan::<HistoryIndex>(None)?.count() as u64;
    finding.expect(found == index_rows, || format!("{found} rows of history_index, {index_rows} expected"));
    Ok(finding.into_check(format!("{scripts} scripts")))
}

#[derive(Debug, Default)]
struct Walked {
    entries: u64,
    received: Sats,
    sent: Sats,
    marks_agree: bool,
}

fn walk_history<'v, 'r: 'v>(
    id: ScriptId,
    history: &mut std::iter::Peekable<Scan<'v, 'r, History>>,
) -> Result<Walked, PipelineError> {
    let mut walked = Walked { marks_agree: true, ..Walked::default() };
    let mut last = None;
    while let Some(row) = history.next_if(|row| row.as_ref().map_or(true, |((found, _), _)| *found == id)) {
        let ((_, first), row) = row?;
        let row = row.absolute(first).map_err(ReadError::from)?;
        let mark = (row.number * ENTRIES_PER_ROW, row.received_before, row.sent_before);
        walked.marks_agree &= mark == (walked.entries, walked.received, walked.sent);
        for e in &row.entries {
            walked.marks_agree &= last < Some(e.tx_num);
            last = Some(e.tx_num);
            walked.entries += 1;
            walked.received = walked.received.saturating_add(e.received);
            walked.sent = walked.sent.saturating_add(e.sent);
        }
    }
    Ok(walked)
}
