//! As `golden`, for mining pools: payouts and tags.

use cairn_events::PoolTag;
use cairn_tables::{
    claims::{ListKey, ListVersion},
    payouts::{MOST_PAYOUTS, Payout, Payouts, PayoutsRow},
    pool_tags::{PoolTagKey, PoolTags},
};
use proptest::{collection::vec, prelude::*, strategy::BoxedStrategy};

use crate::{Tested, golden::Golden, values};

impl Tested for Payouts {
    fn keys() -> BoxedStrategy<u32> {
        values::number().boxed()
    }

    fn values() -> BoxedStrategy<PayoutsRow> {
        let payout = (values::sats(), any::<[u8; 32]>()).prop_map(|(value, script)| Payout { value, script });
        (vec(payout, 0..=MOST_PAYOUTS), 0..100_000u32)
            .prop_map(|(mut largest, more)| {
                largest.sort_by_key(|payout| std::cmp::Reverse(payout.value));
                let more = if largest.len() == MOST_PAYOUTS { more } else { 0 };
                PayoutsRow { outputs: largest.len() as u32 + more, largest }
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let payout = |value, byte| Payout { value, script: [byte; 32] };
        let row = PayoutsRow { outputs: 2, largest: vec![payout(5_000_000_000, 0xa1), payout(0, 0xa2)] };
        vec![
            (
                0x0102_0304,
                row,
                "70 01020304",
                "02 32 a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1 \
                 00 a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2a2",
            ),
            (0, PayoutsRow { outputs: 0, largest: Vec::new() }, "70 00000000", "00"),
        ]
    }
}

/// Any tag, of any row but 0.
pub(crate) fn pool_tag() -> impl Strategy<Value = PoolTag> + Clone {
    let texts = ("[/ a-zäß.]{1,20}", "[a-z0-9._-]{1,64}", "[A-Za-zß ]{1,20}", "[a-z:/.]{0,20}");
    (1..=u32::MAX, texts).prop_map(|(row, (tag, pool, name, link))| PoolTag {
        row,
        tag: tag.into(),
        pool: pool.parse().unwrap(),
        name: name.into(),
        link: link.into(),
    })
}

/// The tag of the golden rows.
pub(crate) fn tagged() -> PoolTag {
    let (tag, name, link) = ("/abc/".into(), "ABC".into(), "u".into());
    PoolTag { row: 3, tag, pool: "abc".parse().unwrap(), name, link }
}

impl Tested for PoolTags {
    fn keys() -> BoxedStrategy<PoolTagKey> {
        let slug = || "[a-c]{1,3}|[a-z0-9._-]{1,32}".prop_map(|text| text.parse().unwrap());
        let list = (slug(), slug()).prop_map(|(source, list)| ListKey { source, list });
        let version = (values::number(), any::<[u8; 8]>());
        (list, version, values::number())
            .prop_map(|(list, (retrieved_at, document), row)| PoolTagKey {
                list,
                version: ListVersion { retrieved_at, document },
                row,
            })
            .boxed()
    }

    fn values() -> BoxedStrategy<PoolTag> {
        pool_tag().boxed()
    }

    fn golden() -> Golden<Self> {
        let list = ListKey { source: "abc".parse().unwrap(), list: "pools".parse().unwrap() };
        let version = ListVersion { retrieved_at: 300, document: [0xd1; 8] };
        vec![(
            PoolTagKey { list, version, row: 3 },
            tagged(),
            "67 61626300 706f6f6c7300 0000012c d1d1d1d1d1d1d1d1 00000003",
            "03 052f6162632f 03616263 03414243 0175",
        )]
    }
}
