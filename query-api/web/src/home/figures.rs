//! Figures of the network, of fees, alerts and exchanges.

use serde::Deserialize;
use serde_json::Number;

#[derive(Deserialize)]
pub(super) struct Summary {
    pub(super) height: Option<u64>,
    pub(super) price_usd: Option<Number>,
    pub(super) price_as_of: Option<String>,
    pub(super) price_source: Option<String>,
    pub(super) price_reason: Option<String>,
    #[serde(default)]
    pub(super) price_stale: bool,
    pub(super) mempool_count: Option<u64>,
    pub(super) mempool_vbytes: Option<u64>,
    pub(super) mempool_reason: Option<String>,
    pub(super) hashrate_eh: Option<Number>,
    pub(super) halving: Option<Halving>,
    pub(super) next_adjustment: Option<Adjustment>,
    pub(super) next_adjustment_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Halving {
    pub(super) next_height: u64,
    pub(super) blocks_left: u64,
    pub(super) current_subsidy_sats: i64,
}

#[derive(Deserialize)]
pub(super) struct Adjustment {
    #[serde(alias = "next_height")]
    pub(super) height: Option<u64>,
    pub(super) blocks_left: Option<u64>,
}

#[derive(Deserialize)]
pub(super) struct Fees {
    pub(super) fastest_fee_sat_vb: Option<Number>,
    pub(super) half_hour_fee_sat_vb: Option<Number>,
    pub(super) hour_fee_sat_vb: Option<Number>,
    pub(super) economy_fee_sat_vb: Option<Number>,
    pub(super) minimum_fee_sat_vb: Option<Number>,
    pub(super) reason: Option<String>,
}

impl Fees {
    /// The recommended feerates: until when, and sat/vB.
    pub(super) fn rows(&self) -> [(&'static str, Option<&Number>); 5] {
        [
            ("Next block", self.fastest_fee_sat_vb.as_ref()),
            ("Half an hour", self.half_hour_fee_sat_vb.as_ref()),
            ("One hour", self.hour_fee_sat_vb.as_ref()),
            ("Economy", self.economy_fee_sat_vb.as_ref()),
            ("Minimum", self.minimum_fee_sat_vb.as_ref()),
        ]
    }
}

#[derive(Deserialize)]
pub(super) struct Stress {
    pub(super) stress: Option<Number>,
    pub(super) stress_reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Alerts {
    pub(super) alerts: Vec<Alert>,
}

#[derive(Deserialize)]
pub(super) struct Alert {
    pub(super) txid: String,
    pub(super) height: Option<u64>,
    pub(super) time: Option<String>,
    pub(super) net_external_sats: i64,
    pub(super) flow_direction: Option<String>,
    pub(super) from_owner: Option<Owner>,
    pub(super) to_owner: Option<Owner>,
}

#[derive(Deserialize)]
pub(super) struct Owner {
    pub(super) entity: Option<String>,
    pub(super) category: Option<String>,
}

impl Owner {
    pub(super) fn name(&self) -> &str {
        self.entity.as_deref().or(self.category.as_deref()).unwrap_or("unnamed")
    }
}

#[derive(Deserialize)]
pub(super) struct Flows {
    pub(super) windows: Vec<Window>,
    pub(super) reason: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Window {
    pub(super) range: String,
    pub(super) from_date: Option<String>,
    pub(super) to_date: Option<String>,
    pub(super) inflow_sats: i64,
    pub(super) outflow_sats: i64,
    pub(super) net_sats: i64,
    #[serde(default)]
    pub(super) top_net_inflows: Vec<Top>,
    #[serde(default)]
    pub(super) top_net_outflows: Vec<Top>,
}

#[derive(Deserialize)]
pub(super) struct Top {
    pub(super) slug: String,
    pub(super) net_sats: i64,
}
