//! As `golden`, for transactions that move much or gather many coins.

use cairn_model::TxNum;
use cairn_tables::transfers::{ChangeRow, Consolidations, GatheredRow, LargeChange, LargeRow, LargeTransfers};
use proptest::{prelude::*, strategy::BoxedStrategy};

use crate::{Tested, golden::Golden, values};

fn some_sats() -> impl Strategy<Value = u64> + Clone {
    values::sats().prop_map(|sats| sats.max(1))
}

impl Tested for LargeTransfers {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<LargeRow> {
        (some_sats(), any::<bool>()).prop_map(|(sats, coinjoin)| LargeRow { sats, coinjoin }).boxed()
    }

    fn golden() -> Golden<Self> {
        let row = |sats, coinjoin| LargeRow { sats, coinjoin };
        vec![
            (TxNum(0x01_0203_0405), row(10_000_000_000, false), "0102030405", "00 64"),
            (TxNum(7), row(10_000_000_001, true), "0000000007", "01 8188aca3cf02"),
        ]
    }
}

impl Tested for Consolidations {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<GatheredRow> {
        (1..=u32::MAX, any::<u32>(), values::sats())
            .prop_map(|(inputs, outputs, sats)| GatheredRow { inputs, outputs: outputs % inputs, sats })
            .boxed()
    }

    fn golden() -> Golden<Self> {
        let row = GatheredRow { inputs: 300, outputs: 2, sats: 5_000_000_000 };
        vec![(TxNum(0x01_0203_0405), row, "0102030405", "ac02 02 32")]
    }
}

impl Tested for LargeChange {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<ChangeRow> {
        some_sats().prop_map(ChangeRow).boxed()
    }

    fn golden() -> Golden<Self> {
        vec![(TxNum(0x01_0203_0405), ChangeRow(5_000_000_000), "0102030405", "32")]
    }
}
