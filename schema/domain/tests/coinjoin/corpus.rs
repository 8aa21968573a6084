//! Precision and recall on real transactions whose nature is documented (`corpus.txt`).

use std::collections::{BTreeMap, BTreeSet};

use cairn_domain::coinjoin::{CoinJoin, detect};
use cairn_model::Txid;

use super::shapes::Tx;

const CORPUS: &str = include_str!("corpus.txt");
/// The page that publishes the figures.
const PAGE: &str = include_str!("../../../../docs/coinjoin.md");

pub(crate) struct Entry {
    pub(crate) txid: Txid,
    pub(crate) label: &'static str,
    pub(crate) source: &'static str,
    pub(crate) tx: Tx,
}

impl Entry {
    fn answer(&self) -> &'static str {
        detect(&self.tx).map_or("none", CoinJoin::code)
    }
}

pub(crate) fn entries() -> Vec<Entry> {
    let lines = CORPUS.lines().filter(|line| !line.starts_with('#'));
    let entry = |line: &'static str| {
        let columns: Vec<&str> = line.split(' ').collect();
        let [txid, label, source, inputs, outputs] = columns[..] else { panic!("{line}") };
        Entry { txid: txid.parse().unwrap(), label, source, tx: Tx::parse(inputs, outputs) }
    };
    lines.map(entry).collect()
}

#[test]
fn lines_are_possible_and_sources_named() {
    let entries = entries();
    let txids: BTreeSet<Txid> = entries.iter().map(|entry| entry.txid).collect();
    assert_eq!(txids.len(), entries.len(), "a txid occurs twice");
    let head: Vec<&str> = CORPUS.lines().filter_map(|line| line.strip_prefix('#')).collect();
    for entry in &entries {
        let sum = |coins: &[super::shapes::Coin]| coins.iter().map(|coin| coin.value).sum::<u64>();
        assert!(sum(&entry.tx.inputs) >= sum(&entry.tx.outputs), "{} pays more than it has", entry.txid);
        let source = entry.source.split_once('-').map_or(entry.source, |(first, rest)| match first {
            "block" if matches!(rest, "866342" | "361582") => "block-N",
            _ => entry.source,
        });
        assert!(head.iter().any(|line| line.trim().starts_with(&format!("{source} "))), "no source {}", entry.source);
        let labels = ["coinjoin", "none", "not_wasabi1"].into_iter().chain(CoinJoin::ALL.map(CoinJoin::code));
        assert!(labels.into_iter().any(|label| label == entry.label), "no label {}", entry.label);
    }
}

/// Counts the answers for each label.
#[test]
fn answers_are_these() {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for entry in entries() {
        *counts.entry((entry.label, entry.answer())).or_default() += 1;
    }
    let counts: Vec<_> = counts.into_iter().map(|((label, answer), count)| (label, answer, count)).collect();
    assert_eq!(
        counts,
        [
            ("coinjoin", "equal_output", 1),
            ("coinjoin", "joinmarket", 1),
            ("joinmarket", "equal_output", 1),
            ("joinmarket", "joinmarket", 61),
            ("none", "equal_output", 1),
            ("none", "joinmarket", 2),
            ("none", "none", 142),
            ("not_wasabi1", "joinmarket", 4),
            ("wasabi1", "joinmarket", 2),
            ("wasabi1", "wasabi1", 51),
            ("wasabi2", "wasabi2", 15),
            ("whirlpool", "whirlpool", 121),
        ]
    );
}

/// Each answer that is not the label, by the start of its txid. The page explains them.
#[test]
fn mistakes_are_these() {
    let entries = entries();
    let is_wrong = |entry: &&Entry| match entry.label {
        "coinjoin" => entry.answer() == "none",
        "not_wasabi1" => entry.answer() == "wasabi1",
        label => entry.answer() != label,
    };
    let row = |entry: &Entry| (entry.txid.to_string()[..8].to_owned(), entry.source, entry.label, entry.answer());
    let wrong: Vec<_> = entries.iter().filter(is_wrong).map(row).collect();
    let wrong: Vec<_> =
        wrong.iter().map(|(txid, source, label, answer)| (&txid[..], *source, *label, *answer)).collect();
    assert_eq!(
        wrong,
        [
            ("b9d011e1", "coordinator-2018", "wasabi1", "joinmarket"),
            ("f7100a82", "coordinator-2018", "wasabi1", "joinmarket"),
            ("8bac3620", "filter", "none", "joinmarket"),
            ("9ffc0493", "filter", "none", "joinmarket"),
            ("fc68da1c", "filter", "none", "equal_output"),
            ("4f112abd", "fixture", "joinmarket", "equal_output"),
        ]
    );
    for entry in entries.iter().filter(is_wrong) {
        assert!(PAGE.contains(&format!("`{}`", entry.txid)), "docs/coinjoin.md lists each mistake: {}", entry.txid);
    }
}

/// True if an entry with this label is a positive of the detector. The general rule holds for JoinMarket too.
fn is_positive(kind: &str, label: &str) -> bool {
    match kind {
        "any" => !matches!(label, "none" | "not_wasabi1"),
        "equal_output" => matches!(label, "coinjoin" | "joinmarket"),
        kind => label == kind,
    }
}

/// True if the answer says that the detector holds.
fn holds(kind: &str, answer: &str) -> bool {
    match kind {
        "any" => answer != "none",
        "equal_output" => matches!(answer, "equal_output" | "joinmarket"),
        kind => answer == kind,
    }
}

/// Whether an answer of the detector is right; `None` where the label leaves it open.
fn is_right(kind: &str, label: &str) -> Option<bool> {
    match (kind, label) {
        (_, "none") | ("wasabi1", "not_wasabi1") => Some(false),
        (_, "not_wasabi1") => None,
        ("any" | "equal_output", _) => Some(true),
        (_, "coinjoin") => None,
        (kind, label) => Some(kind == label),
    }
}

#[test]
fn precision_and_recall_are_published() {
    let entries = entries();
    let kinds = CoinJoin::ALL.map(CoinJoin::code).into_iter().chain(["any"]);
    let row = |kind: &str| {
        let held = entries.iter().filter(|entry| holds(kind, entry.answer()));
        let judged: Vec<bool> = held.filter_map(|entry| is_right(kind, entry.label)).collect();
        let positives: Vec<&Entry> = entries.iter().filter(|entry| is_positive(kind, entry.label)).collect();
        let found = positives.iter().filter(|entry| holds(kind, entry.answer())).count();
        let precision = share(judged.iter().filter(|right| **right).count(), judged.len());
        format!("| `{kind}` | {precision} | {} |", share(found, positives.len()))
    };
    let rows: Vec<String> = kinds.map(row).collect();
    let page = PAGE.lines().skip_while(|line| !line.starts_with("| detector | precision")).skip(2);
    let page: Vec<&str> = page.take_while(|line| line.starts_with('|')).collect();
    assert_eq!(page, rows, "docs/coinjoin.md differs:\n{}", rows.join("\n"));
}

/// A share in percent, rounded down to a tenth.
fn share(part: usize, all: usize) -> String {
    let tenths = (part * 1_000).checked_div(all).unwrap_or_default();
    format!("{}.{} % ({part} of {all})", tenths / 10, tenths % 10)
}
