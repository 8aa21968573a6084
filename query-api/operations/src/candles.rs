//! Candles of a view, for the computations of the domain.

use std::cell::RefCell;

use cairn_domain::price::{Quotes, Series};
use cairn_events::Chosen;
use cairn_reader::{ReadError, View};

use crate::series::KnownSeries;

/// Looks candles up: the newest of each series without a read, the others with one, unless they are loaded.
pub(crate) struct Candles<'a> {
    view: &'a View<'a>,
    known: &'a KnownSeries,
    loaded: RefCell<Vec<CandleRange>>,
}

/// All candles of a series within a time.
struct CandleRange {
    series: Series,
    from: u32,
    to: u32,
    rows: Vec<(u32, Chosen)>,
}

impl<'a> Candles<'a> {
    pub(crate) fn new(view: &'a View<'a>, known: &'a KnownSeries) -> Self {
        Candles { view, known, loaded: RefCell::default() }
    }

    /// Reads all candles of a series that close from one time to another, so that they need no further read. One row
    /// for each.
    pub(crate) fn load(&self, series: Series, from: u32, to: u32) -> Result<(), ReadError> {
        if let Some(span) = self.known.span(series).filter(|span| span.first <= to && from <= span.last) {
            let rows = self.view.ledger().quotes(series, from, to.min(span.last), usize::MAX)?;
            self.loaded.borrow_mut().push(CandleRange { series, from, to, rows });
        }
        Ok(())
    }
}

impl Quotes for Candles<'_> {
    type Error = ReadError;

    fn last(&self, series: Series, time: u32) -> Result<Option<(u32, Chosen)>, ReadError> {
        match self.known.span(series) {
            None => return Ok(None),
            Some(span) if time < span.first => return Ok(None),
            Some(span) if time >= span.last => return Ok(Some((span.last, span.newest.clone()))),
            Some(_) => {}
        }
        let covers = |loaded: &&CandleRange| loaded.series == series && (loaded.from..=loaded.to).contains(&time);
        if let Some(loaded) = self.loaded.borrow().iter().find(covers) {
            let after = loaded.rows.partition_point(|(closes_at, _)| *closes_at <= time);
            // The one before may be earlier than all that is loaded.
            if let Some(found) = after.checked_sub(1).and_then(|at| loaded.rows.get(at)) {
                return Ok(Some(found.clone()));
            }
        }
        self.view.ledger().quote_at(series, time)
    }
}
