//! The flow of a transaction as a drawing: inputs on the left, outputs on the right, each as wide as its amount.

use std::fmt::Write;

use super::answers::{Side, Transaction};
use crate::{
    format::btc,
    links::{Markup, address_path, escaped, short},
};

/// Inputs and outputs that are drawn; the others are drawn as one.
const DRAWN: usize = 20;
/// Size of the drawing in units of its own.
const WIDTH: f64 = 720.0;
const ROW: f64 = 26.0;
/// Half of the widest stream.
const WIDEST: f64 = 22.0;

/// A stream of the drawing.
struct Stream {
    sats: i64,
    name: String,
    path: Option<String>,
}

fn streams<S: Side>(sides: &[S], count: u64) -> Vec<Stream> {
    let one =
        |side: &S| Stream { sats: side.sats(), name: short(side.owner()), path: side.address().map(address_path) };
    let kept = if sides.len() > DRAWN { DRAWN - 1 } else { sides.len() };
    let mut all: Vec<Stream> = sides.iter().take(kept).map(one).collect();
    let rest = count.saturating_sub(kept as u64);
    if rest > 0 {
        let sats = sides.iter().skip(kept).map(Side::sats).sum();
        all.push(Stream { sats, name: format!("{rest} more"), path: None });
    }
    all
}

/// Draws it.
pub(super) fn draw(tx: &Transaction) -> Markup {
    let (left, right) = (streams(&tx.inputs, tx.input_count), streams(&tx.outputs, tx.output_count));
    let rows = left.len().max(right.len()).max(1);
    let tall = rows as f64 * ROW + 12.0;
    let name = format!("{} inputs and {} outputs, each as wide as its amount", tx.input_count, tx.output_count);
    let mut svg =
        format!("<svg class=\"streams\" viewBox=\"0 0 {WIDTH} {tall}\" role=\"group\" aria-label=\"{name}\">");
    for (streams, is_left) in [(&left, true), (&right, false)] {
        side(&mut svg, streams, is_left, tall);
    }
    svg.push_str("</svg>");
    Markup(svg)
}

/// Draws one side. Each stream runs to the middle.
fn side(svg: &mut String, streams: &[Stream], is_left: bool, tall: f64) {
    let most = streams.iter().map(|stream| stream.sats).max().unwrap_or_default().max(1) as f64;
    let first = (tall - streams.len() as f64 * ROW) / 2.0;
    let (edge, bend, middle) = if is_left { (250.0, 305.0, WIDTH / 2.0) } else { (WIDTH - 250.0, 415.0, WIDTH / 2.0) };
    let (x, anchor) = if is_left { (244.0, "end") } else { (WIDTH - 244.0, "start") };
    let class = if is_left { "in" } else { "out" };
    for (at, stream) in streams.iter().enumerate() {
        let y = first + (at as f64 + 0.5) * ROW;
        let wide = (stream.sats as f64 / most * WIDEST).max(1.0);
        let (label, amount) = (escaped(&stream.name), btc(stream.sats));
        // Writing to a String cannot fail.
        let _ = write!(
            svg,
            "<path class=\"{class}\" d=\"M{edge} {y:.1}C{bend} {y:.1} {bend} {:.1} {middle} {:.1}\" stroke-width=\"{wide:.1}\"/>",
            tall / 2.0,
            tall / 2.0,
        );
        let text = format!(
            "<text x=\"{x}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{label} <tspan>{amount}</tspan></text>",
            y + 4.0
        );
        let _ = match &stream.path {
            Some(path) => write!(svg, "<a href=\"{}\">{text}</a>", escaped(path)),
            None => write!(svg, "{text}"),
        };
    }
}
