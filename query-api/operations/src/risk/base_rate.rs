//! Base rates of the detectors: how often each fires anywhere.

use cairn_domain::risk::DetectorInfo;
use cairn_model::Height;
use schemars::JsonSchema;
use serde::Serialize;

use crate::context::Ctx;

/// Share of the scripts of recent blocks for which a detector fires.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignalBaseRate")]
pub(crate) struct BaseRate {
    /// Share of the scripts in millionths.
    pub(crate) share_ppm: u32,
    /// Number of blocks.
    pub(crate) blocks: u32,
    /// Height of the newest of these blocks.
    pub(crate) to_height: Height,
    /// Time at which the rate was computed.
    pub(crate) at: String,
}

/// The base rate of a detector, or why it is unknown.
pub(crate) fn base_rate(_: &Ctx<'_>, _: &DetectorInfo) -> Result<BaseRate, &'static str> {
    Err("this server does not compute base rates")
}
