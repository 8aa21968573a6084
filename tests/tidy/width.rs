//! Comments are no wider than code: `max_width` of rustfmt.toml. `cargo fmt` does not wrap them. Drawings and tables
//! are left as they are.

use super::{none, root, sources};

/// The lines of comments beyond a width, outside blocks of code.
fn wide(path: &str, text: &str, most: usize) -> Vec<String> {
    let (mut found, mut is_drawing) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_drawing = false;
            continue;
        };
        let said = comment.trim_start_matches(['/', '!']).trim_start();
        is_drawing ^= said.starts_with("```");
        let width = line.chars().count();
        // A row of a table cannot be wrapped.
        if width > most && !is_drawing && !said.starts_with('|') {
            found.push(format!("{path}:{}: a comment of {width} characters (limit {most})", number + 1));
        }
    }
    found
}

#[test]
fn comments_are_no_wider_than_code() {
    let settings = std::fs::read_to_string(root().join("rustfmt.toml")).unwrap();
    let settings: toml::Table = settings.parse().unwrap();
    let most = usize::try_from(settings["max_width"].as_integer().unwrap()).unwrap();
    none(sources(".rs").iter().flat_map(|(path, text)| wide(path, text, most)).collect());
}

#[test]
fn wide_comments_are_found() {
    let text =
        "// 123456789\n//! ```text\n//! 123456789\n//! ```\nlet code_is_not_looked_at = 1;\n    /// 12345\n/// 1234";
    assert_eq!(wide("a.rs", text, 10).len(), 2);
}
