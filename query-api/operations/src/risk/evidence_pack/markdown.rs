//! The report in Markdown.

use super::report::{Block, Report};

pub(super) fn markdown(report: &Report) -> String {
    let mut out = format!("# {}\n", escaped(&report.title));
    for block in &report.blocks {
        out.push('\n');
        match block {
            Block::Heading(text) => out.push_str(&format!("## {}\n", escaped(text))),
            Block::Text(text) => out.push_str(&format!("{}\n", escaped(text))),
            Block::Picture(_) => out.push_str("The page in HTML has a drawing of the graph.\n"),
            Block::Table { rows, .. } if rows.is_empty() => out.push_str("None.\n"),
            Block::Table { head, rows } => {
                line(&mut out, head.iter().copied());
                line(&mut out, head.iter().map(|_| "---"));
                for row in rows {
                    let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
                    line(&mut out, cells.iter().map(String::as_str));
                }
            }
        }
    }
    out
}

fn line<'c>(out: &mut String, cells: impl Iterator<Item = &'c str>) {
    out.push('|');
    for cell in cells {
        out.push_str(&format!(" {cell} |"));
    }
    out.push('\n');
}

/// A text without anything that Markdown gives a meaning to: texts of sources are untrusted.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '<' | '>' | '|' | '#' | '!' | '~' | '&' | '$' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    // Readers of Markdown make links of these without being asked.
    out.replace("://", "&#58;//").replace("www.", "www&#46;").replace('@', "&#64;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_sources_have_no_meaning() {
        assert_eq!(escaped("a|b\n# <c> [d](http://e) *f*"), "a\\|b \\# \\<c\\> \\[d\\](http&#58;//e) \\*f\\*");
        let report = Report {
            title: "<t>".to_owned(),
            blocks: vec![
                Block::Heading("h".to_owned()),
                Block::Table { head: vec!["a", "b"], rows: vec![vec!["1|2".to_owned(), "x".to_owned()]] },
                Block::Table { head: vec!["a"], rows: Vec::new() },
            ],
        };
        assert_eq!(markdown(&report), "# \\<t\\>\n\n## h\n\n| a | b |\n| --- | --- |\n| 1\\|2 | x |\n\nNone.\n");
    }
}
