//! Reading a file from its first byte to its last.

use std::io::{BufRead, BufReader, Read};

use cairn_events::QuoteRow;

use crate::{
    collect::{Candle, Collector},
    csv::{Cells, Line, Lines},
    error::{InputError, excerpt_of},
    json::{Item, JsonRows},
    layouts::{Head, Layout},
    options::Options,
    plan::{Columns, Fault, Plan, Values},
    report::{Code, Report},
    time::TimeFormat,
    words::Pair,
};

const BUFFER: usize = 1 << 16;
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Reads a file, and hands over each quote that is fine, in the order of the file.
///
/// Rows that are wrong are refused one by one and stand in the report. If there is an error, no row that was delivered
/// before it may be used.
pub fn read_quotes(
    input: impl Read,
    options: &Options,
    deliver: &mut dyn FnMut(QuoteRow),
) -> Result<Report, InputError> {
    // Enough to see what the file is, however little the input gives at once.
    let (mut start, mut input) = (Vec::new(), input);
    (&mut input).take(4).read_to_end(&mut start)?;
    if start.is_empty() {
        return Err(InputError::Empty);
    }
    let packed = [
        (&[0x1f, 0x8b][..], "packed with gzip; unpack it"),
        (b"PK\x03\x04", "a ZIP archive; unpack it"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "packed with zstd; unpack it"),
        (&[0xff, 0xfe], "UTF-16; save it as UTF-8"),
        (&[0xfe, 0xff], "UTF-16; save it as UTF-8"),
    ];
    if let Some((_, what)) = packed.iter().find(|(magic, _)| start.starts_with(magic)) {
        return Err(InputError::NotText(what));
    }
    if options.layout.is_some() && options.map.is_some() {
        return Err(InputError::LayoutAndMap);
    }
    let text = start.strip_prefix(&BOM).unwrap_or(&start).to_vec();
    let mut input = BufReader::with_capacity(BUFFER, std::io::Cursor::new(text).chain(input));
    let lines = skip_blank(&mut input)?;
    let is_json = matches!(input.fill_buf()?.first(), Some(b'[' | b'{')) && options.map.is_none();
    if is_json { read_json(input, lines, options, deliver) } else { read_csv(input, lines, options, deliver) }
}

/// Rows in ascending order of series and close.
#[must_use]
pub fn sorted(mut rows: Vec<QuoteRow>) -> Vec<QuoteRow> {
    rows.sort_by_key(|row| (row.series, row.closes_at));
    rows
}

/// Skips blanks at the start; the number of lines that they fill.
fn skip_blank(input: &mut impl BufRead) -> Result<u64, InputError> {
    let mut lines = 0u64;
    while let Some(byte) = input.fill_buf()?.first().copied().filter(u8::is_ascii_whitespace) {
        // A tab may be the delimiter of an empty first cell.
        if byte == b'\t' {
            break;
        }
        lines = lines.saturating_add(u64::from(byte == b'\n'));
        input.consume(1);
    }
    Ok(lines)
}

/// A report without rows.
fn report(layout: Option<&'static Layout>, options: &Options) -> Report {
    let publisher = layout.and_then(|layout| layout.publisher);
    let is_other = |publisher: &str| options.source.as_ref().is_some_and(|source| source.as_str() != publisher);
    Report::new(layout.map_or("map", Layout::name), publisher, publisher.is_some_and(is_other))
}

/// Fits the plan to the caller's options; returns the pairs that are read.
fn adjust(plan: &mut Plan, options: &Options) -> Result<Vec<Option<Pair>>, InputError> {
    if let Some(zone) = &options.zone {
        if plan.interval.is_some() || matches!(plan.format, TimeFormat::Unix(_) | TimeFormat::UnixAny) {
            return Err(InputError::ZoneNotUsed);
        }
        plan.zone = Some(zone.clone());
    }
    if let Values::Table(columns) = &mut plan.values {
        if let Some(given) = options.pair {
            let has = || {
                excerpt_of(
                    columns.iter().map(|(_, pair)| pair.to_string()).collect::<Vec<_>>().iter().map(String::as_str),
                )
            };
            if !columns.iter().any(|(_, pair)| *pair == given) {
                return Err(InputError::PairMissing { given, has: has() });
            }
            columns.retain(|(_, pair)| *pair == given);
        }
        return Ok(columns.iter().map(|(_, pair)| Some(*pair)).collect());
    }
    if let (Some(file), Some(given)) = (plan.pair, options.pair)
        && file != given
    {
        return Err(InputError::OtherPair { file, given });
    }
    Ok(vec![options.pair.or(plan.pair)])
}

fn read_csv(
    input: impl BufRead,
    blank: u64,
    options: &Options,
    deliver: &mut dyn FnMut(QuoteRow),
) -> Result<Report, InputError> {
    let mut lines = Lines::starting(input, blank);
    let delimiter = options.map.as_ref().map_or(b',', |map| map.delimiter());
    let head = Head::read(&mut lines, delimiter)?;
    let (layout, mut plan) = match &options.map {
        Some(map) => (None, map.plan(&head)?),
        None => {
            let (layout, plan) = Layout::of_csv(&head, options.layout)?;
            (Some(layout), plan)
        }
    };
    let pairs = adjust(&mut plan, options)?;
    let mut collector = Collector::new(options, plan.stamp, plan.interval, pairs, deliver, report(layout, options))?;
    let mut rows = Rows::new(options.pair);
    let mut cells = Cells::default();
    let mut read = |line: &Line| -> Result<(), InputError> {
        match line.text.as_deref().map_err(|code| *code).and_then(|text| cells.split(text, plan.delimiter)) {
            Ok(()) => rows.read(&plan, line.number, &cells, &mut collector),
            Err(code) => {
                count_row(&mut collector);
                collector.report.tell(line.number, None, code, "");
                Ok(())
            }
        }
    };
    for line in head.lines().iter().skip(plan.skip) {
        read(line)?;
    }
    let mut line = Line::new();
    while lines.next(&mut line)? {
        read(&line)?;
    }
    collector.finish()
}

fn read_json(
    input: impl BufRead,
    blank: u64,
    options: &Options,
    deliver: &mut dyn FnMut(QuoteRow),
) -> Result<Report, InputError> {
    let mut json = JsonRows::new(input);
    let mut known: Option<(&'static Layout, Plan, Collector<'_>)> = None;
    // Of pairs that stand outside of rows; what comes before the first row waits for the layout.
    let mut fields: Vec<(String, String)> = Vec::new();
    let (mut rows, mut ordered) = (Rows::new(options.pair), Cells::default());
    let mut deliver = Some(deliver);
    let mut first_keys = String::new();
    while let Some(item) = json.next()? {
        if item == Item::Field {
            if first_keys.is_empty() {
                first_keys.push_str(&json.key);
            }
            match &mut known {
                Some((layout, _, collector)) => field(layout, &json.key, &json.value, options, collector)?,
                None if fields.len() < 32 => fields.push((json.key.clone(), json.value.clone())),
                None => {}
            }
            continue;
        }
        if known.is_none()
            && let Some(deliver) = deliver.take()
        {
            let (layout, mut plan) = Layout::of_json(&json.keys, &json.cells, options.layout)?;
            let pairs = adjust(&mut plan, options)?;
            let mut collector =
                Collector::new(options, plan.stamp, plan.interval, pairs, deliver, report(Some(layout), options))?;
            for (key, value) in &fields {
                field(layout, key, value, options, &mut collector)?;
            }
            known = Some((layout, plan, collector));
        }
        if let Some((layout, plan, collector)) = &mut known {
            let line = json.row_line.saturating_add(blank);
            let cells = layout.order(&json.keys, &json.cells, &mut ordered);
            rows.read(plan, line, cells, collector)?;
        }
    }
    match known {
        Some((_, _, collector)) => collector.finish(),
        None if first_keys.is_empty() => Err(InputError::Empty),
        None => Err(InputError::Unrecognised {
            begins: excerpt_of(std::iter::once(first_keys.as_str())),
            known: Layout::names(),
        }),
    }
}

/// Reads a field of a JSON file that holds for all its rows.
fn field(
    layout: &Layout,
    key: &str,
    value: &str,
    options: &Options,
    collector: &mut Collector<'_>,
) -> Result<(), InputError> {
    let Some(file) = layout.pair_of(key, value)? else { return Ok(()) };
    let Some(pair) = collector.pairs.first_mut() else { return Ok(()) };
    match options.pair.or(*pair) {
        Some(given) if given != file => Err(InputError::OtherPair { file, given }),
        _ => {
            *pair = Some(file);
            Ok(())
        }
    }
}

fn count_row(collector: &mut Collector<'_>) {
    collector.report.rows = collector.report.rows.saturating_add(1);
}

struct Rows {
    given: Option<Pair>,
    /// The symbol of the row before, which saves reading it again.
    symbol: String,
}

impl Rows {
    fn new(given: Option<Pair>) -> Self {
        Rows { given, symbol: String::new() }
    }

    fn read(&mut self, plan: &Plan, line: u64, cells: &Cells, collector: &mut Collector<'_>) -> Result<(), InputError> {
        if !plan.fits(cells) {
            count_row(collector);
            let counted = format!("{} instead of {}", cells.len(), plan.width);
            collector.report.tell(line, None, Code::ColumnCount, &counted);
            return Ok(());
        }
        match &plan.values {
            Values::Candle(columns) => {
                count_row(collector);
                match self.candle(plan, columns, line, cells, collector) {
                    Ok(candle) => collector.push(candle),
                    Err(fault) => {
                        tell(plan, line, &fault, collector);
                        Ok(())
                    }
                }
            }
            Values::Table(columns) => {
                let time = plan.time(cells);
                for (pair, (column, _)) in columns.iter().enumerate() {
                    count_row(collector);
                    let time = time.as_ref().map_err(|fault| Fault::new(fault.code, fault.column, fault.value));
                    match time.and_then(|time| Ok((*time, plan.price(cells, *column)?))) {
                        Ok((time, close)) => {
                            let quote = cairn_events::Quote { close, range: None, volume: None };
                            collector.push(Candle { line, pair, time, length: None, quote })?;
                        }
                        Err(fault) if fault.code == Code::NoValue => collector.report.count(Code::NoValue),
                        Err(fault) => tell(plan, line, &fault, collector),
                    }
                }
                Ok(())
            }
        }
    }

    fn candle<'a>(
        &mut self,
        plan: &Plan,
        columns: &Columns,
        line: u64,
        cells: &'a Cells,
        collector: &mut Collector<'_>,
    ) -> Result<Candle, Fault<'a>> {
        if let Some(column) = columns.symbol {
            self.check_symbol(cells.get(column), column, collector)?;
        }
        let time = plan.time(cells)?;
        let quote = plan.quote(cells, columns)?;
        Ok(Candle { line, pair: 0, time, length: plan.length(cells, columns, time), quote })
    }

    /// The symbol of each row must name the pair that was given, or that the first row names.
    fn check_symbol<'a>(
        &mut self,
        symbol: &'a str,
        column: usize,
        collector: &mut Collector<'_>,
    ) -> Result<(), Fault<'a>> {
        if symbol == self.symbol && !symbol.is_empty() {
            return Ok(());
        }
        let wrong = || Fault::new(Code::Symbol, column, symbol);
        let pair: Pair = symbol.parse().map_err(|_| wrong())?;
        let known = collector.pairs.first_mut().ok_or_else(wrong)?;
        if *self.given.as_ref().or(known.as_ref()).unwrap_or(&pair) != pair {
            return Err(wrong());
        }
        *known = Some(pair);
        symbol.clone_into(&mut self.symbol);
        Ok(())
    }
}

fn tell(plan: &Plan, line: u64, fault: &Fault<'_>, collector: &mut Collector<'_>) {
    collector.report.tell(line, plan.name(fault.column), fault.code, fault.value);
}
