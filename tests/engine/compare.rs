//! The index against the oracle: every header, transaction, coin, history row and total.

use bitcoin::{ScriptBuf, hashes::Hash};
use cairn_model::{BlockHash, Outpoint, ScriptId, ScriptPrefix, TxNum, Txid};
use cairn_reader::View;
use cairn_tables::{coins::Coins, totals::TotalsTable};
use cairn_testkit::Oracle;

use crate::{
    compare_clusters::assert_clusters_equal, compare_days::assert_days_equal, compare_pubkeys::assert_pubkeys_equal,
};

/// Panics at the first difference.
pub fn assert_equal(view: &View<'_>, oracle: &Oracle) {
    headers(view, oracle);
    transactions(view, oracle);
    coins(view, oracle);
    scripts(view, oracle);
    assert_days_equal(view, oracle);
    assert_clusters_equal(view, oracle);
    assert_pubkeys_equal(view, oracle);
}

fn headers(view: &View<'_>, oracle: &Oracle) {
    let (height, hash) = oracle.tip().expect("a tip");
    assert_eq!((view.tip().height, view.tip().hash), (height, BlockHash(hash.to_byte_array())), "tip");
    for (height, expected) in oracle.headers().iter().enumerate() {
        let height = height as u32;
        let row = view.header(height).unwrap().unwrap_or_else(|| panic!("no header {height}"));
        assert_eq!(row.header[..], bitcoin::consensus::serialize(&expected.header)[..], "header {height}");
        assert_eq!(row.mono_time, expected.monotone_time, "monotone time {height}");
        assert_eq!(row.first_tx, expected.first_tx, "first transaction {height}");
        let block = &oracle.blocks()[height as usize];
        assert_eq!(u64::from(row.weight), block.weight().to_wu(), "weight {height}");
        assert_eq!(row.size as usize, block.total_size(), "size {height}");
        let hash = BlockHash(block.block_hash().to_byte_array());
        assert_eq!(view.height_of(&hash).unwrap(), Some(height), "height of {hash}");
    }
    assert!(view.header(height + 1).unwrap().is_none(), "a header above the tip");
}

fn transactions(view: &View<'_>, oracle: &Oracle) {
    assert_eq!(view.tip().tx_end.0 as usize, oracle.txs().len(), "number of transactions");
    let mut number = 0;
    for (height, block) in oracle.blocks().iter().enumerate() {
        // Those of every second block are read together.
        if height % 2 == 1 {
            let of_block = number as u64..(number + block.txdata.len()) as u64;
            view.transactions().fetch(&of_block.map(TxNum).collect::<Vec<_>>()).unwrap();
        }
        for tx in &block.txdata {
            let expected = &oracle.txs()[number];
            let tx_num = TxNum(number as u64);
            number += 1;
            let stored = view.transactions().get(tx_num).unwrap().expect("a transaction");
            let txid = Txid(tx.compute_txid().to_byte_array());
            assert_eq!(stored.txid(), txid);
            assert_eq!(stored.height, expected.height);
            let newest = *oracle.tx_nums(&tx.compute_txid()).last().expect("a number");
            assert_eq!(view.transactions().by_txid(&txid).unwrap().expect("found by id").tx_num, newest, "{txid}");
            assert_eq!(stored.meta().size as usize, tx.total_size());
            assert_eq!(stored.meta().base_size as usize, tx.base_size());
            assert_eq!(stored.fee_sats(), expected.fee_sats, "fee of {txid}");
            assert_eq!(stored.outputs().len(), tx.output.len());
            for (output, expected) in stored.outputs().iter().zip(&tx.output) {
                assert_eq!(output.value, expected.value.to_sat());
                assert_eq!(stored.script(output), expected.script_pubkey.as_bytes());
            }
            if !tx.is_coinbase() {
                let inputs = view.transactions().inputs(&stored).unwrap();
                for (input, named) in inputs.iter().zip(&tx.input) {
                    let funding =
                        view.transactions().get(input.outpoint.tx_num).unwrap().expect("a funding transaction");
                    assert_eq!(funding.txid().0, named.previous_output.txid.to_byte_array());
                    assert_eq!(input.outpoint.vout, named.previous_output.vout);
                    assert_eq!(input.birth, funding.height);
                    assert_eq!(input.flags.coinbase, funding.is_coinbase());
                    let output = &funding.outputs()[input.outpoint.vout as usize];
                    assert_eq!(input.value, output.value);
                    let prefix = ScriptPrefix::of(funding.script(output), view.facts().script_prefix);
                    assert!(output.spendable);
                    assert_eq!(input.script, ScriptId { prefix, ordinal: output.id.ordinal });
                }
                assert_eq!(inputs.len(), tx.input.len());
            }
            let spenders = view.transactions().spenders(tx_num).unwrap();
            for vout in 0..tx.output.len() as u32 {
                let found = spenders.iter().find(|s| s.0 == vout).map(|s| (s.1, s.2));
                assert_eq!(found, oracle.spender(tx_num, vout).map(|s| (s.tx_num, s.vin)), "spender of {txid}:{vout}");
            }
        }
    }
    assert!(view.transactions().by_txid(&Txid([7; 32])).unwrap().is_none());
}

fn coins(view: &View<'_>, oracle: &Oracle) {
    let mut count = 0;
    for (outpoint, expected) in oracle.coins() {
        let key = Outpoint { tx_num: expected.tx_num, vout: outpoint.vout };
        let coin = view.get::<Coins>(&key).unwrap().unwrap_or_else(|| panic!("no coin {outpoint}"));
        assert_eq!((coin.value, coin.coinbase), (expected.value_sats, expected.coinbase), "{outpoint}");
        assert_eq!(
            view.scripts().bytes_of(coin.script).unwrap().as_deref(),
            Some(expected.script.as_bytes()),
            "{outpoint}"
        );
        count += 1;
    }
    assert_eq!(view.scan::<Coins>(None).unwrap().count(), count, "coins beyond the oracle's");
}

fn scripts(view: &View<'_>, oracle: &Oracle) {
    let by_script = oracle.coins_by_script();
    for (script, totals) in oracle.all_totals() {
        let found = view.scripts().find(script.as_bytes()).unwrap().unwrap_or_else(|| panic!("no script {script}"));
        let t = &found.totals;
        assert_eq!((t.funded, t.spent), (totals.funded_sats, totals.spent_sats), "{script}");
        assert_eq!((t.funded_count, t.spent_count), (totals.funded_count, totals.spent_count), "{script}");
        assert_eq!((t.tx_count, t.first.tx_num, t.last), (totals.tx_count, totals.first, totals.last), "{script}");
        let rows = oracle.history(script);
        let entries = view.scripts().history(&found, 0, usize::MAX).unwrap();
        let expected: Vec<_> = rows.iter().rev().map(|r| (r.tx_num, r.received_sats, r.spent_sats)).collect();
        let entries: Vec<_> = entries.iter().map(|e| (e.tx_num, e.received, e.sent)).collect();
        assert_eq!(entries, expected, "history of {script}");
        pages(view, &found, &expected);
        balances(view, oracle, script, &found);
        let coins = view.scripts().coins(found.id, Outpoint::default(), usize::MAX).unwrap();
        let mut expected: Vec<_> = by_script.get(script.as_script()).map_or(vec![], |coins| {
            coins.iter().map(|(o, c)| (Outpoint { tx_num: c.tx_num, vout: o.vout }, c.value_sats)).collect()
        });
        expected.sort_unstable();
        assert_eq!(coins, expected, "coins of {script}");
    }
    let found = view.scan::<TotalsTable>(None).unwrap().count();
    assert_eq!(found, oracle.all_totals().len(), "scripts beyond the oracle's");
    assert!(view.scripts().find(b"a script that no chain has").unwrap().is_none());
}

fn pages(view: &View<'_>, found: &cairn_reader::FoundScript, expected: &[(TxNum, u64, u64)]) {
    for (skip, limit) in [(1usize, 1usize), (127, 3), (128, 128), (expected.len() / 2, 25), (expected.len(), 5)] {
        let page = view.scripts().history(found, skip as u64, limit).unwrap();
        let page: Vec<_> = page.iter().map(|e| (e.tx_num, e.received, e.sent)).collect();
        let from = skip.min(expected.len());
        assert_eq!(page, expected[from..(from + limit).min(expected.len())]);
    }
}

fn balances(view: &View<'_>, oracle: &Oracle, script: &ScriptBuf, found: &cairn_reader::FoundScript) {
    let tip = view.tip().height;
    for height in [0, tip / 3, tip / 2, tip.saturating_sub(1), tip] {
        let end = view.chain().get(height + 1).map_or(view.tip().tx_end, |b| b.first_tx);
        let sums = view.scripts().sums_before(found, end).unwrap();
        assert_eq!(sums.balance(), oracle.balance_at(script, height), "{script} at {height}");
    }
}
