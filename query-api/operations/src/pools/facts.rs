//! The pool of a block, for answers about blocks, and what answers about pools share.

use std::{cmp::Reverse, collections::HashMap};

use cairn_domain::address_of;
use cairn_events::EntityName;

use super::{
    judge::{Judge, PoolAttribution},
    scan::ScannedBlock,
};
use crate::{network::Exahashes, operation::prelude::*, values::Decimal};

/// Why the pool of a block is missing.
const NO_LIST: &str = "no list of mining pools is loaded";
const NO_POOL: &str = "the coinbase neither pays an address nor has a tag of a known pool";

/// The mining pool of a block.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BlockPool {
    /// Display name of the pool.
    pub(crate) name: String,
    /// Name of the pool in paths.
    pub(crate) slug: String,
    /// `payout` if the coinbase pays an address of the pool, `tag` if it only has the pool's tag, which any miner can
    /// write.
    pub(crate) by: &'static str,
    /// Another pool whose tag the coinbase has; otherwise null.
    pub(crate) other_pool: Option<String>,
}

impl BlockPool {
    /// The pool of a block, and why there is none.
    pub(crate) fn find(
        judge: &mut Judge<'_, '_>,
        height: u32,
        coinbase_script: &[u8],
    ) -> Result<(Option<Self>, Option<&'static str>), ApiError> {
        match judge.block(height, coinbase_script)? {
            Some(judged) => Ok((Some(BlockPool::of(judge, &judged)), None)),
            None => Ok((None, Some(if judge.is_loaded()? { NO_POOL } else { NO_LIST }))),
        }
    }

    fn of(judge: &Judge<'_, '_>, judged: &PoolAttribution) -> Self {
        BlockPool {
            name: judge.name(&judged.pool),
            slug: judged.pool.to_string(),
            by: judged.by.as_str(),
            other_pool: judged.other_pool.as_ref().map(ToString::to_string),
        }
    }
}

/// Payout address of a pool.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PayoutAddress {
    /// The address; `scripthash:<hex>` if the script has none.
    address: String,
    /// Number of blocks of the pool whose largest payout goes to this address.
    blocks: u32,
    /// Sum of these payouts.
    paid_sats: u64,
    /// Height of the newest of these blocks.
    last_height: u32,
    /// Id of the claim that attributes the script to the pool: document and row.
    claim_id: String,
    /// Source of the claim.
    source: String,
    /// Licence of the claim.
    licence: String,
    /// Level of the claim, 0 to 100.
    confidence_level: u8,
    /// Time of assertion of the claim, or else of retrieval of its document.
    asserted_at: String,
}

impl PayoutAddress {
    /// Where these blocks of a pool pay it, the script with most blocks first.
    pub(super) fn of<'s>(
        judge: &Judge<'_, '_>,
        pool: &EntityName,
        blocks: impl Iterator<Item = &'s ScannedBlock>,
    ) -> Vec<Self> {
        let mut sums: HashMap<[u8; 32], (u32, u64, Height)> = HashMap::new();
        for (block, paid) in blocks.filter_map(|block| Some((block, block.paid?))) {
            let (count, sats, last) = sums.entry(paid.script).or_default();
            *count += 1;
            *sats = sats.saturating_add(paid.value);
            *last = block.height.max(*last);
        }
        let of_script = |(hash, of): (&[u8; 32], &super::judge::PaidFor)| {
            let (blocks, paid_sats, last_height) = *sums.get(hash)?;
            Some(PayoutAddress {
                address: address_of(&of.script, judge.network())
                    .unwrap_or_else(|| format!("scripthash:{}", hex::encode(hash))),
                blocks,
                paid_sats,
                last_height,
                claim_id: of.claim_id.clone(),
                source: of.source.clone(),
                licence: of.licence.clone(),
                confidence_level: of.level,
                asserted_at: rfc3339(of.asserted_at),
            })
        };
        let mut places: Vec<PayoutAddress> = judge.paid_for(pool).filter_map(of_script).collect();
        places.sort_by(|one, other| (Reverse(one.blocks), &one.address).cmp(&(Reverse(other.blocks), &other.address)));
        places
    }
}

/// Returns the hash rate of a pool with `blocks` of `of` blocks, rounded down.
pub(super) fn pool_hashrate(network: Option<Exahashes>, blocks: u32, of: u32) -> Option<Exahashes> {
    let Decimal(rate) = network?;
    rate.checked_mul(blocks.into())?.checked_div(of.into()).map(Decimal)
}
