//! The page of a mining pool.

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
};

/// Blocks that are listed.
const BLOCKS: u32 = 25;

#[derive(Deserialize)]
struct Pool {
    name: String,
    slug: String,
    #[serde(default)]
    windows: Vec<Window>,
    #[serde(default)]
    blocks: Vec<Block>,
    next_cursor: Option<String>,
    #[serde(default)]
    payout_addresses: Vec<Payout>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    caveats: Vec<String>,
}

#[derive(Deserialize)]
struct Window {
    window: String,
    rank: Option<u64>,
    blocks: u64,
    share: Option<f64>,
    blocks_by_payout: Option<u64>,
    blocks_by_tag: Option<u64>,
    hashrate_eh: Option<Number>,
}

impl Window {
    fn percent(&self) -> String {
        self.share.map_or_else(|| "unknown".to_owned(), |share| format!("{} %", (share * 1_000.0).round() / 10.0))
    }
}

#[derive(Deserialize)]
struct Block {
    height: u64,
    time: String,
    tx_count: u64,
    fees_sats: Option<i64>,
    reward_sats: Option<i64>,
    by: Option<String>,
}

#[derive(Deserialize)]
struct Payout {
    address: String,
    blocks: u64,
    paid_sats: Option<i64>,
    source: Option<String>,
}

#[derive(Template)]
#[template(path = "entity/pool.html")]
struct PoolPage {
    told: Told<Pool>,
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(name): Path<String>, parts: Parts) -> Response {
    let parameters = Parameters::of(&parts);
    let input = json!({"pool_name": name, "limit": BLOCKS, "cursor": parameters.get("cursor")});
    match site.ask::<Pool>(&parts, "mining_pool_info", input).await {
        Err(refused) => answer::refused(&site, "Mining pool", "", &refused),
        Ok(told) => {
            let title = told.data.name.clone();
            let (kind, content) = (Kind::Public, PoolPage { told });
            Shown { title: &title, place: "", kind, status: StatusCode::OK, scripts: &[], content: &content }
                .answer(&site)
        }
    }
}
