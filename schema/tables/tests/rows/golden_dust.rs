//! As `golden`, for pings of dust.

use cairn_model::TxNum;
use cairn_tables::{
    dust::{
        DustAlertRow, DustAlerts, DustGroup, DustGroupRow, DustGroups, DustPingRow, DustPings, DustState, MAX_GROUPS,
    },
    funding::{Funding, FundingRow},
    pings::{PingRow, Pings},
};
use proptest::{
    collection::{btree_map, vec},
    prelude::*,
    strategy::BoxedStrategy,
};

use crate::{Tested, golden::Golden};

fn tx() -> impl Strategy<Value = TxNum> + Clone {
    prop_oneof![0..300u64, 0..TxNum::LIMIT].prop_map(TxNum)
}

fn group() -> impl Strategy<Value = DustGroup> + Clone {
    prop_oneof![any::<[u8; 32]>().prop_map(DustGroup::Mark), tx().prop_map(DustGroup::Funding)]
}

const MARK: DustGroup = DustGroup::Mark([0xab; 32]);
const FUNDING: DustGroup = DustGroup::Funding(TxNum(300));

impl Tested for Pings {
    fn keys() -> BoxedStrategy<TxNum> {
        tx().boxed()
    }

    fn values() -> BoxedStrategy<PingRow> {
        let row = (1..=u32::MAX, any::<bool>());
        row.prop_map(|(scripts, is_marked)| PingRow { scripts, is_marked }).boxed()
    }

    fn golden() -> Golden<Self> {
        let row = |is_marked| PingRow { scripts: 300, is_marked };
        vec![(TxNum(300), row(false), "000000012c", "d804"), (TxNum(300), row(true), "000000012c", "d904")]
    }
}

impl Tested for Funding {
    fn keys() -> BoxedStrategy<TxNum> {
        tx().boxed()
    }

    fn values() -> BoxedStrategy<FundingRow> {
        vec(0..TxNum::LIMIT, 1..=64).prop_map(FundingRow).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![(TxNum(300), FundingRow(vec![0, 1, 300]), "000000012c", "00 01 ac02")]
    }
}

impl Tested for DustPings {
    fn keys() -> BoxedStrategy<TxNum> {
        tx().boxed()
    }

    fn values() -> BoxedStrategy<DustPingRow> {
        let row = (1..=u64::MAX, vec(group(), 1..=MAX_GROUPS));
        row.prop_map(|(recipients, groups)| DustPingRow { recipients, groups }).boxed()
    }

    fn golden() -> Golden<Self> {
        let row = DustPingRow { recipients: 3, groups: vec![FUNDING, DustGroup::Funding(TxNum(2))] };
        vec![(TxNum(300), row, "45 000000012c", "03 01 000000012c 01 0000000002")]
    }
}

impl Tested for DustGroups {
    fn keys() -> BoxedStrategy<DustGroup> {
        group().boxed()
    }

    fn values() -> BoxedStrategy<DustGroupRow> {
        let pings = btree_map(tx(), any::<u64>(), 0..5).prop_map(|pings| pings.into_iter().collect());
        let growing = (any::<u64>(), pings).prop_map(|(bound, pings)| DustState::Growing { bound, pings });
        let reached = (tx(), any::<u64>()).prop_map(|(by, scripts)| DustState::Reached { by, scripts });
        let state = prop_oneof![growing, reached];
        (tx(), tx(), any::<u64>(), any::<u64>(), state)
            .prop_map(|(first, last, txs, recipients, state)| DustGroupRow { first, last, txs, recipients, state })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let row = |state| DustGroupRow { first: TxNum(300), last: TxNum(302), txs: 2, recipients: 9, state };
        let growing = DustState::Growing { bound: 8, pings: vec![(TxNum(300), 4), (TxNum(302), 5)] };
        let reached = DustState::Reached { by: TxNum(302), scripts: 100 };
        vec![
            (
                MARK,
                row(growing),
                "51 00 abababababababababababababababababababababababababababababababab",
                "ac02 ae02 02 09 00 08 ac02 04 02 05",
            ),
            (FUNDING, row(reached), "51 01 000000012c", "ac02 ae02 02 09 01 ae02 64"),
        ]
    }
}

impl Tested for DustAlerts {
    fn keys() -> BoxedStrategy<(TxNum, DustGroup)> {
        (tx(), group()).boxed()
    }

    fn values() -> BoxedStrategy<DustAlertRow> {
        any::<u64>().prop_map(|scripts| DustAlertRow { scripts }).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![((TxNum(300), FUNDING), DustAlertRow { scripts: 100 }, "53 000000012c 01 000000012c", "64")]
    }
}
