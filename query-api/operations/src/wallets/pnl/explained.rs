//! The steps of the computation, one by one.

use cairn_domain::pnl::{Kind, Lot, Method, Row};

use super::compute::{PriceOrMissing, PricedTx};
use crate::{
    operation::prelude::*,
    price_now::{source, why_missing},
    values::{Decimal, Money, PriceNumber},
};

/// Maximum number of steps that are shown.
const MAX_ROWS: usize = 500;
/// Maximum number of lots that are shown for a step.
const MAX_LOTS: usize = 20;

cairn_model::words! {
    /// Kind of a step.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
    #[serde(rename_all = "lowercase")]
    #[schemars(rename = "PnlKind")]
    pub(super) enum RowKind {
        Acquisition = "acquisition",
        Income = "income",
        Disposal = "disposal",
        Fee = "fee",
        Transfer = "transfer",
    }
    pub(super) fn name;
}

impl RowKind {
    pub(super) const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Acquisition => RowKind::Acquisition,
            Kind::Income => RowKind::Income,
            Kind::Disposal => RowKind::Disposal,
            Kind::Fee => RowKind::Fee,
            Kind::Transfer => RowKind::Transfer,
        }
    }
}

/// A step of the computation.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PnlStep")]
pub(super) struct ExplainedRow {
    kind: RowKind,
    txid: String,
    /// Time of the block (monotone block time).
    time: String,
    quantity_sats: u64,
    quantity_btc: Btc,
    /// Price of one bitcoin; null if it is missing or not needed.
    price: Option<PriceNumber>,
    /// Time at which the price was known.
    price_as_of: Option<String>,
    /// Seconds from the time of the price to that of the block.
    price_gap_seconds: Option<u32>,
    /// Source of the price; null if it is the mean of two.
    price_source: Option<String>,
    /// Value of the step: the cost of coins that came in, or the proceeds of coins that left.
    value: Option<Money>,
    /// Cost of the coins that left.
    cost: Option<Money>,
    /// Value minus cost.
    gain: Option<Money>,
    /// Holdings before the step.
    quantity_before_sats: u64,
    /// Cost of the holdings before the step.
    cost_before: Option<Money>,
    /// Holdings after the step.
    quantity_after_sats: u64,
    /// Cost of the holdings after the step.
    cost_after: Option<Money>,
    /// Lots that the step adds, or from which it takes, first in first out; at most 20.
    lots: Vec<ExplainedLot>,
    lots_omitted: u64,
    /// Computation of value and cost, with the numbers.
    arithmetic: String,
    /// Why value or cost is null; otherwise null.
    reason: Option<&'static str>,
}

/// A lot, or a part of one.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "PnlLot")]
struct ExplainedLot {
    /// Id of the transaction with which the lot came in.
    txid: String,
    /// Index of the output with which the lot came in.
    vout: u32,
    sats: u64,
    /// Cost of the lot, or of the part taken from it.
    cost: Option<Money>,
}

/// A step before the ids of its lots are looked up.
struct StepDraft {
    row: ExplainedRow,
    lots: Vec<Lot>,
}

pub(super) struct StepCollector {
    method: Method,
    kept: Vec<StepDraft>,
    omitted: u64,
}

fn money(value: Option<i128>) -> String {
    value.map_or_else(|| "unknown".to_owned(), |micros| Decimal::<6>(micros).to_string())
}

fn btc(sats: Sats) -> String {
    Decimal::<8>(sats.into()).to_string()
}

/// The computation in numbers.
fn arithmetic(row: &Row, price: &PriceOrMissing, method: Method) -> String {
    let price = price.as_ref().map_or_else(|_| "unknown".to_owned(), |price| price.price.normalize().to_string());
    let (quantity, cost, gain) = (btc(row.sats), money(row.cost), money(row.gain()));
    let had_cost = || match method {
        Method::Average => {
            let (all, all_cost) = (btc(row.before.0), money(row.before.1));
            format!("cost {cost} = {all_cost} × {quantity} ÷ {all}")
        }
        Method::Fifo => {
            let parts: Vec<String> = row.lots.iter().take(MAX_LOTS).map(|lot| money(lot.cost)).collect();
            let more = if row.lots.len() > MAX_LOTS { " + …" } else { "" };
            format!("cost {cost} = {}{more}", parts.join(" + "))
        }
    };
    match row.kind {
        Kind::Acquisition | Kind::Income => format!("{quantity} BTC × {price} = {}", money(row.value)),
        Kind::Disposal => {
            let value = money(row.value);
            format!("{quantity} BTC × {price} = {value}; {}; gain {value} − {cost} = {gain}", had_cost())
        }
        Kind::Fee => format!("a fee of {quantity} BTC brings nothing; {}; gain 0 − {cost} = {gain}", had_cost()),
        Kind::Transfer => format!("{quantity} BTC stay with the wallet"),
    }
}

pub(super) fn why_null(row: &Row, price: &PriceOrMissing) -> Option<&'static str> {
    let is_out = matches!(row.kind, Kind::Disposal | Kind::Fee);
    match price {
        Err(missing) if row.kind.needs_price() => Some(why_missing(*missing)),
        _ if is_out && row.cost.is_none() => Some("the price of coins that came in earlier is missing"),
        _ => None,
    }
}

impl StepCollector {
    pub(super) fn new(method: Method) -> Self {
        StepCollector { method, kept: Vec::new(), omitted: 0 }
    }

    pub(super) fn add(&mut self, step: &PricedTx<'_>) {
        for row in step.rows {
            if self.kept.len() == MAX_ROWS {
                self.omitted += 1;
                continue;
            }
            let price = step.price.as_ref().ok().filter(|_| row.kind.needs_price());
            let explained = ExplainedRow {
                kind: RowKind::of(row.kind),
                txid: step.tx.txid().to_string(),
                time: rfc3339(row.time),
                quantity_sats: row.sats,
                quantity_btc: Btc::of(row.sats),
                price: price.map(|price| PriceNumber(price.price)),
                price_as_of: price.map(|price| rfc3339(price.as_of)),
                price_gap_seconds: price.map(|price| price.gap(row.time)),
                price_source: price.and_then(source),
                value: row.value.map(Decimal),
                cost: row.cost.map(Decimal),
                gain: row.gain().map(Decimal),
                quantity_before_sats: row.before.0,
                cost_before: row.before.1.map(Decimal),
                quantity_after_sats: row.after.0,
                cost_after: row.after.1.map(Decimal),
                lots: Vec::new(),
                lots_omitted: row.lots.len().saturating_sub(MAX_LOTS) as u64,
                arithmetic: arithmetic(row, step.price, self.method),
                reason: why_null(row, step.price),
            };
            self.kept.push(StepDraft { row: explained, lots: row.lots.iter().take(MAX_LOTS).copied().collect() });
        }
    }

    /// The steps with the ids of their lots, and how many were left out.
    pub(super) fn finish(self, view: &View<'_>) -> Result<(Vec<ExplainedRow>, u64), ApiError> {
        let mut ids = std::collections::BTreeMap::new();
        let mut rows = Vec::with_capacity(self.kept.len());
        for StepDraft { mut row, lots } in self.kept {
            for lot in lots {
                let of = lot.from.tx_num;
                let txid = match ids.get(&of) {
                    Some(txid) => Clone::clone(txid),
                    None => {
                        let txid = txid_of(view, of)?;
                        ids.insert(of, txid.clone());
                        txid
                    }
                };
                row.lots.push(ExplainedLot { txid, vout: lot.from.vout, sats: lot.sats, cost: lot.cost.map(Decimal) });
            }
            rows.push(row);
        }
        Ok((rows, self.omitted))
    }
}

fn txid_of(view: &View<'_>, tx_num: TxNum) -> Result<String, ApiError> {
    let lacks = || lacks::<cairn_tables::block_log::BlockLog>(format!("transaction {}", tx_num.0));
    let (txid, _) = view.transactions().txid(tx_num)?.ok_or_else(lacks)?;
    Ok(txid.to_string())
}
