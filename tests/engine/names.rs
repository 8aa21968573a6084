//! Names, found by their words: what a search finds equals what follows from all names by hand.

use std::collections::{BTreeMap, BTreeSet};

use cairn_domain::names::{Typos, typos_for};
use cairn_events::{Category, ClaimType, EvidenceTier};
use cairn_pipeline::{Driver, Engine};
use cairn_reader::{FoundNames, MAX_NAME_ROWS, NameMatch, NameQuery};
use cairn_tables::{
    labels::{Label, ScriptHash, ScriptLabel},
    names::{NameKey, NameKind, Names, rows_of, words},
    sums::Sums,
};
use cairn_writer::{WriteError, Writer};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::support::*;

/// A label that names an entity, or only has words.
fn label(entity: Option<&str>, name: &str, said: &str, category: Option<Category>) -> ScriptLabel {
    let label = Label {
        claim_type: ClaimType::ControlledBy,
        tier: EvidenceTier::ThirdParty,
        level: 40,
        category,
        behaviour: None,
        then: 0,
        entity: entity.map(|name| name.parse().unwrap()),
        name: name.into(),
        words: said.into(),
        is_conflicted: false,
        is_contested: false,
        is_person: false,
    };
    ScriptLabel { label: Some(label), ..ScriptLabel::bare([0x51].into()) }
}

fn hash(at: usize) -> ScriptHash {
    let mut hash = [0; 32];
    hash[..8].copy_from_slice(&(at as u64).to_be_bytes());
    ScriptHash(hash)
}

/// An index of a small chain with the names of these labels.
fn index_with(labels: &[ScriptLabel]) -> Index {
    let blocks = scratch();
    write_tidy(blocks.path(), &small_chain(3));
    let Index { engine, dir } = Index::of(blocks.path(), Driver::Tip);
    drop(engine);
    let mut rows: BTreeMap<NameKey, Sums> = BTreeMap::new();
    for (at, label) in labels.iter().enumerate() {
        for (key, sums) in rows_of(&hash(at), label).unwrap() {
            rows.entry(key).or_default().add_all(&sums).unwrap();
        }
    }
    let writer = Writer::open(&dir.path().join("index")).unwrap();
    writer
        .commit::<WriteError>(|batch| {
            rows.iter().for_each(|(key, sums)| batch.put_row::<Names>(key, sums));
            Ok(())
        })
        .unwrap();
    writer.flush().unwrap();
    drop(writer);
    Index { engine: Engine::open_existing(dir.path()).unwrap(), dir }
}

fn search(index: &Index, text: &str) -> FoundNames {
    index.view(|view| view.labels().search(&NameQuery::new(text, 100).unwrap()).unwrap())
}

/// Names with how they match.
fn told(found: &FoundNames) -> Vec<(&str, NameMatch, u64)> {
    found.names.iter().map(|of| (of.name.as_str(), of.matched, of.scripts())).collect()
}

#[test]
fn names_are_found_by_words_beginnings_and_typos() {
    let exchange = Some(Category::Exchange);
    let labels = [
        label(Some("binance"), "Binance", "", exchange),
        label(Some("binance"), "Binance.com", "", exchange),
        label(Some("binance"), "", "", Some(Category::Mixer)),
        label(Some("binance-us"), "Binance US", "", exchange),
        label(Some("huobi"), "HTX", "", exchange),
        label(None, "", "Binance hot wallet", None),
        label(None, "", "Binanca <b>scam</b>", None),
        label(Some("crypto.com"), "", "", exchange),
        label(Some("bitfinex"), "", "", exchange),
    ];
    let index = index_with(&labels);
    let (exact, word, prefix, fuzzy) = (NameMatch::Exact, NameMatch::Word, NameMatch::Prefix, NameMatch::Fuzzy);
    let typo = "Binanca <b>scam</b>";
    let all = [("binance", exact, 3), ("binance-us", word, 1), ("Binance hot wallet", word, 1), (typo, fuzzy, 1)];
    for (text, expected) in [
        ("BINANCE", &all[..]),
        ("hot  binánce", &[("Binance hot wallet", word, 1)]),
        ("wallet hot Binance!", &[("Binance hot wallet", exact, 1)]),
        ("binance wal", &[("Binance hot wallet", prefix, 1)]),
        ("bianance hot", &[("Binance hot wallet", fuzzy, 1)]),
        ("binance.com", &[("binance", word, 3)]),
        ("htx", &[("huobi", word, 1)]),
        ("cryptocom", &[("crypto.com", exact, 1)]),
        ("bit finex", &[("bitfinex", exact, 1)]),
        ("bitfinx", &[("bitfinex", fuzzy, 1)]),
        ("hupbi", &[("huobi", fuzzy, 1)]),
        ("bbbbbbbb", &[]),
        ("htz", &[]),
    ] {
        let found = search(&index, text);
        assert_eq!(told(&found), expected, "{text}");
        assert!(!found.is_cut && found.matches == expected.len() && found.rows_read < 200, "{text}: {found:?}");
    }
    let first = &search(&index, "binance").names[0];
    assert_eq!((first.kind, first.category(), first.behaviour()), (NameKind::Entity, exchange, None));
    assert_eq!(NameQuery::new("\0 😀 \u{202e}", 9), None);
    // Filters.
    let ask = |query: NameQuery| index.view(|view| view.labels().search(&query).unwrap());
    let query = NameQuery::new("binanc", 100).unwrap();
    let mixers = ask({
        let mut query = query.clone();
        query.category = Some(Category::Mixer);
        query
    });
    assert_eq!(told(&mixers), [("binance", prefix, 3)]);
    let texts = ask({
        let mut query = query;
        (query.kind, query.fuzzy, query.limit) = (Some(NameKind::Text), false, 1);
        query
    });
    assert_eq!((texts.names.len(), texts.matches), (1, 2));
    // The scripts of a text.
    let scripts = index.view(|view| view.labels().scripts_of_name(NameKind::Text, typo, 3).unwrap());
    assert_eq!(scripts, [hash(6)]);
    assert_eq!(index.view(|view| view.labels().scripts_of_name(NameKind::Text, "Binanca", 3).unwrap()), []);
}

/// The names that a question should find, by hand from all words.
fn by_hand(labels: &[ScriptLabel], text: &str) -> BTreeSet<(NameKind, String, NameMatch)> {
    let asked = words(text);
    let mut names: BTreeMap<(NameKind, String), BTreeSet<String>> = BTreeMap::new();
    for (at, label) in labels.iter().enumerate() {
        for (key, _) in rows_of(&hash(at), label).unwrap() {
            if let NameKey::Word { kind, word, name } = key {
                names.entry((kind, name)).or_default().insert(word);
            }
        }
    }
    let [asked] = &asked[..] else { panic!("one word") };
    let letters = asked.chars().count();
    let close = |word: &String| {
        (1..=typos_for(letters)).any(|most| Typos::new(asked, most, usize::from(most > 1)).distance(word).is_some())
    };
    let found = names.into_iter().filter_map(|((kind, name), own)| {
        let how = if own.contains(asked) {
            if words(&name).concat() == *asked { NameMatch::Exact } else { NameMatch::Word }
        } else if own.iter().any(|word| word.starts_with(asked)) {
            NameMatch::Prefix
        } else if own.iter().any(close) {
            NameMatch::Fuzzy
        } else {
            return None;
        };
        Some((kind, name, how))
    });
    found.collect()
}

#[test]
fn a_search_finds_what_a_scan_finds() {
    let rng = &mut ChaCha8Rng::seed_from_u64(8);
    let text = |rng: &mut ChaCha8Rng, parts: usize| {
        let word = |rng: &mut ChaCha8Rng| -> String {
            let letters = rng.random_range(1..10);
            (0..letters).map(|_| char::from(b'a' + rng.random_range(0..3))).collect()
        };
        (0..parts).map(|_| word(rng)).collect::<Vec<_>>().join("-")
    };
    let labels: Vec<ScriptLabel> = (0..120)
        .map(|_| {
            let (name, parts) = (text(rng, 1), rng.random_range(1..3));
            let is_entity = rng.random::<bool>();
            let said = text(rng, parts);
            label(is_entity.then_some(&said), if is_entity { &name } else { "" }, &said, None)
        })
        .collect();
    let index = index_with(&labels);
    let mut whole = 0;
    for _ in 0..400 {
        let asked = text(rng, 1);
        let query = NameQuery::new(&asked, 1_000).unwrap();
        let found = index.view(|view| view.labels().search(&query).unwrap());
        let all: BTreeSet<_> = found.names.iter().map(|of| (of.kind, of.name.clone(), of.matched)).collect();
        if found.is_cut {
            // A search that was cut stopped at its limit.
            assert!(found.rows_read <= MAX_NAME_ROWS + found.names.len() as u64, "{asked}");
            continue;
        }
        assert_eq!(all, by_hand(&labels, &asked), "{asked}");
        whole += 1;
    }
    assert!(whole > 200, "{whole}");
}

#[test]
fn a_flood_of_names_neither_hides_an_entity_nor_costs_more() {
    let mut labels = vec![label(Some("binance"), "Binance", "", None)];
    labels.extend((0..6_000).map(|at| label(None, "", &format!("binance {at} {at:x}y binanc{at}"), None)));
    let index = index_with(&labels);
    for text in
        ["binance", "binanc", "bianance", "b", "binance 77", "binance 5999", "biannce 77", "1 2 3 4 5 6 7 8 9 a b c"]
    {
        let found = search(&index, text);
        assert!(found.rows_read <= MAX_NAME_ROWS + 100, "{text}: {} rows", found.rows_read);
        let is_named = found.names.first().is_some_and(|of| of.name == "binance");
        assert_eq!(is_named, ["binance", "binanc", "bianance", "b"].contains(&text), "{text}: {:?}", told(&found));
    }
    assert!(search(&index, "binance").is_cut);
    // Words that few names have together are found, however many have one of them.
    let found = search(&index, "binance 5999");
    assert_eq!(told(&found)[0], ("binance 5999 176fy binanc5999", NameMatch::Word, 1));
    let found = search(&index, "biannce 5999");
    assert_eq!(told(&found)[0], ("binance 5999 176fy binanc5999", NameMatch::Fuzzy, 1));
}
