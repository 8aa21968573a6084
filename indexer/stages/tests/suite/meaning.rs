//! Rows say what the blocks say, as a naive reading of the blocks finds it. Without this, a stage could keep every law
//! and be wrong everywhere in the same way.

use std::collections::{BTreeMap, BTreeSet};

use cairn_model::{Block, Outpoint, Sats, ScriptId, ScriptTemplate, SpentCoin, TxNum};
use cairn_tables::{
    Table,
    block_log::BlockLog,
    coins::{Coin, CoinValue, Coins, CoinsByScript},
    headers::Headers,
    heights::{HeightByHash, HeightByTime},
    history::{History, HistoryEntry, HistoryIndex},
    journal::OverwrittenCoins,
    keys::HashPrefix,
    prevouts::Prevouts,
    spenders::Spenders,
    totals::TotalsTable,
    tx_nums::TxNums,
};

use crate::{
    chains::{chains, long_history},
    driver::{Tables, stage, tip},
};

/// The rows of a table, decoded.
fn rows<T: Table>(tables: &Tables) -> Vec<(T::Key, T::Value)> {
    let of_table = |key: &[u8]| T::TAG.is_none_or(|tag| key.first() == Some(&tag));
    let rows = tables.0.iter().filter(|((family, key), _)| *family == T::FAMILY && of_table(key));
    rows.map(|((_, key), value)| (T::decode_key(key).unwrap(), T::decode_value(value).unwrap())).collect()
}

fn for_each_chain(name: &str, test: impl Fn(&[Block], &Tables)) {
    let stage = stage(name);
    for chain in chains().iter().chain([long_history()]) {
        test(&chain.blocks, &tip(&*stage, &chain.blocks));
    }
}

/// Every output that enters the coin set.
fn made(block: &Block) -> impl Iterator<Item = (Outpoint, Coin)> {
    block.txs.iter().enumerate().flat_map(move |(i, tx)| {
        let outputs = block.outputs_of(tx).iter().enumerate().filter(|(_, output)| output.spendable);
        outputs.map(move |(vout, output)| {
            let outpoint = Outpoint { tx_num: block.tx_num(i), vout: vout as u32 };
            let template = ScriptTemplate::of(block.script(output));
            (outpoint, Coin { value: output.value, script: output.id, coinbase: i == 0, template })
        })
    })
}

/// Every coin that goes, with the number of the transaction that takes it.
fn gone(block: &Block) -> impl Iterator<Item = (TxNum, &SpentCoin)> {
    let spent = block.txs.iter().enumerate().flat_map(move |(i, tx)| {
        let by = block.tx_num(i);
        block.inputs_of(tx).iter().map(move |coin| (by, coin))
    });
    spent.chain(block.overwritten.iter().map(|o| (block.tx_num(o.by as usize), &o.coin)))
}

#[test]
fn the_journal_gives_the_blocks_back() {
    for_each_chain("chain", |blocks, tables| {
        let headers = rows::<Headers>(tables);
        assert_eq!(headers.len(), blocks.len());
        for ((height, row), block) in headers.iter().zip(blocks) {
            assert_eq!((*height, row.hash, row.header), (block.height, block.hash, block.header));
            assert_eq!((row.mono_time, row.first_tx, row.size), (block.mono_time, block.first_tx, block.size));
            assert_eq!((row.tx_count as usize, u64::from(row.weight)), (block.txs.len(), block.weight()));
            assert_eq!((row.position, &row.coinbase_script), (block.position, &block.coinbase_script));
            assert_eq!(row.input_count as usize, block.inputs.len());
            assert_eq!(row.output_count as usize, block.outputs.len());
            let (outputs, inputs): (Sats, Sats) =
                (block.outputs.iter().map(|o| o.value).sum(), block.inputs.iter().map(|i| i.value).sum());
            let coinbase: Sats = block.outputs_of(&block.txs[0]).iter().map(|o| o.value).sum();
            assert_eq!((row.output_sats, row.coinbase_sats), (outputs, coinbase));
            assert_eq!(row.fees, (inputs + coinbase).saturating_sub(outputs));
        }
        let prevouts: BTreeMap<TxNum, _> = rows::<Prevouts>(tables).into_iter().collect();
        let mut log = rows::<BlockLog>(tables).into_iter();
        for block in blocks {
            let (mut txs, mut spent) = (block.txs.iter(), block.inputs.iter());
            let mut raw_offset = block.size - block.txs.iter().map(|tx| tx.size).sum::<u32>();
            let mut index = 0;
            while index < block.txs.len() {
                let (first, row) = log.next().unwrap();
                assert_eq!(first, block.tx_num(index));
                assert_eq!((row.height, row.first_index as usize), (block.height, index));
                assert_eq!(row.raw_offset, raw_offset);
                let outpoints = prevouts.get(&first).map(|row| row.unpack(first).unwrap()).unwrap_or_default();
                assert_eq!(outpoints.len(), row.txs.inputs.len());
                for (input, outpoint) in row.txs.inputs.iter().zip(outpoints) {
                    let coin = spent.next().unwrap();
                    let found = (outpoint, input.value, input.script, input.birth, input.flags);
                    assert_eq!(found, (coin.outpoint, coin.value, coin.script, coin.birth, coin.flags));
                }
                for stored in &row.txs.txs {
                    let tx = txs.next().unwrap();
                    assert_eq!((stored.txid, stored.size, stored.base_size), (tx.txid, tx.size, tx.base_size));
                    assert_eq!(stored.inputs.len(), tx.inputs.len());
                    let outputs = |of: &[cairn_model::OutputMeta]| {
                        of.iter().map(|o| (o.value, o.id.ordinal, o.spendable)).collect::<Vec<_>>()
                    };
                    assert_eq!(outputs(row.txs.outputs_of(stored)), outputs(block.outputs_of(tx)));
                    for (ours, theirs) in row.txs.outputs_of(stored).iter().zip(block.outputs_of(tx)) {
                        assert_eq!(row.txs.script(ours), block.script(theirs));
                    }
                    raw_offset += tx.size;
                }
                index += row.txs.txs.len();
            }
            assert!(txs.next().is_none() && spent.next().is_none());
        }
        assert!(log.next().is_none());
    });
}

#[test]
fn look_ups_find_what_there_is() {
    for_each_chain("chain", |blocks, tables| {
        let txids = blocks.iter().flat_map(|b| {
            b.txs.iter().enumerate().map(|(i, tx)| ((HashPrefix::of_txid(&tx.txid, 8), b.tx_num(i)), ()))
        });
        let sorted = |mut rows: Vec<_>| {
            rows.sort();
            rows
        };
        assert_eq!(rows::<TxNums>(tables), sorted(txids.collect()));
        let hashes: BTreeSet<_> = blocks.iter().map(|b| (HashPrefix::of_block(&b.hash), b.height)).collect();
        assert_eq!(rows::<HeightByHash>(tables).into_iter().map(|(key, ())| key).collect::<BTreeSet<_>>(), hashes);
        let times: BTreeSet<_> = blocks.iter().map(|b| (b.mono_time, b.height)).collect();
        assert_eq!(rows::<HeightByTime>(tables).into_iter().map(|(key, ())| key).collect::<BTreeSet<_>>(), times);
        let overwritten = blocks.iter().filter(|b| !b.overwritten.is_empty());
        let overwritten: Vec<_> = overwritten.map(|b| (b.height, b.overwritten.clone())).collect();
        let found = rows::<OverwrittenCoins>(tables).into_iter().map(|(height, row)| (height, row.0));
        assert_eq!(found.collect::<Vec<_>>(), overwritten);
    });
}

#[test]
fn spenders_are_the_inputs_the_other_way_round() {
    for_each_chain("spends", |blocks, tables| {
        let mut expected: BTreeMap<TxNum, BTreeSet<(u32, TxNum, u32)>> = BTreeMap::new();
        for block in blocks {
            for (i, tx) in block.txs.iter().enumerate() {
                for (vin, input) in block.inputs_of(tx).iter().enumerate() {
                    let spender = (input.outpoint.vout, block.tx_num(i), vin as u32);
                    assert!(expected.entry(input.outpoint.tx_num).or_default().insert(spender));
                }
            }
        }
        let found = rows::<Spenders>(tables).into_iter().map(|(funding, row)| {
            let spenders = row.0.iter().map(|s| (s.vout, TxNum(funding.0 + s.distance), s.vin));
            (funding, spenders.collect::<BTreeSet<_>>())
        });
        assert_eq!(found.collect::<BTreeMap<_, _>>(), expected);
    });
}

#[test]
fn coins_are_what_is_made_and_not_gone() {
    for_each_chain("coins", |blocks, tables| {
        let mut expected: BTreeMap<Outpoint, Coin> = BTreeMap::new();
        for block in blocks {
            expected.extend(made(block));
            for (_, coin) in gone(block) {
                assert!(expected.remove(&coin.outpoint).is_some());
            }
        }
        assert_eq!(rows::<Coins>(tables).into_iter().collect::<BTreeMap<_, _>>(), expected);
        let by_script = expected.iter().map(|(outpoint, coin)| ((coin.script, *outpoint), CoinValue(coin.value)));
        let by_script: BTreeMap<_, _> = by_script.collect();
        assert_eq!(rows::<CoinsByScript>(tables).into_iter().collect::<BTreeMap<_, _>>(), by_script);
    });
}

/// The effects of a script's transactions, and its coins counted.
#[derive(Default)]
struct Ledger {
    first: Option<Outpoint>,
    entries: BTreeMap<TxNum, (Sats, Sats)>,
    funded_count: u64,
    spent_count: u64,
}

#[test]
fn histories_and_sums_are_those_of_a_ledger() {
    for_each_chain("scripts", |blocks, tables| {
        let mut ledgers: BTreeMap<ScriptId, Ledger> = BTreeMap::new();
        for block in blocks {
            for (outpoint, coin) in made(block) {
                let ledger = ledgers.entry(coin.script).or_default();
                ledger.first.get_or_insert(outpoint);
                ledger.entries.entry(outpoint.tx_num).or_default().0 += coin.value;
                ledger.funded_count += 1;
            }
            for (by, coin) in gone(block) {
                let ledger = ledgers.get_mut(&coin.script).unwrap();
                ledger.entries.entry(by).or_default().1 += coin.value;
                ledger.spent_count += 1;
            }
        }
        let totals = rows::<TotalsTable>(tables);
        assert_eq!(totals.iter().map(|(id, _)| id).collect::<Vec<_>>(), ledgers.keys().collect::<Vec<_>>());
        let mut histories: BTreeMap<ScriptId, Vec<_>> = BTreeMap::new();
        for ((id, first), row) in rows::<History>(tables) {
            histories.entry(id).or_default().push((first, row.absolute(first).unwrap()));
        }
        let mut indexes: BTreeMap<ScriptId, Vec<TxNum>> = BTreeMap::new();
        for ((id, slot), row) in rows::<HistoryIndex>(tables) {
            let firsts = indexes.entry(id).or_default();
            assert_eq!(firsts.len(), slot as usize * 256);
            firsts.extend(row.0);
        }
        for (id, t) in totals {
            let ledger = &ledgers[&id];
            let entry = |(&tx_num, &(received, sent)): (&TxNum, &(Sats, Sats))| HistoryEntry { tx_num, received, sent };
            let entries: Vec<HistoryEntry> = ledger.entries.iter().map(entry).collect();
            let (mut received, mut sent) = (0, 0);
            let history = &histories[&id];
            assert_eq!(history.len(), entries.len().div_ceil(128));
            for (number, (chunk, (first, row))) in entries.chunks(128).zip(history).enumerate() {
                assert_eq!((row.number, *first), (number as u64, chunk[0].tx_num));
                assert_eq!((row.received_before, row.sent_before), (received, sent));
                assert_eq!(row.entries, chunk);
                received += chunk.iter().map(|e| e.received).sum::<Sats>();
                sent += chunk.iter().map(|e| e.sent).sum::<Sats>();
            }
            assert_eq!((t.funded, t.spent, t.tx_count), (received, sent, entries.len() as u64));
            assert_eq!((t.funded_count, t.spent_count), (ledger.funded_count, ledger.spent_count));
            assert_eq!((Some(t.first), t.last), (ledger.first, entries[entries.len() - 1].tx_num));
            assert_eq!(t.tail, history[history.len() - 1].0);
            let firsts: Vec<TxNum> = history.iter().map(|(first, _)| *first).collect();
            assert_eq!(indexes.remove(&id).unwrap_or_default(), if firsts.len() > 1 { firsts } else { vec![] });
        }
        assert!(indexes.is_empty());
    });
}
