//! The price of bitcoin now, as answers show it: with its source and its age, or the reason why it is missing.

use std::sync::Arc;

use cairn_domain::price::{Missing, NoRate, Price, Rate, current_price};
use cairn_events::{Currency, LiveQuote};
use cairn_http::Versions;

use crate::{
    candles::Candles, operation::prelude::*, series::KnownSeries, values::PriceNumber, vocabulary::caveat::Caveat,
};

pub(crate) fn why_missing(missing: Missing) -> &'static str {
    match missing {
        Missing::NoSeries => "no prices are loaded",
        Missing::BeforeSeries => "no price is known for that time: the series begins later",
        Missing::NoRate(none) => why_no_rate(none),
        Missing::TooLarge => "the converted price is too large",
    }
}

pub(crate) fn why_no_rate(none: NoRate) -> &'static str {
    match none {
        NoRate::NoSeries => "no exchange rates of this currency are loaded",
        NoRate::NotThen => "no exchange rate is known for that time or the 30 days before",
    }
}

/// The price of bitcoin in US dollars now.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Price")]
pub(crate) struct Dollars {
    usd: PriceNumber,
    /// Time of the price: the close of its candle, or the query to the sources.
    as_of: String,
    /// The source; null if the price is the mean of two.
    source: Option<String>,
    /// Number of sources in the median.
    sources: u16,
    /// True if the price is older than twice the interval of its candle and older than ten minutes.
    stale: bool,
}

impl Dollars {
    pub(crate) fn of(price: &Price, now: u32) -> Self {
        Dollars {
            usd: PriceNumber(price.price),
            as_of: rfc3339(price.as_of),
            source: source(price),
            sources: price.sources,
            stale: price.is_stale_at(now),
        }
    }
}

pub(crate) fn source(price: &Price) -> Option<String> {
    price.source.as_ref().map(|source| source.as_str().to_owned())
}

pub(crate) fn caveats(price: Result<&Price, Missing>, now: u32) -> Vec<Caveat> {
    match price {
        Err(Missing::NoSeries) => vec![Caveat::NoPriceSource {}],
        Err(missing) => {
            vec![Caveat::PriceMissing { currency: Currency::USD.to_string(), reason: why_missing(missing) }]
        }
        Ok(price) if price.is_stale_at(now) => {
            vec![Caveat::SourceStale { source: source(price), as_of: rfc3339(price.as_of) }]
        }
        Ok(_) => Vec::new(),
    }
}

impl Ctx<'_> {
    /// Seconds since 1970 at the beginning of the request, or the time that a part of it is computed for.
    pub(crate) fn now(&self) -> u32 {
        self.fixed_now.get().unwrap_or(u32::try_from(self.now_ms / 1000).unwrap_or(u32::MAX))
    }

    /// Computes something as if the request had come at this time: the result depends on the index only.
    pub(crate) fn as_if_at<T>(&self, time: u32, compute: impl FnOnce() -> T) -> T {
        let before = self.fixed_now.replace(Some(time));
        let result = compute();
        self.fixed_now.set(before);
        result
    }

    pub(crate) fn known(&self) -> Result<Arc<KnownSeries>, ApiError> {
        let view = self.view()?;
        let reader = self.prices.reader.ok_or_else(ApiError::internal)?;
        Ok(self.prices.slot.get(reader, view, self.damages)?)
    }

    /// Live quotes: those that are published, and those of the index.
    pub(crate) fn live(&self, known: &KnownSeries) -> Vec<LiveQuote> {
        self.prices.live.iter().chain(&known.live).cloned().collect()
    }

    pub(crate) fn dollars(&self) -> Result<Result<&Price, Missing>, ApiError> {
        let kept = &self.prices.dollars;
        let price = match kept.get() {
            Some(price) => price,
            None => {
                let (view, known) = (self.view()?, self.known()?);
                let live = self.live(&known);
                let price = current_price(&Candles::new(view, &known), &live, Currency::USD, self.now())?;
                kept.get_or_init(|| price)
            }
        };
        Ok(price.as_ref().map_err(|missing| *missing))
    }
}

/// Returns the price in every currency that has one, by code, and the number of further currencies.
pub(crate) fn in_all(
    ctx: &Ctx<'_>,
    known: &KnownSeries,
    most: usize,
) -> Result<(Vec<(Currency, Price)>, usize), ApiError> {
    let live = ctx.live(known);
    let candles = Candles::new(ctx.view()?, known);
    let of_bitcoin = known.spans().iter().map(|span| span.series).filter(|series| series.base == Currency::BTC);
    let of_euro = known.spans().iter().map(|span| span.series).filter(|series| series.base == Currency::EUR);
    let quoted = of_bitcoin.chain(of_euro).map(|series| series.quote);
    let live_ones = live.iter().filter(|quote| quote.base == Currency::BTC).map(|quote| quote.quote);
    let mut currencies: Vec<Currency> = quoted.chain(live_ones).chain([Currency::EUR]).collect();
    currencies.sort();
    currencies.dedup();
    let (mut told, mut omitted) = (Vec::new(), 0);
    for currency in currencies.into_iter().filter(|currency| *currency != Currency::BTC) {
        ctx.work.poll()?;
        if let Ok(price) = current_price(&candles, &live, currency, ctx.now())? {
            if told.len() < most { told.push((currency, price)) } else { omitted += 1 }
        }
    }
    Ok((told, omitted))
}

pub(crate) const MAX_CURRENCIES: usize = 64;

pub(crate) fn add_dollars(ctx: &Ctx<'_>, versions: &mut Versions) {
    match ctx.dollars() {
        Ok(Ok(price)) => add(price, ctx.now(), versions),
        Ok(Err(missing)) => versions.add(why_missing(missing).as_bytes()),
        // There is no answer then.
        Err(_) => versions.add(b"unknown"),
    }
}

pub(crate) fn add_market(ctx: &Ctx<'_>, versions: &mut Versions) {
    match ctx.known().and_then(|known| in_all(ctx, &known, MAX_CURRENCIES)) {
        Err(_) => versions.add(b"unknown"),
        Ok((all, omitted)) => {
            versions.add(&omitted.to_be_bytes());
            for (currency, price) in all {
                versions.add(&currency.bytes());
                add(&price, ctx.now(), versions);
            }
        }
    }
}

fn add(price: &Price, now: u32, versions: &mut Versions) {
    versions.add(&price.price.serialize());
    versions.add(&price.as_of.to_be_bytes());
    versions.add(&price.interval.map_or(0, |interval| interval.seconds()).to_be_bytes());
    versions.add(price.source.as_ref().map_or("", |source| source.as_str()).as_bytes());
    versions.add(&[price.sources, price.dropped].map(u16::to_be_bytes).concat());
    versions.add(&[price.disputed.into(), price.is_stale_at(now).into()]);
    if let Some(rate) = &price.rate {
        let Rate { target, base, closes_at, source } = rate;
        versions.add(&target.serialize());
        versions.add(&base.serialize());
        versions.add(&closes_at.to_be_bytes());
        versions.add(source.as_ref().map_or("", |source| source.as_str()).as_bytes());
        versions.add(&[rate.is_stale_at(now).into()]);
    }
}
