//! The overview of an address: its coins, when they moved, and who it belongs to.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde::Deserialize;
use serde_json::{Number, Value, json};
use tokio::join;

use super::{
    history::History,
    label::{Card, Sources},
    list::List,
};
use crate::{
    answer::{self, Kind, Shown},
    ask::{Part, Told},
    format, links,
    query::Parameters,
    site::Site,
    tabs::{Tab, Tabs, tabs},
};

/// Newest transactions.
const ROWS: u32 = 10;

#[derive(Deserialize)]
struct Overview {
    address: String,
    canonical_address: Option<String>,
    script_type: Option<String>,
    balance: Balance,
    utxo_count: Option<u64>,
    tx_count: Option<u64>,
    unconfirmed_tx_count: Option<u64>,
    received_sats: Option<i64>,
    sent_sats: Option<i64>,
    first_seen: Option<Moment>,
    last_seen: Option<Moment>,
    price: Option<Price>,
    value_usd: Option<Number>,
    activity: Option<Activity>,
    #[serde(default)]
    related_scripts: Vec<Related>,
    related_scripts_reason: Option<String>,
    #[serde(default)]
    caveats: Vec<String>,
}

#[derive(Deserialize)]
struct Balance {
    confirmed_sats: i64,
    immature_sats: Option<i64>,
    unconfirmed_sats: Option<i64>,
    unconfirmed_reason: Option<String>,
}

#[derive(Deserialize)]
struct Moment {
    height: u64,
    time: String,
    txid: String,
}

#[derive(Deserialize)]
struct Price {
    usd: Option<Number>,
    as_of: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Activity {
    #[serde(rename = "24h")]
    day: Option<Span>,
    #[serde(rename = "7d")]
    week: Option<Span>,
    #[serde(rename = "30d")]
    month: Option<Span>,
}

impl Activity {
    fn spans(&self) -> [(&'static str, Option<&Span>); 3] {
        [("24 hours", self.day.as_ref()), ("7 days", self.week.as_ref()), ("30 days", self.month.as_ref())]
    }
}

#[derive(Deserialize)]
struct Span {
    tx_count: u64,
    received_sats: i64,
    sent_sats: i64,
}

/// Another script of the same key, such as a P2PK output.
#[derive(Deserialize)]
struct Related {
    address: Option<String>,
    script_hash: Option<String>,
    script_type: Option<String>,
    confirmed_sats: Option<i64>,
    relation: Option<String>,
}

#[derive(Deserialize)]
struct Surveillance {
    #[serde(default)]
    campaigns: Vec<Campaign>,
    #[serde(default)]
    co_spent_dust: Vec<Value>,
    #[serde(default)]
    dust_payment_count: u64,
    #[serde(default)]
    examined_tx_count: u64,
    #[serde(default)]
    tx_count: u64,
    note: Option<String>,
}

/// Dust that was sent to many addresses at once.
#[derive(Deserialize)]
struct Campaign {
    text: Option<String>,
    first_time: Option<String>,
    recipient_count: Option<u64>,
}

#[derive(Template)]
#[template(path = "address/overview.html")]
struct OverviewPage {
    tabs: Tabs,
    told: Told<Overview>,
    card: Part<Card>,
    sources: Part<Sources>,
    history: Part<History>,
    newest: Part<List>,
    surveillance: Part<Surveillance>,
    currency: String,
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let (parameters, from) = (Parameters::of(&parts), &parts);
    let told = match site.ask::<Overview>(from, "wallet_overview", json!({"address": address})).await {
        Ok(told) => told,
        Err(refused) => return answer::refused(&site, "Address", "", &refused),
    };
    let currency = parameters.get("currency").unwrap_or("USD").to_owned();
    let input = json!({
        "address": address,
        "currency": currency,
        "from": parameters.get("from"),
        "to": parameters.get("to"),
    });
    let (card, sources, history, newest, surveillance) = join!(
        site.ask(from, "wallet_trust_safety", json!({"address": address})),
        site.ask(from, "wallet_contributors", json!({"address": address})),
        site.ask(from, "wallet_balance_history", input),
        site.ask(from, "wallet_transactions", json!({"address": address, "limit": ROWS})),
        site.ask(from, "surveillance_status", json!({"address": address})),
    );
    let shown = told.data.canonical_address.as_deref().unwrap_or(&told.data.address);
    let content =
        OverviewPage { tabs: tabs(shown, Tab::Overview), told, card, sources, history, newest, surveillance, currency };
    let (kind, status) = (Kind::Unlisted, StatusCode::OK);
    Shown { title: "Address", place: "", kind, status, scripts: &[], content: &content }.answer(&site)
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use crate::testing::{Canned, body_of, get};

    fn overview() -> Canned {
        Canned::new().told(
            "wallet_overview",
            r#"{"address":"a<b","balance":{"confirmed_sats":5,"unconfirmed_sats":null,"unconfirmed_reason":"no mempool"},
                "tx_count":1,"received_sats":5,"sent_sats":0,"first_seen":null,"last_seen":null,"value_usd":null,"price":null,
                "caveats":["old <price>"]}"#,
        )
    }

    #[tokio::test]
    async fn unknown_has_reasons_and_refusals_leave_the_rest() {
        let canned = overview().refused("wallet_contributors", 402, "payment_required", "pay").told(
            "wallet_trust_safety",
            r#"{"label":{"value":"<i>x","category":"exchange","entity":"e"},"confidence_level":40,"contested":true,
                "caveats":["c <d>"],"best_claim":{"claim_id":"k","source":"s <t>"}}"#,
        );
        let response = get(canned, "/address/a%3Cb").await;
        assert_eq!(
            (response.status(), &response.headers()["x-robots-tag"]),
            (StatusCode::OK, &"noindex".parse().unwrap())
        );
        let html = body_of(response).await;
        for part in [
            "no mempool",
            "old &#60;price&#62;",
            "&#60;i&#62;x",
            "contested",
            "c &#60;d&#62;",
            "s &#60;t&#62;",
            "/entity/e",
            "/address/a%3Cb/flow",
            "payment_required",
            "/v1/qr?data=a%3Cb",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<i>x"));
    }

    #[tokio::test]
    async fn an_invalid_address_is_said() {
        let canned = Canned::new().refused("wallet_overview", 400, "invalid_address", "neither an address <x>");
        let response = get(canned, "/address/x").await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        assert!(body_of(response).await.contains("neither an address &#60;x&#62;"));
    }

    #[tokio::test]
    async fn gates_of_the_list_are_said() {
        let canned = Canned::new().refused("wallet_transactions", 402, "payment_required", "needs a session");
        let response = get(canned, "/address/x/transactions?cursor=abc").await;
        assert_eq!(response.status(), StatusCode::PAYMENT_REQUIRED);
        let canned = Canned::new().told(
            "wallet_transactions",
            r#"{"address":"x","total":30,"next_cursor":"n/2","transactions":[{"txid":"ab","net_sats":-5,"net_value":null,
                "value_reason":"no price","counterparties":[{"value":"<u>"}],"status":{"height":7},"time":"2024-01-01T00:00:00Z"}]}"#,
        );
        let html = body_of(get(canned, "/address/x/transactions").await).await;
        for part in ["cursor=n%2F2", "-0.00000005 BTC", "&#60;u&#62;", "/block/7", "no price"] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
