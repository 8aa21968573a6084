//! Observations of the mempool, damaged on disk: they are forgotten or an error, and the chain's rows are what they
//! were.

use std::fs;

use cairn_pipeline::{Driver, Engine};
use cairn_reader::Reader;
use cairn_tables::{
    Table, TableInfo, encode_key, encode_value,
    mempool::{KeptMempool, MempoolSamples},
};
use cairn_writer::{WriteError, Writer};

use crate::{
    compare::assert_equal,
    kept::{sample, tx, txs, world},
    support::*,
};

/// Rows that are not transactions, or stand under another's id.
#[test]
fn damaged_rows_are_forgotten() {
    let (blocks, _) = world(107);
    let index = Index::of(blocks.path(), Driver::Bulk);
    index.engine.keep_mempool(&txs(0..20), &[]).unwrap();
    index.engine.settle().unwrap();
    let (expected, Index { engine, dir }) = (index.sums(), index);
    drop(engine);
    let writer = Writer::open(&dir.path().join("index")).unwrap();
    writer
        .commit::<WriteError>(|batch| {
            let key = |n| encode_key::<KeptMempool>(&tx(n, 0).txid);
            let value = encode_value::<KeptMempool>(&tx(3, 0));
            batch.put(KeptMempool::FAMILY, &key(3), &value[..value.len() - 1]);
            batch.put(KeptMempool::FAMILY, &key(4), b"");
            batch.put(KeptMempool::FAMILY, &key(5), &value);
            batch.put(KeptMempool::FAMILY, b"short", &value);
            Ok(())
        })
        .unwrap();
    writer.flush().unwrap();
    let rows = || {
        let mut rows = 0;
        writer.rows::<KeptMempool>(|_, _| rows += 1).map(|()| rows).unwrap()
    };
    assert_eq!(rows(), 21);
    drop(writer);
    let index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
    let left = txs((0..3).chain(6..20));
    assert_eq!(index.engine.kept_mempool().unwrap(), left);
    index.engine.settle().unwrap();
    let index = index.reopened();
    index.sums().assert_equal(&expected, "the chain's rows");
    let reader = index.engine.reader();
    assert_eq!(
        reader.view().unwrap().tables().checksum(&TableInfo::of::<KeptMempool>()).unwrap().rows,
        left.len() as u64
    );
    assert_eq!(index.engine.kept_mempool().unwrap(), left);
}

/// A table file that the disk has damaged.
#[test]
fn a_damaged_file_is_forgotten() {
    let (blocks, chain) = world(108);
    let index = Index::of(blocks.path(), Driver::Bulk);
    index.engine.keep_mempool(&txs(0..2_000), &[]).unwrap();
    index.engine.settle().unwrap();
    let Index { engine, dir } = index;
    drop(engine);
    let writer = Writer::open(&dir.path().join("index")).unwrap();
    let files = writer.db().live_files().unwrap();
    let mut files = files.iter().filter(|file| file.column_family_name == KeptMempool::FAMILY.name());
    let (file, none) = (files.next().unwrap().name.clone(), files.next());
    assert!(none.is_none());
    drop(writer);
    let path = dir.path().join("index").join(file.trim_start_matches('/'));
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x40;
    fs::write(&path, bytes).unwrap();
    let index = Index { engine: Engine::open_existing(dir.path()).unwrap(), dir };
    let left = index.engine.kept_mempool().unwrap();
    assert!(!left.is_empty() && left.len() < 2_000, "{} left", left.len());
    assert_eq!(left, txs(0..left.len() as u16));
    let index = index.reopened();
    assert_eq!(index.engine.kept_mempool().unwrap(), left);
    index.view(|view| assert_equal(view, &oracle_of(&chain)));
    index.engine.keep_mempool(&txs(0..2_000), &[]).unwrap();
    index.engine.settle().unwrap();
    assert_eq!(index.reopened().engine.kept_mempool().unwrap(), txs(0..2_000));
}

/// A sample that is damaged is an error, never left out.
#[test]
fn a_damaged_sample_is_an_error() {
    let (blocks, _) = world(109);
    let Index { engine, dir } = Index::of(blocks.path(), Driver::Bulk);
    drop(engine);
    for value in [encode_value::<MempoolSamples>(&sample(61)), b"\x01".to_vec()] {
        let writer = Writer::open(&dir.path().join("index")).unwrap();
        let put = |batch: &mut cairn_writer::Batch<'_>| {
            batch.put(MempoolSamples::FAMILY, &encode_key::<MempoolSamples>(&60), &value);
            Ok::<_, WriteError>(())
        };
        writer.commit(put).unwrap();
        writer.flush().unwrap();
        drop(writer);
        let reader = Reader::open(&dir.path().join("index")).unwrap();
        let view = reader.view().unwrap();
        assert!(view.ledger().mempool_samples(0, 100, 10).is_err());
        // Of another time than was asked for.
        assert!(view.ledger().mempool_samples(0, 59, 10).unwrap().is_empty());
    }
}
