//! Arrivals whose bytes are available: resolves their coins and passes them to readers.

use std::{collections::HashMap, sync::Arc};

use cairn_model::{MempoolDelta, MempoolTx, RemoveReason, Txid};

use crate::{
    CoinSource, ConfirmedCoin, MempoolWatcher, WatchError,
    arrivals::Stage,
    body::Body,
    pool::rate_of,
    resolve::{Impossible, Spent, build, check, outpoint},
};

/// Number of transactions whose coins are requested at once.
const CHUNK: usize = 256;

type FoundCoins = HashMap<(Txid, u32), Option<ConfirmedCoin>>;

/// Result of resolving the inputs of a transaction.
enum Resolution {
    /// Every coin, in the order of the inputs.
    Spent(Vec<Spent>),
    /// It has to wait, or is impossible.
    Not(Stage),
    /// Its coins were not requested, because it waited for a parent that is available now.
    Again,
    Impossible(Impossible),
}

impl MempoolWatcher {
    /// Looks up the coins of arrivals and adds those that have all of them, up to the limit of a step.
    pub(crate) fn admit(&mut self, coins: &dyn CoinSource) -> Result<(), WatchError> {
        let mut left = self.options.work_batch.max(1);
        while left > 0 {
            let some = self.arrivals.ready(left.min(CHUNK));
            if some.is_empty() {
                break;
            }
            left -= some.len();
            let found = self.find_coins(&some, coins)?;
            for txid in some {
                // An earlier transaction of this round may have changed its stage.
                if self.arrivals.get(&txid).is_some_and(|arrival| arrival.stage() == Stage::Ready) {
                    self.admit_one(txid, &found);
                }
            }
            self.trim();
        }
        Ok(())
    }

    /// The confirmed coins of arrivals that do not wait for a parent.
    fn find_coins(&mut self, txids: &[Txid], coins: &dyn CoinSource) -> Result<FoundCoins, WatchError> {
        let mut asked = Vec::new();
        for txid in txids {
            let Some(body) = self.arrivals.get(txid).and_then(|arrival| arrival.body()) else { continue };
            let inputs: Vec<(Txid, u32)> = body.tx.input.iter().map(|input| outpoint(&input.previous_output)).collect();
            if inputs.iter().all(|(parent, _)| self.blocked_by(parent).is_none()) {
                asked.extend(inputs.into_iter().filter(|(parent, _)| !self.pool.contains(parent)));
            }
        }
        asked.sort_unstable();
        asked.dedup();
        let found = coins.coins(&asked).map_err(WatchError::Coins)?;
        // A shorter answer than the request counts as unknown.
        Ok(asked.into_iter().zip(found.into_iter().chain(std::iter::repeat(None))).collect())
    }

    /// The stage of an arrival's children.
    fn blocked_by(&self, parent: &Txid) -> Option<Stage> {
        let arrival = self.arrivals.get(parent)?;
        match arrival.stage() {
            Stage::LeftOut(rate) => Some(Stage::LeftOut(rate)),
            _ if arrival.is_coming() => Some(Stage::Waiting(*parent)),
            _ => None,
        }
    }

    fn admit_one(&mut self, txid: Txid, found: &FoundCoins) {
        let Some(arrival) = self.arrivals.get(&txid) else { return };
        let (order, seen, verified) = (arrival.order, arrival.first_seen_ms, arrival.verified);
        let Some(body) = arrival.body() else { return };
        let looked = match check(body) {
            Ok(()) => self.look(body, verified, found),
            Err(impossible) => Resolution::Impossible(impossible),
        };
        let built = match looked {
            Resolution::Spent(spent) => {
                let Some(body) = self.arrivals.take_body(&txid) else { return };
                build(txid, body, spent, seen.unwrap_or(self.clock.wall))
            }
            Resolution::Not(stage) => {
                self.put_off(&txid, stage);
                return;
            }
            // It stays ready.
            Resolution::Again => return,
            Resolution::Impossible(impossible) => Err(impossible),
        };
        match built {
            Ok(tx) if self.full_at.is_some_and(|rate| rate_of(&tx) <= rate) => {
                self.put_off(&txid, Stage::LeftOut(rate_of(&tx)));
            }
            Ok(tx) => self.hand_over(tx, order),
            Err(impossible) => {
                tracing::warn!(%txid, %impossible, "the node has an invalid unconfirmed transaction; it is left out");
                self.put_off(&txid, Stage::Refused);
            }
        }
    }

    fn put_off(&mut self, txid: &Txid, stage: Stage) {
        self.arrivals.set_stage(txid, stage);
        if self.arrivals.body_bytes() > self.options.max_pending_bytes {
            self.arrivals.drop_body(txid);
        }
        if !matches!(stage, Stage::Waiting(_)) {
            // Children wait only for arriving parents.
            self.arrivals.release(txid);
        }
    }

    fn look(&self, body: &Body, verified: bool, found: &FoundCoins) -> Resolution {
        let mut spent = Vec::with_capacity(body.tx.input.len());
        for input in &body.tx.input {
            let (parent, vout) = outpoint(&input.previous_output);
            if let Some(tx) = self.pool.get(&parent) {
                let Some(output) = tx.outputs.get(vout as usize) else {
                    return Resolution::Impossible(Impossible::NoSuchOutput);
                };
                spent.push(Spent { value: output.value, script: output.script.clone(), birth: None });
            } else if let Some(stage) = self.blocked_by(&parent) {
                return Resolution::Not(stage);
            } else {
                match found.get(&(parent, vout)) {
                    Some(Some(coin)) => {
                        spent.push(Spent { value: coin.value, script: coin.script.clone(), birth: Some(coin.height) });
                    }
                    Some(None) if verified => return Resolution::Not(Stage::Excused(parent)),
                    Some(None) => return Resolution::Not(Stage::Missing(parent)),
                    None => return Resolution::Again,
                }
            }
        }
        Resolution::Spent(spent)
    }

    /// Adds a transaction for readers. Transactions that spend its coins have left: a mempool cannot have both.
    fn hand_over(&mut self, tx: MempoolTx, order: u64) {
        let txid = tx.txid;
        let coins = tx.inputs.iter().map(|input| (input.prev_txid, input.prev_vout));
        let rivals: Vec<Txid> = coins.filter_map(|(parent, vout)| self.pool.spender(&parent, vout)).collect();
        let newer = |rival: &Txid| {
            !self.departures.contains(rival) && self.pool.order(rival).is_some_and(|rival| rival > order)
        };
        if rivals.iter().any(|rival| self.pool.order(rival) == Some(order) && !self.departures.contains(rival)) {
            tracing::warn!(%txid, "the node reports two transactions that spend the same coin");
            self.put_off(&txid, Stage::Refused);
            return;
        }
        if rivals.iter().any(newer) {
            // That transaction left without a message.
            self.sync.broken = true;
            self.arrivals.remove(&txid);
            self.arrivals.release(&txid);
            return;
        }
        let lost = self.pool.with_descendants(&rivals);
        let parents_lost = tx.inputs.iter().any(|input| lost.contains(&input.prev_txid));
        for rival in &lost {
            self.sync.broken |= !self.departures.contains(rival);
            self.remove(rival, RemoveReason::Replaced { by: txid });
        }
        let (arrival, _) = match self.arrivals.remove(&txid) {
            Some(arrival) => arrival,
            None => return,
        };
        if parents_lost {
            // It spends from what it replaces.
            self.sync.broken = true;
            self.arrivals.insert(txid, arrival.order, Some(tx.first_seen_ms), arrival.since);
            self.arrivals.set_stage(&txid, Stage::Refused);
            return;
        }
        let tx = Arc::new(tx);
        self.pool.insert(Arc::clone(&tx), order);
        self.out.push(MempoolDelta::Add(tx));
        self.correct_births(&txid, None);
        self.arrivals.release(&txid);
    }
}
