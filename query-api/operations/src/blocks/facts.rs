//! Data of a block for several operations.

use cairn_domain::{FeeRate, printable_ascii};
use cairn_model::DAY_SECS;
use cairn_tables::headers::HeaderRow;

use crate::{operation::prelude::*, values::SatVb};

/// Script and text of a coinbase.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CoinbaseTag {
    /// scriptSig of the coinbase in hexadecimal.
    script_hex: String,
    /// Readable text in the scriptSig. Any miner can write any pool's tag.
    text: String,
}

/// Amounts that a coinbase may claim and that it claims.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CoinbaseClaim {
    /// Block subsidy at this height. The coinbase may claim the subsidy and the fees.
    subsidy_sats: u64,
    /// Sum of the coinbase outputs.
    coinbase_sats: u64,
    /// Subsidy and fees minus the coinbase outputs: satoshis that are lost for good.
    unclaimed_sats: u64,
}

impl CoinbaseClaim {
    pub(crate) fn of(view: &View<'_>, height: Height, row: &HeaderRow) -> Self {
        let (subsidy_sats, coinbase_sats) = (view.network().subsidy_sats(height), row.coinbase_sats);
        CoinbaseClaim {
            subsidy_sats,
            coinbase_sats,
            // A chain that a node accepted never takes more.
            unclaimed_sats: subsidy_sats.saturating_add(row.fees).saturating_sub(coinbase_sats),
        }
    }
}

/// Shorter runs of readable characters are coincidence.
const LEAST_RUN: usize = 4;

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

/// Facts that only all transactions of a block together show, without its coinbase.
pub(crate) struct TxFacts {
    /// Feerate and weight of each.
    pub(crate) rates: Vec<(FeeRate, u64)>,
    /// Coin-days that they destroyed, in satoshi-days: the sum over all spent coins of value × age.
    pub(crate) destroyed_sat_days: u128,
}

/// Reads all transactions of a block: one row for each 64 of them.
pub(crate) fn tx_facts(view: &View<'_>, height: Height) -> Result<TxFacts, ApiError> {
    let txs = view.transactions().brief(height, 1, u32::MAX)?;
    let destroyed: u128 = txs.iter().map(|tx| tx.destroyed_sat_secs).sum();
    Ok(TxFacts {
        rates: txs.iter().filter_map(|tx| Some((FeeRate::of(tx.fee_sats(), tx.vsize)?, tx.weight))).collect(),
        destroyed_sat_days: destroyed / u128::from(DAY_SECS),
    })
}
