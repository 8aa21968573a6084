//! A chain of transactions in memory, as detectors look at it.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet, HashMap},
    convert::Infallible,
    rc::Rc,
};

use cairn_domain::{
    coinjoin::{Shape, detect},
    dust::{CAMPAIGN_RECIPIENTS, is_dust},
    exposure::{Chain, MAX_TRANSACTIONS, Role, Source, TracedInput, TracedOutput, TracedTx, Way, trace},
    risk::{
        ClaimRef, Facts, Ledger, MAX_TXS, NEAR_LIMITS, Near, Nearby, Paid, Party, Signal, Spent, SubjectTx, Tx, examine,
    },
};
use cairn_model::{Height, Outpoint, Sats, ScriptId, ScriptPrefix, ScriptTemplate, TxNum};

/// Transactions that one block may have here.
const PER_BLOCK: u64 = 1 << 20;
/// Blocks of 30 days.
const MONTH_BLOCKS: u32 = 4_320;

/// A chain in the making. Blocks may be filled in any order; a coin must be made before it is spent.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) txs: BTreeMap<TxNum, Rc<Tx>>,
    made_by: HashMap<TxNum, Vec<Outpoint>>,
    spenders: HashMap<TxNum, BTreeMap<u32, TxNum>>,
    history: HashMap<ScriptId, BTreeSet<TxNum>>,
    parents: HashMap<ScriptId, ScriptId>,
    pub(crate) marks: HashMap<ScriptId, Mark>,
    pub(crate) facts: HashMap<ScriptId, fn(&mut Facts)>,
    scripts: u64,
    next: HashMap<Height, u64>,
    pub(crate) look_ups: Cell<u64>,
}

/// Claims about a script.
#[derive(Clone, Default)]
pub(crate) struct Mark {
    pub(crate) mixer: Option<ClaimRef>,
    pub(crate) sanctioned: Option<ClaimRef>,
    pub(crate) is_service: bool,
}

/// A coin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coin {
    pub(crate) at: Outpoint,
    pub(crate) script: ScriptId,
    pub(crate) value: Sats,
}

/// P2WPKH scripts, by their number.
struct Keyed<'t>(&'t Tx, Vec<[u8; 22]>);

impl Shape for Keyed<'_> {
    type Spent<'a>
        = ScriptId
    where
        Self: 'a;

    fn inputs(&self) -> usize {
        self.0.inputs.len()
    }
    fn outputs(&self) -> usize {
        self.0.outputs.len()
    }
    fn input_value(&self, at: usize) -> Sats {
        self.0.inputs[at].value
    }
    fn input_template(&self, _: usize) -> ScriptTemplate {
        ScriptTemplate::WitnessV0KeyHash
    }
    fn input_script(&self, at: usize) -> ScriptId {
        self.0.inputs[at].script
    }
    fn output_value(&self, at: usize) -> Sats {
        self.0.outputs[at].value
    }
    fn output_script(&self, at: usize) -> &[u8] {
        &self.1[at]
    }
}

fn key_script(id: ScriptId) -> [u8; 22] {
    let mut script = [0; 22];
    script[1] = 20;
    script[2..10].copy_from_slice(&id.prefix.0);
    script
}

impl World {
    /// A script that nothing has used.
    pub(crate) fn script(&mut self) -> ScriptId {
        self.scripts += 1;
        ScriptId { prefix: ScriptPrefix(self.scripts.to_be_bytes()), ordinal: 0 }
    }

    fn number(&mut self, height: Height) -> TxNum {
        let next = self.next.entry(height).or_default();
        *next += 1;
        TxNum(u64::from(height) * PER_BLOCK + *next)
    }

    /// Adds a transaction that spends coins; without any, it is a coinbase. Returns the coins that it makes.
    pub(crate) fn tx(&mut self, height: Height, spent: &[Coin], paid: &[(ScriptId, Sats)]) -> Vec<Coin> {
        let tx_num = self.number(height);
        let inputs: Vec<Spent> = spent.iter().map(|coin| Spent { script: coin.script, value: coin.value }).collect();
        let outputs = paid.iter().map(|(script, value)| Paid { script: *script, value: *value, spendable: true });
        let mut tx = Tx { tx_num, height, inputs, outputs: outputs.collect(), coinjoin: None };
        let scripts = tx.outputs.iter().map(|paid| key_script(paid.script)).collect();
        tx.coinjoin = detect(&Keyed(&tx, scripts));
        self.add(tx, spent.iter().map(|coin| coin.at).collect());
        let coin = |(vout, (script, value)): (u32, &(ScriptId, Sats))| Coin {
            at: Outpoint { tx_num, vout },
            script: *script,
            value: *value,
        };
        (0..).zip(paid).map(coin).collect()
    }

    /// Adds a finished transaction that spends these outputs.
    pub(crate) fn add(&mut self, tx: Tx, spent: Vec<Outpoint>) {
        let tx_num = tx.tx_num;
        for at in &spent {
            assert!(at.tx_num < tx_num, "a coin is spent before it is made");
            let before = self.spenders.entry(at.tx_num).or_default().insert(at.vout, tx_num);
            assert!(before.is_none(), "a coin is spent twice");
        }
        let scripts = tx.inputs.iter().map(|coin| coin.script).chain(tx.outputs.iter().map(|paid| paid.script));
        for script in scripts {
            self.history.entry(script).or_default().insert(tx_num);
        }
        if !tx.has_no_sender() {
            let first = tx.inputs[0].script;
            tx.inputs[1..].iter().for_each(|coin| self.tie(first, coin.script));
        }
        self.made_by.insert(tx_num, spent);
        self.txs.insert(tx_num, Rc::new(tx));
    }

    /// A coin that comes from nowhere: a miner's.
    pub(crate) fn coin(&mut self, height: Height, script: ScriptId, value: Sats) -> Coin {
        self.tx(height, &[], &[(script, value)])[0]
    }

    fn root(&self, script: ScriptId) -> ScriptId {
        let mut at = script;
        while let Some(parent) = self.parents.get(&at) {
            at = *parent;
        }
        at
    }

    fn tie(&mut self, a: ScriptId, b: ScriptId) {
        let (a, b) = (self.root(a), self.root(b));
        if a != b {
            self.parents.insert(b, a);
        }
    }

    /// Transactions of a script.
    pub(crate) fn of(&self, script: ScriptId) -> Vec<TxNum> {
        self.history.get(&script).map(|txs| txs.iter().copied().collect()).unwrap_or_default()
    }

    /// Scripts that have a history.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = ScriptId> {
        self.history.keys().copied()
    }

    /// Sums that transactions pay a script and spend from it.
    fn effect(&self, tx: &Tx, script: ScriptId) -> (Sats, Sats) {
        let received = tx.outputs.iter().filter(|paid| paid.script == script).map(|paid| paid.value).sum();
        let sent = tx.inputs.iter().filter(|coin| coin.script == script).map(|coin| coin.value).sum();
        (received, sent)
    }

    /// Facts about a script.
    pub(crate) fn facts_of(&self, script: ScriptId) -> Facts {
        let numbers = self.of(script);
        let (old, newest) = numbers.split_at(numbers.len().saturating_sub(MAX_TXS));
        let subject_tx = |tx_num: &TxNum| {
            let tx = Rc::clone(&self.txs[tx_num]);
            let (received, sent) = self.effect(&tx, script);
            SubjectTx { tx_num: *tx_num, height: tx.height, received, sent, parts: Some(tx) }
        };
        let mut facts = Facts {
            subject: script,
            txs: newest.iter().map(subject_tx).collect(),
            tx_count: numbers.len() as u64,
            sent_before: old.iter().map(|tx| self.effect(&self.txs[tx], script).1).sum(),
            has_labels: true,
            is_claims_cut: false,
            services: Vec::new(),
            listed: Vec::new(),
            dust: Ok(self.campaign_dust(script, &numbers)),
        };
        if let Some(more) = self.facts.get(&script) {
            more(&mut facts);
        }
        facts
    }

    /// Payments of dust to a script by senders who pay a hundred scripts within 30 days. The stage groups pings more
    /// finely; here all that one cluster sends is a campaign.
    fn campaign_dust(&self, script: ScriptId, numbers: &[TxNum]) -> Vec<TxNum> {
        let is_campaign = |tx: &&TxNum| {
            let tx = &self.txs[*tx];
            let (received, sent) = self.effect(tx, script);
            if !is_dust(received) || sent > 0 || tx.has_no_sender() {
                return false;
            }
            let sender = tx.inputs[0].script;
            let near = |of: &&Rc<Tx>| of.height.abs_diff(tx.height) <= MONTH_BLOCKS;
            let txs: BTreeSet<TxNum> = self.of(sender).into_iter().collect();
            let pings = txs.iter().map(|of| &self.txs[of]).filter(near);
            let dust = pings.flat_map(|of| of.outputs.iter().filter(|paid| is_dust(paid.value)));
            dust.map(|paid| paid.script).collect::<BTreeSet<_>>().len() as u64 >= CAMPAIGN_RECIPIENTS
        };
        numbers.iter().skip(1).filter(is_campaign).copied().collect()
    }

    /// The signals of a script.
    pub(crate) fn signals(&self, script: ScriptId) -> Vec<Signal> {
        examine(&self.facts_of(script), self).unwrap()
    }
}

impl Ledger for World {
    type Error = Infallible;

    fn tx(&self, tx_num: TxNum) -> Result<Option<Rc<Tx>>, Infallible> {
        self.look_ups.set(self.look_ups.get() + 1);
        Ok(self.txs.get(&tx_num).cloned())
    }

    fn outpoints(&self, tx_num: TxNum) -> Result<Vec<Outpoint>, Infallible> {
        Ok(self.made_by.get(&tx_num).cloned().unwrap_or_default())
    }

    fn spenders(&self, tx_num: TxNum) -> Result<Vec<(u32, TxNum)>, Infallible> {
        let spenders = self.spenders.get(&tx_num);
        Ok(spenders.map(|of| of.iter().map(|(vout, by)| (*vout, *by)).collect()).unwrap_or_default())
    }

    fn parties(&self, scripts: &[ScriptId]) -> Result<Option<Vec<Party>>, Infallible> {
        Ok(Some(scripts.iter().map(|script| Party::Script(self.root(*script))).collect()))
    }

    fn near(&self, facts: &Facts, nearby: Nearby) -> Result<Near, Infallible> {
        let mut near = Near::default();
        for way in [Way::Sources, Way::Destinations] {
            let moved = |of: &&SubjectTx| if way == Way::Sources { of.received > 0 } else { of.sent > 0 };
            let txs: Vec<TxNum> = facts.txs.iter().rev().filter(moved).map(|of| of.tx_num).collect();
            let mut chain = Traced { world: self, nearby, claims: Vec::new() };
            let found = trace(&mut chain, way, facts.subject, &txs, NEAR_LIMITS)?;
            near.add(way, &found, |source| chain.claims.get(source.id as usize).cloned());
        }
        Ok(near)
    }
}

/// The chain, as traces look at it.
struct Traced<'w> {
    world: &'w World,
    nearby: Nearby,
    claims: Vec<ClaimRef>,
}

impl Chain for Traced<'_> {
    type Error = Infallible;

    fn transaction(&mut self, tx_num: TxNum) -> Result<Option<Rc<TracedTx>>, Infallible> {
        self.world.look_ups.set(self.world.look_ups.get() + 1);
        // A block that stands alone spends coins of transactions that nobody knows.
        let Some(tx) = self.world.txs.get(&tx_num) else { return Ok(None) };
        let input = |(spent, coin): (&Spent, &Outpoint)| TracedInput {
            coin: *coin,
            value: spent.value,
            script: spent.script,
            is_coinbase: self.world.txs.get(&coin.tx_num).is_some_and(|tx| tx.is_coinbase()),
        };
        let output = |paid: &Paid| TracedOutput { value: paid.value, script: paid.spendable.then_some(paid.script) };
        Ok(Some(Rc::new(TracedTx {
            tx_num,
            is_coinbase: tx.is_coinbase(),
            is_coinjoin: tx.coinjoin.is_some(),
            inputs: tx.inputs.iter().zip(&self.world.made_by[&tx_num]).map(input).collect(),
            outputs: tx.outputs.iter().map(output).collect(),
        })))
    }

    fn spenders(&mut self, tx: TxNum) -> Result<Rc<[(u32, TxNum)]>, Infallible> {
        let Ok(spenders) = Ledger::spenders(self.world, tx);
        Ok(spenders.into())
    }

    fn roles(&mut self, scripts: &[ScriptId]) -> Result<Vec<Role>, Infallible> {
        let mut roles = Vec::with_capacity(scripts.len());
        for script in scripts {
            let mark = self.world.marks.get(script).cloned().unwrap_or_default();
            let claim = if self.nearby == Nearby::Mixers { mark.mixer } else { mark.sanctioned };
            let source = claim.map(|claim| {
                self.claims.push(claim);
                Source { id: self.claims.len() as u32 - 1, group: 0 }
            });
            let is_busy = self.world.history.get(script).is_some_and(|txs| txs.len() as u64 > MAX_TRANSACTIONS);
            roles.push(Role { source, is_service: mark.is_service, is_busy });
        }
        Ok(roles)
    }
}
