//! Mining pools as JSON.
//!
//! Two layouts: the array of `{id, name, addresses, tags, link}` that mempool publishes as `pools-v2.json`, and the older
//! `{"coinbase_tags": {tag: {name, link}}, "payout_addresses": {address: {name, link}}}`. Each address is an entry and
//! becomes `coinbase_payout_of` the pool; tags are no claims, and counted.

use std::{fmt, io::Read, marker::PhantomData};

use cairn_events::{Category, ClaimType, EntityName, EvidenceTier};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};

use super::collect::{Collector, Draft};
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

/// The older layout.
#[derive(Deserialize)]
struct Older {
    #[serde(default)]
    coinbase_tags: Pairs<serde::de::IgnoredAny>,
    payout_addresses: Pairs<Named>,
}

#[derive(Deserialize)]
struct Named {
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
            collector.report.tags = collector.report.tags.saturating_add(pool.tags.len() as u64);
            for address in &pool.addresses {
                row += 1;
                payout(row, address, &pool.name, &pool.link, collector)?;
            }
        }
    } else {
        let older: Older = serde_json::from_slice(&bytes).map_err(wrong)?;
        collector.report.tags = older.coinbase_tags.0.len() as u64;
        for (address, pool) in &older.payout_addresses.0 {
            row += 1;
            payout(row, address, &pool.name, &pool.link, collector)?;
        }
    }
    Ok(())
}

fn payout(row: u64, address: &str, name: &str, link: &str, collector: &mut Collector<'_>) -> Result<(), InputError> {
    let row = collector.row(row)?;
    let entity = EntityName::from_words(name);
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
