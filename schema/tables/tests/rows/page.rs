//! `docs/rows.md` has a line for each table: the layout from the sources, and the first golden row. To regenerate it:
//! `CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test rows`.

use std::{fmt::Write, fs, path::Path};

use crate::Tested;

/// Bytes of a key or a value that the page shows.
const MAX_SHOWN_BYTES: usize = 24;

/// A table with an example of a row.
struct Example {
    file: &'static str,
    name: &'static str,
    key: String,
    value: String,
}

fn example<T: Tested>(file: &'static str) -> Example {
    let (.., key, value) = T::golden().into_iter().next().unwrap();
    Example { file, name: T::NAME, key: key.replace(' ', ""), value: value.replace(' ', "") }
}

macro_rules! all_examples {
    ($($file:ident: $($table:ident),+;)*) => {
        fn examples() -> Vec<Example> {
            vec![$($(example::<cairn_tables::$file::$table>(stringify!($file)),)+)*]
        }
    };
}

cairn_tables::for_each_table!(all_examples);

/// The layout of a row, as the documentation of the file draws it.
#[derive(Default, PartialEq, Eq, Debug)]
struct Layout {
    key: String,
    value: String,
}

/// Lines of the drawings in the documentation of a file.
fn drawing(source: &str) -> Vec<&str> {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    let (mut is_drawn, mut drawn) = (false, Vec::new());
    for line in lines.map(|line| line.strip_prefix(' ').unwrap_or(line)) {
        match line.trim() {
            "```text" => is_drawn = true,
            "```" => is_drawn = false,
            _ if is_drawn => drawn.push(line),
            _ => {}
        }
    }
    drawn
}

/// The lines of a drawing that are about one table, `names` being all tables of the file. Definitions of parts, which
/// stand two columns in, are left out.
fn lines_of<'s>(drawing: &[&'s str], name: &str, names: &[&str]) -> Vec<&'s str> {
    let named = |line: &str| line.split_whitespace().next().is_some_and(|word| names.contains(&word));
    let has_names = drawing.iter().any(|line| named(line));
    let (mut found, mut is_open, mut last_indent): (Vec<&str>, bool, usize) = (Vec::new(), false, 0);
    for line in drawing {
        let indent = line.len() - line.trim_start().len();
        if indent == 0 {
            let rest = line.strip_prefix(name).filter(|rest| rest.starts_with(' '));
            let begins = if has_names { rest } else { Some(*line).filter(|_| found.is_empty()) };
            is_open = begins.is_some();
            found.extend(begins);
        } else if is_open {
            let waits = found.last().is_some_and(|line| line.ends_with('→'));
            is_open = indent > 4 || waits || (!has_names && indent == last_indent);
            found.extend(Some(*line).filter(|_| is_open));
        }
        last_indent = indent;
    }
    found
}

/// A line of a drawing as text: wide gaps separate remarks.
fn plain(line: &str) -> String {
    line.trim().split("  ").map(str::trim).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" – ")
}

fn layout(drawing: &[&str], name: &str, names: &[&str]) -> Layout {
    let mut layout = Layout::default();
    let mut values = Vec::new();
    let mut is_key = true;
    for line in lines_of(drawing, name, names) {
        let (key, value) = match line.split_once('→') {
            Some((key, value)) if is_key => (key, Some(value)),
            _ if is_key => (line, None),
            _ => ("", Some(line)),
        };
        if !layout.key.is_empty() && !key.trim().is_empty() {
            layout.key.push(' ');
        }
        layout.key.push_str(&plain(key));
        is_key &= value.is_none();
        values.extend(value.map(plain).filter(|value| !value.is_empty()));
    }
    layout.value = values.join("<br>");
    layout
}

/// Hexadecimal bytes, cut; "∅" for none.
fn shown(hex: &str) -> String {
    let bytes = hex.len() / 2;
    match hex.get(..2 * MAX_SHOWN_BYTES) {
        _ if hex.is_empty() => "∅".to_owned(),
        Some(begin) if bytes > MAX_SHOWN_BYTES => format!("`{begin}`… ({bytes} bytes)"),
        _ => format!("`{hex}`"),
    }
}

const HEAD: &str = "# Rows

Generated from the sources and golden rows of `schema/tables`; do not edit. A test compares both. To regenerate this page:
`CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test rows`.

A line for each table: the parts of its key, the parts of its value, and the bytes of an example row, from
`schema/tables/tests/rows`. [tables.md](tables.md) explains the signs, the names of parts, families and stages; each table
links to its part of that page. The first byte of the key of a table in the family `small` is the letter of the table.

| table | key | value | example: key → value |
|---|---|---|---|
";

fn page() -> String {
    let examples = examples();
    let mut page = HEAD.to_owned();
    for Example { file, name, key, value } in &examples {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/{file}.rs"));
        let source = fs::read_to_string(path).unwrap();
        let names: Vec<&str> = examples.iter().filter(|of| of.file == *file).map(|of| of.name).collect();
        let layout = layout(&drawing(&source), name, &names);
        assert!(!layout.key.is_empty() && !layout.value.is_empty(), "{file} draws no row of {name}: {layout:?}");
        let (key, value) = (shown(key), shown(value));
        writeln!(page, "| [`{name}`](tables.md#{file}) | {} | {} | {key} → {value} |", layout.key, layout.value)
            .unwrap();
    }
    page
}

#[test]
fn the_page_of_rows_is_what_the_sources_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rows.md");
    let page = page();
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let differs = page.lines().zip(written.lines()).position(|(a, b)| a != b);
    assert!(
        page == written,
        "docs/rows.md is stale from line {}: CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test rows",
        differs.unwrap_or_else(|| page.lines().count().min(written.lines().count())) + 1
    );
}

#[test]
fn layouts_are_found_in_drawings() {
    let of = |key: &str, value: &str| Layout { key: key.to_owned(), value: value.to_owned() };
    let alone = ["height (4) →", "  hash (32) │ size │", "  fees", "flags: 1 one"];
    assert_eq!(layout(&alone, "headers", &["headers"]), of("height (4)", "hash (32) │ size │<br>fees"));
    let two = ["a   'a' ‖ x (4)    → y     a remark", "  y     1 one", "bc  'b' ‖ x (4)", "      ‖ z → ∅"];
    assert_eq!(layout(&two, "a", &["a", "bc"]), of("'a' ‖ x (4)", "y – a remark"));
    assert_eq!(layout(&two, "bc", &["a", "bc"]), of("'b' ‖ x (4) ‖ z", "∅"));
}

#[test]
fn long_rows_are_cut() {
    assert_eq!(shown(""), "∅");
    assert_eq!(shown("0a"), "`0a`");
    assert_eq!(shown(&"0a".repeat(24)), format!("`{}`", "0a".repeat(24)));
    assert_eq!(shown(&"0a".repeat(25)), format!("`{}`… (25 bytes)", "0a".repeat(24)));
}
