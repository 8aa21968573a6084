//! A script with very many transactions: what a page of it costs does not depend on how many.

use bitcoin::Transaction;
use cairn_pipeline::{Driver, NoProgress};
use cairn_testkit::temp_dir;

use crate::{forge::*, support::*};

const PER_BLOCK: u32 = 10_000;

/// The busy script receives in every transaction, and spends in every seventh.
fn forge(txs: u32) -> Forge {
    let busy = script(u32::MAX);
    let mut forge = Forge::new();
    let first = coinbase(1, vec![pay(50 * 100_000_000, script(1))]);
    forge.block(vec![first.clone()]);
    let (mut purse, mut left) = (out(&first, 0), 50 * 100_000_000u64);
    let mut waiting = Vec::new();
    let mut made = 0;
    while made < txs {
        let tag = forge.blocks.len() as u32;
        let mut block: Vec<Transaction> = vec![coinbase(tag, vec![pay(1, script(2))])];
        for _ in 0..PER_BLOCK.min(txs - made) {
            let mut inputs = vec![purse];
            left -= 1_000;
            if made % 7 == 6 {
                inputs.push(waiting.pop().unwrap());
                left += 900;
            }
            let tx = spend(&inputs, vec![pay(left, script(1)), pay(900, busy.clone())]);
            let txid = tx.compute_txid();
            purse = bitcoin::OutPoint { txid, vout: 0 };
            waiting.push(bitcoin::OutPoint { txid, vout: 1 });
            block.push(tx);
            made += 1;
        }
        forge.block(block);
    }
    forge
}

/// Reads of one request: a view of its own, as each has.
fn reads(index: &Index, rows: u64, what: &str, request: impl FnOnce(&cairn_reader::View<'_>)) {
    let read = index.view(|view| {
        request(view);
        view.rows_read()
    });
    assert!(read <= 8 + rows, "{what}: {read} rows read, of which {rows} are the page");
}

#[test]
fn every_request_reads_a_few_rows() {
    let txs: u32 = if long() { 1_000_000 } else { 40_000 };
    let blocks = temp_dir();
    let forge = forge(txs);
    forge.write(blocks.path());
    let mut index = Index::of(blocks.path(), Driver::Bulk);
    check(&index, txs);
    // The same after the tip has written at the end of that history.
    let (sums, height) = (index.sums(), index.height().unwrap());
    index.engine.unwind(height - 1, &NoProgress).unwrap();
    index.sync(blocks.path(), Driver::Auto);
    index.sums().assert_equal(&sums, "the last block taken off and put on again");
    check(&index, txs);
}

fn check(index: &Index, txs: u32) {
    let busy = script(u32::MAX);
    let total = u64::from(txs);
    reads(index, 0, "overview", |view| {
        let found = view.scripts().find(busy.as_bytes()).unwrap().unwrap();
        let t = found.totals;
        assert_eq!((t.tx_count, t.funded_count, t.spent_count), (total, total, total / 7));
        assert_eq!(t.balance(), (total - total / 7) * 900);
        // First and last activity: heights and times are in memory.
        let first = view.chain().height_of(t.first.tx_num).unwrap();
        let last = view.chain().height_of(t.last).unwrap();
        assert_eq!((first, last), (2, view.tip().height));
        view.transactions().get(t.last).unwrap().unwrap();
        // Activity since some time: one mark.
        let since = view.chain().get(view.tip().height / 2).unwrap().first_tx;
        let before = view.scripts().sums_before(&found, since).unwrap();
        let expected = u64::from(view.tip().height / 2 - 2) * u64::from(PER_BLOCK);
        assert_eq!(before.tx_count, expected);
    });
    let per_page = 25;
    for page in [0u64, 1, 400, total / per_page - 1, total / per_page / 2] {
        // Each row of a page is a transaction; its own look-up is the page.
        reads(index, per_page, &format!("page {page}"), |view| {
            let found = view.scripts().find(busy.as_bytes()).unwrap().unwrap();
            let before = view.rows_read();
            let entries = view.scripts().history(&found, page * per_page, per_page as usize).unwrap();
            assert!(view.rows_read() - before <= 3, "{} for the entries alone", view.rows_read() - before);
            assert_eq!(entries.len() as u64, per_page);
            // As an answer does it: together, so that asking for each of them reads no more. One row alone waits for
            // that.
            let before = view.rows_read();
            view.transactions().fetch(&entries.iter().map(|entry| entry.tx_num).collect::<Vec<_>>()).unwrap();
            let fetched = view.rows_read().max(before + 1);
            for (i, entry) in (0..).zip(&entries) {
                let number = total - 1 - page * per_page - i;
                let sent = if number % 7 == 6 { 900 } else { 0 };
                assert_eq!((entry.received, entry.sent), (900, sent), "entry {number}");
                let tx = view.transactions().get(entry.tx_num).unwrap().unwrap();
                assert_eq!(tx.outputs()[1].value, 900);
            }
            assert!(view.rows_read() <= fetched, "rows were read a second time");
        });
    }
    for height in [1, 2, 3, txs / PER_BLOCK / 2, txs / PER_BLOCK, txs / PER_BLOCK + 1] {
        reads(index, 0, &format!("balance at height {height}"), |view| {
            let found = view.scripts().find(busy.as_bytes()).unwrap().unwrap();
            let time = view.chain().get(height).unwrap().mono_time;
            let at = view.chain().height_at(time).unwrap();
            let end = view.chain().get(at + 1).map_or(view.tip().tx_end, |b| b.first_tx);
            let sums = view.scripts().sums_before(&found, end).unwrap();
            let count = u64::from(height.saturating_sub(1)) * u64::from(PER_BLOCK);
            assert_eq!(sums.tx_count, count.min(total));
            assert_eq!(sums.balance(), (sums.tx_count - sums.tx_count / 7) * 900, "height {height}");
        });
    }
}
