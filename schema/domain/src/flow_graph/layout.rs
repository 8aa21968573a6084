//! Places of nodes, so that a graph can be drawn as it is: columns by hops, value from the left to the right.

use super::building::{Edge, Node, Side};

/// From one column to the next.
pub const COLUMN_WIDTH: i32 = 240;
/// From one row to the next.
pub const ROW_HEIGHT: i32 = 80;

/// Rounds in which the nodes of each column are sorted by the middle of their neighbours (the barycenter heuristic of
/// Sugiyama, Tagawa and Toda, 1981).
const ROUNDS: usize = 4;

fn column<K>(node: &Node<K>) -> i32 {
    let depth = i32::try_from(node.depth).unwrap_or(i32::MAX / COLUMN_WIDTH);
    match node.side {
        Side::In => -depth,
        Side::Center => 0,
        Side::Out => depth,
    }
}

/// The place of each node: x grows from where value comes from to where it goes, the middle is at zero; y is centered
/// on zero. Deterministic. No two nodes have the same place.
#[must_use]
pub fn layout<K>(nodes: &[Node<K>], edges: &[Edge]) -> Vec<(i32, i32)> {
    let columns: Vec<i32> = nodes.iter().map(column).collect();
    let mut neighbours: Vec<Vec<usize>> = vec![Vec::new(); nodes.len()];
    for edge in edges {
        neighbours[edge.from].push(edge.to);
        neighbours[edge.to].push(edge.from);
    }
    // Rows in half steps, so that they are whole numbers.
    let mut rows = vec![0i64; nodes.len()];
    let mut order: Vec<usize> = (0..nodes.len()).collect();
    order.sort_by_key(|at| columns[*at]);
    let spread = |order: &[usize], rows: &mut [i64]| {
        for column in order.chunk_by(|a, b| columns[*a] == columns[*b]) {
            let first = 1 - column.len() as i64;
            for (row, at) in (0i64..).zip(column) {
                rows[*at] = first + 2 * row;
            }
        }
    };
    spread(&order, &mut rows);
    for _ in 0..ROUNDS {
        let middle = |at: usize| {
            let others = neighbours[at].iter().filter(|other| columns[**other] != columns[at]);
            let (sum, count) = others.fold((0i64, 0i64), |(sum, count), other| (sum + rows[*other], count + 1));
            // In fractions of 2^-20 of a step: compared exactly enough, and the same everywhere.
            if count == 0 { rows[at] << 20 } else { (sum << 20) / count }
        };
        let middles: Vec<i64> = (0..nodes.len()).map(middle).collect();
        // Stable: of equal middles, as before.
        order.sort_by_key(|at| (columns[*at], middles[*at]));
        spread(&order, &mut rows);
    }
    let place = |at: usize| {
        let row = i32::try_from(rows[at]).unwrap_or(i32::MAX / ROW_HEIGHT);
        (columns[at].saturating_mul(COLUMN_WIDTH), row.saturating_mul(ROW_HEIGHT / 2))
    };
    (0..nodes.len()).map(place).collect()
}
