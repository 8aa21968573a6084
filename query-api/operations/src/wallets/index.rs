//! `GET /v1/wallets`.

use crate::operation::prelude::*;
use cairn_http::{Freshness, Tier};

pub(crate) struct WalletIndex;

/// The wallet operations.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WalletIndexOutput {
    /// The operations.
    endpoints: Vec<WalletEndpoint>,
    /// Accepted values of `{address}`.
    address_forms: Vec<&'static str>,
}

/// A wallet operation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WalletEndpoint {
    /// HTTP method.
    method: &'static str,
    /// Path template.
    path: &'static str,
    /// Summary.
    summary: &'static str,
    /// Query parameters.
    parameters: Vec<String>,
    /// Tier after the beta.
    post_beta_tier: Tier,
    /// A working example request; null if the server has no example address.
    example: Option<String>,
}

impl Operation for WalletIndex {
    const INFO: Info = Info {
        summary: "Index of the wallet operations with examples",
        description: "Lists the operations on an address, each with a working example request. Start here if you have \
            only an address.",
        cost: Cost::Light,
        source: "service",
        freshness: &[Freshness::STATE, TIP],
        freshness_semantics: "time of the newest block in the index; the list itself is part of the server",
        ..index_get("wallet_index", "/v1/wallets", "wallets")
    };
    type Input = NoInput;
    type Output = WalletIndexOutput;

    fn run(ctx: &Ctx<'_>, _: NoInput) -> Result<WalletIndexOutput, ApiError> {
        let config = ctx.config;
        let example = ctx.chain.example_address();
        let endpoint = |op: &cairn_http::RegisteredOperation| WalletEndpoint {
            method: op.info.method.name(),
            path: op.info.path,
            summary: op.info.summary,
            parameters: op.input.fields.iter().filter(|f| f.name != "address").map(|f| f.name.clone()).collect(),
            post_beta_tier: op.offer.tier,
            example: example.map(|a| format!("{}{}", config.base_url, op.info.path.replace("{address}", a))),
        };
        let listed = ctx.operations.iter().filter(|op| op.info.path.starts_with("/v1/wallets/{address}"));
        Ok(WalletIndexOutput {
            endpoints: listed.map(endpoint).collect(),
            address_forms: vec![
                "an address on the network of the index",
                "scripthash:<hex> with SHA-256(scriptPubKey) in natural byte order; also for scripts without an address",
            ],
        })
    }
}
