//! `wakeups`: clusters that hold many old coins, spent nothing for two years, and then spend.

use std::collections::HashSet;

use cairn_domain::dormancy::{WAKEUP_SATS, WAKEUP_YEARS, YEAR};
use cairn_model::{CancelToken, Height, Sats, ScriptId};
use cairn_reader::{AsOf, View};
use cairn_tables::{
    flushes::{Holder, InputKey},
    returns::Returns,
    wakeups::{WakeupRow, Wakeups},
};

use super::{
    LateFold, LateRows,
    sleep::{At, Sleep},
    txs::{read_tx, rows_of},
};
use crate::PipelineError;

#[derive(Default)]
pub(super) struct WakeupFold {
    sleep: Sleep,
}

impl LateFold for WakeupFold {
    fn block(
        &mut self,
        view: &View<'_>,
        height: Height,
        rows: &mut LateRows<'_>,
        cancel: &CancelToken,
    ) -> Result<(), PipelineError> {
        // Only transactions that spend from scripts which spent nothing for two years. A cluster that wakes up spends
        // from such a script: none of its scripts spent since, and one that never spent is a cluster of its own, paid
        // two years ago or earlier. The only exception is a script that was tied by coins worth nothing, and paid
        // since: a cluster that wakes up with it alone is not found.
        for (tx_num, _) in rows_of::<Returns>(view, height)? {
            let Some(at) = At::of(view, height, tx_num, WAKEUP_YEARS * YEAR) else { continue };
            let (_, coins) = read_tx(view, tx_num)?;
            let scripts: Vec<ScriptId> = coins.iter().map(|coin| coin.script).collect();
            let holders = view.clusters().holders(&scripts, AsOf { height, tx_end: tx_num })?;
            let mut looked: HashSet<Holder> = HashSet::new();
            for (vin, holder) in (0..).zip(&holders) {
                if !looked.insert(*holder) {
                    continue;
                }
                let spent = coins.iter().zip(&holders).filter(|(_, of)| *of == holder).map(|(coin, _)| coin.value);
                let spent = spent.fold(0, Sats::saturating_add);
                if spent == 0 {
                    continue;
                }
                let Some(sleeper) = self.sleep.sleeper(view, *holder, (at, WAKEUP_SATS), cancel)? else { continue };
                let (since, never) = sleeper.since().unwrap_or((tx_num, true));
                let row =
                    WakeupRow { holder: *holder, sats: sleeper.sats, spent, scripts: sleeper.scripts, since, never };
                rows.put::<Wakeups>(&InputKey { tx_num, vin }, &row)?;
            }
        }
        Ok(())
    }
}
