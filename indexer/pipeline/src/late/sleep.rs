//! Clusters that spent nothing for years. A spend of coins that are worth nothing does not count.

use std::collections::HashMap;

use cairn_domain::cospending::counts;
use cairn_model::{CancelToken, Height, Sats, ScriptId, TxNum};
use cairn_reader::{AsOf, ClusterRoot, FoundScript, MemberPlace, ReadError, View};
use cairn_tables::{Table, flushes::Holder, totals::TotalsTable};

use super::txs::read_tx;
use crate::PipelineError;

/// Scripts of a cluster that are looked at between two looks at whether to stop.
const PAGE: usize = 256;
/// Clusters whose newest known spend is remembered.
const MAX_AWAKE: usize = 1 << 16;

/// A place in the chain, and the limit of "long before".
#[derive(Clone, Copy)]
pub(crate) struct At {
    /// The block of the place.
    pub(crate) height: Height,
    /// Transactions before this one count.
    pub(crate) before: TxNum,
    /// The first transaction that is not long before.
    pub(crate) since: TxNum,
}

impl At {
    /// Before a transaction of a block, or of the next one; `seconds` before that is long before. `None` if the chain
    /// is not that old.
    pub(crate) fn of(view: &View<'_>, height: Height, before: TxNum, seconds: u32) -> Option<Self> {
        let now = view.chain().get(height)?.mono_time;
        let old = view.chain().height_at(now.checked_sub(seconds)?)?;
        Some(At { height, before, since: view.as_of(old)?.tx_end })
    }
}

#[derive(Default)]
pub(crate) struct Sleeper {
    /// Its coins from long before.
    pub(crate) sats: Sats,
    pub(crate) scripts: u64,
    /// The newest spend.
    pub(crate) last: Option<TxNum>,
    /// The oldest receipt.
    first: Option<TxNum>,
}

impl Sleeper {
    /// Since when it sleeps, and whether it never spent.
    pub(crate) fn since(&self) -> Option<(TxNum, bool)> {
        Some((self.last.or(self.first)?, self.last.is_none()))
    }

    /// Adds a script; gives its newest spend if that is not long ago.
    fn add(&mut self, view: &View<'_>, script: &FoundScript, at: At) -> Result<Option<TxNum>, ReadError> {
        let [old, now] = view.scripts().sums_before_each(script, [at.since, at.before])?;
        let last = view.scripts().last_spend_before(script, at.before)?;
        if now.sent != old.sent {
            return Ok(last);
        }
        self.sats = self.sats.saturating_add(old.balance());
        self.scripts += 1;
        self.last = self.last.max(last);
        let first = script.totals.first.tx_num;
        self.first = Some(self.first.map_or(first, |known| known.min(first)));
        Ok(None)
    }
}

/// Finds out which clusters sleep. Large ones that spend often need not be walked through again.
#[derive(Default)]
pub(crate) struct Sleep {
    /// A spend of each of some clusters.
    awake: HashMap<TxNum, TxNum>,
}

impl Sleep {
    /// A cluster, if it sleeps and has `least` satoshis or more from long before.
    pub(crate) fn sleeper(
        &mut self,
        view: &View<'_>,
        holder: Holder,
        (at, least): (At, Sats),
        cancel: &CancelToken,
    ) -> Result<Option<Sleeper>, PipelineError> {
        let mut sleeper = Sleeper::default();
        match holder {
            Holder::Script(script) => {
                let script = found(view, script)?;
                // Most scripts never had that much.
                if script.totals.funded < least || sleeper.add(view, &script, at)?.is_some() {
                    return Ok(None);
                }
            }
            Holder::Cluster(root) => {
                let is_awake = |spend: &TxNum| *spend >= at.since && *spend < at.before;
                if self.awake.get(&root).is_some_and(is_awake) {
                    return Ok(None);
                }
                // A transaction that ties scripts spends from them.
                let tie = view.clusters().last_tie_before(ClusterRoot(root), at.before)?;
                let spend = if is_awake(&tie) && moves(view, tie)? {
                    Some(tie)
                } else {
                    walk(view, root, at, &mut sleeper, cancel)?
                };
                if let Some(spend) = spend {
                    if self.awake.len() >= MAX_AWAKE {
                        self.awake.clear();
                    }
                    self.awake.insert(root, spend);
                    return Ok(None);
                }
            }
        }
        Ok(Some(sleeper).filter(|sleeper| sleeper.sats >= least))
    }
}

/// Whether a transaction that ties scripts spends more than nothing from them.
fn moves(view: &View<'_>, tie: TxNum) -> Result<bool, ReadError> {
    let (_, coins) = read_tx(view, tie)?;
    Ok(coins.iter().any(|coin| counts(coin) && coin.value > 0))
}

/// Adds the scripts of a cluster, up to one that spent not long ago: gives that spend.
fn walk(
    view: &View<'_>,
    root: TxNum,
    at: At,
    sleeper: &mut Sleeper,
    cancel: &CancelToken,
) -> Result<Option<TxNum>, PipelineError> {
    let as_of = AsOf { height: at.height, tx_end: at.before };
    let mut place = Some(MemberPlace::default());
    while let Some(from) = place {
        PipelineError::if_cancelled(cancel)?;
        let page = view.clusters().members(ClusterRoot(root), as_of, &from, PAGE)?;
        let page = page.ok_or_else(|| ReadError::Broken("a place in a cluster is gone".to_owned()))?;
        for script in page.scripts {
            if let Some(spend) = sleeper.add(view, &found(view, script)?, at)? {
                return Ok(Some(spend));
            }
        }
        place = page.next;
    }
    Ok(None)
}

fn found(view: &View<'_>, script: ScriptId) -> Result<FoundScript, ReadError> {
    let lacks = || ReadError::Lacks { table: TotalsTable::NAME, what: format!("script {script:?}") };
    view.scripts().by_id(script)?.ok_or_else(lacks)
}
