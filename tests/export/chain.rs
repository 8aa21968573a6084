//! Rows of blocks and of the coin set, against the ledger in plain maps.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Address, OutPoint, hashes::Hash};
use cairn_export::{ExportOptions, Exported, Grid};
use cairn_model::{TxNum, day_of, is_unspendable};
use cairn_support::cospending::clusters_of;
use cairn_testkit::Oracle;
use parquet::record::Row;
use sha2::{Digest, Sha256};

use crate::support::*;

fn tx_num(row: &Row, column: &str) -> TxNum {
    TxNum(number(row, column).try_into().unwrap())
}

/// The first bytes of a script's id, which say nothing of collisions: these chains have none.
fn id_of(script: &bitcoin::Script) -> Vec<u8> {
    let mut id = Sha256::digest(script.as_bytes())[..8].to_vec();
    id.push(0);
    id
}

/// The transactions of a block with their numbers.
fn of_block(oracle: &Oracle, height: u32) -> impl Iterator<Item = (TxNum, &bitcoin::Transaction)> {
    let first = oracle.headers()[height as usize].first_tx.0;
    let txs = &oracle.blocks()[height as usize].txdata;
    (first..).map(TxNum).zip(txs)
}

fn shown(hash: [u8; 32]) -> Vec<u8> {
    hash.into_iter().rev().collect()
}

fn check_blocks(oracle: &Oracle, rows: &[Row]) {
    assert_eq!(rows.len(), oracle.blocks().len());
    for ((height, block), row) in (0u32..).zip(oracle.blocks()).zip(rows) {
        let header = &oracle.headers()[height as usize];
        let fees: u64 = of_block(oracle, height).map(|(num, _)| oracle.txs()[num.0 as usize].fee_sats).sum();
        let inputs: usize = block.txdata.iter().skip(1).map(|tx| tx.input.len()).sum();
        let outputs = || block.txdata.iter().flat_map(|tx| &tx.output);
        let gone: Vec<_> = oracle.overwritten().iter().filter(|(at, _)| *at == height).collect();
        assert_eq!(bytes(row, "hash"), shown(block.block_hash().to_byte_array()));
        assert_eq!(bytes(row, "previous_hash"), shown(block.header.prev_blockhash.to_byte_array()));
        assert_eq!(bytes(row, "merkle_root"), shown(block.header.merkle_root.to_byte_array()));
        assert_eq!(bytes(row, "coinbase_script"), block.txdata[0].input[0].script_sig.as_bytes());
        for (column, expected) in [
            ("height", i128::from(height)),
            ("time", i128::from(block.header.time) * 1_000_000),
            ("monotone_time", i128::from(header.monotone_time) * 1_000_000),
            ("day", day_of(header.monotone_time).into()),
            ("version", (block.header.version.to_consensus() as u32).into()),
            ("bits", block.header.bits.to_consensus().into()),
            ("nonce", block.header.nonce.into()),
            ("first_tx_num", header.first_tx.0.into()),
            ("transactions", block.txdata.len() as i128),
            ("inputs", inputs as i128),
            ("outputs", outputs().count() as i128),
            ("size", block.total_size() as i128),
            ("weight", block.weight().to_wu().into()),
            ("subsidy_sats", cairn_chaingen::subsidy(height).into()),
            ("fee_sats", fees.into()),
            ("coinbase_sats", block.txdata[0].output.iter().map(|out| i128::from(out.value.to_sat())).sum()),
            ("output_sats", outputs().map(|out| i128::from(out.value.to_sat())).sum()),
            ("overwritten_coins", gone.len() as i128),
            ("overwritten_sats", gone.iter().map(|(_, coin)| i128::from(coin.value_sats)).sum()),
        ] {
            assert_eq!(number(row, column), expected, "{column} of block {height}");
        }
    }
}

fn check_transactions(oracle: &Oracle, made: &[Row], inputs: &[Row], outputs: &[Row]) {
    let (mut made, mut inputs, mut outputs) = (made.iter(), inputs.iter(), outputs.iter());
    for height in 0..oracle.blocks().len() as u32 {
        let header = &oracle.headers()[height as usize];
        for (position, (num, tx)) in of_block(oracle, height).enumerate() {
            let row = made.next().unwrap();
            let spent = oracle.spent(num);
            let input: u64 = spent.iter().map(|coin| coin.value_sats).sum();
            assert_eq!(bytes(row, "txid"), shown(tx.compute_txid().to_byte_array()));
            for (column, expected) in [
                ("tx_num", i128::from(num.0)),
                ("height", height.into()),
                ("position", position as i128),
                ("time", i128::from(header.header.time) * 1_000_000),
                ("day", day_of(header.monotone_time).into()),
                ("size", tx.total_size() as i128),
                ("vsize", tx.vsize() as i128),
                ("weight", tx.weight().to_wu().into()),
                ("inputs", spent.len() as i128),
                ("outputs", tx.output.len() as i128),
                ("input_sats", input.into()),
                ("output_sats", tx.output.iter().map(|out| i128::from(out.value.to_sat())).sum()),
                ("fee_sats", oracle.txs()[num.0 as usize].fee_sats.into()),
            ] {
                assert_eq!(number(row, column), expected, "{column} of transaction {}", num.0);
            }
            for ((vin, coin), source) in spent.iter().enumerate().zip(&tx.input) {
                let row = inputs.next().unwrap();
                let age = header.monotone_time - oracle.monotone_time(coin.height);
                for (column, expected) in [
                    ("tx_num", i128::from(num.0)),
                    ("vin", vin as i128),
                    ("height", height.into()),
                    ("day", day_of(header.monotone_time).into()),
                    ("prev_tx_num", coin.tx_num.0.into()),
                    ("prev_vout", source.previous_output.vout.into()),
                    ("value_sats", coin.value_sats.into()),
                    ("birth_height", coin.height.into()),
                    ("age_seconds", age.into()),
                ] {
                    assert_eq!(number(row, column), expected, "{column} of input {vin} of {}", num.0);
                }
                assert_eq!(bytes(row, "script_id"), id_of(&coin.script));
                assert_eq!(text(row, "script_type"), cairn_domain::script_type(coin.script.as_bytes()).name());
                assert_eq!(flag(row, "is_coinbase"), coin.coinbase);
            }
            for (vout, out) in tx.output.iter().enumerate() {
                let row = outputs.next().unwrap();
                for (column, expected) in [
                    ("tx_num", i128::from(num.0)),
                    ("vout", vout as i128),
                    ("height", height.into()),
                    ("day", day_of(header.monotone_time).into()),
                    ("value_sats", out.value.to_sat().into()),
                ] {
                    assert_eq!(number(row, column), expected, "{column} of output {vout} of {}", num.0);
                }
                assert_eq!(bytes(row, "script"), out.script_pubkey.as_bytes());
                assert_eq!(text(row, "script_type"), cairn_domain::script_type(out.script_pubkey.as_bytes()).name());
                match height == 0 || is_unspendable(out.script_pubkey.as_bytes()) {
                    true => assert!(is_null(row, "script_id")),
                    false => assert_eq!(bytes(row, "script_id"), id_of(&out.script_pubkey)),
                }
            }
        }
    }
    assert!(made.next().is_none() && inputs.next().is_none() && outputs.next().is_none());
}

fn check_coins(oracle: &Oracle, rows: &[Row]) {
    let mut coins: Vec<(TxNum, OutPoint)> = oracle.coins().iter().map(|(at, coin)| (coin.tx_num, *at)).collect();
    coins.sort_unstable_by_key(|(num, at)| (*num, at.vout));
    assert_eq!(rows.len(), coins.len());
    for ((num, at), row) in coins.into_iter().zip(rows) {
        let coin = &oracle.coins()[&at];
        assert_eq!((tx_num(row, "tx_num"), number(row, "vout")), (num, at.vout.into()));
        assert_eq!(number(row, "value_sats"), coin.value_sats.into());
        assert_eq!(number(row, "height"), coin.height.into());
        assert_eq!(number(row, "day"), day_of(oracle.monotone_time(coin.height)).into());
        assert_eq!(bytes(row, "script_id"), id_of(&coin.script));
        assert_eq!(text(row, "script_type"), cairn_domain::script_type(coin.script.as_bytes()).name());
        assert_eq!(flag(row, "is_coinbase"), coin.coinbase);
    }
    let sum: i128 = rows.iter().map(|row| number(row, "value_sats")).sum();
    assert_eq!(sum, oracle.supply_sats().into(), "coins are the supply");
}

fn check_scripts(oracle: &Oracle, rows: &[Row]) {
    assert_eq!(rows.len(), oracle.all_totals().len());
    let mut last = (0, -1);
    for row in rows {
        let script = bitcoin::ScriptBuf::from_bytes(bytes(row, "script"));
        let totals = oracle.totals(&script).unwrap();
        let height_of = |num: TxNum| oracle.txs()[num.0 as usize].height;
        let day = |num: TxNum| day_of(oracle.monotone_time(height_of(num)));
        let first = &oracle.blocks()[height_of(totals.first) as usize];
        let tx =
            &first.txdata[(totals.first.0 - oracle.headers()[height_of(totals.first) as usize].first_tx.0) as usize];
        let vout = tx.output.iter().position(|out| out.script_pubkey == script).unwrap();
        assert_eq!(bytes(row, "script_id"), id_of(&script));
        assert_eq!(text(row, "script_type"), cairn_domain::script_type(script.as_bytes()).name());
        match Address::from_script(&script, bitcoin::Network::Regtest) {
            Ok(address) => assert_eq!(text(row, "address"), address.to_string()),
            Err(_) => assert!(is_null(row, "address")),
        }
        for (column, expected) in [
            ("received_sats", i128::from(totals.funded_sats)),
            ("sent_sats", totals.spent_sats.into()),
            ("balance_sats", totals.balance_sats().into()),
            ("received_coins", totals.funded_count.into()),
            ("sent_coins", totals.spent_count.into()),
            ("transactions", totals.tx_count.into()),
            ("first_tx_num", totals.first.0.into()),
            ("first_vout", vout as i128),
            ("first_day", day(totals.first).into()),
            ("last_tx_num", totals.last.0.into()),
            ("last_height", height_of(totals.last).into()),
            ("last_day", day(totals.last).into()),
        ] {
            assert_eq!(number(row, column), expected, "{column} of {script}");
        }
        let at = (number(row, "first_tx_num"), number(row, "first_vout"));
        assert!(at > last, "sorted, each once");
        last = at;
    }
}

fn check_sums(oracle: &Oracle, out: &std::path::Path, made: &Exported) {
    let sum = |dataset: &str, column: &str| -> i128 {
        Rows::read(out, made, dataset).0.iter().map(|row| number(row, column)).sum()
    };
    let outputs: i128 = Rows::read(out, made, "outputs")
        .0
        .iter()
        .filter(|row| !is_null(row, "script_id"))
        .map(|row| number(row, "value_sats"))
        .sum();
    let gone = sum("blocks", "overwritten_sats");
    assert_eq!(
        outputs - sum("inputs", "value_sats") - gone,
        oracle.supply_sats().into(),
        "outputs less spent are coins"
    );
    assert_eq!(sum("scripts", "balance_sats"), oracle.supply_sats().into());
    assert_eq!(sum("supply_changes", "change_sats"), oracle.supply_sats().into());
    assert_eq!(sum("supply_changes", "coins"), oracle.coins().len() as i128);
    assert_eq!(sum("balance_bands", "scripts_balance_sats"), oracle.supply_sats().into());
    assert_eq!(sum("balance_bands", "clusters_balance_sats"), oracle.supply_sats().into());
    assert_eq!(sum("daily", "transactions"), oracle.txs().len() as i128);
    assert_eq!(sum("daily", "fee_sats"), sum("transactions", "fee_sats"));
    assert_eq!(sum("daily", "spent_sats"), sum("inputs", "value_sats"));
    let destroyed: i128 = Rows::read(out, made, "inputs")
        .0
        .iter()
        .map(|row| number(row, "value_sats") * number(row, "age_seconds"))
        .sum();
    assert_eq!(sum("daily", "coin_seconds_destroyed"), destroyed);
}

#[test]
fn every_row_is_that_of_a_plain_ledger() {
    for seed in [1, 7] {
        let chain = chain(seed, 160);
        let oracle = oracle_of(&chain);
        let world = World::of(&chain);
        let made = world.export("out", &options());
        let (out, read) = (world.out("out"), |name: &str| Rows::read(&world.out("out"), &made, name).0);
        assert_eq!(made.manifest.tip_height + 1, oracle.blocks().len() as u32);
        check_blocks(&oracle, &read("blocks"));
        check_transactions(&oracle, &read("transactions"), &read("inputs"), &read("outputs"));
        check_coins(&oracle, &read("coins"));
        check_scripts(&oracle, &read("scripts"));
        check_sums(&oracle, &out, &made);
    }
}

/// Co-spending by the columns, against the rule over whole blocks.
#[test]
fn whoever_spends_together_follows_from_the_columns() {
    let (mut coinjoins, mut others) = (0, 0);
    for chain in [chain(1, 160), chain(30, 200), cairn_chaingen::demo::chain(1).unwrap()] {
        let oracle = oracle_of(&chain);
        let clusters = clusters_of(&oracle, oracle.blocks().len() as u32 - 1);
        let world = World::of(&chain);
        let made = world.export(
            "out",
            &ExportOptions { grid: Grid::Blocks(1_000), ..only(&["transactions", "inputs", "scripts"]) },
        );
        let read = |name: &str| Rows::read(&world.out("out"), &made, name).0;
        let scripts: BTreeMap<Vec<u8>, Vec<u8>> =
            read("scripts").iter().map(|row| (bytes(row, "script_id"), bytes(row, "script"))).collect();
        let joins: BTreeSet<TxNum> = read("transactions")
            .iter()
            .filter(|row| flag(row, "is_coinjoin"))
            .map(|row| tx_num(row, "tx_num"))
            .collect();
        coinjoins += joins.len();
        let mut found: BTreeMap<TxNum, BTreeSet<bitcoin::ScriptBuf>> = BTreeMap::new();
        for row in read("inputs") {
            others += usize::from(flag(&row, "is_anyone_can_pay"));
            let has_owner = !["anchor", "nonstandard", "witness_unknown"].contains(&text(&row, "script_type").as_str());
            if has_owner && !flag(&row, "is_anyone_can_pay") && !joins.contains(&tx_num(&row, "tx_num")) {
                let script = scripts[&bytes(&row, "script_id")].clone();
                found.entry(tx_num(&row, "tx_num")).or_default().insert(bitcoin::ScriptBuf::from_bytes(script));
            }
        }
        found.retain(|_, scripts| scripts.len() >= 2);
        assert!(found == *clusters.eligible());
    }
    assert!(coinjoins > 0 && others > 0, "{coinjoins} {others}");
}
