//! `alerts`.

use cairn_domain::transfers::LARGE_SATS;
use cairn_model::{ScriptId, TxNum};
use cairn_reader::View;
use cairn_tables::{
    Table,
    dust::DustAlerts,
    flushes::{FlushAlerts, Flushes, Holder},
    old_coins::OldMovements,
    stages,
    transfers::{Consolidations, LargeChange, LargeTransfers},
    wakeups::Wakeups,
};

use crate::{
    Dataset, ExportError,
    columns::{Kind, column, nullable},
    dataset::{Scope, Source},
    sink::Sink,
};

pub(super) const ALERTS: Dataset = Dataset {
    name: "alerts",
    about: "Events that late stages found in transactions: whale_tx (100 BTC or more paid to others), consolidation \
        (many inputs, few outputs), old_movement (10 BTC or more of coins that are at least five years old), \
        dormancy_flush (a cluster spends 100 BTC or more of coins that are at least two years old within 144 \
        blocks), whale_wakeup (a cluster with 1,000 BTC or more of old coins spends), dust_campaign. If the manifest \
        has `as_of_height`, the rows are as of that block: late stages may be behind the tip.",
    sorted_by: &["kind", "tx_num"],
    columns: &[
        column("kind", Kind::Word, "Kind of the event: one of the names above."),
        column("tx_num", Kind::Long, "`tx_num` of the transaction."),
        column("height", Kind::Int, "Height of the transaction's block."),
        column("day", Kind::Day, "Day of the block's monotone time."),
        nullable(
            "value",
            Kind::Sats,
            "whale_tx: value paid to others. consolidation: value of the inputs. old_movement: value of the old \
            coins. dormancy_flush: value spent in the window up to this transaction. whale_wakeup: value spent.",
        ),
        nullable("held", Kind::Sats, "whale_wakeup: value of the cluster's old coins."),
        nullable(
            "coins",
            Kind::Long,
            "old_movement: number of old coins. consolidation: number of inputs. dust_campaign: number of paid \
            scripts.",
        ),
        nullable("coin_seconds_destroyed", Kind::Wide, "old_movement: coin-seconds destroyed by the old coins."),
        nullable("is_coinjoin", Kind::Flag, "whale_tx: true if the transaction is a CoinJoin."),
        nullable(
            "cluster",
            Kind::Long,
            "dormancy_flush, whale_wakeup: the cluster at that time, which may since have been merged into another \
            one; null if the event is about a single script.",
        ),
        nullable("script_id", Kind::ScriptId, "dormancy_flush, whale_wakeup: the script, if it is its own cluster."),
    ],
    source: Source::Whole(rows),
};

/// A row without its transaction.
#[derive(Default)]
struct Alert {
    sats: Option<u64>,
    held: Option<u64>,
    coins: Option<u64>,
    destroyed: Option<u128>,
    coinjoin: Option<bool>,
    holder: Option<Holder>,
}

/// Writes the rows of one kind.
struct Writer<'w, 'v> {
    scope: &'w Scope<'v>,
    view: &'w View<'w>,
    sink: &'w mut Sink,
}

impl Writer<'_, '_> {
    fn put(&mut self, kind: &str, tx_num: TxNum, alert: Alert) -> Result<(), ExportError> {
        let (height, time) = self.scope.block_of(tx_num)?;
        let (cluster, script): (Option<TxNum>, Option<ScriptId>) = match alert.holder {
            Some(Holder::Cluster(root)) => (Some(root), None),
            Some(Holder::Script(script)) => (None, Some(script)),
            None => (None, None),
        };
        let rows = &mut self.sink.rows;
        rows.text(kind);
        rows.tx(tx_num);
        rows.number(height);
        rows.day_of(time);
        rows.maybe(alert.sats, |rows, sats| rows.sats(sats));
        rows.maybe(alert.held, |rows, sats| rows.sats(sats));
        rows.maybe(alert.coins, |rows, coins| rows.number(coins));
        let destroyed = alert.destroyed.map(i128::try_from).transpose();
        let destroyed = destroyed.map_err(|_| ExportError::Contradiction("coin-seconds without bound".to_owned()))?;
        rows.maybe(destroyed, |rows, destroyed| rows.wide(destroyed));
        rows.maybe(alert.coinjoin, |rows, flag| rows.flag(flag));
        rows.maybe(cluster, |rows, root| rows.tx(root));
        rows.maybe(script, |rows, script| rows.script_id(script));
        self.scope.settle(self.sink)
    }

    /// Writes each row of a table as an alert of a kind.
    fn all<T: Table>(
        &mut self,
        kind: &str,
        alert: impl Fn(T::Key, T::Value) -> Result<(TxNum, Alert), ExportError>,
    ) -> Result<(), ExportError> {
        for row in self.view.scan::<T>(None)? {
            let (key, value) = row?;
            let (tx_num, alert) = alert(key, value)?;
            self.put(kind, tx_num, alert)?;
        }
        Ok(())
    }
}

fn rows(scope: &Scope<'_>, view: &View<'_>, sink: &mut Sink) -> Result<(), ExportError> {
    for stage in [&stages::TRANSFERS, &stages::CLUSTERS, &stages::AGES] {
        view.require(stage)?;
    }
    let late = view.late_stages()?;
    let reached = late.iter().map(|state| state.checkpoint.as_ref().map_or(0, |found| found.height)).min();
    sink.as_of = reached.filter(|height| *height < view.tip().height);
    let mut writer = Writer { scope, view, sink };
    // In the order of the kinds' names.
    writer.all::<Consolidations>("consolidation", |tx_num, row| {
        Ok((tx_num, Alert { sats: Some(row.sats), coins: Some(row.inputs.into()), ..Alert::default() }))
    })?;
    writer.all::<FlushAlerts>("dormancy_flush", |(tx_num, window), row| {
        let holder = view.get::<Flushes>(&window)?.map(|flush| flush.holder);
        Ok((tx_num, Alert { sats: Some(row.sats), holder, ..Alert::default() }))
    })?;
    writer.all::<DustAlerts>("dust_campaign", |(tx_num, _), row| {
        Ok((tx_num, Alert { coins: Some(row.scripts), ..Alert::default() }))
    })?;
    writer.all::<OldMovements>("old_movement", |tx_num, row| {
        let (sats, coins, destroyed) = (Some(row.sats), Some(row.coins), Some(row.destroyed));
        Ok((tx_num, Alert { sats, coins, destroyed, ..Alert::default() }))
    })?;
    for row in view.scan::<LargeTransfers>(None)? {
        let (tx_num, row) = row?;
        let change = view.get::<LargeChange>(&tx_num)?.map_or(0, |change| change.0);
        let sats = row.sats.checked_sub(change);
        let sats = sats.ok_or_else(|| ExportError::Contradiction("change exceeds what is paid".to_owned()))?;
        // Without the value that stays in their own clusters, some transfers are below the limit.
        if sats >= LARGE_SATS {
            writer.put(
                "whale_tx",
                tx_num,
                Alert { sats: Some(sats), coinjoin: Some(row.coinjoin), ..Alert::default() },
            )?;
        }
    }
    writer.all::<Wakeups>("whale_wakeup", |key, row| {
        let alert = Alert { sats: Some(row.spent), held: Some(row.sats), holder: Some(row.holder), ..Alert::default() };
        Ok((key.tx_num, alert))
    })
}
