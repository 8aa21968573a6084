//! The mainnet shape: its densities, and its structure judged by Bitcoin Core.

#![allow(clippy::unwrap_used, clippy::expect_used)]

mod common;

use std::collections::HashMap;

use bitcoin::consensus::deserialize;
use bitcoin::hashes::Hash;
use bitcoin::{Block, Network, OutPoint, PublicKey};
use cairn_chaingen::corefiles::{FileOptions, write_undo};
use cairn_chaingen::mainnet::{MainnetOptions, MainnetStats, P2pkShare, Signatures, mainnet_blocks, write_mainnet};
use cairn_chaingen::{Coin, Error, is_unspendable};
use common::Kernel;

#[test]
fn densities_are_those_of_the_real_chain() {
    for (seed, target) in [(1, 60_000_000), (2, 200_000_000)] {
        let stats = mainnet_blocks(&MainnetOptions::new(seed, target), |_| Ok(())).unwrap();
        let body = stats.body;
        let megabytes = body.bytes as f64 / 1e6;
        for (name, count, wanted) in
            [("txs", body.txs, 1_765.0), ("inputs", body.inputs, 4_444.0), ("outputs", body.outputs, 4_706.0)]
        {
            let off = count as f64 / megabytes / wanted - 1.0;
            assert!(off.abs() < 0.05, "{name}: {:+.1} % at {target} bytes", off * 100.0);
        }
        let reuse = body.outputs as f64 / f64::from(stats.addresses);
        assert!((2.0..2.8).contains(&reuse), "{reuse} outputs per address");
        assert!((target..target + 2_000_000).contains(&body.bytes));
        assert_eq!(stats.total.blocks - body.blocks, 2_020);
    }
}

#[test]
fn the_kernel_validates_the_structure() {
    let folder = tempfile::tempdir().unwrap();
    let options =
        MainnetOptions { signatures: Signatures::Open, empty_blocks: 10, ..MainnetOptions::new(3, 25_000_000) };
    let mut files = FileOptions::new(Network::Regtest, *b"obfuscat");
    files.max_file_size = 5_000_000;
    let stats = write_mainnet(&folder.path().join("blocks"), files, &options).unwrap();
    let kernel = Kernel::reindex(folder.path());
    assert_eq!(kernel.height() as u64 + 1, stats.total.blocks);
    assert_eq!(kernel.tip(), stats.tip.to_byte_array());
}

/// The kernel cannot check scripts with dummy signatures. So a plain ledger checks these blocks.
#[test]
fn dummy_signatures_are_the_only_fault() {
    let mut coins: HashMap<OutPoint, Coin> = HashMap::new();
    let mut kinds = HashMap::<&str, u32>::new();
    let options = MainnetOptions { empty_blocks: 3, ..MainnetOptions::new(4, 12_000_000) };
    let stats = mainnet_blocks(&options, |raw| {
        let block: Block = deserialize(raw.block).unwrap();
        assert!(block.check_merkle_root() && block.check_witness_commitment());
        assert!(block.weight().to_wu() <= 4_000_000);
        assert_eq!(block.header.prev_blockhash, raw.previous);
        if raw.height == 0 {
            assert!(raw.undo.is_none());
            return Ok(());
        }
        // Heights to 16 are single opcodes, which this reading does not know.
        if raw.height > 16 {
            assert_eq!(block.bip34_block_height().unwrap(), u64::from(raw.height));
        }
        assert!(block.header.validate_pow(block.header.target()).is_ok());
        let (mut spent, mut sigops, mut fees) = (Vec::new(), 0, 0);
        for (position, tx) in block.txdata.iter().enumerate() {
            sigops += tx.total_sigop_cost(|outpoint| coins.get(outpoint).map(|coin| coin.txout.clone()));
            let txid = tx.compute_txid();
            if position > 0 {
                let taken: Vec<Coin> =
                    tx.input.iter().map(|input| coins.remove(&input.previous_output).unwrap()).collect();
                assert!(taken.iter().all(|coin| !coin.coinbase || raw.height - coin.height >= 100));
                let sum: u64 = taken.iter().map(|coin| coin.txout.value.to_sat()).sum();
                fees += sum.checked_sub(tx.output.iter().map(|out| out.value.to_sat()).sum()).unwrap();
                spent.push(taken);
            }
            for (vout, txout) in tx.output.iter().enumerate() {
                let script = &txout.script_pubkey;
                for (name, is) in [
                    ("p2pkh", script.is_p2pkh()),
                    ("p2sh", script.is_p2sh()),
                    ("p2wpkh", script.is_p2wpkh()),
                    ("p2wsh", script.is_p2wsh()),
                    ("p2tr", script.is_p2tr()),
                    ("p2pk", script.is_p2pk()),
                    ("multisig", script.is_multisig()),
                    ("data", script.is_op_return()),
                ] {
                    *kinds.entry(name).or_default() += u32::from(is);
                }
                if !is_unspendable(script) {
                    let coin = Coin { txout: txout.clone(), height: raw.height, coinbase: position == 0 };
                    assert!(coins.insert(OutPoint { txid, vout: vout as u32 }, coin).is_none());
                }
            }
        }
        assert!(sigops <= 80_000, "{sigops}");
        let claimed: u64 = block.txdata[0].output.iter().map(|out| out.value.to_sat()).sum();
        assert_eq!(claimed, cairn_chaingen::subsidy(raw.height) + fees);
        let mut undo = Vec::new();
        write_undo(&mut undo, &spent);
        assert_eq!(raw.undo, Some(&undo[..]));
        Ok(())
    })
    .unwrap();
    assert_eq!(stats.total.blocks, stats.body.blocks + 3);
    assert!(kinds.len() == 8 && kinds.values().all(|&count| count > 50), "{kinds:?}");
}

#[test]
fn the_kernel_stores_every_block_and_stops_at_the_first_script() {
    let folder = tempfile::tempdir().unwrap();
    let options = MainnetOptions { empty_blocks: 5, ..MainnetOptions::new(5, 3_000_000) };
    let files = FileOptions::new(Network::Regtest, [0; 8]);
    let stats = write_mainnet(&folder.path().join("blocks"), files, &options).unwrap();
    let kernel = Kernel::reindex_invalid(folder.path());
    let tip = bitcoinkernel::BlockHash::new(&stats.tip.to_byte_array()).unwrap();
    let entry = kernel.manager().get_block_tree_entry(&tip).unwrap();
    assert_eq!(entry.height() as u64 + 1, stats.total.blocks);
    assert_eq!(kernel.height(), 120);
}

/// The P2PK outputs of a chain by their keys, without genesis, and its statistics.
fn shown_keys(options: &MainnetOptions) -> (HashMap<PublicKey, u64>, MainnetStats) {
    let mut keys = HashMap::new();
    let stats = mainnet_blocks(options, |raw| {
        let block: Block = deserialize(raw.block).unwrap();
        let outputs = block.txdata.iter().flat_map(|tx| &tx.output).filter(|_| raw.height > 0);
        for script in outputs.map(|output| &output.script_pubkey).filter(|script| script.is_p2pk()) {
            // Off the curve there is no such key.
            let key = PublicKey::from_slice(&script.as_bytes()[1..script.len() - 1]).unwrap();
            *keys.entry(key).or_default() += 1;
        }
        Ok(())
    })
    .unwrap();
    (keys, stats)
}

#[test]
fn the_share_of_p2pk_can_be_chosen() {
    let usual = MainnetOptions { empty_blocks: 1, ..MainnetOptions::new(9, 20_000_000) };
    for (addresses_ppm, compressed_percent) in [(0, 50), (3_000, 100), (20_000, 25), (20_000, 0)] {
        let share = P2pkShare { addresses_ppm, compressed_percent };
        let (keys, stats) = shown_keys(&MainnetOptions { p2pk: Some(share), ..usual.clone() });
        let p2pk = stats.total.p2pk;
        assert_eq!(keys.values().sum::<u64>(), p2pk.outputs);
        let compressed: u64 = keys.iter().filter(|(key, _)| key.compressed).map(|(_, count)| count).sum();
        assert_eq!(compressed, p2pk.compressed);
        // Busy addresses are not P2PK, so fewer of the outputs are than of the addresses.
        let of_outputs = p2pk.outputs * 1_000_000 / stats.total.outputs;
        let wanted = u64::from(addresses_ppm);
        assert!((wanted / 4..=wanted).contains(&of_outputs), "{of_outputs} ppm of the outputs at {share:?}");
        let off = (p2pk.compressed * 100).abs_diff(p2pk.outputs * u64::from(compressed_percent));
        assert!(off <= p2pk.outputs * 10, "{} of {} compressed at {share:?}", p2pk.compressed, p2pk.outputs);
        assert!(keys.values().all(|count| count * 20 <= p2pk.outputs.max(400)), "a key has most outputs at {share:?}");
    }
}

#[test]
fn times_are_later_than_the_median_before() {
    for seed in 0..20 {
        let mut times: Vec<u32> = Vec::new();
        let options = MainnetOptions { empty_blocks: 300, ..MainnetOptions::new(seed, 0) };
        mainnet_blocks(&options, |raw| {
            let time = u32::from_le_bytes(raw.block[68..72].try_into().unwrap());
            let mut before = times[times.len().saturating_sub(11)..].to_vec();
            before.sort_unstable();
            assert!(before.get(before.len() / 2).is_none_or(|median| time > *median), "seed {seed}, {}", raw.height);
            times.push(time);
            Ok(())
        })
        .unwrap();
        assert_eq!(times.len(), 421);
    }
}

#[test]
fn equal_options_make_equal_chains() {
    let options = MainnetOptions { empty_blocks: 1, ..MainnetOptions::new(6, 3_000_000) };
    let one = mainnet_blocks(&options, |_| Ok(())).unwrap();
    assert_eq!(one, mainnet_blocks(&options, |_| Ok(())).unwrap());
    assert_ne!(one.tip, mainnet_blocks(&MainnetOptions { seed: 7, ..options }, |_| Ok(())).unwrap().tip);
}

#[test]
fn a_small_pool_forgets_coins_and_goes_on() {
    let options = MainnetOptions { max_coins: 1_000, empty_blocks: 1, ..MainnetOptions::new(8, 60_000_000) };
    let stats = mainnet_blocks(&options, |_| Ok(())).unwrap();
    assert!(stats.body.bytes >= 60_000_000);
    let tiny = MainnetOptions { max_coins: 10, ..options.clone() };
    assert!(matches!(mainnet_blocks(&tiny, |_| Ok(())), Err(Error::Parameters(_))));
    let huge = MainnetOptions { target_bytes: u64::MAX, ..options };
    assert!(matches!(mainnet_blocks(&huge, |_| Ok(())), Err(Error::Parameters(_))));
}
