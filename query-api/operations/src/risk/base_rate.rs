//! Base rates of the detectors: how often each fires anywhere.

use cairn_domain::risk::DetectorInfo;

use crate::{base_rates::KnownRate, operation::prelude::*};

/// Share of the scripts of recent blocks for which a detector fires.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "SignalBaseRate")]
pub(crate) struct BaseRate {
    /// Share in millionths, of the scripts with a transaction in these blocks that the detector could examine: an
    /// estimate from 2 000 random draws.
    pub(crate) share_ppm: u32,
    /// Number of blocks.
    pub(crate) blocks: u32,
    /// Height of the newest of these blocks, the last of a day (UTC).
    pub(crate) to_height: Height,
    /// Monotone time of that block.
    pub(crate) at: String,
}

/// The base rate of a detector, or why it is unknown. Once it is asked for, it is computed beside requests, each day.
pub(crate) fn base_rate(ctx: &Ctx<'_>, detector: &DetectorInfo) -> Result<BaseRate, &'static str> {
    let KnownRate { share_ppm, blocks, to_height, at } = ctx.rates.get(detector.id)?;
    Ok(BaseRate { share_ppm, blocks, to_height, at: rfc3339(at) })
}
