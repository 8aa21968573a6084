//! The report as one page without scripts.

use askama::Template;
use cairn_http::page as shell;

use super::report::{Block, Report};

/// Styles in addition to those of all pages.
const MORE_STYLE: &str = "
.pack table { font-size: .85rem } .pack td { overflow-wrap: anywhere; vertical-align: top }
.pack svg { max-width: 100%; height: auto; border: 1px solid var(--line) }
.pack svg text { font: 10px sans-serif; fill: currentColor } .pack svg rect { fill: none; stroke: currentColor }
.pack svg .asked rect { stroke-width: 3 } .pack svg path { fill: none; stroke: currentColor; opacity: .5 }
@media print { nav.top, a.skip { display: none } .pack section { break-inside: auto } }
";

#[derive(Template)]
#[template(path = "evidence_pack.html")]
struct Page<'r> {
    blocks: &'r [Block],
}

/// Writes the page.
pub(super) fn page(report: &Report) -> String {
    shell(&report.title, MORE_STYLE, &Page { blocks: &report.blocks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_sources_are_escaped() {
        let table = Block::Table { head: vec!["a"], rows: vec![vec!["<script>alert(1)</script>".to_owned()]] };
        let html = page(&Report { title: "<t>".to_owned(), blocks: vec![table, Block::Text("a & b".to_owned())] });
        assert!(html.contains("&lt;script&gt;alert(1)") && html.contains("a &amp; b") && html.contains("&lt;t&gt;"));
        assert!(!html.contains("<script"));
    }
}
