//! As `golden`, for the public keys that P2PK outputs show.

use cairn_tables::{
    keys::HashPrefix,
    pubkeys::{OUTPUTS, Pubkeys, ShownKey},
    sums::Sums,
};
use proptest::{collection::vec, prelude::*, strategy::BoxedStrategy};

use crate::{Tested, golden::Golden, golden_ages, values};

/// Any bytes that look like a key.
fn key() -> impl Strategy<Value = ShownKey> + Clone {
    let form = prop_oneof![(2..=3u8, Just(32usize)), (prop_oneof![Just(4u8), 6..=7u8], Just(64usize))];
    form.prop_flat_map(|(head, length)| {
        vec(any::<u8>(), length).prop_map(move |rest| ShownKey([&[head], &rest[..]].concat()))
    })
}

impl Tested for Pubkeys {
    fn keys() -> BoxedStrategy<(HashPrefix, ShownKey)> {
        (values::hash_prefix(), key()).boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        golden_ages::sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let key = ShownKey([&[3][..], &[0xaa; 32]].concat());
        let sums = Sums::of([(OUTPUTS, 300)]).unwrap();
        vec![(
            (HashPrefix([1, 2, 3, 4, 5, 6, 7, 8]), key),
            sums,
            "4b 0102030405060708 03aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
            "00 d804",
        )]
    }
}
