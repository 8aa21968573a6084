//! `GET /v1/wallets/{address}/sanctions-exposure`.

use super::{
    exposure::{claimed::Kind, compute::answer, output::ExposureOutput, parameters::ExposureInput},
    risk_exposure::COMPACT,
};
use crate::operation::prelude::*;

pub(crate) struct SanctionsExposure;

impl Operation for SanctionsExposure {
    const INFO: Info = Info {
        summary: "Exposure of an address to lists of authorities, direct and over up to four transactions",
        description: "The part of an address's coins that came from scripts on lists of authorities (`sources`) or went \
            to them (`destinations`), by list; copies of one list are one. Each amount is given by haircut and by FIFO, \
            which add up to what was examined, and by poison, a bound for each coin. A trace stops at listed scripts, \
            services, coinbases, CoinJoins and addresses with more than 1 000 transactions; the rest is `unresolved`, with \
            the reason, and never counts as untainted. Paths name the transactions, and whether they are before or after the \
            listing. `labels_as_of` gives the answer as of an earlier state of the lists. The lists are not exhaustive, \
            and the answer is not legal advice.",
        errors: &[ErrorCode::BlockNotFound],
        freshness: &[TIP, CLAIMS, LABELS],
        compact: COMPACT,
        tool: Tool::reads(
            "asked whether coins of an address came from or went to addresses on a list of sanctions",
            "other categories (risk_exposure), or whether the address itself is listed (wallet_trust_safety)",
        ),
        cost: Cost::Heavy,
        ..index_get("sanctions_exposure", "/v1/wallets/{address}/sanctions-exposure", "wallets")
    };
    type Input = ExposureInput;
    type Output = ExposureOutput;

    fn run(ctx: &Ctx<'_>, input: ExposureInput) -> Result<ExposureOutput, ApiError> {
        answer(ctx, input, Kind::Sanctions)
    }
}
