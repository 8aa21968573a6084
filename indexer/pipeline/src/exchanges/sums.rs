//! Flows by day, added up from the effects of transactions on scripts.

use std::collections::{BTreeMap, HashMap};

use cairn_domain::exchange_flows::{Flow, Part, between};
use cairn_events::EntityName;
use cairn_model::Sats;
use cairn_reader::ReadError;
use cairn_tables::{
    exchange_flows::{FlowMode, FlowSum},
    sums::{SumOverflow, Sums},
    tx_sums::TxSum,
};

use super::known::{ExchangeId, Exchanges};
use crate::PipelineError;

/// Figures of a row.
const FIGURES: usize = 9;

/// Rows by mode, exchange (`None`: all together) and day.
pub(crate) type FlowRows = BTreeMap<(FlowMode, Option<EntityName>, u32), Sums>;

type FlowRowKey = (FlowMode, Option<ExchangeId>, u32);

/// Flows by mode, exchange and day.
#[derive(Default)]
pub(super) struct DaySums(HashMap<FlowRowKey, [i64; FIGURES]>);

/// The part of an exchange in a transaction: of all its scripts, and of those that were known later.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Parts {
    pub(super) all: Part,
    pub(super) backfilled: Part,
}

impl DaySums {
    fn add(&mut self, key: FlowRowKey, sum: FlowSum, number: i64) -> Result<(), SumOverflow> {
        let row = self.0.entry(key).or_default();
        let place = row.get_mut(sum.position() as usize).ok_or(SumOverflow)?;
        *place = place.checked_add(number).ok_or(SumOverflow)?;
        Ok(())
    }

    /// Adds the parts of exchanges in a transaction of a day.
    pub(super) fn transaction(
        &mut self,
        mode: FlowMode,
        day: u32,
        moved: TxSum,
        parts: &BTreeMap<ExchangeId, Parts>,
    ) -> Result<(), SumOverflow> {
        if parts.is_empty() {
            return Ok(());
        }
        let flows: Vec<Flow> = parts.values().map(|parts| parts.all.flow(moved.fee, moved.inputs)).collect();
        let between = between(&flows);
        for (((exchange, parts), flow), shared) in parts.iter().zip(&flows).zip(&between.parts) {
            let backfilled = flow.inflow.min(parts.backfilled.received) + flow.outflow.min(parts.backfilled.sent);
            let (from, to) = if flow.inflow > 0 { (*shared, 0) } else { (0, *shared) };
            for (sum, sats) in [
                (FlowSum::Inflow, flow.inflow),
                (FlowSum::Outflow, flow.outflow),
                (FlowSum::Internal, flow.internal),
                (FlowSum::Fees, flow.fee),
                (FlowSum::Backfilled, backfilled),
            ] {
                let sats = i64::try_from(sats).map_err(|_| SumOverflow)?;
                self.add((mode, Some(*exchange), day), sum, sats)?;
                self.add((mode, None, day), sum, sats)?;
            }
            for (sum, sats) in [(FlowSum::FromExchanges, from), (FlowSum::ToExchanges, to), (FlowSum::Transactions, 1)]
            {
                self.add((mode, Some(*exchange), day), sum, i64::try_from(sats).map_err(|_| SumOverflow)?)?;
            }
        }
        let shared = i64::try_from(between.sats).map_err(|_| SumOverflow)?;
        self.add((mode, None, day), FlowSum::FromExchanges, shared)?;
        self.add((mode, None, day), FlowSum::ToExchanges, shared)?;
        self.add((mode, None, day), FlowSum::Transactions, 1)
    }

    /// Adds the balance of a script that began to count as an exchange's on a day; below zero for one that no longer
    /// does.
    pub(super) fn reclassified(
        &mut self,
        mode: FlowMode,
        exchange: ExchangeId,
        day: u32,
        sats: i64,
    ) -> Result<(), SumOverflow> {
        self.add((mode, Some(exchange), day), FlowSum::Reclassified, sats)?;
        self.add((mode, None, day), FlowSum::Reclassified, sats)
    }

    /// The rows: none of zeros.
    pub(super) fn rows(self, exchanges: &Exchanges) -> Result<FlowRows, SumOverflow> {
        let mut rows = FlowRows::new();
        for ((mode, exchange, day), figures) in self.0 {
            let sums = Sums::of((0..).zip(figures.map(i128::from)))?;
            if !sums.is_zero() {
                rows.insert((mode, exchange.and_then(|exchange| exchanges.name(exchange)).cloned(), day), sums);
            }
        }
        Ok(rows)
    }
}

/// An error for flows that are too large to be right.
pub(crate) fn overflow(_: SumOverflow) -> PipelineError {
    ReadError::Broken("the flows of a day exceed 63 bits".to_owned()).into()
}

/// How a row of flows changes what an exchange holds, in satoshis.
pub(crate) fn change(sums: &Sums) -> i128 {
    let of = |sum: FlowSum| sums.get(sum.position());
    of(FlowSum::Inflow) - of(FlowSum::Outflow) - of(FlowSum::Fees) + of(FlowSum::Reclassified)
}

pub(crate) fn held(rows: &FlowRows, mode: FlowMode) -> BTreeMap<EntityName, Option<Sats>> {
    let mut held: BTreeMap<EntityName, i128> = BTreeMap::new();
    for ((_, exchange, _), sums) in rows.iter().filter(|((of, ..), _)| *of == mode) {
        if let Some(exchange) = exchange {
            *held.entry(exchange.clone()).or_default() += change(sums);
        }
    }
    held.into_iter().map(|(exchange, sats)| (exchange, Sats::try_from(sats).ok())).collect()
}
