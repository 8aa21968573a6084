//! The page of the addresses that may have the same owner.

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

use super::{claims::Claims, members};
use crate::{
    answer::{self, Kind, Shown},
    ask::{Part, Told},
    format, links,
    query::Parameters,
    site::Site,
    tabs::{Tab, Tabs, tabs},
};

/// Claims of a page.
const CLAIMS: u32 = 50;
/// Addresses of the cluster, and of those with the same label.
const SAMPLE: u32 = 20;

/// The conclusion from the claims, which every reader may see.
#[derive(Deserialize)]
struct Card {
    label: Option<Label>,
    assessment: Option<Assessment>,
    #[serde(default)]
    contested: bool,
    consensus: Option<Consensus>,
    examined: Option<Examined>,
    #[serde(default)]
    caveats: Vec<String>,
}

#[derive(Deserialize)]
struct Label {
    value: Option<String>,
    entity: Option<String>,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Assessment {
    headline: Option<String>,
}

/// How sources agree.
#[derive(Deserialize)]
struct Consensus {
    contributor_count: u64,
    #[serde(default)]
    has_conflict: bool,
}

#[derive(Deserialize)]
struct Examined {
    /// True if the cluster may join strangers.
    #[serde(default)]
    suspect_merge: bool,
}

#[derive(Deserialize)]
struct Intelligence {
    activity: Option<Activity>,
    #[serde(default)]
    cohorts: Vec<Cohort>,
    cohorts_reason: Option<String>,
    #[serde(default)]
    caveats: Vec<String>,
}

#[derive(Deserialize)]
struct Activity {
    balance_sats: Option<i64>,
}

/// Addresses that have something in common.
#[derive(Deserialize)]
struct Cohort {
    basis: String,
    key: String,
    count: u64,
    #[serde(default)]
    sample: Vec<String>,
}

impl Intelligence {
    /// The cluster, if a transaction ties the address to others.
    fn cluster(&self) -> Option<&Cohort> {
        self.cohorts.iter().find(|one| one.basis == "cluster")
    }

    fn balance(&self) -> Option<i64> {
        self.activity.as_ref()?.balance_sats
    }

    /// Addresses with the same entity or words in their labels.
    fn alike(&self) -> Vec<&Cohort> {
        self.cohorts.iter().filter(|one| one.basis != "cluster").collect()
    }
}

#[derive(Template)]
#[template(path = "trace/cluster.html")]
struct ClusterPage {
    tabs: Tabs,
    address: String,
    told: Told<Card>,
    known: Part<Intelligence>,
    claims: Part<Claims>,
}

impl ClusterPage {
    /// True if the API warns that the cluster may join strangers.
    fn is_suspect(&self) -> bool {
        self.told.data.examined.as_ref().is_some_and(|examined| examined.suspect_merge)
    }

    /// A link to a member, or its script hash if it has no address.
    fn member(&self, address: &str) -> links::Markup {
        if address.contains(':') || address == self.address {
            return links::Markup(format!("<code>{}</code>", links::escaped(address)));
        }
        links::address(address)
    }
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let cursor = Parameters::of(&parts).get("cursor").map(str::to_owned);
    let (card, known, claims) = join!(
        site.ask::<Card>(&parts, "wallet_trust_safety", json!({"address": address})),
        site.ask(&parts, "address_intelligence", json!({"address": address, "sample_limit": SAMPLE})),
        site.ask(&parts, "wallet_detail", json!({"address": address, "limit": CLAIMS, "cursor": cursor})),
    );
    match card {
        Err(refused) => answer::refused(&site, "Cluster", "", &refused),
        Ok(told) => {
            let title = format!("Cluster: {}", links::short(&address));
            let content = ClusterPage { tabs: tabs(&address, Tab::Cluster), address, told, known, claims };
            let (kind, status) = (Kind::Unlisted, StatusCode::OK);
            Shown { title: &title, place: "", kind, status, scripts: &[], content: &content }.answer(&site)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Canned, body_of, get};

    const CARD: &str = r#"{"label":{"value":"L <script>","entity":"e","reason":null},"contested":true,
        "consensus":{"contributor_count":2,"has_conflict":true},"examined":{"suspect_merge":true},
        "assessment":{"headline":"said by <b>"},"caveats":["a doubt"]}"#;

    #[tokio::test]
    async fn a_cluster_names_its_transaction_and_a_priced_part_leaves_the_rest() {
        let canned = Canned::new()
            .told("wallet_trust_safety", CARD)
            .told(
                "address_intelligence",
                r#"{"activity":{"balance_sats":5},"cohorts":[
                        {"basis":"cluster","key":"ab","count":3,"sample":["b\"2","scripthash:cd"]},
                        {"basis":"label_pattern","key":"w <b>","count":2,"sample":["c3"]}],"caveats":["a merge"]}"#,
            )
            .refused("wallet_detail", 402, "payment_required", "pay <here>");
        let html = body_of(get(canned, "/address/a1/cluster").await).await;
        for part in [
            "L &#60;script&#62;",
            "said by &#60;b&#62;",
            "w &#60;b&#62;",
            "pay &#60;here&#62;",
            "/tx/ab",
            "/address/b%222",
            "scripthash:cd",
            "may join strangers",
            "disagree",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("L <script>") && html.contains("a merge"), "{html}");
    }

    #[tokio::test]
    async fn claims_say_who_says_what_and_why() {
        let canned = Canned::new()
            .told("wallet_trust_safety", CARD)
            .refused("address_intelligence", 402, "payment_required", "100 <sats>")
            .told(
                "wallet_detail",
                r#"{"total":2,"groups":[{"entity":"e","claim_type":"controlled_by","claims":[
                        {"state":"stands","entity_name":"E <i>","category":"shop","behaviour":null,"label":"l \u202e",
                            "confidence_level":60,"evidence_tier":"authority_record","source":"s1","list":"x",
                            "note":"n <u>","retrieved_at":"2024-01-01T00:00:00Z"},
                        {"state":"stands","entity_name":null,"category":null,"behaviour":"mixing","label":null,
                            "confidence_level":10,"evidence_tier":"behavioral","source":"s2","list":"y","note":null,
                            "retrieved_at":"2024-01-02T00:00:00Z","inherited_from":"z9"}]}],"next_cursor":"n&1"}"#,
            );
        let html = body_of(get(canned, "/address/a1/cluster").await).await;
        let parts = ["E &#60;i&#62;", "n &#60;u&#62;", "l \\u{202e}", "authority record", "mixing", "/address/z9"];
        for part in parts.into_iter().chain(["100 &#60;sats&#62;", "cursor=n%261"]) {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[tokio::test]
    async fn without_labels_and_clusters_the_reason_is_shown() {
        let card = r#"{"label":{"value":null,"entity":null,"reason":"no_labels"}}"#;
        let canned = Canned::new()
            .told("wallet_trust_safety", card)
            .told("address_intelligence", r#"{"activity":null,"cohorts":[],"cohorts_reason":"too_many"}"#)
            .told("wallet_detail", r#"{"total":0,"groups":[],"next_cursor":null}"#);
        let html = body_of(get(canned, "/address/a1/cluster").await).await;
        for part in ["no labels", "too many", "No transaction", "No source"] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[tokio::test]
    async fn a_refusal_keeps_its_status() {
        let canned = Canned::new().refused("wallet_trust_safety", 400, "invalid_address", "<x> is not an address");
        let response = get(canned, "/address/x/cluster").await;
        assert_eq!(response.status(), 400);
        assert!(body_of(response).await.contains("&#60;x&#62;"));
    }
}
