//! `prices`.

use cairn_events::Interval;
use cairn_reader::View;
use cairn_tables::events::Quotes;

use crate::{
    Dataset, ExportError,
    columns::{Kind, column, nullable},
    dataset::{Scope, Source},
    sink::Sink,
};

pub(super) const PRICES: Dataset = Dataset {
    name: "prices",
    about: "Prices and exchange rates in force: the median of the sources, without those that are too far from it.",
    sorted_by: &["base", "quote", "candle", "closes_at"],
    columns: &[
        column("base", Kind::Word, "Priced currency, for example BTC."),
        column("quote", Kind::Word, "Currency of the price, for example USD."),
        column("candle", Kind::Word, "Length of the candle: minute, hour or day."),
        column("closes_at", Kind::Time, "Time when the candle closes; the price is known from then on."),
        column("day", Kind::Day, "Day on which the candle begins."),
        column(
            "close",
            Kind::Price,
            "Last price: the median of the sources. For an even number of sources it is the mean of the middle two.",
        ),
        nullable(
            "open",
            Kind::Price,
            "First price of the candle, from the source of the close; null if `source` is null or reports only closes.",
        ),
        nullable("high", Kind::Price, "Highest price, from the same source; null like `open`."),
        nullable("low", Kind::Price, "Lowest price, from the same source; null like `open`."),
        nullable("source", Kind::Word, "Source of the close; null if the close is a mean of two sources."),
        column("sources", Kind::Int, "Number of sources that the median is taken of."),
        column("dropped", Kind::Int, "Number of sources that are left out because they are too far from the median."),
        column("is_disputed", Kind::Flag, "True if the remaining sources are too far from each other."),
    ],
    source: Source::Whole(rows),
};

fn rows(scope: &Scope<'_>, view: &View<'_>, sink: &mut Sink) -> Result<(), ExportError> {
    for row in view.scan::<Quotes>(None)? {
        let (candle, chosen) = row?;
        let rows = &mut sink.rows;
        rows.text(candle.series.base.as_str());
        rows.text(candle.series.quote.as_str());
        rows.text(match candle.series.interval {
            Interval::Minute => "minute",
            Interval::Hour => "hour",
            Interval::Day => "day",
        });
        rows.time(candle.closes_at);
        rows.day_of(candle.closes_at.saturating_sub(candle.series.interval.seconds()));
        rows.price(chosen.close);
        let range = chosen.range;
        [range.map(|range| range.open), range.map(|range| range.high), range.map(|range| range.low)]
            .into_iter()
            .for_each(|price| rows.maybe(price, |rows, price| rows.price(price)));
        rows.maybe(chosen.source.as_ref(), |rows, source| rows.text(source.as_str()));
        rows.number(chosen.sources);
        rows.number(chosen.dropped);
        rows.flag(chosen.disputed);
        scope.settle(sink)?;
    }
    Ok(())
}
