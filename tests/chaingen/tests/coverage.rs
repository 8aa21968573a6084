//! The `everything` shape contains what it promises.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, HashMap, HashSet};

use bitcoin::{Script, Transaction, Txid};
use cairn_chaingen::{Chain, EverythingOptions, MAX_SCRIPT_SIZE, everything};

fn kind(script: &Script) -> &'static str {
    let bytes = script.as_bytes();
    match bytes {
        [65, 4, .., 0xac] if bytes.len() == 67 => "p2pk uncompressed",
        [65, 6 | 7, .., 0xac] if bytes.len() == 67 => "p2pk hybrid",
        [33, .., 0xac] if bytes.len() == 35 => "p2pk compressed",
        [0x51, 2, 0x4e, 0x73] => "p2a",
        [0x51] => "anyone",
        [] => "empty",
        [0xa8, ..] => "puzzle",
        _ if bytes.len() > MAX_SCRIPT_SIZE => "oversized",
        _ if bytes.len() == MAX_SCRIPT_SIZE => "largest",
        _ if script.is_op_return() => "op_return",
        _ if script.is_p2pkh() => "p2pkh",
        _ if script.is_p2sh() => "p2sh",
        _ if script.is_p2wpkh() => "p2wpkh",
        _ if script.is_p2wsh() => "p2wsh",
        _ if script.is_p2tr() => "p2tr",
        _ if script.is_witness_program() => "future witness",
        _ if script.is_multisig() => "multisig",
        _ => "other",
    }
}

fn chains() -> Vec<Chain> {
    (0..3).map(|seed| everything(seed, &EverythingOptions::default()).unwrap()).collect()
}

fn transactions(chain: &Chain) -> impl Iterator<Item = &Transaction> {
    chain.arrivals().iter().flat_map(|mined| mined.block.txdata.iter().skip(1))
}

#[test]
fn every_kind_of_output_and_spend() {
    let (mut made, mut spent) = (BTreeMap::new(), BTreeMap::new());
    let (mut zero_spent, mut key_path, mut script_path, mut wrapped) = (0, 0, 0, HashSet::new());
    let mut sighash = HashSet::new();
    for chain in chains() {
        for mined in chain.arrivals() {
            for tx in &mined.block.txdata {
                for output in &tx.output {
                    *made.entry(kind(&output.script_pubkey)).or_insert(0) += 1;
                }
            }
            for (tx, coins) in mined.block.txdata.iter().skip(1).zip(&mined.spent) {
                for (input, coin) in tx.input.iter().zip(coins) {
                    *spent.entry(kind(&coin.txout.script_pubkey)).or_insert(0) += 1;
                    zero_spent += usize::from(coin.txout.value.to_sat() == 0);
                    if coin.txout.script_pubkey.is_p2tr() {
                        key_path += usize::from(input.witness.len() == 1);
                        script_path += usize::from(input.witness.len() == 3);
                    }
                    if coin.txout.script_pubkey.is_p2sh() {
                        wrapped.insert(match (input.witness.len(), input.script_sig.len()) {
                            (0, _) => "multisig",
                            (2, 23) => "p2wpkh",
                            _ => "p2wsh",
                        });
                    }
                    if coin.txout.script_pubkey.is_p2wpkh() {
                        sighash.insert(*input.witness.nth(0).unwrap().last().unwrap());
                    }
                }
            }
        }
    }
    let spendable = [
        "p2pk uncompressed",
        "p2pk hybrid",
        "p2pk compressed",
        "p2a",
        "anyone",
        "puzzle",
        "p2pkh",
        "p2sh",
        "p2wpkh",
        "p2wsh",
        "p2tr",
        "future witness",
        "multisig",
    ];
    for kind in spendable {
        assert!(made.contains_key(kind) && spent.contains_key(kind), "{kind}: {made:?} {spent:?}");
    }
    for kind in ["oversized", "op_return", "empty", "other", "largest"] {
        assert!(made.contains_key(kind), "{kind}: {made:?}");
    }
    assert!(zero_spent > 10 && key_path > 10 && script_path > 10);
    assert_eq!(wrapped, HashSet::from(["multisig", "p2wpkh", "p2wsh"]));
    assert_eq!(sighash, HashSet::from([1, 2, 3, 0x81, 0x82, 0x83]));
}

#[test]
fn the_large_pieces() {
    let chain = everything(0, &EverythingOptions::default()).unwrap();
    assert!(transactions(&chain).any(|tx| tx.input.len() >= 2_000));
    assert!(transactions(&chain).any(|tx| tx.output.len() >= 3_000));
    assert!(transactions(&chain).any(|tx| tx.output.iter().any(|out| out.script_pubkey.len() > 80_000)));
    let data = |tx: &Transaction| tx.output.iter().filter(|out| out.script_pubkey.is_op_return()).count();
    assert!(transactions(&chain).any(|tx| data(tx) > 3));
    let burnt =
        |tx: &Transaction| tx.output.iter().any(|out| out.script_pubkey.is_op_return() && out.value.to_sat() > 0);
    assert!(transactions(&chain).any(burnt));
    // The longest chain of spends within one block.
    let longest = chain.arrivals().iter().map(|mined| {
        let mut depth: HashMap<Txid, u32> = HashMap::new();
        for tx in mined.block.txdata.iter().skip(1) {
            let before = tx.input.iter().filter_map(|input| depth.get(&input.previous_output.txid)).max();
            let here = before.copied().unwrap_or(0) + 1;
            depth.insert(tx.compute_txid(), here);
        }
        depth.into_values().max().unwrap_or(0)
    });
    assert!(longest.max() >= Some(1_500));
}

#[test]
fn coinbases_times_ages_and_reuse() {
    let chain = everything(0, &EverythingOptions::default()).unwrap();
    let active = chain.active();
    assert!(active.iter().any(|mined| mined.block.txdata[0].output.len() >= 40));
    assert!(active.iter().any(|mined| {
        mined.block.txdata[0].input[0].script_sig.as_bytes().windows(6).any(|part| part == b"/cairn")
    }));
    let back = active.windows(2).filter(|pair| pair[1].block.header.time < pair[0].block.header.time).count();
    assert!(back > 10);
    let without = active.iter().filter(|mined| mined.block.txdata[0].input[0].witness.is_empty()).count();
    assert!(without > 1, "blocks without a witness commitment");
    // Fewer satoshis claimed than allowed.
    let claimed: u64 =
        active.iter().skip(1).map(|m| m.block.txdata[0].output.iter().map(|o| o.value.to_sat()).sum::<u64>()).sum();
    let allowed: u64 = active.iter().skip(1).map(|m| cairn_chaingen::subsidy(m.height) + fees(m)).sum();
    assert!(claimed < allowed);

    let ages: Vec<u32> =
        active.iter().flat_map(|mined| mined.spent.iter().flatten().map(|coin| mined.height - coin.height)).collect();
    assert!(ages.contains(&0) && ages.contains(&1) && ages.iter().any(|&age| age > 150));
    let mut uses: HashMap<_, u32> = HashMap::new();
    for output in transactions(&chain).flat_map(|tx| &tx.output) {
        *uses.entry(&output.script_pubkey).or_default() += 1;
    }
    assert!(uses.values().any(|&count| count > 20));
}

fn fees(mined: &cairn_chaingen::Mined) -> u64 {
    let input: u64 = mined.spent.iter().flatten().map(|coin| coin.txout.value.to_sat()).sum();
    let output: u64 = mined.block.txdata.iter().skip(1).flat_map(|tx| &tx.output).map(|out| out.value.to_sat()).sum();
    input - output
}

#[test]
fn branches_share_transactions() {
    let chain = everything(0, &EverythingOptions::default()).unwrap();
    let txids = |tx: &Transaction| tx.compute_txid();
    let active: HashSet<Txid> =
        chain.active().iter().flat_map(|mined| mined.block.txdata.iter().skip(1).map(txids)).collect();
    let stale: HashSet<Txid> =
        chain.stale().iter().flatten().flat_map(|mined| mined.block.txdata.iter().skip(1).map(txids)).collect();
    assert!(stale.intersection(&active).count() > 5);
    assert!(stale.difference(&active).count() > 5);
}
