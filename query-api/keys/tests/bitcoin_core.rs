//! `descriptors.tsv`: descriptors and what Bitcoin Core answers to them. Core's test network regtest; five columns:
//! descriptor, first and last index, checksum by `getdescriptorinfo` or `error: …`, addresses by `deriveaddresses`
//! (branches separated by `|`) or `error: …`, and how and why we differ on purpose.
//! `tests/bitcoind/descriptor_corpus.rs` records it.
#![allow(clippy::unwrap_used, missing_docs)]

use bitcoin::{Address, Network};
use cairn_keys::{Branch, Refusal, read};

const CORPUS: &str = include_str!("descriptors.tsv");
/// Fewer rows are not the corpus.
const MIN_ROWS: usize = 150;

struct Row {
    descriptor: &'static str,
    range: Option<(u32, u32)>,
    /// Checksum, or error.
    info: Result<&'static str, &'static str>,
    /// Addresses of each branch, or error.
    addresses: Result<Vec<Vec<&'static str>>, &'static str>,
    differs: &'static str,
}

fn result(column: &'static str) -> Result<&'static str, &'static str> {
    column.strip_prefix("error: ").map_or(Ok(column), Err)
}

fn rows() -> Vec<Row> {
    let row = |line: &'static str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let &[descriptor, range, info, addresses, differs] = columns.as_slice() else { panic!("{line}") };
        let range = range.split_once(' ').map(|(first, last)| (first.parse().unwrap(), last.parse().unwrap()));
        let branches = |all: &'static str| all.split('|').map(|branch| branch.split(' ').collect()).collect();
        Row { descriptor, range, info: result(info), addresses: result(addresses).map(branches), differs }
    };
    CORPUS.lines().filter(|line| !line.starts_with('#')).map(row).collect()
}

fn ours(text: &str) -> Result<Vec<Branch>, Refusal> {
    read(text, Network::Regtest)?.into_iter().map(Branch::prepared).collect()
}

/// The addresses of each branch; a script without one has none.
fn derived(branches: &[Branch], range: Option<(u32, u32)>) -> Vec<Vec<String>> {
    let (first, last) = range.unwrap_or((0, 0));
    let of = |branch: &Branch, index| {
        Address::from_script(&branch.script(index).unwrap(), Network::Regtest).ok().map(|address| address.to_string())
    };
    branches.iter().map(|branch| (first..=last).filter_map(|index| of(branch, index)).collect()).collect()
}

#[test]
fn takes_and_refuses_what_core_does() {
    let (rows, mut wrong) = (rows(), Vec::new());
    assert!(rows.len() >= MIN_ROWS, "{}", rows.len());
    for row in &rows {
        let found = ours(row.descriptor);
        let wanted = match (row.info.is_ok(), row.differs.split_once(": ")) {
            (is_taken, None) if row.differs.is_empty() => is_taken,
            (true, Some(("refused", why))) if !why.is_empty() => false,
            (false, Some(("taken", why))) if !why.is_empty() => true,
            _ => panic!("no difference, or without a reason: {}", row.descriptor),
        };
        if found.is_ok() != wanted {
            wrong.push(format!("{}\n  Core: {:?}, we: {:?}", row.descriptor, row.info, found.err()));
        }
    }
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn derives_the_addresses_that_core_does() {
    let mut count = 0;
    for row in rows() {
        let (Ok(branches), Ok(wanted)) = (ours(row.descriptor), row.addresses) else { continue };
        let mut found = derived(&branches, row.range);
        let mut wanted: Vec<Vec<String>> =
            wanted.iter().map(|all| all.iter().map(|&it| it.to_owned()).collect()).collect();
        // Core lists the kinds of each index together.
        if row.descriptor.starts_with("combo(") {
            (found, wanted) = (vec![found.concat()], vec![wanted.concat()]);
            found[0].sort();
            wanted[0].sort();
        }
        assert_eq!(found, wanted, "{}", row.descriptor);
        count += wanted.iter().map(Vec::len).sum::<usize>();
        // Preparing changes nothing.
        let raw = read(row.descriptor, Network::Regtest).unwrap();
        assert_eq!(derived(&raw, row.range), derived(&branches, row.range), "{}", row.descriptor);
    }
    assert!(count >= MIN_ROWS, "{count}");
}

#[test]
fn computes_the_checksums_that_core_does() {
    let mut count = 0;
    for row in rows() {
        let (Ok(checksum), Ok(_), false) = (row.info, ours(row.descriptor), row.descriptor.contains('#')) else {
            continue;
        };
        assert!(ours(&format!("{}#{checksum}", row.descriptor)).is_ok(), "{}", row.descriptor);
        let other = if checksum.starts_with('q') { "p" } else { "q" };
        let typo = format!("{}#{other}{}", row.descriptor, &checksum[1..]);
        assert_eq!(ours(&typo).err(), Some(Refusal::Checksum), "{}", row.descriptor);
        count += 1;
    }
    assert!(count >= MIN_ROWS / 2, "{count}");
}

/// A text with a function is a descriptor, even if a wrong one: its refusal says what is wrong with it, and repeats no
/// part of the text.
#[test]
fn says_why_and_repeats_nothing() {
    let mut count = 0;
    for row in rows() {
        let Err(refusal) = ours(row.descriptor) else { continue };
        let looks_like_one = row.descriptor.split_once('(').is_some_and(|(name, _)| !name.is_empty());
        assert!(!looks_like_one || refusal != Refusal::Unknown, "{}", row.descriptor);
        let said = refusal.to_string();
        for key in row.descriptor.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() >= 16) {
            let pieces = key.as_bytes().windows(12);
            assert!(pieces.into_iter().all(|piece| !said.as_bytes().windows(12).any(|it| it == piece)), "{said}");
        }
        count += 1;
    }
    assert!(count >= MIN_ROWS / 3, "{count}");
}
