//! The page of the evidence about an address: claims, signals and paths, without a verdict.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde::Deserialize;
use serde_json::json;
use tokio::join;

use super::{
    dust::{CAMPAIGNS, Surveillance},
    exposure::{Exposure, PATHS, ROWS},
};
use crate::{
    answer::{self, Kind, Shown},
    ask::{Part, Told},
    format, links,
    query::Parameters,
    site::Site,
    tabs::{Tab, Tabs, tabs},
};

/// Transactions of a signal that are listed.
const TXIDS: usize = 5;

#[derive(Deserialize)]
struct Check {
    depth: u64,
    trust_card: Section<Card>,
    risk_signals: Section<Signals>,
    sanctions_exposure: Section<Exposure>,
    risk_exposure: Option<Section<Exposure>>,
}

/// A part of the answer, or why it is missing.
#[derive(Deserialize)]
struct Section<T> {
    status: String,
    reason: Option<String>,
    detail: Option<String>,
    data: Option<T>,
}

impl<T> Section<T> {
    /// Why there is nothing to show.
    fn missing(&self) -> String {
        let reason = self.detail.as_ref().or(self.reason.as_ref()).unwrap_or(&self.status);
        format::words(reason)
    }
}

#[derive(Deserialize)]
struct Card {
    label: Option<Label>,
    confidence_level: Option<u64>,
    confidence_tier: Option<String>,
    evidence_tier: Option<String>,
    assessment: Option<Assessment>,
    risk_indicator: Option<String>,
    #[serde(default)]
    contested: bool,
    #[serde(default)]
    caveats: Vec<String>,
}

#[derive(Deserialize)]
struct Label {
    category: Option<String>,
    value: Option<String>,
    entity: Option<String>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Assessment {
    headline: Option<String>,
}

#[derive(Deserialize)]
struct Signals {
    signals: Vec<Signal>,
    note: Option<String>,
}

#[derive(Deserialize)]
struct Signal {
    id: String,
    state: String,
    reason: Option<String>,
    level: Option<u64>,
    strength: Option<String>,
    #[serde(default)]
    txids: Vec<String>,
    #[serde(default)]
    txids_total: u64,
    #[serde(default)]
    benign_explanations: Vec<String>,
    definition: Option<String>,
}

#[derive(Deserialize)]
struct Coverage {
    feed: Option<Feed>,
    reason: Option<String>,
    #[serde(default)]
    caveats: Vec<String>,
}

#[derive(Deserialize)]
struct Feed {
    issued_on: Option<String>,
    checked_at: Option<String>,
    #[serde(default)]
    stale: bool,
    rows: Option<u64>,
}

#[derive(Template)]
#[template(path = "trace/risk.html")]
struct RiskPage {
    tabs: Tabs,
    address: String,
    told: Told<Check>,
    dust: Part<Surveillance>,
    coverage: Part<Coverage>,
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let depth = Parameters::of(&parts).number("depth");
    let (check, dust, coverage) = join!(
        site.ask::<Check>(&parts, "risk_check", json!({"address": address, "depth": depth})),
        site.ask(&parts, "surveillance_status", json!({"address": address})),
        site.ask(&parts, "ofac_coverage", json!({})),
    );
    match check {
        Err(refused) => answer::refused(&site, "Risk evidence", "", &refused),
        Ok(told) => {
            let title = format!("Risk evidence: {}", links::short(&address));
            let content = RiskPage { tabs: tabs(&address, Tab::Risk), address, told, dust, coverage };
            let (kind, status) = (Kind::Unlisted, StatusCode::OK);
            Shown { title: &title, place: "", kind, status, scripts: &[], content: &content }.answer(&site)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Canned, body_of, get};

    const CHECK: &str = r#"{"depth":1,
        "trust_card":{"status":"ok","data":{"label":{"category":"scam","value":"L <script>","entity":null},
            "assessment":{"headline":"said by <b>"},"confidence_level":40,"contested":true}},
        "risk_signals":{"status":"unavailable","reason":"labels_not_loaded","detail":null,"data":null},
        "sanctions_exposure":{"status":"ok","data":{"destinations":null,"sources":{"examined":{"transactions":1,"of":2},
            "by_list":[{"list":"x <i>","ownership":{"haircut_sats":0},"counterparty":{"haircut_sats":5},
                "indirect":{"haircut_sats":1}}],
            "unresolved":[{"reason":"hop_limit","haircut_sats":3},{"reason":"new_<reason>","haircut_sats":2}],
            "paths":[{"source":{"address":"s1","entity":"e <u>","list":"x","listed_at":"2024-01-01"},"listing":"after",
                "haircut_sats":5,"hops":[{"txid":"ab"}]}]}}},
        "risk_exposure":{"status":"ok","data":{"sources":null,"destinations":{"examined":{"transactions":2,"of":2},
            "by_category":[{"category":"mixer","ownership":{"haircut_sats":0},"counterparty":{"haircut_sats":9},
                "indirect":{"haircut_sats":0}}],"unresolved":[{"reason":"held","haircut_sats":7}],
            "fees":{"haircut_sats":4}}}}}"#;

    #[tokio::test]
    async fn names_are_inert_and_missing_parts_have_reasons() {
        let canned = Canned::new().told("risk_check", CHECK).refused("ofac_coverage", 503, "busy", "ask <later>");
        let html = body_of(get(canned, "/address/a1/risk").await).await;
        for part in [
            "L &#60;script&#62;",
            "said by &#60;b&#62;",
            "x &#60;i&#62;",
            "e &#60;u&#62;",
            "labels not loaded",
            "ask &#60;later&#62;",
            "/tx/ab",
            "/address/s1",
            "1 of 2",
            "beyond these hops",
            "new &#60;reason&#62;",
            "not spent yet",
            "mixer",
            "0.00000009 BTC",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("L <script>"));
    }

    #[tokio::test]
    async fn words_of_campaigns_are_inert() {
        let dust = r#"{"observed":true,"campaigns":[{"basis":"op_return","text":"<t>","first_time":"a","last_time":"b",
            "last_txid":"cd","recipient_count":100}],"co_spent_dust":[{"spent_txid":"ef","linked_script_count":3}]}"#;
        let canned = Canned::new().told("risk_check", CHECK).told("surveillance_status", dust);
        let html = body_of(get(canned, "/address/a1/risk").await).await;
        for part in ["“&#60;t&#62;”", "3 other addresses", "Dust campaigns paid this address"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<t>"));
    }

    #[tokio::test]
    async fn a_refusal_keeps_its_status() {
        let canned = Canned::new().refused("risk_check", 400, "invalid_address", "<x> is not an address");
        let response = get(canned, "/address/x/risk").await;
        assert_eq!(response.status(), 400);
        assert!(body_of(response).await.contains("&#60;x&#62;"));
    }
}
