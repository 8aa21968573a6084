//! The pages of blocks: one block, the list of all, and the redirects to a block by height or to the tip.

mod alerts;
mod day;
mod detail;
mod drawing;
mod header;
mod list;
mod treemap;

use std::sync::Arc;

use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde_json::json;
use tokio::join;

use self::{
    alerts::{Alerts, COVERED_BLOCKS},
    day::Onchain,
    detail::Detail,
    list::{blocks, tip},
};
use crate::{
    answer::{self, Kind, Shown},
    ask::{Part, Told},
    format::{self, Plain},
    links,
    query::Parameters,
    route::{PageRoutes, see},
    site::Site,
};

/// Transactions on one page of a block.
const TRANSACTIONS: u64 = 50;
/// Alerts of seven days that are searched for those of the block.
const ALERTS: u64 = 200;

#[derive(Template)]
#[template(path = "block/block.html")]
struct Block {
    told: Told<Detail>,
    /// Index of the first transaction on this page.
    first: u64,
    /// Large transactions of the last days; `None` if the block is older.
    alerts: Option<Part<Alerts>>,
    onchain: Part<Onchain>,
}

pub(crate) fn routes() -> Router<Arc<Site>> {
    Router::new()
        .page("/block/tip", tip)
        .page("/block/{block}", block)
        .page("/block-height/{height}", by_height)
        .page("/blocks", blocks)
}

async fn block(State(site): State<Arc<Site>>, Path(asked): Path<String>, parts: Parts) -> Response {
    let first = Parameters::of(&parts).number("offset").unwrap_or_default();
    let input = json!({"height_or_hash": asked, "tx_limit": TRANSACTIONS, "tx_offset": first});
    let told = match site.ask::<Detail>(&parts, "block_detail", input).await {
        Ok(told) => told,
        Err(refused) => return answer::refused(&site, "Block", "", &refused),
    };
    let is_recent = told.data.confirmations <= COVERED_BLOCKS;
    let (alerts, onchain) = join!(
        async {
            match is_recent {
                true => Some(site.ask(&parts, "whale_alerts", json!({"range": "7d", "limit": ALERTS})).await),
                false => None,
            }
        },
        site.ask(&parts, "onchain_stats", json!({"as_of": told.data.height, "view": "compact"})),
    );
    let title = format!("Block {}", told.data.height);
    let content = Block { told, first, alerts, onchain };
    Shown { title: &title, place: "", kind: Kind::Public, status: StatusCode::OK, scripts: &[], content: &content }
        .answer(&site)
}

/// Redirects from a height to the hash of the block, which stays right if the chain is reorganised.
async fn by_height(State(site): State<Arc<Site>>, Path(height): Path<String>, parts: Parts) -> Response {
    let input = json!({"height_or_hash": height, "tx_limit": 0});
    match site.ask::<Detail>(&parts, "block_detail", input).await {
        Ok(told) => see(StatusCode::FOUND, &format!("../block/{}", cairn_http::segment(&told.data.hash))),
        Err(refused) => answer::refused(&site, "Block", "", &refused),
    }
}

impl Block {
    /// Path of another page of the transactions.
    fn at(&self, offset: impl Plain<u64>) -> String {
        let offset = offset.plain();
        let path = links::block_path(&self.told.data.hash);
        if offset == 0 { format!("{path}#transactions") } else { format!("{path}?offset={offset}#transactions") }
    }

    /// Index of the first transaction of the previous page.
    fn previous(&self) -> Option<u64> {
        (self.first > 0).then(|| self.first.saturating_sub(TRANSACTIONS))
    }
}

#[cfg(test)]
mod tests;
