//! Arithmetic: how the parts of a transaction's inputs are split over its outputs, by two conventions.
//!
//! - Haircut: each output takes of every part what its value is of the sum of the inputs, and so does the fee. Amounts
//!   are whole millionths of a satoshi, and each share is rounded down.
//! - FIFO: the satoshis of the inputs fill the outputs, both in index order; the last ones are the fee.

use std::rc::Rc;

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

    /// The sums by part, ascending: haircut in millionths, and FIFO in satoshis.
    pub(super) fn sums(&self) -> Vec<(Part, (u128, Sats))> {
        let mut sums: Vec<(Part, (u128, Sats))> =
            self.haircut.iter().map(|(part, haircut)| (*part, (*haircut, 0))).collect();
        for (sats, part) in &self.pieces {
            let Some(part) = part else { continue };
            // A part that has pieces has a haircut, too.
            if let Ok(at) = sums.binary_search_by_key(part, |(part, _)| *part) {
                sums[at].1.1 += sats;
            }
        }
        sums
    }
}

/// The sums of a transaction's inputs, each part moved by one transaction.
pub(super) struct Brought {
    hops: u8,
    /// Takes the parts that move beyond the limit of hops.
    beyond: Option<Part>,
    /// Sum of the inputs.
    sats: Sats,
    /// Haircut by part; a part may stand more than once.
    parts: Vec<(Part, u128)>,
    /// The place behind each piece of the inputs' satoshis, with its part.
    pieces: Vec<(Sats, Option<Part>)>,
}

impl Brought {
    /// Begins with no input. Parts that move beyond the limit become `beyond`.
    pub(super) fn new(hops: u8, beyond: Option<Part>) -> Self {
        Brought { hops, beyond, sats: 0, parts: Vec::new(), pieces: Vec::new() }
    }

    /// Adds an input that is one part.
    pub(super) fn add_whole(&mut self, part: Option<Part>, value: Sats) {
        if let Some(part) = part {
            self.add_part(part, u128::from(value) * MILLIONTHS);
        }
        self.add_piece(value, part);
    }

    /// Adds an input that spends an output of a transaction.
    pub(super) fn add_output(&mut self, of: &Passed, vout: u32) {
        let Some((from, value)) = of.place(vout) else { return };
        of.haircuts(value).for_each(|(part, haircut)| self.add_part(part, haircut));
        of.pieces_in(from, value).for_each(|(sats, part)| self.add_piece(sats, part));
    }

    fn moved(&self, part: Part) -> Option<Part> {
        part.moved(self.hops).or(self.beyond)
    }

    fn add_part(&mut self, part: Part, haircut: u128) {
        if let Some(part) = self.moved(part) {
            self.parts.push((part, haircut));
        }
    }

    fn add_piece(&mut self, sats: Sats, part: Option<Part>) {
        let part = part.and_then(|part| self.moved(part));
        self.sats = self.sats.saturating_add(sats);
        match self.pieces.last_mut().filter(|(_, last)| *last == part) {
            Some((end, _)) => *end = self.sats,
            None => self.pieces.push((self.sats, part)),
        }
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
    /// Puts the parts of the inputs together.
    pub(super) fn new(tx: Rc<TracedTx>, brought: Brought) -> Self {
        let Brought { sats, mut parts, pieces, .. } = brought;
        parts.sort_unstable_by_key(|(part, _)| *part);
        parts.dedup_by(|(part, haircut), (kept, sum)| {
            let is_same = part == kept;
            *sum += if is_same { *haircut } else { 0 };
            is_same
        });
        let mut place: Sats = 0;
        let mut places = Vec::with_capacity(tx.outputs.len() + 1);
        for output in &tx.outputs {
            places.push(place);
            place = place.saturating_add(output.value);
        }
        places.push(place);
        Passed { tx, brought: sats, parts, pieces, places }
    }

    /// Number of parts and pieces: the work that one output takes, at most.
    pub(super) fn size(&self) -> usize {
        self.parts.len() + self.pieces.len()
    }

    /// The place of an output's first satoshi, and its value.
    fn place(&self, vout: u32) -> Option<(Sats, Sats)> {
        Some((*self.places.get(vout as usize)?, self.tx.outputs.get(vout as usize)?.value))
    }

    pub(super) fn output(&self, vout: u32) -> Spread {
        self.place(vout).map_or_else(Spread::default, |(from, value)| self.range(from, value))
    }

    pub(super) fn fee(&self) -> Spread {
        let from = self.places.last().copied().unwrap_or_default();
        self.range(from, self.brought.saturating_sub(from))
    }

    fn range(&self, from: Sats, value: Sats) -> Spread {
        Spread { haircut: self.haircuts(value).collect(), pieces: self.pieces_in(from, value).collect() }
    }

    /// The share of each part that this value takes.
    fn haircuts(&self, value: Sats) -> impl Iterator<Item = (Part, u128)> {
        self.parts.iter().map(move |(part, amount)| (*part, share(*amount, value, self.brought)))
    }

    /// The pieces from a place on, up to this value.
    fn pieces_in(&self, from: Sats, value: Sats) -> impl Iterator<Item = (Sats, Option<Part>)> {
        let (end, mut at) = (from.saturating_add(value), from);
        let first = self.pieces.partition_point(|(end, _)| *end <= from);
        self.pieces.iter().skip(first).map_while(move |(until, part)| {
            if at >= end {
                return None;
            }
            let until = (*until).min(end);
            let sats = until - at;
            at = until;
            Some((sats, *part))
        })
    }

    /// The amounts of one part of an output; `None` if it did not reach it.
    pub(super) fn amounts(&self, vout: u32, part: Part) -> Option<(u128, Sats)> {
        let amount = self.parts.binary_search_by_key(&part, |(part, _)| *part).ok().map(|at| self.parts[at].1)?;
        let (from, value) = self.place(vout)?;
        let pieces = self.pieces_in(from, value).filter(|(_, of)| *of == Some(part));
        Some((share(amount, value, self.brought), pieces.map(|(sats, _)| sats).sum()))
    }
}
