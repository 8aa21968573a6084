//! Transactions of the node that readers do not have yet, and the reason why each of them waits.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use cairn_model::Txid;

use crate::body::Body;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// Its bytes must be fetched.
    Fetch,
    /// Its bytes are available; its coins must be looked up.
    Ready,
    /// This parent is itself arriving.
    Waiting(Txid),
    /// An output of this transaction is neither in our coin table nor in the mempool.
    Missing(Txid),
    /// The same, although the node had the transaction at our tip. Nothing waits for it.
    Excused(Txid),
    /// A block of our chain contains it: the node is on another chain. It counts again once the block is disconnected.
    Confirmed,
    /// It is invalid, or its bytes are unavailable.
    Refused,
    /// Left out because of the memory limit; its feerate is in satoshis per 1 000 000 virtual bytes.
    LeftOut(u64),
}

#[derive(Debug)]
pub(crate) struct Arrival {
    /// Position of its entry into the node's mempool among all observed changes.
    pub(crate) order: u64,
    /// First-seen time; `None` if the node must be asked.
    pub(crate) first_seen_ms: Option<u64>,
    /// When it was first observed, in elapsed milliseconds.
    pub(crate) since: u64,
    /// Number of failed requests for its bytes.
    pub(crate) tries: u8,
    /// The node had it while at our current tip.
    pub(crate) verified: bool,
    body: Option<Body>,
    stage: Stage,
    ticket: u64,
}

impl Arrival {
    pub(crate) fn stage(&self) -> Stage {
        self.stage
    }

    pub(crate) fn body(&self) -> Option<&Body> {
        self.body.as_ref()
    }

    /// True if readers are expected to get it soon.
    pub(crate) fn is_coming(&self) -> bool {
        matches!(self.stage, Stage::Fetch | Stage::Ready | Stage::Waiting(_))
    }
}

#[derive(Debug, Default)]
pub(crate) struct Arrivals {
    map: HashMap<Txid, Arrival>,
    next_ticket: u64,
    // By ticket: in the order in which they came.
    fetch: BTreeMap<u64, Txid>,
    ready: BTreeMap<u64, Txid>,
    missing: BTreeMap<u64, Txid>,
    /// Waiting pairs: (parent, child).
    waiting: BTreeSet<(Txid, Txid)>,
    /// Arrivals that wait for an arriving parent.
    patient: usize,
    left_out: usize,
    refused: usize,
    body_bytes: usize,
}

impl Arrivals {
    pub(crate) fn get(&self, txid: &Txid) -> Option<&Arrival> {
        self.map.get(txid)
    }

    pub(crate) fn get_mut(&mut self, txid: &Txid) -> Option<&mut Arrival> {
        self.map.get_mut(txid)
    }

    pub(crate) fn contains(&self, txid: &Txid) -> bool {
        self.map.contains_key(txid)
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }

    pub(crate) fn txids(&self) -> impl Iterator<Item = &Txid> {
        self.map.keys()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Txid, &Arrival)> {
        self.map.iter()
    }

    /// Arrivals that readers should have.
    pub(crate) fn unsettled(&self) -> usize {
        self.fetch.len() + self.ready.len() + self.missing.len() + self.patient
    }

    /// Arrivals whose coins are unknown.
    pub(crate) fn unresolved(&self) -> usize {
        self.waiting.len() - self.patient
    }

    pub(crate) fn left_out(&self) -> usize {
        self.left_out
    }

    pub(crate) fn refused(&self) -> usize {
        self.refused
    }

    pub(crate) fn body_bytes(&self) -> usize {
        self.body_bytes
    }

    pub(crate) fn has_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(crate) fn has_fetch(&self) -> bool {
        !self.fetch.is_empty()
    }

    /// Up to `n` arrivals whose coins must be looked up, oldest first.
    pub(crate) fn ready(&self, n: usize) -> Vec<Txid> {
        self.ready.values().take(n).copied().collect()
    }

    /// Up to `n` arrivals whose bytes must be fetched, oldest first.
    pub(crate) fn fetch(&self, n: usize) -> Vec<Txid> {
        self.fetch.values().take(n).copied().collect()
    }

    /// Time since which the oldest one lacks its coins, in elapsed milliseconds.
    pub(crate) fn missing_since(&self) -> Option<u64> {
        let first = self.missing.values().next()?;
        self.map.get(first).map(|arrival| arrival.since)
    }

    /// Adds a transaction that is not known yet.
    pub(crate) fn insert(&mut self, txid: Txid, order: u64, first_seen_ms: Option<u64>, since: u64) {
        self.remove(&txid);
        self.next_ticket += 1;
        let ticket = self.next_ticket;
        let stage = Stage::Fetch;
        self.fetch.insert(ticket, txid);
        let arrival = Arrival { order, first_seen_ms, since, tries: 0, verified: false, body: None, stage, ticket };
        self.map.insert(txid, arrival);
    }

    /// A snapshot at our tip has one: a stage that was due to another chain no longer applies.
    pub(crate) fn verify(&mut self, txid: &Txid, order: u64) {
        let Some(arrival) = self.map.get_mut(txid) else { return };
        (arrival.verified, arrival.order) = (true, order);
        if arrival.stage == Stage::Confirmed {
            self.set_stage(txid, Stage::Ready);
        }
    }

    /// Our tip changed: observations at the former tip no longer apply.
    pub(crate) fn unverify(&mut self) {
        for arrival in self.map.values_mut() {
            arrival.verified = false;
        }
    }

    /// Removes one. Its waiting children wait until they are released.
    pub(crate) fn remove(&mut self, txid: &Txid) -> Option<(Arrival, Option<Body>)> {
        let mut arrival = self.map.remove(txid)?;
        self.unlist(txid, arrival.stage, arrival.ticket);
        let body = arrival.body.take();
        self.body_bytes -= body.as_ref().map_or(0, Body::bytes);
        Some((arrival, body))
    }

    fn unlist(&mut self, txid: &Txid, stage: Stage, ticket: u64) {
        match stage {
            Stage::Fetch => drop(self.fetch.remove(&ticket)),
            Stage::Ready => drop(self.ready.remove(&ticket)),
            Stage::Waiting(parent) => {
                self.waiting.remove(&(parent, *txid));
                self.patient -= 1;
            }
            Stage::Missing(parent) => {
                self.waiting.remove(&(parent, *txid));
                self.missing.remove(&ticket);
            }
            Stage::Excused(parent) => drop(self.waiting.remove(&(parent, *txid))),
            Stage::Confirmed => {}
            Stage::Refused => self.refused -= 1,
            Stage::LeftOut(_) => self.left_out -= 1,
        }
    }

    /// Moves one to another stage. [`Stage::Ready`] without bytes is [`Stage::Fetch`].
    pub(crate) fn set_stage(&mut self, txid: &Txid, stage: Stage) {
        let Some(arrival) = self.map.get_mut(txid) else { return };
        let stage = if stage == Stage::Ready && arrival.body.is_none() { Stage::Fetch } else { stage };
        let (old, ticket) = (std::mem::replace(&mut arrival.stage, stage), arrival.ticket);
        self.unlist(txid, old, ticket);
        match stage {
            Stage::Fetch => drop(self.fetch.insert(ticket, *txid)),
            Stage::Ready => drop(self.ready.insert(ticket, *txid)),
            Stage::Waiting(parent) => {
                self.waiting.insert((parent, *txid));
                self.patient += 1;
            }
            Stage::Missing(parent) => {
                self.waiting.insert((parent, *txid));
                self.missing.insert(ticket, *txid);
            }
            Stage::Excused(parent) => drop(self.waiting.insert((parent, *txid))),
            Stage::Confirmed => {}
            Stage::Refused => self.refused += 1,
            Stage::LeftOut(_) => self.left_out += 1,
        }
        if matches!(stage, Stage::Refused | Stage::LeftOut(_) | Stage::Confirmed) {
            self.drop_body(txid);
        }
    }

    /// Sets the bytes of one; if it lacked nothing else, its coins can be looked up now.
    pub(crate) fn attach(&mut self, txid: &Txid, body: Body) {
        let Some(arrival) = self.map.get_mut(txid) else { return };
        self.body_bytes += body.bytes();
        if let Some(old) = arrival.body.replace(body) {
            self.body_bytes -= old.bytes();
        }
        if arrival.stage == Stage::Fetch {
            self.set_stage(txid, Stage::Ready);
        }
    }

    /// Drops its bytes; they can be fetched again.
    pub(crate) fn drop_body(&mut self, txid: &Txid) {
        if let Some(body) = self.map.get_mut(txid).and_then(|arrival| arrival.body.take()) {
            self.body_bytes -= body.bytes();
        }
    }

    /// Takes the bytes of one that is ready.
    pub(crate) fn take_body(&mut self, txid: &Txid) -> Option<Body> {
        let body = self.map.get_mut(txid)?.body.take()?;
        self.body_bytes -= body.bytes();
        Some(body)
    }

    /// A transaction changed: its waiting children look up their coins again.
    pub(crate) fn release(&mut self, parent: &Txid) {
        let last = (*parent, Txid([0xff; 32]));
        let children: Vec<Txid> =
            self.waiting.range((*parent, Txid::default())..=last).map(|(_, child)| *child).collect();
        for child in children {
            self.set_stage(&child, Stage::Ready);
        }
    }

    /// Our coins changed: all that wait for coins look them up again.
    pub(crate) fn release_all(&mut self) {
        let children: Vec<Txid> = self.waiting.iter().map(|(_, child)| *child).collect();
        for child in children {
            self.set_stage(&child, Stage::Ready);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> Txid {
        Txid([n; 32])
    }

    fn body() -> Body {
        let genesis = bitcoin::constants::genesis_block(bitcoin::Network::Regtest);
        let raw = bitcoin::consensus::serialize(&genesis.txdata[0]);
        Body::read(raw.into()).unwrap().1
    }

    #[test]
    fn stages_are_counted() {
        let mut arrivals = Arrivals::default();
        for n in 1..=6 {
            arrivals.insert(id(n), 1, None, u64::from(n));
        }
        assert_eq!((arrivals.unsettled(), arrivals.fetch(2)), (6, vec![id(1), id(2)]));
        arrivals.attach(&id(2), body());
        assert_eq!((arrivals.ready(9), arrivals.fetch(9).len()), (vec![id(2)], 5));
        arrivals.set_stage(&id(2), Stage::Waiting(id(1)));
        arrivals.set_stage(&id(3), Stage::Missing(id(77)));
        arrivals.set_stage(&id(4), Stage::Excused(id(77)));
        arrivals.set_stage(&id(5), Stage::LeftOut(1));
        arrivals.set_stage(&id(6), Stage::Refused);
        assert_eq!((arrivals.unsettled(), arrivals.unresolved()), (3, 2));
        assert_eq!((arrivals.left_out(), arrivals.refused(), arrivals.missing_since()), (1, 1, Some(3)));
        // Without bytes it is not ready, but to be fetched.
        arrivals.release(&id(77));
        arrivals.release(&id(1));
        assert_eq!((arrivals.fetch(9), arrivals.ready(9)), (vec![id(1), id(3), id(4)], vec![id(2)]));
        assert_eq!(arrivals.body_bytes(), body().bytes());
        for n in 1..=6 {
            assert!(arrivals.remove(&id(n)).is_some());
        }
        assert_eq!((arrivals.len(), arrivals.unsettled(), arrivals.unresolved(), arrivals.body_bytes()), (0, 0, 0, 0));
        assert_eq!((arrivals.left_out(), arrivals.refused()), (0, 0));
    }
}
