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
    about: "Prices and exchange rates that hold: of several sources the median, those too far from it left out.",
    sorted_by: &["base", "quote", "candle", "closes_at"],
    columns: &[
        column("base", Kind::Word, "Currency that is priced, for example BTC."),
        column("quote", Kind::Word, "Currency that it is priced in, for example USD."),
        column("candle", Kind::Word, "minute, hour or day: the time that a price is of."),
        column("closes_at", Kind::Time, "When the candle closed; from then on the price is known."),
        column("day", Kind::Day, "Day of the candle: of its beginning."),
        column("close", Kind::Price, "The last price: the median of the sources, of two their mean."),
        nullable("open", Kind::Price, "The first price, where the close is one source's."),
        nullable("high", Kind::Price, "The highest price, likewise."),
        nullable("low", Kind::Price, "The lowest price, likewise."),
        nullable("source", Kind::Word, "The source whose close it is; null for a mean of two."),
        column("sources", Kind::Int, "Sources that the median is of."),
        column("dropped", Kind::Int, "Sources that were left out, since they are too far from the median."),
        column("is_disputed", Kind::Flag, "True if two sources were left that are too far from each other."),
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
        sink.settle()?;
        if sink.rows.len() == 0 {
            scope.check()?;
        }
    }
    Ok(())
}
