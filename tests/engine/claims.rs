//! Claims of documents, and what must be said of scripts after them, by hand.

use std::collections::BTreeMap;

use bitcoin::hashes::{Hash, sha256};
use cairn_events::{
    Body, Claim, ClaimList, ClaimType, Document, DocumentHash, EvidenceTier, Listing, PoolTag, Profile, Provenance,
};
use cairn_reader::{ListClaims, ScriptClaims};
use cairn_tables::{
    claims::{ListKey, ListVersion},
    listings::{ListingTable, PoolTags, Profiles},
};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

use crate::{contests, support::*};

/// Scripts that claims are about: few, so that documents repeat, restate and drop each other's claims.
const SCRIPTS: u8 = 8;

fn claim(rng: &mut ChaCha8Rng, row: u32) -> Claim {
    let entity = ["one", "two"][rng.random_range(0..2)];
    let script = [0x51, rng.random_range(0..SCRIPTS)].into();
    Claim {
        level: 40,
        entity: Some(entity.parse().unwrap()),
        entity_name: entity.into(),
        source_url: "https://example.org/list".into(),
        asserted_at: rng.random::<bool>().then(|| 1_800_000_000 + rng.random_range(0..6)),
        is_inherited: true,
        ..Claim::bare(row, script, ClaimType::ControlledBy, EvidenceTier::ThirdParty)
    }
}

/// The body of a document of claims.
pub(crate) fn body(rng: &mut ChaCha8Rng) -> Body {
    if rng.random_ratio(1, 4) {
        return if rng.random() { pool_tags(rng) } else { profiles(rng) };
    }
    let name = ["x", "y"][rng.random_range(0..2)].parse().unwrap();
    let list = ClaimList { name, is_complete: rng.random() };
    // Some are longer than a row of the ledger.
    let count = if rng.random_ratio(1, 6) { 300 } else { rng.random_range(1..6) };
    Body::Claims { list, rows: (1..=count).map(|row| claim(rng, row * 2)).collect() }
}

/// A list of tags of pools. Some are longer than a row of the ledger.
fn pool_tags(rng: &mut ChaCha8Rng) -> Body {
    let list = ["x", "y"][rng.random_range(0..2)].parse().unwrap();
    let count = if rng.random_ratio(1, 6) { 300 } else { rng.random_range(1..6) };
    let tag = |row: u32| PoolTag {
        row: row * 2,
        tag: format!("/{}/", rng.random_range(0..4)).into(),
        pool: ["one", "two"][rng.random_range(0..2)].parse().unwrap(),
        name: "A Pool".into(),
        link: "".into(),
    };
    Body::Listing { list, rows: (1..=count).map(tag).collect::<Vec<_>>().into() }
}

/// A list of profiles. Some are longer than a row of the ledger.
fn profiles(rng: &mut ChaCha8Rng) -> Body {
    let list = ["x", "y"][rng.random_range(0..2)].parse().unwrap();
    let count = if rng.random_ratio(1, 6) { 100 } else { rng.random_range(1..6) };
    let profile = |row: u32| Profile {
        row: row * 2,
        entity: ["one", "two"][rng.random_range(0..2)].parse().unwrap(),
        name: "An Entity".into(),
        aliases: vec![format!("Alias {}", rng.random_range(0..4)).into()],
        category: None,
        homepage: "one.example".into(),
        jurisdictions: Vec::new(),
        legal_name: "".into(),
        asserted_at: None,
    };
    Body::Listing { list, rows: (1..=count).map(profile).collect::<Vec<_>>().into() }
}

/// Compares the lists that hold with what follows from the documents by hand: those of the newest document of each
/// list.
pub(crate) fn assert_listings(index: &Index, documents: &[Document], what: &str) {
    let tags = |rows: &Listing| match rows {
        Listing::PoolTags(rows) => Some(rows.clone()),
        Listing::Profiles(_) => None,
    };
    let profiles = |rows: &Listing| match rows {
        Listing::Profiles(rows) => Some(rows.clone()),
        Listing::PoolTags(_) => None,
    };
    assert_lists::<PoolTags>(index, documents, tags, what);
    assert_lists::<Profiles>(index, documents, profiles, what);
}

fn assert_lists<T: ListingTable>(
    index: &Index,
    documents: &[Document],
    of_kind: fn(&Listing) -> Option<Vec<T::Value>>,
    what: &str,
) {
    let is_withdrawn = |hash: &DocumentHash| {
        documents.iter().any(|of| matches!(&of.body, Body::Withdrawal { document, .. } if document == hash))
    };
    let mut newest: BTreeMap<ListKey, (ListVersion, Vec<T::Value>)> = BTreeMap::new();
    for document in documents.iter().filter(|of| !is_withdrawn(&of.provenance.document)) {
        if let Body::Listing { list, rows } = &document.body
            && let Some(rows) = of_kind(rows)
        {
            let key = ListKey { source: document.provenance.source.clone(), list: list.clone() };
            let new = (version(&document.provenance), rows);
            if newest.get(&key).is_none_or(|(before, _)| *before < new.0) {
                newest.insert(key, new);
            }
        }
    }
    index.view(|view| {
        let found = view.ledger().listings::<T>().unwrap();
        assert!(!found.is_cut);
        let found: Vec<_> = found.lists.iter().map(|of| (&of.list, of.version, &of.rows)).collect();
        let expected: Vec<_> = newest.iter().map(|(list, (version, rows))| (list, *version, rows)).collect();
        assert_eq!(found, expected, "{what}");
        for (list, (_, rows)) in &newest {
            assert_eq!(view.ledger().listing::<T>(list).unwrap().unwrap().rows, *rows, "{what}");
        }
    });
}

pub(crate) fn version(provenance: &Provenance) -> ListVersion {
    let document = std::array::from_fn(|at| provenance.document.0[at]);
    ListVersion { retrieved_at: provenance.retrieved_at, document }
}

/// A document of a list, by hand: without what is blanked.
type Listed = (ListVersion, bool, Vec<Claim>);

/// Claims of a list about a script at a time, by hand.
fn of_list(key: &ListKey, documents: &[Listed], script: &[u8], at: Option<u32>) -> Option<(ListClaims, bool)> {
    let stating = |(version, is_complete, claims): &Listed| {
        let of = claims.iter().filter(|claim| &claim.script[..] == script).take(64);
        let known = |claim: &&Claim| at.is_none_or(|at| claim.asserted_at.unwrap_or(version.retrieved_at) <= at);
        let is_cut = claims.iter().filter(|claim| &claim.script[..] == script).count() > 64;
        let stated = (of.clone().count() > 0, is_cut);
        (*version, *is_complete, stated, of.filter(known).cloned().collect::<Vec<Claim>>())
    };
    let all: Vec<_> = documents.iter().map(stating).collect();
    let first_at = all.iter().find(|(.., (states, _), _)| *states)?.0.retrieved_at;
    let newest = all.iter().rposition(|(.., claims)| !claims.is_empty())?;
    let next = all[newest + 1..].iter().find(|(_, is_complete, (states, _), _)| *is_complete || *states);
    let ended_at = next.filter(|(.., (states, _), _)| !states).map(|(version, ..)| version.retrieved_at);
    let (version, _, (_, is_cut), claims) = all[newest].clone();
    Some((ListClaims { list: key.clone(), version, claims, first_at, ended_at, contests: Vec::new() }, is_cut))
}

/// The documents of each list that are not withdrawn, in order.
fn lists_of(documents: &[Document]) -> BTreeMap<ListKey, Vec<Listed>> {
    let is_withdrawn = |hash: &DocumentHash| {
        documents.iter().any(|of| matches!(&of.body, Body::Withdrawal { document, .. } if document == hash))
    };
    let mut lists: BTreeMap<ListKey, Vec<Listed>> = BTreeMap::new();
    for document in documents.iter().filter(|of| !is_withdrawn(&of.provenance.document)) {
        if let Body::Claims { list, rows } = &document.body {
            let key = ListKey { source: document.provenance.source.clone(), list: list.name.clone() };
            let said = rows.iter().filter(|claim| !contests::is_redacted(documents, &key, claim)).cloned().collect();
            lists.entry(key).or_default().push((version(&document.provenance), list.is_complete, said));
        }
    }
    lists.values_mut().for_each(|of| of.sort_by_key(|(version, ..)| *version));
    lists
}

/// With what is contested of it.
fn contested(of: ListClaims, documents: &[Document], script: &[u8], at: Option<u32>) -> ListClaims {
    let contests = contests::of_list(documents, &of.list, script, at);
    ListClaims { contests, ..of }
}

/// Claims of each list about a script now, by hand.
pub(crate) fn said(documents: &[Document], script: &[u8]) -> Vec<ListClaims> {
    let lists = lists_of(documents);
    let found = lists.iter().filter_map(|(key, of)| of_list(key, of, script, None));
    found.map(|(of, _)| contested(of, documents, script, None)).collect()
}

/// Compares what is said of every script with what follows from the documents by hand.
pub(crate) fn assert_claims(index: &Index, documents: &[Document], what: &str) {
    let lists = lists_of(documents);
    let mut scripts: Vec<[u8; 2]> = (0..=SCRIPTS).map(|last| [0x51, last]).collect();
    scripts.sort_by_key(|script| sha256::Hash::hash(script));
    index.view(|view| {
        // One that goes back and forth, and one for each time, which only goes forward.
        let mut any = view.claims().walk().unwrap();
        let mut walks = [None, Some(1_800_000_002), Some(1_799_999_999)].map(|at| (at, view.claims().walk().unwrap()));
        for script in &scripts {
            let hash = sha256::Hash::hash(script).to_byte_array();
            for (at, walk) in &mut walks {
                let at = *at;
                let by_hand = lists.iter().filter_map(|(key, of)| of_list(key, of, script, at));
                let (lists, cut): (Vec<ListClaims>, Vec<bool>) =
                    by_hand.map(|(of, cut)| (contested(of, documents, script, at), cut)).unzip();
                let by_hand = ScriptClaims { lists, is_cut: cut.contains(&true) };
                assert_eq!(view.claims().of_script(script, at).unwrap(), by_hand, "{what}: {at:?}");
                assert_eq!(any.of(&hash, at).unwrap(), by_hand, "{what}: {at:?}, walking");
                assert_eq!(walk.of(&hash, at).unwrap(), by_hand, "{what}: {at:?}, walking forward");
            }
        }
        for (key, documents) in &lists {
            for (version, ..) in documents {
                let of = view.claims().document(version).unwrap().unwrap();
                assert_eq!(of.provenance.source, key.source, "{what}");
            }
        }
        assert_eq!(view.claims().lists(1_000).unwrap().len(), lists.values().map(Vec::len).sum::<usize>(), "{what}");
    });
}
