//! `GET /v1/wallets/{address}/risk-exposure`.

use super::exposure::{claimed::Kind, compute::answer, output::ExposureOutput, parameters::ExposureInput};
use crate::operation::prelude::*;

pub(crate) struct RiskExposure;

/// Fields that `view=compact` omits.
pub(crate) const COMPACT: &[&str] = &[
    "limits",
    "labels_as_of",
    "caveats",
    "definition",
    "sources.paths",
    "sources.left_out",
    "sources.below_min_share",
    "destinations.paths",
    "destinations.left_out",
    "destinations.below_min_share",
];

impl Operation for RiskExposure {
    const INFO: Info = Info {
        summary: "Exposure of an address to claimed risk by category, direct and over up to four transactions",
        description: "The part of an address's coins that came from scripts with claims (`sources`) or went to them \
            (`destinations`), by category: sanctions and other flags, services, perpetrators. Each amount is given by \
            haircut and by FIFO, which add up to what was examined, and by poison, a bound for each coin. A trace \
            stops at claims, services, coinbases, CoinJoins and addresses with more than 1 000 transactions; the rest is \
            `unresolved`, with the reason, and never counts as untainted. Paths name the transactions, and whether they are \
            before or after the listing. `sensitivity` names the claim on which most of a row hangs, and the row without \
            it. `as_of` and `labels_as_of` give earlier answers. It is evidence of paths on the chain, not a score and \
            not a statement about a person.",
        errors: &[ErrorCode::BlockNotFound],
        freshness: &[TIP, CLAIMS, LABELS],
        compact: COMPACT,
        tool: Tool::reads(
            "asked which part of an address's coins came from or went to mixers, scams, thefts or exchanges",
            "lists of sanctions only (sanctions_exposure), or the address itself (wallet_trust_safety)",
        ),
        cost: Cost::Heavy,
        ..index_get("risk_exposure", "/v1/wallets/{address}/risk-exposure", "wallets")
    };
    type Input = ExposureInput;
    type Output = ExposureOutput;

    fn run(ctx: &Ctx<'_>, input: ExposureInput) -> Result<ExposureOutput, ApiError> {
        answer(ctx, input, Kind::Risk)
    }
}
