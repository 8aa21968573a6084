//! The example of the documentation of `View`: an index is read, subject by subject.

use cairn_pipeline::Driver;

use crate::support::*;

#[test]
fn a_view_answers_questions_about_one_tip() {
    let (blocks, chain) = (scratch(), small_chain(12));
    write_tidy(blocks.path(), &chain);
    let index = Index::of(blocks.path(), Driver::Bulk);
    // Each request takes a view of its own: all of its answers are of one tip, also while the index is written.
    let reader = index.engine.reader();
    let view = reader.view().unwrap();
    let tip = *view.tip();
    // Questions about the chain itself need no subject, and those about blocks in memory no read.
    assert_eq!(view.chain().get(tip.height).unwrap().time, tip.time);
    assert_eq!(view.header(tip.height).unwrap().unwrap().hash, tip.hash);
    // Others begin with their subject. A script is found by its bytes; what it did is asked by what was found.
    let oracle = oracle_of(&chain);
    let script = oracle.scripts().next().unwrap();
    let found = view.scripts().find(script.as_bytes()).unwrap().unwrap();
    let newest = view.scripts().history(&found, 0, 1).unwrap()[0];
    assert_eq!(newest.tx_num, found.totals.last);
    // A transaction has a number in the order of the chain.
    let tx = view.transactions().get(newest.tx_num).unwrap().unwrap();
    assert!(tx.height <= tip.height && tx.tx_num < tip.tx_end);
    assert_eq!(view.transactions().txid(newest.tx_num).unwrap(), Some((tx.txid(), tx.height)));
    // Clusters are asked for as of a block.
    let membership = view.clusters().of_script(found.id, view.as_of_tip()).unwrap();
    assert_eq!(membership.script, found.id);
    // Nothing was imported: there are no claims, so no labels follow from them.
    assert!(!view.claims().has_any().unwrap() && view.labels().of_id(found.id).unwrap().is_none());
    // The view counts the rows that it read.
    assert!(view.rows_read() > 0);
}
