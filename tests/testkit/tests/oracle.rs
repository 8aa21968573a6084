//! The oracle against chains that were reckoned by hand, and against the start of mainnet.

mod common;

use std::collections::HashMap;

use bitcoin::{Amount, Block, BlockHash, OutPoint, ScriptBuf, Transaction, TxOut, hashes::Hash};
use cairn_model::{MuHash, Network, TxNum, coin_bytes};
use cairn_testkit::{Coin, DayRow, HistoryRow, Oracle, Spender, Totals, read_block_file, shared_data_or_skip};
use common::{DAY, GENESIS_DAY, block_after, chain, coinbase, genesis, script, spend, to};

const BTC: u64 = 100_000_000;

fn outpoint(tx: &Transaction, vout: u32) -> OutPoint {
    OutPoint { txid: tx.compute_txid(), vout }
}

fn row(tx_num: u64, tx: &Transaction, height: u32, received_sats: u64, spent_sats: u64) -> HistoryRow {
    HistoryRow { tx_num: TxNum(tx_num), txid: tx.compute_txid(), height, received_sats, spent_sats }
}

#[test]
fn genesis_is_no_coin() {
    let oracle = Oracle::of(Network::Regtest, &[genesis()]);
    assert!(oracle.coins().is_empty());
    assert_eq!(oracle.scripts().count(), 0);
    assert_eq!(oracle.txs().len(), 1, "its coinbase still is transaction 0");
    assert_eq!(oracle.muhash(), MuHash::new().finalize());
    assert_eq!(oracle.tip(), Some((0, genesis().block_hash())));
    assert_eq!(oracle.headers()[0].monotone_time / DAY, GENESIS_DAY);
    assert_eq!(Oracle::new(Network::Regtest).tip(), None);
}

/// Two days of payments, reckoned by hand: a payment with change, a spend within its block, two outputs to one script,
/// a zero output, an OP_RETURN, and a header time that runs backwards.
fn payments() -> (Vec<Block>, Vec<Transaction>) {
    let c1 = coinbase(1, vec![to(b'a', 50 * BTC)]);
    let c2 = coinbase(2, vec![to(b'b', 50 * BTC), to(b'b', 0)]);
    // a pays 20 to b in two outputs and 29 back to itself; 1 is the fee.
    let pay = spend(&[(&c1, 0)], vec![to(b'b', 12 * BTC), to(b'a', 29 * BTC), to(b'b', 8 * BTC)]);
    // In the same block b sends the 8 on to c, with a message.
    let message = TxOut { value: Amount::from_sat(3), script_pubkey: ScriptBuf::from_bytes(vec![0x6a, 0x01, 0x07]) };
    let on = spend(&[(&pay, 2)], vec![to(b'c', 8 * BTC - 3), message]);
    let c3 = coinbase(3, vec![to(b'a', 51 * BTC)]);
    let c4 = coinbase(4, vec![to(b'm', 50 * BTC)]);
    let blocks = chain(vec![
        (0, vec![c1.clone()]),
        (3, vec![c2.clone()]),
        (1, vec![c3.clone(), pay.clone(), on.clone()]),
        (5, vec![c4.clone()]),
    ]);
    (blocks, vec![c1, c2, c3, pay, on, c4])
}

#[test]
fn payments_by_hand() {
    let (blocks, txs) = payments();
    let [c1, c2, c3, pay, on, c4] = &txs[..] else { panic!("six transactions") };
    let oracle = Oracle::of(Network::Regtest, &blocks);

    // Transaction numbers: genesis 0, c1 1, c2 2, c3 3, pay 4, on 5, c4 6.
    let numbers: Vec<_> = txs.iter().map(|tx| oracle.tx_nums(&tx.compute_txid()).to_vec()).collect();
    assert_eq!(numbers, (1..=6).map(|n| vec![TxNum(n)]).collect::<Vec<_>>());
    assert_eq!(oracle.headers().iter().map(|h| h.first_tx.0).collect::<Vec<_>>(), [0, 1, 2, 3, 6]);
    assert_eq!(oracle.txs().iter().map(|t| t.fee_sats).collect::<Vec<_>>(), [0, 0, 0, 0, BTC, 0, 0]);

    assert_eq!(
        oracle.history(&script(b'a')),
        [row(1, c1, 1, 50 * BTC, 0), row(3, c3, 3, 51 * BTC, 0), row(4, pay, 3, 29 * BTC, 50 * BTC),]
    );
    assert_eq!(
        oracle.history(&script(b'b')),
        [row(2, c2, 2, 50 * BTC, 0), row(4, pay, 3, 20 * BTC, 0), row(5, on, 3, 0, 8 * BTC),]
    );
    assert_eq!(oracle.history(&script(b'c')), [row(5, on, 3, 8 * BTC - 3, 0)]);
    assert!(oracle.history(&script(b'z')).is_empty());
    assert_eq!(oracle.scripts().count(), 4, "the message is no script of the index");

    let b = Totals {
        funded_sats: 70 * BTC,
        spent_sats: 8 * BTC,
        funded_count: 4,
        spent_count: 1,
        tx_count: 3,
        first: TxNum(2),
        last: TxNum(5),
    };
    assert_eq!(b.balance_sats(), 62 * BTC);
    assert_eq!(oracle.totals(&script(b'b')), Some(&b));
    assert_eq!(oracle.totals(&script(b'z')), None);

    let coin = |tx_num, value_sats, name, height, coinbase| Coin {
        tx_num: TxNum(tx_num),
        value_sats,
        script: script(name),
        height,
        coinbase,
    };
    let expected = [
        (outpoint(c2, 0), coin(2, 50 * BTC, b'b', 2, true)),
        (outpoint(c2, 1), coin(2, 0, b'b', 2, true)),
        (outpoint(c3, 0), coin(3, 51 * BTC, b'a', 3, true)),
        (outpoint(pay, 0), coin(4, 12 * BTC, b'b', 3, false)),
        (outpoint(pay, 1), coin(4, 29 * BTC, b'a', 3, false)),
        (outpoint(on, 0), coin(5, 8 * BTC - 3, b'c', 3, false)),
        (outpoint(c4, 0), coin(6, 50 * BTC, b'm', 4, true)),
    ];
    assert_eq!(*oracle.coins(), expected.clone().into_iter().collect());
    let of_b: Vec<_> = oracle.coins_by_script()[&*script(b'b')].iter().map(|(outpoint, _)| *outpoint).collect();
    assert_eq!(of_b, [outpoint(c2, 0), outpoint(c2, 1), outpoint(pay, 0)]);
    assert_eq!(oracle.supply_sats(), 200 * BTC - 3, "the message burned three");

    assert_eq!(oracle.spender(TxNum(1), 0), Some(Spender { tx_num: TxNum(4), vin: 0 }));
    assert_eq!(oracle.spender(TxNum(4), 2), Some(Spender { tx_num: TxNum(5), vin: 0 }));
    assert_eq!(oracle.spenders().len(), 2);

    let mut hash = MuHash::new();
    for (at, coin) in &expected {
        let mut bytes = Vec::new();
        let txid = cairn_model::Txid(at.txid.to_byte_array());
        let script = coin.script.as_bytes();
        coin_bytes(&txid, at.vout, coin.height, coin.coinbase, coin.value_sats, script, &mut bytes);
        hash.insert(&bytes);
    }
    assert_eq!(oracle.muhash(), hash.finalize());
}

#[test]
fn days_follow_the_monotone_time() {
    let (blocks, _) = payments();
    let oracle = Oracle::of(Network::Regtest, &blocks);
    // Block 3 says day 1, but block 2 had reached day 3.
    let days: Vec<_> = (0..5).map(|h| oracle.monotone_time(h) / DAY - GENESIS_DAY).collect();
    assert_eq!(days, [0, 0, 3, 3, 5]);
    assert_eq!(oracle.headers()[3].header.time / DAY - GENESIS_DAY, 1);

    let day = |day, balance_sats, received_sats, sent_sats, tx_count| DayRow {
        day: GENESIS_DAY + day,
        balance_sats,
        received_sats,
        sent_sats,
        tx_count,
    };
    assert_eq!(
        oracle.daily(&script(b'a')),
        [
            day(0, 50 * BTC, 50 * BTC, 0, 1),
            day(1, 50 * BTC, 0, 0, 0),
            day(2, 50 * BTC, 0, 0, 0),
            day(3, 80 * BTC, 80 * BTC, 50 * BTC, 2),
        ]
    );
    assert_eq!(oracle.daily(&script(b'b')), [day(3, 62 * BTC, 70 * BTC, 8 * BTC, 3)]);
    assert!(oracle.daily(&script(b'z')).is_empty());

    let balances: Vec<_> = (0..6).map(|h| oracle.balance_at(&script(b'a'), h)).collect();
    assert_eq!(balances, [0, 50 * BTC, 50 * BTC, 80 * BTC, 80 * BTC, 80 * BTC]);
}

/// Everything an oracle says.
fn everything(oracle: &Oracle) -> impl PartialEq + std::fmt::Debug + use<> {
    let history: Vec<_> = oracle.scripts().map(|s| (s.clone(), oracle.history(s).to_vec(), oracle.daily(s))).collect();
    let rest = (
        oracle.headers().to_vec(),
        oracle.txs().to_vec(),
        oracle.coins().clone(),
        oracle.all_totals().clone(),
        oracle.spenders().clone(),
    );
    (history, rest, oracle.muhash(), oracle.tip(), oracle.supply_sats())
}

#[test]
fn disconnected_blocks_leave_no_trace() {
    let (blocks, _) = payments();
    let mut oracle = Oracle::of(Network::Regtest, &blocks);
    let full = everything(&oracle);
    for count in (1..blocks.len()).rev() {
        assert_eq!(oracle.disconnect(), blocks[count]);
        assert!(everything(&oracle) == everything(&Oracle::of(Network::Regtest, &blocks[..count])), "{count} blocks");
    }
    // A fork, and back.
    let fork = block_after(blocks[0].block_hash(), 0, vec![coinbase(9, vec![to(b'f', BTC)])]);
    oracle.connect(&fork);
    assert_eq!(oracle.scripts().collect::<Vec<_>>(), [&script(b'f')]);
    oracle.truncate(1);
    blocks[1..].iter().for_each(|block| oracle.connect(block));
    assert!(everything(&oracle) == full);
    oracle.truncate(0);
    assert_eq!(oracle.tip(), None);
}

/// A coinbase whose txid has unspent outputs replaces them (mainnet 91,842 and 91,880).
#[test]
fn bip30_overwrites_what_is_unspent() {
    let twin = coinbase(1, vec![to(b'a', 30 * BTC), to(b'b', 20 * BTC)]);
    let spent_first = spend(&[(&twin, 1)], vec![to(b'c', 20 * BTC)]);
    let spent_last = spend(&[(&twin, 0)], vec![to(b'd', 30 * BTC)]);
    let blocks = chain(vec![
        (0, vec![twin.clone()]),
        (1, vec![coinbase(2, vec![]), spent_first.clone()]),
        (2, vec![twin.clone()]),
        (3, vec![coinbase(3, vec![]), spent_last.clone()]),
    ]);
    let mut oracle = Oracle::of(Network::Regtest, &blocks);
    let txid = twin.compute_txid();

    // Numbers: genesis 0, twin 1, coinbase 2, spent_first 3, twin again 4, coinbase 5, spent_last 6.
    assert_eq!(oracle.tx_nums(&txid), [TxNum(1), TxNum(4)]);
    // a: the first coin vanished when the second came.
    assert_eq!(
        oracle.history(&script(b'a')),
        [row(1, &twin, 1, 30 * BTC, 0), row(4, &twin, 3, 30 * BTC, 30 * BTC), row(6, &spent_last, 4, 0, 30 * BTC),]
    );
    let a = oracle.totals(&script(b'a')).unwrap();
    assert_eq!((a.funded_count, a.spent_count, a.tx_count, a.balance_sats()), (2, 2, 3, 0));
    // b: the first coin was spent before, so nothing was overwritten, and the second is unspent.
    assert_eq!(
        oracle.history(&script(b'b')),
        [row(1, &twin, 1, 20 * BTC, 0), row(3, &spent_first, 2, 0, 20 * BTC), row(4, &twin, 3, 20 * BTC, 0),]
    );
    assert_eq!(oracle.coins()[&outpoint(&twin, 1)].tx_num, TxNum(4));
    assert_eq!(oracle.coins()[&outpoint(&twin, 1)].height, 3);

    // Spenders belong to one of the twins: the overwritten output has none.
    assert_eq!(oracle.spender(TxNum(1), 0), None);
    assert_eq!(oracle.spender(TxNum(1), 1), Some(Spender { tx_num: TxNum(3), vin: 0 }));
    assert_eq!(oracle.spender(TxNum(4), 0), Some(Spender { tx_num: TxNum(6), vin: 0 }));
    assert_eq!(oracle.spender(TxNum(4), 1), None);

    assert_eq!(oracle.supply_sats(), 70 * BTC, "30 BTC are lost");
    let from_totals: u64 = oracle.all_totals().values().map(Totals::balance_sats).sum();
    assert_eq!(from_totals, oracle.supply_sats());

    // Without the second twin the first one's coin is back.
    oracle.truncate(3);
    assert_eq!(oracle.coins()[&outpoint(&twin, 0)].tx_num, TxNum(1));
    assert_eq!(oracle.supply_sats(), 50 * BTC);
}

#[test]
fn oversized_scripts_are_no_coins() {
    let of_length = |n| TxOut { value: Amount::from_sat(1), script_pubkey: ScriptBuf::from_bytes(vec![0x51; n]) };
    let outputs = vec![of_length(10_000), of_length(10_001), of_length(0)];
    let oracle = Oracle::of(Network::Regtest, &chain(vec![(0, vec![coinbase(1, outputs)])]));
    let lengths: Vec<_> = oracle.coins().values().map(|coin| coin.script.len()).collect();
    assert_eq!(lengths, [10_000, 0]);
}

#[allow(clippy::unwrap_used)]
fn refuses(what: &str, blocks: Vec<Block>) {
    let panic = std::panic::catch_unwind(|| Oracle::of(Network::Regtest, &blocks)).err().unwrap();
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(message.contains(what), "{message}");
}

#[test]
fn impossible_chains_are_refused() {
    let money = coinbase(1, vec![to(b'a', 5)]);
    let first = (0, vec![money.clone()]);
    let with = |tx: Transaction| chain(vec![first.clone(), (1, vec![coinbase(2, vec![]), tx])]);

    refuses("is no coin", with(spend(&[(&money, 1)], vec![])));
    refuses("is no coin", with(spend(&[(&money, 0), (&money, 0)], vec![])));
    refuses("makes money", with(spend(&[(&money, 0)], vec![to(b'a', 6)])));
    refuses("the coinbase comes first", with(coinbase(3, vec![])));
    refuses("does not follow", vec![genesis(), genesis()]);
    refuses("is not the genesis", chain(vec![first.clone()]).split_off(1));
}

/// The first 4 522 blocks of mainnet, as Bitcoin Core wrote them.
#[test]
fn start_of_mainnet() {
    let data = shared_data_or_skip!();
    let blocks = read_block_file(&data.join("mainnet/blk00000.dat"), Network::Main);
    // The file is in the order of arrival: walk it from genesis.
    let by_previous: HashMap<_, _> = blocks.iter().map(|block| (block.header.prev_blockhash, block)).collect();
    let mut oracle = Oracle::new(Network::Main);
    let mut previous = BlockHash::all_zeros();
    while let Some(block) = by_previous.get(&previous) {
        oracle.connect(block);
        previous = block.block_hash();
    }
    let tip = "00000000ac08f7d984f6b36027395e654a5f1e3bb006cd9df9c60b9897ea4c40".parse().unwrap();
    assert_eq!(oracle.tip(), Some((4_521, tip)));
    assert_eq!(oracle.txs().len(), 4_583);
    // The data's own notes say 4 349: they count the genesis coinbase, which is not a coin.
    assert_eq!(oracle.coins().len(), 4_348);
    assert_eq!(oracle.supply_sats(), 4_521 * 50 * BTC, "every block claimed its subsidy and no fee was lost");
    // The first payment between two people, at height 170: 10 of 50 BTC.
    let paid = "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16".parse().unwrap();
    let [number] = oracle.tx_nums(&paid) else { panic!("one transaction") };
    let row = &oracle.txs()[number.0 as usize];
    assert_eq!((row.height, row.fee_sats), (170, 0));
    // The same value came out of a program in another language that shares nothing with this one.
    let muhash = "ef572d992f09ddbab60d3ba06c4dcc9ccc6b9374fc1c884c0695fc8bc8c6d3bd";
    assert_eq!(oracle.muhash().to_string(), muhash);
}
