//! The flow graph as a drawing: places of nodes and edges on the paper.

use std::collections::HashMap;

use serde_json::Value;

/// Width of a column and height of a row.
const STEP: (i64, i64) = (190, 40);
const NODE: (i64, i64) = (120, 26);
const MARGIN: i64 = 12;
/// Nodes that are drawn; a graph has at most 200.
const MAX_NODES: usize = 200;
/// Longest name that fits into a node, in characters.
const FITS: usize = 18;

pub(super) struct GraphPicture {
    pub(super) width: i64,
    pub(super) height: i64,
    pub(super) nodes: Vec<DrawnNode>,
    pub(super) edges: Vec<DrawnEdge>,
}

pub(super) struct DrawnNode {
    pub(super) left: i64,
    pub(super) top: i64,
    pub(super) short: String,
    pub(super) title: String,
    /// True if the pack is about it.
    pub(super) is_asked: bool,
}

/// An edge: a curve from the payer to the payee.
pub(super) struct DrawnEdge {
    pub(super) from: (i64, i64),
    pub(super) to: (i64, i64),
    pub(super) bend: i64,
    pub(super) width: i64,
    pub(super) title: String,
}

impl GraphPicture {
    /// Draws a graph by the columns and rows of its nodes; `None` if it has no edges.
    pub(super) fn of(graph: &Value) -> Option<Self> {
        let nodes: Vec<&Value> = graph["nodes"].as_array()?.iter().take(MAX_NODES).collect();
        let place = |node: &Value, name: &str| node[name].as_i64().unwrap_or_default();
        let (left, top) = (nodes.iter().map(|n| place(n, "x")).min()?, nodes.iter().map(|n| place(n, "y")).min()?);
        let mut drawing = GraphPicture { width: 0, height: 0, nodes: Vec::new(), edges: Vec::new() };
        let mut places = HashMap::new();
        for node in nodes {
            let x = MARGIN + place(node, "x").saturating_sub(left).saturating_mul(STEP.0);
            let y = MARGIN + place(node, "y").saturating_sub(top).saturating_mul(STEP.1);
            let id = node["id"].as_str().unwrap_or_default();
            let name = node["label"]["value"].as_str().unwrap_or(id);
            places.insert(id, (x, y));
            (drawing.width, drawing.height) =
                (drawing.width.max(x + NODE.0 + MARGIN), drawing.height.max(y + NODE.1 + MARGIN));
            drawing.nodes.push(DrawnNode {
                left: x,
                top: y,
                short: shortened(name),
                title: format!("{id} {name}"),
                is_asked: node["depth"] == 0,
            });
        }
        let edges = graph["edges"].as_array()?;
        let most = edges.iter().filter_map(|edge| edge["value_sats"].as_u64()).max().unwrap_or(1).max(1);
        for edge in edges {
            let end = |name: &str| edge[name].as_str().and_then(|id| Some((id, *places.get(id)?)));
            let (Some((source, from)), Some((target, to))) = (end("source"), end("target")) else { continue };
            let sats = edge["value_sats"].as_u64().unwrap_or_default();
            let from = (from.0 + NODE.0, from.1 + NODE.1 / 2);
            let to = (to.0, to.1 + NODE.1 / 2);
            drawing.edges.push(DrawnEdge {
                from,
                to,
                bend: (from.0 + to.0) / 2,
                width: 1 + i64::try_from(u128::from(sats) * 5 / u128::from(most)).unwrap_or_default(),
                title: format!("{source} to {target}: {sats} sats"),
            });
        }
        (!drawing.edges.is_empty()).then_some(drawing)
    }
}

fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    match letters.len() {
        ..=FITS => name.to_owned(),
        all => {
            let part = |from: usize, to: usize| letters.get(from..to).unwrap_or_default().iter().collect::<String>();
            format!("{}…{}", part(0, FITS - 7), part(all - 6, all))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_and_edges_have_places() {
        let graph = json!({
            "nodes": [
                {"id": "a", "depth": 0, "x": 0, "y": 0, "label": null},
                {"id": "b", "depth": 1, "x": -1, "y": 1, "label": {"value": "an exchange with a long name"}},
            ],
            "edges": [{"source": "b", "target": "a", "value_sats": 10}, {"source": "x", "target": "a", "value_sats": 5}],
        });
        let drawing = GraphPicture::of(&graph).unwrap();
        assert_eq!((drawing.width, drawing.height), (12 + 190 + 120 + 12, 12 + 40 + 26 + 12));
        let shown: Vec<_> = drawing.nodes.iter().map(|node| (node.left, node.top, node.is_asked)).collect();
        assert_eq!(shown, [(202, 12, true), (12, 52, false)]);
        assert_eq!(drawing.nodes[1].short, "an exchange…g name");
        assert_eq!(drawing.edges.len(), 1);
        let edge = &drawing.edges[0];
        assert_eq!((edge.from, edge.to, edge.width), ((132, 65), (202, 25), 6));
        assert!(GraphPicture::of(&json!({"nodes": [], "edges": []})).is_none());
    }
}
