//! Further tests of single tables.

use cairn_model::{MAX_MONEY, Outpoint, TxNum};
use cairn_tables::{
    Table,
    block_log::{BlockLog, Decoded, LogRow, LoggedTx},
    codec::{put_amount, put_varint},
    coins::{Coins, CoinsByScript},
    encode_value,
    headers::Headers,
    history::{History, HistoryEntry, HistoryRow},
    prevouts::{PrevoutRow, Prevouts},
    spenders::Spenders,
    totals::TotalsTable,
};
use proptest::{
    strategy::{Strategy, ValueTree},
    test_runner::TestRunner,
};

use crate::values;

fn bytes(make: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    make(&mut out);
    out
}

#[test]
fn no_coin_is_above_the_money_supply() {
    for (sats, fits) in [(0, true), (MAX_MONEY, true), (MAX_MONEY + 1, false), (u64::MAX, false)] {
        let amount = bytes(|out| put_amount(out, sats));
        assert_eq!(CoinsByScript::decode_value(&amount).is_ok(), fits, "{sats}");
        let coin = [&amount[..], &[7; 8], &[0]].concat();
        assert_eq!(Coins::decode_value(&coin).is_ok(), fits, "{sats}");
    }
}

#[test]
fn history_is_stored_relative_to_its_first_entry() {
    let entry = |n: u64| HistoryEntry { tx_num: TxNum(n), received: 5, sent: 0 };
    let row = |first: u64| HistoryRow { entries: vec![entry(first), entry(first + 9)], ..HistoryRow::default() };
    let stored = encode_value::<History>(&row(1_000));
    assert_eq!(stored, encode_value::<History>(&row(0)));
    let decoded = History::decode_value(&stored).unwrap();
    assert_eq!(decoded.clone().absolute(TxNum(1_000)).unwrap(), row(1_000));
    assert!(decoded.clone().absolute(TxNum(TxNum::LIMIT - 9)).is_err());
    assert!(decoded.absolute(TxNum(TxNum::LIMIT - 10)).is_ok());
}

#[test]
fn history_that_cannot_be_is_an_error() {
    let row = |numbers: &[u64]| bytes(|out| numbers.iter().for_each(|n| put_varint(out, *n)));
    // Row 0: an entry that received 1 satoshi (kind 1, packed amount 1).
    assert!(History::decode_value(&row(&[0, 1, 1])).is_ok());
    for (what, numbers) in [
        ("no entry", vec![0]),
        ("first entry away from the first", vec![0, 4 + 1, 1]),
        ("two entries of one transaction", vec![0, 1, 1, 1, 1]),
        ("received nothing, but says so", vec![0, 1, 0]),
        ("beyond the numbers of transactions", vec![0, 1, 1, (TxNum::LIMIT << 2) + 1, 1]),
        ("129 entries", [vec![0, 0], vec![4; 128]].concat()),
    ] {
        assert!(History::decode_value(&row(&numbers)).is_err(), "{what}");
    }
    let overflow = bytes(|out| {
        put_varint(out, 1);
        put_amount(out, u64::MAX);
        put_amount(out, 0);
        put_varint(out, 1);
        put_amount(out, 1);
    });
    assert!(History::decode_value(&overflow).is_err());
}

/// Sums up to some point of a row are those of its entries up to there.
#[test]
fn sums_of_a_part_of_a_row() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..200 {
        let row = values::history_row().new_tree(&mut runner).unwrap().current();
        let bytes = encode_value::<History>(&row);
        // Values are relative to the key until it is applied.
        let first = TxNum(1_000);
        let whole = History::decode_value(&bytes).unwrap();
        let last = whole.entries.last().unwrap().tx_num.0;
        let Ok(whole) = whole.absolute(first) else { continue };
        for end in [0, 1_000, 1_001, 1_000 + last / 2, 1_000 + last, 1_001 + last, u64::MAX].map(TxNum) {
            let before = whole.entries.iter().take_while(|entry| entry.tx_num < end);
            let sums = before.fold((row.number * 128, row.received_before, row.sent_before), |sums, entry| {
                (sums.0 + 1, sums.1 + entry.received, sums.2 + entry.sent)
            });
            let found = HistoryRow::sums_until(&bytes, first, end).unwrap();
            assert_eq!((found.entries, found.received, found.sent), sums);
        }
        assert!(HistoryRow::sums_until(&bytes[..bytes.len() - 1], first, TxNum(u64::MAX)).is_err());
    }
}

/// One transaction out of a row is the same as out of the whole row.
#[test]
fn a_single_transaction_of_the_log() {
    let mut runner = TestRunner::deterministic();
    let mut one = Decoded::default();
    for _ in 0..200 {
        let row = values::log_row().new_tree(&mut runner).unwrap().current();
        let bytes = encode_value::<BlockLog>(&row);
        let mut raw_offset = row.raw_offset;
        for (at, tx) in row.txs.txs.iter().enumerate() {
            let index = row.first_index + at as u32;
            let place = LoggedTx { height: row.height, index, raw_offset, first_input: tx.inputs.start };
            assert_eq!(LogRow::decode_one(&bytes, at, &mut one).unwrap(), Some(place));
            raw_offset = raw_offset.saturating_add(tx.size);
            let [found] = &one.txs[..] else { panic!("{} transactions", one.txs.len()) };
            assert_eq!((found.txid, found.size, found.base_size), (tx.txid, tx.size, tx.base_size));
            assert_eq!(one.inputs_of(found), row.txs.inputs_of(tx));
            let outputs = |txs: &Decoded, tx| -> Vec<_> {
                let outputs = txs.outputs_of(tx).iter();
                outputs.map(|o| (o.value, o.id, o.spendable, txs.script(o).to_vec())).collect()
            };
            assert_eq!(outputs(&one, found), outputs(&row.txs, tx));
            assert_eq!(LogRow::find_one(&bytes, at).unwrap(), Some((place, tx.txid)));
            for (vout, output) in row.txs.outputs_of(tx).iter().enumerate() {
                let mut script = vec![1];
                assert_eq!(LogRow::script_of(&bytes, at, vout as u32, &mut script).unwrap(), Some(row.height));
                assert_eq!(script[1..], *row.txs.script(output));
            }
            let none = tx.outputs.len() as u32;
            assert_eq!(LogRow::script_of(&bytes, at, none, &mut Vec::new()).unwrap(), None);
            // The bytes behind it are not read.
            assert!(
                LogRow::decode_one(&bytes[..bytes.len() - 1], at, &mut one).is_ok() == (at + 1 < row.txs.txs.len())
            );
        }
        for beyond in [row.txs.txs.len(), usize::MAX] {
            assert_eq!(LogRow::decode_one(&bytes, beyond, &mut one).unwrap(), None);
            assert_eq!(LogRow::txids(&bytes, &[0, beyond], &mut Vec::new()).unwrap(), None);
        }
        // Some of its ids: each third one, twice.
        let positions: Vec<usize> = (0..row.txs.txs.len()).step_by(3).flat_map(|at| [at, at]).collect();
        let mut txids = Vec::new();
        assert_eq!(LogRow::txids(&bytes, &positions, &mut txids).unwrap(), Some(row.height));
        assert_eq!(txids, positions.iter().map(|at| row.txs.txs[*at].txid).collect::<Vec<_>>());
        assert_eq!(LogRow::txids(&bytes, &[1, 0], &mut Vec::new()).unwrap(), None);
    }
    assert!(LogRow::decode_one(&[], 0, &mut one).is_err());
}

#[test]
fn some_prevouts_of_a_row() {
    let outpoints: Vec<_> = (0..9).map(|n| Outpoint { tx_num: TxNum(n * 977), vout: n as u32 * 300 }).collect();
    let first = TxNum(10_000);
    let bytes = encode_value::<Prevouts>(&PrevoutRow::pack(first, outpoints.iter().copied()));
    for start in 0..=9u32 {
        for end in start..=9 {
            let some = PrevoutRow::unpack_some(&bytes, first, start..end).unwrap();
            assert_eq!(some, outpoints[start as usize..end as usize]);
        }
    }
    assert!(PrevoutRow::unpack_some(&bytes, first, 3..10).is_err());
    assert!(PrevoutRow::unpack_some(&bytes[..bytes.len() - 1], first, 0..9).is_err());
    assert!(PrevoutRow::unpack_some(&[], first, 0..0).is_err());
    assert!(PrevoutRow::unpack_some(&bytes, TxNum(7_000), 0..1).is_err(), "reaches below zero");
}

#[test]
fn prevouts_reach_back_but_not_below_zero() {
    let outpoints = [Outpoint { tx_num: TxNum(0), vout: 3 }, Outpoint { tx_num: TxNum(163), vout: 0 }];
    let row = PrevoutRow::pack(TxNum(100), outpoints.into_iter());
    assert_eq!(row.unpack(TxNum(100)).unwrap(), outpoints);
    assert!(row.unpack(TxNum(99)).is_err());
    let stored = encode_value::<Prevouts>(&row);
    assert_eq!(Prevouts::decode_value(&stored).unwrap(), row);
}

#[test]
fn spenders_ascend_and_come_later() {
    for (row, ok) in [
        (&[0u8, 1, 0][..], true),
        (&[0, 0, 0], false),
        (&[0, 1, 0, 1, 1, 0], true),
        (&[0, 1, 0, 0, 1, 0], false),
        (&[1, 1, 0, 0, 1, 0], false),
    ] {
        assert_eq!(Spenders::decode_value(row).is_ok(), ok, "{row:?}");
    }
}

#[test]
fn headers_count_no_more_than_a_block_holds() {
    let row = |tx_count: u64, size: u64, inputs: u64, outputs: u64, first: [u8; 5]| {
        bytes(|out| {
            out.extend([0; 32 + 80 + 4]);
            out.extend(first);
            [tx_count, size, 0, 0, 0, 0, inputs, outputs, 0].into_iter().for_each(|n| put_varint(out, n));
        })
    };
    assert!(Headers::decode_value(&row(1, 285, 0, 1, [0; 5])).is_ok());
    assert!(Headers::decode_value(&row(1, 4_000_001, 0, 1, [0; 5])).is_err());
    assert!(Headers::decode_value(&row(286, 285, 0, 1, [0; 5])).is_err());
    assert!(Headers::decode_value(&row(1, 285, 4_000_000_000, 1, [0; 5])).is_err());
    assert!(Headers::decode_value(&row(1, 285, 0, 286, [0; 5])).is_err());
    assert!(Headers::decode_value(&row(2, 285, 0, 1, [0xff; 5])).is_err());
    assert!(Headers::decode_value(&row(1, 285, 0, 1, [0xff; 5])).is_ok());
}

#[test]
fn totals_that_cannot_be_are_errors() {
    let row_of = |template: u64, funded: u64, spent: u64, counts: [u64; 3], rest: &[u64]| {
        bytes(|out| {
            put_amount(out, funded);
            put_amount(out, spent);
            let [funded_count, spent_count, tx_count] = counts;
            [funded_count, spent_count, tx_count << 4 | template].into_iter().for_each(|n| put_varint(out, n));
            out.extend(TxNum(10).to_be5());
            rest.iter().for_each(|n| put_varint(out, *n));
        })
    };
    let row = |funded, spent, counts, rest| row_of(3, funded, spent, counts, rest);
    let ok = |bytes: Vec<u8>| TotalsTable::decode_value(&bytes).is_ok();
    assert!(ok(row(5, 5, [1, 1, 2], &[0, 1])));
    assert!(!ok(row_of(15, 5, 5, [1, 1, 2], &[0, 1])));
    assert!(!ok(row(5, 6, [1, 1, 2], &[0, 1])));
    assert!(!ok(row(5, 5, [1, 2, 2], &[0, 1])));
    assert!(!ok(row(5, 5, [1, 1, 0], &[0, 1])));
    assert!(!ok(row(5, 5, [1, 1, 2], &[0, TxNum::LIMIT])));
    // Above 128 transactions the newest row of the history begins behind the first transaction.
    assert!(ok(row(5, 5, [1, 1, 129], &[0, 500, 499])));
    assert!(!ok(row(5, 5, [1, 1, 129], &[0, 500, 500])));
    assert!(!ok(row(5, 5, [1, 1, 129], &[0, 500])));
}
