//! Bulk and tip end with the same tables, and both agree with the oracle.

use cairn_pipeline::{Driver, Engine, NoProgress, verify};
use cairn_testkit::temp_dir;

use crate::{compare::assert_equal, support::*};

#[test]
fn bulk_agrees_with_the_oracle() {
    let dir = temp_dir();
    let chain = small_chain(1);
    let blocks = dir.path().join("blocks");
    write_tidy(&blocks, &chain);
    let mut engine = Engine::open(dir.path(), &facts(&blocks)).unwrap();
    let report = sync(&mut engine, &blocks, Driver::Bulk);
    assert!(report.bulk);
    let reader = engine.reader();
    let view = reader.view().unwrap();
    let oracle = oracle_of(&chain);
    assert_equal(&view, &oracle);
    let audit = verify::audit(&view, &NoProgress).unwrap();
    assert!(audit.ok(), "{:#?}", audit.checks);
    assert_eq!(audit.muhash.to_string(), oracle.muhash().to_string());
}

#[test]
fn tip_agrees_with_the_oracle() {
    let dir = temp_dir();
    let chain = small_chain(2);
    let blocks = dir.path().join("blocks");
    write_tidy(&blocks, &chain);
    let mut engine = Engine::open(dir.path(), &facts(&blocks)).unwrap();
    let report = sync(&mut engine, &blocks, Driver::Tip);
    assert!(!report.bulk);
    let reader = engine.reader();
    let view = reader.view().unwrap();
    assert_equal(&view, &oracle_of(&chain));
    let audit = verify::audit(&view, &NoProgress).unwrap();
    assert!(audit.ok(), "{:#?}", audit.checks);
}
