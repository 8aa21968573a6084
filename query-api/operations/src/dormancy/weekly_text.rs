//! `GET /v1/dormancy/weekly.md`.

use std::fmt::{self, Write};

use cairn_http::{File, MARKDOWN, Media};

use super::{
    movement::DormantMovement,
    report::{Class, Report, Totals},
    weekly::WeeklyInput,
};
use crate::{operation::prelude::*, tx_sides::Side, values::Decimal};

pub(crate) struct WeeklyText;

pub(crate) struct Markdown;

impl Media for Markdown {
    const TYPES: &'static [&'static str] = &[MARKDOWN];
}

impl Operation for WeeklyText {
    const INFO: Info = Info {
        summary: "Weekly report on old coins, as text",
        description: "The report of /v1/dormancy/weekly.json in Markdown: the same figures in sentences and tables.",
        freshness: &[TIP, CLAIMS, LABELS],
        tool: Tool::UNLISTED,
        ..index_get("dormancy_weekly_text", "/v1/dormancy/weekly.md", "chain")
    };
    type Input = WeeklyInput;
    type Output = File<Markdown>;

    fn run(ctx: &Ctx<'_>, input: WeeklyInput) -> Result<File<Markdown>, ApiError> {
        let report = Report::of(ctx, input.week.map(|week| week.0))?;
        let mut text = String::new();
        // Nothing that is written to a string fails.
        write(&mut text, &report).map_err(|_| ApiError::internal())?;
        Ok(File::new(text.into_bytes()))
    }
}

/// A decimal number with its point, as JSON has it.
fn decimal<const PLACES: usize>(number: Decimal<PLACES>, shown: usize) -> String {
    let text = number.to_string();
    match text.split_once('.') {
        Some((whole, rest)) if shown > 0 => format!("{whole}.{}", &rest[..rest.len().min(shown)]),
        Some((whole, _)) => whole.to_owned(),
        None => text,
    }
}

fn btc(sats: u64) -> String {
    // Hundredths of a bitcoin are enough to read.
    format!("{}.{:02}", sats / 100_000_000, sats % 100_000_000 / 1_000_000)
}

fn coins(count: u64) -> String {
    if count == 1 { "1 coin".to_owned() } else { format!("{count} coins") }
}

fn write(out: &mut String, report: &Report) -> fmt::Result {
    let Report { week, from_date, to_date, totals, previous_week, .. } = report;
    writeln!(out, "# Old coins in {week}\n")?;
    writeln!(out, "{from_date} to {to_date}, in UTC by monotone block time. Old coins are at least a year old.\n")?;
    if !report.is_complete {
        writeln!(out, "**The week is not over: the newest block belongs to it.**\n")?;
    }
    write!(out, "{} worth {} BTC were spent", coins(totals.coin_count), btc(totals.old_sats))?;
    match report.change_percent {
        Some(change) if change.0 >= 0 => write!(out, ", {} % more than the week before", decimal(change, 1))?,
        Some(change) => write!(out, ", {} % less than the week before", decimal(Decimal::<1>(-change.0), 1))?,
        None if totals.old_sats > 0 => write!(out, "; none in the week before")?,
        None => {}
    }
    writeln!(out, ". They destroyed {} coin-days.", decimal(totals.coin_days_destroyed, 0))?;
    match totals.movement_count {
        0 => writeln!(out, "No transaction moved coins of five years and more worth 10 BTC.\n")?,
        1 => writeln!(
            out,
            "One transaction moved coins of five years and more worth 10 BTC or more: {} BTC.\n",
            btc(totals.movement_sats)
        )?,
        count => writeln!(
            out,
            "{count} transactions moved coins of five years and more worth 10 BTC or more: {} BTC together.\n",
            btc(totals.movement_sats)
        )?,
    }
    writeln!(out, "| | this week | week before | average week |\n| --- | ---: | ---: | ---: |")?;
    let average = report.average_week.as_ref();
    let mut row = |name: &str, of: &dyn Fn(&Totals) -> String| {
        let average = average.map_or_else(|| "unknown".to_owned(), of);
        writeln!(out, "| {name} | {} | {} | {average} |", of(totals), of(previous_week))
    };
    row("BTC spent", &|of| btc(of.old_sats))?;
    row("coins", &|of| of.coin_count.to_string())?;
    row("coin-days destroyed", &|of| decimal(of.coin_days_destroyed, 0))?;
    row("movements", &|of| of.movement_count.to_string())?;
    match report.average_reason {
        None => writeln!(out, "\nThe average covers the {} weeks before.\n", report.average_weeks)?,
        Some(reason) => writeln!(out, "\nNo average: {reason}.\n")?,
    }
    writeln!(out, "## By age\n\n| age in years | BTC | coins | coin-days destroyed | BTC the week before |")?;
    writeln!(out, "| --- | ---: | ---: | ---: | ---: |")?;
    report.classes.iter().try_for_each(|class| write_class(out, class))?;
    writeln!(out, "\n## Largest movements of coins of five years and more\n")?;
    if report.top_movements.is_empty() {
        return writeln!(out, "None.");
    }
    writeln!(
        out,
        "| block | BTC | oldest, in days | from | to | transaction |\n| ---: | ---: | ---: | --- | --- | --- |"
    )?;
    report.top_movements.iter().try_for_each(|movement| write_movement(out, movement))?;
    if report.movements_omitted > 0 {
        writeln!(out, "\n{} more are left out.", report.movements_omitted)?;
    }
    writeln!(out, "\nA movement does not prove a sale. Names come from today's labels.")
}

fn write_class(out: &mut String, class: &Class) -> fmt::Result {
    let ages = match class.to_years {
        Some(to) => format!("{} to {to}", class.from_years),
        None => format!("{} and more", class.from_years),
    };
    let destroyed = decimal(class.coin_days_destroyed, 0);
    writeln!(
        out,
        "| {ages} | {} | {} | {destroyed} | {} |",
        btc(class.old_sats),
        class.coin_count,
        btc(class.previous_sats)
    )
}

fn write_movement(out: &mut String, movement: &DormantMovement) -> fmt::Result {
    let (height, sides) = movement.place();
    // Addresses and names for paths have no character that means something in Markdown.
    let name = |side: Option<&Side>| match side {
        Some(side) => match side.agreed_entity() {
            Some(entity) => format!("{entity} (`{}`)", side.address),
            None => format!("`{}`", side.address),
        },
        None => String::new(),
    };
    let [from, to] = sides.map(name);
    let (sats, days) = (btc(movement.old_sats()), movement.oldest_days());
    let height = height.map_or_else(String::new, |height| height.to_string());
    writeln!(out, "| {height} | {sats} | {days} | {from} | {to} | `{}` |", movement.txid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_cut_for_reading() {
        assert_eq!(
            (btc(0), btc(150_000_000), btc(99_999_999)),
            ("0.00".to_owned(), "1.50".to_owned(), "0.99".to_owned())
        );
        assert_eq!(decimal(Decimal::<8>(123_456_789_012), 0), "1234");
        assert_eq!(
            (decimal(Decimal::<1>(-125), 1), decimal(Decimal::<1>(120), 1)),
            ("-12.5".to_owned(), "12".to_owned())
        );
    }
}
