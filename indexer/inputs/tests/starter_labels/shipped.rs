//! Shipped files are sound, say where they are from, and name no private person.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

use cairn_events::{Body, Category, ClaimType, DocumentHash, EvidenceTier, Listing, Slug, claim::is_plain};
use cairn_inputs::{STARTER_LABELS, STARTER_TAGS};
use sha2::{Digest, Sha256};

use crate::facts::FACTS;

/// 2026-11-24: when the files were made. No fact is newer.
const MADE: u32 = 1_795_478_400;

#[test]
fn files_are_those_that_are_named() {
    let mut sources = BTreeSet::new();
    for labels in &STARTER_LABELS {
        let mut file = Vec::new();
        labels.file().read_to_end(&mut file).unwrap();
        assert_eq!(labels.hash(), DocumentHash(Sha256::digest(&file).into()), "{}", labels.source);
        assert!(sources.insert(labels.source), "{} twice", labels.source);
        for slug in [labels.source, labels.licence, labels.list] {
            slug.parse::<Slug>().unwrap();
        }
        assert!(labels.retrieved_at < MADE && labels.publisher.len() > 10 && labels.attribution.len() > 10);
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/starter/labels");
    let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap()).collect();
    assert_eq!(files.len(), STARTER_LABELS.len());
    let size: u64 = files.iter().map(|file| file.metadata().unwrap().len()).sum();
    assert!(size < 2_000_000, "{size} bytes");
}

#[test]
fn packed_files_tell_nothing_of_where_they_were_made() {
    for labels in &STARTER_LABELS {
        let path = format!("{}/starter/labels/{}.csv.gz", env!("CARGO_MANIFEST_DIR"), labels.source);
        let bytes = std::fs::read(path).unwrap();
        // No name and no time: the same rows give the same bytes.
        assert_eq!(bytes[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0], "{}", labels.source);
    }
}

#[test]
fn every_fact_is_sound() {
    let mut count = 0;
    for (labels, facts) in FACTS.iter() {
        for fact in facts {
            let claim = fact.claim();
            assert_eq!(claim.check(), Ok(()), "{} line {}", labels.source, fact.line);
            assert_eq!(claim.entity.is_some(), !claim.entity_name.is_empty(), "{} line {}", labels.source, fact.line);
            count += 1;
        }
        assert!(!facts.is_empty(), "{}", labels.source);
    }
    assert_eq!(count, 41_768);
}

#[test]
fn every_fact_says_where_it_is_from() {
    for (labels, facts) in FACTS.iter() {
        for fact in facts {
            let place = format!("{} line {}", labels.source, fact.line);
            assert_eq!(fact.cell("source_id"), labels.source, "{place}");
            assert!(fact.cell("source_url").starts_with("https://"), "{place}");
            assert!(!fact.cell("licence").is_empty() && !fact.cell("note").is_empty(), "{place}");
            assert!(fact.asserted_at() <= labels.retrieved_at, "{place}: newer than the state that it is from");
            for column in crate::facts::COLUMNS {
                assert!(
                    is_plain(fact.cell(column)) && fact.cell(column).trim() == fact.cell(column),
                    "{place} {column}"
                );
            }
        }
        let licences: BTreeSet<&str> = facts.iter().map(|fact| fact.cell("licence")).collect();
        assert_eq!(licences.len(), 1, "{}: {licences:?}", labels.source);
    }
}

#[test]
fn only_holders_publish_without_a_licence() {
    for (labels, facts) in FACTS.iter() {
        let is_stated = facts.iter().all(|fact| fact.cell("licence") != "none stated");
        assert_eq!(is_stated, labels.licence != "none-stated", "{}", labels.source);
        for fact in facts.iter().filter(|_| !is_stated) {
            let tier = fact.word::<EvidenceTier>("evidence_tier").unwrap();
            assert!(matches!(tier, EvidenceTier::SelfDisclosed | EvidenceTier::KeySigned), "{}", labels.source);
        }
    }
}

#[test]
fn no_private_person_is_named() {
    let banned = [
        "coffer-network",
        "chakra-babylon-staking",
        "hal-finney",
        "pizza-transaction-payer-laszlo",
        "pizza-transaction-recipient-jercos",
        "wiz",
        "wk057",
        "shawnp0wers",
        "mkalinin-ru",
        "ekanembtc",
        "btcst-com-pirateat40",
    ];
    let mut persons = BTreeSet::new();
    for (labels, facts) in FACTS.iter() {
        for fact in facts {
            let claim = fact.claim();
            assert!(!banned.contains(&fact.cell("entity")), "{} line {}", labels.source, fact.line);
            assert_ne!(claim.category, Some(Category::User), "{} line {}", labels.source, fact.line);
            if claim.is_person {
                let listed = (claim.claim_type, claim.tier) == (ClaimType::ListedBy, EvidenceTier::AuthorityListed);
                assert!(listed, "{}: only an authority's list names persons", labels.source);
                persons.insert(claim.entity_name.to_string());
            } else {
                // As lists write the names of persons: SURNAME, Forename.
                let is_person = fact.cell("entity_name").split_once(", ").is_some_and(|(surname, forename)| {
                    surname.chars().all(|letter| letter.is_ascii_uppercase())
                        && forename.starts_with(char::is_uppercase)
                });
                assert!(!is_person, "{} line {}", labels.source, fact.line);
            }
        }
    }
    assert_eq!(persons.len(), 13, "{persons:?}");
    assert!(persons.contains("YAN, Xiaobing"));
}

#[test]
fn placeholders_name_nobody() {
    for (labels, facts) in FACTS.iter() {
        for fact in facts {
            let name = fact.cell("entity_name").to_lowercase();
            let is_placeholder =
                ["unnamed", "not named", "unknown", "sdn entry"].iter().any(|word| name.contains(word));
            assert!(!is_placeholder, "{} line {}: {name}", labels.source, fact.line);
        }
    }
}

#[test]
fn no_source_repeats_itself() {
    for (labels, facts) in FACTS.iter() {
        let mut seen = BTreeMap::new();
        for fact in facts {
            let said = ["address", "claim_type", "entity", "category", "behaviour"].map(|column| fact.cell(column));
            assert_eq!(seen.insert(said, fact.line), None, "{} line {}", labels.source, fact.line);
        }
    }
}

#[test]
fn the_notice_names_every_source() {
    let notice = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../NOTICE")).unwrap();
    let sources = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/starter/SOURCES.md")).unwrap();
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = words(&notice);
    for (labels, facts) in FACTS.iter() {
        assert!(said.contains(labels.source), "{}", labels.source);
        assert!(said.contains(&words(labels.attribution)), "{}", labels.attribution);
        assert!(said.contains(labels.publisher), "{}", labels.publisher);
        let row =
            sources.lines().find(|line| line.starts_with(&format!("| `{}` | ", labels.source))).expect(labels.source);
        assert!(row.replace(',', "").contains(&format!("| {} |", facts.len())), "{row}");
        assert!(row.ends_with(&format!("| {} |", labels.licence)), "{row}");
    }
}

#[test]
fn tags_of_pools_are_sound_and_name_pools_as_the_labels_do() {
    let named: BTreeSet<&str> =
        FACTS.iter().flat_map(|(_, facts)| facts.iter().map(|fact| fact.cell("entity"))).collect();
    for tags in &STARTER_TAGS {
        let (mut file, labels) = (Vec::new(), tags.labels().unwrap());
        tags.file().read_to_end(&mut file).unwrap();
        assert_eq!(tags.hash(), DocumentHash(Sha256::digest(&file).into()), "{}", tags.name);
        let path = format!("{}/starter/tags/{}.gz", env!("CARGO_MANIFEST_DIR"), tags.name);
        assert_eq!(std::fs::read(path).unwrap()[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0], "{}", tags.name);
        let document = tags.document().unwrap();
        document.check().unwrap();
        assert_eq!((document.provenance.source.as_str(), document.provenance.licence.as_str()), (labels.source, "mit"));
        let Body::Listing { rows: Listing::PoolTags(rows), .. } = &document.body else { panic!("no tags") };
        assert_eq!(rows.len(), 187);
        // Most pools have a payout address among the labels, under the same name.
        let pools: BTreeSet<&str> = rows.iter().map(|tag| tag.pool.as_str()).collect();
        let (known, unknown): (BTreeSet<&str>, BTreeSet<&str>) = pools.iter().partition(|pool| named.contains(*pool));
        assert!(known.len() > 100 && unknown.len() < 40, "{unknown:?}");
        for person in
            ["wiz", "wk057", "shawnp0wers", "mononaut", "rijndael", "emzy", "knorrium", "drdetroit", "nymkappa"]
        {
            assert!(!pools.contains(person), "{person}");
        }
    }
    let sources = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/starter/SOURCES.md")).unwrap();
    assert!(STARTER_TAGS.iter().all(|tags| sources.contains(tags.name)));
}
