//! Days and windows as answers have them.

use std::collections::BTreeMap;

use cairn_domain::onchain::{CoinTime, Figures, Flows, Missing, Spending};
use cairn_http::ApiError;
use cairn_reader::ReadError;
use schemars::JsonSchema;
use serde::{Serialize, Serializer, ser::Error};
use serde_json::value::RawValue;

use crate::{
    parsed::schema,
    values::{Decimal, date},
    vocabulary::columns::columns,
};

/// A number that is printed as it is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Number(pub(crate) String);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        RawValue::from_string(self.0.clone()).map_err(S::Error::custom)?.serialize(serializer)
    }
}

schema!(inline Number, "Number", {"type": "number"});

#[derive(Clone, Copy, Debug)]
pub(super) struct Scripts {
    pub(super) active: i128,
    pub(super) senders: i128,
    pub(super) receivers: i128,
}

/// Reasons for null fields, by field name.
type Reasons = BTreeMap<&'static str, String>;

/// A day.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct DayRow {
    /// The day, as YYYY-MM-DD (UTC, monotone block time).
    date: String,
    blocks: u64,
    /// Number of transactions, including coinbases.
    txs: u64,
    /// Sum of all unspent coins at the end of the day, without unspendable outputs and the genesis block's.
    supply_sats: u64,
    /// Number of unspent coins.
    coins: u64,
    /// Number of coins created on the day.
    created_coins: u64,
    created_sats: u64,
    /// Number of coins spent on the day.
    spent_coins: u64,
    spent_sats: u64,
    /// Sum of all outputs, without coinbases.
    volume_sats: u64,
    /// Sum of the outputs to others: to scripts from which the transaction does not spend, outside the clusters from
    /// which it spends.
    volume_net_sats: u64,
    fees_sats: u64,
    /// Number of scripts that sent or received.
    active_scripts: u64,
    sending_scripts: u64,
    receiving_scripts: u64,
    /// Value × days by which unspent coins aged, in bitcoin-days, rounded down.
    coin_days_created: Decimal<8>,
    /// Value × age in days of the coins spent, in bitcoin-days, rounded down.
    coin_days_destroyed: Decimal<8>,
    /// Coin-days destroyed divided by the value spent: average age of the spent coins in days.
    dormancy_days: Option<Decimal<6>>,
    /// Coin-days destroyed divided by coin-days created, since the chain began.
    liveliness: Option<Decimal<6>>,
    /// Coin-days destroyed divided by coin-days created, on this day.
    liveliness_of_day: Option<Decimal<6>>,
    /// Closing price of the day in USD.
    price_usd: Option<Number>,
    /// Supply × price, rounded down to cents.
    market_cap_usd: Option<Decimal<2>>,
    /// Sum of all unspent coins, each at the price of the day on which it was created, rounded down to cents.
    realized_cap_usd: Option<Decimal<2>>,
    /// Market cap divided by realized cap.
    mvrv: Option<Decimal<6>>,
    /// Sum of unspent coins that are older than the prices; they count zero in the realized cap.
    unpriced_sats: Option<u64>,
    /// Value of the spent coins at the price of the day, divided by their value at the price of the day on which they
    /// were created.
    sopr: Option<Decimal<6>>,
    /// Like `sopr`, without coins that were created on the same day.
    sopr_excluding_same_day: Option<Decimal<6>>,
    /// Sum of spent coins that are older than the prices; they are in neither ratio.
    unpriced_spent_sats: Option<u64>,
    /// Share of the supply in each class of age, the youngest first, rounded down. The classes are those of
    /// `hodl_waves`.
    hodl_shares: Vec<Decimal<6>>,
    /// Reasons for null fields, by field name.
    reasons: Reasons,
}

/// Sums over days.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct Window {
    /// First day.
    from: String,
    /// Last day.
    to: String,
    /// False if the chain begins later than the window.
    complete: bool,
    blocks: u64,
    txs: u64,
    created_coins: u64,
    created_sats: u64,
    spent_coins: u64,
    spent_sats: u64,
    volume_sats: u64,
    volume_net_sats: u64,
    fees_sats: u64,
    coin_days_created: Decimal<8>,
    coin_days_destroyed: Decimal<8>,
    dormancy_days: Option<Decimal<6>>,
    /// Coin-days destroyed divided by coin-days created, in these days.
    liveliness: Option<Decimal<6>>,
    sopr: Option<Decimal<6>>,
    sopr_excluding_same_day: Option<Decimal<6>>,
    unpriced_spent_sats: Option<u64>,
    /// Reasons for null fields, by field name.
    reasons: Reasons,
}

/// Converts a sum that cannot be below zero.
pub(super) fn natural(number: i128) -> Result<u64, ApiError> {
    u64::try_from(number).map_err(|_| ReadError::Broken(format!("sums by day add up to {number}")).into())
}

/// In millionths.
pub(super) fn share(sats: i128, supply: i128) -> Decimal<6> {
    Decimal((sats * 1_000_000).checked_div(supply).unwrap_or(0))
}

/// Why a figure is not known.
pub(super) fn reason(missing: Missing) -> String {
    match missing {
        Missing::NoSeries => "no daily prices in USD are known".to_owned(),
        Missing::Before { first } => format!("the daily prices begin on {}", date(first)),
        Missing::Gap { day } => format!("the daily prices have a gap: none for {}", date(day)),
        Missing::Ended { last } => format!("the daily prices end on {}", date(last)),
        Missing::NothingPriced => "no spent coin has a known price".to_owned(),
        Missing::DividedByZero => "the realized cap is zero".to_owned(),
        Missing::TooLarge => "the figure is too large".to_owned(),
    }
}

/// A figure that may be missing, with its reason.
fn known<T>(reasons: &mut Reasons, field: &'static str, figure: Result<T, Missing>) -> Option<T> {
    figure.map_err(|missing| reasons.insert(field, reason(missing))).ok()
}

/// A ratio that may have nothing to divide by.
fn ratio(reasons: &mut Reasons, field: &'static str, figure: Option<i128>, without: &str) -> Option<Decimal<6>> {
    if figure.is_none() {
        reasons.insert(field, without.to_owned());
    }
    figure.map(Decimal)
}

const NOTHING_SPENT: &str = "nothing was spent";
const NOTHING_AGED: &str = "no coin aged";

fn soprs(reasons: &mut Reasons, all: &Spending, older: &Spending) -> [Option<Decimal<6>>; 2] {
    [("sopr", all), ("sopr_excluding_same_day", older)]
        .map(|(field, spending)| known(reasons, field, spending.sopr()).map(Decimal))
}

/// The part that is older than the prices, unless there are none.
fn unpriced(
    reasons: &mut Reasons,
    field: &'static str,
    sats: i128,
    figures: &Figures,
) -> Result<Option<u64>, ApiError> {
    match figures.market_cap {
        Err(missing @ Missing::NoSeries) => Ok(known(reasons, field, Err(missing))),
        _ => natural(sats).map(Some),
    }
}

impl DayRow {
    /// A day; `price` is its close, if there is one.
    pub(super) fn of(figures: &Figures, scripts: &Scripts, price: Result<Number, Missing>) -> Result<Self, ApiError> {
        let mut reasons = Reasons::new();
        let r = &mut reasons;
        let flows = &figures.flows;
        let [sopr, sopr_excluding_same_day] = soprs(r, &figures.spending, &figures.spending_of_older);
        let dormancy = figures.of_day.dormancy(flows.spent_sats);
        Ok(DayRow {
            date: date(figures.day),
            blocks: natural(flows.blocks)?,
            txs: natural(flows.txs)?,
            supply_sats: natural(figures.supply_sats)?,
            coins: natural(figures.coins)?,
            created_coins: natural(flows.created_coins)?,
            created_sats: natural(flows.created_sats)?,
            spent_coins: natural(flows.spent_coins)?,
            spent_sats: natural(flows.spent_sats)?,
            volume_sats: natural(flows.volume_sats())?,
            volume_net_sats: natural(flows.paid_sats)?,
            fees_sats: natural(flows.fee_sats)?,
            active_scripts: natural(scripts.active)?,
            sending_scripts: natural(scripts.senders)?,
            receiving_scripts: natural(scripts.receivers)?,
            coin_days_created: Decimal(figures.of_day.created_days()),
            coin_days_destroyed: Decimal(figures.of_day.destroyed_days()),
            dormancy_days: ratio(r, "dormancy_days", dormancy, NOTHING_SPENT),
            liveliness: ratio(r, "liveliness", figures.of_all.liveliness(), NOTHING_AGED),
            liveliness_of_day: ratio(r, "liveliness_of_day", figures.of_day.liveliness(), NOTHING_AGED),
            price_usd: known(r, "price_usd", price),
            market_cap_usd: known(r, "market_cap_usd", figures.market_cap).map(Decimal),
            realized_cap_usd: known(r, "realized_cap_usd", figures.realized_cap).map(Decimal),
            mvrv: known(r, "mvrv", figures.mvrv).map(Decimal),
            unpriced_sats: unpriced(r, "unpriced_sats", figures.unpriced_sats, figures)?,
            sopr,
            sopr_excluding_same_day,
            unpriced_spent_sats: unpriced(r, "unpriced_spent_sats", figures.spending.unpriced_sats, figures)?,
            hodl_shares: figures.waves.iter().map(|sats| share(*sats, figures.supply_sats)).collect(),
            reasons,
        })
    }
}

columns! { DayRow {
    date, blocks, txs, supply_sats, coins, created_coins, created_sats, spent_coins, spent_sats, volume_sats,
    volume_net_sats, fees_sats, active_scripts, sending_scripts, receiving_scripts, coin_days_created,
    coin_days_destroyed, dormancy_days, liveliness, liveliness_of_day,
    price_usd: |day| day.price_usd.as_ref().map(|number| &number.0),
    market_cap_usd, realized_cap_usd, mvrv, unpriced_sats, sopr, sopr_excluding_same_day, unpriced_spent_sats,
    hodl_0d: |day| day.hodl_shares.first(),
    hodl_1d: |day| day.hodl_shares.get(1),
    hodl_7d: |day| day.hodl_shares.get(2),
    hodl_30d: |day| day.hodl_shares.get(3),
    hodl_90d: |day| day.hodl_shares.get(4),
    hodl_180d: |day| day.hodl_shares.get(5),
    hodl_365d: |day| day.hodl_shares.get(6),
    hodl_730d: |day| day.hodl_shares.get(7),
    hodl_1095d: |day| day.hodl_shares.get(8),
    hodl_1825d: |day| day.hodl_shares.get(9),
    hodl_2555d: |day| day.hodl_shares.get(10),
    hodl_3650d: |day| day.hodl_shares.get(11),
    reasons: |day| {
        let reasons = day.reasons.iter().map(|(field, reason)| format!("{field}: {reason}"));
        reasons.collect::<Vec<_>>().join("; ")
    },
} }

impl Window {
    /// The sums of some days: at least one, and `days` unless some are missing.
    pub(super) fn of(figures: &[&Figures], days: u32) -> Result<Self, ApiError> {
        let (mut flows, mut time) = (Flows::default(), CoinTime::default());
        let (mut all, mut older) = (Spending::default(), Spending::default());
        for of_day in figures {
            flows.add(&of_day.flows);
            time.created += of_day.of_day.created;
            time.destroyed += of_day.of_day.destroyed;
            all.add(&of_day.spending);
            older.add(&of_day.spending_of_older);
        }
        let mut reasons = Reasons::new();
        let r = &mut reasons;
        let [sopr, sopr_excluding_same_day] = soprs(r, &all, &older);
        let day = |figures: Option<&&Figures>| date(figures.map_or(0, |figures| figures.day));
        Ok(Window {
            from: day(figures.first()),
            to: day(figures.last()),
            complete: figures.len() == days as usize,
            blocks: natural(flows.blocks)?,
            txs: natural(flows.txs)?,
            created_coins: natural(flows.created_coins)?,
            created_sats: natural(flows.created_sats)?,
            spent_coins: natural(flows.spent_coins)?,
            spent_sats: natural(flows.spent_sats)?,
            volume_sats: natural(flows.volume_sats())?,
            volume_net_sats: natural(flows.paid_sats)?,
            fees_sats: natural(flows.fee_sats)?,
            coin_days_created: Decimal(time.created_days()),
            coin_days_destroyed: Decimal(time.destroyed_days()),
            dormancy_days: ratio(r, "dormancy_days", time.dormancy(flows.spent_sats), NOTHING_SPENT),
            liveliness: ratio(r, "liveliness", time.liveliness(), NOTHING_AGED),
            sopr,
            sopr_excluding_same_day,
            unpriced_spent_sats: match figures.last() {
                Some(last) => unpriced(r, "unpriced_spent_sats", all.unpriced_sats, last)?,
                None => None,
            },
            reasons,
        })
    }
}
