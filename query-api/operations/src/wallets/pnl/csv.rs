//! Files: realized gains, and movements in the columns that importers of tax programs publish.
//!
//! * Koinly, "universal template": times in UTC; the fee beside what is sent, which does not contain it; what is mined
//!   is labelled `mining`, a fee without a payment `cost`.
//! * CoinTracker: all columns of its template, and no other; times MM/DD/YYYY HH:MM:SS in UTC.
//! * CoinTracking: its eleven columns and the transaction id; amounts contain the fee.

use cairn_domain::{
    pnl::{Kind, Method, Row},
    price::Price,
};
use cairn_events::Currency;
use cairn_http::{Column, Table};
use jiff::{Timestamp, tz::TimeZone};

use super::{
    compute::PricedTx,
    explained::{RowKind, why_null},
};
use crate::{
    operation::prelude::*,
    price_now::source,
    values::{Decimal, PriceNumber},
    vocabulary::columns::columns,
};

pub(super) const MAX_CSV_ROWS: usize = 20_000;

/// The importer that reads a file of movements.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CsvProfile {
    Koinly,
    Cointracker,
    Cointracking,
}

/// Rows of a file, by what its columns show.
pub(super) enum Rows {
    Gains(Vec<Gain>),
    Movements(CsvProfile, Vec<TransferRow>),
}

impl Rows {
    pub(super) fn new(profile: Option<CsvProfile>) -> Self {
        profile.map_or(Rows::Gains(Vec::new()), |profile| Rows::Movements(profile, Vec::new()))
    }

    pub(super) fn add(&mut self, step: &PricedTx<'_>, (method, currency): (Method, Currency)) {
        match self {
            Rows::Gains(rows) => {
                rows.extend(step.rows.iter().filter_map(|row| Gain::of(step, row, method, currency)));
            }
            Rows::Movements(_, rows) => rows.extend(TransferRow::of(step, currency)),
        }
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Rows::Gains(rows) => rows.len(),
            Rows::Movements(_, rows) => rows.len(),
        }
    }

    pub(super) fn into_table(self) -> Table {
        match self {
            Rows::Gains(rows) => Table::new(rows),
            Rows::Movements(CsvProfile::Koinly, rows) => Table::with(KOINLY, rows),
            Rows::Movements(CsvProfile::Cointracker, rows) => Table::with(COINTRACKER, rows),
            Rows::Movements(CsvProfile::Cointracking, rows) => Table::with(COINTRACKING, rows),
        }
    }
}

fn btc(sats: Sats) -> String {
    Decimal::<8>(sats.into()).to_string()
}

fn money(micros: Option<i128>) -> String {
    micros.map_or_else(String::new, |micros| Decimal::<6>(micros).to_string())
}

/// A realized gain: coins that left.
pub(super) struct Gain {
    kind: &'static str,
    time: u32,
    txid: String,
    sats: Sats,
    proceeds: Option<i128>,
    cost: Option<i128>,
    gain: Option<i128>,
    currency: Currency,
    method: Method,
    price: Option<Price>,
    reason: Option<&'static str>,
}

impl Gain {
    /// `None` for a row of coins that stay or come in.
    fn of(step: &PricedTx<'_>, row: &Row, method: Method, currency: Currency) -> Option<Self> {
        matches!(row.kind, Kind::Disposal | Kind::Fee).then(|| Gain {
            kind: RowKind::of(row.kind).name(),
            time: row.time,
            txid: step.tx.txid().to_string(),
            sats: row.sats,
            proceeds: row.value,
            cost: row.cost,
            gain: row.gain(),
            currency,
            method,
            price: step.price.as_ref().ok().filter(|_| row.kind.needs_price()).cloned(),
            reason: why_null(row, step.price),
        })
    }
}

columns! { Gain {
    kind,
    time: |of| rfc3339(of.time),
    txid,
    quantity_btc: |of| btc(of.sats),
    proceeds: |of| money(of.proceeds),
    cost_basis: |of| money(of.cost),
    gain: |of| money(of.gain),
    currency,
    method: |of| match of.method {
        Method::Average => "average",
        Method::Fifo => "fifo",
    },
    price: |of| of.price.as_ref().map(|price| PriceNumber(price.price)),
    price_as_of: |of| of.price.as_ref().map(|price| rfc3339(price.as_of)),
    price_source: |of| of.price.as_ref().and_then(source),
    reason,
} }

/// A movement of coins.
pub(super) struct TransferRow {
    time: u32,
    txid: String,
    received: Sats,
    sent: Sats,
    fee: Sats,
    is_mined: bool,
    worth: Option<(String, String)>,
}

impl TransferRow {
    /// `None` for a transaction that leaves all as it was.
    fn of(step: &PricedTx<'_>, currency: Currency) -> Option<Self> {
        let mut moved = TransferRow {
            time: step.movement.time,
            txid: step.tx.txid().to_string(),
            received: 0,
            sent: 0,
            fee: 0,
            is_mined: false,
            worth: None,
        };
        for row in step.rows {
            match row.kind {
                Kind::Acquisition | Kind::Income => moved.received = row.sats,
                Kind::Disposal => moved.sent = row.sats,
                Kind::Fee => moved.fee = row.sats,
                Kind::Transfer => {}
            }
            moved.is_mined |= row.kind == Kind::Income;
            if row.kind.needs_price() {
                moved.worth = row.value.map(|value| (money(Some(value)), currency.to_string()));
            }
        }
        (moved.received > 0 || moved.sent > 0 || moved.fee > 0).then_some(moved)
    }

    /// True if nothing moved but a fee.
    fn is_only_fee(&self) -> bool {
        self.sent == 0 && self.received == 0
    }

    /// Returns the sum sent and the fee: importers ignore a fee without a payment.
    fn sent_and_fee(&self) -> (Sats, Sats) {
        if self.is_only_fee() { (self.fee, 0) } else { (self.sent, self.fee) }
    }

    /// Returns the net sums bought and sold: amounts of CoinTracking contain the fee.
    fn bought_and_sold(&self) -> (Sats, Sats) {
        let (sent, fee) = self.sent_and_fee();
        let left = sent.saturating_add(fee);
        (self.received.saturating_sub(left), left.saturating_sub(self.received))
    }

    fn at(&self, format: &str) -> String {
        let at = Timestamp::from_second(self.time.into()).unwrap_or(Timestamp::UNIX_EPOCH);
        at.to_zoned(TimeZone::UTC).strftime(format).to_string()
    }

    /// `mined` for what is mined, `only_fee` for a fee without a payment, otherwise empty.
    fn word(&self, mined: &str, only_fee: &str) -> String {
        let word = match () {
            () if self.is_mined => mined,
            () if self.is_only_fee() => only_fee,
            () => "",
        };
        word.to_owned()
    }

    fn description(&self) -> String {
        let text = if self.is_only_fee() { "network fee of a transfer within the wallet" } else { "" };
        text.to_owned()
    }
}

/// The cell of an amount; empty for none.
fn amount(sats: Sats) -> String {
    if sats == 0 { String::new() } else { btc(sats) }
}

/// The cell of an amount's currency; empty for none.
fn coin(sats: Sats) -> String {
    if sats == 0 { String::new() } else { "BTC".to_owned() }
}

const KOINLY: &[Column<TransferRow>] = &[
    ("Date", |of| of.at("%Y-%m-%d %H:%M:%S UTC")),
    ("Sent Amount", |of| amount(of.sent_and_fee().0)),
    ("Sent Currency", |of| coin(of.sent_and_fee().0)),
    ("Received Amount", |of| amount(of.received)),
    ("Received Currency", |of| coin(of.received)),
    ("Fee Amount", |of| amount(of.sent_and_fee().1)),
    ("Fee Currency", |of| coin(of.sent_and_fee().1)),
    ("Net Worth Amount", |of| of.worth.as_ref().map_or_else(String::new, |(worth, _)| worth.clone())),
    ("Net Worth Currency", |of| of.worth.as_ref().map_or_else(String::new, |(_, currency)| currency.clone())),
    ("Label", |of| of.word("mining", "cost")),
    ("Description", TransferRow::description),
    ("TxHash", |of| of.txid.clone()),
];

const COINTRACKER: &[Column<TransferRow>] = &[
    ("Date", |of| of.at("%m/%d/%Y %H:%M:%S")),
    ("Received Quantity", |of| amount(of.received)),
    ("Received Currency", |of| coin(of.received)),
    ("Sent Quantity", |of| amount(of.sent_and_fee().0)),
    ("Sent Currency", |of| coin(of.sent_and_fee().0)),
    ("Fee Amount", |of| amount(of.sent_and_fee().1)),
    ("Fee Currency", |of| coin(of.sent_and_fee().1)),
    ("Tag", |of| of.word("mined", "")),
];

const COINTRACKING: &[Column<TransferRow>] = &[
    ("Type", |of| {
        let is_deposit = of.bought_and_sold().1 == 0;
        let word = of.word("Mining", "Other Fee");
        if word.is_empty() { if is_deposit { "Deposit" } else { "Withdrawal" }.to_owned() } else { word }
    }),
    ("Buy Amount", |of| amount(of.bought_and_sold().0)),
    ("Buy Currency", |of| coin(of.bought_and_sold().0)),
    ("Sell Amount", |of| amount(of.bought_and_sold().1)),
    ("Sell Currency", |of| coin(of.bought_and_sold().1)),
    ("Fee", |of| amount(of.sent_and_fee().1)),
    ("Fee Currency", |of| coin(of.sent_and_fee().1)),
    ("Exchange", |_| String::new()),
    ("Trade-Group", |_| String::new()),
    ("Comment", TransferRow::description),
    ("Date", |of| of.at("%Y-%m-%d %H:%M:%S")),
    ("Tx-ID", |of| of.txid.clone()),
];
