//! `ages`: how old coins are as they are spent, what a day moved, and how the unspent coins of each day of birth
//! change. Ages and days go by monotone block time.

use std::collections::BTreeMap;

use cairn_domain::dormancy::{MOVEMENT_SATS, MOVEMENT_YEARS};
use cairn_model::{Block, Sats, SpentCoin, day_of};
use cairn_tables::{
    ages::{
        Birth, BirthDays, DORMANT_YEARS, Dormant, DormantRow, DormantSpends, SpentByAge, SpentRow, SupplyChanges,
        dormant_class,
    },
    daily::{Daily, Measure},
    old_coins::{DormantDays, MOVED_SATS, MOVEMENTS, MovementRow, OldMovements, OldSum},
    periods::Period,
    sums::Sums,
    tx_sums::{self, TxSums},
};

use crate::{
    deltas::{Lane, Spread},
    lanes::{Emitter, RowLane, Sink},
    stage::{MapContext, Stage, identity},
};

pub(crate) struct AgesStage;

const LANES: [Lane; 7] = [
    Lane::put::<TxSums>(Spread::Ascending),
    Lane::put::<SpentByAge>(Spread::Ascending),
    Lane::put::<DormantSpends>(Spread::Ascending),
    Lane::add::<SupplyChanges>(Spread::Few),
    Lane::add::<Daily>(Spread::Few),
    Lane::put::<OldMovements>(Spread::Ascending),
    Lane::add::<DormantDays>(Spread::Few),
];

const TX_SUMS: RowLane<TxSums> = RowLane::of(&LANES);
const SPENT: RowLane<SpentByAge> = RowLane::of(&LANES);
const DORMANT: RowLane<DormantSpends> = RowLane::of(&LANES);
const SUPPLY: RowLane<SupplyChanges> = RowLane::of(&LANES);
const DAILY: RowLane<Daily> = RowLane::of(&LANES);
const MOVED: RowLane<OldMovements> = RowLane::of(&LANES);
const DORMANT_DAYS: RowLane<DormantDays> = RowLane::of(&LANES);

/// Builds the sums of one block, which cannot exceed 128 bits: fewer than 2^24 coins of less than 2^51 satoshis each,
/// times 2^32 seconds.
fn sums(pairs: impl IntoIterator<Item = (u32, i128)>) -> Sums {
    Sums::of(pairs).unwrap_or_default()
}

fn destroyed(sats: Sats, age: u32) -> u128 {
    u128::from(sats) * u128::from(age)
}

/// The coins of a year and more that a transaction spends.
fn dormant(coins: &[SpentCoin], ages: &[u32]) -> Vec<Dormant> {
    let mut row: Vec<Dormant> = Vec::new();
    for (coin, age) in coins.iter().zip(ages) {
        let Some(class) = dormant_class(*age) else { continue };
        let at = row.partition_point(|dormant| dormant.class < class);
        if row.get(at).is_none_or(|dormant| dormant.class != class) {
            row.insert(at, Dormant { class, sats: 0, coins: 0, destroyed: 0 });
        }
        let dormant = &mut row[at];
        dormant.sats = dormant.sats.saturating_add(coin.value);
        dormant.coins += 1;
        dormant.destroyed += destroyed(coin.value, *age);
    }
    row
}

/// The coins of five years and more among them, if they are worth enough.
fn movement(row: &[Dormant]) -> Option<MovementRow> {
    let mut moved = MovementRow { coins: 0, sats: 0, destroyed: 0 };
    for of in row.iter().filter(|of| DORMANT_YEARS[usize::from(of.class)] >= MOVEMENT_YEARS) {
        moved.coins += of.coins;
        moved.sats = moved.sats.saturating_add(of.sats);
        moved.destroyed += of.destroyed;
    }
    Some(moved).filter(|moved| moved.sats >= MOVEMENT_SATS)
}

/// Coins by day of birth, ascending.
fn by_day(coins: impl Iterator<Item = (u32, Sats)>) -> Vec<Birth> {
    let mut coins: Vec<(u32, Sats)> = coins.collect();
    coins.sort_unstable();
    let birth = |of_day: &[(u32, Sats)]| {
        // The same money may pass through a block many times, yet 2^64 satoshis would need 8,784 transactions that move
        // all the money there is.
        let sats = of_day.iter().fold(0, |sum: Sats, (_, sats)| sum.saturating_add(*sats));
        Birth { day: of_day[0].0, sats, coins: of_day.len() as u64 }
    };
    coins.chunk_by(|a, b| a.0 == b.0).map(birth).collect()
}

#[derive(Default)]
struct Changes(BTreeMap<BirthDays, Vec<(u32, i128)>>);

impl Changes {
    fn add(&mut self, births: &[Birth], sign: i128) {
        for birth in births {
            let (row, position) = BirthDays::of(birth.day);
            let changes = self.0.entry(row).or_default();
            changes.push((position, sign * i128::from(birth.sats)));
            changes.push((position + 1, sign * i128::from(birth.coins)));
        }
    }

    fn rows(self) -> Vec<(BirthDays, Sums)> {
        let rows = self.0.into_iter().map(|(row, changes)| (row, sums(changes)));
        rows.filter(|(_, sums)| !sums.is_zero()).collect()
    }
}

impl Stage for AgesStage {
    identity!(AGES, LANES);

    fn map(&self, block: &Block, context: &MapContext<'_>, sink: &mut Sink<'_>) {
        let mut emit = Emitter::new(sink);
        let now = block.mono_time;
        let born = |coin: &SpentCoin| context.mono_time(coin.birth, block);
        let days = |coins: &[SpentCoin]| by_day(coins.iter().map(|coin| (day_of(born(coin)), coin.value)));
        let ages: Vec<u32> = block.inputs.iter().map(|coin| now.saturating_sub(born(coin))).collect();

        let (mut fees, mut inputs) = (0i128, 0i128);
        for (first, row) in tx_sums::rows_of(block) {
            fees += row.0.iter().map(|moved| i128::from(moved.fee)).sum::<i128>();
            inputs += row.0.iter().map(|moved| i128::from(moved.inputs)).sum::<i128>();
            emit.row(&TX_SUMS, &first, &row);
        }
        let mut old = [0i128; MOVED_SATS as usize + 1];
        for (i, tx) in block.txs.iter().enumerate() {
            let row = dormant(block.inputs_of(tx), &ages[tx.inputs.start as usize..tx.inputs.end as usize]);
            if row.is_empty() {
                continue;
            }
            for of in &row {
                old[OldSum::Sats.position(of.class) as usize] += i128::from(of.sats);
                old[OldSum::Coins.position(of.class) as usize] += i128::from(of.coins);
                old[OldSum::Destroyed.position(of.class) as usize] += of.destroyed.cast_signed();
            }
            if let Some(moved) = movement(&row) {
                old[MOVEMENTS as usize] += 1;
                old[MOVED_SATS as usize] += i128::from(moved.sats);
                emit.row(&MOVED, &block.tx_num(i), &moved);
            }
            emit.row(&DORMANT, &block.tx_num(i), &DormantRow(row));
        }

        let births = days(&block.inputs);
        let aged: u128 = block.inputs.iter().zip(&ages).map(|(coin, age)| destroyed(coin.value, *age)).sum();
        let made: Vec<Sats> = block.outputs.iter().filter(|output| output.spendable).map(|o| o.value).collect();
        let made_sats: i128 = made.iter().map(|sats| i128::from(*sats)).sum();
        let gone: Vec<SpentCoin> = block.overwritten.iter().map(|overwritten| overwritten.coin).collect();
        let gone_sats: i128 = gone.iter().map(|coin| i128::from(coin.value)).sum();

        let today = day_of(now);
        let mut changes = Changes::default();
        changes.add(&by_day(made.iter().map(|sats| (today, *sats))), 1);
        changes.add(&births, -1);
        changes.add(&days(&gone), -1);
        let changes = changes.rows();
        if !births.is_empty() {
            emit.row(&SPENT, &block.height, &SpentRow { destroyed: aged, births });
        }

        let now = i128::from(now);
        let day = sums(
            [
                (Measure::Blocks, 1),
                (Measure::Txs, block.txs.len() as i128),
                (Measure::CreatedCoins, made.len() as i128),
                (Measure::CreatedSats, made_sats),
                (Measure::SpentCoins, block.inputs.len() as i128),
                (Measure::SpentSats, inputs),
                (Measure::OverwrittenCoins, gone.len() as i128),
                (Measure::OverwrittenSats, gone_sats),
                (Measure::FeeSats, fees),
                (Measure::Destroyed, aged as i128),
                (Measure::CreatedMoment, made_sats * now),
                (Measure::LeftMoment, (inputs + gone_sats) * now),
            ]
            .map(|(measure, sum)| (measure.position(), sum)),
        );
        let old = sums((0..).zip(old));
        for period in Period::all_of(today) {
            emit.row(&DAILY, &period, &day);
            if !old.is_zero() {
                emit.row(&DORMANT_DAYS, &period, &old);
            }
            for (days, change) in &changes {
                emit.row(&SUPPLY, &(period, *days), change);
            }
        }
    }
}
