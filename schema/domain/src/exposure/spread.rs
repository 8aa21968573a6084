//! Arithmetic: how the parts of a transaction's inputs are split over its outputs, by two conventions.
//!
//! - Haircut: each output takes of every part what its value is of the sum of the inputs, and so does the fee. Amounts
//!   are whole millionths of a satoshi, and each share is rounded down.
//! - FIFO: the satoshis of the inputs fill the outputs, both in index order; the last ones are the fee.

use std::{collections::BTreeMap, rc::Rc};

use cairn_model::Sats;

use super::{Source, TracedTx};

/// Haircut amounts are whole numbers of this many to a satoshi.
pub const MILLIONTHS: u128 = 1_000_000;

/// Why an amount was not traced further.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Stop {
    /// At an output that nobody can spend.
    Unspendable,
    /// It came back to the address.
    Returned,
    /// At a service.
    Service,
    /// At a script with too many transactions.
    Busy,
    /// At an output that is not spent.
    Held,
    /// At a CoinJoin.
    CoinJoin,
    /// As many transactions away as were asked for.
    HopLimit,
    /// At a transaction whose coins would be too many.
    CoinCap,
    /// At a transaction that is too large, or one too many.
    TransactionCap,
    /// At a transaction that mixes too many parts.
    WorkCap,
}

/// Where an amount comes from, or the subject that it comes from.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Origin {
    /// The subject's own coins, where they are followed forward.
    Own,
    /// A coin of a source.
    Source(Source),
    /// A coinbase.
    Mined,
    /// A coin behind which nothing was read.
    Stop(Stop),
}

/// A part of a coin: its origin, and how many transactions it is away.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Part {
    /// Where it comes from.
    pub origin: Origin,
    /// Transactions since then.
    pub hop: u8,
}

impl Part {
    /// The value that lies as far away as the trace goes. It stays what it is, however far it moves on.
    pub(super) const LIMIT: Part = Part { origin: Origin::Stop(Stop::HopLimit), hop: 0 };

    /// The part after one more transaction; `None` beyond the limit of hops.
    pub(super) fn moved(self, hops: u8) -> Option<Part> {
        if self == Part::LIMIT {
            return Some(self);
        }
        let hop = self.hop.checked_add(1).filter(|hop| *hop <= hops)?;
        Some(Part { hop, ..self })
    }
}

/// `amount` × `part` ÷ `whole`, rounded down. If `whole` is 0, so is `part`.
fn share(amount: u128, part: Sats, whole: Sats) -> u128 {
    // At most 2.1e21 × 2.1e15, which 128 bits hold.
    amount.saturating_mul(u128::from(part)) / u128::from(whole.max(1))
}

/// The parts of a coin.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Spread {
    /// Haircut by part, ascending, in millionths of a satoshi. A part may be 0: it reached the coin all the same.
    pub haircut: Vec<(Part, u128)>,
    /// FIFO: satoshis in their order; `None` for those that are not traced.
    pub pieces: Vec<(Sats, Option<Part>)>,
}

impl Spread {
    pub(super) fn whole(part: Option<Part>, value: Sats) -> Self {
        let haircut = part.map(|part| (part, u128::from(value) * MILLIONTHS)).into_iter().collect();
        Spread { haircut, pieces: vec![(value, part)] }
    }

    /// The sums by part: haircut in millionths, and FIFO in satoshis.
    pub(super) fn sums(&self) -> BTreeMap<Part, (u128, Sats)> {
        let mut sums: BTreeMap<Part, (u128, Sats)> = BTreeMap::new();
        for (part, haircut) in &self.haircut {
            sums.entry(*part).or_default().0 += haircut;
        }
        for (sats, part) in &self.pieces {
            if let Some(part) = part {
                sums.entry(*part).or_default().1 += sats;
            }
        }
        sums
    }
}

/// A transaction with what its inputs brought.
#[derive(Debug)]
pub(super) struct Passed {
    pub(super) tx: Rc<TracedTx>,
    /// Sum of the inputs.
    brought: Sats,
    /// Haircut by part, ascending.
    parts: Vec<(Part, u128)>,
    /// The place behind each piece of the inputs' satoshis, with its part.
    pieces: Vec<(Sats, Option<Part>)>,
    /// The place of the first satoshi of each output, and of the fee.
    places: Vec<Sats>,
}

impl Passed {
    /// Puts the parts of the inputs together, each moved by one transaction. Parts beyond the limit become
    /// `beyond`.
    pub(super) fn new(tx: Rc<TracedTx>, inputs: &[Spread], hops: u8, beyond: Option<Part>) -> Self {
        let (mut parts, mut pieces) = (BTreeMap::<Part, u128>::new(), Vec::<(Sats, Option<Part>)>::new());
        let mut brought: Sats = 0;
        for spread in inputs {
            for (part, haircut) in &spread.haircut {
                if let Some(part) = part.moved(hops).or(beyond) {
                    *parts.entry(part).or_default() += haircut;
                }
            }
            for (sats, part) in &spread.pieces {
                let part = part.and_then(|part| part.moved(hops).or(beyond));
                brought = brought.saturating_add(*sats);
                match pieces.last_mut().filter(|(_, last)| *last == part) {
                    Some((end, _)) => *end = brought,
                    None => pieces.push((brought, part)),
                }
            }
        }
        let mut place: Sats = 0;
        let mut places = Vec::with_capacity(tx.outputs.len() + 1);
        for output in &tx.outputs {
            places.push(place);
            place = place.saturating_add(output.value);
        }
        places.push(place);
        Passed { tx, brought, parts: parts.into_iter().collect(), pieces, places }
    }

    /// Number of parts and pieces: the work that one output takes, at most.
    pub(super) fn size(&self) -> usize {
        self.parts.len() + self.pieces.len()
    }

    pub(super) fn output(&self, vout: u32) -> Spread {
        let (Some(output), Some(from)) = (self.tx.outputs.get(vout as usize), self.places.get(vout as usize)) else {
            return Spread::default();
        };
        self.range(*from, output.value)
    }

    pub(super) fn fee(&self) -> Spread {
        let from = self.places.last().copied().unwrap_or_default();
        self.range(from, self.brought.saturating_sub(from))
    }

    fn range(&self, from: Sats, value: Sats) -> Spread {
        let haircut = self.parts.iter().map(|(part, amount)| (*part, share(*amount, value, self.brought))).collect();
        let (end, mut at, mut pieces) = (from.saturating_add(value), from, Vec::new());
        let first = self.pieces.partition_point(|(end, _)| *end <= from);
        for (until, part) in self.pieces.iter().skip(first) {
            if at >= end {
                break;
            }
            let until = (*until).min(end);
            pieces.push((until - at, *part));
            at = until;
        }
        Spread { haircut, pieces }
    }

    /// The amounts of one part of an output; `None` if it did not reach it.
    pub(super) fn amounts(&self, vout: u32, part: Part) -> Option<(u128, Sats)> {
        let amount = self.parts.binary_search_by_key(&part, |(part, _)| *part).ok().map(|at| self.parts[at].1)?;
        let output = self.tx.outputs.get(vout as usize)?;
        let from = self.places.get(vout as usize)?;
        let (end, mut at, mut fifo) = (from.saturating_add(output.value), *from, 0);
        let first = self.pieces.partition_point(|(end, _)| end <= from);
        for (until, of) in self.pieces.iter().skip(first) {
            if at >= end {
                break;
            }
            let until = (*until).min(end);
            fifo += if *of == Some(part) { until - at } else { 0 };
            at = until;
        }
        Some((share(amount, output.value, self.brought), fifo))
    }
}
