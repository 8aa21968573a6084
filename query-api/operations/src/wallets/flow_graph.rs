//! `GET /v1/wallets/{address}/flow-graph`.

mod drawn;
mod walk;

use cairn_domain::flow_graph::{Direction, Limits};
use cairn_http::Detail;

use self::{
    drawn::{GraphEdge, GraphNode, draw},
    walk::{CANDIDATES, Fold, HISTORY, MAX_PARTS, MAX_TXS, Walk, WalkRequest},
};
use super::Wallet;
use crate::{
    definitions::FLOW_GRAPH,
    operation::prelude::*,
    parameters::{amount::BtcParam, identifier::AddressParam, time::TimeParam},
};

/// Who pays whom around an address.
pub(crate) struct FlowGraph;

/// Direction in which the graph grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "GraphDirection")]
enum DirectionParam {
    In,
    Out,
    #[default]
    Both,
}

/// Parameters.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct FlowGraphInput {
    address: AddressParam,
    /// Number of steps from the address.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4))]
    hops: u32,
    /// Payments to follow: received, made, or both.
    #[serde(default)]
    direction: DirectionParam,
    /// Minimum value of an edge; default 0.1.
    #[schemars(example = 0.1)]
    min_btc: Option<BtcParam>,
    /// Only blocks from this time on.
    #[schemars(example = "2024-01-01T00:00:00Z")]
    since: Option<TimeParam>,
    /// If true, nodes have labels.
    #[serde(default = "yes")]
    include_labels: bool,
    /// Maximum number of nodes.
    #[serde(default = "fifty")]
    #[schemars(range(min = 2, max = 200))]
    node_limit: u32,
    /// Meaning of a node: a script, a cluster, or an entity.
    #[serde(default)]
    fold: Fold,
    /// `compact` omits explanatory and nested fields.
    #[serde(default)]
    #[allow(dead_code, reason = "applied to the answer of any operation that takes it")]
    view: Detail,
}

const fn one() -> u32 {
    1
}

const fn fifty() -> u32 {
    50
}

const fn yes() -> bool {
    true
}

/// Satoshis of an edge at least, where nothing else is asked for.
const MIN_SATS: Sats = 10_000_000;

/// Graph of payments around an address.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FlowGraphOutput {
    /// The address as given in the request.
    address: String,
    /// `attribution` with `min_btc=0`, otherwise `value_flow`.
    view_kind: &'static str,
    /// Nodes: the address first, then by hops; those that pay before those that are paid.
    nodes: Vec<GraphNode>,
    /// Payments between nodes.
    edges: Vec<GraphEdge>,
    filters: Filters,
    /// Distribution of the value that was read.
    accounting: AccountingOutput,
    caps: Caps,
    /// True if a limit left something out.
    partial: bool,
    /// Limits that left something out: `history_cap`, `edge_candidates_cap`, `node_limit`, `transaction_budget`,
    /// `large_transaction`, `node_members`, `fold_cap`, `time_budget`.
    truncated_reasons: Vec<&'static str>,
    /// Number of transactions that were read.
    transactions_read: u64,
    /// Id of the definition, explained at `/api/reference/definitions/<id>`.
    definition: &'static str,
}

/// Parameters of the graph, and numbers of the parts left out.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GraphFilters")]
struct Filters {
    hops: u32,
    direction: DirectionParam,
    min_btc: Btc,
    /// Time of the first block that counts; null for all.
    since: Option<String>,
    include_labels: bool,
    node_limit: u32,
    fold: Fold,
    /// Number of edges that were considered.
    edge_candidates: u64,
    /// Number of these edges below `min_btc`.
    edge_candidates_filtered_by_min_btc: u64,
    /// Number of nodes left out although an edge of `min_btc` or more leads to them.
    nodes_omitted: u64,
}

/// Distribution of the value. `seen_sats` is the sum of the next four fields.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GraphAccounting")]
struct AccountingOutput {
    /// Value that moved in the transactions that were read.
    seen_sats: u64,
    /// Value on edges of the graph.
    shown_sats: u64,
    /// Sum that nodes pay to themselves, mostly change.
    self_sats: u64,
    /// Value on edges below `min_btc`.
    below_min_btc_sats: u64,
    /// Value on edges to nodes that are left out.
    omitted_sats: u64,
    /// Number of transactions that are too large to follow.
    transactions_not_followed: u64,
    /// Value that the nodes moved in these transactions.
    not_followed_sats: u64,
}

/// Limits of one answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "GraphCaps")]
struct Caps {
    /// Maximum number of transactions read per script; the newest are read.
    history_per_script: usize,
    edge_candidates_per_hop: usize,
    node_limit: u32,
    transactions: usize,
    /// Maximum number of inputs and outputs that are read.
    transaction_parts: usize,
}

fn sats(sum: u128) -> u64 {
    u64::try_from(sum).unwrap_or(u64::MAX)
}

impl Operation for FlowGraph {
    const INFO: Info = Info {
        summary: "Graph of who pays whom around an address, up to four hops, with positions to draw it",
        description: "A graph of the confirmed transactions around one address: outwards along payments made, inwards \
            along payments received. An edge is the part of the payer's coins that goes to the payee, shared out in \
            proportion to the outputs, with the fee as one more output; no satoshi is lost. CoinJoins, coinbases and \
            fees are ends. Nodes are chosen by value, hop by hop, with ties by a fixed order; `accounting` shows where \
            all other value is, `caps` and `truncated_reasons` the limits. `fold` makes one node of a cluster or an \
            entity. Positions (`x`, `y`) are layered from payers to payees. Change is hidden, but counted. An edge \
            shows which coins went where, not why.",
        freshness: &[TIP, CLAIMS, LABELS],
        compact: &[
            "nodes.label",
            "nodes.script_count",
            "nodes.expanded",
            "nodes.entity",
            "edges.id",
            "edges.value_btc",
            "edges.txids",
            "edges.first",
            "edges.last",
            "edges.provisional",
            "accounting",
            "caps",
            "transactions_read",
            "definition",
        ],
        tool: Tool::reads(
            "asked to trace where coins went or came from, or who pays an address, over one to four hops",
            "single payments (wallet_transactions), or sums by counterparty (the dashboard of the wallet)",
        ),
        cost: Cost::Heavy,
        ..index_get("wallet_flow_graph", "/v1/wallets/{address}/flow-graph", "wallets")
    };
    type Input = FlowGraphInput;
    type Output = FlowGraphOutput;

    fn run(ctx: &Ctx<'_>, input: FlowGraphInput) -> Result<FlowGraphOutput, ApiError> {
        let view = ctx.view()?;
        let wallet = Wallet::find(view, None, input.address)?;
        let min_sats = input.min_btc.map_or(MIN_SATS, |BtcParam(sats)| sats);
        let since = input.since.map_or(TxNum(0), |since| {
            let before = since.start.checked_sub(1).and_then(|time| view.chain().height_at(time));
            let first = view.chain().get(before.map_or(0, |height| height + 1));
            first.map_or(view.tip().tx_end, |block| block.first_tx)
        });
        let limits = Limits {
            hops: input.hops,
            nodes: input.node_limit as usize,
            candidates: CANDIDATES,
            min_sats: min_sats.max(1),
        };
        let direction = match input.direction {
            DirectionParam::In => Direction::In,
            DirectionParam::Out => Direction::Out,
            DirectionParam::Both => Direction::Both,
        };
        let asked = WalkRequest { direction, limits, since, fold: input.fold };
        let walked = match &wallet.found {
            Some(found) => Some(Walk::around(ctx, view, found.id, asked)?),
            None => None,
        };
        let drawn = draw(ctx, view, &wallet, walked.as_ref(), input.include_labels)?;
        let accounting = walked.as_ref().map(|walked| walked.graph.accounting).unwrap_or_default();
        let not_followed = walked.as_ref().map_or((0, 0), |walked| walked.not_followed);
        let truncated_reasons: Vec<&'static str> =
            walked.iter().flat_map(|walked| walked.cuts.iter().map(|cut| cut.name())).collect();
        Ok(FlowGraphOutput {
            address: wallet.address,
            view_kind: if min_sats == 0 { "attribution" } else { "value_flow" },
            nodes: drawn.0,
            edges: drawn.1,
            filters: Filters {
                hops: input.hops,
                direction: input.direction,
                min_btc: Btc::of(min_sats),
                since: input.since.map(|since| rfc3339(since.start)),
                include_labels: input.include_labels,
                node_limit: input.node_limit,
                fold: input.fold,
                edge_candidates: accounting.candidates,
                edge_candidates_filtered_by_min_btc: accounting.below_min,
                nodes_omitted: accounting.omitted_nodes,
            },
            accounting: AccountingOutput {
                seen_sats: sats(accounting.seen_sats),
                shown_sats: sats(accounting.shown_sats),
                self_sats: sats(accounting.self_sats),
                below_min_btc_sats: sats(accounting.below_min_sats),
                omitted_sats: sats(accounting.omitted_sats),
                transactions_not_followed: not_followed.0,
                not_followed_sats: sats(not_followed.1),
            },
            caps: Caps {
                history_per_script: HISTORY,
                edge_candidates_per_hop: CANDIDATES,
                node_limit: input.node_limit,
                transactions: MAX_TXS,
                transaction_parts: MAX_PARTS,
            },
            partial: !truncated_reasons.is_empty(),
            truncated_reasons,
            transactions_read: walked.as_ref().map_or(0, |walked| walked.txs_read as u64),
            definition: FLOW_GRAPH,
        })
    }
}
