//! The transactions of an address.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use cairn_http::segment;
use serde::Deserialize;
use serde_json::{Number, json};

use super::{currency, gate};
use crate::{
    answer::{Kind, Shown},
    ask::Told,
    format::{self, Plain},
    links,
    query::Parameters,
    site::Site,
    tabs::{Tab, Tabs, tabs},
};

/// Transactions of a page: usual, and most.
const ROWS: u64 = 25;
const MAX_ROWS: u64 = 50;
/// Largest offset that the operation takes. Beyond it, cursors lead on.
const MAX_OFFSET: u64 = 10_000;

#[derive(Deserialize)]
pub(super) struct List {
    pub(super) address: String,
    pub(super) total: Option<u64>,
    pub(super) unconfirmed_total: Option<u64>,
    pub(super) unconfirmed_reason: Option<String>,
    pub(super) currency: Option<String>,
    pub(super) offset: Option<u64>,
    pub(super) next_cursor: Option<String>,
    pub(super) transactions: Vec<Row>,
}

#[derive(Deserialize)]
pub(super) struct Row {
    pub(super) txid: String,
    pub(super) net_sats: i64,
    pub(super) net_value: Option<Number>,
    pub(super) value_reason: Option<String>,
    #[serde(default)]
    pub(super) counterparties: Vec<Counterparty>,
    pub(super) status: Status,
    pub(super) time: Option<String>,
    pub(super) mempool_first_seen: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Status {
    pub(super) height: Option<u64>,
    pub(super) confirmations: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Counterparty {
    pub(super) entity: Option<String>,
    pub(super) value: Option<String>,
    pub(super) category: Option<String>,
    pub(super) confidence_level: Option<u64>,
    pub(super) state: Option<String>,
}

impl Counterparty {
    pub(super) fn name(&self) -> &str {
        self.value.as_deref().or(self.entity.as_deref()).or(self.category.as_deref()).unwrap_or("unnamed")
    }
}

impl Row {
    /// Colour of the amount.
    pub(super) fn class(&self) -> &'static str {
        if self.net_sats < 0 { "less" } else { "more" }
    }
}

#[derive(Template)]
#[template(path = "address/transactions.html")]
struct ListPage {
    tabs: Tabs,
    told: Told<List>,
    rows: u64,
    /// True if the page was asked for by a cursor: its place in the list is not known.
    by_cursor: bool,
}

impl ListPage {
    fn path(&self) -> String {
        format!("{}/transactions", links::address_path(&self.told.data.address))
    }

    /// True if the page has this many rows.
    fn has_rows(&self, rows: impl Plain<u64>) -> bool {
        self.rows == rows.plain()
    }

    fn currency(&self) -> &str {
        self.told.data.currency.as_deref().unwrap_or("USD")
    }

    /// Transactions before this page; `None` for a cursor.
    fn offset(&self) -> Option<u64> {
        if self.by_cursor { None } else { self.told.data.offset }
    }

    fn from(&self, offset: u64) -> String {
        format!("?offset={offset}&limit={}&currency={}", self.rows, segment(self.currency()))
    }

    fn newer(&self) -> Option<String> {
        let offset = self.offset().filter(|offset| *offset > 0)?;
        Some(self.from(offset.saturating_sub(self.rows)))
    }

    fn older(&self) -> Option<String> {
        let cursor = self.told.data.next_cursor.as_deref()?;
        let next = self.offset().map(|offset| offset.saturating_add(self.rows)).filter(|next| *next <= MAX_OFFSET);
        let by_cursor =
            || format!("?cursor={}&limit={}&currency={}", segment(cursor), self.rows, segment(self.currency()));
        Some(next.map_or_else(by_cursor, |next| self.from(next)))
    }

    /// Place of the page in the list: `26 to 50`.
    fn place(&self) -> Option<String> {
        let (offset, count) = (self.offset()?, self.told.data.transactions.len() as u64);
        (count > 0).then(|| format!("{} to {}", offset.saturating_add(1), offset.saturating_add(count)))
    }
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let parameters = Parameters::of(&parts);
    let title = format!("Address {}: transactions", links::short(&address));
    let rows = parameters.number("limit").unwrap_or(ROWS).min(MAX_ROWS);
    let cursor = parameters.get("cursor");
    let input = json!({
        "address": address,
        "limit": rows,
        "cursor": cursor,
        "offset": if cursor.is_none() { parameters.number("offset") } else { None },
        "currency": parameters.get("currency"),
    });
    match site.ask::<List>(&parts, "wallet_transactions", input).await {
        Err(refused) => gate::refused(&site, &title, &address, Tab::Transactions, &refused),
        Ok(told) => {
            let tabs = tabs(&told.data.address, Tab::Transactions);
            let content = ListPage { tabs, told, rows, by_cursor: cursor.is_some() };
            let (kind, status) = (Kind::Unlisted, StatusCode::OK);
            Shown { title: &title, place: "", kind, status, scripts: &[], content: &content }.answer(&site)
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use crate::testing::{Canned, body_of, get};

    fn list(place: &str) -> Canned {
        let rows = r#""transactions":[{"txid":"ab","net_sats":-5,"net_value":null,"value_reason":"no <price>",
            "counterparties":[{"value":"<u>","entity":"u/v","confidence_level":40,"state":"conflicted"}],
            "status":{"height":7,"confirmations":3},"time":"2024-01-01T00:00:00Z"}]"#;
        Canned::new().told("wallet_transactions", &format!("{{\"address\":\"x\",\"total\":30,{place},{rows}}}"))
    }

    #[tokio::test]
    async fn rows_say_all_that_is_known() {
        let html = body_of(get(list(r#""offset":0,"next_cursor":"n/2""#), "/address/x/transactions").await).await;
        for part in [
            "-0.00000005 BTC",
            "<a href=\"/entity/u%2Fv\">&#60;u&#62;</a>",
            "40 of 100, conflicted",
            "/block/7",
            "3 confirmations",
            "no &#60;price&#62;",
            "?offset=25&#38;limit=25&#38;currency=USD",
            "unconfirmed ones unknown",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("Newer transactions"));
    }

    #[tokio::test]
    async fn pages_lead_on_and_back() {
        let html =
            body_of(get(list(r#""offset":10000,"next_cursor":"n/2""#), "/address/x/transactions?offset=10000").await)
                .await;
        assert!(html.contains("?offset=9975&#38;") && html.contains("?cursor=n%2F2&#38;"), "{html}");
        let html =
            body_of(get(list(r#""offset":0,"next_cursor":null"#), "/address/x/transactions?cursor=c").await).await;
        assert!(html.contains("Newest transactions") && !html.contains("Older transactions"), "{html}");
    }

    #[tokio::test]
    async fn a_gate_leaves_the_tabs() {
        let refused = || Canned::new().refused("wallet_transactions", 402, "payment_required", "needs a <session>");
        let response = get(refused(), "/address/x/transactions?cursor=abc").await;
        assert_eq!(response.status(), StatusCode::PAYMENT_REQUIRED);
        let html = body_of(response).await;
        assert!(html.contains("needs a &#60;session&#62;") && html.contains("/address/x/pnl"), "{html}");
    }
}
