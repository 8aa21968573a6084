//! As `golden`, for the tables of the stage `ages`.

use cairn_model::TxNum;
use cairn_tables::{
    ages::{Birth, BirthDays, Dormant, DormantRow, DormantSpends, SpentByAge, SpentRow, SupplyChanges},
    daily::{Daily, Measure},
    old_coins::{DormantDays, MOVED_SATS, MovementRow, OldMovements, OldSum},
    periods::Period,
    script_days::{BANDS, SENDERS, ScriptDays, band},
    sums::Sums,
    tx_sums::{TxSum, TxSums, TxSumsRow},
};
use proptest::{collection::vec, prelude::*, strategy::BoxedStrategy};

use crate::{Tested, golden::Golden, values};

pub(crate) fn period() -> impl Strategy<Value = Period> + Clone {
    (0..u32::from(u16::MAX), 0..4usize).prop_map(|(day, level)| Period::all_of(day)[level])
}

pub(crate) fn sums() -> impl Strategy<Value = Sums> + Clone {
    let position = prop_oneof![0..5u32, 0..1u32 << 16];
    let number = prop_oneof![-3..3i128, any::<i64>().prop_map(i128::from), any::<i128>()];
    vec((position, number), 0..20).prop_map(|pairs| Sums::of(pairs).unwrap_or_default())
}

fn wide() -> impl Strategy<Value = u128> + Clone {
    prop_oneof![0..300u128, any::<u128>()]
}

impl Tested for TxSums {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<TxSumsRow> {
        let moved = (values::sats(), values::sats()).prop_map(|(a, b)| TxSum { fee: a.min(b), inputs: a.max(b) });
        vec(moved, 1..=64).prop_map(TxSumsRow).boxed()
    }

    fn golden() -> Golden<Self> {
        let row = TxSumsRow(vec![TxSum::default(), TxSum { fee: 1_234, inputs: 5_000_000_000 }]);
        vec![(TxNum(0x01_0203_0405), row, "0102030405", "0000dd5632")]
    }
}

impl Tested for SpentByAge {
    fn keys() -> BoxedStrategy<u32> {
        values::number().boxed()
    }

    fn values() -> BoxedStrategy<SpentRow> {
        let birth = (0..=u32::from(u16::MAX), values::sats(), 1..u64::MAX);
        let births = vec(birth, 1..40).prop_map(|mut births| {
            births.sort_unstable();
            births.dedup_by_key(|birth| birth.0);
            births.into_iter().map(|(day, sats, coins)| Birth { day, sats, coins }).collect()
        });
        (wide(), births).prop_map(|(destroyed, births)| SpentRow { destroyed, births }).boxed()
    }

    fn golden() -> Golden<Self> {
        let birth = |day, sats, coins| Birth { day, sats, coins };
        let births = vec![birth(14_248, 5_000_000_000, 1), birth(14_249, 7, 300), birth(20_000, 0, 2)];
        vec![(
            170,
            SpentRow { destroyed: 1 << 70, births },
            "000000aa",
            "8080808080808080808001a86f3201003dac02f62c0002",
        )]
    }
}

impl Tested for DormantSpends {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<DormantRow> {
        let row = vec((0..6u8, values::sats(), 1..u64::MAX, wide()), 1..12).prop_map(|mut row| {
            row.sort_unstable();
            row.dedup_by_key(|dormant| dormant.0);
            let dormant = |(class, sats, coins, destroyed)| Dormant { class, sats, coins, destroyed };
            DormantRow(row.into_iter().map(dormant).collect())
        });
        row.boxed()
    }

    fn golden() -> Golden<Self> {
        let row = vec![
            Dormant { class: 0, sats: 1_000, coins: 1, destroyed: 31_536_000_000 },
            Dormant { class: 5, sats: 5_000_000_000, coins: 2, destroyed: 300 },
        ];
        vec![(TxNum(7), DormantRow(row), "0000000007", "00040180d8c4bd75053202ac02")]
    }
}

impl Tested for DormantDays {
    fn keys() -> BoxedStrategy<Period> {
        period().boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let sums = [(OldSum::Sats.position(0), 100), (OldSum::Coins.position(5), 2), (MOVED_SATS, 5)];
        vec![(Period::day(0x0102), Sums::of(sums).unwrap(), "43 00 0102", "00c801 0f04 020a")]
    }
}

impl Tested for OldMovements {
    fn keys() -> BoxedStrategy<TxNum> {
        values::tx_num().boxed()
    }

    fn values() -> BoxedStrategy<MovementRow> {
        let row = (1..u64::MAX, values::sats(), wide());
        row.prop_map(|(coins, sats, destroyed)| MovementRow { coins, sats: sats.max(1), destroyed }).boxed()
    }

    fn golden() -> Golden<Self> {
        let row = MovementRow { coins: 2, sats: 5_000_000_000, destroyed: 300 };
        vec![(TxNum(0x01_0203_0405), row, "4d 0102030405", "02 32 ac02")]
    }
}

impl Tested for SupplyChanges {
    fn keys() -> BoxedStrategy<(Period, BirthDays)> {
        (period(), any::<u16>().prop_map(BirthDays)).boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let (row, position) = BirthDays::of(14_245);
        let sums = Sums::of([(position, -5_000_000_000), (position + 1, -1)]).unwrap();
        vec![((Period::all_of(20_000)[1], row), sums, "610104e200de", "4affc7afa0250001")]
    }
}

impl Tested for Daily {
    fn keys() -> BoxedStrategy<Period> {
        period().boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let sums = [(Measure::Blocks, 144), (Measure::FeeSats, 1_000), (Measure::LeftMoment, 2)];
        let sums = Sums::of(sums.map(|(measure, sum)| (measure.position(), sum))).unwrap();
        vec![(Period::day(14_245), sums, "640037a5", "00a00207d00f0204")]
    }
}

impl Tested for ScriptDays {
    fn keys() -> BoxedStrategy<Period> {
        period().boxed()
    }

    fn values() -> BoxedStrategy<Sums> {
        sums().boxed()
    }

    fn golden() -> Golden<Self> {
        let band = band(5_000_000_000).unwrap();
        let sums = Sums::of([(band, 1), (BANDS + band, 5_000_000_000), (SENDERS, 2)]).unwrap();
        vec![(Period::day(14_245), sums, "620037a5", "09020f80c8afa0252604")]
    }
}
