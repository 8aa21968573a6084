//! The demo's unconfirmed transactions: what Bitcoin Core accepts, and what its nodes would relay.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::collections::{HashMap, HashSet};

use bitcoin::{Transaction, Txid};
use cairn_chaingen::{
    BlockSpec, Chain, ChainBuilder, Error,
    demo::{self, DEMO_BLOCKS, Unconfirmed, WAITING_SPAN},
};
use common::Kernel;

fn made() -> &'static (Chain, Vec<Unconfirmed>) {
    static MADE: std::sync::OnceLock<(Chain, Vec<Unconfirmed>)> = std::sync::OnceLock::new();
    MADE.get_or_init(|| demo::chain_and_mempool(1).unwrap())
}

/// Those that still wait.
fn waiting() -> Vec<&'static Unconfirmed> {
    let (_, all) = made();
    let replaced: HashSet<Txid> = all.iter().filter_map(|made| made.replaces).collect();
    all.iter().filter(|made| !replaced.contains(&made.tx.compute_txid())).collect()
}

/// Mines transactions on the demo's tip, in as many blocks as it takes.
fn mined<'a>(txs: impl IntoIterator<Item = &'a Transaction>) -> Chain {
    let mut builder = ChainBuilder::resume(made().0.clone(), 99);
    for tx in txs {
        match builder.add(tx.clone()) {
            Err(Error::BlockFull) => {
                builder.mine(&BlockSpec::default()).unwrap();
                builder.add(tx.clone()).unwrap();
            }
            other => drop(other.unwrap()),
        }
    }
    builder.mine(&BlockSpec::default()).unwrap();
    builder.into_chain()
}

#[test]
fn the_kernel_accepts_all_of_it_in_blocks() {
    let chain = mined(waiting().into_iter().map(|made| &made.tx));
    let blocks = chain.tip().height - DEMO_BLOCKS;
    assert!((4..=6).contains(&blocks), "{blocks} blocks");
    let folder = tempfile::tempdir().unwrap();
    Kernel::open(folder.path()).accept(&chain);
}

#[test]
fn a_block_that_outgrew_its_limits_is_not_mined() {
    let mut builder = ChainBuilder::resume(made().0.clone(), 99);
    for made in waiting() {
        builder.add_unconfirmed(made.tx.clone()).unwrap();
    }
    let count = builder.open_count();
    assert!(matches!(builder.mine(&BlockSpec::default()), Err(Error::BlockFull)));
    assert_eq!((builder.open_count(), builder.head().height), (count, DEMO_BLOCKS));
    assert!(matches!(builder.add_unconfirmed(waiting()[0].tx.clone()), Err(Error::MissingCoin(_))));
}

#[test]
fn the_same_seed_makes_the_same_and_leaves_the_chain_as_it_is() {
    let (chain, all) = demo::chain_and_mempool(1).unwrap();
    assert!(all.iter().map(Unconfirmed::raw).eq(made().1.iter().map(Unconfirmed::raw)));
    assert!(all.iter().map(|made| made.seen).eq(made().1.iter().map(|made| made.seen)));
    assert_eq!(chain.tip().height, DEMO_BLOCKS);
    assert_eq!(chain.tip().hash(), demo::chain(1).unwrap().tip().hash());
}

/// Satoshis per 1,000 virtual bytes.
fn rate(made: &Unconfirmed) -> u64 {
    made.fee() * 4_000 / made.tx.weight().to_wu()
}

#[test]
fn a_node_would_relay_each() {
    for made in &made().1 {
        let (tx, txid) = (&made.tx, made.tx.compute_txid());
        assert!(tx.weight().to_wu() <= 400_000, "{txid}: {}", tx.weight());
        assert!((1_000..=62_000).contains(&rate(made)) || made.replaces.is_some(), "{txid}: {}", rate(made));
        assert!(made.sigop_cost() <= 16_000, "{txid}");
        assert!(tx.input.iter().all(|input| input.script_sig.len() <= 1_650), "{txid}");
        let mut data = 0;
        for output in &tx.output {
            let script = &output.script_pubkey;
            if script.is_op_return() {
                data += script.len();
            } else {
                assert!(output.value >= script.minimal_non_dust(), "{txid}: {}", output.value);
                assert!(script.is_p2pkh() || script.is_p2sh() || script.is_witness_program(), "{txid}: {script}");
            }
        }
        assert!(data <= 100_000, "{txid}: {data} bytes of data");
    }
}

#[test]
fn they_come_parents_first_and_hang_together_in_small_clusters() {
    let (_, all) = made();
    assert!(all.windows(2).all(|pair| pair[0].seen <= pair[1].seen));
    assert!(all.last().unwrap().seen < WAITING_SPAN);
    let (mut cluster, mut sizes): (HashMap<Txid, usize>, Vec<(u64, u64)>) = Default::default();
    let (mut depth, mut rates): (HashMap<Txid, u32>, HashMap<Txid, u64>) = Default::default();
    let (mut deepest, mut rescued) = (0, 0);
    for made in waiting() {
        let txid = made.tx.compute_txid();
        let mut parents = HashSet::new();
        for (index, input) in made.tx.input.iter().enumerate() {
            let parent = input.previous_output.txid;
            match made.birth(index) {
                Some(height) => assert!(height <= DEMO_BLOCKS && !cluster.contains_key(&parent)),
                None => assert!(cluster.contains_key(&parent) && parents.insert(parent) || parents.contains(&parent)),
            }
            let coin = &made.spent[index];
            assert!(!coin.coinbase || coin.height + 100 <= DEMO_BLOCKS + 1, "{txid} spends an immature coin");
        }
        let mut joined = (1, made.tx.vsize() as u64);
        for old in parents.iter().map(|parent| cluster[parent]).collect::<HashSet<_>>() {
            joined = (joined.0 + sizes[old].0, joined.1 + sizes[old].1);
            cluster.values_mut().filter(|of| **of == old).for_each(|of| *of = sizes.len());
        }
        cluster.insert(txid, sizes.len());
        sizes.push(joined);
        assert!(joined.0 <= 25 && joined.1 <= 101_000, "{txid}: {joined:?}");
        depth.insert(txid, 1 + parents.iter().map(|parent| depth[parent]).max().unwrap_or(0));
        deepest = deepest.max(depth[&txid]);
        rescued += usize::from(parents.iter().any(|parent| rates[parent] * 20 < rate(made)));
        rates.insert(txid, rate(made));
    }
    assert!(deepest >= 5, "chains of {deepest}");
    assert!(rescued >= 5, "{rescued} parents paid for by children");
}

#[test]
fn some_are_replaced() {
    let (_, all) = made();
    let by_id: HashMap<Txid, &Unconfirmed> = all.iter().map(|made| (made.tx.compute_txid(), made)).collect();
    let replacements: Vec<&Unconfirmed> = all.iter().filter(|made| made.replaces.is_some()).collect();
    assert_eq!(replacements.len(), 3);
    for new in replacements {
        let (id, old) = by_id.get_key_value(&new.replaces.unwrap()).unwrap();
        assert!(old.seen < new.seen && old.tx.is_explicitly_rbf());
        assert!(new.fee() >= old.fee() + new.tx.vsize() as u64);
        assert!(new.tx.input.iter().any(|a| old.tx.input.iter().any(|b| a.previous_output == b.previous_output)));
        assert!(all.iter().all(|made| made.tx.input.iter().all(|input| input.previous_output.txid != *id)));
    }
}

#[test]
fn those_said_to_have_unconfirmed_transactions_have_some() {
    for actor in demo::actors().unwrap() {
        let script = actor.addresses[0].script_pubkey();
        let mut net = 0;
        for made in waiting() {
            let outputs = made.tx.output.iter().filter(|output| output.script_pubkey == script);
            net += outputs.map(|output| output.value.to_sat() as i64).sum::<i64>();
            let coins = made.spent.iter().filter(|coin| coin.txout.script_pubkey == script);
            net -= coins.map(|coin| coin.txout.value.to_sat() as i64).sum::<i64>();
        }
        assert_eq!(net != 0, actor.has_unconfirmed, "{}", actor.name);
    }
    let texts = waiting().iter().flat_map(|made| &made.tx.output).filter(|o| o.script_pubkey.is_op_return()).count();
    assert!(texts > 30, "{texts} texts");
}
