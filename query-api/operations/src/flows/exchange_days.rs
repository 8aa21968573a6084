//! Flows of exchanges by day, as the index keeps them: a generation, and blocks since.

use std::{collections::BTreeMap, ops::RangeInclusive};

use crate::operation::prelude::*;
use cairn_events::EntityName;
use cairn_model::day_of;
use cairn_reader::ReadError;
use cairn_tables::{
    exchange_flows::{FlowBlockRow, FlowMode, FlowSum, FlowsHeadRow},
    sums::Sums,
};

/// Labels by which scripts belong to exchanges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "FlowMode")]
pub(super) enum Mode {
    /// Today's labels, for the whole history.
    #[default]
    Latest,
    /// Labels that were asserted by the time of each block.
    Pit,
}

pub(super) const BEING_MADE: &str = "flows are being computed, which takes minutes on a large index";

pub(super) struct ExchangeDays<'v> {
    view: &'v View<'v>,
    mode: FlowMode,
    head: FlowsHeadRow,
    since: Vec<(Height, FlowBlockRow)>,
}

/// Sums of one or several days.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum {
    pub(super) inflow: Sats,
    pub(super) outflow: Sats,
    pub(super) internal: Sats,
    pub(super) fees: Sats,
    pub(super) from_exchanges: Sats,
    pub(super) to_exchanges: Sats,
    pub(super) reclassified: i64,
    pub(super) backfilled: Sats,
    pub(super) transactions: u64,
}

impl Sum {
    fn of(sums: &Sums) -> Result<Self, ReadError> {
        let wrong = || ReadError::Broken("flows of exchanges are out of range".to_owned());
        let of = |sum: FlowSum| u64::try_from(sums.get(sum.position())).map_err(|_| wrong());
        Ok(Sum {
            inflow: of(FlowSum::Inflow)?,
            outflow: of(FlowSum::Outflow)?,
            internal: of(FlowSum::Internal)?,
            fees: of(FlowSum::Fees)?,
            from_exchanges: of(FlowSum::FromExchanges)?,
            to_exchanges: of(FlowSum::ToExchanges)?,
            reclassified: i64::try_from(sums.get(FlowSum::Reclassified.position())).map_err(|_| wrong())?,
            backfilled: of(FlowSum::Backfilled)?,
            transactions: of(FlowSum::Transactions)?,
        })
    }

    pub(super) fn add(&mut self, other: &Sum) {
        let more = |to: &mut u64, from: u64| *to = to.saturating_add(from);
        more(&mut self.inflow, other.inflow);
        more(&mut self.outflow, other.outflow);
        more(&mut self.internal, other.internal);
        more(&mut self.fees, other.fees);
        more(&mut self.from_exchanges, other.from_exchanges);
        more(&mut self.to_exchanges, other.to_exchanges);
        self.reclassified = self.reclassified.saturating_add(other.reclassified);
        more(&mut self.backfilled, other.backfilled);
        more(&mut self.transactions, other.transactions);
    }

    /// Inflow minus outflow.
    pub(super) fn net(&self) -> i64 {
        let signed = |sats: u64| i64::try_from(sats).unwrap_or(i64::MAX);
        signed(self.inflow).saturating_sub(signed(self.outflow))
    }
}

/// A number of days up to a given one.
pub(super) fn days_to(last: u32, count: u32) -> RangeInclusive<u32> {
    last.saturating_sub(count.saturating_sub(1))..=last
}

pub(super) fn total<'s>(days: impl Iterator<Item = &'s Sum>) -> Sum {
    days.fold(Sum::default(), |mut sum, day| {
        sum.add(day);
        sum
    })
}

impl<'v> ExchangeDays<'v> {
    /// Reads what there is; `None` while they are being made. A row read for each block since the generation.
    pub(super) fn read(view: &'v View<'v>, mode: Mode) -> Result<Option<Self>, ReadError> {
        let head = match view.flows().head() {
            Err(ReadError::Unfinished(_)) => return Ok(None),
            head => head?,
        };
        let (mode, since) = match mode {
            Mode::Latest => (FlowMode::Latest, view.flows().blocks_after(head.height)?),
            Mode::Pit => (FlowMode::PointInTime, Vec::new()),
        };
        Ok(Some(ExchangeDays { view, mode, head, since }))
    }

    /// The newest block that they have.
    pub(super) fn height(&self) -> Height {
        self.since.last().map_or(self.head.height, |(height, _)| *height)
    }

    /// The block up to which all histories were read with the same labels.
    pub(super) fn made_at(&self) -> Height {
        self.head.height
    }

    /// The day of that block.
    pub(super) fn last_day(&self) -> Result<u32, ReadError> {
        self.day_of(self.height())
    }

    fn day_of(&self, height: Height) -> Result<u32, ReadError> {
        let block = self.view.chain().get(height);
        let lacks = || ReadError::Lacks { table: "headers", what: format!("block {height}") };
        Ok(day_of(block.ok_or_else(lacks)?.mono_time))
    }

    /// Balance of each exchange with that block.
    pub(super) fn held(&self) -> BTreeMap<EntityName, Sats> {
        let newest = self.since.iter().rfind(|(_, row)| !row.held.is_empty());
        match newest {
            Some((_, row)) => row.held.iter().cloned().collect(),
            None => {
                let held = |held: &cairn_tables::exchange_flows::ExchangeBalance| match self.mode {
                    FlowMode::Latest => held.latest,
                    FlowMode::PointInTime => held.point_in_time,
                };
                self.head.held.iter().map(|of| (of.exchange.clone(), held(of))).collect()
            }
        }
    }

    /// The flows of an exchange, or of all together, by day; days without any are left out. A row read for each.
    pub(super) fn by_day(
        &self,
        exchange: Option<&EntityName>,
        days: RangeInclusive<u32>,
    ) -> Result<BTreeMap<u32, Sum>, ApiError> {
        let mut found: BTreeMap<u32, Sum> = BTreeMap::new();
        for (day, sums) in self.view.flows().of_days(&self.head, self.mode, exchange, days.clone())? {
            found.entry(day).or_default().add(&Sum::of(&sums)?);
        }
        for (height, row) in &self.since {
            let day = self.day_of(*height)?;
            let of = row.flows.binary_search_by(|(name, _)| name.as_ref().cmp(&exchange));
            if let Some((_, sums)) = of.ok().and_then(|at| row.flows.get(at)).filter(|_| days.contains(&day)) {
                found.entry(day).or_default().add(&Sum::of(sums)?);
            }
        }
        Ok(found)
    }
}

/// Flows of all exchanges together. Payments between exchanges are left out and have their own field.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExchangeTotals {
    /// Inflow, except from other exchanges.
    inflow_sats: u64,
    inflow_btc: Btc,
    /// Outflow, except to other exchanges, without fees.
    outflow_sats: u64,
    outflow_btc: Btc,
    /// Inflow minus outflow.
    net_sats: i64,
    net_btc: Btc,
    /// Sum that exchanges sent each other.
    exchange_to_exchange_sats: u64,
    /// Inflow, including that from other exchanges.
    inflow_with_exchanges_sats: u64,
    /// Outflow, including that to other exchanges, without fees.
    outflow_with_exchanges_sats: u64,
    /// Sum that returned to the same exchange, including change.
    internal_sats: u64,
    fees_sats: u64,
    /// Balance of scripts newly attributed to an exchange, minus that of scripts no longer attributed to one.
    reclassified_sats: i64,
    /// Part of the inflow and outflow, with exchanges included, that rests on documents received on a later day.
    backfilled_sats: u64,
    tx_count: u64,
}

impl ExchangeTotals {
    pub(super) fn of(sum: &Sum) -> Self {
        let [inflow, outflow] =
            [sum.inflow.saturating_sub(sum.from_exchanges), sum.outflow.saturating_sub(sum.to_exchanges)];
        ExchangeTotals {
            inflow_sats: inflow,
            inflow_btc: Btc::of(inflow),
            outflow_sats: outflow,
            outflow_btc: Btc::of(outflow),
            net_sats: sum.net(),
            net_btc: Btc(sum.net()),
            exchange_to_exchange_sats: sum.to_exchanges,
            inflow_with_exchanges_sats: sum.inflow,
            outflow_with_exchanges_sats: sum.outflow,
            internal_sats: sum.internal,
            fees_sats: sum.fees,
            reclassified_sats: sum.reclassified,
            backfilled_sats: sum.backfilled,
            tx_count: sum.transactions,
        }
    }
}
