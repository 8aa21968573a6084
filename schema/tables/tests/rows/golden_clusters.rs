//! As `golden`, for the tables of the stage `clusters`.

use cairn_model::{ScriptId, ScriptPrefix, TxNum};
use cairn_tables::{
    clusters::{
        Child, ChildrenRow, ClusterChildren, ClusterDays, ClusterOf, ClusterRow, Clusters, Counts, NET_EXTERNAL, Node,
    },
    periods::Period,
    script_days::{BANDS, band},
    sums::Sums,
};
use proptest::{collection::vec, prelude::*, strategy::BoxedStrategy};

use crate::{
    Tested,
    golden::Golden,
    golden_ages::{period, sums},
    values,
};

fn counts() -> impl Strategy<Value = Counts> + Clone {
    let count = || prop_oneof![1..300u64, 1..TxNum::LIMIT];
    (count(), count(), values::sats(), values::number()).prop_map(|(transactions, scripts, balance, children)| Counts {
        transactions,
        scripts,
        balance,
        children,
    })
}

impl Tested for ClusterOf {
    fn keys() -> BoxedStrategy<ScriptId> {
        values::script_id().boxed()
    }

    fn values() -> BoxedStrategy<Node> {
        values::tx_num().prop_map(Node).boxed()
    }

    fn golden() -> Golden<Self> {
        let script = ScriptId { prefix: ScriptPrefix([1, 2, 3, 4, 5, 6, 7, 8]), ordinal: 9 };
        vec![(script, Node(TxNum(300)), "010203040506070809", "ac02")]
    }
}

impl Tested for Clusters {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<ClusterRow> {
        let merged = (0..TxNum::LIMIT - 1, any::<u64>(), counts()).prop_map(|(parent, by, counts)| {
            let by = parent + 1 + by % (TxNum::LIMIT - 1 - parent);
            ClusterRow::Merged { parent: TxNum(parent), by: TxNum(by), counts }
        });
        prop_oneof![
            values::tx_num().prop_map(|parent| ClusterRow::Newcomer { parent }),
            counts().prop_map(ClusterRow::Root),
            merged,
        ]
        .boxed()
    }

    fn golden() -> Golden<Self> {
        let root = Counts { transactions: 2, scripts: 300, balance: 5_000_000_000, children: 1 };
        let lost = Counts { transactions: 1, scripts: 2, balance: 0, children: 0 };
        let merged = ClusterRow::Merged { parent: TxNum(7), by: TxNum(300), counts: lost };
        vec![
            (TxNum(301), ClusterRow::Newcomer { parent: TxNum(300) }, "000000012d", "00ac02"),
            (TxNum(7), ClusterRow::Root(root), "0000000007", "0102ac023201"),
            (TxNum(299), merged, "000000012b", "0207ac0201020000"),
        ]
    }
}

impl Tested for ClusterChildren {
    fn keys() -> BoxedStrategy<(TxNum, u32)> {
        (values::tx_num(), values::number()).boxed()
    }

    fn values() -> BoxedStrategy<ChildrenRow> {
        let child = (values::tx_num(), any::<u64>(), prop_oneof![Just(0u32), values::number()]);
        let row = vec(child, 1..=128).prop_map(|made| {
            let child = |(by, back, scripts): (TxNum, u64, u32)| {
                let node = TxNum(by.0 - if back % 2 == 0 { 0 } else { back % (by.0 + 1) });
                Child { by, node, scripts: if node == by { scripts } else { 0 } }
            };
            let mut children: Vec<Child> = made.into_iter().map(child).collect();
            children.sort_unstable();
            children.dedup();
            ChildrenRow(children)
        });
        row.boxed()
    }

    fn golden() -> Golden<Self> {
        let child = |by, node, scripts| Child { by: TxNum(by), node: TxNum(node), scripts };
        let row = ChildrenRow(vec![child(300, 300, 2), child(301, 1, 0), child(301, 301, 0)]);
        vec![((TxNum(7), 1), row, "000000000700000001", "ac02000201ac02000000")]
    }
}

impl Tested for ClusterDays {
    fn keys() -> BoxedStrategy<Period> {
        period().boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let band = band(5_000_000_000).unwrap();
        let sums = Sums::of([(band, 1), (BANDS + band, 5_000_000_000)]).unwrap();
        let mut with_payments = sums.clone();
        with_payments.add(NET_EXTERNAL, 300_000_000).unwrap();
        vec![
            (Period::day(14_245), sums, "750037a5", "09020f80c8afa025"),
            (Period::day(14_246), with_payments, "750037a6", "09020f80c8afa02506808c8d9e02"),
        ]
    }
}
