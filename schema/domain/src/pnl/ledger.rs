//! Goes through the transactions of a wallet, and sums up.

use std::collections::BTreeMap;

use cairn_model::{Outpoint, Sats, TxNum};
use rust_decimal::Decimal;

use super::{
    book::{Book, BookError, Lot, Method},
    money::{Micros, value_of},
    movement::{Effect, Inflow, Movement, Net},
};

/// Kind of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Coins were received.
    Acquisition,
    /// Coins were mined.
    Income,
    /// Coins went to others.
    Disposal,
    /// The wallet's share of a fee.
    Fee,
    /// Coins moved within the wallet.
    Transfer,
}

impl Kind {
    /// Its value is that of the coins at the price of their time.
    #[must_use]
    pub const fn needs_price(self) -> bool {
        matches!(self, Kind::Acquisition | Kind::Income | Kind::Disposal)
    }
}

/// A step of the computation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Its subject.
    pub kind: Kind,
    /// The transaction.
    pub tx_num: TxNum,
    /// Monotone time of its block, in seconds since 1970.
    pub time: u32,
    /// Satoshis; for a transfer, those that stayed in the wallet.
    pub sats: Sats,
    /// Their value: the cost of an acquisition, the proceeds of a disposal. Zero of a fee; `None` of a transfer, and
    /// where no price is known.
    pub value: Option<Micros>,
    /// Cost of the coins that left. `None` for coins that came in, and where a price is not known.
    pub cost: Option<Micros>,
    /// The lots that they came with, or that they were taken of.
    pub lots: Vec<Lot>,
    /// Lots that are used up.
    pub emptied: u64,
    /// Satoshis held before, and their cost.
    pub before: (Sats, Option<Micros>),
    /// The same after.
    pub after: (Sats, Option<Micros>),
}

impl Row {
    /// Proceeds minus cost of coins that left. `None` for coins that came in, for transfers, and where a price is not
    /// known.
    #[must_use]
    pub fn gain(&self) -> Option<Micros> {
        matches!(self.kind, Kind::Disposal | Kind::Fee).then(|| self.value?.checked_sub(self.cost?)).flatten()
    }
}

/// Sums over rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sums {
    /// Received coins, without mined ones, and their cost.
    pub acquired: (Sats, Option<Micros>),
    /// Mined coins, and their worth.
    pub mined: (Sats, Option<Micros>),
    /// Coins that went to others, and their proceeds.
    pub disposed: (Sats, Option<Micros>),
    /// Cost of these.
    pub disposed_cost: Option<Micros>,
    /// Shares of fees, and their cost.
    pub fees: (Sats, Option<Micros>),
    /// Disposals that brought more than they cost.
    pub wins: u64,
    /// Disposals that brought less.
    pub losses: u64,
    /// Disposals that brought just as much.
    pub even: u64,
    /// Disposals without a known price.
    pub unknown: u64,
    /// Lots that came in.
    pub lots_opened: u64,
    /// Lots that are used up, first in first out.
    pub lots_emptied: u64,
    /// Transactions within the wallet.
    pub transfers: u64,
    /// Transactions.
    pub txs: u64,
}

impl Default for Sums {
    fn default() -> Self {
        let nothing = (0, Some(0));
        Sums {
            acquired: nothing,
            mined: nothing,
            disposed: nothing,
            disposed_cost: Some(0),
            fees: nothing,
            wins: 0,
            losses: 0,
            even: 0,
            unknown: 0,
            lots_opened: 0,
            lots_emptied: 0,
            transfers: 0,
            txs: 0,
        }
    }
}

fn add(sum: &mut (Sats, Option<Micros>), (sats, value): (Sats, Option<Micros>)) -> Result<(), BookError> {
    sum.0 = sum.0.checked_add(sats).ok_or(BookError::TooLarge)?;
    plus(&mut sum.1, value)
}

fn plus(sum: &mut Option<Micros>, value: Option<Micros>) -> Result<(), BookError> {
    *sum = match (*sum, value) {
        (Some(sum), Some(value)) => Some(sum.checked_add(value).ok_or(BookError::TooLarge)?),
        _ => None,
    };
    Ok(())
}

impl Sums {
    /// Realized gains: proceeds less costs, fees among them. `None` if a price is not known.
    #[must_use]
    pub fn realized(&self) -> Option<Micros> {
        self.disposed.1?.checked_sub(self.disposed_cost?)?.checked_sub(self.fees.1?)
    }

    /// Adds the rows of a transaction.
    pub fn add(&mut self, rows: &[Row]) -> Result<(), BookError> {
        self.txs += 1;
        rows.iter().try_for_each(|row| self.row(row))
    }

    fn row(&mut self, row: &Row) -> Result<(), BookError> {
        self.lots_emptied += row.emptied;
        match row.kind {
            Kind::Acquisition => {
                self.lots_opened += row.lots.len() as u64;
                add(&mut self.acquired, (row.sats, row.value))
            }
            Kind::Income => {
                self.lots_opened += row.lots.len() as u64;
                add(&mut self.mined, (row.sats, row.value))
            }
            Kind::Disposal => {
                match row.gain().map(Micros::signum) {
                    None => self.unknown += 1,
                    Some(1) => self.wins += 1,
                    Some(-1) => self.losses += 1,
                    Some(_) => self.even += 1,
                }
                plus(&mut self.disposed_cost, row.cost)?;
                add(&mut self.disposed, (row.sats, row.value))
            }
            Kind::Fee => add(&mut self.fees, (row.sats, row.cost)),
            Kind::Transfer => {
                self.transfers += 1;
                Ok(())
            }
        }
    }
}

/// Gains and holdings of a wallet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Over all transactions.
    pub all: Sums,
    /// Sums by year (UTC, monotone block time).
    pub years: BTreeMap<u32, Sums>,
    /// Satoshis that the wallet holds.
    pub sats: Sats,
    /// Their cost.
    pub cost: Option<Micros>,
    /// Its current value.
    pub market_value: Option<Micros>,
    /// Lots that still have coins, first in first out.
    pub lots: u64,
}

impl Report {
    /// Gain of a sale of everything now. `None` if a price is not known.
    #[must_use]
    pub fn unrealized(&self) -> Option<Micros> {
        self.market_value?.checked_sub(self.cost?)
    }

    /// Realized and unrealized gains, and the same by another way: market value and proceeds less all that was paid.
    /// They are equal. `None` if a price is not known.
    #[must_use]
    pub fn invariant(&self) -> Option<(Micros, Micros)> {
        let gains = self.all.realized()?.checked_add(self.unrealized()?)?;
        let paid = self.all.acquired.1?.checked_add(self.all.mined.1?)?;
        Some((gains, self.market_value?.checked_add(self.all.disposed.1?)?.checked_sub(paid)?))
    }
}

/// Goes through the transactions of a wallet, in the order of the chain.
#[derive(Clone, Debug)]
pub struct Ledger {
    book: Book,
    all: Sums,
    years: BTreeMap<u32, Sums>,
}

impl Ledger {
    /// The ledger before the first transaction.
    #[must_use]
    pub fn new(method: Method) -> Self {
        Ledger { book: Book::new(method), all: Sums::default(), years: BTreeMap::new() }
    }

    /// Satoshis that the wallet holds, and their cost.
    #[must_use]
    pub fn holds(&self) -> (Sats, Option<Micros>) {
        (self.book.sats(), self.book.cost())
    }

    /// Sums over all transactions so far.
    #[must_use]
    pub fn sums(&self) -> &Sums {
        &self.all
    }

    /// Takes the next transaction, with the price of a bitcoin at its time, and the year of that time. Returns its
    /// rows: one for the net effect, and one for the fee.
    ///
    /// # Errors
    /// Fails if the wallet spent more than it had, an amount is too large, or a price is negative. Drop the ledger
    /// then.
    pub fn take(&mut self, movement: &Movement, price: Option<Decimal>, year: u32) -> Result<Vec<Row>, BookError> {
        let Effect { net, fee } = movement.effect();
        let mut rows = Vec::with_capacity(2);
        match net {
            Net::Nothing => {}
            Net::Transfer => {
                let (holds, lots) = (self.holds(), Vec::new());
                let sats = movement.received_sats();
                rows.push(row(Kind::Transfer, movement, (sats, None, None), (lots, 0), holds, holds));
            }
            Net::In(inflow, outputs) => rows.push(self.acquire(movement, inflow, &outputs, price)?),
            Net::Out(sats) => {
                let value = price.map(|price| value_of(sats, price).ok_or(BookError::TooLarge)).transpose()?;
                rows.push(self.dispose(Kind::Disposal, movement, sats, value)?);
            }
        }
        if fee > 0 {
            rows.push(self.dispose(Kind::Fee, movement, fee, Some(0))?);
        }
        let of_year = self.years.entry(year).or_default();
        for sums in [&mut self.all, of_year] {
            sums.add(&rows)?;
        }
        Ok(rows)
    }

    fn acquire(
        &mut self,
        movement: &Movement,
        inflow: Inflow,
        outputs: &[(u32, Sats)],
        price: Option<Decimal>,
    ) -> Result<Row, BookError> {
        let (before, mut all, mut lots) = (self.holds(), (0, Some(0)), Vec::new());
        for (vout, sats) in outputs.iter().filter(|(_, sats)| *sats > 0) {
            let cost = price.map(|price| value_of(*sats, price).ok_or(BookError::TooLarge)).transpose()?;
            let lot = Lot { from: Outpoint { tx_num: movement.tx_num, vout: *vout }, sats: *sats, cost };
            self.book.acquire(lot)?;
            add(&mut all, (*sats, cost))?;
            lots.push(lot);
        }
        let kind = match inflow {
            Inflow::Acquired => Kind::Acquisition,
            Inflow::Mined => Kind::Income,
        };
        Ok(row(kind, movement, (all.0, all.1, None), (lots, 0), before, self.holds()))
    }

    fn dispose(
        &mut self,
        kind: Kind,
        movement: &Movement,
        sats: Sats,
        value: Option<Micros>,
    ) -> Result<Row, BookError> {
        let before = self.holds();
        let consumed = self.book.dispose(sats)?;
        let lots = (consumed.parts, consumed.emptied);
        Ok(row(kind, movement, (sats, value, consumed.cost), lots, before, self.holds()))
    }

    /// Sums up, with the price of a bitcoin now.
    pub fn finish(self, price: Option<Decimal>) -> Result<Report, BookError> {
        let (sats, cost) = self.holds();
        let market_value = match (sats, price) {
            (0, _) => Some(0),
            (_, None) => None,
            (sats, Some(price)) => Some(value_of(sats, price).ok_or(BookError::TooLarge)?),
        };
        let lots = self.book.lots() as u64;
        let report = Report { all: self.all, years: self.years, sats, cost, market_value, lots };
        debug_assert!(report.invariant().is_none_or(|(one, other)| one == other));
        Ok(report)
    }
}

fn row(
    kind: Kind,
    movement: &Movement,
    (sats, value, cost): (Sats, Option<Micros>, Option<Micros>),
    (lots, emptied): (Vec<Lot>, u64),
    before: (Sats, Option<Micros>),
    after: (Sats, Option<Micros>),
) -> Row {
    let (tx_num, time) = (movement.tx_num, movement.time);
    Row { kind, tx_num, time, sats, value, cost, lots, emptied, before, after }
}
