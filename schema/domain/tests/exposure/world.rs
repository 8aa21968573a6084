//! Small chains of transactions, at random.

use std::{
    collections::{BTreeMap, HashMap},
    convert::Infallible,
    rc::Rc,
};

use cairn_domain::exposure::{Chain, Limits, Role, Source, TracedInput, TracedOutput, TracedTx};
use cairn_model::{Outpoint, Sats, ScriptId, ScriptPrefix, TxNum};
use rand::{Rng, SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

pub const NO_LIMITS: Limits = Limits { hops: 2, coins: 1_000_000, txs: 1_000_000, steps: 1_000_000_000 };

/// Scripts of a random chain.
pub const SCRIPTS: u8 = 12;

pub fn script(number: u8) -> ScriptId {
    ScriptId { prefix: ScriptPrefix([number; 8]), ordinal: 0 }
}

/// A chain with the roles of its scripts.
#[derive(Clone, Default, Debug)]
pub struct World {
    pub txs: BTreeMap<TxNum, Rc<TracedTx>>,
    pub roles: BTreeMap<ScriptId, Role>,
    unspent: Vec<(Outpoint, Sats, ScriptId, bool)>,
}

impl World {
    pub fn role(&self, script: ScriptId) -> Role {
        self.roles.get(&script).copied().unwrap_or_default()
    }

    pub fn spender(&self, coin: Outpoint) -> Option<TxNum> {
        let spends = |tx: &&Rc<TracedTx>| tx.inputs.iter().any(|input| input.coin == coin);
        self.txs.values().find(spends).map(|tx| tx.tx_num)
    }

    /// Appends a transaction that spends coins by their place in the order in which they were made.
    pub fn push(&mut self, coins: &[Outpoint], outputs: &[(Sats, Option<u8>)], is_coinjoin: bool) -> TxNum {
        let tx_num = TxNum(self.txs.len() as u64);
        let inputs: Vec<TracedInput> = coins
            .iter()
            .map(|coin| {
                let at = self.unspent.iter().position(|(of, ..)| of == coin).expect("an unspent coin");
                let (coin, value, script, is_coinbase) = self.unspent.remove(at);
                TracedInput { coin, value, script, is_coinbase }
            })
            .collect();
        let is_coinbase = inputs.is_empty();
        let outputs: Vec<TracedOutput> =
            outputs.iter().map(|(value, of)| TracedOutput { value: *value, script: of.map(script) }).collect();
        for (vout, output) in (0..).zip(&outputs) {
            if let Some(script) = output.script {
                self.unspent.push((Outpoint { tx_num, vout }, output.value, script, is_coinbase));
            }
        }
        self.txs.insert(tx_num, Rc::new(TracedTx { tx_num, is_coinbase, is_coinjoin, inputs, outputs }));
        tx_num
    }

    /// The transactions that pay a script, or spend from it, the newest first.
    pub fn history(&self, of: ScriptId, pays: bool) -> Vec<TxNum> {
        let moves = |tx: &&Rc<TracedTx>| match pays {
            true => tx.outputs.iter().any(|output| output.script == Some(of)),
            false => tx.inputs.iter().any(|input| input.script == of),
        };
        self.txs.values().rev().filter(moves).map(|tx| tx.tx_num).collect()
    }

    pub fn random(seed: u64, most: Sats) -> World {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut world = World::default();
        for number in 0..SCRIPTS {
            let source = rng.random_bool(0.3);
            let source = source.then(|| Source { id: number.into(), group: rng.random_range(0..3) });
            let role = Role { source, is_service: rng.random_bool(0.12), is_busy: rng.random_bool(0.08) };
            world.roles.insert(script(number), role);
        }
        for _ in 0..rng.random_range(2..26) {
            world.random_tx(&mut rng, most);
        }
        world
    }

    fn random_tx(&mut self, rng: &mut impl Rng, most: Sats) {
        let mut coins: Vec<Outpoint> = self.unspent.iter().map(|(coin, ..)| *coin).collect();
        coins.shuffle(rng);
        let is_coinbase = coins.is_empty() || rng.random_bool(0.15);
        coins.truncate(if is_coinbase { 0 } else { rng.random_range(1..=4) });
        let brought: Sats =
            self.unspent.iter().filter(|(coin, ..)| coins.contains(coin)).map(|(_, value, ..)| value).sum();
        let mut left = if is_coinbase { rng.random_range(1..=most) } else { brought };
        if !is_coinbase && rng.random_bool(0.6) {
            left -= rng.random_range(0..=left / 4);
        }
        let count = rng.random_range(1..=4);
        let mut outputs = Vec::new();
        for at in 0..count {
            let value = if at + 1 == count && rng.random_bool(0.5) { left } else { rng.random_range(0..=left) };
            left -= value;
            let to = (!rng.random_bool(0.05)).then(|| rng.random_range(0..SCRIPTS));
            outputs.push((value, to));
        }
        self.push(&coins, &outputs, !is_coinbase && rng.random_bool(0.1));
    }
}

impl Chain for World {
    type Error = Infallible;

    fn transaction(&mut self, tx: TxNum) -> Result<Option<Rc<TracedTx>>, Infallible> {
        Ok(self.txs.get(&tx).cloned())
    }

    fn spenders(&mut self, tx: TxNum) -> Result<Rc<[(u32, TxNum)]>, Infallible> {
        let mut found: HashMap<u32, TxNum> = HashMap::new();
        for spender in self.txs.values() {
            let of = spender.inputs.iter().filter(|input| input.coin.tx_num == tx);
            found.extend(of.map(|input| (input.coin.vout, spender.tx_num)));
        }
        let mut found: Vec<(u32, TxNum)> = found.into_iter().collect();
        found.sort_unstable();
        Ok(found.into())
    }

    fn roles(&mut self, scripts: &[ScriptId]) -> Result<Vec<Role>, Infallible> {
        Ok(scripts.iter().map(|script| self.role(*script)).collect())
    }
}
