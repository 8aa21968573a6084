//! The transactions of an address.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde::Deserialize;
use serde_json::{Number, json};

use crate::{
    answer::{self, Kind, Shown},
    ask::Told,
    format, links,
    query::Parameters,
    site::Site,
    tabs::{Tab, Tabs, tabs},
};

/// Transactions of a page.
const ROWS: u32 = 25;

#[derive(Deserialize)]
pub(super) struct List {
    pub(super) address: String,
    pub(super) total: Option<u64>,
    pub(super) unconfirmed_total: Option<u64>,
    pub(super) unconfirmed_reason: Option<String>,
    pub(super) currency: Option<String>,
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
}

#[derive(Deserialize)]
pub(super) struct Counterparty {
    pub(super) entity: Option<String>,
    pub(super) value: Option<String>,
    pub(super) category: Option<String>,
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
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let parameters = Parameters::of(&parts);
    let input = json!({
        "address": address,
        "limit": ROWS,
        "cursor": parameters.get("cursor"),
        "currency": parameters.get("currency"),
    });
    match site.ask::<List>(&parts, "wallet_transactions", input).await {
        Err(refused) => answer::refused(&site, "Transactions of an address", "", &refused),
        Ok(told) => {
            let content = ListPage { tabs: tabs(&told.data.address, Tab::Transactions), told };
            let (title, status) = ("Transactions of an address", StatusCode::OK);
            Shown { title, place: "", kind: Kind::Unlisted, status, scripts: &[], content: &content }.answer(&site)
        }
    }
}
