//! Draws a graph of flows: nodes in columns by hop, edges as wide as their amounts.

use std::collections::BTreeMap;

/// Size of the box of a node, and the space from one to the next.
pub(super) const WIDTH: i64 = 168;
pub(super) const HEIGHT: i64 = 38;
pub(super) const COLUMN: i64 = 232;
pub(super) const ROW: i64 = 46;
pub(super) const MARGIN: i64 = 8;
/// Width of the widest edge, in tenths of a pixel.
const WIDEST: i128 = 140;

/// A node before it has its place. Columns and rows are those of the answer, in any unit.
pub(super) struct Node<'a> {
    pub(super) id: &'a str,
    pub(super) column: i64,
    pub(super) row: i64,
}

pub(super) struct Edge<'a> {
    pub(super) source: &'a str,
    pub(super) target: &'a str,
    pub(super) sats: i64,
}

pub(super) struct Curve {
    pub(super) path: String,
    pub(super) width: String,
}

/// Where everything stands.
#[derive(Default)]
pub(super) struct Drawing {
    pub(super) width: i64,
    pub(super) height: i64,
    /// Left and upper border of each node, by its id.
    pub(super) places: BTreeMap<String, (i64, i64)>,
    /// The curve of each edge; `None` if a node is absent.
    pub(super) curves: Vec<Option<Curve>>,
}

impl Drawing {
    pub(super) fn new(nodes: &[Node<'_>], edges: &[Edge<'_>]) -> Self {
        let mut columns: BTreeMap<i64, Vec<&Node<'_>>> = BTreeMap::new();
        for node in nodes {
            columns.entry(node.column).or_default().push(node);
        }
        let spans = |count: usize, step: i64| i64::try_from(count).unwrap_or(i64::MAX / step) * step;
        let tallest = columns.values().map(Vec::len).max().unwrap_or_default();
        let inner = spans(tallest, ROW);
        let mut places = BTreeMap::new();
        let mut x = MARGIN;
        for column in columns.values_mut() {
            column.sort_by_key(|node| node.row);
            let mut y = MARGIN + (inner - spans(column.len(), ROW)) / 2;
            for node in column.iter() {
                places.insert(node.id.to_owned(), (x, y));
                y += ROW;
            }
            x += COLUMN;
        }
        let width = spans(columns.len(), COLUMN) - (COLUMN - WIDTH) + 2 * MARGIN;
        let most = edges.iter().map(|edge| edge.sats).max().unwrap_or_default();
        let curves = edges.iter().map(|edge| curve(&places, edge, most)).collect();
        Drawing { width: width.max(WIDTH), height: inner + 2 * MARGIN, places, curves }
    }
}

/// From the right of the source to the left of the target, or around the side where both are in one column.
fn curve(places: &BTreeMap<String, (i64, i64)>, edge: &Edge<'_>, most: i64) -> Option<Curve> {
    let (from, to) = (places.get(edge.source)?, places.get(edge.target)?);
    let (y1, y2) = (from.1 + HEIGHT / 2, to.1 + HEIGHT / 2);
    let (x1, x2, bend1, bend2) = if from.0 < to.0 {
        (from.0 + WIDTH, to.0, 32, -32)
    } else if from.0 > to.0 {
        (from.0, to.0 + WIDTH, -32, 32)
    } else {
        (from.0 + WIDTH, to.0 + WIDTH, 48, 48)
    };
    let tenths = (i128::from(edge.sats.max(0)) * WIDEST / i128::from(most.max(1))).max(10);
    Some(Curve {
        path: format!("M{x1} {y1}C{} {y1} {} {y2} {x2} {y2}", x1 + bend1, x2 + bend2),
        width: format!("{}.{}", tenths / 10, tenths % 10),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_places_and_edges_widths() {
        let nodes = [("a", -240, 0), ("b", 0, 0), ("c", 0, -40)].map(|(id, column, row)| Node { id, column, row });
        let edges = [("a", "b", 200), ("b", "c", 100), ("b", "a", 1), ("a", "absent", 1)];
        let edges = edges.map(|(source, target, sats)| Edge { source, target, sats });
        let drawing = Drawing::new(&nodes, &edges);
        assert_eq!((drawing.width, drawing.height), (WIDTH + COLUMN + 2 * MARGIN, 2 * ROW + 2 * MARGIN));
        assert!(drawing.places["c"].1 < drawing.places["b"].1 && drawing.places["a"].0 < drawing.places["b"].0);
        let widths: Vec<_> = drawing.curves.iter().map(|one| one.as_ref().map(|one| one.width.as_str())).collect();
        assert_eq!(widths, [Some("14.0"), Some("7.0"), Some("1.0"), None]);
        assert_eq!(Drawing::new(&[], &[]).curves.len(), 0);
    }
}
