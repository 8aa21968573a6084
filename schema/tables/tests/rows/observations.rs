//! Values for the tests of the mempool's tables.

use cairn_model::{MempoolInput, MempoolOutput, MempoolSample, MempoolTx, Txid};
use cairn_tables::mempool::{KeptMempool, MempoolSamples};
use proptest::{collection::vec, option, prelude::*, strategy::BoxedStrategy};

use crate::{Tested, golden::Golden, values};

fn txid() -> impl Strategy<Value = Txid> + Clone {
    prop_oneof![any::<[u8; 32]>(), (0..3u8).prop_map(|b| [b; 32])].prop_map(Txid)
}

impl Tested for KeptMempool {
    fn keys() -> BoxedStrategy<Txid> {
        txid().boxed()
    }

    fn values() -> BoxedStrategy<MempoolTx> {
        let script = || values::script().prop_map(Vec::into_boxed_slice);
        let input = (txid(), any::<(u32, u32)>(), values::sats(), script(), option::of(values::number())).prop_map(
            |(prev_txid, (prev_vout, sequence), value, script, birth)| MempoolInput {
                prev_txid,
                prev_vout,
                sequence,
                value,
                script,
                birth,
            },
        );
        let output = (values::sats(), script()).prop_map(|(value, script)| MempoolOutput { value, script });
        let numbers = (any::<[u32; 4]>(), any::<i32>(), values::sats(), any::<u64>());
        let raw = option::of(vec(any::<u8>(), 0..100).prop_map(Vec::into_boxed_slice));
        let parts = ((txid(), option::of(txid())), numbers, vec(input, 0..5), vec(output, 0..5), raw);
        parts
            .prop_map(|(ids, ([size, base_size, sigop_cost, lock_time], version, fee_sats, seen), i, o, raw)| {
                MempoolTx {
                    txid: ids.0,
                    wtxid: ids.1.unwrap_or(ids.0),
                    size,
                    base_size,
                    sigop_cost,
                    fee_sats,
                    version,
                    lock_time,
                    first_seen_ms: seen,
                    inputs: i.into(),
                    outputs: o.into(),
                    raw,
                }
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let tx = MempoolTx {
            txid: Txid([0xe1; 32]),
            wtxid: Txid([0xe2; 32]),
            size: 222,
            base_size: 141,
            sigop_cost: 1,
            fee_sats: 300,
            version: 2,
            lock_time: 0,
            first_seen_ms: 1_700_000_000_123,
            inputs: [MempoolInput {
                prev_txid: Txid([0xe3; 32]),
                prev_vout: 1,
                sequence: 0xffff_fffd,
                value: 1_000,
                script: [0x51].into(),
                birth: Some(5),
            }]
            .into(),
            outputs: [MempoolOutput { value: 700, script: [0x52, 0x53].into() }].into(),
            raw: Some([9, 8, 7].into()),
        };
        vec![(
            tx.txid,
            tx,
            "e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1",
            "01 e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1e1\
             03 e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2e2 de01 8d01 01 02 00 ac02 fbd095ffbc31\
             01 e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3e3 01 fdffffff0f e807 06 0151\
             01 bc05 025253 03090807",
        )]
    }
}

impl Tested for MempoolSamples {
    fn keys() -> BoxedStrategy<u64> {
        prop_oneof![0..4u64, Just(1_700_000_000), any::<u64>()].boxed()
    }

    fn values() -> BoxedStrategy<MempoolSample> {
        let millionths = || option::of(values::number());
        let parts = (millionths(), millionths(), millionths(), millionths(), millionths());
        let node = (option::of(any::<u64>()), option::of(values::sats()), option::of(values::sats()));
        (any::<[u64; 5]>(), option::of(values::number()), node, parts)
            .prop_map(|(numbers, height, node, parts)| MempoolSample {
                time_unix: numbers[0],
                height,
                count: numbers[1],
                vsize: numbers[2],
                fees_sats: numbers[3],
                next_block_median: numbers[4],
                inflow_milli_vb_s: node.0,
                mempool_min_fee: node.1,
                min_relay_fee: node.2,
                stress: parts.0,
                stress_backlog: parts.1,
                stress_feerate: parts.2,
                stress_inflow: parts.3,
                stress_entry: parts.4,
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let bare = MempoolSample { time_unix: 1_700_000_000, ..MempoolSample::default() };
        let full = MempoolSample {
            time_unix: 1_700_000_060,
            height: Some(840_000),
            count: 1,
            vsize: 200,
            fees_sats: 300,
            next_block_median: 1_500,
            inflow_milli_vb_s: Some(2),
            mempool_min_fee: Some(3),
            min_relay_fee: Some(1_000),
            stress: Some(4),
            stress_backlog: None,
            stress_feerate: Some(5),
            stress_inflow: None,
            stress_entry: Some(1_000_000),
        };
        vec![
            (bare.time_unix, bare, "6d 000000006553f100", "01 80e2cfaa06 00 00 00 00 00 00 00 00 00 00 00 00 00"),
            (
                full.time_unix,
                full,
                "6d 000000006553f13c",
                "01 bce2cfaa06 01 c801 ac02 dc0b 01c0a233 0102 0103 01e807 0104 00 0105 00 01c0843d",
            ),
        ]
    }
}
