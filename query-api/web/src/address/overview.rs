//! The overview of an address: its coins, when they moved, and who it belongs to.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde::Deserialize;
use serde_json::{Number, json};
use tokio::join;

use super::{
    currency,
    history::History,
    label::{Card, Claims},
    list::List,
    range::{Days, RANGES},
};
use crate::{
    answer::{self, Kind, Shown},
    ask::{Part, Told},
    format, links,
    query::Parameters,
    site::Site,
    tabs::{Tab, Tabs, tabs},
};

/// Newest transactions, and claims of sources.
const ROWS: u32 = 10;
const CLAIMS: u32 = 20;

#[derive(Deserialize)]
struct Overview {
    address: String,
    canonical_address: Option<String>,
    script_type: Option<String>,
    balance: Balance,
    utxo_count: Option<u64>,
    coin_age: Option<CoinAge>,
    coin_age_reason: Option<String>,
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
struct CoinAge {
    mean_days: Number,
    oldest_days: u64,
    youngest_days: u64,
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
    #[serde(default)]
    stale: bool,
}

#[derive(Deserialize)]
struct Activity {
    /// Time of the tip, at which the spans end.
    as_of: Option<String>,
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
    relation: Option<String>,
    confirmed_sats: Option<i64>,
    tx_count: Option<u64>,
}

#[derive(Template)]
#[template(path = "address/overview.html")]
struct OverviewPage {
    tabs: Tabs,
    told: Told<Overview>,
    card: Part<Card>,
    claims: Part<Claims>,
    history: Part<History>,
    newest: Part<List>,
    currency: String,
    days: Days,
}

impl OverviewPage {
    fn address(&self) -> &str {
        let Overview { address, canonical_address, .. } = &self.told.data;
        canonical_address.as_deref().unwrap_or(address)
    }

    fn path(&self) -> String {
        links::address_path(self.address())
    }

    /// Path of the history as CSV, with the days and the currency of the charts.
    fn csv(&self) -> String {
        let day = |name: &str, day: &Option<String>| {
            day.as_deref().map(|day| format!("&{name}={}", cairn_http::segment(day))).unwrap_or_default()
        };
        let (address, currency) = (cairn_http::segment(self.address()), cairn_http::segment(&self.currency));
        let days = day("from", &self.days.from) + &day("to", &self.days.to);
        format!("/v1/wallets/{address}/balance-history?format=csv&currency={currency}{days}")
    }
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let (parameters, from) = (Parameters::of(&parts), &parts);
    let title = format!("Address {}", links::short(&address));
    let told = match site
        .ask::<Overview>(from, "wallet_overview", json!({"address": address, "include_coin_age": true}))
        .await
    {
        Ok(told) => told,
        Err(refused) => return answer::refused(&site, &title, "", &refused),
    };
    let currency = parameters.get("currency").unwrap_or("USD").to_owned();
    let tip = told.data.activity.as_ref().and_then(|activity| activity.as_of.as_deref()?.get(..10));
    let days = Days::chosen(&parameters, tip);
    let input = json!({"address": address, "currency": currency, "from": days.from, "to": days.to});
    let (card, claims, history, newest) = join!(
        site.ask(from, "wallet_trust_safety", json!({"address": address})),
        site.ask(from, "wallet_detail", json!({"address": address, "limit": CLAIMS})),
        site.ask(from, "wallet_balance_history", input),
        site.ask(from, "wallet_transactions", json!({"address": address, "limit": ROWS, "currency": currency})),
    );
    let shown = told.data.canonical_address.as_deref().unwrap_or(&told.data.address);
    let tabs = tabs(shown, Tab::Overview);
    let content = OverviewPage { tabs, told, card, claims, history, newest, currency, days };
    let (kind, status) = (Kind::Unlisted, StatusCode::OK);
    Shown { title: &title, place: "", kind, status, scripts: &[], content: &content }.answer(&site)
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;

    use crate::testing::{Canned, body_of, get};

    fn overview() -> Canned {
        Canned::new().told(
            "wallet_overview",
            r#"{"address":"a<b","coin_age":null,"coin_age_reason":"too_many_coins","balance":{"confirmed_sats":5,"unconfirmed_sats":null,"unconfirmed_reason":"no mempool"},
                "tx_count":1,"received_sats":5,"sent_sats":0,"first_seen":null,"last_seen":null,"value_usd":null,"price":null,
                "caveats":["old <price>"]}"#,
        )
    }

    #[tokio::test]
    async fn unknown_has_reasons_and_refusals_leave_the_rest() {
        let canned = overview().refused("wallet_detail", 402, "payment_required", "pay").told(
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
            "unknown<small>too many coins</small>",
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
    async fn claims_and_scripts_are_inert() {
        let overview = r#"{"address":"x","coin_age":{"mean_days":12.5,"oldest_days":40,"youngest_days":1},"balance":{"confirmed_sats":5},"activity":{"as_of":"2024-03-31T00:00:00Z"},
            "related_scripts":[{"script_type":"pubkey","address":null,"script_hash":"ab","relation":"same_key",
                "confirmed_sats":7,"tx_count":2}]}"#;
        let detail = r#"{"total":1,"groups":[{"claim_type":"controlled_by","claims":[{"claim_id":"c:1","state":"ended",
            "source":"<s>","label":"<l>","note":"\u202en","confidence_level":40,"evidence_tier":"third_party"}]}]}"#;
        let history = r#"{"currency":"EUR","points":[{"date":"2024-03-01","balance_sats":5,"received_sats":5,"sent_sats":0,
            "value":null,"value_reason":"no <price>"}]}"#;
        let canned = Canned::new()
            .told("wallet_overview", overview)
            .told("wallet_detail", detail)
            .told("wallet_balance_history", history);
        let html = body_of(get(canned, "/address/x?range=1m&currency=EUR").await).await;
        for part in [
            "“&#60;l&#62;”",
            "&#60;s&#62;",
            "\\u{202e}n",
            "controlled by, ended",
            "12.5 days<small>",
            "/address/scripthash:ab",
            "same key: 0.00000007 BTC, 2 transactions",
            "No value is known: no &#60;price&#62;",
            "currency=EUR&#38;from=2024-02-28&#38;to=2024-03-31",
            "?range=1y&amp;currency=EUR#history",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<l>") && !html.contains('\u{202e}'));
    }

    #[tokio::test]
    async fn an_invalid_address_is_said() {
        let canned = Canned::new().refused("wallet_overview", 400, "invalid_address", "neither an address <x>");
        let response = get(canned, "/address/x").await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        assert!(body_of(response).await.contains("neither an address &#60;x&#62;"));
    }
}
