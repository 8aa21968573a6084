//! `GET /v1/price`.

use cairn_domain::price::{Missing, NoChange, Price, change_over_day, current_price};
use cairn_events::Currency;

use super::span::CandleInterval;
use crate::{
    candles::Candles,
    context::MARKET,
    operation::prelude::*,
    parameters::currency::CurrencyParam,
    price_now::{MAX_CURRENCIES, in_all, source, why_missing},
    values::{Fiat, PriceNumber, date},
};

pub(crate) struct CurrentPrice;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CurrentPriceInput {
    /// Code of the currency.
    #[serde(default = "CurrencyParam::usd")]
    currency: CurrencyParam,
}

/// The price of bitcoin now.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CurrentPriceOutput {
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
    /// Code of the currency of `price`.
    currency: String,
    /// Price of one bitcoin in the currency.
    price: Option<PriceNumber>,
    /// Why `price` is null; otherwise null.
    price_reason: Option<&'static str>,
    /// Time of the price: the close of its candle, or the query to the sources. For a converted price, the time of the
    /// dollar price.
    as_of: Option<String>,
    /// Source of the price; null if it is the mean of two.
    source: Option<String>,
    /// Number of sources in the median.
    sources: Option<u16>,
    /// Number of sources that were left out because they are more than 5 % from the median.
    dropped: Option<u16>,
    /// True if the sources disagree by more than 5 %.
    disputed: Option<bool>,
    /// True if the price, or the rate of its conversion, is too old.
    stale: Option<bool>,
    /// `live`: the latest price from the sources; `candle`: the close of a candle.
    kind: Option<Kind>,
    /// Length of the candle; null for a live price.
    interval: Option<CandleInterval>,
    /// Exchange rate by which the dollar price was converted; null without conversion.
    fx: Option<UsedRate>,
    /// Change of `price` over the 24 hours before `as_of`, in percent.
    change_24h_pct: Option<Fiat>,
    /// Why `change_24h_pct` is null; otherwise null.
    change_24h_reason: Option<&'static str>,
    /// Price of one bitcoin in US dollars.
    price_usd: Option<PriceNumber>,
    /// Why `price_usd` is null; otherwise null.
    price_usd_reason: Option<&'static str>,
    /// Time at which `price_usd` was known.
    price_fetched_at: Option<String>,
    market: Market,
}

/// Kind of a price.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "PriceKind")]
pub(crate) enum Kind {
    Live,
    Candle,
}

/// The price in every currency.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Market {
    /// Prices by currency, sorted by code; at most 64.
    prices: Vec<PriceIn>,
    /// Number of currencies that are not listed.
    omitted: usize,
}

/// The price in a currency.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PriceIn {
    currency: String,
    price: PriceNumber,
    as_of: String,
    stale: bool,
    /// Exchange rate by which the dollar price was converted; null without conversion.
    fx: Option<UsedRate>,
}

/// An exchange rate that was used.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct UsedRate {
    /// Units of the currency for one dollar.
    rate: PriceNumber,
    /// Day of the reference rates (UTC).
    date: String,
    /// Source of the reference rates.
    source: Option<String>,
}

impl UsedRate {
    /// The rate of a converted price; `None` if it is not converted.
    pub(crate) fn of(price: &Price) -> Option<Self> {
        price.rate.as_ref().map(|rate| UsedRate {
            rate: PriceNumber(rate.value()),
            date: date(rate.day()),
            source: rate.source.as_ref().map(|source| source.as_str().to_owned()),
        })
    }
}

fn why_no_change(none: NoChange) -> &'static str {
    match none {
        NoChange::Missing(missing) => why_missing(missing),
        NoChange::Stale => "the last price before that time was too old",
        NoChange::TooLarge => "the change is too large",
    }
}

impl Operation for CurrentPrice {
    const INFO: Info = Info {
        summary: "Current price of bitcoin in a currency, with its source and its age",
        description: "The newest known price: the latest from the sources, or the close of the newest candle. It is \
            the median of the sources. A price in a currency without sources is converted from US dollars by the \
            euro's reference rates of the last business day. `stale` is true if the price is older than twice the \
            interval of its candle and older than ten minutes. Unknown fields are null, with a reason. `market` has \
            the price in all currencies at once.",
        source: "prices",
        freshness: &[TIP, MARKET],
        freshness_semantics: "time of the newest block in the index; the price has its own `as_of`",
        tool: Tool::reads(
            "asked for the current price of bitcoin, in dollars or another currency, or its change within a day",
            "prices of the past (/v1/market/price-history), or the value of an address (wallet_overview)",
        )
        .named("bitcoin_price"),
        ..index_get("price", "/v1/price", "market")
    };
    type Input = CurrentPriceInput;
    type Output = CurrentPriceOutput;

    fn run(ctx: &Ctx<'_>, input: CurrentPriceInput) -> Result<CurrentPriceOutput, ApiError> {
        let (view, known, currency) = (ctx.view()?, ctx.known()?, input.currency.0);
        let candles = Candles::new(view, &known);
        let price = match currency == Currency::USD {
            true => ctx.dollars()?.cloned(),
            false => current_price(&candles, &ctx.live(&known), currency, ctx.now())?,
        };
        let change = match &price {
            Err(missing) => Err(why_missing(*missing)),
            Ok(price) => change_over_day(&candles, price, currency)?.map_err(why_no_change),
        };
        let dollars = ctx.dollars()?;
        let (told, omitted) = in_all(ctx, &known, MAX_CURRENCIES)?;
        let prices = told.into_iter().map(|(currency, price)| PriceIn {
            currency: currency.to_string(),
            price: PriceNumber(price.price),
            as_of: rfc3339(price.as_of),
            stale: price.is_stale_at(ctx.now()),
            fx: UsedRate::of(&price),
        });
        let reason = |missing: Missing| why_missing(missing);
        let found = price.as_ref().ok();
        Ok(CurrentPriceOutput {
            definition: "price",
            currency: currency.to_string(),
            price: found.map(|price| PriceNumber(price.price)),
            price_reason: price.as_ref().err().copied().map(reason),
            as_of: found.map(|price| rfc3339(price.as_of)),
            source: found.and_then(source),
            sources: found.map(|price| price.sources),
            dropped: found.map(|price| price.dropped),
            disputed: found.map(|price| price.disputed),
            stale: found.map(|price| price.is_stale_at(ctx.now())),
            kind: found.map(|price| if price.interval.is_some() { Kind::Candle } else { Kind::Live }),
            interval: found.and_then(|price| price.interval).map(CandleInterval::of),
            fx: found.and_then(UsedRate::of),
            change_24h_pct: change.ok().map(Fiat),
            change_24h_reason: change.err(),
            price_usd: dollars.ok().map(|price| PriceNumber(price.price)),
            price_usd_reason: dollars.err().map(reason),
            price_fetched_at: dollars.ok().map(|price| rfc3339(price.as_of)),
            market: Market { prices: prices.collect(), omitted },
        })
    }
}
