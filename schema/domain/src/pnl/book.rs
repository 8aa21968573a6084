//! The coins that a wallet holds, with their cost.

use std::collections::VecDeque;

use cairn_model::{Outpoint, Sats};

use super::money::{Micros, part_of};

/// How the cost of a coin that leaves is determined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// All coins are one pool: each has cost the average.
    Average,
    /// Coins leave in the order in which they came.
    Fifo,
}

/// Coins that came in together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lot {
    /// The output that they came with. Of a transaction in which the wallet also spent, its first output.
    pub from: Outpoint,
    /// How many are left.
    pub sats: Sats,
    /// Cost of these; `None` if no price is known.
    pub cost: Option<Micros>,
}

/// Coins that left, and their cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Consumed {
    /// Its cost; `None` if unknown.
    pub cost: Option<Micros>,
    /// The lots that it was taken of, first in first out, whatever the method. With [`Method::Average`] their costs are
    /// those of the lots, and do not add up to the cost.
    pub parts: Vec<Lot>,
    /// Lots that are used up.
    pub emptied: u64,
}

/// More left than there was, or amounts exceed the range of answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BookError {
    /// More left than there was: the history of the wallet is incomplete.
    #[error("a wallet spent more than it had")]
    Short,
    /// An amount of money exceeds the range of answers.
    #[error("an amount of money is too large")]
    TooLarge,
}

/// The coins of a wallet.
#[derive(Clone, Debug)]
pub struct Book {
    method: Method,
    lots: VecDeque<Lot>,
    sats: Sats,
    /// Cost of the lots with known cost, and the number of other lots.
    lots_cost: Micros,
    unknown: usize,
    /// Cost of the pool, for [`Method::Average`].
    pool_cost: Option<Micros>,
}

impl Book {
    /// Without coins.
    #[must_use]
    pub fn new(method: Method) -> Self {
        Book { method, lots: VecDeque::new(), sats: 0, lots_cost: 0, unknown: 0, pool_cost: Some(0) }
    }

    /// How many coins there are, in satoshis.
    #[must_use]
    pub fn sats(&self) -> Sats {
        self.sats
    }

    /// Their cost; `None` if unknown.
    #[must_use]
    pub fn cost(&self) -> Option<Micros> {
        match self.method {
            Method::Average => self.pool_cost,
            Method::Fifo => (self.unknown == 0).then_some(self.lots_cost),
        }
    }

    /// Lots that still have coins.
    #[must_use]
    pub fn lots(&self) -> usize {
        self.lots.len()
    }

    /// Takes a lot in.
    pub fn acquire(&mut self, lot: Lot) -> Result<(), BookError> {
        if lot.sats == 0 {
            return Ok(());
        }
        self.sats = self.sats.checked_add(lot.sats).ok_or(BookError::TooLarge)?;
        self.pool_cost = sum(self.pool_cost, lot.cost)?;
        match lot.cost {
            Some(cost) => self.lots_cost = self.lots_cost.checked_add(cost).ok_or(BookError::TooLarge)?,
            None => self.unknown += 1,
        }
        self.lots.push_back(lot);
        Ok(())
    }

    /// Lets coins go.
    pub fn dispose(&mut self, sats: Sats) -> Result<Consumed, BookError> {
        let left = self.sats.checked_sub(sats).ok_or(BookError::Short)?;
        let pool = |cost| part_of(cost, sats, self.sats).ok_or(BookError::TooLarge);
        // Only nothing can be taken from an empty pool.
        let average = if self.sats == 0 { Some(0) } else { self.pool_cost.map(pool).transpose()? };
        let parts = self.take(sats)?;
        let emptied = parts.iter().filter(|(_, is_last)| *is_last).count() as u64;
        let parts: Vec<Lot> = parts.into_iter().map(|(part, _)| part).collect();
        let cost = match self.method {
            Method::Average => average,
            Method::Fifo => parts.iter().try_fold(Some(0), |all, part| sum(all, part.cost))?,
        };
        self.sats = left;
        // If no coins are left, their cost is known: zero.
        self.pool_cost = if left == 0 { Some(0) } else { self.pool_cost.zip(average).map(|(all, part)| all - part) };
        Ok(Consumed { cost, parts, emptied })
    }

    /// Takes coins of the lots. With each part, whether nothing is left of its lot.
    fn take(&mut self, mut wanted: Sats) -> Result<Vec<(Lot, bool)>, BookError> {
        let mut parts = Vec::new();
        while wanted > 0 {
            let lot = self.lots.front_mut().ok_or(BookError::Short)?;
            let taken = wanted.min(lot.sats);
            let cost = lot.cost.map(|cost| part_of(cost, taken, lot.sats).ok_or(BookError::TooLarge)).transpose()?;
            wanted -= taken;
            lot.sats -= taken;
            lot.cost = lot.cost.zip(cost).map(|(all, part)| all - part);
            self.lots_cost -= cost.unwrap_or(0);
            let is_last = lot.sats == 0;
            parts.push((Lot { from: lot.from, sats: taken, cost }, is_last));
            if is_last {
                self.unknown -= usize::from(cost.is_none());
                self.lots.pop_front();
            }
        }
        Ok(parts)
    }
}

/// The sum of two costs, which is not known if one of them is not.
fn sum(a: Option<Micros>, b: Option<Micros>) -> Result<Option<Micros>, BookError> {
    a.zip(b).map(|(a, b)| a.checked_add(b).ok_or(BookError::TooLarge)).transpose()
}
