//! `cairn prices import`: prices and exchange rates from a file or a URL.

use cairn_events::{Body, MAX_ROWS, QuoteRow};
use cairn_inputs::{Options, Report, read_quotes, sorted};

use super::{
    import::{Content, import},
    operator::now,
};
use crate::{
    cli::{PricesCommand, PricesImport},
    exit::{Exit, Failure},
    out::{print, thousands, time},
};

pub(crate) fn prices(command: &PricesCommand) -> Result<Exit, Failure> {
    let PricesCommand::Import(args) = command;
    let imported = import(&args.from, args.source.as_ref(), |input| {
        let options = options(args);
        let mut rows: Vec<QuoteRow> = Vec::new();
        let report = read_quotes(input, &options, &mut |row| rows.push(row)).map_err(|error| error.to_string())?;
        print(&told(&report))?;
        let bodies = sorted(rows).chunks(MAX_ROWS).map(|rows| Body::Quotes(rows.to_vec())).collect();
        let source = report.publisher.and_then(|name| name.parse().ok());
        Ok(Content { bodies, source, licence: None })
    })?;
    Ok(imported.exit)
}

fn options(args: &PricesImport) -> Options {
    Options {
        pair: args.pair,
        interval: args.interval,
        zone: args.zone.clone(),
        layout: args.layout,
        map: args.map.clone(),
        source: args.source.clone(),
        ..Options::new(now())
    }
}

/// Summary of the rows that were read.
fn told(report: &Report) -> String {
    let mut text = format!(
        "layout {}: {} rows read, {} taken, {} left out\n",
        report.layout,
        thousands(report.rows),
        thousands(report.taken),
        thousands(report.refused)
    );
    for of in &report.series {
        let pair = format!("{}/{}", of.series.base, of.series.quote);
        let (first, last) = (time(of.first.into()), time(of.last.into()));
        text += &format!("  {pair}, {} rows, from {first} to {last}", thousands(of.taken));
        if let Some(longest) = &of.gaps.longest {
            let (gaps, missing) = (thousands(of.gaps.count), thousands(of.gaps.missing));
            let (after, until) = (time(longest.after.into()), time(longest.until.into()));
            text += &format!("; {gaps} gaps, {missing} candles missing, the longest from {after} to {until}");
        }
        text.push('\n');
    }
    for (code, count) in &report.by_code {
        text += &format!("  {}: {}\n", code.as_str(), thousands(*count));
    }
    for row in &report.bad_rows {
        text += &format!("  {row}\n");
    }
    if report.is_other_source {
        text += "  warning: --source names another publisher than the layout\n";
    }
    text
}
