//! Mining pools as JSON.
//!
//! Two layouts: the array of `{id, name, addresses, tags, link}` that mempool publishes as `pools-v2.json`, and the
//! older `{"coinbase_tags": {tag: {name, link}}, "payout_addresses": {address: {name, link}}}`. Each address is an
//! entry and becomes `coinbase_payout_of` the pool. Tags are not claims: they are handed over with the report.

use std::{fmt, io::Read, marker::PhantomData};

use cairn_events::{
    Category, ClaimType, EntityName, EvidenceTier, Listed, MAX_POOL_TAGS, PoolTag,
    claim::{MAX_NAME, MAX_NOTE, plain},
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

use super::{
    collect::{Collector, Draft},
    report::ClaimCode,
};
use crate::error::InputError;

/// Most bytes of a file.
const MAX_BYTES: u64 = 16 << 20;

/// A pool of `pools-v2.json`.
#[derive(Deserialize)]
struct Pool {
    name: String,
    #[serde(default)]
    addresses: Vec<String>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    link: String,
}

#[derive(Deserialize)]
struct OlderLayout {
    #[serde(default)]
    coinbase_tags: Pairs<PoolName>,
    #[serde(default)]
    payout_addresses: Pairs<PoolName>,
}

#[derive(Deserialize)]
struct PoolName {
    name: String,
    #[serde(default)]
    link: String,
}

/// An object in the order of the file. A key that stands twice is there twice.
struct Pairs<T>(Vec<(String, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Pairs(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Object<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs<T>, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Object(PhantomData))
    }
}

pub(super) fn read(input: impl Read, collector: &mut Collector<'_>) -> Result<(), InputError> {
    let mut bytes = Vec::new();
    input.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(InputError::Malformed { line: 1, what: format!("a file of pools has at most {MAX_BYTES} bytes") });
    }
    let wrong = |error: serde_json::Error| InputError::Malformed {
        line: error.line() as u64,
        what: format!("not a list of pools: {}", crate::error::excerpt(&error.to_string())),
    };
    let mut row = 0;
    if bytes.trim_ascii_start().starts_with(b"[") {
        let pools: Vec<Pool> = serde_json::from_slice(&bytes).map_err(wrong)?;
        for pool in &pools {
            for text in &pool.tags {
                tag(text, &pool.name, &pool.link, collector)?;
            }
            for address in &pool.addresses {
                row += 1;
                payout(row, address, &pool.name, &pool.link, collector)?;
            }
        }
    } else {
        let older: OlderLayout = serde_json::from_slice(&bytes).map_err(wrong)?;
        for (text, pool) in &older.coinbase_tags.0 {
            tag(text, &pool.name, &pool.link, collector)?;
        }
        for (address, pool) in &older.payout_addresses.0 {
            row += 1;
            payout(row, address, &pool.name, &pool.link, collector)?;
        }
    }
    Ok(())
}

fn payout(row: u64, address: &str, name: &str, link: &str, collector: &mut Collector<'_>) -> Result<(), InputError> {
    let row = collector.row(row)?;
    let entity = entity_of(name);
    let draft = Draft {
        address: address.trim(),
        claim_type: Some(ClaimType::CoinbasePayoutOf),
        tier: Some(EvidenceTier::Community),
        level: Some(EvidenceTier::Community.level()),
        entity: entity.as_ref().map_or("", EntityName::as_str),
        entity_name: name,
        category: Some(Category::MiningPool),
        source_url: link,
        ..Draft::default()
    };
    collector.take(row, &draft)
}

/// Names of pools, as they follow from what lists write, and as the labels that ship with Cairn have them: lists that
/// name one pool in two ways would contradict each other.
const SAME: &[(&str, &str)] = &[
    ("21-inc.", "21-inc"),
    ("bcpool.io", "bcpool"),
    ("bitcoin.com", "bitcoin-com-pool"),
    ("bitcoinindia", "bitcoin-india"),
    ("bitfufupool", "bitfufu"),
    ("btc.com", "btc-com-pool"),
    ("btc.top", "btc-top"),
    ("btcc", "btcc-pool"),
    ("bwpool", "bw-com"),
    ("canoe", "canoepool"),
    ("exx-bw", "xbtc-exx-com-bw"),
    ("ghash.io", "ghash-io"),
    ("huobi.pool", "huobi-pool"),
    ("kanopool", "kano"),
    ("lubian.com", "lubian"),
    ("okpool.top", "okpool-top"),
    ("phash.io", "phash"),
    ("sigmapool.com", "sigmapool"),
    ("simplecoin.us", "simplecoin"),
    ("telco-214", "telco214"),
    ("tiger", "tigerpool"),
    ("tigerpool.net", "tigerpool"),
    ("ultimuspool", "ultimus-pool"),
    ("wayi.cn", "wayi"),
    ("yourbtc.net", "yourbtc"),
];

/// The pool of a name as a list writes it.
fn entity_of(name: &str) -> Option<EntityName> {
    let entity = EntityName::from_words(name)?;
    let same = SAME.iter().find(|(written, _)| *written == entity.as_str());
    same.map_or(Some(entity), |(_, shipped)| shipped.parse().ok())
}

/// Takes a tag, or reports that it is bad: an omitted tag does not count as a row of claims.
fn tag(text: &str, name: &str, link: &str, collector: &mut Collector<'_>) -> Result<(), InputError> {
    let tags = &mut collector.report.tags;
    if tags.len() == MAX_POOL_TAGS {
        let what = format!("a list of pools has at most {MAX_POOL_TAGS} tags");
        return Err(InputError::Malformed { line: 1, what });
    }
    let row = u32::try_from(tags.len()).unwrap_or(u32::MAX).saturating_add(1);
    let link =
        if link.starts_with("https://") || link.starts_with("http://") { plain(link, MAX_NOTE) } else { "".into() };
    let of = |pool| PoolTag { row, tag: text.into(), pool, name: plain(name, MAX_NAME), link };
    match entity_of(name).map(of).filter(|tag| tag.check().is_ok()) {
        Some(tag) => {
            let is_there = tags.iter().any(|of| of.tag == tag.tag && of.pool == tag.pool);
            if !is_there {
                tags.push(tag);
            }
        }
        None => collector.report.tell(row.into(), Some("tags"), ClaimCode::BadTag, text),
    }
    Ok(())
}
