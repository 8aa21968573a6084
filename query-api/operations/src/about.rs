//! The service's description of itself, besides its operations.

use std::sync::LazyLock;

use cairn_http::About;
use serde_json::{Map, Value};

use crate::{
    config::ApiConfig,
    definitions::DEFINITIONS,
    parameters::{addresses::ADDRESSES, descriptor::DESCRIPTOR, identifier::ADDRESS},
};

/// Example answers by operation name, taken from a generated chain. `tests/api/examples.rs` writes and checks them.
static ANSWERS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../examples.json")).unwrap_or_default());

/// The service's description of itself under this configuration.
pub(crate) fn about(config: &ApiConfig) -> About {
    About {
        name: "Cairn",
        summary: "Bitcoin chain index with a query API, which also broadcasts transactions",
        sentence: "Bitcoin data for software agents and integrators, over HTTP: balances and histories of addresses, \
            transactions and their confirmations, blocks, mempool and fees. Each answer names the tip at which it is valid",
        conventions: "Every 2xx answer of /v1 and /api is an object with `_meta`, which names the tip at which the answer \
            is valid. Every error is `application/problem+json`. Amounts in satoshis are authoritative. Days and periods \
            use the monotone block time: the running maximum of header times.",
        conventions_for_models: "Answers are JSON objects. `_meta` in each gives the time of its data and the tip of the \
            index. Amounts in satoshis (`*_sats`) are authoritative. Errors are `application/problem+json` with a stable \
            code in `error`.",
        areas: &[
            ("billing", "The pass and the prices per call, and codes that give a key."),
            ("blocks", "Single blocks and their transactions."),
            ("chain", "The chain as a whole: newest and projected blocks, supply, old coins that move."),
            ("community", "Reports of clients about addresses, their payments and votes: nobody has verified them."),
            (
                "entities",
                "Exchanges, services and others that sources name: lists of them, their addresses and their activity.",
            ),
            ("labels", "Search of the names that sources give to addresses."),
            ("market", "Prices of bitcoin and exchange rates, with their sources and their age."),
            ("mempool", "Unconfirmed transactions, and the feerates needed to confirm soon."),
            ("network", "The state of the whole network in a few figures."),
            ("pools", "Mining pools: their shares of the blocks, and the blocks of one pool."),
            ("pulse", "Short lists of current movements."),
            (
                "risk",
                "Evidence about an address for analysts: labels, alerts, related addresses. No scores, no verdicts.",
            ),
            ("sanctions", "The loaded sanctions list: its approved rows, its coverage and its age."),
            ("service", "This server: its health, capabilities and prices, and small utilities."),
            (
                "timestamps",
                "Hashes of files anchored in the chain, and proofs that a file existed before a block (OpenTimestamps).",
            ),
            ("transactions", "Single transactions: look up, track, verify, broadcast."),
            ("wallets", "Balances and transactions of addresses and scripts."),
        ],
        definitions: DEFINITIONS,
        ways: &[
            ("openapi", "/openapi.json"),
            ("health", "/api/health"),
            ("reference", "/api/reference/"),
            ("capabilities", "/v1/capabilities"),
            ("llms", "/llms.txt"),
            ("start", "/"),
        ],
        answer: |operation| ANSWERS.get(operation).cloned(),
        examples: config.example_address().map_or_else(Vec::new, |address| {
            let mut examples: Vec<(&str, Value)> =
                vec![(ADDRESS.name, address.into()), (ADDRESSES.name, address.into())];
            // The hash of a script has no descriptor.
            if !address.starts_with("scripthash:") {
                examples.push((DESCRIPTOR.name, format!("addr({address})").into()));
            }
            examples
        }),
    }
}
