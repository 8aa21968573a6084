//! The pages of entities and mining pools.

mod pool;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
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
    query::Parameters,
    route::PageRoutes,
    site::Site,
};

/// Addresses and transactions that are listed.
const MEMBERS: u32 = 25;
const TRANSACTIONS: u32 = 15;

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new().page("/entity/{name}", page).page("/pool/{name}", pool::page)
}

#[derive(Deserialize)]
struct Entity {
    name: String,
    display_name: Option<String>,
    category: Option<String>,
    category_reason: Option<String>,
    #[serde(default)]
    is_person: bool,
    coverage_status: Option<String>,
    address_count: u64,
    balance_sats: Option<i64>,
    direct_balance_sats: Option<i64>,
    inherited_balance_sats: Option<i64>,
    received_sats: Option<i64>,
    sent_sats: Option<i64>,
    last_activity_at: Option<String>,
    last_activity_height: Option<u64>,
    last_activity_reason: Option<String>,
    #[serde(default)]
    sources: Vec<Origin>,
    #[serde(default)]
    profiles: Vec<Profile>,
    #[serde(default)]
    members: Vec<Member>,
    next_cursor: Option<String>,
    /// Addresses that are named without being members.
    #[serde(default)]
    named: Vec<Member>,
    #[serde(default)]
    named_count: u64,
}

#[derive(Deserialize)]
struct Origin {
    origin: String,
    address_count: u64,
}

#[derive(Deserialize)]
struct Profile {
    source: String,
    list: Option<String>,
    retrieved_at: Option<String>,
    name: Option<String>,
    category: Option<String>,
    homepage: Option<String>,
    #[serde(default)]
    jurisdictions: Vec<String>,
}

#[derive(Deserialize)]
struct Member {
    address: Option<String>,
    claim_type: Option<String>,
    evidence_tier: Option<String>,
    confidence_level: Option<u64>,
    confidence: Option<String>,
    #[serde(default)]
    contested: bool,
    balance_sats: Option<i64>,
    tx_count: Option<u64>,
    last_activity_at: Option<String>,
}

#[derive(Deserialize)]
struct Activity {
    transactions: Vec<Transaction>,
    truncated_reason: Option<String>,
}

#[derive(Deserialize)]
struct Transaction {
    txid: String,
    height: u64,
    time: String,
    net_sats: Option<i64>,
    sums_reason: Option<String>,
}

#[derive(Template)]
#[template(path = "entity/entity.html")]
struct EntityPage {
    told: Told<Entity>,
    activity: Part<Activity>,
}

async fn page(State(site): State<Arc<Site>>, Path(name): Path<String>, parts: Parts) -> Response {
    let parameters = Parameters::of(&parts);
    let input = json!({"entity_name": name, "member_limit": MEMBERS, "cursor": parameters.get("cursor")});
    let (entity, activity) = join!(
        site.ask::<Entity>(&parts, "entity_lookup", input),
        site.ask(&parts, "entity_recent_activity", json!({"entity_name": name, "limit": TRANSACTIONS})),
    );
    match entity {
        Err(refused) => answer::refused(&site, "Entity", "", &refused),
        Ok(told) => {
            let title = told.data.display_name.clone().unwrap_or_else(|| told.data.name.clone());
            // A person's name is for no search engine.
            let kind = if told.data.is_person { Kind::Unlisted } else { Kind::Public };
            let content = EntityPage { told, activity };
            Shown { title: &title, place: "", kind, status: StatusCode::OK, scripts: &[], content: &content }
                .answer(&site)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Canned, body_of, get};

    #[tokio::test]
    async fn names_are_inert_and_unknown_sums_have_reasons() {
        let canned = Canned::new()
            .told(
                "entity_lookup",
                r#"{"name":"a","display_name":"A <script>","category":null,"category_reason":"sources differ","address_count":1,
                    "last_activity_at":null,"last_activity_reason":"never seen","members":[{"address":"x\"y","contested":true}],
                    "named":[{"address":"only-named"}],"named_count":3}"#,
            )
            .told(
                "entity_recent_activity",
                r#"{"transactions":[{"txid":"ab","height":7,"time":"2024-01-01T00:00:00Z","net_sats":null,"sums_reason":"too many"}]}"#,
            );
        let response = get(canned, "/entity/a").await;
        assert!(response.headers().get("x-robots-tag").is_none());
        let html = body_of(response).await;
        for part in [
            "A &lt;script&gt;",
            "sources differ",
            "never seen",
            "contested",
            "too many",
            "/address/x%22y",
            "/address/only-named",
            "1 of 3",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("<script>"));
    }

    #[tokio::test]
    async fn an_unknown_entity_keeps_its_status() {
        let canned = Canned::new().refused("entity_lookup", 404, "entity_not_found", "no entity has the name <x>");
        let response = get(canned, "/entity/x").await;
        assert_eq!(response.status(), StatusCode::NOT_FOUND);
        assert!(body_of(response).await.contains("no entity has the name &#60;x&#62;"));
    }

    #[tokio::test]
    async fn a_pool_names_how_its_blocks_are_known() {
        let canned = Canned::new().told(
            "mining_pool_info",
            r#"{"name":"P","slug":"p","windows":[{"window":"1w","blocks":4,"share":0.25,"blocks_by_payout":3,"blocks_by_tag":1}],
                "blocks":[{"height":7,"hash":"ab","time":"2024-01-01T00:00:00Z","tx_count":1,"fees_sats":0,"reward_sats":5,"by":"tag"}],
                "payout_addresses":[{"address":"x","blocks":3,"paid_sats":9,"source":"s <b>"}],"tags":["/P <i>/"],"caveats":["c"]}"#,
        );
        let html = body_of(get(canned, "/pool/p").await).await;
        for part in ["25 %", "/P &#60;i&#62;/", "s &#60;b&#62;", "/address/x", "/block/7", ">c<"] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }
}
