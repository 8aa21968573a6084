//! Data of a block for several operations.

use cairn_domain::{FeeRate, printable_ascii};
use cairn_http::ApiError;
use cairn_model::Height;
use cairn_reader::View;
use cairn_tables::headers::HeaderRow;
use schemars::JsonSchema;
use serde::Serialize;

use crate::values::SatVb;

/// Script and text of a coinbase.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CoinbaseTag {
    /// Its scriptSig in hexadecimal.
    script_hex: String,
    /// Its readable text, written by the miner. Any miner can write any pool's tag.
    text: String,
}

/// What the coinbase of a block could take, and what it took.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Claimed {
    /// Block subsidy at this height: what the coinbase may take beyond the fees.
    subsidy_sats: u64,
    /// What it took: the sum of its outputs.
    coinbase_sats: u64,
    /// Subsidy and fees less that: bitcoins that nobody has, and nobody ever will.
    unclaimed_sats: u64,
}

impl Claimed {
    /// Of a block.
    pub(crate) fn of(view: &View<'_>, height: Height, row: &HeaderRow) -> Self {
        let (subsidy_sats, coinbase_sats) = (view.network().subsidy_sats(height), row.coinbase_sats);
        Claimed {
            subsidy_sats,
            coinbase_sats,
            // A chain that a node accepted never takes more.
            unclaimed_sats: subsidy_sats.saturating_add(row.fees).saturating_sub(coinbase_sats),
        }
    }
}

/// Shorter runs of readable characters are coincidence.
const LEAST_RUN: usize = 4;

/// Script and text of a coinbase.
pub(crate) fn coinbase_tag(script_sig: &[u8]) -> CoinbaseTag {
    CoinbaseTag { script_hex: hex::encode(script_sig), text: printable_ascii(script_sig, LEAST_RUN) }
}

/// Lowest, median and highest feerate.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FeeRange {
    min_sat_vb: SatVb,
    median_sat_vb: SatVb,
    max_sat_vb: SatVb,
}

/// The range of some feerates with their weights; `None` without any. The median is by weight.
pub(crate) fn fee_range(rates: &mut [(FeeRate, u64)]) -> Option<FeeRange> {
    let [_, _, median, _, _] = cairn_domain::fee_percentiles(rates)?;
    let (min, max) = (rates.first()?.0, rates.last()?.0);
    Some(FeeRange { min_sat_vb: SatVb(min), median_sat_vb: SatVb(median), max_sat_vb: SatVb(max) })
}

/// Feerate and weight of every transaction of a block except the coinbase. Reads one row per 64 transactions.
pub(crate) fn block_rates(view: &View<'_>, height: Height) -> Result<Vec<(FeeRate, u64)>, ApiError> {
    let txs = view.transactions().brief(height, 1, u32::MAX)?;
    Ok(txs.iter().filter_map(|tx| Some((FeeRate::of(tx.fee_sats(), tx.vsize)?, tx.weight))).collect())
}
