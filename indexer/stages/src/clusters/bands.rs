//! Balances by band and day, and amounts paid to others, added up in memory.

use cairn_model::Sats;
use cairn_tables::{
    clusters::NET_EXTERNAL,
    periods::Period,
    script_days::{BANDS, band},
    sums::Sums,
};

use super::DAYS;
use crate::{deltas::StageError, lanes::Emitter};

/// The change of one day: the number of balances in each band, and their sums; then the amount paid to others.
type Changes = [i128; NET_EXTERNAL as usize + 1];

/// Changes by day since 1970. Nearly every script has so few entries that looking up its days in a map would cost more
/// than all else.
#[derive(Default)]
pub(super) struct BandDays(Vec<Option<Box<Changes>>>);

impl BandDays {
    /// Notes a changed balance; `None` before if it is new, and after if it is gone.
    pub(super) fn change(&mut self, day: u32, before: Option<Sats>, after: Option<Sats>) {
        let banded = |balance: Option<Sats>| balance.and_then(|sats| Some((band(sats)?, sats)));
        let (before, after) = (banded(before), banded(after));
        if before == after {
            return;
        }
        let changes = self.of(day);
        let mut add = |(band, sats): (u32, Sats), sign: i128| {
            changes[band as usize] += sign;
            changes[(BANDS + band) as usize] += sign * i128::from(sats);
        };
        before.into_iter().for_each(|before| add(before, -1));
        after.into_iter().for_each(|after| add(after, 1));
    }

    /// Notes that a transaction pays `sats` to others than those that it spends from.
    pub(super) fn pay_outside(&mut self, day: u32, sats: i128) {
        if sats != 0 {
            self.of(day)[NET_EXTERNAL as usize] += sats;
        }
    }

    fn of(&mut self, day: u32) -> &mut Changes {
        let day = day as usize;
        if self.0.len() <= day {
            self.0.resize_with(day + 1, || None);
        }
        self.0[day].get_or_insert_with(|| Box::new([0; NET_EXTERNAL as usize + 1]))
    }

    /// Emits the changes of days and longer periods.
    pub(super) fn emit(&mut self, emit: &mut Emitter<'_, '_>) -> Result<(), StageError> {
        for (day, changes) in (0u32..).zip(self.0.drain(..)) {
            let Some(changes) = changes else { continue };
            let sums = Sums::of((0u32..).zip(*changes))?;
            if !sums.is_zero() {
                Period::all_of(day).iter().for_each(|period| emit.row(&DAYS, period, &sums));
            }
        }
        Ok(())
    }
}
