//! Wallets of the node itself, with names: what `-wallet` and `loadwallet` give a node.

use std::collections::{BTreeMap, HashSet};

use bitcoin::absolute::LockTime;
use bitcoin::sighash::EcdsaSighashType;
use bitcoin::{Amount, OutPoint, Psbt, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness, transaction};
use cairn_chaingen::{COINBASE_MATURITY, Lock};

use super::{BlockPlan, Payment, Txs, World};
use crate::Error;

/// Below this, change is left to the fee: what Core calls dust for a P2WPKH output at 3 sat/vB.
const DUST: u64 = 294;
/// Weight of the witness of a P2WPKH input, its count included, with the longest signature.
const WITNESS_WEIGHT: u64 = 108;
/// Bytes of an input without script.
const INPUT_BYTES: u64 = 41;
/// Core's default for `-maxtxfee`.
const MAX_FEE: u64 = 10_000_000;

/// A wallet with P2WPKH coins.
#[derive(Debug, Default)]
struct NodeWallet {
    is_unloaded: bool,
    /// `None` if it is not encrypted.
    locked: Option<bool>,
    takes_small_coins_first: bool,
    scripts: HashSet<ScriptBuf>,
}

/// The wallets by name.
#[derive(Debug, Default)]
pub(crate) struct NodeWallets(BTreeMap<String, NodeWallet>);

impl NodeWallets {
    /// Whether one of them owns a script.
    pub(super) fn own(&self, script: &ScriptBuf) -> bool {
        self.0.values().any(|wallet| wallet.scripts.contains(script))
    }

    /// The name of the wallet that a call means. Without a name it is the only one that is loaded.
    pub(crate) fn named(&self, name: Option<&str>) -> Result<String, WalletFault> {
        let loaded: Vec<&String> =
            self.0.iter().filter(|(_, wallet)| !wallet.is_unloaded).map(|(name, _)| name).collect();
        match name {
            Some(name) => loaded.into_iter().find(|known| *known == name).cloned().ok_or(WalletFault::NotFound),
            None => match loaded.as_slice() {
                [] => Err(WalletFault::NotFound),
                [only] => Ok((*only).clone()),
                _ => Err(WalletFault::NotSpecified),
            },
        }
    }

    /// Whether the wallet is encrypted and, if so, locked.
    pub(crate) fn locked(&self, name: &str) -> Option<bool> {
        self.0.get(name).and_then(|wallet| wallet.locked)
    }

    /// Scripts that it has given out.
    pub(crate) fn scripts(&self, name: &str) -> usize {
        self.0.get(name).map_or(0, |wallet| wallet.scripts.len())
    }
}

/// Why a wallet refuses a call, with Core's code and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WalletFault {
    NotFound,
    NotSpecified,
    Locked,
    Insufficient,
    Preselected,
    TooDear,
    BelowRelay { rate: u64, least: u64 },
    UnknownInput(OutPoint),
    Other(String),
}

/// A coin of a wallet that nothing spends.
#[derive(Clone, Debug)]
pub(crate) struct OwnedCoin {
    pub(crate) outpoint: OutPoint,
    pub(crate) txout: TxOut,
    pub(crate) confirmations: u32,
    /// Confirmed, or change of the wallet's own transaction.
    pub(crate) is_safe: bool,
    /// A coinbase output that cannot be spent yet.
    pub(crate) is_immature: bool,
}

/// The parameters of `walletcreatefundedpsbt`.
#[derive(Clone, Debug)]
pub(crate) struct FundingPlan {
    pub(crate) inputs: Vec<OutPoint>,
    pub(crate) outputs: Vec<TxOut>,
    pub(crate) lock_time: LockTime,
    pub(crate) add_inputs: bool,
    pub(crate) min_confirmations: u32,
    /// Sat per 1000 virtual bytes.
    pub(crate) rate: u64,
    pub(crate) replaceable: bool,
}

/// A PSBT, its fee, and the place of its change.
pub(crate) type Funded = (Psbt, u64, Option<usize>);

impl World {
    /// Makes a wallet of the node, without coins and not encrypted.
    pub fn create_wallet(&mut self, name: &str) {
        self.wallets.0.entry(name.to_owned()).or_default();
    }

    /// Unloads a wallet, or loads it again. Calls of an unloaded one fail with code −18.
    ///
    /// # Errors
    /// [`Error::Parameters`] if there is no such wallet.
    pub fn load_wallet(&mut self, name: &str, is_loaded: bool) -> Result<(), Error> {
        self.wallet_mut(name)?.is_unloaded = !is_loaded;
        Ok(())
    }

    /// Encrypts a wallet, and locks it or unlocks it. A locked one signs nothing (code −13).
    ///
    /// # Errors
    /// As [`World::load_wallet`].
    pub fn lock_wallet(&mut self, name: &str, is_locked: bool) -> Result<(), Error> {
        self.wallet_mut(name)?.locked = Some(is_locked);
        Ok(())
    }

    /// Lets a wallet choose its smallest coins first, as Core's coin selection may, instead of its largest ones.
    ///
    /// # Errors
    /// As [`World::load_wallet`].
    pub fn take_small_coins_first(&mut self, name: &str, does: bool) -> Result<(), Error> {
        self.wallet_mut(name)?.takes_small_coins_first = does;
        Ok(())
    }

    /// Mines a block with a transaction that pays `count` coins of this value (satoshis) to a wallet.
    ///
    /// # Errors
    /// As [`World::load_wallet`], [`World::pay`] and [`World::mine_plan`].
    pub fn fund_wallet(&mut self, name: &str, count: u32, value: u64) -> Result<(), Error> {
        let mut outputs = Vec::new();
        for _ in 0..count {
            let script_pubkey = self.wallet_script(name)?;
            outputs.push(TxOut { value: Amount::from_sat(value), script_pubkey });
        }
        let tx = self.pay(&Payment { outputs, ..Payment::at(2_000) })?;
        self.mine_plan(&BlockPlan { txs: Txs::Only(vec![tx]), ..BlockPlan::default() })?;
        Ok(())
    }

    /// A new script of a wallet.
    ///
    /// # Errors
    /// As [`World::load_wallet`] and [`World::fresh`].
    pub fn wallet_script(&mut self, name: &str) -> Result<ScriptBuf, Error> {
        self.wallet_mut(name)?;
        let script = self.fresh(|key| Lock::P2wpkh { key })?;
        self.wallet_mut(name)?.scripts.insert(script.clone());
        Ok(script)
    }

    fn wallet_mut(&mut self, name: &str) -> Result<&mut NodeWallet, Error> {
        self.wallets.0.get_mut(name).ok_or(Error::Parameters("there is no such wallet"))
    }

    fn owned(&self, name: &str, script: &ScriptBuf) -> bool {
        self.wallets.0.get(name).is_some_and(|wallet| wallet.scripts.contains(script))
    }

    /// Coins of a wallet that nothing in the mempool spends, in the order of their outpoints.
    pub(crate) fn owned_coins(&self, name: &str) -> Vec<OwnedCoin> {
        let (pool, height) = (&self.node.pool, self.height());
        let mut found: Vec<OwnedCoin> = Vec::new();
        for (outpoint, coin) in self.node.coins() {
            if self.owned(name, &coin.txout.script_pubkey) && pool.spender(outpoint).is_none() {
                let confirmations = height - coin.height + 1;
                let is_immature = coin.coinbase && confirmations < COINBASE_MATURITY;
                let (outpoint, txout) = (*outpoint, coin.txout.clone());
                found.push(OwnedCoin { outpoint, txout, confirmations, is_safe: true, is_immature });
            }
        }
        for entry in pool.entries() {
            let is_own = |input: &TxIn| {
                self.txout(&input.previous_output).is_some_and(|spent| self.owned(name, &spent.script_pubkey))
            };
            let is_safe = entry.tx.input.iter().all(is_own);
            for (vout, txout) in (0..).zip(&entry.tx.output) {
                let outpoint = OutPoint { txid: entry.txid, vout };
                if self.owned(name, &txout.script_pubkey) && pool.spender(&outpoint).is_none() {
                    let txout = txout.clone();
                    found.push(OwnedCoin { outpoint, txout, confirmations: 0, is_safe, is_immature: false });
                }
            }
        }
        found
    }

    /// Coins that the wallet may add, in the order in which it takes them.
    fn addable(&self, name: &str, plan: &FundingPlan) -> Vec<(OutPoint, TxOut)> {
        if !plan.add_inputs {
            return Vec::new();
        }
        let mut coins = self.owned_coins(name);
        coins.retain(|coin| {
            coin.is_safe
                && !coin.is_immature
                && coin.confirmations >= plan.min_confirmations
                && !plan.inputs.contains(&coin.outpoint)
        });
        coins.sort_by_key(|coin| (coin.txout.value, coin.outpoint));
        if !self.wallets.0.get(name).is_some_and(|wallet| wallet.takes_small_coins_first) {
            coins.reverse();
        }
        coins.into_iter().map(|coin| (coin.outpoint, coin.txout)).collect()
    }

    /// `walletcreatefundedpsbt`: like Core, it takes the given inputs even if something in the mempool spends them.
    pub(crate) fn fund(&mut self, name: &str, plan: &FundingPlan) -> Result<Funded, WalletFault> {
        let least = self.node.policy.relay_fee;
        if plan.rate < least {
            return Err(WalletFault::BelowRelay { rate: plan.rate, least });
        }
        let mut chosen = Vec::new();
        for outpoint in &plan.inputs {
            let txout = self.txout(outpoint).filter(|txout| self.owned(name, &txout.script_pubkey));
            chosen.push((*outpoint, txout.ok_or(WalletFault::UnknownInput(*outpoint))?));
        }
        let mut more = self.addable(name, plan).into_iter();
        let paid: u64 = plan.outputs.iter().map(|txout| txout.value.to_sat()).sum();
        loop {
            let income: u64 = chosen.iter().map(|(_, txout)| txout.value.to_sat()).sum();
            let fee = |with_change| fee_of(plan.rate, vsize(chosen.len() as u64, &plan.outputs, with_change));
            let change = income.checked_sub(paid + fee(true)).filter(|rest| *rest >= DUST);
            if !chosen.is_empty() && (change.is_some() || (income >= paid + fee(false) && more.len() == 0)) {
                let fee = change.map_or(income - paid, |_| fee(true));
                return self.unsigned(name, plan, &chosen, change, fee);
            }
            match more.next() {
                Some(coin) => chosen.push(coin),
                None if plan.add_inputs => return Err(WalletFault::Insufficient),
                None => return Err(WalletFault::Preselected),
            }
        }
    }

    fn unsigned(
        &mut self,
        name: &str,
        plan: &FundingPlan,
        coins: &[(OutPoint, TxOut)],
        change: Option<u64>,
        fee: u64,
    ) -> Result<Funded, WalletFault> {
        if fee > MAX_FEE {
            return Err(WalletFault::TooDear);
        }
        let other = |error: &dyn std::fmt::Display| WalletFault::Other(error.to_string());
        let mut output = plan.outputs.clone();
        let place = change.map(|_| output.len());
        if let Some(value) = change {
            let script_pubkey = self.wallet_script(name).map_err(|error| other(&error))?;
            output.push(TxOut { value: Amount::from_sat(value), script_pubkey });
        }
        let sequence =
            if plan.replaceable { Sequence::ENABLE_RBF_NO_LOCKTIME } else { Sequence::ENABLE_LOCKTIME_NO_RBF };
        let input = coins.iter().map(|&(previous_output, _)| TxIn {
            previous_output,
            script_sig: ScriptBuf::new(),
            sequence,
            witness: Witness::new(),
        });
        let tx = Transaction {
            version: transaction::Version::TWO,
            lock_time: plan.lock_time,
            input: input.collect(),
            output,
        };
        let mut psbt = Psbt::from_unsigned_tx(tx).map_err(|error| other(&error))?;
        for (input, (_, txout)) in psbt.inputs.iter_mut().zip(coins) {
            input.witness_utxo = Some(txout.clone());
        }
        Ok((psbt, fee, place))
    }

    /// `walletprocesspsbt`: adds what the wallet knows and its signatures. True if nothing is missing then.
    pub(crate) fn process(&mut self, name: &str, psbt: &mut Psbt, does_sign: bool) -> Result<bool, WalletFault> {
        if does_sign && self.wallets.locked(name) == Some(true) {
            return Err(WalletFault::Locked);
        }
        let mut tx = psbt.unsigned_tx.clone();
        let mut spent = Vec::new();
        for (at, input) in tx.input.iter().enumerate() {
            let coin = self.txout(&input.previous_output).filter(|txout| self.owned(name, &txout.script_pubkey));
            if let Some(txout) = coin {
                if let Some(of) = psbt.inputs.get_mut(at) {
                    of.witness_utxo = Some(txout.clone());
                }
                spent.push(txout);
            }
        }
        if !does_sign || spent.len() != tx.input.len() {
            return Ok(false);
        }
        let signed = self.builder().keyring().sign(&mut tx, &spent, |_| EcdsaSighashType::All);
        signed.map_err(|error| WalletFault::Other(error.to_string()))?;
        for (of, input) in psbt.inputs.iter_mut().zip(tx.input) {
            of.final_script_witness = Some(input.witness);
        }
        Ok(true)
    }
}

fn fee_of(rate: u64, vsize: u64) -> u64 {
    (rate * vsize).div_ceil(1000)
}

/// Virtual bytes of a transaction with this many P2WPKH inputs.
fn vsize(inputs: u64, outputs: &[TxOut], with_change: bool) -> u64 {
    let paid: u64 = outputs.iter().map(|txout| txout.size() as u64).sum();
    let change = if with_change { 31 } else { 0 };
    let base = 4 + 4 + 1 + 1 + INPUT_BYTES * inputs + paid + change;
    (4 * base + 2 + WITNESS_WEIGHT * inputs).div_ceil(4)
}
