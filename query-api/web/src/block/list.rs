//! The list of blocks, and the redirect to the newest one.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::State,
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde::Deserialize;
use serde_json::{Number, json};

use super::detail::Pool;
use crate::{
    answer::{self, Kind, Shown},
    ask::{Refused, Told},
    format, links,
    query::Parameters,
    route::see,
    site::Site,
    visible::visible,
};

/// Blocks on a page.
const BLOCKS: u64 = 25;

#[derive(Deserialize)]
struct Recent {
    #[serde(default)]
    blocks: Vec<Listed>,
    next_cursor: Option<String>,
}

#[derive(Deserialize)]
struct Listed {
    height: u64,
    hash: String,
    time: String,
    tx_count: u64,
    size: u64,
    weight: u64,
    fees_sats: i64,
    fee_range: Option<Range>,
    pool: Option<Pool>,
    pool_reason: Option<String>,
    coinbase: Option<Text>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Range {
    median_sat_vb: Number,
}

#[derive(Template)]
#[template(path = "block/blocks.html")]
struct Blocks {
    told: Told<Recent>,
    /// True if the newest blocks are on the page.
    is_first: bool,
}

impl Listed {
    /// The text of its coinbase, shortened and inert.
    fn text(&self) -> String {
        let text: String = self.coinbase.iter().flat_map(|coinbase| coinbase.text.chars()).take(40).collect();
        visible(&text)
    }
}

impl Recent {
    fn older(&self) -> Option<String> {
        self.next_cursor.as_deref().map(|cursor| format!("/blocks?cursor={}", cairn_http::segment(cursor)))
    }
}

pub(super) async fn blocks(State(site): State<Arc<Site>>, parts: Parts) -> Response {
    let parameters = Parameters::of(&parts);
    let cursor = parameters.get("cursor");
    let told = match site.ask(&parts, "recent_blocks", json!({"limit": BLOCKS, "cursor": cursor})).await {
        Ok(told) => told,
        Err(refused) => return answer::refused(&site, "Blocks", "", &refused),
    };
    let content = Blocks { told, is_first: cursor.is_none() };
    Shown { title: "Blocks", place: "", kind: Kind::Public, status: StatusCode::OK, scripts: &[], content: &content }
        .answer(&site)
}

/// Redirects to the newest block.
pub(super) async fn tip(State(site): State<Arc<Site>>, parts: Parts) -> Response {
    let absent = || Refused {
        status: 404,
        code: "block_not_found".to_owned(),
        title: "No block".to_owned(),
        detail: "nothing is indexed yet; ask again when the index has a block".to_owned(),
        ..Refused::default()
    };
    let newest = site.ask::<Recent>(&parts, "recent_blocks", json!({"limit": 1})).await;
    match newest.and_then(|told| told.data.blocks.into_iter().next().ok_or_else(absent)) {
        Ok(block) => see(StatusCode::FOUND, &format!("../block/{}", cairn_http::segment(&block.hash))),
        Err(refused) => answer::refused(&site, "Block", "", &refused),
    }
}
