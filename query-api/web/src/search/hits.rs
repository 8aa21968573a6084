//! Asks the operations for what a text can mean.

use std::fmt::Display;

use axum::http::request::Parts;
use cairn_http::segment;
use serde::Deserialize;
use serde_json::json;
use tokio::join;

use super::meaning::Meaning;
use crate::{
    ask::{Part, Refused},
    links,
    meta::Source,
    site::Site,
};

const MOST_NAMES: u32 = 25;

#[derive(Default)]
pub(super) struct Found {
    /// Sentences about what was understood and what was not.
    pub(super) understood: Vec<String>,
    pub(super) hits: Vec<Hit>,
    /// A day, and where its figures come from.
    pub(super) day: Option<(DayOfChain, Source)>,
    /// True for the keys of a wallet: they are sent in a body.
    pub(super) is_wallet: bool,
    pub(super) sources: Vec<Source>,
}

/// A page that a text can mean.
pub(super) struct Hit {
    pub(super) path: String,
    pub(super) name: String,
    /// The kind of thing that it is, and further words.
    pub(super) about: String,
    /// True if the text can mean nothing else: the reader is led there.
    pub(super) is_certain: bool,
}

impl Hit {
    fn certain(path: String, name: impl Display, about: &str) -> Self {
        Hit { path, name: name.to_string(), about: about.to_owned(), is_certain: true }
    }
}

impl Found {
    pub(super) fn understood(sentence: String) -> Self {
        Found { understood: vec![sentence], ..Found::default() }
    }

    pub(super) fn of_wallet() -> Self {
        let sentence = "This is a descriptor or an extended public key: whoever has it sees all addresses of the wallet. \
            It stands in the URL of this search, and so in the history of the browser. The button sends it in a body, \
            and the server keeps it nowhere.";
        Found { is_wallet: true, ..Found::understood(sentence.to_owned()) }
    }

    fn of_hit(hit: Hit) -> Self {
        Found { hits: vec![hit], ..Found::default() }
    }

    /// Says what was understood, and why nothing was found.
    fn not(what: &str, why: &Refused) -> Self {
        Found::understood(format!("Understood as {what}. {}: {}", why.title, why.detail))
    }
}

#[derive(Deserialize)]
struct Overview {
    canonical_address: Option<String>,
}

#[derive(Deserialize)]
struct Status {
    state: String,
    reason: Option<String>,
}

#[derive(Deserialize)]
struct Block {
    height: u64,
}

#[derive(Deserialize)]
struct Names {
    results: Vec<Name>,
    #[serde(default)]
    truncated: bool,
}

#[derive(Deserialize)]
struct Name {
    name: String,
    entity: Option<String>,
    category: Option<String>,
    #[serde(default)]
    address_count: u64,
    #[serde(default)]
    sample_addresses: Vec<String>,
}

#[derive(Deserialize)]
struct Pool {
    name: String,
    slug: String,
}

#[derive(Deserialize)]
pub(super) struct DayOfChain {
    pub(super) as_of: LastBlock,
    pub(super) day: Day,
}

#[derive(Deserialize)]
pub(super) struct LastBlock {
    pub(super) height: u64,
    pub(super) time: String,
}

#[derive(Deserialize)]
pub(super) struct Day {
    pub(super) date: String,
    pub(super) blocks: u64,
    pub(super) txs: u64,
    pub(super) fees_sats: i64,
    pub(super) supply_sats: i64,
}

pub(super) async fn find(site: &Site, parts: &Parts, meaning: Meaning) -> Found {
    match meaning {
        Meaning::Address(text) => address(site, parts, &text).await,
        Meaning::Addresses(all) => {
            let sentence =
                "Several addresses. The page of wallets lists their balances; the search field sends them there.";
            let hit = |one: String| Hit {
                path: links::address_path(&one),
                name: one,
                about: "address".to_owned(),
                is_certain: false,
            };
            Found { hits: all.into_iter().map(hit).collect(), ..Found::understood(sentence.to_owned()) }
        }
        Meaning::Outpoint { txid, vout } => outpoint(site, parts, &txid, vout).await,
        Meaning::Hash(hash) => of_hash(site, parts, &hash).await,
        Meaning::Height(height) => of_height(site, parts, height).await,
        Meaning::Day(date) => of_day(site, parts, &date).await,
        Meaning::Words(text) => words(site, parts, &text).await,
        Meaning::Nothing | Meaning::Secret | Meaning::Wallet => Found::default(),
    }
}

async fn address(site: &Site, parts: &Parts, text: &str) -> Found {
    let asked: Part<Overview> = site.ask(parts, "wallet_overview", json!({"address": text, "view": "compact"})).await;
    match asked {
        Ok(told) => {
            let address = told.data.canonical_address.unwrap_or_else(|| text.to_owned());
            Found::of_hit(Hit::certain(links::address_path(&address), &address, "address"))
        }
        Err(refused) => {
            let mut found = words(site, parts, text).await;
            found.understood = Found::not("an address", &refused).understood;
            found
        }
    }
}

async fn outpoint(site: &Site, parts: &Parts, txid: &str, vout: u32) -> Found {
    let status: Part<Status> = site.ask(parts, "tx_status", json!({"txid": txid})).await;
    match status {
        Ok(told) if told.data.state != "unknown" => {
            let path = format!("{}?out={vout}#out-{vout}", links::tx_path(txid));
            Found::of_hit(Hit::certain(path, format_args!("{txid}:{vout}"), "output of a transaction"))
        }
        Ok(told) => unknown("an output of a transaction", told.data.reason.as_deref()),
        Err(refused) => Found::not("an output of a transaction", &refused),
    }
}

async fn of_hash(site: &Site, parts: &Parts, hash: &str) -> Found {
    const WHAT: &str = "a transaction or a block";
    let (status, block): (Part<Status>, Part<Block>) = join!(
        site.ask(parts, "tx_status", json!({"txid": hash})),
        site.ask(parts, "block_detail", json!({"height_or_hash": hash, "tx_limit": 1})),
    );
    match (status, block) {
        (_, Ok(_)) => Found::of_hit(Hit::certain(links::block_path(&hash), hash, "block")),
        (Ok(told), _) if told.data.state != "unknown" => {
            Found::of_hit(Hit::certain(links::tx_path(hash), hash, "transaction"))
        }
        (Ok(told), _) => unknown(WHAT, told.data.reason.as_deref()),
        (Err(refused), _) => Found::not(WHAT, &refused),
    }
}

fn unknown(what: &str, reason: Option<&str>) -> Found {
    let reason = reason.unwrap_or("the index does not have it");
    Found::understood(format!("Understood as {what}. It was not found: {reason}."))
}

async fn of_height(site: &Site, parts: &Parts, height: u64) -> Found {
    let input = json!({"height_or_hash": height.to_string(), "tx_limit": 1});
    let block: Part<Block> = site.ask(parts, "block_detail", input).await;
    match block {
        Ok(told) => Found::of_hit(Hit::certain(links::block_path(&told.data.height), told.data.height, "block")),
        Err(refused) => Found::not("the height of a block", &refused),
    }
}

async fn of_day(site: &Site, parts: &Parts, date: &str) -> Found {
    let day: Part<DayOfChain> = site.ask(parts, "onchain_stats", json!({"to": date, "view": "compact"})).await;
    match day {
        Ok(told) => {
            let height = told.data.as_of.height;
            let about = if told.data.day.blocks == 0 {
                "the last block before this day, which has none"
            } else {
                "the last block of this day"
            };
            let hit = Hit {
                path: links::block_path(&height),
                name: format!("Block {height}"),
                about: about.to_owned(),
                is_certain: false,
            };
            Found { day: Some((told.data, told.source)), ..Found::of_hit(hit) }
        }
        Err(refused) => Found::not("a day", &refused),
    }
}

async fn words(site: &Site, parts: &Parts, text: &str) -> Found {
    let slug: String = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join("-");
    // The operation has names of at most 80 characters.
    let text: String = text.chars().take(80).collect();
    let (names, pool): (Part<Names>, Part<Pool>) = join!(
        site.ask(parts, "labels_search", json!({"q": text, "limit": MOST_NAMES})),
        site.ask(parts, "mining_pool_info", json!({"pool_name": slug.get(..64).unwrap_or(&slug), "limit": 1})),
    );
    let mut found = Found::default();
    if let Ok(told) = pool {
        let Pool { name, slug } = told.data;
        let about = "mining pool".to_owned();
        found.hits.push(Hit { path: format!("/pool/{}", segment(&slug)), name, about, is_certain: true });
    }
    match names {
        Ok(told) => {
            if told.data.truncated {
                found.understood.push("More names match: these are the best. Give more words.".to_owned());
            }
            found.hits.extend(told.data.results.into_iter().filter_map(of_name));
            found.sources.push(told.source);
        }
        Err(refused) if found.hits.is_empty() => return Found::not("words of a name", &refused),
        Err(_) => {}
    }
    if found.hits.is_empty() {
        let sentence = "Understood as words of a name: no entity, pool or label has them. Addresses, txids, outpoints \
            (txid:vout), heights, hashes and days (YYYY-MM-DD) are looked up, too.";
        found.understood.push(sentence.to_owned());
    }
    found
}

/// The page of a name: of its entity, or of its address if it has only one.
fn of_name(name: Name) -> Option<Hit> {
    let category = name.category.as_deref().map_or_else(|| "label".to_owned(), crate::format::words);
    let count = name.address_count;
    let about = format!("{category}, {count} {}", if count == 1 { "address" } else { "addresses" });
    let path = match (&name.entity, name.sample_addresses.first()) {
        (Some(entity), _) => format!("/entity/{}", segment(entity)),
        (None, Some(address)) => links::address_path(address),
        (None, None) => return None,
    };
    Some(Hit { path, name: name.name, about, is_certain: true })
}
