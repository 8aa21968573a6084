//! As `golden`, for late stages and the watchlist.

use cairn_model::{BlockHash, ScriptId, ScriptPrefix, TxNum};
use cairn_tables::{
    flushes::{FlushAlertRow, FlushAlerts, FlushRow, Flushes, Holder, InputKey, MAX_SPENDS},
    late::{LateUndo, UndoKey, UndoRow},
    returns::{ReturnRow, Returns},
    wakeups::{WakeupRow, Wakeups},
    watchlist::{WatchHead, WatchHeadRow, WatchKey, WatchRow, Watchlist},
};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    strategy::BoxedStrategy,
};

use crate::{Tested, golden::Golden, values};

fn tx() -> impl Strategy<Value = TxNum> + Clone {
    prop_oneof![0..300u64, 0..TxNum::LIMIT].prop_map(TxNum)
}

fn input() -> impl Strategy<Value = InputKey> + Clone {
    (tx(), values::number()).prop_map(|(tx_num, vin)| InputKey { tx_num, vin })
}

fn holder() -> impl Strategy<Value = Holder> + Clone {
    let script = (any::<[u8; 8]>(), any::<u8>());
    let script = script.prop_map(|(prefix, ordinal)| ScriptId { prefix: ScriptPrefix(prefix), ordinal });
    prop_oneof![script.prop_map(Holder::Script), tx().prop_map(Holder::Cluster)]
}

const SCRIPT: Holder = Holder::Script(ScriptId { prefix: ScriptPrefix([0xab; 8]), ordinal: 2 });
const CLUSTER: Holder = Holder::Cluster(TxNum(300));
const INPUT: InputKey = InputKey { tx_num: TxNum(0x01_0203_0405), vin: 7 };

impl Tested for Flushes {
    fn keys() -> BoxedStrategy<InputKey> {
        input().boxed()
    }

    fn values() -> BoxedStrategy<FlushRow> {
        let largest = btree_map(tx(), values::sats(), 1..=MAX_SPENDS);
        let numbers = (values::sats(), 0..1_000u64, 0..1_000u64, any::<u128>());
        (holder(), numbers, tx(), largest)
            .prop_map(|(holder, (sats, more_coins, more_spends, destroyed), last, largest)| {
                let spends = largest.len() as u64 + more_spends;
                let largest = largest.into_iter().collect();
                FlushRow { holder, sats, coins: spends + more_coins, destroyed, spends, last, largest }
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let row = FlushRow {
            holder: SCRIPT,
            sats: 10_000_000_000,
            coins: 3,
            destroyed: 300,
            spends: 2,
            last: TxNum(9),
            largest: vec![(TxNum(8), 10_000_000_000), (TxNum(9), 0)],
        };
        let of_cluster = FlushRow { holder: CLUSTER, largest: vec![(TxNum(9), 0)], ..row.clone() };
        vec![
            (INPUT, row, "4c 0102030405 00000007", "00 abababababababab02 64 03 ac02 02 09 08 64 09 00"),
            (INPUT, of_cluster, "4c 0102030405 00000007", "01 ac02 64 03 ac02 02 09 09 00"),
        ]
    }
}

impl Tested for FlushAlerts {
    fn keys() -> BoxedStrategy<(TxNum, InputKey)> {
        (tx(), input()).boxed()
    }

    fn values() -> BoxedStrategy<FlushAlertRow> {
        values::sats().prop_map(|sats| FlushAlertRow { sats }).boxed()
    }

    fn golden() -> Golden<Self> {
        let row = FlushAlertRow { sats: 10_000_000_000 };
        vec![((TxNum(6), INPUT), row, "52 0000000006 0102030405 00000007", "64")]
    }
}

impl Tested for Wakeups {
    fn keys() -> BoxedStrategy<InputKey> {
        input().boxed()
    }

    fn values() -> BoxedStrategy<WakeupRow> {
        let sats = (values::sats().prop_filter("none", |sats| *sats > 0), values::sats());
        (holder(), sats, 1..u64::MAX, tx(), any::<bool>())
            .prop_map(|(holder, (sats, spent), scripts, since, never)| WakeupRow {
                holder,
                sats,
                spent,
                scripts,
                since,
                never,
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let row =
            WakeupRow { holder: CLUSTER, sats: 10_000_000_000, spent: 0, scripts: 2, since: TxNum(300), never: false };
        let never = WakeupRow { holder: SCRIPT, never: true, ..row };
        vec![
            (INPUT, row, "57 0102030405 00000007", "01 ac02 64 00 02 ac02 00"),
            (INPUT, never, "57 0102030405 00000007", "00 abababababababab02 64 00 02 ac02 01"),
        ]
    }
}

impl Tested for LateUndo {
    fn keys() -> BoxedStrategy<UndoKey> {
        (any::<u8>(), values::number()).prop_map(|(stage, height)| UndoKey { stage, height }).boxed()
    }

    fn values() -> BoxedStrategy<UndoRow> {
        let bytes = || vec(any::<u8>(), 0..20);
        (any::<[u8; 32]>(), btree_map(bytes(), option::of(bytes()), 0..6))
            .prop_map(|(before, rows)| UndoRow { before: BlockHash(before), rows: rows.into_iter().collect() })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let rows = vec![(vec![1, 2], None), (vec![3], Some(vec![4, 5]))];
        let row = UndoRow { before: BlockHash([0xab; 32]), rows };
        let bytes = "abababababababababababababababababababababababababababababababab 02 0102 00 01 03 01 02 0405";
        vec![(UndoKey { stage: 1, height: 0x0102_0304 }, row, "56 01 01020304", bytes)]
    }
}

impl Tested for WatchHead {
    fn keys() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn values() -> BoxedStrategy<WatchHeadRow> {
        let hashes = (any::<[u8; 32]>(), any::<[u8; 32]>());
        (values::number(), hashes, any::<u64>(), values::sats())
            .prop_map(|(height, (hash, set), clusters, sats)| WatchHeadRow {
                height,
                hash: BlockHash(hash),
                set,
                clusters,
                sats,
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let row = WatchHeadRow {
            height: 300,
            hash: BlockHash([0xab; 32]),
            set: [0xcd; 32],
            clusters: 2,
            sats: 10_000_000_000,
        };
        let bytes = "ac02 abababababababababababababababababababababababababababababababab \
                     cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd 02 64";
        vec![((), row, "4a", bytes)]
    }
}

impl Tested for Watchlist {
    fn keys() -> BoxedStrategy<WatchKey> {
        (any::<u64>(), holder()).prop_map(|(sats, holder)| WatchKey { sats, holder }).boxed()
    }

    fn values() -> BoxedStrategy<WatchRow> {
        let row = (any::<u64>(), tx(), any::<bool>());
        row.prop_map(|(scripts, since, never)| WatchRow { scripts, since, never }).boxed()
    }

    fn golden() -> Golden<Self> {
        let row = WatchRow { scripts: 2, since: TxNum(300), never: true };
        let key = |sats, holder| WatchKey { sats, holder };
        vec![
            (key(1, SCRIPT), row, "48 fffffffffffffffe 00 abababababababab02", "02 ac02 01"),
            (key(2, CLUSTER), row, "48 fffffffffffffffd 01 000000012c", "02 ac02 01"),
        ]
    }
}

impl Tested for Returns {
    fn keys() -> BoxedStrategy<TxNum> {
        tx().boxed()
    }

    fn values() -> BoxedStrategy<ReturnRow> {
        (1..u64::MAX).prop_map(|scripts| ReturnRow { scripts }).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![(TxNum(6), ReturnRow { scripts: 300 }, "0000000006", "ac02")]
    }
}
