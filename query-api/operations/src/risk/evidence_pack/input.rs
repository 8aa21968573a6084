//! The parameters of a pack.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::parameters::{identifier::AddressParam, limit::Limit};

/// Form of the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum PackFormat {
    /// An object with `_meta`.
    #[default]
    Json,
    /// A report to read and print.
    Markdown,
    /// One page without scripts.
    Html,
}

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct EvidencePackInput {
    pub(super) address: AddressParam,
    /// Number of steps of the flow graph.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4))]
    pub(super) depth: u32,
    /// Number of newest confirmed transactions.
    #[serde(default)]
    pub(super) tx_limit: Limit<25, 100>,
    /// If true, the pack has the flow graph.
    #[serde(default = "yes")]
    pub(super) include_graph: bool,
    /// If true, the pack has the risk check.
    #[serde(default = "yes")]
    pub(super) include_risk_check: bool,
    /// If true, the pack proves its transactions. It does as far as the server has block files, for at most 25
    /// transactions and 2 MB.
    #[serde(default)]
    pub(super) proofs: bool,
    /// Form of the answer. `Accept: text/markdown` and `Accept: text/html` choose it as well.
    #[serde(default)]
    pub(super) format: PackFormat,
}

const fn one() -> u32 {
    1
}

const fn yes() -> bool {
    true
}
