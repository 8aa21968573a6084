//! The reference of metrics, the dashboard and the alerting rules follow the list of metrics. To regenerate
//! `docs/metrics.md` and `deploy/grafana/cairn.json`:
//! `CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test watching`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod dashboard;
mod reference;
mod rules;
mod sources;

use std::{fs, path::PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Compares a generated file with what is committed; writes it first if `CAIRN_UPDATE_DOCS` is set.
fn generated(path: &str, text: &str) {
    if std::env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        fs::write(root().join(path), text).unwrap();
    }
    let written = fs::read_to_string(root().join(path)).unwrap_or_default();
    assert!(written == text, "{path} is stale: CAIRN_UPDATE_DOCS=1 cargo test --release --workspace --test watching");
}

/// Names of metrics in a text, without the endings of the series of a histogram.
fn named(text: &str) -> Vec<&str> {
    let end = |c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '_';
    let names = text.match_indices("cairn_").map(|(at, _)| text[at..].split(end).next().unwrap());
    let plain = |name| ["_bucket", "_sum", "_count"].into_iter().find_map(|ending| str::strip_suffix(name, ending));
    names.map(|name| plain(name).unwrap_or(name)).collect()
}
