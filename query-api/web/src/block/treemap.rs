//! Rectangles with areas in proportion to weights, in the order of the weights given: a strip treemap.

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Cell {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Mean ratio of the longer to the shorter side in a strip of these areas. 1 is a row of squares.
fn ratio(areas: &[f64], width: f64) -> f64 {
    let height = areas.iter().sum::<f64>() / width;
    let ratios = areas.iter().map(|area| {
        let side = area / height;
        if side > height { side / height } else { height / side }
    });
    ratios.sum::<f64>() / f64::from(u32::try_from(areas.len()).unwrap_or(u32::MAX))
}

/// Fills a rectangle from the top with strips. `weights` are positive.
pub(super) fn cells(weights: &[f64], width: f64, height: f64) -> Vec<Cell> {
    let total: f64 = weights.iter().sum();
    let areas: Vec<f64> = weights.iter().map(|weight| weight / total * width * height).collect();
    let (mut cells, mut top, mut rest) = (Vec::with_capacity(areas.len()), 0.0, areas.as_slice());
    while !rest.is_empty() {
        let is_better = |count: &usize| match (rest.get(..*count), rest.get(..count + 1)) {
            (Some(now), Some(longer)) => ratio(longer, width) <= ratio(now, width),
            _ => false,
        };
        let count = (1..).find(|count| !is_better(count)).unwrap_or(1);
        let (strip, after) = rest.split_at(count.min(rest.len()));
        let tall = strip.iter().sum::<f64>() / width;
        let mut left = 0.0;
        for area in strip {
            let wide = area / tall;
            cells.push(Cell { x: left, y: top, width: wide, height: tall });
            left += wide;
        }
        (top, rest) = (top + tall, after);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_fill_the_rectangle() {
        let made = cells(&[4.0, 3.0, 2.0, 1.0, 1.0, 1.0], 100.0, 50.0);
        assert_eq!(made.len(), 6);
        let area: f64 = made.iter().map(|cell| cell.width * cell.height).sum();
        assert!((area - 5_000.0).abs() < 1e-6);
        assert!(made.iter().all(|cell| cell.x + cell.width <= 100.000_001 && cell.y + cell.height <= 50.000_001));
        assert!(cells(&[], 1.0, 1.0).is_empty());
    }
}
