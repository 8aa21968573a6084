//! `GET /v1/wallets/{address}/contributors`.

use cairn_domain::claims::contributors;

use super::claims::{ClaimsBasis, ScriptClaims};
use crate::{definitions::CLAIMS as CLAIMS_DEFINITION, operation::prelude::*, parameters::identifier::AddressParam};

/// Sources of the claims about an address.
pub(crate) struct Contributors;

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ContributorsInput {
    address: AddressParam,
    /// Height of a block: only claims asserted by its time (monotone block time) count, from documents known today.
    /// Default: now.
    #[schemars(example = 100)]
    as_of: Option<Height>,
}

/// Origins of the claims about an address with their sources, and the categories that they name.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ContributorsOutput {
    /// The address as given in the request.
    address: String,
    /// Number of claims that stand.
    claim_count: usize,
    /// Number of independent origins.
    origin_count: usize,
    /// Origins, the highest confidence first.
    origins: Vec<Origin>,
    /// Categories, the one that the most origins name first.
    categories: Vec<CategoryCount>,
    examined: ClaimsBasis,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// An origin. Sources that repeat each other have one origin.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Origin {
    origin: String,
    /// Sources that repeat the origin.
    sources: Vec<String>,
    claim_count: usize,
    /// Highest level of the origin's claims, 0 to 100.
    highest_confidence_level: u8,
    /// Time of assertion of the origin's newest claim.
    newest_asserted_at: String,
}

/// Numbers of origins and claims that name a category.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CategoryCount {
    /// Category of the entity, else the behaviour; `unlabeled` without either.
    category: String,
    origin_count: usize,
    claim_count: usize,
}

impl Operation for Contributors {
    const INFO: Info = Info {
        summary: "Sources of the claims about an address, by independent origin and category",
        description: "The origins of the claims about an address that stand now: the sources that repeat each origin, \
            its number of claims, its highest level and newest date, and the categories that the claims name. \
            `trust-safety` has the conclusion, `detail` every claim.",
        errors: &[ErrorCode::BlockNotFound],
        freshness: &[TIP, CLAIMS],
        tool: Tool::reads(
            "asked how many independent sources say who is behind an address, and which",
            "what they say (wallet_detail), or what follows from it (wallet_trust_safety)",
        ),
        ..index_get("wallet_contributors", "/v1/wallets/{address}/contributors", "wallets")
    };
    type Input = ContributorsInput;
    type Output = ContributorsOutput;

    fn run(ctx: &Ctx<'_>, input: ContributorsInput) -> Result<ContributorsOutput, ApiError> {
        let said = ScriptClaims::find(ctx, input.address, input.as_of)?;
        let stated = said.stated();
        let found = contributors(&stated, said.facts.at);
        let origin = |of: &cairn_domain::claims::OriginDepth<'_>| Origin {
            origin: of.origin.to_owned(),
            sources: of.sources.iter().map(|source| (*source).to_owned()).collect(),
            claim_count: of.claims,
            highest_confidence_level: of.highest_level,
            newest_asserted_at: rfc3339(of.newest),
        };
        let category = |of: &cairn_domain::claims::CategoryShare<'_>| CategoryCount {
            category: of.category.to_owned(),
            origin_count: of.origins,
            claim_count: of.claims,
        };
        Ok(ContributorsOutput {
            address: said.wallet.address.clone(),
            claim_count: found.origins.iter().map(|of| of.claims).sum(),
            origin_count: found.origins.len(),
            origins: found.origins.iter().map(origin).collect(),
            categories: found.categories.iter().map(category).collect(),
            examined: said.examined(ctx.view()?),
            definition: CLAIMS_DEFINITION,
        })
    }
}
