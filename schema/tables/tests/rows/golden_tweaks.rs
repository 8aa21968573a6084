//! As `golden`, for the tweaks of silent payments.

use cairn_model::{BlockHash, Height};
use cairn_tables::tweaks::{StoredTweak, TweakHead, TweakHeadRow, TweakRow, Tweaks};
use proptest::{array::uniform32, collection::vec, prelude::*, strategy::BoxedStrategy};

use crate::{Tested, golden::Golden, values};

fn hash() -> impl Strategy<Value = BlockHash> + Clone {
    any::<[u8; 32]>().prop_map(BlockHash)
}

impl Tested for TweakHead {
    fn keys() -> BoxedStrategy<()> {
        Just(()).boxed()
    }

    fn values() -> BoxedStrategy<TweakHeadRow> {
        let row = (values::number(), values::number(), hash());
        row.prop_map(|(a, b, hash)| TweakHeadRow { height: a.max(b), hash, first: a.min(b) }).boxed()
    }

    fn golden() -> Golden<Self> {
        let row = TweakHeadRow { height: 300, hash: BlockHash([0xab; 32]), first: 2 };
        let bytes = "ac02 abababababababababababababababababababababababababababababababab 02";
        vec![((), row, "54", bytes)]
    }
}

fn tweak() -> impl Strategy<Value = StoredTweak> + Clone {
    let point = (2..=3u8, uniform32(any::<u8>()));
    let rest = (values::coin_sats(), vec(any::<[u8; 8]>(), 1..4));
    (0..3u32, point, rest).prop_map(|(index, (parity, x), (largest, outputs))| {
        let mut tweak = [parity; 33];
        tweak[1..].copy_from_slice(&x);
        StoredTweak { index, tweak, largest, outputs }
    })
}

impl Tested for Tweaks {
    fn keys() -> BoxedStrategy<Height> {
        values::number().boxed()
    }

    fn values() -> BoxedStrategy<TweakRow> {
        let row = (hash(), vec(tweak(), 0..5));
        let in_order = |(hash, mut tweaks): (BlockHash, Vec<StoredTweak>)| {
            let mut next = 0;
            for of in &mut tweaks {
                of.index += next;
                next = of.index + 1;
            }
            TweakRow { hash, tweaks }
        };
        row.prop_map(in_order).boxed()
    }

    fn golden() -> Golden<Self> {
        let tweak = |index, parity, outputs: &[u8]| {
            let mut tweak = [0xcd; 33];
            tweak[0] = parity;
            StoredTweak { index, tweak, largest: 100_000, outputs: outputs.iter().map(|byte| [*byte; 8]).collect() }
        };
        let row = TweakRow { hash: BlockHash([0xab; 32]), tweaks: vec![tweak(1, 2, &[1]), tweak(300, 3, &[2, 3])] };
        let bytes = "abababababababababababababababababababababababababababababababab \
                     01 02 cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd 06 01 0101010101010101 \
                     aa02 03 cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd 06 02 0202020202020202 \
                     0303030303030303";
        let none = TweakRow { hash: BlockHash([0xab; 32]), tweaks: Vec::new() };
        let empty = "abababababababababababababababababababababababababababababababab";
        vec![(0x0102_0304, row, "01020304", bytes), (1, none, "00000001", empty)]
    }
}
