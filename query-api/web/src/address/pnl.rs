//! Profit and loss of an address by year.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde::Deserialize;
use serde_json::{Number, json};

use super::{currency, gate};
use crate::{
    answer::{Kind, Shown},
    ask::Told,
    chart::{Chart, Point, Shape},
    format,
    links::{self, Markup},
    query::Parameters,
    site::Site,
    tabs::{Tab, Tabs, tabs},
};

const STEPS: usize = 50;
/// Cost methods: name in the query, and words.
const METHODS: [(&str, &str); 2] = [("average", "average cost"), ("fifo", "first in, first out")];
/// Importers that a file of movements is made for: name in the query, and name.
const IMPORTERS: [(&str, &str); 3] =
    [("koinly", "Koinly"), ("cointracker", "CoinTracker"), ("cointracking", "CoinTracking")];

#[derive(Deserialize)]
struct Pnl {
    address: String,
    currency: String,
    method: String,
    holdings: Option<Holdings>,
    totals: Option<Sums>,
    #[serde(default)]
    years: Vec<Year>,
    total_gain: Option<Number>,
    reason: Option<String>,
    explained: Option<Vec<Step>>,
    #[serde(default)]
    explained_omitted: u64,
    #[serde(default)]
    unpriced_transactions: u64,
}

#[derive(Deserialize)]
struct Holdings {
    quantity_sats: i64,
    cost_basis: Option<Number>,
    market_value: Option<Number>,
    unrealized_gain: Option<Number>,
    price: Option<Number>,
    price_as_of: Option<String>,
    price_source: Option<String>,
    #[serde(default)]
    price_stale: bool,
}

#[derive(Deserialize)]
struct Sums {
    realized_gain: Option<Number>,
    proceeds: Option<Number>,
    disposed_cost: Option<Number>,
    fee_cost: Option<Number>,
}

#[derive(Deserialize)]
struct Year {
    year: u64,
    transactions: u64,
    acquired_sats: i64,
    mined_sats: i64,
    mined_value: Option<Number>,
    disposed_sats: i64,
    proceeds: Option<Number>,
    disposed_cost: Option<Number>,
    fee_cost: Option<Number>,
    realized_gain: Option<Number>,
}

impl Year {
    /// Colour of the gain; its sign says the same.
    fn class(&self) -> &'static str {
        match self.realized_gain.as_ref().and_then(Number::as_f64) {
            Some(gain) if gain > 0.0 => "more",
            Some(gain) if gain < 0.0 => "less",
            _ => "",
        }
    }
}

#[derive(Deserialize)]
struct Step {
    kind: String,
    txid: String,
    time: String,
    quantity_sats: i64,
    value: Option<Number>,
    cost: Option<Number>,
    gain: Option<Number>,
    #[serde(default)]
    lots: Vec<Lot>,
    #[serde(default)]
    lots_omitted: u64,
    arithmetic: Option<String>,
    reason: Option<String>,
}

/// Coins that a step adds, or takes from those that came in first.
#[derive(Deserialize)]
struct Lot {
    txid: String,
    vout: u64,
    sats: i64,
    cost: Option<Number>,
}

impl Step {
    /// True if coins leave: there are proceeds, a cost and a gain.
    fn leaves(&self) -> bool {
        matches!(self.kind.as_str(), "disposal" | "fee")
    }
}

#[derive(Template)]
#[template(path = "address/pnl.html")]
struct PnlPage {
    tabs: Tabs,
    told: Told<Pnl>,
    chart: Markup,
    year: Option<u64>,
}

impl PnlPage {
    fn csv(&self, more: &str) -> String {
        let Pnl { address, currency, method, .. } = &self.told.data;
        let year = self.year.map(|year| format!("&year={year}")).unwrap_or_default();
        let address = cairn_http::segment(address);
        format!("/v1/wallets/{address}/pnl?format=csv&currency={currency}&method={method}{year}{more}")
    }

    fn importer(&self, profile: &str) -> String {
        self.csv(&format!("&csv_profile={profile}"))
    }

    fn path(&self) -> String {
        links::address_path(&self.told.data.address)
    }

    /// An amount of money, or why it is not known.
    fn money(&self, amount: &Option<Number>) -> String {
        let Pnl { currency, reason, .. } = &self.told.data;
        match amount {
            Some(amount) => format!("{} {currency}", format::decimal(&amount.to_string())),
            None => format!("unknown: {}", reason.as_deref().unwrap_or("a price is missing")),
        }
    }

    /// An amount of money; its reason stands elsewhere.
    fn amount(&self, amount: &Option<Number>) -> String {
        let Pnl { currency, .. } = &self.told.data;
        let known = |amount: &Number| format!("{} {currency}", format::decimal(&amount.to_string()));
        amount.as_ref().map_or_else(|| "unknown".to_owned(), known)
    }

    /// Like `money`, for cells of a table.
    fn cell(&self, amount: &Option<Number>) -> String {
        amount.as_ref().map_or_else(|| "unknown".to_owned(), |amount| format::decimal(&amount.to_string()))
    }

    /// Like `cell`, with a sign.
    fn signed(&self, amount: &Option<Number>) -> String {
        let is_gain = amount.as_ref().and_then(Number::as_f64).is_some_and(|amount| amount > 0.0);
        if is_gain { format!("+{}", self.cell(amount)) } else { self.cell(amount) }
    }

    fn steps(&self) -> &[Step] {
        let all = self.told.data.explained.as_deref().unwrap_or_default();
        &all[..all.len().min(STEPS)]
    }

    fn omitted(&self) -> u64 {
        let all = self.told.data.explained.as_deref().unwrap_or_default();
        self.told.data.explained_omitted + all.len().saturating_sub(STEPS) as u64
    }
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let title = format!("Address {}: profit and loss", links::short(&address));
    let parameters = Parameters::of(&parts);
    let year = parameters.number("year");
    let input = json!({
        "address": address,
        "currency": parameters.get("currency"),
        "method": parameters.get("method"),
        "year": year,
        "explain": year.map(|_| true),
    });
    match site.ask::<Pnl>(&parts, "wallet_pnl", input).await {
        Err(refused) => gate::refused(&site, &title, &address, Tab::Pnl, &refused),
        Ok(told) => {
            let chart = draw(&told.data);
            let content = PnlPage { tabs: tabs(&told.data.address, Tab::Pnl), told, chart, year };
            let (kind, status) = (Kind::Unlisted, StatusCode::OK);
            Shown { title: &title, place: "", kind, status, scripts: &[], content: &content }.answer(&site)
        }
    }
}

/// The realized gain of each year as bars; nothing if none is known, or all are zero.
fn draw(pnl: &Pnl) -> Markup {
    let known = pnl.years.iter().filter_map(|year| Some((year, year.realized_gain.as_ref()?)));
    let words = |gain: &Number| format!("{} {}", format::decimal(&gain.to_string()), pnl.currency);
    let points: Vec<Point> = known
        .clone()
        .filter_map(|(year, gain)| {
            Some(Point { x: year.year as f64, y: gain.as_f64()?, label: format!("{}: {}", year.year, words(gain)) })
        })
        .collect();
    let by_gain = |a: &&Number, b: &&Number| a.as_f64().unwrap_or_default().total_cmp(&b.as_f64().unwrap_or_default());
    let gains: Vec<&Number> = known.map(|(_, gain)| gain).collect();
    if gains.iter().all(|gain| gain.as_f64() == Some(0.0)) {
        return Markup::default();
    }
    let (Some(least), Some(most)) = (gains.iter().copied().min_by(by_gain), gains.iter().copied().max_by(by_gain))
    else {
        return Markup::default();
    };
    let ends = [points.first(), points.last()].map(|point| point.map(|point| point.x.to_string()).unwrap_or_default());
    let (least, most) = (words(least), words(most));
    let name = format!("Realized gain by year in {}", pnl.currency);
    let (ends, bounds) = ([ends[0].as_str(), ends[1].as_str()], [least.as_str(), most.as_str()]);
    Chart { name: &name, shape: Shape::Bars, points: &points, ends, bounds }.draw()
}

#[cfg(test)]
mod tests {
    use crate::testing::{Canned, body_of, get};

    #[tokio::test]
    async fn gains_have_their_arithmetic() {
        let canned = Canned::new().told(
            "wallet_pnl",
            r#"{"address":"x","currency":"EUR","method":"fifo","total_gain":null,"reason":"no price <then>",
                "holdings":{"quantity_sats":5,"cost_basis":1.5,"market_value":2.5,"unrealized_gain":1},"totals":{"realized_gain":-3.25},
                "years":[{"year":2024,"transactions":2,"acquired_sats":1,"mined_sats":0,"disposed_sats":1,"proceeds":1234.5,
                    "disposed_cost":1237.75,"realized_gain":-3.25}],
                "explained":[{"kind":"disposal","txid":"ab","time":"2024-01-01T00:00:00Z","quantity_sats":1,
                    "value":1234.5,"cost":1237.75,"gain":-3.25,"lots":[{"txid":"cd","vout":1,"sats":1,"cost":null}],
                    "arithmetic":"gain 1234.5 − 1237.75 = −3.25 <b>"}]}"#,
        );
        let html = body_of(get(canned, "/address/x/pnl?year=2024&currency=EUR").await).await;
        for part in [
            "-3.25 EUR",
            "gain 1234.5 − 1237.75 = −3.25 &#60;b&#62;",
            "no price &#60;then&#62;",
            "<svg class=\"chart\"",
            "/v1/wallets/x/pnl?format=csv&#38;currency=EUR&#38;method=fifo&#38;year=2024",
            "csv_profile=koinly",
            "value=\"EUR\" selected",
            "value=\"fifo\" selected",
            "1\u{202f}234.50 EUR − cost 1\u{202f}237.75 EUR = <strong>-3.25 EUR</strong>",
            "cost unknown",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
