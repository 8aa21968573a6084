//! `docs/tables.md` is generated from the sources of the tables. To regenerate it:
//! `CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test docs`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use cairn_tables::{
    Compression, Family, TABLES,
    stages::{LATE, STAGES},
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The sources by name of the file, without its ending.
fn sources() -> BTreeMap<String, String> {
    let files = fs::read_dir(folder().join("src")).unwrap().map(|file| file.unwrap().path());
    // Tables are files; the folder `table` has what they are made of.
    files
        .filter(|path| path.is_file())
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read_to_string(&path).unwrap()))
        .collect()
}

/// The file's documentation: its first lines that begin with `//!`.
fn header(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Names of the files that hold tables, in the order of the registry, each with its tables.
fn files(sources: &BTreeMap<String, String>) -> Vec<(&str, Vec<&'static str>)> {
    let mut files: Vec<(&str, Vec<&str>)> = Vec::new();
    for table in &TABLES {
        // By the macro that declares tables, or by hand.
        let forms = [format!("(\"{}\": ", table.name), format!("    const NAME: &'static str = \"{}\";", table.name)];
        let is_here = |text: &str| forms.iter().any(|form| text.contains(form));
        let (file, _) = sources.iter().find(|(_, text)| is_here(text)).expect("a source for every table");
        match files.iter_mut().find(|(known, _)| known == file) {
            Some((_, tables)) => tables.push(table.name),
            None => files.push((file, vec![table.name])),
        }
    }
    files
}

const HEAD: &str = "# Tables

Generated from the sources in `schema/tables/src`; do not edit. A test compares both. To regenerate this page:
`CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test docs`.

A table with a stage is a fold over the journal. It has the same rows in every index of a chain, and checksums cover it.
Late stages (`flushes`, `wakeups`) follow the chain after the others and are a fold over their tables.
Of these tables, `headers`, `block_log`, `prevouts` and `overwritten` are the journal of blocks. The tables without a stage
have metadata and observations of the index; `mempool_samples` is the journal of observations. Keys sort by their bytes.

In the layouts, `‖` joins the parts of a key, `│` separates the fields of a value, and `[…]` is optional. A number in
parentheses is a length in bytes. Numbers in keys are big-endian; in values they are LEB128 unless a length is given. A
TxNum is the index of a transaction in the chain. An amount is in satoshis, encoded so that round amounts are short (as
Bitcoin Core's `CompressAmount`). A ScriptId is the first 8 bytes of SHA-256(scriptPubKey) and an ordinal, which
distinguishes scripts with the same prefix.

";

fn page() -> String {
    let sources = sources();
    let files = files(&sources);
    let mut page = HEAD.to_owned();
    page.push_str("| table | column family | first byte | stage | layout |\n|---|---|---|---|---|\n");
    for table in &TABLES {
        let tag = table.tag.map(|tag| format!("`{}`", char::from(tag))).unwrap_or_default();
        let file = files.iter().find(|(_, tables)| tables.contains(&table.name)).unwrap().0;
        let owner = STAGES.iter().chain(LATE).find(|stage| stage.tables.contains(table));
        let owner = owner.map(|stage| format!("`{}`", stage.name)).unwrap_or_default();
        let (name, family) = (table.name, table.family.name());
        writeln!(page, "| `{name}` | `{family}` | {tag} | {owner} | [{file}](#{file}) |").unwrap();
    }
    page.push_str("\n## Column families\n\nThe declaration of each table explains its choice.\n\n");
    page.push_str("| family | block size | compression | filter |\n|---|---|---|---|\n");
    for family in Family::ALL {
        let tuning = family.tuning();
        let compression = match tuning.compression {
            Compression::None => "none",
            Compression::Lz4 => "LZ4",
        };
        let filter = match (tuning.filter_bits, tuning.filter_prefix) {
            (0, _) => "none".to_owned(),
            (bits, 0) => format!("{bits} bits per key"),
            (bits, prefix) => format!("{bits} bits per key, over its first {prefix} bytes"),
        };
        let size = tuning.block_size >> 10;
        writeln!(page, "| `{}` | {size} KiB | {compression} | {filter} |", family.name()).unwrap();
    }
    for (file, _) in &files {
        write!(page, "\n## {file}\n\n{}\n", header(&sources[*file])).unwrap();
    }
    page
}

#[test]
fn the_page_is_what_the_sources_say() {
    let path = folder().join("../../docs/tables.md");
    let page = page();
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        fs::write(&path, &page).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    let differs = page.lines().zip(written.lines()).position(|(a, b)| a != b);
    assert!(
        page == written,
        "docs/tables.md is stale from line {}: CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test docs",
        differs.unwrap_or_else(|| page.lines().count().min(written.lines().count())) + 1
    );
}

/// The page can only be as good as what it is made of.
#[test]
fn every_table_is_drawn() {
    let sources = sources();
    for (file, tables) in files(&sources) {
        let header = header(&sources[file]);
        let drawing: Vec<&str> = header.split("```").skip(1).step_by(2).collect();
        assert!(drawing.iter().any(|d| d.starts_with("text\n") && d.contains('→')), "{file} draws no key → value");
        for table in tables {
            assert!(header.contains(table), "the documentation of {file} does not name {table}");
        }
        assert!(Path::new(&folder()).join(format!("src/{file}.rs")).is_file());
    }
}
