//! Files: realized gains, and movements in the columns that importers of tax programs publish.
//!
//! * Koinly, "universal template": times in UTC; the fee beside what is sent, which does not contain it; what is mined
//!   is labelled `mining`, a fee without a payment `cost`.
//! * CoinTracker: all columns of its template, and no other; times MM/DD/YYYY HH:MM:SS in UTC.
//! * CoinTracking: its eleven columns and the transaction id; amounts contain the fee.

use cairn_domain::pnl::{Kind, Method, Row};
use cairn_events::Currency;
use cairn_http::Table;
use cairn_model::Sats;
use jiff::{Timestamp, tz::TimeZone};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{
    compute::Step,
    explained::{RowKind, why_null},
};
use crate::{
    price_now::source,
    values::{Decimal, PriceNumber, rfc3339},
};

/// Rows of a file.
pub(super) const MOST_CSV_ROWS: usize = 20_000;

/// Whose columns a file of movements has.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CsvProfile {
    Koinly,
    Cointracker,
    Cointracking,
}

const GAINS: &[&str] = &[
    "kind",
    "time",
    "txid",
    "quantity_btc",
    "proceeds",
    "cost_basis",
    "gain",
    "currency",
    "method",
    "price",
    "price_as_of",
    "price_source",
    "reason",
];

const KOINLY: &[&str] = &[
    "Date",
    "Sent Amount",
    "Sent Currency",
    "Received Amount",
    "Received Currency",
    "Fee Amount",
    "Fee Currency",
    "Net Worth Amount",
    "Net Worth Currency",
    "Label",
    "Description",
    "TxHash",
];

const COINTRACKER: &[&str] = &[
    "Date",
    "Received Quantity",
    "Received Currency",
    "Sent Quantity",
    "Sent Currency",
    "Fee Amount",
    "Fee Currency",
    "Tag",
];

const COINTRACKING: &[&str] = &[
    "Type",
    "Buy Amount",
    "Buy Currency",
    "Sell Amount",
    "Sell Currency",
    "Fee",
    "Fee Currency",
    "Exchange",
    "Trade-Group",
    "Comment",
    "Date",
    "Tx-ID",
];

/// A file of rows.
pub(super) fn table(profile: Option<CsvProfile>, rows: Vec<Vec<String>>) -> Table {
    let columns = match profile {
        None => GAINS,
        Some(CsvProfile::Koinly) => KOINLY,
        Some(CsvProfile::Cointracker) => COINTRACKER,
        Some(CsvProfile::Cointracking) => COINTRACKING,
    };
    Table { columns, rows: Box::new(rows.into_iter()) }
}

/// Adds the rows of a transaction.
pub(super) fn add(
    step: &Step<'_>,
    profile: Option<CsvProfile>,
    (method, currency): (Method, Currency),
    rows: &mut Vec<Vec<String>>,
) {
    match profile {
        None => rows.extend(step.rows.iter().filter_map(|row| gain(step, row, method, currency))),
        Some(profile) => rows.extend(Moved::of(step, currency).map(|moved| moved.row(profile))),
    }
}

fn btc(sats: Sats) -> String {
    Decimal::<8>(sats.into()).to_string()
}

fn money(micros: Option<i128>) -> String {
    micros.map_or_else(String::new, |micros| Decimal::<6>(micros).to_string())
}

/// What left.
fn gain(step: &Step<'_>, row: &Row, method: Method, currency: Currency) -> Option<Vec<String>> {
    if !matches!(row.kind, Kind::Disposal | Kind::Fee) {
        return None;
    }
    let price = step.price.as_ref().ok().filter(|_| row.kind.needs_price());
    Some(vec![
        RowKind::of(row.kind).name().to_owned(),
        rfc3339(row.time),
        step.tx.txid().to_string(),
        btc(row.sats),
        money(row.value),
        money(row.cost),
        money(row.gain()),
        currency.to_string(),
        match method {
            Method::Average => "average",
            Method::Fifo => "fifo",
        }
        .to_owned(),
        price.map_or_else(String::new, |price| PriceNumber(price.price).to_string()),
        price.map_or_else(String::new, |price| rfc3339(price.as_of)),
        price.and_then(source).unwrap_or_default(),
        why_null(row, step.price).unwrap_or_default().to_owned(),
    ])
}

/// A movement of coins.
struct Moved {
    time: u32,
    txid: String,
    received: Sats,
    sent: Sats,
    fee: Sats,
    is_mined: bool,
    worth: Option<(String, String)>,
}

impl Moved {
    /// `None` for a transaction that leaves all as it was.
    fn of(step: &Step<'_>, currency: Currency) -> Option<Self> {
        let mut moved = Moved {
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

    /// An amount and its currency; nothing for none.
    fn amount(sats: Sats) -> [String; 2] {
        if sats == 0 { [String::new(), String::new()] } else { [btc(sats), "BTC".to_owned()] }
    }

    /// True if nothing moved but a fee.
    fn is_only_fee(&self) -> bool {
        self.sent == 0 && self.received == 0
    }

    fn row(self, profile: CsvProfile) -> Vec<String> {
        // Importers take a fee without a payment for nothing.
        let (sent, fee) = if self.is_only_fee() { (self.fee, 0) } else { (self.sent, self.fee) };
        let at = Timestamp::from_second(self.time.into()).unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::UTC);
        let description = if self.is_only_fee() { "network fee of a transfer within the wallet" } else { "" };
        match profile {
            CsvProfile::Koinly => {
                let label = match () {
                    () if self.is_mined => "mining",
                    () if self.is_only_fee() => "cost",
                    () => "",
                };
                let (worth, of) = self.worth.clone().unwrap_or_default();
                let [sent, sent_in] = Moved::amount(sent);
                let [received, received_in] = Moved::amount(self.received);
                let [fee, fee_in] = Moved::amount(fee);
                let date = at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
                let texts = [label.to_owned(), description.to_owned(), self.txid];
                [vec![date, sent, sent_in, received, received_in, fee, fee_in, worth, of], texts.to_vec()].concat()
            }
            CsvProfile::Cointracker => {
                let [sent, sent_in] = Moved::amount(sent);
                let [received, received_in] = Moved::amount(self.received);
                let [fee, fee_in] = Moved::amount(fee);
                let date = at.strftime("%m/%d/%Y %H:%M:%S").to_string();
                let tag = if self.is_mined { "mined" } else { "" };
                vec![date, received, received_in, sent, sent_in, fee, fee_in, tag.to_owned()]
            }
            CsvProfile::Cointracking => {
                // Amounts contain the fee.
                let (came, went) = (self.received, sent.saturating_add(fee));
                let [buy, buy_in] = Moved::amount(came.saturating_sub(went));
                let [sell, sell_in] = Moved::amount(went.saturating_sub(came));
                let kind = match () {
                    () if self.is_mined => "Mining",
                    () if self.is_only_fee() => "Other Fee",
                    () if came >= went => "Deposit",
                    () => "Withdrawal",
                };
                let [fee, fee_in] = Moved::amount(fee);
                let date = at.strftime("%Y-%m-%d %H:%M:%S").to_string();
                let texts = [String::new(), String::new(), description.to_owned(), date, self.txid];
                [vec![kind.to_owned(), buy, buy_in, sell, sell_in, fee, fee_in], texts.to_vec()].concat()
            }
        }
    }
}
