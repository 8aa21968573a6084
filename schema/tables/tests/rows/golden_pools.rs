//! As `golden`, for mining pools (payouts and tags), and for profiles.

use cairn_events::{Category, PoolTag, Profile};
use cairn_tables::{
    claims::{ListKey, ListVersion},
    listings::{ListingKey, PoolTags, Profiles},
    payouts::{MAX_PAYOUTS, Payout, Payouts, PayoutsRow},
};
use proptest::{collection::vec, prelude::*, strategy::BoxedStrategy};

use crate::{Tested, golden::Golden, values};

impl Tested for Payouts {
    fn keys() -> BoxedStrategy<u32> {
        values::number().boxed()
    }

    fn values() -> BoxedStrategy<PayoutsRow> {
        let payout = (values::sats(), any::<[u8; 32]>()).prop_map(|(value, script)| Payout { value, script });
        (vec(payout, 0..=MAX_PAYOUTS), 0..100_000u32)
            .prop_map(|(mut largest, more)| {
                largest.sort_by_key(|payout| std::cmp::Reverse(payout.value));
                let more = if largest.len() == MAX_PAYOUTS { more } else { 0 };
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

/// Any profile, of any row but 0.
pub(crate) fn profile() -> impl Strategy<Value = Profile> + Clone {
    let texts = ("[a-z0-9._-]{1,64}", "[A-Za-zß ]{1,20}", "[a-z:/.]{0,20}", "[A-Za-z ]{0,20}");
    let aliases = vec("[A-Za-zß ]{1,20}", 0..4);
    let codes = vec("[A-Z]{2}", 0..4);
    let category = proptest::option::of(proptest::sample::select(Category::ALL));
    (1..=u32::MAX, texts, aliases, category, codes, any::<Option<u32>>()).prop_map(
        |(row, (entity, name, homepage, legal_name), aliases, category, codes, asserted_at)| Profile {
            row,
            entity: entity.parse().unwrap(),
            name: name.into(),
            aliases: aliases.into_iter().map(Into::into).collect(),
            category,
            homepage: homepage.into(),
            jurisdictions: codes.iter().map(|code| code.parse().unwrap()).collect(),
            legal_name: legal_name.into(),
            asserted_at,
        },
    )
}

/// The profile of the golden rows.
pub(crate) fn profiled() -> Profile {
    Profile {
        row: 3,
        entity: "abc".parse().unwrap(),
        name: "ABC".into(),
        aliases: vec!["Abc 1".into()],
        category: Some(Category::Exchange),
        homepage: "u".into(),
        jurisdictions: vec!["VG".parse().unwrap(), "MT".parse().unwrap()],
        legal_name: "A".into(),
        asserted_at: Some(299),
    }
}

fn keys() -> BoxedStrategy<ListingKey> {
    let slug = || "[a-c]{1,3}|[a-z0-9._-]{1,32}".prop_map(|text| text.parse().unwrap());
    let list = (slug(), slug()).prop_map(|(source, list)| ListKey { source, list });
    let version = (values::number(), any::<[u8; 8]>());
    (list, version, values::number())
        .prop_map(|(list, (retrieved_at, document), row)| ListingKey {
            list,
            version: ListVersion { retrieved_at, document },
            row,
        })
        .boxed()
}

fn key() -> ListingKey {
    let list = ListKey { source: "abc".parse().unwrap(), list: "pools".parse().unwrap() };
    ListingKey { list, version: ListVersion { retrieved_at: 300, document: [0xd1; 8] }, row: 3 }
}

impl Tested for PoolTags {
    fn keys() -> BoxedStrategy<ListingKey> {
        keys()
    }

    fn values() -> BoxedStrategy<PoolTag> {
        pool_tag().boxed()
    }

    fn golden() -> Golden<Self> {
        vec![(
            key(),
            tagged(),
            "67 61626300 706f6f6c7300 0000012c d1d1d1d1d1d1d1d1 00000003",
            "03 052f6162632f 03616263 03414243 0175",
        )]
    }
}

impl Tested for Profiles {
    fn keys() -> BoxedStrategy<ListingKey> {
        keys()
    }

    fn values() -> BoxedStrategy<Profile> {
        profile().boxed()
    }

    fn golden() -> Golden<Self> {
        let bare = Profile {
            aliases: Vec::new(),
            category: None,
            homepage: "".into(),
            jurisdictions: Vec::new(),
            legal_name: "".into(),
            asserted_at: None,
            ..profiled()
        };
        vec![
            (
                key(),
                profiled(),
                "50 61626300 706f6f6c7300 0000012c d1d1d1d1d1d1d1d1 00000003",
                "03 03616263 03414243 01 0175 0141 ac02 01 054162632031 02 5647 4d54",
            ),
            (
                ListingKey { row: 4, ..key() },
                bare,
                "50 61626300 706f6f6c7300 0000012c d1d1d1d1d1d1d1d1 00000004",
                "03 03616263 03414243 00 00 00 00 00 00",
            ),
        ]
    }
}
