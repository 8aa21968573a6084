//! As `golden`, for flows of exchanges.

use cairn_events::EntityName;
use cairn_model::BlockHash;
use cairn_tables::{
    exchange_flows::{
        ExchangeBalance, ExchangeFlows, FlowBlockRow, FlowBlocks, FlowKey, FlowMode, FlowSum, FlowsHead, FlowsHeadRow,
    },
    sums::Sums,
};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    strategy::BoxedStrategy,
};

use crate::{Tested, golden::Golden, golden_ages::sums, values};

fn name() -> impl Strategy<Value = EntityName> + Clone {
    "[a-z]{1,5}(-[0-9]{1,3})?".prop_map(|name| name.parse().unwrap())
}

fn named(name: &str) -> EntityName {
    name.parse().unwrap()
}

fn some_sums() -> Sums {
    let pairs = [(FlowSum::Inflow, 300), (FlowSum::Reclassified, -5), (FlowSum::Transactions, 2)];
    Sums::of(pairs.map(|(sum, number)| (sum.position(), number))).unwrap()
}

impl Tested for FlowsHead {
    fn keys() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn values() -> BoxedStrategy<FlowsHeadRow> {
        let held = btree_map(name(), (values::sats(), values::sats()), 0..4).prop_map(|held| {
            let of = |(exchange, (latest, point_in_time))| ExchangeBalance { exchange, latest, point_in_time };
            held.into_iter().map(of).collect()
        });
        (0..2u8, values::number(), (any::<[u8; 32]>(), any::<u64>()), any::<[u8; 8]>(), held)
            .prop_map(|(generation, height, (hash, seq), mark, held)| FlowsHeadRow {
                generation,
                height,
                hash: BlockHash(hash),
                seq,
                mark,
                held,
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let held = vec![
            ExchangeBalance { exchange: named("aa"), latest: 10_000_000_000, point_in_time: 0 },
            ExchangeBalance { exchange: named("b"), latest: 7, point_in_time: 8 },
        ];
        let row =
            FlowsHeadRow { generation: 1, height: 300, hash: BlockHash([0xab; 32]), seq: 9, mark: [0xcd; 8], held };
        let bytes = "01 ac02 abababababababababababababababababababababababababababababababab 09 cdcdcdcdcdcdcdcd \
                     02 6161 64 00 01 62 3d 47";
        vec![((), row, "47", bytes)]
    }
}

impl Tested for ExchangeFlows {
    fn keys() -> BoxedStrategy<FlowKey> {
        let mode = prop_oneof![Just(FlowMode::Latest), Just(FlowMode::PointInTime)];
        (0..2u8, mode, option::of(name()), values::number())
            .prop_map(|(generation, mode, exchange, day)| FlowKey { generation, mode, exchange, day })
            .boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let key =
            |mode, exchange: Option<&str>| FlowKey { generation: 1, mode, exchange: exchange.map(named), day: 0x0102 };
        vec![
            (key(FlowMode::Latest, None), some_sums(), "01 00 00 00000102", "00d804 0509 0104"),
            (key(FlowMode::PointInTime, Some("aa")), some_sums(), "01 01 6161 00 00000102", "00d804 0509 0104"),
        ]
    }
}

impl Tested for FlowBlocks {
    fn keys() -> BoxedStrategy<u32> {
        values::number().boxed()
    }

    fn values() -> BoxedStrategy<FlowBlockRow> {
        let flows = btree_map(option::of(name()), sums(), 0..4).prop_map(|flows| flows.into_iter().collect::<Vec<_>>());
        let held = vec((name(), values::sats()), 0..4).prop_map(|mut held| {
            held.sort_by(|a, b| a.0.cmp(&b.0));
            held.dedup_by(|a, b| a.0 == b.0);
            held
        });
        (any::<[u8; 32]>(), flows, held)
            .prop_map(|(hash, flows, held)| FlowBlockRow { hash: BlockHash(hash), flows, held })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let flows = vec![(None, some_sums()), (Some(named("aa")), some_sums())];
        let row = FlowBlockRow { hash: BlockHash([0xab; 32]), flows, held: vec![(named("b"), 10_000_000_000)] };
        let bytes = "abababababababababababababababababababababababababababababababab 02 \
                     00 07 00d804 0509 0104 02 6161 07 00d804 0509 0104 01 62 64";
        vec![(0x0102, row, "4e 00000102", bytes)]
    }
}
