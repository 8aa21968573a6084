//! Sums of a trace.

use std::collections::BTreeMap;

use cairn_model::{Sats, each_once};

use super::{Origin, Part, Source, Spread, Stop, spread::MILLIONTHS};

/// How far away a source is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reach {
    /// One transaction.
    Counterparty,
    /// Two transactions or more.
    Indirect,
}

impl Reach {
    /// The reach of a number of transactions, from 1.
    #[must_use]
    pub const fn of(hop: u8) -> Self {
        if hop <= 1 { Reach::Counterparty } else { Reach::Indirect }
    }
}

/// Three measures of one thing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Amounts {
    /// Haircut, in millionths of a satoshi.
    pub haircut: u128,
    /// FIFO, in satoshis.
    pub fifo: Sats,
    /// Value of the coins that any of it reached, each coin once: a bound for each coin, not a sum that was moved.
    pub poison: Sats,
}

impl Amounts {
    /// Haircut in whole satoshis, rounded down.
    #[must_use]
    pub fn haircut_sats(&self) -> Sats {
        Sats::try_from(self.haircut / MILLIONTHS).unwrap_or(Sats::MAX)
    }

    fn add(&mut self, (haircut, fifo): (u128, Sats)) {
        self.haircut += haircut;
        self.fifo = self.fifo.saturating_add(fifo);
    }
}

/// Sums of a trace. Haircut and FIFO of groups, `mined`, `fees` and `stops` add up to `examined`; the haircut with
/// [`Tally::rounding`].
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Tally {
    /// Satoshis that were traced.
    pub examined: Sats,
    /// By group of sources.
    pub groups: BTreeMap<(u32, Reach), Amounts>,
    /// By source.
    pub sources: BTreeMap<(Source, Reach), Amounts>,
    /// From coinbases.
    pub mined: Amounts,
    /// Paid to miners.
    pub fees: Amounts,
    /// By the reason why it was not traced further.
    pub stops: BTreeMap<Stop, Amounts>,
}

impl Tally {
    /// The rest of the haircut that rounding down left, in millionths of a satoshi.
    #[must_use]
    pub fn rounding(&self) -> u128 {
        let parts = self.groups.values().chain([&self.mined, &self.fees]).chain(self.stops.values());
        let sum: u128 = parts.map(|amounts| amounts.haircut).sum();
        (u128::from(self.examined) * MILLIONTHS).saturating_sub(sum)
    }

    /// Adds all parts of a coin; `of` says what a part counts as.
    pub(super) fn add(&mut self, spread: &Spread, value: Sats, of: impl Fn(Part) -> Option<Part>) {
        let (mut groups, mut sources, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for (part, amounts) in spread.sums() {
            let Some(part) = of(part) else { continue };
            match part.origin {
                Origin::Source(source) => {
                    let reach = Reach::of(part.hop);
                    self.groups.entry((source.group, reach)).or_default().add(amounts);
                    self.sources.entry((source, reach)).or_default().add(amounts);
                    groups.push((source.group, reach));
                    sources.push((source, reach));
                }
                origin => {
                    if let Some(sum) = self.other(origin) {
                        sum.add(amounts);
                        others.push(origin);
                    }
                }
            }
        }
        let count = |of: &mut Amounts| of.poison = of.poison.saturating_add(value);
        for group in each_once(groups) {
            self.groups.entry(group).and_modify(count);
        }
        for source in each_once(sources) {
            self.sources.entry(source).and_modify(count);
        }
        for origin in each_once(others) {
            if let Some(sum) = self.other(origin) {
                count(sum);
            }
        }
    }

    pub(super) fn add_fee(&mut self, spread: &Spread) {
        spread.sums().into_iter().for_each(|(_, amounts)| self.fees.add(amounts));
    }

    fn other(&mut self, origin: Origin) -> Option<&mut Amounts> {
        match origin {
            Origin::Mined => Some(&mut self.mined),
            Origin::Stop(stop) => Some(self.stops.entry(stop).or_default()),
            Origin::Source(_) | Origin::Own => None,
        }
    }
}
