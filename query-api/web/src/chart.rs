//! Charts as SVG: drawn on the server, named for those who do not see them, readable without scripts. A table with the
//! same figures belongs beside each; the page writes it.

use std::fmt::Write;

use crate::links::{Markup, escaped};

/// Size of a chart in units of its own. It is drawn as wide as its column.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 220.0;
/// Space around the plot: left for the values, below for the times.
const LEFT: f64 = 8.0;
const BELOW: f64 = 22.0;
const ABOVE: f64 = 18.0;

#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// Place from left to right, such as seconds.
    pub(crate) x: f64,
    pub(crate) y: f64,
    /// Time and value in words, for the pointer.
    pub(crate) label: String,
}

/// How the points are drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    /// A line that stays at a value until the next one: balances.
    Steps,
    /// Straight lines between the points: prices.
    Line,
    /// A bar for each point, from zero.
    Bars,
}

pub(crate) struct Chart<'a> {
    /// Its subject, in a sentence.
    pub(crate) name: &'a str,
    pub(crate) shape: Shape,
    /// Points by `x`, ascending.
    pub(crate) points: &'a [Point],
    /// First and last time in words.
    pub(crate) ends: [&'a str; 2],
    /// Smallest and largest value in words.
    pub(crate) bounds: [&'a str; 2],
}

impl Chart<'_> {
    /// Draws it; nothing for no points.
    pub(crate) fn draw(&self) -> Markup {
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else { return Markup::default() };
        let low = self.points.iter().map(|point| point.y).fold(0.0_f64, f64::min);
        let high = self.points.iter().map(|point| point.y).fold(0.0_f64, f64::max);
        let span = |low: f64, high: f64| if high > low { high - low } else { 1.0 };
        let (wide, tall) = (span(first.x, last.x), span(low, high));
        let x = |at: f64| LEFT + (at - first.x) / wide * (WIDTH - 2.0 * LEFT);
        let y = |value: f64| HEIGHT - BELOW - (value - low) / tall * (HEIGHT - BELOW - ABOVE);
        let mut svg = format!(
            "<svg class=\"chart\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}\">",
            escaped(self.name)
        );
        // Writing to a String cannot fail.
        let _ = match self.shape {
            Shape::Bars => self.bars(&mut svg, &x, &y),
            Shape::Steps | Shape::Line => self.line(&mut svg, &x, &y),
        };
        let [from, to] = self.ends.map(escaped);
        let [least, most] = self.bounds.map(escaped);
        let (base, right, foot) = (HEIGHT - BELOW, WIDTH - LEFT, HEIGHT - 6.0);
        let zero = y(0.0);
        let _ = write!(
            svg,
            "<path class=\"axis\" d=\"M{LEFT} {zero:.1}H{right}\"/>\
             <text x=\"{LEFT}\" y=\"{foot}\">{from}</text>\
             <text x=\"{right}\" y=\"{foot}\" text-anchor=\"end\">{to}</text>\
             <text x=\"{LEFT}\" y=\"12\">{most}</text>"
        );
        if low < 0.0 {
            let _ = write!(svg, "<text x=\"{LEFT}\" y=\"{:.1}\">{least}</text>", base - 3.0);
        }
        svg.push_str("</svg>");
        Markup(svg)
    }

    fn line(&self, svg: &mut String, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> std::fmt::Result {
        let mut path = String::new();
        for (at, point) in self.points.iter().enumerate() {
            let (right, down) = (x(point.x), y(point.y));
            match (at, self.shape) {
                (0, _) => write!(path, "M{right:.1} {down:.1}")?,
                (_, Shape::Steps) => write!(path, "H{right:.1}V{down:.1}")?,
                _ => write!(path, "L{right:.1} {down:.1}")?,
            }
        }
        let (start, end) = (x(self.points[0].x), x(self.points[self.points.len() - 1].x));
        let zero = y(0.0);
        write!(svg, "<path class=\"area\" d=\"{path}L{end:.1} {zero:.1}L{start:.1} {zero:.1}Z\"/>")?;
        write!(svg, "<path class=\"line\" d=\"{path}\"/>")?;
        // Places to point at, as wide as half the way to the neighbours.
        for (at, point) in self.points.iter().enumerate() {
            let before = at.checked_sub(1).map_or(point.x, |at| self.points[at].x);
            let after = self.points.get(at + 1).map_or(point.x, |next| next.x);
            let (from, to) = (x(f64::midpoint(before, point.x)), x(f64::midpoint(point.x, after)));
            let (tall, label) = (HEIGHT - BELOW, escaped(&point.label));
            let wide = (to - from).max(1.0);
            write!(
                svg,
                "<rect class=\"spot\" x=\"{from:.1}\" y=\"0\" width=\"{wide:.1}\" height=\"{tall}\"><title>{label}</title></rect>"
            )?;
        }
        Ok(())
    }

    fn bars(&self, svg: &mut String, x: &dyn Fn(f64) -> f64, y: &dyn Fn(f64) -> f64) -> std::fmt::Result {
        // The last bar would reach over the edge: all are moved into the plot.
        let slot = (WIDTH - 2.0 * LEFT) / self.points.len() as f64;
        let wide = (slot * 0.8).clamp(1.0, 40.0);
        let zero = y(0.0);
        for point in self.points {
            let share = (x(point.x) - LEFT) / (WIDTH - 2.0 * LEFT);
            let left = LEFT + share * (WIDTH - 2.0 * LEFT - wide);
            let down = y(point.y);
            let (top, tall) = (down.min(zero), (down - zero).abs().max(0.5));
            let (class, label) = (if point.y < 0.0 { "bar less" } else { "bar" }, escaped(&point.label));
            write!(
                svg,
                "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{tall:.1}\"><title>{label}</title></rect>"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(shape: Shape, values: &[f64]) -> String {
        let points: Vec<Point> =
            values.iter().enumerate().map(|(at, &y)| Point { x: at as f64, y, label: format!("<{at}>") }).collect();
        Chart { name: "a \"chart\"", shape, points: &points, ends: ["then", "now"], bounds: ["-1", "5"] }.draw().0
    }

    #[test]
    fn charts_have_names_and_finite_places() {
        for shape in [Shape::Steps, Shape::Line, Shape::Bars] {
            for values in [&[][..], &[0.0], &[5.0, 5.0], &[1.0, -1.0, 5.0]] {
                let svg = drawn(shape, values);
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                assert_eq!(svg.is_empty(), values.is_empty());
                if !values.is_empty() {
                    assert!(
                        svg.contains("aria-label=\"a &#34;chart&#34;\"") && svg.contains("<title>&#60;0&#62;</title>")
                    );
                    assert!(svg.contains(">then<") && svg.contains(">now<"));
                }
            }
        }
        assert!(drawn(Shape::Bars, &[1.0, -1.0]).contains("bar less"));
    }
}
