//! `cairn access report`.

use std::io::{self, Write};

use cairn_clock::now_secs;
use cairn_model::DAY_SECS;
use cairn_state::{SalesCounts, SalesRow, State};

use super::laid_out;
use crate::{
    cli::AccessReport,
    exit::{Exit, Failure},
    out::{harmless, print, time},
};

const DAYS_BEFORE: u64 = 30;
const HEADER: [&str; 6] = ["day", "capability", "method", ">count", ">amount", "unit"];

pub(super) async fn report(state: &State, args: &AccessReport) -> Result<Exit, Failure> {
    let until = args.until.unwrap_or_else(now_secs);
    let from = args.from.unwrap_or_else(|| until.saturating_sub(DAYS_BEFORE * u64::from(DAY_SECS)));
    let rows: Vec<Vec<String>> = state.sales_report(from, until).await?.iter().map(row).collect();
    let counts = state.sales_counts(now_secs()).await?;
    print(&laid_out(args.format, &HEADER, &rows))?;
    // Standard output has the list only, so that programs can read it.
    writeln!(io::stderr(), "{}", about(&counts))?;
    Ok(Exit::Done)
}

fn row(sales: &SalesRow) -> Vec<String> {
    let day = time(sales.day);
    vec![
        day.split('T').next().unwrap_or_default().to_owned(),
        harmless(&sales.capability),
        sales.method.name().to_owned(),
        sales.count.to_string(),
        sales.amount.to_string(),
        harmless(&sales.method.unit()),
    ]
}

/// Describes what is not done.
fn about(counts: &SalesCounts) -> String {
    format!(
        "Now: {} open challenges, {} settlements with an unknown outcome, {} settled payments without an answer, \
         {} open checkouts, {} passes whose payment is reverted.",
        counts.open_challenges,
        counts.open_settlements,
        counts.owed_payments,
        counts.open_checkouts,
        counts.reverted_passes
    )
}

#[cfg(test)]
mod tests {
    use cairn_state::SalesMethod;

    use super::*;
    use crate::cli::ListFormat;

    #[test]
    fn a_day_has_a_row_for_each_capability_and_method() {
        let sales = |method, amount| SalesRow {
            day: 86_400,
            capability: "wallet_summary".to_owned(),
            method,
            count: 2,
            amount,
        };
        let token = SalesMethod::X402 { chain_id: 8453, asset: "0xab".to_owned() };
        let pass = SalesRow {
            capability: "wallet-monthly".to_owned(),
            count: 1,
            ..sales(SalesMethod::PassOverLightning, 9_000)
        };
        let on_chain = SalesRow { method: SalesMethod::PassOnChain, ..pass.clone() };
        let all = [sales(SalesMethod::L402, 20), sales(token, 5_000), pass, on_chain];
        let rows: Vec<Vec<String>> = all.iter().map(row).collect();
        assert_eq!(
            laid_out(ListFormat::Csv, &HEADER, &rows),
            "day,capability,method,count,amount,unit\n\
             1970-01-02,wallet_summary,l402,2,20,sats\n\
             1970-01-02,wallet_summary,x402,2,5000,eip155:8453/0xab\n\
             1970-01-02,wallet-monthly,lightning,1,9000,sats\n\
             1970-01-02,wallet-monthly,onchain,1,9000,sats\n"
        );
        let table = laid_out(ListFormat::Table, &HEADER, &rows);
        assert!(table.starts_with("day         capability      method     count  amount  unit\n"), "{table}");
    }
}
