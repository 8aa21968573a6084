//! Real mainnet blocks against what Bitcoin Core says of them. Skipped, by name, where the data is not there.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod common;

use std::{collections::HashMap, fs, io::Read, path::Path};

use bitcoin::{Amount, ScriptBuf, TxOut, hashes::Hash};
use cairn_chaingen::{Coin, corefiles::write_undo};
use cairn_model::{Network, is_unspendable};
use cairn_sources::{BlockFiles, DecodeErrorKind, Decoded, decode_block, decode_undo};
use common::{anyone_can_pay, shared_data};

/// Name without extension, and bytes.
fn blocks(data: &Path) -> Vec<(String, Vec<u8>)> {
    let mut blocks: Vec<_> = fs::read_dir(data.join("mainnet/blocks"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "bin"))
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap()))
        .collect();
    blocks.sort();
    assert!(blocks.len() >= 6);
    blocks
}

#[test]
fn mainnet_0_to_4521() {
    let Some(data) = shared_data("mainnet_0_to_4521") else { return };
    // Other files lie beside it there.
    let dir = tempfile::tempdir().unwrap();
    fs::copy(data.join("mainnet/blk00000.dat"), dir.path().join("blk00000.dat")).unwrap();
    let files = BlockFiles::open(dir.path(), Network::Main).unwrap();
    let survey = files.survey(&|_| {}).unwrap();
    assert_eq!(survey.len(), 4522);
    let tip = survey.tip().unwrap();
    assert_eq!(tip.hash.to_string(), "00000000ac08f7d984f6b36027395e654a5f1e3bb006cd9df9c60b9897ea4c40");
    assert_eq!(tip.first_tx.0 + u64::from(tip.tx_count), 4583);
    // Every block has difficulty 1.
    assert_eq!(survey.work(), 4522 * 0x1_0001_0001);
    let stats = survey.stats();
    assert_eq!((stats.stale_blocks, stats.orphan_blocks, stats.damaged, stats.half_written), (0, 0, 0, 0));
    assert_eq!((stats.missing_undo, stats.missing_undo_files), (4521, 1));
    let (mut raw, mut previous) = (vec![], cairn_model::BlockHash::default());
    let mut unspent = HashMap::new();
    for block in survey.blocks(0..5000) {
        assert_eq!(block.previous, previous);
        previous = block.hash;
        let decoded = files.read_decoded(&block, 8, &mut raw).unwrap();
        for tx in &decoded.txs {
            for prevout in &decoded.prevouts[tx.inputs.start as usize..tx.inputs.end as usize] {
                assert!(unspent.remove(&(prevout.txid, prevout.vout)).is_some(), "{prevout:?}");
            }
            for (vout, i) in tx.outputs.clone().enumerate() {
                unspent.insert((tx.txid, vout as u32), decoded.outputs[i as usize].value);
            }
        }
    }
    assert_eq!(unspent.len(), 4349);
    // Genesis included, which is not a coin: these are the outputs that nothing spends.
    assert_eq!(unspent.values().sum::<u64>(), 4522 * 5_000_000_000);
    assert!(BlockFiles::open(dir.path(), Network::Testnet3).unwrap_err().to_string().contains("blocks of main"));
}

/// As rust-bitcoin reads the block: every number and script, by another parser.
fn check_against_rust_bitcoin(raw: &[u8], decoded: &Decoded) {
    let block: bitcoin::Block = bitcoin::consensus::deserialize(raw).unwrap();
    assert_eq!(decoded.hash.0, block.block_hash().to_byte_array());
    assert_eq!(decoded.weight(), block.weight().to_wu());
    assert_eq!(decoded.txs.len(), block.txdata.len());
    assert_eq!(decoded.coinbase_script, block.txdata[0].input[0].script_sig.to_bytes());
    for (i, (tx, theirs)) in decoded.txs.iter().zip(&block.txdata).enumerate() {
        assert_eq!(tx.txid.0, theirs.compute_txid().to_byte_array());
        assert_eq!((tx.size as usize, tx.base_size as usize), (theirs.total_size(), theirs.base_size()));
        assert_eq!(tx.outputs.len(), theirs.output.len());
        for (j, output) in tx.outputs.clone().zip(&theirs.output) {
            let ours = &decoded.outputs[j as usize];
            assert_eq!(ours.value, output.value.to_sat());
            assert_eq!(decoded.script(ours), output.script_pubkey.as_bytes());
            assert_eq!(ours.spendable, !is_unspendable(output.script_pubkey.as_bytes()));
        }
        if i == 0 {
            assert!(tx.inputs.is_empty());
            continue;
        }
        assert_eq!(tx.inputs.len(), theirs.input.len());
        for (j, input) in tx.inputs.clone().zip(&theirs.input) {
            assert_eq!(decoded.flags[j as usize].anyone_can_pay, anyone_can_pay(input));
            let ours = decoded.prevouts[j as usize];
            assert_eq!(
                (ours.txid.0, ours.vout),
                (input.previous_output.txid.to_byte_array(), input.previous_output.vout)
            );
        }
    }
}

#[test]
fn single_blocks_by_two_parsers() {
    let Some(data) = shared_data("single_blocks_by_two_parsers") else { return };
    for (name, raw) in blocks(&data) {
        let decoded = decode_block(&raw, 8).unwrap();
        assert!(name.ends_with(&decoded.hash.to_string()));
        check_against_rust_bitcoin(&raw, &decoded);
    }
}

#[test]
fn single_blocks_as_core_prints_them() {
    let Some(data) = shared_data("single_blocks_as_core_prints_them") else { return };
    let mut compared = 0;
    for (name, raw) in blocks(&data) {
        let Ok(gz) = fs::read(data.join(format!("mainnet/blocks/{name}.json.gz"))) else { continue };
        let mut text = String::new();
        flate2::read::GzDecoder::new(&gz[..]).read_to_string(&mut text).unwrap();
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        if json["result"].is_object() {
            json = json["result"].take();
        }
        let decoded = decode_block(&raw, 8).unwrap();
        assert_eq!(json["hash"], decoded.hash.to_string());
        assert_eq!(json["size"], decoded.size);
        assert_eq!(json["weight"], decoded.weight());
        assert_eq!(json["strippedsize"], (decoded.weight() - u64::from(decoded.size)) / 3);
        assert_eq!(json["nTx"], decoded.txs.len());
        for (tx, theirs) in decoded.txs.iter().zip(json["tx"].as_array().unwrap()) {
            assert_eq!(theirs["txid"], tx.txid.to_string());
            assert_eq!((&theirs["size"], &theirs["vsize"]), (&tx.size.into(), &tx.vsize().into()));
            assert_eq!(theirs["weight"], tx.weight());
            for (i, output) in tx.outputs.clone().zip(theirs["vout"].as_array().unwrap()) {
                let ours = &decoded.outputs[i as usize];
                assert_eq!(ours.value, (output["value"].as_f64().unwrap() * 1e8).round() as u64);
                assert_eq!(output["scriptPubKey"]["hex"], hex::encode(decoded.script(ours)));
            }
            for (i, input) in tx.inputs.clone().zip(theirs["vin"].as_array().unwrap()) {
                let ours = decoded.prevouts[i as usize];
                assert_eq!(input["txid"], ours.txid.to_string());
                assert_eq!(input["vout"], ours.vout);
            }
        }
        compared += decoded.txs.len();
    }
    assert!(compared > 300, "{compared}");
}

#[test]
fn real_coins_survive_undo_data() {
    let Some(data) = shared_data("real_coins_survive_undo_data") else { return };
    let mut compared = 0;
    for (name, raw) in blocks(&data) {
        let Ok(mut csv) = csv::Reader::from_path(data.join(format!("mainnet/blocks/{name}.csv"))) else { continue };
        let decoded = decode_block(&raw, 8).unwrap();
        let mut rows = HashMap::new();
        for row in csv.records() {
            let row = row.unwrap();
            let coin = Coin {
                txout: TxOut {
                    value: Amount::from_sat(row[4].parse().unwrap()),
                    script_pubkey: ScriptBuf::from_hex(&row[5]).unwrap(),
                },
                height: row[6].parse().unwrap(),
                coinbase: &row[7] == "1",
            };
            rows.insert((row[2].to_owned(), row[3].parse::<u32>().unwrap()), coin);
        }
        let spent: Vec<Vec<Coin>> = decoded.txs[1..]
            .iter()
            .map(|tx| {
                let prevouts = &decoded.prevouts[tx.inputs.start as usize..tx.inputs.end as usize];
                prevouts.iter().map(|p| rows[&(p.txid.to_string(), p.vout)].clone()).collect()
            })
            .collect();
        let mut bytes = Vec::new();
        write_undo(&mut bytes, &spent);
        let undo = decode_undo(&bytes).unwrap();
        assert!(undo.fits(&decoded) && undo.heights_known());
        for (coin, made) in undo.coins.iter().zip(spent.iter().flatten()) {
            assert_eq!(
                (coin.value, coin.birth, coin.coinbase),
                (made.txout.value.to_sat(), made.height, made.coinbase)
            );
            assert_eq!(undo.script(coin), made.txout.script_pubkey.as_bytes());
        }
        compared += undo.coins.len();
    }
    assert!(compared > 5_000, "{compared}");
}

#[test]
fn every_flipped_byte_of_a_real_block_is_noticed() {
    let Some(data) = shared_data("every_flipped_byte_of_a_real_block_is_noticed") else { return };
    let (_, raw) = blocks(&data).into_iter().find(|(name, _)| name.starts_with("057043")).unwrap();
    let clean = decode_block(&raw, 8).unwrap();
    for i in (0..raw.len()).step_by(7) {
        let mut bytes = raw.clone();
        bytes[i] ^= 1 << (i % 8);
        match decode_block(&bytes, 8) {
            Ok(other) => assert!(i < 80 && other.hash != clean.hash, "byte {i}"),
            Err(error) if (36..68).contains(&i) => assert_eq!(error.kind, DecodeErrorKind::MerkleMismatch),
            Err(_) => {}
        }
        assert!(decode_block(&raw[..i], 8).is_err());
    }
    // A witness, in a block that has some.
    let (_, mut raw) = blocks(&data).into_iter().find(|(name, _)| name.starts_with("866342")).unwrap();
    let decoded = decode_block(&raw, 8).unwrap();
    let (at, _) = decoded.txs.iter().enumerate().fold((raw.len(), false), |(at, found), (i, tx)| {
        let from = raw.len() - decoded.txs[i..].iter().map(|t| t.size as usize).sum::<usize>();
        if !found && i > 0 && tx.size > tx.base_size { (from + tx.size as usize - 5, true) } else { (at, found) }
    });
    raw[at] ^= 1;
    assert_eq!(decode_block(&raw, 8).unwrap_err().kind, DecodeErrorKind::WitnessMismatch);
}
