//! `GET /v1/timestamp/quote`.

use cairn_domain::{FeeRate, mempool::recommended_fees};
use cairn_http::Freshness;
use cairn_state::MAX_WAITING_TIMESTAMPS;

use super::anchoring::{AnchoringReason, anchoring};
use crate::{
    definitions::TIMESTAMPS,
    operation::prelude::*,
    values::{SatVb, rfc3339_ms},
};

pub(crate) struct TimestampQuote;

/// Price of a timestamp. It is charged only while calls are sold.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TimestampQuoteOutput {
    /// True if hashes are accepted at present.
    available: bool,
    /// Why not; null if they are.
    reason: Option<AnchoringReason>,
    /// Fee of the service for a hash.
    service_fee_sats: u64,
    /// Share of the fee of the anchoring transaction, if it were made with the hashes that wait and one more; null
    /// while no feerate is known.
    anchor_fee_share_sats: Option<u64>,
    /// Sum of both; null while no feerate is known.
    total_sats: Option<u64>,
    /// Why the share is null; otherwise null.
    share_reason: Option<&'static str>,
    basis: QuoteBasis,
    /// The share for batches of several sizes; empty while no feerate is known.
    by_batch: Vec<BatchShare>,
    /// Time until which the quote holds.
    expires_at: String,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// Figures that the quote rests on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct QuoteBasis {
    /// Feerate for one of the next six blocks, as in /v1/fees/recommended; null if unknown.
    feerate_sat_vb: Option<SatVb>,
    /// Expected virtual size of the anchoring transaction.
    anchor_vsize: u32,
    /// Number of hashes that wait for the next batch, counted up to 1 000 000.
    waiting: u64,
    /// Time of the next anchor; null while nothing waits or nothing is known about it.
    next_anchor_at: Option<String>,
}

/// The share in a batch of a size.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BatchShare {
    /// Number of hashes in the batch.
    n: u64,
    /// The fee of the transaction divided by `n`, rounded up.
    share_sats: u64,
}

/// The operation that the quote is for.
const SUBMIT: &str = "/v1/timestamp";
const HOLDS_SECS: u64 = 600;
const SIZES: [u64; 4] = [1, 10, 100, 1_000];
/// Virtual size of an anchor with one input, a change output and a root of 32 bytes, all P2WPKH, while no process that
/// anchors has reported one.
const USUAL_VSIZE: u32 = 154;
const NO_FEERATE: &str = "no feerate is known: the mempool or its projection is not available at present";

impl Operation for TimestampQuote {
    const INFO: Info = Info {
        summary: "Price of a timestamp",
        description: "Fee of the service and share of the anchoring transaction's fee for one hash, from the live feerate \
            and the hashes that wait, and whether hashes are accepted at present (`available`, `reason`). The share falls \
            with the size of the batch: `by_batch`. It is charged only while calls are sold (`currently_billable` in \
            /v1/billing/catalog).",
        source: "service+mempool",
        freshness: &[TIP, Freshness::NOW],
        has_ages: true,
        freshness_semantics: "time of the request",
        errors: &[ErrorCode::StateUnavailable],
        tool: Tool::reads(
            "asked what a timestamp costs, or if hashes are accepted now",
            "making a timestamp (timestamp_hash), or feerates of payments (fees_recommended)",
        ),
        ..index_get("timestamp_quote", "/v1/timestamp/quote", "timestamps")
    };
    type Input = NoInput;
    type Output = TimestampQuoteOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<TimestampQuoteOutput, ApiError> {
        let network = ctx.view()?.facts().chain_params().key();
        let feerate = feerate(ctx);
        let (waiting, judged) = match ctx.has_state() {
            false => (0, Err(AnchoringReason::WalletMissing)),
            true => {
                let waiting = ctx.with_state(|state| state.waiting_timestamps(network, MAX_WAITING_TIMESTAMPS))?;
                (waiting.count, anchoring(ctx, network)?)
            }
        };
        let judged = judged.and_then(|report| match waiting {
            MAX_WAITING_TIMESTAMPS.. => Err(AnchoringReason::Limit),
            _ => Ok(report),
        });
        let report = judged.as_ref().ok();
        let anchor_vsize = report.map_or(USUAL_VSIZE, |report| report.anchor_vsize);
        let fee = feerate.map(|feerate| fee_sats(feerate, anchor_vsize));
        let share = fee.map(|fee| fee.div_ceil(waiting.saturating_add(1)));
        let offer = ctx.operations.iter().find(|op| op.info.path == SUBMIT);
        let service_fee_sats = offer.and_then(|op| op.offer.price_sats).unwrap_or_default();
        let now = ctx.now_ms / 1_000;
        Ok(TimestampQuoteOutput {
            available: report.is_some(),
            reason: judged.as_ref().err().copied(),
            service_fee_sats,
            anchor_fee_share_sats: share,
            total_sats: share.map(|share| share.saturating_add(service_fee_sats)),
            share_reason: share.is_none().then_some(NO_FEERATE),
            basis: QuoteBasis {
                feerate_sat_vb: feerate.map(SatVb),
                anchor_vsize,
                waiting,
                next_anchor_at: report
                    .and_then(|report| report.next_anchor_at)
                    .map(|at| rfc3339_ms(at.saturating_mul(1_000))),
            },
            by_batch: fee.map_or_else(Vec::new, |fee| {
                SIZES.into_iter().map(|n| BatchShare { n, share_sats: fee.div_ceil(n) }).collect()
            }),
            expires_at: rfc3339_ms(now.saturating_add(HOLDS_SECS).saturating_mul(1_000)),
            definition: TIMESTAMPS,
        })
    }
}

/// The feerate for one of the next six blocks, if the mempool is at the tip of the index.
fn feerate(ctx: &Ctx<'_>) -> Option<FeeRate> {
    let pinned = ctx.slot.pin();
    if pinned.absent(Some(&ctx.index?.tip().hash)).is_some() {
        return None;
    }
    let stats = pinned.mempool().stats(pinned.as_of_ms());
    recommended_fees(pinned.projection()?, stats.floor.as_ref()).map(|fees| fees.hour)
}

/// The fee of a transaction in satoshis, rounded up.
fn fee_sats(feerate: FeeRate, vsize: u32) -> u64 {
    let fee = (u128::from(feerate.0) * u128::from(vsize)).div_ceil(1_000);
    u64::try_from(fee).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fees_are_rounded_up() {
        assert_eq!(fee_sats(FeeRate(1_000), 154), 154);
        assert_eq!(fee_sats(FeeRate(1_001), 154), 155);
        assert_eq!(fee_sats(FeeRate(u64::MAX), u32::MAX), u64::MAX);
    }
}
