//! As `golden`, for the feed.

use cairn_tables::feed::{Announced, AnnouncedKey, Feed, FeedKind, FeedRow};
use proptest::{option, prelude::*, sample::select, strategy::BoxedStrategy};

use crate::{Tested, golden::Golden, values};

impl Tested for Feed {
    fn keys() -> BoxedStrategy<u64> {
        prop_oneof![0..300u64, any::<u64>()].boxed()
    }

    fn values() -> BoxedStrategy<FeedRow> {
        let hash = any::<[u8; 32]>();
        let numbers = (values::number(), values::number(), values::sats(), any::<u64>());
        let kinds = select(FeedKind::ALL.to_vec());
        (kinds, hash, numbers, "[a-z/-]{0,60}", option::of(any::<u64>()))
            .prop_map(|(kind, id, (at, height, sats, number), text, retracts)| FeedRow {
                kind,
                at,
                height,
                id,
                sats,
                number,
                text,
                retracts,
            })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let row = FeedRow {
            kind: FeedKind::Whale,
            at: 300,
            height: 7,
            id: [0xab; 32],
            sats: 10_000_000_000,
            number: 0,
            text: String::new(),
            retracts: None,
        };
        let id = "abababababababababababababababababababababababababababababababab";
        let labels = FeedRow { kind: FeedKind::LabelChange, number: 3, sats: 0, text: "a/b".to_owned(), ..row.clone() };
        let taken_back = FeedRow { retracts: Some(300), ..row.clone() };
        let bytes = |kind: &str, rest: &str| -> &'static str { format!("{kind} ac02 07 {id} {rest}").leak() };
        vec![
            (5, row, "46 0000000000000005", bytes("02", "64 00 00")),
            (6, labels, "46 0000000000000006", bytes("07", "00 03 03 612f62")),
            (7, taken_back, "46 0000000000000007", bytes("02", "64 00 00 ac02")),
        ]
    }
}

impl Tested for Announced {
    fn keys() -> BoxedStrategy<AnnouncedKey> {
        (values::number(), any::<u64>()).prop_map(|(height, seq)| AnnouncedKey { height, seq }).boxed()
    }

    fn values() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![(AnnouncedKey { height: 0x0102_0304, seq: 5 }, (), "41 01020304 0000000000000005", "")]
    }
}
