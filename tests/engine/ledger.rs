//! Input events: what follows from them depends on which documents came, never on the order, nor on blocks between
//! them.

use std::{collections::BTreeMap, fs};

use cairn_chaingen::Everything;
use cairn_events::{
    Body, Chosen, Claim, Currency, Document, DocumentHash, Interval, Provenance, Quote, QuoteRow, Series, Slug, choose,
};
use cairn_pipeline::{
    Applied, Driver, Engine, FileBlocks, INBOX, NoProgress, Repaired, put_into_inbox, repair,
    verify::{RawCheck, audit_index},
};
use cairn_tables::{
    TableInfo,
    claims::{ClaimLists, Claims},
    contests::Contests,
    events::{Candle, QuoteVersions, Quotes},
};
use cairn_testkit::temp_dir;
use cairn_writer::{WriteError, Writer};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;
use rust_decimal::Decimal;

use crate::{claims, contests::contest, support::*};

const DAY: u32 = 86_400;

fn slug(text: &str) -> Slug {
    text.parse().unwrap()
}

fn candle(rng: &mut ChaCha8Rng) -> Candle {
    let quote = [Currency::USD, Currency::EUR][rng.random_range(0..2)];
    let interval = [Interval::Day, Interval::Hour][rng.random_range(0..2)];
    let series = Series { base: Currency::BTC, quote, interval };
    Candle { series, closes_at: 20_000 * DAY + rng.random_range(0..40) * interval.seconds() }
}

fn quote(rng: &mut ChaCha8Rng) -> Quote {
    // Few values, so that documents repeat each other.
    Quote { close: Decimal::from(rng.random_range(95..106)), range: None, volume: None }
}

fn provenance(rng: &mut ChaCha8Rng) -> Provenance {
    Provenance {
        source: slug(["a", "b", "c", "d"][rng.random_range(0..4)]),
        licence: slug("cc0-1.0"),
        origin: "a test".to_owned(),
        // Few times, so that hashes decide, too.
        retrieved_at: 1_800_000_000 + rng.random_range(0..6),
        document: DocumentHash(rng.random()),
    }
}

/// Documents, among them long ones, withdrawals, withdrawals of documents that never come, and of each other.
pub(crate) fn documents(rng: &mut ChaCha8Rng, count: usize) -> Vec<Document> {
    let mut all: Vec<Document> = Vec::new();
    for _ in 0..count {
        let provenance = provenance(rng);
        let body = if rng.random_ratio(1, 5) {
            let known = all.get(rng.random_range(0..all.len().max(1))).map(|of| of.provenance.document);
            let document = known.filter(|_| rng.random_ratio(9, 10)).unwrap_or(DocumentHash(rng.random()));
            Body::Withdrawal { document, reason: "it was wrong".to_owned() }
        } else if let Some(body) = Some(rng.random_ratio(1, 5)).filter(|is| *is).and_then(|_| contest(rng, &all)) {
            body
        } else if rng.random() {
            claims::body(rng)
        } else {
            let rows: BTreeMap<(Series, u32), Quote> = (0..rng.random_range(1..300))
                .map(|_| {
                    let candle = candle(rng);
                    ((candle.series, candle.closes_at), quote(rng))
                })
                .collect();
            let rows = rows.into_iter().map(|((series, closes_at), quote)| QuoteRow { series, closes_at, quote });
            Body::Quotes(rows.collect())
        };
        all.push(Document { provenance, received_at: None, body });
    }
    all
}

/// When it was retrieved, and in which document; and what it says.
type Said = ((u32, DocumentHash), Quote);

/// The quotes that follow from a set of documents, by hand.
fn expected(documents: &[Document]) -> BTreeMap<(Series, u32), Chosen> {
    let is_withdrawn = |hash: &DocumentHash| {
        documents.iter().any(|of| matches!(&of.body, Body::Withdrawal { document, .. } if document == hash))
    };
    let mut said: BTreeMap<(Series, u32), BTreeMap<Slug, Said>> = BTreeMap::new();
    for document in documents.iter().filter(|of| !is_withdrawn(&of.provenance.document)) {
        let Provenance { source, retrieved_at, document: hash, .. } = &document.provenance;
        for row in document.rows() {
            let of = said.entry((row.series, row.closes_at)).or_default();
            let new = ((*retrieved_at, *hash), row.quote);
            if of.get(source).is_none_or(|(order, _)| *order < new.0) {
                of.insert(source.clone(), new);
            }
        }
    }
    let chosen = said.into_iter().map(|(candle, by_source)| {
        let quotes: Vec<(Slug, Quote)> = by_source.into_iter().map(|(source, (_, quote))| (source, quote)).collect();
        (candle, choose(&quotes).unwrap())
    });
    chosen.collect()
}

fn quotes(index: &Index) -> BTreeMap<(Series, u32), Chosen> {
    index.view(|view| {
        let rows = view.scan::<Quotes>(None).unwrap();
        rows.map(|row| row.map(|(candle, chosen)| ((candle.series, candle.closes_at), chosen)).unwrap()).collect()
    })
}

pub(crate) fn checksums(index: &Index) -> [[u8; 32]; 5] {
    let tables = [
        TableInfo::of::<QuoteVersions>(),
        TableInfo::of::<Quotes>(),
        TableInfo::of::<Claims>(),
        TableInfo::of::<ClaimLists>(),
        TableInfo::of::<Contests>(),
    ];
    index.view(|view| tables.each_ref().map(|table| view.tables().checksum(table).unwrap().sha256))
}

fn seq(index: &Index) -> u64 {
    index.view(|view| view.tip().seq)
}

#[test]
fn the_order_of_arrival_does_not_matter() {
    for seed in 0..if long() { 40 } else { 4 } {
        let rng = &mut ChaCha8Rng::seed_from_u64(seed);
        let documents = documents(rng, 32);
        let expected = expected(&documents);
        let blocks = temp_dir();
        let mut first = None;
        for order in 0..3 {
            let what = format!("seed {seed}, order {order}");
            let mut making = Everything::new(5, 5, false);
            making.grow(120).unwrap();
            write_tidy(blocks.path(), making.chain());
            let mut index = Index::of(blocks.path(), [Driver::Bulk, Driver::Tip][order % 2]);
            let mut shuffled = documents.clone();
            if order > 0 {
                shuffled.shuffle(rng);
            }
            let mut before = 0;
            for document in &shuffled {
                let applied = index.engine.take_document(document, 1_900_000_000).unwrap();
                let Applied::Taken { seq: of, events, repeated, .. } = applied else { panic!("{what}: {applied:?}") };
                assert_eq!(of, before + 1, "{what}");
                assert_eq!(events as usize + repeated as usize, document.count().max(1), "{what}");
                before += 1 + document.count() as u64;
                assert_eq!(seq(&index), before, "{what}");
                // Once more: nothing happens.
                let again = index.engine.take_document(document, 1_900_000_001).unwrap();
                assert!(matches!(again, Applied::Known { seq, .. } if seq == of), "{what}: {again:?}");
                match rng.random_range(0..8) {
                    0 => {
                        making.fork(rng.random_range(1..9), 10).unwrap();
                        write_tidy(blocks.path(), making.chain());
                        index.sync(blocks.path(), Driver::Auto);
                    }
                    1 => index = index.reopened(),
                    2 => {
                        let to = index.height().unwrap() - 3;
                        index.engine.unwind(to, &NoProgress).unwrap();
                    }
                    3 => index.engine.reindex(&["scripts"], &NoProgress).unwrap(),
                    _ => {}
                }
                assert_eq!(seq(&index), before, "{what}: blocks change no event");
            }
            assert!(quotes(&index) == expected, "{what}: other quotes than by hand");
            claims::assert_claims(&index, &documents, &what);
            claims::assert_listings(&index, &documents, &what);
            index.assert_sound();
            let sums = checksums(&index);
            assert!(*first.get_or_insert(sums) == sums, "{what}: other rows than in the first order");
        }
    }
}

pub(crate) fn world() -> (tempfile::TempDir, Index) {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(3));
    let index = Index::of(blocks.path(), Driver::Bulk);
    (blocks, index)
}

#[test]
fn an_index_without_blocks_takes_nothing_and_loses_nothing() {
    let blocks = temp_dir();
    write_tidy(blocks.path(), &small_chain(3));
    let mut index = Index::new(&facts(blocks.path()));
    let documents = documents(&mut ChaCha8Rng::seed_from_u64(1), 5);
    assert!(index.engine.take_document(&documents[0], 1).is_err());
    let path = hand_in(&index, &documents);
    assert!(index.engine.drain_inbox(1).unwrap().is_empty() && path.exists());
    index.sync(blocks.path(), Driver::Bulk);
    assert_eq!(index.engine.drain_inbox(1).unwrap().files.len(), 1);
    assert!(!path.exists() && quotes(&index) == expected(&documents));
}

fn hand_in(index: &Index, documents: &[Document]) -> std::path::PathBuf {
    put_into_inbox::<std::io::Error>(index.dir.path(), |add| documents.iter().try_for_each(add)).unwrap()
}

#[test]
fn damaged_files_are_set_aside_and_the_others_are_taken() {
    let (_blocks, index) = world();
    let all = documents(&mut ChaCha8Rng::seed_from_u64(2), 12);
    let damaged = hand_in(&index, &all[..4]);
    let mut bytes = fs::read(&damaged).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&damaged, bytes).unwrap();
    hand_in(&index, &all[4..]);
    fs::write(index.dir.path().join(INBOX).join("half.part"), b"cairn-ev").unwrap();
    let drained = index.engine.drain_inbox(7).unwrap();
    assert_eq!((drained.files.len(), drained.refused.len()), (1, 1));
    assert!(drained.refused[0].path.exists() && !damaged.exists());
    let reason = fs::read_to_string(damaged.with_extension("reason.txt")).unwrap();
    assert_eq!(reason.trim(), drained.refused[0].reason);
    assert!(quotes(&index) == expected(&all[4..]), "all or nothing of a file");
    assert!(index.engine.drain_inbox(8).unwrap().is_empty(), "what is set aside is not looked at again");
}

#[test]
fn documents_whose_hashes_begin_alike_are_refused() {
    let (_blocks, index) = world();
    let rng = &mut ChaCha8Rng::seed_from_u64(4);
    let one = documents(rng, 1).remove(0);
    index.engine.take_document(&one, 1).unwrap();
    let mut other = one.clone();
    other.provenance.document.0[31] ^= 1;
    let error = index.engine.take_document(&other, 1).unwrap_err().to_string();
    assert!(error.contains("begins like that of document"), "{error}");
    assert_eq!(seq(&index), one.count() as u64 + 1, "nothing was written");
}

/// Writes rows that no document says, and repairs.
#[test]
fn damage_is_found_and_made_again_from_the_documents() {
    let (blocks, index) = world();
    let rng = &mut ChaCha8Rng::seed_from_u64(5);
    let documents = documents(rng, 12);
    for document in &documents {
        index.engine.take_document(document, 9).unwrap();
    }
    // A repair makes what follows the chain after its blocks, too.
    index.engine.follow_late(&NoProgress).unwrap();
    let (sound, expected, chain) = (checksums(&index), quotes(&index), index.sums());
    let (claim, list) = index.view(|view| {
        let claim = view.scan::<Claims>(None).unwrap().next().unwrap().unwrap();
        (claim, view.scan::<ClaimLists>(None).unwrap().next().unwrap().unwrap())
    });
    let Index { engine, dir } = index;
    drop(engine);
    for round in 0..7 {
        let path = dir.path().join("index");
        let writer = Writer::open(&path).unwrap();
        let (candle, chosen) = expected.iter().nth(round * 3).unwrap();
        let candle = Candle { series: candle.0, closes_at: candle.1 };
        writer
            .commit::<WriteError>(|batch| {
                match round {
                    0 => batch.delete_row::<Quotes>(&candle),
                    1 => batch
                        .put_row::<Quotes>(&candle, &Chosen { close: chosen.close + Decimal::ONE, ..chosen.clone() }),
                    2 => batch.put(
                        <Quotes as cairn_tables::Table>::FAMILY,
                        &cairn_tables::encode_key::<Quotes>(&candle),
                        b"x",
                    ),
                    3 => batch.delete_row::<Claims>(&claim.0),
                    4 => batch.put_row::<Claims>(&claim.0, &Claim { level: claim.1.level ^ 1, ..claim.1.clone() }),
                    5 => batch.delete_row::<ClaimLists>(&list.0),
                    _ => batch.delete_row::<cairn_tables::events::Documents>(&documents[0].provenance.document),
                }
                Ok(())
            })
            .unwrap();
        writer.flush().unwrap();
        drop(writer);
        let engine = Engine::open_existing(dir.path()).unwrap();
        let audit = audit_index(&engine.reader(), RawCheck::None, &NoProgress);
        assert!(!audit.unwrap().damages.is_empty(), "round {round}: not found");
        drop(engine);
        repaired(dir.path(), blocks.path());
        let index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir: temp_dir() };
        assert!(checksums(&index) == sound && quotes(&index) == expected, "round {round}");
        index.sums().assert_equal(&chain, "the chain's rows");
        index.assert_sound();
    }
}

fn repaired(datadir: &std::path::Path, blocks: &std::path::Path) {
    let (files, survey) = survey(blocks, cairn_model::Network::Regtest);
    let source = FileBlocks::new(&files, &survey, 8);
    let done = repair(datadir, &facts(blocks), options(256 << 20, 20, RawCheck::None), &source, &NoProgress).unwrap();
    assert!(matches!(&done, Repaired::Whole(done) if done.iter().any(|line| line.contains("documents"))), "{done:?}");
}
