//! What the service says about itself, beside its operations.

use std::sync::LazyLock;

use cairn_http::About;
use serde_json::{Map, Value};

use crate::{config::ApiConfig, definitions::DEFINITIONS, parameters::identifier::ADDRESS};

/// Answers as examples, by name of operation, taken from a generated chain. `tests/api/examples.rs` writes them and checks
/// them.
static ANSWERS: LazyLock<Map<String, Value>> =
    LazyLock::new(|| serde_json::from_str(include_str!("../examples.json")).unwrap_or_default());

/// What the service says about itself under this configuration.
pub(crate) fn about(config: &ApiConfig) -> About {
    About {
        name: "Cairn",
        summary: "Bitcoin chain index with a read-only query API",
        sentence: "Bitcoin data for software agents and integrators, over HTTP: balances and histories of addresses, \
            transactions and whether they are confirmed, blocks, mempool and fees; each answer names the block that it is \
            true for",
        conventions: "Every 2xx answer of /v1 and /api is an object with `_meta`, which names the block that the answer is \
            true for. Every failure is `application/problem+json`. Amounts in satoshis are authoritative. Days and periods \
            use the monotone block time: the running maximum of header times.",
        conventions_for_models: "Answers are JSON objects; `_meta` in each says when its data was current and which block it \
            knows. Amounts in satoshis (`*_sats`) are authoritative. Failures are `application/problem+json` with a stable \
            code in `error`.",
        areas: &[
            ("blocks", "Single blocks with their transactions."),
            ("chain", "What the newest blocks were and the next ones will be, as lists."),
            ("mempool", "Transactions that are not confirmed yet, and what it takes to be among the next."),
            ("network", "The state of the whole network in a few numbers."),
            ("service", "This server itself: its state, abilities and offers, and small aids."),
            ("transactions", "Single transactions: to look up, to follow, to verify, to send."),
            ("wallets", "Balances and movements of addresses and scripts."),
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
        examples: config.example_address().map(|address| (ADDRESS.name, address.into())).into_iter().collect(),
    }
}
