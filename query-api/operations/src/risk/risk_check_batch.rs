//! `POST /v1/risk-check/batch`.

use cairn_http::Location;
use serde_json::json;

use super::{
    risk_check::{RiskCheck, RiskCheckInput, RiskCheckOutput, default_depth},
    shared::SharedReads,
};
use crate::{batch::BatchOutput, operation::prelude::*, operation::read};

/// Most addresses with a depth of 2.
const MAX_DEEP: usize = 10;

pub(crate) struct RiskCheckBatch;

/// The addresses.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RiskCheckBatchInput {
    /// Addresses or `scripthash:<hex>`, at most 100. The answer has one row for each, in this order; the row of an
    /// invalid one has an `error`.
    #[schemars(length(min = 1, max = 100), example = [json!("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa")])]
    addresses: Vec<String>,
    /// Transactions over which exposure is traced; 2 for at most 10 addresses.
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = 2))]
    depth: u8,
}

impl Operation for RiskCheckBatch {
    const INFO: Info = Info {
        summary: "Risk checks of up to 100 addresses at once",
        description: "The risk check of each address, in the order of the request, all at the same tip. Transactions, \
            clusters and claims that several addresses have in common are read once. An invalid address gets a row with \
            its own `error`; an address that was not reached in time gets a row with the error `unavailable`, which \
            says nothing about it. `depth` 2 takes at most 10 addresses. It is not a recommendation.",
        freshness: &[TIP, CLAIMS, LABELS],
        needs_tip: true,
        tool: Tool::reads(
            "asked for the risk evidence about several addresses",
            "a single address (risk_check), or only their owners (batch_trust_safety)",
        ),
        cost: Cost::Heavy,
        ..index_post("risk_check_batch", "/v1/risk-check/batch", "risk")
    };
    type Input = RiskCheckBatchInput;
    type Output = BatchOutput<RiskCheckOutput>;

    fn run(ctx: &Ctx<'_>, input: RiskCheckBatchInput) -> Result<Self::Output, ApiError> {
        let count = input.addresses.len();
        if input.depth > 1 && count > MAX_DEEP {
            let message = format!(
                "is {}, with {count} addresses; allowed is 2 for at most {MAX_DEEP} addresses; ask with depth 1, or for \
                 fewer addresses at a time",
                input.depth
            );
            return Err(ApiError::validation(Location::Body, "depth", message));
        }
        let mut shared = SharedReads::default();
        BatchOutput::each(ctx, &input.addresses, |address| {
            let RiskCheckInput { address, depth, .. } =
                read::<RiskCheck>(&json!({"address": address, "depth": input.depth}))?;
            RiskCheckOutput::find(ctx, &address, depth, &mut shared)
        })
    }
}
