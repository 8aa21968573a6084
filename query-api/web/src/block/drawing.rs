//! Drawings of a block: feerates of all of it by weight, and the transactions of a page by feerate.

use std::fmt::Write;

use super::{
    detail::{Detail, MAX_WEIGHT, Transaction},
    treemap,
};
use crate::{
    feerate::band,
    format::{self, Plain},
    links::{self, Markup, escaped},
};

/// Size of the drawings in units of their own.
const WIDTH: f64 = 720.0;
const CELLS_HEIGHT: f64 = 240.0;
/// Two bars: the feerates of the block by share of its weight, and how full the block is.
pub(super) fn bands(block: &Detail) -> Markup {
    let Some(percentiles) = &block.fee_percentiles else { return Markup::default() };
    let rows = percentiles.rows();
    let said: Vec<String> =
        rows.iter().map(|(share, rate)| format!("{share} % of the weight at most {rate}")).collect();
    let name = format!("Feerates of block {} in sat/vB by weight: {}", block.height, said.join(", "));
    let mut svg =
        format!("<svg class=\"bands\" viewBox=\"0 0 720 96\" role=\"img\" aria-label=\"{}\">", escaped(&name));
    let mut from = 0.0;
    let mut last = 0.0;
    let ends = rows.iter().filter_map(|(share, rate)| Some((u32::try_from(*share).ok()?, rate.as_f64()?)));
    let ends: Vec<(f64, f64)> = ends.map(|(share, rate)| (f64::from(share), rate)).collect();
    // Writing to a String cannot fail.
    for (share, rate) in ends.iter().copied().chain([(100.0, f64::NAN)]) {
        let colour = band(if rate.is_nan() { last } else { rate });
        let (x, wide) = (from / 100.0 * WIDTH, (share - from) / 100.0 * WIDTH);
        let _ = write!(svg, "<rect class=\"band{colour}\" x=\"{x:.1}\" y=\"4\" width=\"{wide:.1}\" height=\"40\"/>");
        (from, last) = (share, rate);
    }
    for ((share, rate), (x, _)) in rows.iter().zip(&ends) {
        let x = x / 100.0 * WIDTH;
        let rate = escaped(&rate.to_string());
        let _ = write!(
            svg,
            "<path class=\"axis\" d=\"M{x:.1} 2V50\"/><text x=\"{x:.1}\" y=\"72\" text-anchor=\"middle\">{rate}</text>\
             <text x=\"{x:.1}\" y=\"88\" text-anchor=\"middle\" class=\"less-loud\">{share} %</text>"
        );
    }
    svg.push_str("</svg>");
    Markup(svg)
}

/// A bar that shows how full the block is.
pub(super) fn fullness(weight: impl Plain<u64>) -> Markup {
    let parts = weight.plain().min(MAX_WEIGHT).saturating_mul(720).div_ceil(MAX_WEIGHT);
    Markup(format!(
        "<svg class=\"fullness\" viewBox=\"0 0 720 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"empty\" width=\"720\" height=\"10\"/>\
         <rect class=\"full\" width=\"{parts}\" height=\"10\"/></svg>"
    ))
}

/// A cell for each transaction: its area is its virtual size, its colour the band of its feerate, the highest first.
pub(super) fn cells(transactions: &[Transaction]) -> Markup {
    let rate = |one: &Transaction| one.fee_rate_sat_vb.as_ref().and_then(serde_json::Number::as_f64);
    let mut drawn: Vec<&Transaction> = transactions.iter().filter(|one| one.vsize > 0).collect();
    drawn.sort_by(|a, b| rate(b).unwrap_or(-1.0).total_cmp(&rate(a).unwrap_or(-1.0)));
    if drawn.is_empty() {
        return Markup::default();
    }
    let sizes: Vec<f64> = drawn.iter().map(|one| f64::from(u32::try_from(one.vsize).unwrap_or(u32::MAX))).collect();
    let mut svg = format!(
        "<svg class=\"cells\" viewBox=\"0 0 {WIDTH} {CELLS_HEIGHT}\" role=\"group\" aria-label=\"Transactions of this \
         page: area by virtual size, colour by feerate\">"
    );
    for (one, cell) in drawn.iter().zip(treemap::cells(&sizes, WIDTH, CELLS_HEIGHT)) {
        let (class, said) = match (&one.fee_rate_sat_vb, rate(one)) {
            (Some(number), Some(rate)) => (format!("band{}", band(rate)), format!("{number} sat/vB")),
            _ => ("coinbase".to_owned(), "coinbase".to_owned()),
        };
        let label = format!("{}: {said}, {} vB, {}", links::short(&one.txid), one.vsize, format::btc(one.output_sats));
        let (path, label) = (escaped(&links::tx_path(&one.txid)), escaped(&label));
        // Writing to a String cannot fail.
        let _ = write!(
            svg,
            "<a href=\"{path}\" aria-label=\"{label}\" tabindex=\"-1\"><rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" \
             width=\"{:.1}\" height=\"{:.1}\"><title>{label}</title></rect></a>",
            cell.x, cell.y, cell.width, cell.height
        );
    }
    svg.push_str("</svg>");
    Markup(svg)
}
