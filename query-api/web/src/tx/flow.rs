//! The flow of a transaction as a drawing: inputs on the left, outputs and the fee on the right, all on one scale.

use std::fmt::Write;

use super::answers::{Side, Transaction};
use crate::{
    format::btc,
    links::{Markup, address_path, escaped, short},
    visible::visible,
};

/// Inputs and outputs that are drawn; the others are drawn as one.
const DRAWN: usize = 40;
/// Size of the drawing in units of its own. It is never drawn smaller, so its texts are of 12 pixels at least.
const WIDTH: f64 = 760.0;
const ROW: f64 = 19.0;
/// Width of all streams in the middle.
const MIDDLE: f64 = 110.0;
/// Ends of the streams: texts stand outside of them.
const LEFT: f64 = 285.0;
const RIGHT: f64 = WIDTH - LEFT;

struct Stream {
    sats: i64,
    name: String,
    path: Option<String>,
    class: &'static str,
}

/// The streams of a side. `total` is the sum of all, if it is known; the rest is what the drawn ones leave of it.
fn streams<S: Side>(sides: &[S], count: u64, total: Option<i64>, class: &'static str) -> Vec<Stream> {
    let one = |side: &S| Stream {
        sats: side.sats(),
        name: short(&visible(side.owner())),
        path: side.address().map(address_path),
        class,
    };
    let kept = if sides.len() > DRAWN { DRAWN - 1 } else { sides.len() };
    let mut all: Vec<Stream> = sides.iter().take(kept).map(one).collect();
    let rest = count.saturating_sub(kept as u64);
    if rest > 0 {
        let drawn: i64 = all.iter().map(|stream| stream.sats).sum();
        let listed: i64 = sides.iter().skip(kept).map(Side::sats).sum();
        let sats = total.map_or(listed, |total| total.saturating_sub(drawn).max(0));
        all.push(Stream { sats, name: format!("{rest} more"), path: None, class });
    }
    all
}

pub(super) fn draw(tx: &Transaction) -> Markup {
    let mut left = streams(&tx.inputs, tx.input_count, tx.input_sats, "in");
    let mut right = streams(&tx.outputs, tx.output_count, tx.output_sats, "out");
    if tx.is_coinbase {
        // Its input has no amount: it is what the outputs pay out.
        let all = right.iter().map(|stream| stream.sats).sum();
        left.iter_mut().for_each(|stream| stream.sats = all);
    } else if let Some(sats) = tx.fee_sats.filter(|&sats| sats > 0) {
        right.push(Stream { sats, name: "fee".to_owned(), path: None, class: "fee" });
    }
    let sum = |all: &[Stream]| all.iter().map(|stream| stream.sats).sum::<i64>();
    let scale = MIDDLE / sum(&left).max(sum(&right)).max(1) as f64;
    let height = |all: &[Stream]| all.iter().map(|stream| row(stream, scale)).sum::<f64>();
    let tall = height(&left).max(height(&right)) + 12.0;
    let (inputs, outputs) = (tx.input_count, tx.output_count);
    let name = format!("Inputs ({inputs}) on the left, outputs ({outputs}) and the fee on the right, by amount");
    let mut svg =
        format!("<svg class=\"streams\" viewBox=\"0 0 {WIDTH} {tall:.0}\" role=\"group\" aria-label=\"{name}\">");
    for (streams, is_left) in [(&left, true), (&right, false)] {
        side(&mut svg, streams, is_left, scale, tall, height(streams));
    }
    svg.push_str("</svg>");
    Markup(svg)
}

fn row(stream: &Stream, scale: f64) -> f64 {
    (stream.sats as f64 * scale + 4.0).max(ROW)
}

/// Draws one side. Its streams lie side by side in the middle.
fn side(svg: &mut String, streams: &[Stream], is_left: bool, scale: f64, tall: f64, height: f64) {
    let (edge, middle) = if is_left { (LEFT, WIDTH / 2.0) } else { (RIGHT, WIDTH / 2.0) };
    let bend = f64::midpoint(edge, middle);
    let (x, anchor) = if is_left { (LEFT - 7.0, "end") } else { (RIGHT + 7.0, "start") };
    let (mut outer, mut inner) = ((tall - height) / 2.0, (tall - MIDDLE) / 2.0);
    for stream in streams {
        let (tall, exact) = (row(stream, scale), stream.sats as f64 * scale);
        let (y, to) = (outer + tall / 2.0, inner + exact / 2.0);
        let (label, amount, class) = (escaped(&stream.name), btc(stream.sats), stream.class);
        let wide = exact.max(1.0);
        // Writing to a String cannot fail.
        let _ = write!(
            svg,
            "<path class=\"{class}\" d=\"M{edge} {y:.1}C{bend} {y:.1} {bend} {to:.1} {middle} {to:.1}\" \
             stroke-width=\"{wide:.1}\"/>"
        );
        let text = format!(
            "<text x=\"{x}\" y=\"{:.1}\" text-anchor=\"{anchor}\">{label} <tspan>{amount}</tspan></text>",
            y + 4.0
        );
        let _ = match &stream.path {
            Some(path) => write!(svg, "<a href=\"{}\">{text}</a>", escaped(path)),
            None => write!(svg, "{text}"),
        };
        outer += tall;
        inner += exact;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn drawn(outputs: u64, count: u64) -> String {
        let outputs: Vec<_> = (0..outputs).map(|at| json!({"index": at, "value_sats": 10, "address": "a<"})).collect();
        let tx = json!({"input_count": 1, "output_count": count, "input_sats": 1_010, "output_sats": 1_000,
            "fee_sats": 10, "outputs": outputs,
            "inputs": [{"index": 0, "prevout": {"txid": "b", "vout": 0, "value_sats": 1_010, "address": "c"}}]});
        draw(&serde_json::from_value(tx).unwrap()).0
    }

    #[test]
    fn the_rest_is_summed_from_the_whole() {
        let svg = drawn(50, 100);
        assert_eq!(svg.matches("class=\"out\"").count(), DRAWN);
        // 39 of 10 satoshis are drawn, of 1000.
        assert!(svg.contains("61 more <tspan>0.0000061 BTC</tspan>") && svg.contains(">fee <tspan>"), "{svg}");
        assert!(svg.contains("a&#60;") && !svg.contains("a<"), "{svg}");
    }

    #[test]
    fn a_drawing_without_amounts_is_finite() {
        let tx = json!({"input_count": 0, "output_count": 0, "inputs": [], "outputs": []});
        let svg = draw(&serde_json::from_value(tx).unwrap()).0;
        assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
    }
}
