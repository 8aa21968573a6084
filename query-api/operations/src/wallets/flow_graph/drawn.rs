//! The graph as answers show it: names, labels, places.

use std::collections::HashMap;

use cairn_domain::flow_graph::layout;
use cairn_model::ScriptId;
use cairn_tables::block_log::BlockLog;

use super::{
    super::Wallet,
    walk::{Key, WalkResult},
};
use crate::{
    context::confirmations,
    operation::prelude::*,
    tx_sides::name_of,
    vocabulary::label::{ShortLabel, Unlabeled},
};

/// Transactions that are shown for an edge, the newest.
const MAX_TXIDS: usize = 5;
/// Confirmations from which a transaction counts as settled.
const SETTLED: u32 = 6;

/// Kind of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "GraphNodeKind")]
enum NodeKind {
    Address,
    Cluster,
    Entity,
    Coinbase,
    Fee,
    Coinjoin,
    /// Outputs that nobody can spend.
    Unspendable,
}

/// A node.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GraphNode {
    /// Id, unique in the graph: the address, `cluster:<address>`, `entity:<name>`, or the kind of an end.
    id: String,
    kind: NodeKind,
    /// Address, or `scripthash:<hex>` if the script has none. For several scripts, the one with the largest sum in the
    /// graph. Null for ends.
    address: Option<String>,
    /// Name of the entity in paths; null for other nodes.
    entity: Option<String>,
    /// Label of the script; null if no claim gives one, and for nodes of several scripts.
    label: Option<ShortLabel>,
    /// Number of hops from the requested address.
    depth: u32,
    /// Sum of the edges to the node.
    value_in_sats: u64,
    /// Sum of the edges from the node.
    value_out_sats: u64,
    /// Number of scripts of the node that were found; a cluster or an entity may have more.
    script_count: u64,
    /// True if the transactions of the node were read; false for ends, for the last hop, and where a limit was reached.
    expanded: bool,
    /// Column for drawing: value flows from lower to higher columns; the address is in column 0.
    x: i32,
    /// Row for drawing.
    y: i32,
}

/// An edge.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct GraphEdge {
    id: String,
    /// Id of the node that pays.
    source: String,
    /// Id of the node that is paid.
    target: String,
    value_sats: u64,
    value_btc: Btc,
    /// Ids of the newest transactions, at most 5.
    txids: Vec<String>,
    /// Number of transactions.
    count: u64,
    /// Time (monotone block time) of the first transaction.
    first: String,
    /// Time (monotone block time) of the last transaction.
    last: String,
    /// True if a transaction has fewer than 6 confirmations: a reorg may still undo it.
    provisional: bool,
}

pub(super) fn draw(
    ctx: &Ctx<'_>,
    view: &View<'_>,
    wallet: &Wallet,
    walked: Option<&WalkResult>,
    include_labels: bool,
) -> Result<(Vec<GraphNode>, Vec<GraphEdge>), ApiError> {
    let Some(walked) = walked else { return Ok((vec![alone(ctx, view, wallet, include_labels)?], Vec::new())) };
    let places = layout(&walked.graph.nodes, &walked.graph.edges);
    let (mut nodes, mut unlabeled, mut labelled) = (Vec::new(), Unlabeled::default(), Vec::new());
    for (node, (x, y)) in walked.graph.nodes.iter().zip(places) {
        ctx.work.poll()?;
        let scripts = walked.scripts.get(&node.key).map_or(&[][..], |scripts| &scripts[..]);
        let script = scripts.first().map(|id| script_of(view, *id)).transpose()?;
        let address = script.as_deref().map(|script| name_of(script, view));
        let (id, kind, entity) = match (&node.key, &address) {
            (Key::Coinbase, _) => ("coinbase".to_owned(), NodeKind::Coinbase, None),
            (Key::Fee, _) => ("fee".to_owned(), NodeKind::Fee, None),
            (Key::CoinJoin, _) => ("coinjoin".to_owned(), NodeKind::Coinjoin, None),
            (Key::Burned, _) => ("unspendable".to_owned(), NodeKind::Unspendable, None),
            (Key::Entity(name), _) => (format!("entity:{name}"), NodeKind::Entity, Some(name.clone())),
            (Key::Cluster(_), address) => {
                (format!("cluster:{}", address.as_deref().unwrap_or_default()), NodeKind::Cluster, None)
            }
            (Key::Script(_), address) => (address.clone().unwrap_or_default(), NodeKind::Address, None),
        };
        if let (true, NodeKind::Address, Some(script)) = (include_labels, kind, &script) {
            unlabeled.push(script);
            labelled.push(nodes.len());
        }
        nodes.push(GraphNode {
            id,
            kind,
            address,
            entity,
            label: None,
            depth: node.depth,
            value_in_sats: node.in_sats,
            value_out_sats: node.out_sats,
            script_count: scripts.len() as u64,
            expanded: walked.expanded.contains(&node.key),
            x,
            y,
        });
    }
    for (at, label) in labelled.into_iter().zip(unlabeled.look_up(ctx, view)?) {
        nodes[at].label = label;
    }
    let mut edges = Vec::with_capacity(walked.graph.edges.len());
    let mut ids: HashMap<TxNum, String> = HashMap::new();
    for edge in &walked.graph.edges {
        ctx.work.poll()?;
        let newest = edge.txs.iter().rev().take(MAX_TXIDS);
        let txids = newest.map(|tx| txid_of(view, *tx, &mut ids)).collect::<Result<Vec<_>, _>>()?;
        let time = |tx: Option<&TxNum>| {
            let block = tx.and_then(|tx| view.chain().get(view.chain().height_of(*tx)?));
            rfc3339(block.map_or(0, |block| block.mono_time))
        };
        let height = edge.txs.last().and_then(|tx| view.chain().height_of(*tx)).unwrap_or_default();
        let (source, target) = (nodes[edge.from].id.clone(), nodes[edge.to].id.clone());
        edges.push(GraphEdge {
            id: format!("{source}->{target}"),
            source,
            target,
            value_sats: edge.sats,
            value_btc: Btc::of(edge.sats),
            txids,
            count: edge.txs.len() as u64,
            first: time(edge.txs.first()),
            last: time(edge.txs.last()),
            provisional: confirmations(view.tip(), height) < SETTLED,
        });
    }
    Ok((nodes, edges))
}

/// A script that the chain does not have.
fn alone(ctx: &Ctx<'_>, view: &View<'_>, wallet: &Wallet, include_labels: bool) -> Result<GraphNode, ApiError> {
    let mut unlabeled = Unlabeled::default();
    wallet.script.iter().filter(|_| include_labels).for_each(|script| unlabeled.push(script));
    let address = match &wallet.script {
        Some(script) => name_of(script, view),
        None => format!("scripthash:{}", hex::encode(wallet.script_hash)),
    };
    Ok(GraphNode {
        id: address.clone(),
        kind: NodeKind::Address,
        address: Some(address),
        entity: None,
        label: unlabeled.look_up(ctx, view)?.pop().flatten(),
        depth: 0,
        value_in_sats: 0,
        value_out_sats: 0,
        script_count: 0,
        expanded: true,
        x: 0,
        y: 0,
    })
}

fn script_of(view: &View<'_>, id: ScriptId) -> Result<Vec<u8>, ApiError> {
    let lacks = || lacks::<cairn_tables::totals::TotalsTable>("a script that a transaction has".to_owned());
    Ok(view.scripts().bytes_of(id)?.ok_or_else(lacks)?)
}

fn txid_of(view: &View<'_>, tx_num: TxNum, known: &mut HashMap<TxNum, String>) -> Result<String, ApiError> {
    if let Some(txid) = known.get(&tx_num) {
        return Ok(txid.clone());
    }
    let lacks = || lacks::<BlockLog>(format!("transaction {}", tx_num.0));
    let txid = view.transactions().txid(tx_num)?.ok_or_else(lacks)?.0.to_string();
    known.insert(tx_num, txid.clone());
    Ok(txid)
}
