//! A block as the page shows it.

use serde::Deserialize;
use serde_json::Number;

use crate::{format, visible::visible};

/// Most weight of a block, in weight units.
pub(super) const MAX_WEIGHT: u64 = 4_000_000;

#[derive(Deserialize)]
pub(super) struct Detail {
    pub(super) height: u64,
    pub(super) hash: String,
    pub(super) confirmations: u64,
    pub(super) time: String,
    pub(super) time_unix: i64,
    pub(super) monotone_time: Option<String>,
    pub(super) previous_hash: Option<String>,
    pub(super) next_hash: Option<String>,
    pub(super) version: i64,
    pub(super) merkle_root: String,
    pub(super) bits: String,
    pub(super) nonce: u64,
    pub(super) difficulty: Option<Number>,
    pub(super) size: u64,
    pub(super) weight: u64,
    pub(super) tx_count: u64,
    pub(super) pool: Option<Pool>,
    pub(super) pool_reason: Option<String>,
    pub(super) coinbase: Coinbase,
    pub(super) totals: Totals,
    pub(super) fee_percentiles: Option<Percentiles>,
    #[serde(default)]
    pub(super) transactions: Vec<Transaction>,
    pub(super) next_tx_offset: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Pool {
    pub(super) name: String,
    pub(super) slug: String,
    pub(super) by: String,
    pub(super) other_pool: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Coinbase {
    pub(super) txid: String,
    pub(super) script_hex: String,
    pub(super) text: String,
    #[serde(default)]
    pub(super) outputs: Vec<Output>,
    #[serde(default)]
    pub(super) outputs_omitted: u64,
}

#[derive(Deserialize)]
pub(super) struct Output {
    pub(super) value_sats: i64,
    pub(super) script_type: String,
    pub(super) address: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Totals {
    pub(super) input_count: u64,
    pub(super) output_count: u64,
    pub(super) transferred_sats: i64,
    pub(super) fees_sats: i64,
    pub(super) coin_days_destroyed: Option<Number>,
    pub(super) subsidy_sats: i64,
    pub(super) coinbase_sats: i64,
    pub(super) unclaimed_sats: i64,
}

#[derive(Deserialize)]
pub(super) struct Percentiles {
    pub(super) p10_sat_vb: Number,
    pub(super) p25_sat_vb: Number,
    pub(super) p50_sat_vb: Number,
    pub(super) p75_sat_vb: Number,
    pub(super) p90_sat_vb: Number,
}

#[derive(Deserialize)]
pub(super) struct Transaction {
    pub(super) index: u64,
    pub(super) txid: String,
    pub(super) vsize: u64,
    pub(super) fee_sats: i64,
    pub(super) fee_rate_sat_vb: Option<Number>,
    pub(super) input_count: u64,
    pub(super) output_count: u64,
    pub(super) output_sats: i64,
}

/// The bits of a version, which answers give as a signed number.
pub(super) fn version(version: i64) -> Option<u32> {
    match i32::try_from(version) {
        Ok(signed) => Some(u32::from_le_bytes(signed.to_le_bytes())),
        Err(_) => u32::try_from(version).ok(),
    }
}

impl Pool {
    /// Another pool whose tag the coinbase has, inert.
    pub(super) fn other(&self) -> Option<String> {
        self.other_pool.as_deref().map(visible)
    }

    /// How the pool is known, in words.
    pub(super) fn evidence(&self) -> String {
        match self.by.as_str() {
            "payout" => "known by its payout address: the coinbase pays it".to_owned(),
            "tag" => "known only by its tag in the coinbase, which any miner can write".to_owned(),
            other => format!("known by {}", visible(other)),
        }
    }

    /// Its identifier, in one word.
    pub(super) fn by_word(&self) -> String {
        visible(&self.by)
    }

    /// Its name, readable and inert.
    pub(super) fn shown(&self) -> String {
        visible(&self.name)
    }

    pub(super) fn path(&self) -> String {
        format!("/pool/{}", cairn_http::segment(&self.slug))
    }
}

impl Coinbase {
    /// Its text with control characters as escapes.
    pub(super) fn shown(&self) -> String {
        visible(&self.text)
    }

    /// Outputs that pay something.
    pub(super) fn paid(&self) -> impl Iterator<Item = &Output> {
        self.outputs.iter().filter(|output| output.value_sats > 0).take(10)
    }

    /// Number of outputs that pay something and are not listed.
    pub(super) fn unlisted(&self) -> u64 {
        let paid = self.outputs.iter().filter(|output| output.value_sats > 0).count();
        self.outputs_omitted + u64::try_from(paid.saturating_sub(10)).unwrap_or_default()
    }
}

impl Percentiles {
    /// Percentiles with their feerates, ascending.
    pub(super) fn rows(&self) -> [(u64, &Number); 5] {
        [
            (10, &self.p10_sat_vb),
            (25, &self.p25_sat_vb),
            (50, &self.p50_sat_vb),
            (75, &self.p75_sat_vb),
            (90, &self.p90_sat_vb),
        ]
    }
}

impl Detail {
    /// The monotone time, if it differs from that of the header.
    pub(super) fn other_time(&self) -> Option<&str> {
        self.monotone_time.as_deref().filter(|time| format::minute(time) != format::minute(&self.time))
    }

    /// How full it is, in percent with one decimal.
    pub(super) fn percent(&self) -> String {
        let tenths = self.weight.min(MAX_WEIGHT) * 1_000 / MAX_WEIGHT;
        format!("{}.{}", tenths / 10, tenths % 10)
    }

    pub(super) fn version_hex(&self) -> String {
        version(self.version).map_or_else(|| self.version.to_string(), |version| format!("0x{version:08x}"))
    }
}
