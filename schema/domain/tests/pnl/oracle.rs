//! Profit and loss once more: slow, in exact fractions, from raw transactions, written from the contract and not from
//! the code that it checks. It shares the names of the compared values with that code, and nothing that computes.

use std::collections::{BTreeMap, BTreeSet};

use cairn_domain::pnl::{BookError, Effect, Inflow, Kind, Lot, Method, Net, Report, Row, Sums};
use cairn_model::{Outpoint, Sats};
use num_bigint::BigInt;
use rust_decimal::Decimal;

use super::histories::{History, Tx};

/// An exact number of zero or more.
pub(super) struct Fraction {
    numerator: BigInt,
    denominator: BigInt,
}

impl Fraction {
    pub(super) fn new(numerator: impl Into<BigInt>, denominator: impl Into<BigInt>) -> Self {
        let (numerator, denominator) = (numerator.into(), denominator.into());
        assert!(numerator >= BigInt::ZERO && denominator > BigInt::ZERO, "{numerator} / {denominator}");
        Self { numerator, denominator }
    }

    pub(super) fn times(&self, other: &Self) -> Self {
        Self::new(&self.numerator * &other.numerator, &self.denominator * &other.denominator)
    }

    pub(super) fn floor(&self) -> BigInt {
        &self.numerator / &self.denominator
    }

    /// To the nearest integer, and from the middle to the even one.
    pub(super) fn half_even(&self) -> BigInt {
        let floor = self.floor();
        let twice_the_rest = (&self.numerator - &floor * &self.denominator) * 2;
        let is_odd = &floor % 2 != BigInt::ZERO;
        if twice_the_rest > self.denominator || (twice_the_rest == self.denominator && is_odd) {
            floor + 1
        } else {
            floor
        }
    }
}

/// Micro-units that satoshis are worth: sats × price ÷ 10^8 × 10^6.
pub(super) fn value(sats: Sats, price: Decimal) -> BigInt {
    let price = Fraction::new(price.mantissa(), BigInt::from(10).pow(price.scale()));
    let bitcoins = Fraction::new(sats, 100_000_000);
    bitcoins.times(&price).times(&Fraction::new(1_000_000, 1)).half_even()
}

fn micros(cost: &BigInt) -> i128 {
    i128::try_from(cost).expect("histories stay within an i128")
}

/// Not known as soon as one summand is not.
fn total(summands: impl Iterator<Item = Option<i128>>) -> Option<BigInt> {
    summands.map(|summand| summand.map(BigInt::from)).sum()
}

/// Year of a time, counted from 1970 a year at a time.
pub(super) fn year(time: u32) -> u32 {
    let (mut year, mut days) = (1970, time / 86_400);
    loop {
        let is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        let length = if is_leap { 366 } else { 365 };
        if days < length {
            return year;
        }
        days -= length;
        year += 1;
    }
}

/// The net effect of a transaction on the wallet.
pub(super) fn effect(tx: &Tx, wallet: &BTreeSet<u8>) -> Effect {
    let is_own = |script: u8| wallet.contains(&script);
    let all_in: Sats = tx.inputs.iter().map(|input| input.sats).sum();
    let all_out: Sats = tx.outputs.iter().map(|output| output.sats).sum();
    let own_in: Sats = tx.inputs.iter().filter(|input| is_own(input.script)).map(|input| input.sats).sum();
    let own_outputs: Vec<(u32, Sats)> =
        (0..).zip(&tx.outputs).filter(|(_, output)| is_own(output.script)).map(|(vout, o)| (vout, o.sats)).collect();
    let own_out: Sats = own_outputs.iter().map(|(_, sats)| sats).sum();

    if own_in == 0 {
        let inflow = if tx.is_coinbase { Inflow::Mined } else { Inflow::Acquired };
        let lots: Vec<_> = own_outputs.into_iter().filter(|(_, sats)| *sats > 0).collect();
        return Effect { net: if lots.is_empty() { Net::Nothing } else { Net::In(inflow, lots) }, fee: 0 };
    }
    let fee = all_in - all_out;
    let only_own_inputs = tx.inputs.iter().all(|input| is_own(input.script));
    let only_own_outputs = tx.outputs.iter().all(|output| output.sats == 0 || is_own(output.script));
    if only_own_inputs && only_own_outputs {
        return Effect { net: Net::Transfer, fee };
    }
    let share = Fraction::new(BigInt::from(fee) * own_in, all_in).floor();
    let rest = BigInt::from(own_in) - own_out - &share;
    let share = Sats::try_from(share).unwrap();
    let first = own_outputs.first().map_or(0, |(vout, _)| *vout);
    let net = if rest > BigInt::ZERO {
        Net::Out(Sats::try_from(rest).unwrap())
    } else if rest < BigInt::ZERO {
        Net::In(Inflow::Acquired, vec![(first, Sats::try_from(-rest).unwrap())])
    } else {
        Net::Nothing
    };
    Effect { net, fee: share }
}

/// The wallet between two transactions. Lots lie in the order of their outpoints.
struct Wallet {
    method: Method,
    lots: Vec<Lot>,
    pool: Option<BigInt>,
}

struct Gone {
    cost: Option<i128>,
    parts: Vec<Lot>,
    emptied: u64,
}

impl Wallet {
    fn sats(&self) -> Sats {
        self.lots.iter().map(|lot| lot.sats).sum()
    }

    fn holds(&self) -> (Sats, Option<i128>) {
        let cost = match self.method {
            Method::Average => self.pool.clone(),
            Method::Fifo => total(self.lots.iter().map(|lot| lot.cost)),
        };
        (self.sats(), cost.as_ref().map(micros))
    }

    fn acquire(&mut self, lot: Lot) {
        self.pool = self.pool.take().zip(lot.cost).map(|(pool, cost)| pool + cost);
        self.lots.push(lot);
        self.lots.sort_by_key(|lot| lot.from);
    }

    fn dispose(&mut self, sats: Sats) -> Result<Gone, BookError> {
        let held = self.sats();
        if sats > held {
            return Err(BookError::Short);
        }
        let of_pool = self.pool.as_ref().map(|pool| Fraction::new(pool * sats, held).half_even());
        self.pool = if sats == held {
            Some(BigInt::ZERO)
        } else {
            self.pool.take().zip(of_pool.as_ref()).map(|(pool, cost)| pool - cost)
        };
        let mut parts = Vec::new();
        let mut wanted = sats;
        for lot in &mut self.lots {
            let taken = wanted.min(lot.sats);
            if taken == 0 {
                break;
            }
            let cost = lot.cost.map(|cost| micros(&Fraction::new(BigInt::from(cost) * taken, lot.sats).half_even()));
            parts.push(Lot { from: lot.from, sats: taken, cost });
            lot.cost = lot.cost.zip(cost).map(|(all, part)| all - part);
            lot.sats -= taken;
            wanted -= taken;
        }
        let before = self.lots.len();
        self.lots.retain(|lot| lot.sats > 0);
        let cost = match self.method {
            Method::Average => of_pool,
            Method::Fifo => total(parts.iter().map(|part| part.cost)),
        };
        let emptied = (before - self.lots.len()) as u64;
        Ok(Gone { cost: cost.as_ref().map(micros), parts, emptied })
    }

    /// The rows of a transaction.
    fn rows(&mut self, tx: &Tx, effect: Effect, price: Option<Decimal>) -> Result<Vec<Row>, BookError> {
        let worth = |sats: Sats| price.map(|price| micros(&value(sats, price)));
        let mut rows = Vec::new();
        match effect.net {
            Net::In(inflow, coins) => {
                let before = self.holds();
                let lot = |(vout, sats): (u32, Sats)| {
                    let from = Outpoint { tx_num: tx.tx_num, vout };
                    Lot { from, sats, cost: worth(sats) }
                };
                let lots: Vec<Lot> = coins.into_iter().map(lot).collect();
                lots.iter().for_each(|lot| self.acquire(*lot));
                rows.push(Row {
                    kind: if inflow == Inflow::Mined { Kind::Income } else { Kind::Acquisition },
                    tx_num: tx.tx_num,
                    time: tx.time,
                    sats: lots.iter().map(|lot| lot.sats).sum(),
                    value: total(lots.iter().map(|lot| lot.cost)).as_ref().map(micros),
                    cost: None,
                    lots,
                    emptied: 0,
                    before,
                    after: self.holds(),
                });
            }
            Net::Out(sats) => rows.push(self.outflow(Kind::Disposal, tx, sats, worth(sats))?),
            Net::Transfer => {
                let sats = tx.outputs.iter().map(|output| output.sats).sum();
                let (before, after, lots) = (self.holds(), self.holds(), Vec::new());
                let (kind, tx_num, time) = (Kind::Transfer, tx.tx_num, tx.time);
                rows.push(Row { kind, tx_num, time, sats, value: None, cost: None, lots, emptied: 0, before, after });
            }
            Net::Nothing => {}
        }
        if effect.fee > 0 {
            rows.push(self.outflow(Kind::Fee, tx, effect.fee, Some(0))?);
        }
        Ok(rows)
    }

    fn outflow(&mut self, kind: Kind, tx: &Tx, sats: Sats, value: Option<i128>) -> Result<Row, BookError> {
        let before = self.holds();
        let Gone { cost, parts: lots, emptied } = self.dispose(sats)?;
        let (tx_num, time, after) = (tx.tx_num, tx.time, self.holds());
        Ok(Row { kind, tx_num, time, sats, value, cost, lots, emptied, before, after })
    }
}

/// Sums over the rows of some transactions.
fn sums<'a>(txs: impl Iterator<Item = &'a Vec<Row>>) -> Sums {
    let txs: Vec<&Vec<Row>> = txs.collect();
    let of = |kind: Kind| txs.iter().flat_map(|rows| rows.iter()).filter(move |row| row.kind == kind);
    let sats = |kind| of(kind).map(|row| row.sats).sum::<Sats>();
    let values = |kind| total(of(kind).map(|row| row.value)).as_ref().map(micros);
    let costs = |kind| total(of(kind).map(|row| row.cost)).as_ref().map(micros);
    let gains: Vec<Option<i128>> =
        of(Kind::Disposal).map(|row| row.value.zip(row.cost).map(|(value, cost)| value - cost)).collect();
    let count = |is: &dyn Fn(i128) -> bool| gains.iter().flatten().filter(|gain| is(**gain)).count() as u64;
    Sums {
        acquired: (sats(Kind::Acquisition), values(Kind::Acquisition)),
        mined: (sats(Kind::Income), values(Kind::Income)),
        disposed: (sats(Kind::Disposal), values(Kind::Disposal)),
        disposed_cost: costs(Kind::Disposal),
        fees: (sats(Kind::Fee), costs(Kind::Fee)),
        wins: count(&|gain| gain > 0),
        losses: count(&|gain| gain < 0),
        even: count(&|gain| gain == 0),
        unknown: gains.iter().filter(|gain| gain.is_none()).count() as u64,
        lots_opened: of(Kind::Acquisition).chain(of(Kind::Income)).map(|row| row.lots.len() as u64).sum(),
        lots_emptied: of(Kind::Disposal).chain(of(Kind::Fee)).map(|row| row.emptied).sum(),
        transfers: of(Kind::Transfer).count() as u64,
        txs: txs.len() as u64,
    }
}

pub(super) struct Outcome {
    /// The rows of each transaction of the wallet.
    pub(super) rows: Vec<Vec<Row>>,
    pub(super) report: Report,
    /// Both sides of the invariant.
    pub(super) invariant: Option<(BigInt, BigInt)>,
}

/// All of a history. Stops at the first error, with the number of transactions of the wallet before it.
pub(super) fn run(history: &History, method: Method) -> Result<Outcome, (usize, BookError)> {
    let mut wallet = Wallet { method, lots: Vec::new(), pool: Some(BigInt::ZERO) };
    let mut rows: Vec<(u32, Vec<Row>)> = Vec::new();
    for tx in history.txs_of_wallet() {
        let effect = effect(tx, &history.wallet);
        let of_tx = wallet.rows(tx, effect, tx.price).map_err(|error| (rows.len(), error))?;
        rows.push((year(tx.time), of_tx));
    }
    let all = sums(rows.iter().map(|(_, rows)| rows));
    let mut years = BTreeMap::new();
    for (year, _) in &rows {
        years.insert(*year, sums(rows.iter().filter(|(other, _)| other == year).map(|(_, rows)| rows)));
    }
    let (sats, cost) = wallet.holds();
    // Nothing is worth nothing at any price.
    let price = if sats == 0 { Some(Decimal::ZERO) } else { history.price_now };
    let market_value = price.map(|price| micros(&value(sats, price)));
    let report = Report { all, years, sats, cost, market_value, lots: wallet.lots.len() as u64 };
    let invariant = both_sides(&report);
    Ok(Outcome { rows: rows.into_iter().map(|(_, rows)| rows).collect(), report, invariant })
}

/// Realized + unrealized, and market value + disposals − acquisitions.
fn both_sides(report: &Report) -> Option<(BigInt, BigInt)> {
    let big = |amount: Option<i128>| amount.map(BigInt::from);
    let all = &report.all;
    let realized = big(all.disposed.1)? - big(all.disposed_cost)? - big(all.fees.1)?;
    let market = big(report.market_value)?;
    let unrealized = &market - big(report.cost)?;
    Some((realized + unrealized, market + big(all.disposed.1)? - big(all.acquired.1)? - big(all.mined.1)?))
}
