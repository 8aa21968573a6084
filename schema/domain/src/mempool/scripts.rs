//! Unconfirmed history and balance by script. Almost every script has one unconfirmed transaction, so that case is
//! small. A busy script has sums and an ordered list, so that no request reads all of its transactions.

use std::{collections::BTreeMap, sync::Arc};

use cairn_model::{MempoolTx, Sats, Txid, is_unspendable};

use super::shared::{SharedMap, SortedList, entry_bytes};
use crate::script_sha256;

/// SHA-256 of a scriptPubKey in natural byte order.
pub type ScriptHash = [u8; 32];

/// Effect of an unconfirmed transaction on a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ScriptEffect {
    /// The transaction.
    pub txid: Txid,
    /// When it was first seen, in milliseconds since 1970.
    pub first_seen_ms: u64,
    /// Sum of its outputs to the script.
    pub received_sats: Sats,
    /// Sum of its inputs from the script.
    pub sent_sats: Sats,
}

/// Effect of all unconfirmed transactions on a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ScriptTotals {
    /// Transactions.
    pub tx_count: u64,
    /// Sum of their outputs to the script.
    pub received_sats: u128,
    /// Sum of their inputs from the script.
    pub sent_sats: u128,
    /// Number of their outputs to the script.
    pub received_count: u64,
    /// Number of their inputs from the script.
    pub sent_count: u64,
}

/// Effect of a transaction on a script, with its counts of outputs and inputs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Counted {
    effect: ScriptEffect,
    outputs: u32,
    inputs: u32,
}

impl ScriptTotals {
    /// The unconfirmed balance: received minus sent. It may be negative.
    #[must_use]
    pub fn net_sats(&self) -> i128 {
        // Both are sums of amounts below 2^51, far from the limit.
        self.received_sats.cast_signed().saturating_sub(self.sent_sats.cast_signed())
    }

    fn add(&mut self, Counted { effect, outputs, inputs }: &Counted) {
        self.tx_count += 1;
        self.received_sats += u128::from(effect.received_sats);
        self.sent_sats += u128::from(effect.sent_sats);
        self.received_count += u64::from(*outputs);
        self.sent_count += u64::from(*inputs);
    }

    fn subtract(&mut self, Counted { effect, outputs, inputs }: &Counted) {
        self.tx_count = self.tx_count.saturating_sub(1);
        self.received_sats = self.received_sats.saturating_sub(effect.received_sats.into());
        self.sent_sats = self.sent_sats.saturating_sub(effect.sent_sats.into());
        self.received_count = self.received_count.saturating_sub((*outputs).into());
        self.sent_count = self.sent_count.saturating_sub((*inputs).into());
    }
}

/// Order of the list: time, then id, so that it does not depend on the order of arrival of the deltas.
type Key = (u64, Txid);

#[derive(Clone, Debug, Default)]
struct Many {
    totals: ScriptTotals,
    effects: SortedList<Key, (Sats, Sats)>,
}

#[derive(Clone, Debug)]
enum OfScript {
    One(Counted),
    Many(Arc<Many>),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Scripts {
    by_hash: SharedMap<ScriptHash, OfScript>,
}

fn effect_of(key: &Key, (received_sats, sent_sats): &(Sats, Sats)) -> ScriptEffect {
    ScriptEffect { txid: key.1, first_seen_ms: key.0, received_sats: *received_sats, sent_sats: *sent_sats }
}

fn key_of(effect: &ScriptEffect) -> Key {
    (effect.first_seen_ms, effect.txid)
}

/// Estimated bytes of a script with one transaction.
pub(super) const SCRIPT_BYTES: usize = entry_bytes::<ScriptHash, OfScript>();

/// Effects of a transaction by script. Amounts were checked, so their sums fit.
fn effects(tx: &MempoolTx) -> BTreeMap<ScriptHash, Counted> {
    let mut effects = BTreeMap::new();
    let effect = ScriptEffect { txid: tx.txid, first_seen_ms: tx.first_seen_ms, received_sats: 0, sent_sats: 0 };
    let none = Counted { effect, outputs: 0, inputs: 0 };
    for input in &tx.inputs {
        let Counted { effect, inputs, .. } = effects.entry(script_sha256(&input.script)).or_insert(none);
        effect.sent_sats = effect.sent_sats.saturating_add(input.value);
        *inputs = inputs.saturating_add(1);
    }
    for output in tx.outputs.iter().filter(|output| !is_unspendable(&output.script)) {
        let Counted { effect, outputs, .. } = effects.entry(script_sha256(&output.script)).or_insert(none);
        effect.received_sats = effect.received_sats.saturating_add(output.value);
        *outputs = outputs.saturating_add(1);
    }
    effects
}

impl Scripts {
    pub(super) fn add(&mut self, tx: &MempoolTx) {
        for (hash, effect) in effects(tx) {
            match self.by_hash.get(&hash) {
                None => drop(self.by_hash.insert(hash, OfScript::One(effect))),
                Some(OfScript::One(first)) => {
                    let mut many = Many::default();
                    many.insert(first);
                    many.insert(&effect);
                    self.by_hash.insert(hash, OfScript::Many(Arc::new(many)));
                }
                Some(OfScript::Many(_)) => {
                    if let Some(OfScript::Many(many)) = self.by_hash.get_mut(&hash) {
                        Arc::make_mut(many).insert(&effect);
                    }
                }
            }
        }
    }

    pub(super) fn remove(&mut self, tx: &MempoolTx) {
        for (hash, effect) in effects(tx) {
            let gone = match self.by_hash.get(&hash) {
                None => false,
                Some(OfScript::One(only)) => *only == effect,
                Some(OfScript::Many(_)) => match self.by_hash.get_mut(&hash) {
                    Some(OfScript::Many(many)) => Arc::make_mut(many).remove(&effect),
                    _ => false,
                },
            };
            if gone {
                self.by_hash.remove(&hash);
            }
        }
    }

    pub(super) fn totals(&self, hash: &ScriptHash) -> ScriptTotals {
        match self.by_hash.get(hash) {
            None => ScriptTotals::default(),
            Some(OfScript::One(effect)) => {
                let mut totals = ScriptTotals::default();
                totals.add(effect);
                totals
            }
            Some(OfScript::Many(many)) => many.totals,
        }
    }

    /// Newest first, those that come after `after`.
    pub(super) fn list(&self, hash: &ScriptHash, after: Option<Key>, limit: usize) -> Vec<ScriptEffect> {
        let in_range = |key: &Key| after.is_none_or(|after| *key < after);
        match self.by_hash.get(hash) {
            None => Vec::new(),
            Some(OfScript::One(only)) => {
                Some(only.effect).into_iter().filter(|effect| in_range(&key_of(effect))).take(limit).collect()
            }
            Some(OfScript::Many(many)) => {
                many.effects.descending(after).take(limit).map(|(key, sums)| effect_of(key, sums)).collect()
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.by_hash = SharedMap::default();
    }
}

impl Many {
    fn insert(&mut self, counted: &Counted) {
        let effect = &counted.effect;
        if self.effects.insert(key_of(effect), (effect.received_sats, effect.sent_sats)) {
            self.totals.add(counted);
        }
    }

    /// Returns true if none is left.
    fn remove(&mut self, counted: &Counted) -> bool {
        if self.effects.remove(&key_of(&counted.effect)) {
            self.totals.subtract(counted);
        }
        self.effects.is_empty()
    }
}
