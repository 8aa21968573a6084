//! `wakeups`: clusters that hold many old coins, spent nothing for two years, and then spend an old coin.

use std::collections::HashSet;

use cairn_domain::dormancy::{WAKEUP_SATS, WAKEUP_YEARS, YEAR};
use cairn_model::{CancelToken, Height, Sats, ScriptId};
use cairn_reader::{AsOf, ReadError, View};
use cairn_tables::{
    Table,
    block_log::BlockLog,
    flushes::{Holder, InputKey},
    wakeups::{WakeupRow, Wakeups},
};

use super::{
    LateFold, LateRows,
    flushes::old_spends,
    sleep::{At, Sleep},
};
use crate::PipelineError;

/// The fold.
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
        for tx_num in old_spends(view, height, WAKEUP_YEARS)? {
            let Some(at) = At::of(view, height, tx_num, WAKEUP_YEARS * YEAR) else { continue };
            let lacks = || ReadError::Lacks { table: BlockLog::NAME, what: format!("transaction {}", tx_num.0) };
            let tx = view.tx(tx_num)?.ok_or_else(lacks)?;
            let coins = view.inputs(&tx)?;
            let scripts: Vec<ScriptId> = coins.iter().map(|coin| coin.script).collect();
            let holders = view.holders_at(&scripts, AsOf { height, tx_end: tx_num })?;
            let mut looked: HashSet<Holder> = HashSet::new();
            for (vin, holder) in (0..).zip(&holders) {
                if !looked.insert(*holder) {
                    continue;
                }
                let Some(sleeper) = self.sleep.sleeper(view, *holder, (at, WAKEUP_SATS), cancel)? else { continue };
                let spent = coins.iter().zip(&holders).filter(|(_, of)| *of == holder).map(|(coin, _)| coin.value);
                let (since, never) = sleeper.since().unwrap_or((tx_num, true));
                let row = WakeupRow {
                    holder: *holder,
                    sats: sleeper.sats,
                    spent: spent.fold(0, Sats::saturating_add),
                    scripts: sleeper.scripts,
                    since,
                    never,
                };
                rows.put::<Wakeups>(&InputKey { tx_num, vin }, &row)?;
            }
        }
        Ok(())
    }
}
