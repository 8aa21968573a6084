//! Deltas that no sound sender makes: nothing panics, and accepted data is consistent.

use std::sync::Arc;

use cairn_model::{BlockHash, MempoolDelta, MempoolInput, MempoolOutput, MempoolTx, NodeFloor, RemoveReason, Txid};
use proptest::{collection::vec, prelude::*};

use super::{
    model::Model,
    world::{Plan, tx, txid},
};
use crate::mempool::{
    Applied, Mempool, MempoolLimits, Refusal, Selection, StressParams, Template, recommended_fees, sample,
};

const COIN: u64 = 1_000;

/// One of very few ids, so that cycles, double spends and repetitions abound.
fn id() -> impl Strategy<Value = Txid> {
    (0u64..7).prop_map(txid)
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0u64..3, any::<u64>(), Just(u64::MAX)]
}

fn wild() -> impl Strategy<Value = MempoolTx> {
    let input =
        (id(), 0u32..4, prop_oneof![9 => Just(COIN), 1 => number()]).prop_map(|(prev_txid, prev_vout, value)| {
            MempoolInput { prev_txid, prev_vout, sequence: 0, value, script: [0x51].into(), birth: None }
        });
    let output =
        prop_oneof![9 => 0u64..300, 1 => number()].prop_map(|value| MempoolOutput { value, script: [0x51].into() });
    let sizes = prop_oneof![9 => (1u32..500, 0u32..200, 0u32..100), 1 => any::<(u32, u32, u32)>()];
    (
        id(),
        vec(input, 0..3),
        vec(output, 0..3),
        sizes,
        number(),
        prop_oneof![9 => Just(None), 1 => number().prop_map(Some)],
    )
        .prop_map(|(txid, inputs, outputs, (base_size, witness, sigop_cost), first_seen_ms, fee)| {
            let sum = |values: &mut dyn Iterator<Item = u64>| values.fold(0u64, u64::saturating_add);
            let spent = sum(&mut inputs.iter().map(|input| input.value));
            let made = sum(&mut outputs.iter().map(|output| output.value));
            MempoolTx {
                txid,
                wtxid: txid,
                size: base_size.saturating_add(witness),
                base_size,
                sigop_cost,
                fee_sats: fee.unwrap_or(spent.saturating_sub(made)),
                version: -1,
                lock_time: u32::MAX,
                first_seen_ms,
                inputs: inputs.into(),
                outputs: outputs.into(),
                raw: None,
            }
        })
}

fn wild_delta() -> impl Strategy<Value = MempoolDelta> {
    prop_oneof![
        20 => wild().prop_map(|tx| MempoolDelta::Add(Arc::new(tx))),
        5 => (id(), id(), 0..4).prop_map(|(txid, by, reason)| MempoolDelta::Remove {
            txid,
            reason: match reason {
                0 => RemoveReason::Replaced { by },
                1 => RemoveReason::Confirmed { height: u32::MAX },
                _ => RemoveReason::Unknown,
            },
        }),
        1 => number().prop_map(|sequence| MempoolDelta::Reset { sequence }),
        1 => number().prop_map(MempoolDelta::Sequence),
        1 => Just(MempoolDelta::Block { height: u32::MAX, hash: BlockHash([0; 32]), time: 0 }),
        1 => (number(), number()).prop_map(|(mempool_min_fee, min_relay_fee)| MempoolDelta::NodeFloor(NodeFloor {
            mempool_min_fee,
            min_relay_fee,
            max_bytes: 0,
            usage_bytes: u64::MAX,
        })),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn nothing_panics_and_the_rest_is_consistent(
        deltas in vec((wild_delta(), number()), 0..60),
        template in any::<(u8, u64, u64, u64, u64, u64)>(),
        max_bytes in prop_oneof![Just(1u64 << 30), 0u64..6_000],
    ) {
        let mut pool = Mempool::new(MempoolLimits { max_bytes, max_departed: 3, inflow_window_ms: 20_000 });
        let (max_blocks, max_weight, reserved_weight, max_sigops, reserved_sigops, rate) = template;
        let wild = Template {
            selection: if rate % 2 == 0 { Selection::AncestorFeerate } else { Selection::ChunkFeerate },
            max_blocks, max_weight, reserved_weight, max_sigops, reserved_sigops, min_rate: crate::FeeRate(rate),
        };
        for (delta, now) in &deltas {
            pool.apply(delta, *now);
            let stats = pool.stats(*now);
            prop_assert!(stats.usage_bytes <= max_bytes);
            prop_assert!(stats.departed <= 3);
            let projection = pool.project(&wild);
            if let Some(fees) = recommended_fees(&projection, stats.floor.as_ref()) {
                prop_assert!(fees.fastest >= fees.economy && fees.economy >= fees.minimum);
            }
            let sample = sample(&projection, &stats, &[], *now, &StressParams::default());
            prop_assert!(sample.count == stats.count && sample.stress.is_none_or(|stress| stress <= 1_000_000));
        }
        let model = Model { txs: pool.iter().cloned().collect() };
        model.assert_equals(&pool);
        for tx in &model.txs {
            prop_assert!(!model.ancestors(tx.txid).contains(&tx.txid));
        }
        for tx in &model.txs {
            let delta = MempoolDelta::Remove { txid: tx.txid, reason: RemoveReason::Unknown };
            prop_assert_eq!(pool.apply(&delta, 0), Applied::Removed);
        }
        Model::default().assert_equals(&pool);
        for script in [&[0x51u8][..], &[]] {
            prop_assert_eq!(pool.script_totals(&crate::script_sha256(script)), Default::default());
        }
    }
}

fn plan(coins: &[(u64, u32)]) -> Plan {
    let coins = coins.iter().map(|(number, vout)| (txid(*number), *vout, COIN)).collect();
    Plan { coins, outputs: 2, fee: 10, base_size: 100, ..Plan::default() }
}

#[test]
fn impossible_transactions_are_refused() {
    let mut pool = Mempool::default();
    let mut add = |tx: Arc<MempoolTx>| pool.apply(&MempoolDelta::Add(tx), 0);
    let refused = |refusal| Applied::Refused(refusal);
    let sound = tx(1, &plan(&[(50, 0)]));
    let with = |change: &dyn Fn(&mut MempoolTx)| {
        let mut tx = MempoolTx::clone(&sound);
        change(&mut tx);
        Arc::new(tx)
    };
    assert_eq!(add(with(&|tx| tx.fee_sats += 1)), refused(Refusal::Amounts));
    assert_eq!(add(with(&|tx| tx.inputs[0].value = 0)), refused(Refusal::Amounts));
    assert_eq!(add(with(&|tx| tx.inputs[0].value = u64::MAX)), refused(Refusal::Amounts));
    assert_eq!(add(with(&|tx| tx.base_size = 0)), refused(Refusal::Size));
    assert_eq!(add(with(&|tx| tx.size = 1)), refused(Refusal::Size));
    assert_eq!(add(with(&|tx| tx.size = 4_000_000)), refused(Refusal::Size));
    assert_eq!(add(with(&|tx| tx.sigop_cost = 80_001)), refused(Refusal::Size));
    assert_eq!(add(with(&|tx| tx.inputs = Box::default())), refused(Refusal::Size));
    assert_eq!(add(tx(2, &plan(&[(50, 0), (50, 0)]))), refused(Refusal::Inputs));
    assert_eq!(add(tx(2, &plan(&[(2, 0)]))), refused(Refusal::Inputs));
    // 3 spends 4, 4 spends 5, and 5 would spend 3.
    assert_eq!(add(tx(3, &plan(&[(4, 0)]))), Applied::Added { replaced: 0, dropped: 0 });
    assert_eq!(add(tx(4, &plan(&[(5, 0)]))), Applied::Added { replaced: 0, dropped: 0 });
    assert_eq!(add(tx(5, &plan(&[(3, 0)]))), refused(Refusal::Cycle));
    assert_eq!(pool.len(), 2);
}
