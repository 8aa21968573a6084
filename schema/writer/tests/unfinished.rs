//! Errors of a reader of an index whose writer was killed between two families: while it made them all, or while it
//! emptied one.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use cairn_model::Network;
use cairn_reader::{Db, Facts, ReadError, Reader, db_options};
use cairn_tables::{Family, Table, history::History};
use cairn_writer::Writer;

#[test]
fn an_index_in_the_making_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = db_options();
    options.create_if_missing(true);
    let db = Db::open(&options, dir.path()).unwrap();
    for family in Family::ALL {
        assert!(matches!(Reader::open(dir.path()).err().unwrap(), ReadError::Empty), "before {}", family.name());
        db.create_cf(family.name(), &options).unwrap();
    }
    assert!(matches!(Reader::open(dir.path()).err().unwrap(), ReadError::Empty));
}

#[test]
fn a_table_that_is_gone_is_being_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    let writer = Writer::open(dir.path()).unwrap();
    writer.put_facts(&Facts::of(Network::Regtest)).unwrap();
    assert!(Reader::open(dir.path()).is_ok());
    writer.db().drop_cf(History::FAMILY.name()).unwrap();
    drop(writer);
    match Reader::open(dir.path()).err().unwrap() {
        ReadError::Unusable(text) => assert!(text.contains("table history") && text.contains("interrupted"), "{text}"),
        other => panic!("{other}"),
    }
    // A writer makes it again.
    drop(Writer::open(dir.path()).unwrap());
    assert!(Reader::open(dir.path()).is_ok());
}
