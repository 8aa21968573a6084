//! Any value of the types in keys and values.

use cairn_model::{
    BlockHash, FilePos, InputFlags, MAX_MONEY, Outpoint, OutputMeta, Overwritten, ScriptId, ScriptPrefix,
    ScriptTemplate, SpentCoin, TxMeta, TxNum, Txid, is_unspendable,
};
use cairn_tables::{
    block_log::{Decoded, LogRow, LoggedInput},
    headers::HeaderRow,
    history::{HistoryEntry, HistoryRow, IndexRow},
    keys::HashPrefix,
    spenders::{Spender, SpenderRow},
    totals::Totals,
};
use proptest::{collection::vec, prelude::*, sample::select};

/// Small numbers, so that rows meet, and any others.
pub(crate) fn number() -> impl Strategy<Value = u32> + Clone {
    prop_oneof![0..4u32, 120..260u32, any::<u32>()]
}

pub(crate) fn tx_num() -> impl Strategy<Value = TxNum> + Clone {
    prop_oneof![0..5u64, Just(TxNum::LIMIT - 1), 0..TxNum::LIMIT].prop_map(TxNum)
}

/// The value of a coin.
pub(crate) fn coin_sats() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![0..3u64, Just(MAX_MONEY), 0..=MAX_MONEY, (0..21_000_000u64).prop_map(|btc| btc * 100_000_000)]
}

/// A sum over coins.
pub(crate) fn sats() -> impl Strategy<Value = u64> + Clone {
    prop_oneof![3 => coin_sats(), 1 => any::<u64>()]
}

pub(crate) fn prefix() -> impl Strategy<Value = ScriptPrefix> + Clone {
    prop_oneof![any::<[u8; 8]>(), (0..3u8).prop_map(|b| [b; 8])].prop_map(ScriptPrefix)
}

pub(crate) fn script_id() -> impl Strategy<Value = ScriptId> + Clone {
    let ordinal = prop_oneof![3 => Just(0u8), 1 => any::<u8>()];
    (prefix(), ordinal).prop_map(|(prefix, ordinal)| ScriptId { prefix, ordinal })
}

pub(crate) fn hash_prefix() -> impl Strategy<Value = HashPrefix> + Clone {
    prefix().prop_map(|p| HashPrefix(p.0))
}

pub(crate) fn outpoint() -> impl Strategy<Value = Outpoint> + Clone {
    (tx_num(), number()).prop_map(|(tx_num, vout)| Outpoint { tx_num, vout })
}

/// A scriptPubKey: each template, near misses, others.
pub(crate) fn script() -> impl Strategy<Value = Vec<u8>> + Clone {
    let around = |head: &'static [u8], n: usize, tail: &'static [u8]| {
        vec(any::<u8>(), n).prop_map(move |payload| [head, &payload, tail].concat())
    };
    prop_oneof![
        around(&[0x76, 0xa9, 0x14], 20, &[0x88, 0xac]),
        around(&[0x76, 0xa9, 0x14], 19, &[0x88, 0xac]),
        around(&[0xa9, 0x14], 20, &[0x87]),
        around(&[0x00, 0x14], 20, &[]),
        around(&[0x00, 0x20], 32, &[]),
        around(&[0x51, 0x20], 32, &[]),
        around(&[0x52, 0x20], 32, &[]),
        around(&[0x21], 33, &[0xac]),
        around(&[0x41], 65, &[0xac]),
        around(&[0x6a], 30, &[]),
        vec(any::<u8>(), 0..140),
    ]
}

pub(crate) fn header() -> impl Strategy<Value = HeaderRow> {
    let position = proptest::option::of((number(), any::<u64>()).prop_map(|(file, offset)| FilePos { file, offset }));
    let hash = (any::<[u8; 32]>(), vec(any::<u8>(), 80), number(), 0..TxNum::LIMIT - 4_000_000);
    let counts = (0..=4_000_000u32).prop_flat_map(|size| (0..=size, Just(size), number(), 0..=size, 0..=size));
    (hash, counts, (sats(), sats(), sats()), position, vec(any::<u8>(), 0..101)).prop_map(
        |(hash, counts, sums, position, coinbase_script)| HeaderRow {
            hash: BlockHash(hash.0),
            header: hash.1.try_into().unwrap(),
            mono_time: hash.2,
            first_tx: TxNum(hash.3),
            tx_count: counts.0,
            size: counts.1,
            weight: counts.2,
            fees: sums.0,
            output_sats: sums.1,
            coinbase_sats: sums.2,
            input_count: counts.3,
            output_count: counts.4,
            position,
            coinbase_script,
        },
    )
}

pub(crate) fn template() -> impl Strategy<Value = ScriptTemplate> {
    select(&ScriptTemplate::ALL[..])
}

fn logged_input() -> impl Strategy<Value = (u64, ScriptId, u32, InputFlags)> {
    let flags = (any::<(bool, bool)>(), template()).prop_map(|((coinbase, anyone_can_pay), template)| InputFlags {
        coinbase,
        anyone_can_pay,
        template,
    });
    (coin_sats(), script_id(), number(), flags)
}

pub(crate) fn log_row() -> impl Strategy<Value = LogRow> {
    let output = (coin_sats(), script(), prop_oneof![3 => Just(0u8), 1 => any::<u8>()]);
    let sizes = (0..=4_000_000u32).prop_flat_map(|size| (Just(size), 0..=size));
    let tx = (any::<[u8; 32]>(), sizes, vec(logged_input(), 0..5), vec(output, 0..5));
    (number(), 0..=4_000_000u32, 0..=4_000_000u32, vec(tx, 1..6)).prop_map(|(height, first_index, raw_offset, made)| {
        let mut txs = Decoded::default();
        for (txid, (size, base_size), inputs, outputs) in made {
            let (first_input, first_output) = (txs.inputs.len() as u32, txs.outputs.len() as u32);
            txs.inputs.extend(inputs.into_iter().map(|(value, script, back, flags)| LoggedInput {
                value,
                script,
                birth: height - back.min(height),
                flags,
            }));
            for (value, script, ordinal) in outputs {
                let from = txs.scripts.len() as u32;
                txs.scripts.extend_from_slice(&script);
                txs.outputs.push(OutputMeta {
                    value,
                    script: from..txs.scripts.len() as u32,
                    id: ScriptId { prefix: ScriptPrefix::default(), ordinal },
                    spendable: height != 0 && !is_unspendable(&script),
                });
            }
            txs.txs.push(TxMeta {
                txid: Txid(txid),
                size,
                base_size,
                inputs: first_input..txs.inputs.len() as u32,
                outputs: first_output..txs.outputs.len() as u32,
            });
        }
        LogRow { height, first_index, raw_offset, txs }
    })
}

pub(crate) fn spender_row() -> impl Strategy<Value = SpenderRow> {
    let spender = (number(), 1..TxNum::LIMIT, number());
    vec(spender, 0..40).prop_map(|made| {
        let mut rows: Vec<Spender> =
            made.into_iter().map(|(vout, distance, vin)| Spender { vout, distance, vin }).collect();
        rows.sort_unstable();
        rows.dedup_by_key(|s| s.vout);
        SpenderRow(rows)
    })
}

/// As it decodes: numbers relative to the first entry.
pub(crate) fn history_row() -> impl Strategy<Value = HistoryRow> {
    let entry = (1..TxNum::LIMIT / 128, coin_sats(), coin_sats());
    let number = prop_oneof![Just(0u64), 0..=TxNum::LIMIT / 128];
    (number, sats(), sats(), vec(entry, 1..=128)).prop_map(|(number, received_before, sent_before, made)| {
        let mut at = 0;
        let entries = made.iter().enumerate().map(|(i, &(distance, received, sent))| {
            at += if i == 0 { 0 } else { distance };
            HistoryEntry { tx_num: TxNum(at), received, sent }
        });
        // Sums of a whole row of the largest coins must still fit.
        let before = |sum: u64| if number == 0 { 0 } else { sum.min(u64::MAX - 128 * MAX_MONEY) };
        HistoryRow {
            number,
            received_before: before(received_before),
            sent_before: before(sent_before),
            entries: entries.collect(),
        }
    })
}

pub(crate) fn index_row() -> impl Strategy<Value = IndexRow> {
    vec(1..TxNum::LIMIT / 256, 1..=256).prop_map(|distances| {
        let mut at = 0;
        IndexRow(
            distances
                .into_iter()
                .map(|d| {
                    at += d;
                    TxNum(at - 1)
                })
                .collect(),
        )
    })
}

pub(crate) fn totals() -> impl Strategy<Value = Totals> {
    let counts = (any::<(u64, u64)>(), prop_oneof![1..130u64, 1..TxNum::LIMIT]);
    let places = (outpoint(), any::<u64>(), any::<u64>());
    let parts = ((sats(), sats()), counts, places, template());
    parts.prop_map(|(sums, ((a, b), tx_count), (first, last, tail), template)| {
        let first_tx = first.tx_num.0;
        let last = first_tx + last % (TxNum::LIMIT - first_tx);
        // A history of several rows begins its newest behind the first transaction.
        let tx_count = if last > first_tx { tx_count } else { 1 };
        let tail = if tx_count > 128 { first_tx + 1 + tail % (last - first_tx) } else { first_tx };
        Totals {
            funded: sums.0.max(sums.1),
            spent: sums.0.min(sums.1),
            funded_count: a.max(b),
            spent_count: a.min(b),
            tx_count,
            first,
            last: TxNum(last),
            tail: TxNum(tail),
            template,
        }
    })
}

pub(crate) fn overwritten() -> impl Strategy<Value = Overwritten> {
    let coin = (outpoint(), coin_sats(), script_id(), number(), any::<bool>(), template());
    let coin = coin.prop_map(|(outpoint, value, script, birth, coinbase, template)| {
        let flags = InputFlags { coinbase, anyone_can_pay: false, template };
        SpentCoin { outpoint, value, script, birth, flags }
    });
    (number(), coin).prop_map(|(by, coin)| Overwritten { by, coin })
}
