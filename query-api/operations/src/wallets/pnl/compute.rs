//! Goes through the transactions of a wallet with the prices of their times.

use cairn_domain::pnl::{BookError, Ledger, Method, Micros, Movement, Report, Row};
use cairn_domain::price::{Missing, Price, current_price, price_at};
use cairn_events::Currency;
use cairn_reader::{ReadError, StoredTx};
use jiff::{Timestamp, tz::TimeZone};

use super::super::union::Union;
use crate::{candles::Candles, operation::prelude::*};

/// The price of a bitcoin at a time, or why there is none.
pub(crate) type PriceOrMissing = Result<Price, Missing>;

pub(crate) struct PricedTx<'s> {
    pub(crate) tx: &'s StoredTx,
    pub(crate) movement: &'s Movement,
    pub(crate) price: &'s PriceOrMissing,
    pub(crate) year: u32,
    pub(crate) rows: &'s [Row],
    /// Holdings of the wallet after it, in satoshis, and their cost.
    pub(crate) holds: (Sats, Option<Micros>),
}

pub(crate) struct Computed {
    pub(crate) report: Report,
    pub(crate) price: PriceOrMissing,
    /// Transactions that need a price that is not known, and why the first of them has none.
    pub(crate) unpriced: u64,
    pub(crate) reason: Option<Missing>,
}

pub(crate) fn year_of(time: u32) -> u32 {
    let date = Timestamp::from_second(time.into()).map(|at| at.to_zoned(TimeZone::UTC).year());
    date.ok().and_then(|year| u32::try_from(year).ok()).unwrap_or(1970)
}

fn broken(error: BookError) -> ApiError {
    ReadError::Broken(error.to_string()).into()
}

pub(crate) fn compute(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    (union, txs): (&Union, &[TxNum]),
    (method, currency): (Method, Currency),
    show: &mut dyn FnMut(&PricedTx<'_>) -> Result<(), ApiError>,
) -> Result<Computed, ApiError> {
    let known = ctx.known()?;
    let candles = Candles::new(view, &known);
    let mut ledger = Ledger::new(method);
    let (mut unpriced, mut reason) = (0, None);
    let mut last: Option<(u32, PriceOrMissing)> = None;
    union.visit(ctx, view, txs, &mut |tx, movement| {
        // Transactions of one block have one price.
        let price = match &last {
            Some((time, price)) if *time == movement.time => price.clone(),
            _ => price_at(&candles, currency, movement.time)?,
        };
        last = Some((movement.time, price.clone()));
        let year = year_of(movement.time);
        let rows = ledger.take(&movement, price.as_ref().ok().map(|price| price.price), year).map_err(broken)?;
        if let (Err(missing), true) = (&price, rows.iter().any(|row| row.kind.needs_price())) {
            unpriced += 1;
            reason = reason.or(Some(*missing));
        }
        show(&PricedTx { tx, movement: &movement, price: &price, year, rows: &rows, holds: ledger.holds() })
    })?;
    let price = current_price(&candles, &ctx.live(&known), currency, ctx.now())?;
    let report = ledger.finish(price.as_ref().ok().map(|price| price.price)).map_err(broken)?;
    Ok(Computed { report, price, unpriced, reason })
}
