//! Clusters of scripts, found in the most obvious way: every eligible transaction unites the scripts that it spends
//! from.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Script, ScriptBuf, Transaction, TxIn, ecdsa};
use cairn_model::{Height, Sats, TxNum};

use crate::{Oracle, ledger::Coin};

/// Names a cluster by the smallest of its scripts.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClusterId(pub ScriptBuf);

/// Disjoint sets of scripts.
#[derive(Clone, Default, Debug)]
struct Sets {
    sets: BTreeMap<usize, BTreeSet<ScriptBuf>>,
    set_of: BTreeMap<ScriptBuf, usize>,
}

impl Sets {
    /// Each of the scripts that had a coin by a height in a set of its own.
    fn of_single_scripts(oracle: &Oracle, height: Height) -> Sets {
        let mut sets = Sets::default();
        for script in oracle.scripts() {
            let had_a_coin = oracle.history(script).iter().any(|row| row.height <= height);
            if had_a_coin {
                let set = sets.sets.len();
                sets.sets.insert(set, BTreeSet::from([script.clone()]));
                sets.set_of.insert(script.clone(), set);
            }
        }
        sets
    }

    fn unite(&mut self, scripts: &BTreeSet<ScriptBuf>) {
        let olds: BTreeSet<usize> = scripts.iter().map(|script| self.set_of[script]).collect();
        let mut united = BTreeSet::new();
        for old in &olds {
            united.extend(self.sets.remove(old).unwrap_or_default());
        }
        // The first of the old places is free now.
        for place in olds.into_iter().take(1) {
            for script in &united {
                self.set_of.insert(script.clone(), place);
            }
            self.sets.insert(place, united.clone());
        }
    }
}

/// The clusters as they were after the block of some height.
///
/// A transaction is eligible if it is neither a coinbase nor, by the caller's word, a CoinJoin. Its inputs without a
/// signature of SIGHASH_ANYONECANPAY must spend from two different scripts or more that have an owner, by the caller's
/// word. It unites those scripts. A script that no eligible transaction spends from is a cluster of its own.
#[derive(Clone, Debug)]
pub struct Clusters {
    height: Height,
    /// The scripts that each eligible transaction unites.
    eligible: BTreeMap<TxNum, BTreeSet<ScriptBuf>>,
    /// Every script that had a coin, in the set of its cluster.
    sets: Sets,
    balances: BTreeMap<ScriptBuf, Sats>,
}

impl Clusters {
    /// The clusters as of a height. `is_coinjoin` is given a transaction and the coins that it spends, in input order;
    /// it is never asked about a coinbase. `has_owner` is given the script of a coin.
    ///
    /// # Panics
    /// If the chain does not reach the height.
    #[must_use]
    pub fn at(
        oracle: &Oracle,
        height: Height,
        is_coinjoin: &dyn Fn(&Transaction, &[Coin]) -> bool,
        has_owner: &dyn Fn(&Script) -> bool,
    ) -> Clusters {
        assert!((height as usize) < oracle.blocks().len(), "the chain does not reach height {height}");
        let sets = Sets::of_single_scripts(oracle, height);
        let balances = sets.set_of.keys().map(|script| (script.clone(), oracle.balance_at(script, height))).collect();
        let mut clusters = Clusters { height, eligible: BTreeMap::new(), sets, balances };
        for (tx_num, _, tx) in oracle.transactions(height) {
            let scripts = united(tx, oracle.spent(tx_num), is_coinjoin, has_owner);
            if scripts.len() >= 2 {
                clusters.sets.unite(&scripts);
                clusters.eligible.insert(tx_num, scripts);
            }
        }
        clusters
    }

    /// The height.
    #[must_use]
    pub fn height(&self) -> Height {
        self.height
    }

    fn set(&self, script: &Script) -> Option<&BTreeSet<ScriptBuf>> {
        self.sets.sets.get(self.sets.set_of.get(script)?)
    }

    /// The cluster of a script. One that had no coin by then is a cluster of its own.
    #[must_use]
    pub fn cluster_of(&self, script: &Script) -> ClusterId {
        let smallest = self.set(script).and_then(BTreeSet::first);
        ClusterId(smallest.cloned().unwrap_or_else(|| script.to_owned()))
    }

    /// The scripts of the cluster of a script, itself among them, in the order of their bytes; none if it had no coin
    /// by then.
    #[must_use]
    pub fn members(&self, script: &Script) -> Vec<&ScriptBuf> {
        self.set(script).into_iter().flatten().collect()
    }

    /// The eligible transactions that unite the cluster of a script, in chain order; none for a cluster of one.
    #[must_use]
    pub fn transactions(&self, script: &Script) -> Vec<TxNum> {
        let own = self.cluster_of(script);
        let all = self.eligible.iter();
        // The scripts of an eligible transaction are all of one cluster.
        all.filter(|(_, scripts)| scripts.first().is_some_and(|first| self.cluster_of(first) == own))
            .map(|(tx_num, _)| *tx_num)
            .collect()
    }

    /// Whether a transaction is eligible.
    #[must_use]
    pub fn is_eligible(&self, tx_num: TxNum) -> bool {
        self.eligible.contains_key(&tx_num)
    }

    /// Every eligible transaction with the scripts that it unites, in chain order.
    #[must_use]
    pub fn eligible(&self) -> &BTreeMap<TxNum, BTreeSet<ScriptBuf>> {
        &self.eligible
    }

    /// Balance of the cluster of a script.
    #[must_use]
    pub fn balance(&self, script: &Script) -> Sats {
        self.members(script).into_iter().map(|member| self.balances[member]).sum()
    }

    /// Every cluster of scripts that had a coin by then, each once: its scripts in the order of their bytes.
    pub fn all(&self) -> impl Iterator<Item = Vec<&ScriptBuf>> {
        self.sets.sets.values().map(|set| set.iter().collect())
    }

    /// Checks a claimed explanation of why two scripts are of one cluster: each step goes on where the last one ended,
    /// its transaction is eligible and unites both of its scripts, and the path leads from `a` to `b`. The empty path
    /// explains a script and itself.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn explains(&self, path: &[(ScriptBuf, TxNum, ScriptBuf)], a: &Script, b: &Script) -> Result<(), String> {
        let mut at = a;
        for (step, (from, tx_num, to)) in path.iter().enumerate() {
            if from.as_script() != at {
                return Err(format!("step {step} starts at {from:x} instead of {at:x}"));
            }
            let Some(scripts) = self.eligible.get(tx_num) else {
                return Err(format!("step {step}: transaction {tx_num:?} is not eligible by height {}", self.height));
            };
            for script in [from, to] {
                if !scripts.contains(script) {
                    return Err(format!("step {step}: transaction {tx_num:?} does not unite {script:x}"));
                }
            }
            at = to;
        }
        if at == b { Ok(()) } else { Err(format!("the path ends at {at:x} instead of {b:x}")) }
    }
}

/// The scripts that a transaction unites, if they are two or more.
fn united(
    tx: &Transaction,
    coins: &[Coin],
    is_coinjoin: &dyn Fn(&Transaction, &[Coin]) -> bool,
    has_owner: &dyn Fn(&Script) -> bool,
) -> BTreeSet<ScriptBuf> {
    if tx.is_coinbase() || is_coinjoin(tx, coins) {
        return BTreeSet::new();
    }
    let signed = tx.input.iter().zip(coins).filter(|(input, coin)| !anyone_can_pay(input, coin));
    signed.map(|(_, coin)| coin.script.clone()).filter(|script| has_owner(script)).collect()
}

/// Sums that the transactions of each day up to a height paid to others, by day: their outputs that can be spent.
/// Outputs to scripts that the transaction spends from do not count, nor those to scripts of the same cluster as one of
/// these. The clusters are those after the transaction, which may tie some together. Coinbases pay nothing. Days on
/// which nothing was paid are left out. The rule is that of [`Clusters::at`].
///
/// # Panics
/// If the chain does not reach the height.
#[must_use]
pub fn paid_to_others(
    oracle: &Oracle,
    height: Height,
    is_coinjoin: &dyn Fn(&Transaction, &[Coin]) -> bool,
    has_owner: &dyn Fn(&Script) -> bool,
) -> BTreeMap<u32, Sats> {
    let mut days: BTreeMap<u32, Sats> = BTreeMap::new();
    for (tx_num, paid) in paid_by_transaction(oracle, height, is_coinjoin, has_owner) {
        *days.entry(oracle.day(oracle.txs()[tx_num.0 as usize].height)).or_default() += paid.to_clusters;
    }
    days.retain(|_, sats| *sats > 0);
    days
}

/// The sums that a transaction pays.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PaidByTx {
    /// To scripts that it does not spend from.
    pub to_scripts: Sats,
    /// To scripts of clusters that it does not spend from.
    pub to_clusters: Sats,
}

/// The sums that each transaction up to a height pays to others, by the rule of [`paid_to_others`]; coinbases are left
/// out.
///
/// # Panics
/// If the chain does not reach the height.
#[must_use]
pub fn paid_by_transaction(
    oracle: &Oracle,
    height: Height,
    is_coinjoin: &dyn Fn(&Transaction, &[Coin]) -> bool,
    has_owner: &dyn Fn(&Script) -> bool,
) -> BTreeMap<TxNum, PaidByTx> {
    let mut sets = Sets::of_single_scripts(oracle, height);
    let mut all: BTreeMap<TxNum, PaidByTx> = BTreeMap::new();
    for (tx_num, _, tx) in oracle.transactions(height) {
        if tx.is_coinbase() {
            continue;
        }
        let coins = oracle.spent(tx_num);
        let together = united(tx, coins, is_coinjoin, has_owner);
        if together.len() >= 2 {
            sets.unite(&together);
        }
        let own: BTreeSet<usize> = coins.iter().map(|coin| sets.set_of[&coin.script]).collect();
        let mut paid = PaidByTx::default();
        for output in &tx.output {
            // Outputs that nobody can spend make no coin, so their scripts are in no set.
            if cairn_model::is_unspendable(output.script_pubkey.as_bytes()) {
                continue;
            }
            if coins.iter().all(|coin| coin.script != output.script_pubkey) {
                paid.to_scripts += output.value.to_sat();
            }
            if !own.contains(&sets.set_of[&output.script_pubkey]) {
                paid.to_clusters += output.value.to_sat();
            }
        }
        all.insert(tx_num, paid);
    }
    all
}

/// Clusters as they would be if every transaction showed the owners of its inputs: each script that had a coin by the
/// height, with the name of its cluster. Every transaction, CoinJoins among them, unites those of its input scripts
/// that have the same owner. A script without an owner is a cluster of its own.
///
/// # Panics
/// If the chain does not reach the height.
#[must_use]
pub fn clusters_of_perfect_eligibility<O: Ord>(
    oracle: &Oracle,
    height: Height,
    owner_of: &dyn Fn(&Script) -> Option<O>,
) -> BTreeMap<ScriptBuf, ClusterId> {
    assert!((height as usize) < oracle.blocks().len(), "the chain does not reach height {height}");
    let mut sets = Sets::of_single_scripts(oracle, height);
    for (tx_num, ..) in oracle.transactions(height) {
        let mut of_owner: BTreeMap<O, BTreeSet<ScriptBuf>> = BTreeMap::new();
        for coin in oracle.spent(tx_num) {
            if let Some(owner) = owner_of(&coin.script) {
                of_owner.entry(owner).or_default().insert(coin.script.clone());
            }
        }
        for scripts in of_owner.values() {
            sets.unite(scripts);
        }
    }
    let named = sets.sets.values().filter_map(|set| Some((set, ClusterId(set.first()?.clone()))));
    named.flat_map(|(set, name)| set.iter().map(move |script| (script.clone(), name.clone()))).collect()
}

/// Whether a script is of a kind that needs a key, or a script that only its owner knows, before it is spent.
#[must_use]
pub fn needs_key(script: &Script) -> bool {
    let to_key =
        script.is_p2pk() || script.is_p2pkh() || script.is_p2wpkh() || script.is_p2tr() || script.is_multisig();
    to_key || script.is_p2sh() || script.is_p2wsh()
}

/// Whether an input carries a signature of SIGHASH_ANYONECANPAY, so that others may have added it to the transaction.
///
/// The spent script decides where signatures are: taproot has Schnorr signatures alone, or in front of script and
/// control block; all others push DER signatures in the scriptSig or in the witness.
#[must_use]
pub fn anyone_can_pay(input: &TxIn, coin: &Coin) -> bool {
    let mut items: Vec<Vec<u8>> = input.witness.iter().map(<[u8]>::to_vec).collect();
    if coin.script.is_p2tr() {
        if items.len() >= 2 && items.last().is_some_and(|last| last.first() == Some(&0x50)) {
            // The annex.
            items.pop();
        }
        if items.len() >= 2 {
            // Script and control block.
            items.truncate(items.len() - 2);
        }
        return items.iter().any(|item| item.len() == 65 && matches!(item[64], 0x81..=0x83));
    }
    for instruction in input.script_sig.instructions() {
        // The bytes after a cut push cannot be read, and cannot be valid either.
        let Ok(instruction) = instruction else { break };
        items.extend(instruction.push_bytes().map(|push| push.as_bytes().to_vec()));
    }
    items.iter().any(|item| match item.split_last() {
        Some((kind, der)) => kind & 0x80 != 0 && is_der(der),
        None => false,
    })
}

fn is_der(bytes: &[u8]) -> bool {
    // The parser wants a type of signature hash behind the signature.
    let with_kind: Vec<u8> = bytes.iter().copied().chain([1]).collect();
    ecdsa::Signature::from_slice(&with_kind).is_ok()
}
