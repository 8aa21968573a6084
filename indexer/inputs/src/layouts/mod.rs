//! The layouts, a file each.

mod binance;
mod bitstamp;
mod blockchain_com;
mod coinbase;
mod coingecko;
mod cryptodatadownload;
mod ecb;
mod investing;
mod kraken;
mod plain;
mod yahoo;

use std::io::BufRead;

use crate::{
    csv::{Cells, Line, Lines},
    error::{InputError, excerpt_of},
    number::{NumberStyle, number},
    plan::Plan,
    report::Code,
    words::Pair,
};

/// Lines that are read to recognize the layout.
const HEAD: usize = 32;
/// Cells of such a line; a line with more is of no layout.
const MAX_CELLS: usize = 512;

/// A layout of files.
#[derive(Debug)]
pub struct Layout {
    name: &'static str,
    pub(crate) publisher: Option<&'static str>,
    /// How a CSV file that begins so is read; `None` if it is of another layout. The second parameter says whether the
    /// caller named this layout.
    csv: Option<fn(&Head, bool) -> Option<Plan>>,
    json: Option<JsonShape>,
}

#[derive(Debug)]
struct JsonShape {
    /// Keys of the cells of a row that is an object, in the order of the plan's columns. Empty if rows are arrays.
    keys: &'static [&'static str],
    /// Whether a row can be of this layout.
    fits: fn(&Cells) -> bool,
    plan: fn() -> Plan,
    /// The pair, if a key outside of rows gives it; an error if the key says that the file is of something else.
    pair: fn(&str, &str) -> Result<Option<Pair>, ()>,
}

/// Not the name of a layout.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a layout; write one of {}", Layout::names())]
pub struct LayoutError;

impl Layout {
    /// All. The first that fits is taken.
    pub const ALL: [&'static Layout; 11] = [
        &yahoo::LAYOUT,
        &cryptodatadownload::LAYOUT,
        &coinbase::LAYOUT,
        &kraken::LAYOUT,
        &binance::LAYOUT,
        &bitstamp::LAYOUT,
        &coingecko::LAYOUT,
        &blockchain_com::LAYOUT,
        &investing::LAYOUT,
        &ecb::LAYOUT,
        &plain::LAYOUT,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// All names, with commas.
    #[must_use]
    pub fn names() -> String {
        Layout::ALL.map(|layout| layout.name).join(", ")
    }

    /// The layout of that name.
    pub fn named(name: &str) -> Result<&'static Layout, LayoutError> {
        Layout::ALL.into_iter().find(|layout| layout.name == name).ok_or(LayoutError)
    }

    /// The layout of a CSV file, and how it is read.
    pub(crate) fn of_csv(head: &Head, named: Option<&'static Layout>) -> Result<(&'static Layout, Plan), InputError> {
        let begins = || excerpt_of(head.row(0).unwrap_or_default().iter().map(String::as_str));
        if head.lines().is_empty() {
            return Err(InputError::Empty);
        }
        if let Some(layout) = named {
            let plan = layout.csv.and_then(|csv| csv(head, true));
            return plan
                .map(|plan| (layout, plan))
                .ok_or_else(|| InputError::OtherLayout { layout: layout.name, begins: begins() });
        }
        let fits = |layout: &'static Layout| Some((layout, layout.csv?(head, false)?));
        Layout::ALL
            .into_iter()
            .find_map(fits)
            .ok_or_else(|| InputError::Unrecognised { begins: begins(), known: Layout::names() })
    }

    /// The layout of a JSON file with such a first row, and how it is read.
    pub(crate) fn of_json(
        keys: &Cells,
        cells: &Cells,
        named: Option<&'static Layout>,
    ) -> Result<(&'static Layout, Plan), InputError> {
        let fits = |layout: &&'static Layout| {
            let shape = layout.json.as_ref();
            shape.is_some_and(|shape| {
                let has_keys = shape.keys.iter().all(|key| keys.iter().any(|has| has == *key));
                let is_kind = shape.keys.is_empty() == (keys.len() == 0);
                has_keys && is_kind && (named.is_some() || (shape.fits)(cells))
            })
        };
        let plan = |layout: &'static Layout| layout.json.as_ref().map(|shape| (layout, (shape.plan)()));
        let begins = || excerpt_of(keys.iter().chain(cells.iter()));
        match named {
            Some(layout) => Some(layout)
                .filter(fits)
                .and_then(plan)
                .ok_or_else(|| InputError::OtherLayout { layout: layout.name, begins: begins() }),
            None => Layout::ALL
                .into_iter()
                .find(fits)
                .and_then(plan)
                .ok_or_else(|| InputError::Unrecognised { begins: begins(), known: Layout::names() }),
        }
    }

    /// The cells of a JSON row in the order of the columns. A key that is missing leaves a cell too few.
    pub(crate) fn order<'a>(&self, keys: &Cells, cells: &'a Cells, ordered: &'a mut Cells) -> &'a Cells {
        let wanted = self.json.as_ref().map_or(&[][..], |shape| shape.keys);
        if wanted.is_empty() {
            return cells;
        }
        ordered.clear();
        for key in wanted {
            if let Some(at) = keys.iter().position(|has| has == *key) {
                ordered.push(cells.get(at));
            }
        }
        ordered
    }

    /// The pair, if a key outside of rows gives it.
    pub(crate) fn pair_of(&self, key: &str, value: &str) -> Result<Option<Pair>, InputError> {
        let Some(shape) = &self.json else { return Ok(None) };
        let begins = || excerpt_of([key, value].into_iter());
        (shape.pair)(key, value).map_err(|()| InputError::OtherLayout { layout: self.name, begins: begins() })
    }
}

/// The first lines of a CSV file.
pub(crate) struct Head {
    lines: Vec<Line>,
    rows: Vec<Vec<String>>,
}

impl Head {
    pub(crate) fn read<R: BufRead>(input: &mut Lines<R>, delimiter: u8) -> Result<Self, InputError> {
        let (mut head, mut cells) = (Head { lines: Vec::new(), rows: Vec::new() }, Cells::default());
        while head.lines.len() < HEAD {
            let mut line = Line::new();
            if !input.next(&mut line)? {
                break;
            }
            let is_split = line.text.as_ref().is_ok_and(|text| cells.split(text, delimiter).is_ok());
            let row = cells.iter().take(MAX_CELLS + 1).map(str::to_owned);
            head.rows.push(
                Some(row.collect::<Vec<_>>()).filter(|row| is_split && row.len() <= MAX_CELLS).unwrap_or_default(),
            );
            head.lines.push(line);
        }
        Ok(head)
    }

    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// The cells of a line; none of one that cannot be split.
    pub(crate) fn row(&self, at: usize) -> Option<&[String]> {
        self.rows.get(at).map(Vec::as_slice)
    }

    fn rows_from(&self, at: usize) -> &[Vec<String>] {
        self.rows.get(at..).unwrap_or_default()
    }

    /// The cells of a line in small letters.
    fn names(&self, at: usize) -> Vec<String> {
        self.row(at).unwrap_or_default().iter().map(|name| name.to_ascii_lowercase()).collect()
    }
}

fn column(names: &[String], wanted: &str) -> Option<usize> {
    names.iter().position(|name| name == wanted)
}

/// Where open, high and low are.
fn range(names: &[String]) -> Option<[usize; 3]> {
    Some([column(names, "open")?, column(names, "high")?, column(names, "low")?])
}

fn are(names: &[String], wanted: &[&str]) -> bool {
    names.len() == wanted.len() && names.iter().zip(wanted).all(|(name, wanted)| name == wanted)
}

/// Whether a row begins with a Unix time and goes on with numbers, `width` cells in all.
fn is_dump<'a>(mut row: impl Iterator<Item = &'a str>, width: usize) -> bool {
    let is_time = |text: &str| (9..=17).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let has_time = row.next().is_some_and(is_time);
    let mut count = 1;
    has_time
        && row.all(|cell| {
            count += 1;
            // Microseconds are beyond what a price may be.
            !matches!(number(cell, NumberStyle::PLAIN), Err(Code::NotANumber))
        })
        && count == width
}

/// No key gives the pair.
fn no_pair(_: &str, _: &str) -> Result<Option<Pair>, ()> {
    Ok(None)
}
