//! The report as one page without scripts.

use askama::Template;
use cairn_http::Page as Shell;

use super::report::{Block, Report};

#[derive(Template)]
#[template(path = "evidence_pack.html")]
struct Page<'r> {
    blocks: &'r [Block],
}

/// Writes the page. It is a file that people keep.
pub(super) fn page(report: &Report) -> String {
    Shell { title: &report.title, place: "", scripts: &[], styles: &[], content: &Page { blocks: &report.blocks } }
        .file()
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
