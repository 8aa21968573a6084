//! The builder refuses blocks that a miner must not make, and its tree shows the forks as they are.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::HashMap;

use bitcoin::{Amount, OutPoint, TxOut};
use cairn_chaingen::{
    BlockSpec, Chain, ChainBuilder, Coin, Error, Event, Everything, EverythingOptions, Lock, Style, everything,
    is_unspendable,
};

fn pay(sats: u64, script: &bitcoin::ScriptBuf) -> TxOut {
    TxOut { value: Amount::from_sat(sats), script_pubkey: script.clone() }
}

#[test]
fn refuses_what_consensus_forbids() {
    let mut builder = ChainBuilder::new(1);
    let script = builder.keyring().script(&Lock::P2wpkh { key: 0 }).unwrap();
    for _ in 0..100 {
        builder.mine(&BlockSpec::paying(script.clone())).unwrap();
    }
    let (first, second) = (builder.spendable()[0], builder.spendable()[1]);
    let style = Style::default();
    let subsidy = 5_000_000_000;

    let young = builder.spend(&[second], vec![pay(1, &script)], &style).unwrap();
    assert!(matches!(builder.add(young), Err(Error::Immature(coin)) if coin == second));
    let rich = builder.spend(&[first], vec![pay(subsidy + 1, &script)], &style).unwrap();
    assert!(matches!(builder.add(rich), Err(Error::Overspent { .. })));
    let twice = builder.spend(&[first, first], vec![pay(1, &script)], &style).unwrap();
    assert!(matches!(builder.add(twice), Err(Error::MissingCoin(_))));
    let heavy = bitcoin::ScriptBuf::from_bytes(vec![0x6a; 1_000_000]);
    let heavy = builder.spend(&[first], vec![pay(0, &heavy)], &style).unwrap();
    assert!(matches!(builder.add(heavy), Err(Error::BlockFull)));

    let good = builder.spend(&[first], vec![pay(subsidy - 500, &script)], &style).unwrap();
    let txid = builder.add(good.clone()).unwrap();
    assert!(matches!(builder.add(good), Err(Error::MissingCoin(_))));
    assert_eq!(builder.claimable(), subsidy + 500);

    let median = builder.median_time();
    let late = BlockSpec { time: Some(median), ..BlockSpec::paying(script.clone()) };
    assert!(matches!(builder.mine(&late), Err(Error::TimeTooOld { .. })));
    let long = BlockSpec { tag: vec![0; 99], ..BlockSpec::paying(script.clone()) };
    assert!(matches!(builder.mine(&long), Err(Error::TagTooLong(99))));
    let greedy = BlockSpec { unclaimed: subsidy + 501, ..BlockSpec::paying(script.clone()) };
    assert!(matches!(builder.mine(&greedy), Err(Error::Unclaimed { .. })));
    // The failures left the open block as it was.
    builder.mine(&BlockSpec { time: Some(median + 1), ..BlockSpec::paying(script) }).unwrap();
    assert_eq!(builder.head().block.txdata[1].compute_txid(), txid);
    assert_eq!(builder.head().block.txdata[0].output[0].value.to_sat(), subsidy + 500);
}

/// All coins after these blocks, replayed without the builder. Panics where a spent coin is not as recorded.
fn ledger<'a>(blocks: impl Iterator<Item = &'a cairn_chaingen::Mined>) -> HashMap<OutPoint, Coin> {
    let mut coins = HashMap::new();
    for mined in blocks.filter(|mined| mined.height > 0) {
        for (position, tx) in mined.block.txdata.iter().enumerate() {
            if position > 0 {
                for (input, spent) in tx.input.iter().zip(&mined.spent[position - 1]) {
                    assert_eq!(coins.remove(&input.previous_output).as_ref(), Some(spent));
                }
            }
            for (vout, txout) in tx.output.iter().enumerate() {
                if !is_unspendable(&txout.script_pubkey) {
                    let outpoint = OutPoint { txid: tx.compute_txid(), vout: vout as u32 };
                    let coin = Coin { txout: txout.clone(), height: mined.height, coinbase: position == 0 };
                    assert_eq!(coins.insert(outpoint, coin), None);
                }
            }
        }
    }
    coins
}

#[test]
fn coins_follow_the_head_through_forks() {
    let mut generator = Everything::new(4, 8, true);
    generator.grow(125).unwrap();
    for (depth, length) in [(1, 2), (20, 21), (5, 5), (60, 61), (3, 4)] {
        generator.fork(depth, length).unwrap();
        let coins = ledger(generator.chain().active().into_iter());
        let builder = generator.builder();
        assert_eq!(builder.coin_count(), coins.len());
        assert!(coins.iter().all(|(outpoint, coin)| builder.coin(outpoint) == Some(coin)));
    }
    let chain = generator.chain();
    let stale = chain.stale();
    assert_eq!(stale.iter().map(Vec::len).sum::<usize>(), chain.arrivals().len() - chain.active().len());
    for branch in &stale {
        assert!(branch.windows(2).all(|pair| pair[1].block.header.prev_blockhash == pair[0].hash()));
    }
}

fn followed(chain: &Chain) -> Vec<bitcoin::BlockHash> {
    let mut stack = Vec::new();
    for event in chain.events() {
        match event {
            Event::Connect(mined) => {
                assert_eq!(
                    stack.last().copied().unwrap_or(mined.block.header.prev_blockhash),
                    mined.block.header.prev_blockhash
                );
                stack.push(mined.hash());
            }
            Event::Disconnect(mined) => assert_eq!(stack.pop(), Some(mined.hash())),
        }
    }
    stack
}

#[test]
fn events_lead_to_the_active_chain() {
    let options = EverythingOptions { blocks: 110, max_txs: 2, forks: vec![1, 30], showpieces: false };
    let chain = everything(9, &options).unwrap();
    let active: Vec<_> = chain.active().iter().map(|mined| mined.hash()).collect();
    assert_eq!(followed(&chain), active);
    assert!(chain.events().iter().filter(|event| matches!(event, Event::Disconnect(_))).count() >= 31);
    let stale: usize = chain.stale().iter().map(Vec::len).sum();
    assert_eq!(stale + active.len(), chain.arrivals().len());
    assert_eq!(chain.active_after(51).len(), 51);
    assert_eq!(chain.active_after(usize::MAX).len(), active.len());
}

#[test]
fn a_seed_decides_everything() {
    let options = EverythingOptions { blocks: 115, ..EverythingOptions::default() };
    let (one, same, other) =
        (everything(3, &options).unwrap(), everything(3, &options).unwrap(), everything(4, &options).unwrap());
    assert_eq!(one.arrivals(), same.arrivals());
    assert_ne!(one.tip().hash(), other.tip().hash());
}
