//! Cases that mainnet has once or twice: the coinbase of genesis, two pairs of equal coinbases (BIP 30), scripts that
//! no coin set has.

use bitcoin::{ScriptBuf, hashes::Hash};
use cairn_model::{Outpoint, TxNum, Txid};
use cairn_pipeline::{Driver, NoProgress, PipelineError};
use cairn_tables::{coins::Coins, journal::OverwrittenCoins};
use cairn_testkit::temp_dir;

use crate::{compare::assert_equal, forge::*, support::*};

/// Both drivers, unwinding, rebuilding: all as the oracle has it.
fn check(forge: &Forge, what: &str) {
    let blocks = temp_dir();
    forge.write(blocks.path());
    let mut oracle = forge.oracle();
    let mut bulk = Index::of(blocks.path(), Driver::Bulk);
    bulk.view(|view| assert_equal(view, &oracle));
    bulk.assert_sound();
    assert_eq!(bulk.view(muhash), oracle.muhash().to_string(), "{what}");
    let mut tip = Index::of(blocks.path(), Driver::Tip);
    let sums = bulk.sums();
    tip.sums().assert_equal(&sums, what);
    for stage in rebuildable() {
        bulk.engine.reindex(&[stage], &NoProgress).unwrap();
    }
    bulk.sums().assert_equal(&sums, &format!("{what}, rebuilt"));
    std::fs::remove_file(blocks.path().join("rev00000.dat")).unwrap();
    Index::of(blocks.path(), Driver::Bulk).sums().assert_equal(&sums, &format!("{what}, without undo data"));
    for height in (0..forge.blocks.len() as u32 - 1).rev() {
        for index in [&mut bulk, &mut tip] {
            index.engine.unwind(height, &NoProgress).unwrap();
        }
        oracle.truncate(height as usize + 1);
        bulk.view(|view| assert_equal(view, &oracle));
        let straight = Index::up_to(blocks.path(), Driver::Bulk, height).sums();
        bulk.sums().assert_equal(&straight, &format!("{what}, unwound to {height}"));
        tip.sums().assert_equal(&straight, &format!("{what}, unwound to {height}"));
    }
    bulk.sync(blocks.path(), Driver::Auto);
    bulk.sums().assert_equal(&sums, &format!("{what}, unwound and synced"));
}

fn muhash(view: &cairn_reader::View<'_>) -> String {
    cairn_pipeline::verify::audit(view, &NoProgress).unwrap().muhash.to_string()
}

/// Rows of `overwritten`: height and coins.
fn overwritten(forge: &Forge) -> Vec<(u32, usize)> {
    let blocks = temp_dir();
    forge.write(blocks.path());
    let index = Index::of(blocks.path(), Driver::Bulk);
    index.view(|view| {
        let rows = view.scan::<OverwrittenCoins>(None).unwrap();
        rows.map(|row| row.map(|(height, row)| (height, row.0.len())).unwrap()).collect()
    })
}

const SUBSIDY: u64 = 50 * 100_000_000;

#[test]
fn the_coinbase_of_genesis_is_no_coin() {
    let mut forge = Forge::new();
    // Its script is paid again: that one is a coin like any other, and the first that the index has of it.
    let script_of_genesis = forge.blocks[0].txdata[0].output[0].script_pubkey.clone();
    let first = coinbase(1, vec![pay(SUBSIDY, script_of_genesis.clone())]);
    forge.block(vec![first.clone()]);
    forge.block(vec![coinbase(2, vec![pay(1, script(2))]), spend(&[out(&first, 0)], vec![pay(7, script(3))])]);
    check(&forge, "genesis");

    let blocks = temp_dir();
    forge.write(blocks.path());
    let index = Index::of(blocks.path(), Driver::Bulk);
    index.view(|view| {
        assert!(view.get::<Coins>(&Outpoint { tx_num: TxNum(0), vout: 0 }).unwrap().is_none());
        let totals = view.scripts().find(script_of_genesis.as_bytes()).unwrap().unwrap().totals;
        assert_eq!((totals.funded_count, totals.spent_count, totals.first.tx_num), (1, 1, TxNum(1)));
    });

    // Nobody can spend it, whatever a block says.
    let genesis = forge.blocks[0].txdata[0].clone();
    let mut thief = forge.back_to(3);
    thief.block(vec![coinbase(9, vec![pay(1, script(9))]), spend(&[out(&genesis, 0)], vec![pay(1, script(4))])]);
    for driver in [Driver::Bulk, Driver::Tip] {
        let blocks = temp_dir();
        thief.write(blocks.path());
        let mut index = Index::new(&facts(blocks.path()));
        let options = cairn_pipeline::SyncOptions { driver, ..Default::default() };
        let stolen = sync_with(&mut index.engine, blocks.path(), &options, &NoProgress);
        let txid = Txid(genesis.compute_txid().to_byte_array());
        let expected = |e: &PipelineError| matches!(e, PipelineError::MissingCoin { height: 3, txid: t, vout: 0, .. } if *t == txid);
        assert!(stolen.as_ref().is_err_and(expected), "{driver:?}: {stolen:?}");
    }
}

/// Two coinbases with one txid; `between` goes into the blocks between them, `after` behind the second.
fn twins(outputs: Vec<bitcoin::TxOut>, between: &[&[u32]], after: &[&[u32]]) -> Forge {
    let mut forge = Forge::new();
    forge.empty(3);
    let twin = coinbase(1_000, outputs);
    forge.block(vec![twin.clone()]);
    let mut tag = 5_000;
    let mut spending = |forge: &mut Forge, spends: &[&[u32]]| {
        for vouts in spends {
            tag += 1;
            let inputs: Vec<_> = vouts.iter().map(|vout| out(&twin, *vout)).collect();
            let tx = spend(&inputs, vec![pay(10, script(tag)), pay(3, script(1_000))]);
            forge.block(vec![coinbase(tag, vec![pay(SUBSIDY, script(tag % 3))]), tx]);
        }
        forge.empty(1);
    };
    spending(&mut forge, between);
    forge.block(vec![twin.clone()]);
    spending(&mut forge, after);
    forge
}

fn three_outputs() -> Vec<bitcoin::TxOut> {
    vec![pay(100, script(1_000)), pay(200, script(1_001)), pay(300, script(1_000))]
}

#[test]
fn an_equal_coinbase_overwrites_what_is_left() {
    for (between, gone) in
        [(&[][..], Some(3)), (&[&[1u32][..]][..], Some(2)), (&[&[0][..], &[2]], Some(1)), (&[&[2, 1, 0]], None)]
    {
        for after in [&[][..], &[&[0u32][..]], &[&[2, 0, 1]], &[&[1], &[0], &[2]]] {
            let forge = twins(three_outputs(), between, after);
            let second = 6 + between.len() as u32;
            let expected: Vec<_> = gone.map(|n| (second, n)).into_iter().collect();
            assert_eq!(overwritten(&forge), expected, "{between:?}, then {after:?}");
            check(&forge, &format!("spent between: {between:?}, after: {after:?}"));
        }
    }
}

#[test]
fn as_on_mainnet_with_one_output() {
    let mut forge = twins(vec![pay(SUBSIDY, script(77))], &[], &[]);
    // The pairs of mainnet lay inside each other.
    let other = coinbase(2_000, vec![pay(SUBSIDY, script(78))]);
    forge.block(vec![other.clone()]);
    forge.empty(2);
    forge.block(vec![other.clone()]);
    forge.block(vec![coinbase(3_000, vec![pay(5, script(1))]), spend(&[out(&other, 0)], vec![pay(1, script(5))])]);
    check(&forge, "two pairs");
}

#[test]
fn three_times_the_same_coinbase() {
    let mut forge = Forge::new();
    let same = coinbase(1, three_outputs());
    forge.block(vec![same.clone()]);
    forge.block(vec![coinbase(2, vec![pay(1, script(2))]), spend(&[out(&same, 1)], vec![pay(1, script(3))])]);
    forge.block(vec![same.clone()]);
    forge.block(vec![same.clone()]);
    forge.block(vec![
        coinbase(4, vec![pay(1, script(2))]),
        spend(&[out(&same, 1), out(&same, 0)], vec![pay(1, script(3))]),
    ]);
    forge.block(vec![same.clone()]);
    assert_eq!(overwritten(&forge), [(3, 2), (4, 3), (6, 1)]);
    check(&forge, "three times");
}

#[test]
fn a_repeated_spend_of_a_repeated_coinbase() {
    // The second coin is spent by the very same transaction as the first: a txid that is not a coinbase's, twice.
    let mut forge = Forge::new();
    let same = coinbase(1, vec![pay(SUBSIDY, script(1))]);
    let tx = spend(&[out(&same, 0)], vec![pay(50, script(2)), pay(60, script(1))]);
    let tail = spend(&[out(&tx, 0), out(&tx, 1)], vec![pay(40, script(3))]);
    for (tag, spent_between) in [(10, true), (20, false)] {
        forge.block(vec![same.clone()]);
        let txs = if spent_between { vec![tx.clone(), tail.clone()] } else { vec![tx.clone()] };
        forge.block([vec![coinbase(tag, vec![pay(1, script(9))])], txs].concat());
        forge.empty(1);
    }
    check(&forge, "repeated spend");
}

#[test]
fn scripts_outside_the_coin_set() {
    let longest = |n: usize| ScriptBuf::from_bytes(vec![0x51; n]);
    let op_return = ScriptBuf::from_bytes(vec![0x6a]);
    let mut forge = Forge::new();
    let funding = coinbase(1, vec![pay(5, op_return.clone()), pay(SUBSIDY - 9, script(1)), pay(4, longest(10_001))]);
    forge.block(vec![funding.clone()]);
    let tx = spend(
        &[out(&funding, 1)],
        vec![
            pay(0, longest(10_000)),
            pay(0, ScriptBuf::new()),
            pay(0, longest(10_001)),
            pay(3, op_return.clone()),
            pay(7, ScriptBuf::from_bytes([vec![0x6a, 0x4c, 200], vec![7; 200]].concat())),
            pay(1_000, longest(10_000)),
        ],
    );
    forge.block(vec![coinbase(2, vec![pay(1, ScriptBuf::new())]), tx.clone()]);
    let again = spend(&[out(&tx, 0), out(&tx, 5), out(&tx, 1)], vec![pay(1_000, script(2))]);
    forge.block(vec![coinbase(3, vec![pay(1, script(2))]), again]);
    check(&forge, "outside the coin set");
    let blocks = temp_dir();
    forge.write(blocks.path());
    Index::of(blocks.path(), Driver::Bulk).view(|view| {
        assert!(view.scripts().find(op_return.as_bytes()).unwrap().is_none());
        assert!(view.scripts().find(longest(10_001).as_bytes()).unwrap().is_none());
        assert!(view.scripts().find(longest(10_000).as_bytes()).unwrap().is_some());
    });

    let mut thief = forge.back_to(2);
    thief.block(vec![coinbase(2, vec![pay(1, script(1))]), spend(&[out(&funding, 0)], vec![pay(1, script(2))])]);
    for driver in [Driver::Bulk, Driver::Tip] {
        let blocks = temp_dir();
        thief.write(blocks.path());
        let mut index = Index::new(&facts(blocks.path()));
        let options = cairn_pipeline::SyncOptions { driver, ..Default::default() };
        let stolen = sync_with(&mut index.engine, blocks.path(), &options, &NoProgress);
        assert!(matches!(stolen, Err(PipelineError::MissingCoin { height: 2, .. })), "{driver:?}: {stolen:?}");
    }
}
