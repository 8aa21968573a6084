//! Owners of the scripts of the `everything` shape: the ground truth for clusters.

use std::collections::HashMap;

use bitcoin::{OutPoint, Script, ScriptBuf, Txid};
use rand::Rng;
use rand::seq::IndexedRandom;

use super::Everything;
use crate::{Error, Lock};

/// Most coins that are looked at to find further ones of an owner.
const LOOK_AT: usize = 4_000;

/// The owners who share a chain. Each has keys of its own; what is not [`Owners::joint`] spends coins of one owner
/// only.
#[derive(Clone, Debug)]
pub struct Owners {
    /// How many there are; at least 1.
    pub count: u32,
    /// The kinds of transaction with inputs of several owners that occur.
    pub joint: Vec<Joint>,
    /// Whether scripts without a key occur: OP_TRUE and pay-to-anchor. They belong to nobody, and everyone spends them
    /// together with own coins.
    pub keyless: bool,
}

/// A kind of transaction with inputs of several owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Joint {
    /// Five to nine owners, each with one output of the same value and its change.
    CoinJoin,
    /// Three to six owners pay one output together; every signature is of SIGHASH_ANYONECANPAY.
    Pledge,
    /// A payment to which the payee adds an input of its own. It looks like any other transaction.
    PayJoin,
    /// Three to six owners, each with two outputs; no two values are equal, so that nothing distinguishes it from a
    /// payment.
    Mixer,
}

/// The owner of each script, and the transactions that have inputs of several owners.
#[derive(Clone, Debug, Default)]
pub struct Truth {
    owners: HashMap<ScriptBuf, u32>,
    joint: Vec<(Txid, Joint)>,
}

impl Truth {
    /// The owner of a script; none if nobody can spend it, if everybody can (see [`Owners::keyless`]), or if it does
    /// not occur.
    pub fn owner(&self, script: &Script) -> Option<u32> {
        self.owners.get(script).copied()
    }

    /// Every script that has an owner, those of stale branches included.
    pub fn owners(&self) -> &HashMap<ScriptBuf, u32> {
        &self.owners
    }

    /// The joint transactions in the order in which they were made. Those of stale branches are among them, and one
    /// that was mined again on another branch stands here once.
    pub fn joint(&self) -> &[(Txid, Joint)] {
        &self.joint
    }

    pub(super) fn own(&mut self, script: &Script, owner: u32) {
        if !self.owners.contains_key(script) {
            self.owners.insert(script.to_owned(), owner);
        }
    }

    pub(super) fn note(&mut self, txid: Txid, joint: Joint) {
        self.joint.push((txid, joint));
    }
}

impl Everything {
    /// A payee's script where owners share the chain: often one paid before, else a new one of a random kind.
    pub(super) fn payee(&mut self, owner: u32) -> Result<ScriptBuf, Error> {
        if self.rng.random_bool(0.6)
            && let Some(script) = self.paid.get(&owner).and_then(|scripts| scripts.choose(&mut self.rng))
        {
            return Ok(script.clone());
        }
        self.working = owner;
        let lock = self.any_lock();
        let script = self.owned_script(lock, owner)?;
        if script.len() < 1_000 && self.truth.owner(&script).is_some() {
            self.paid.entry(owner).or_default().push(script.clone());
        }
        Ok(script)
    }

    /// The script of a lock that was made for an owner. Where owners share the chain and everybody can spend the
    /// script, or it came up for another owner before, it is replaced by one of the owner's keys.
    pub(super) fn owned_script(&mut self, lock: Lock, owner: u32) -> Result<ScriptBuf, Error> {
        let script = self.builder.keyring().script(&lock)?;
        let Some(owners) = &self.shared else {
            self.truth.own(&script, 0);
            return Ok(script);
        };
        let keyless = lock == Lock::anyone() || lock == Lock::p2a();
        if keyless && owners.keyless {
            return Ok(script);
        }
        if !keyless && self.truth.owner(&script).is_none_or(|other| other == owner) {
            self.truth.own(&script, owner);
            return Ok(script);
        }
        self.fresh(owner)
    }

    /// A P2WPKH script of a key of the owner.
    pub(super) fn fresh(&mut self, owner: u32) -> Result<ScriptBuf, Error> {
        self.working = owner;
        let key = self.new_key();
        let script = self.builder.keyring().script(&Lock::P2wpkh { key })?;
        self.truth.own(&script, owner);
        Ok(script)
    }

    pub(super) fn any_owner(&mut self) -> u32 {
        let count = self.shared.as_ref().map_or(1, |owners| owners.count);
        self.rng.random_range(0..count)
    }

    /// The owner of the first of these coins that has one; `None` if none has.
    pub(super) fn owner_of(&self, coins: &[OutPoint]) -> Option<u32> {
        coins.iter().find_map(|coin| self.truth.owner(&self.builder.coin(coin)?.txout.script_pubkey))
    }

    /// Up to `count` different mature coins that one owner can spend together: the given owner, else that of the first.
    pub(super) fn pick_of(&mut self, owner: Option<u32>, count: usize) -> Vec<OutPoint> {
        let total = self.builder.spendable().len();
        if total == 0 {
            return Vec::new();
        }
        let youngest = self.rng.random_bool(0.3);
        let start = self.rng.random_range(if youngest { total.saturating_sub(20) } else { 0 }..total);
        let (mut owner, mut coins) = (owner, Vec::with_capacity(count));
        let listed = self.builder.spendable();
        for coin in listed[start..].iter().chain(&listed[..start]).take(LOOK_AT) {
            if coins.len() == count {
                break;
            }
            let whose = self.owner_of(&[*coin]);
            if self.builder.is_mature(coin) && (whose.is_none() || owner.is_none() || whose == owner) {
                owner = owner.or(whose);
                coins.push(*coin);
            }
        }
        coins
    }

    /// Those of the coins that can be spent together with the first; all of them where one wallet has everything.
    pub(super) fn together(&self, mut coins: Vec<OutPoint>) -> Vec<OutPoint> {
        let owner = self.owner_of(&coins);
        coins.retain(|coin| self.owner_of(&[*coin]).is_none_or(|whose| Some(whose) == owner));
        coins
    }
}
