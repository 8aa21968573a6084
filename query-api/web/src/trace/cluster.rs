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

use crate::{
    answer::{self, Kind, Shown},
    ask::{Part, Told},
    format, links,
    site::Site,
    tabs::{Tab, Tabs, tabs},
};

#[derive(Deserialize)]
struct Intelligence {
    best_label: Option<Label>,
    activity: Option<Activity>,
    #[serde(default)]
    cohorts: Vec<Cohort>,
    cohorts_reason: Option<String>,
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

#[derive(Deserialize)]
struct Contributors {
    claim_count: u64,
    #[serde(default)]
    origins: Vec<Origin>,
}

#[derive(Deserialize)]
struct Origin {
    origin: String,
    claim_count: u64,
    highest_confidence_level: Option<u64>,
    newest_asserted_at: Option<String>,
}

#[derive(Template)]
#[template(path = "trace/cluster.html")]
struct ClusterPage {
    tabs: Tabs,
    address: String,
    told: Told<Intelligence>,
    contributors: Part<Contributors>,
}

impl ClusterPage {
    /// A link to a member, or its script hash if it has no address.
    fn member(&self, address: &str) -> links::Markup {
        if address.contains(':') || address == self.address {
            return links::Markup(format!("<code>{}</code>", links::escaped(address)));
        }
        links::address(address)
    }
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let (known, contributors) = join!(
        site.ask::<Intelligence>(&parts, "address_intelligence", json!({"address": address})),
        site.ask(&parts, "wallet_contributors", json!({"address": address})),
    );
    match known {
        Err(refused) => answer::refused(&site, "Cluster", "", &refused),
        Ok(told) => {
            let title = format!("Cluster: {}", links::short(&address));
            let content = ClusterPage { tabs: tabs(&address, Tab::Cluster), address, told, contributors };
            let (kind, status) = (Kind::Unlisted, StatusCode::OK);
            Shown { title: &title, place: "", kind, status, scripts: &[], content: &content }.answer(&site)
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Canned, body_of, get};

    #[tokio::test]
    async fn a_cluster_names_its_transaction_and_a_refused_part_leaves_the_rest() {
        let canned = Canned::new()
            .told(
                "address_intelligence",
                r#"{"best_label":{"value":"L <script>","entity":"e","reason":null},"activity":{"balance_sats":5},
                    "cohorts":[{"basis":"cluster","key":"ab","count":3,"sample":["b\"2","scripthash:cd"]},
                        {"basis":"label_pattern","key":"w <b>","count":2,"sample":["c3"]}],"caveats":["a merge"]}"#,
            )
            .refused("wallet_contributors", 402, "payment_required", "pay <here>");
        let html = body_of(get(canned, "/address/a1/cluster").await).await;
        for part in
            ["L &#60;script&#62;", "w &#60;b&#62;", "pay &#60;here&#62;", "/tx/ab", "/address/b%222", "scripthash:cd"]
        {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("L <script>") && html.contains("a merge"), "{html}");
    }

    #[tokio::test]
    async fn without_labels_and_clusters_the_reason_is_shown() {
        let canned = Canned::new().told(
            "address_intelligence",
            r#"{"best_label":{"value":null,"entity":null,"reason":"no_labels"},"activity":null,"cohorts":[],
                "cohorts_reason":"too_many"}"#,
        );
        let html = body_of(get(canned, "/address/a1/cluster").await).await;
        for part in ["no labels", "too many", "No transaction"] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
