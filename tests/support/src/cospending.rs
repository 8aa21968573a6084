//! The oracle's clusters by the rule of the index: its detectors of CoinJoins have tests of their own.

use std::collections::BTreeMap;

use bitcoin::{ScriptBuf, Transaction};
use cairn_domain::coinjoin::{Shape, is_coinjoin};
use cairn_model::{Sats, ScriptTemplate, TxNum};
use cairn_testkit::{Clusters, Coin, Oracle, PaidByTx, needs_key, paid_by_transaction, paid_to_others};

/// A transaction with the coins that it spends.
struct Spending<'t>(&'t Transaction, &'t [Coin]);

impl Shape for Spending<'_> {
    type Spent<'a>
        = &'a ScriptBuf
    where
        Self: 'a;

    fn inputs(&self) -> usize {
        self.1.len()
    }

    fn outputs(&self) -> usize {
        self.0.output.len()
    }

    fn input_value(&self, at: usize) -> Sats {
        self.1[at].value_sats
    }

    fn input_template(&self, at: usize) -> ScriptTemplate {
        ScriptTemplate::of(self.1[at].script.as_bytes())
    }

    fn input_script(&self, at: usize) -> &ScriptBuf {
        &self.1[at].script
    }

    fn output_value(&self, at: usize) -> Sats {
        self.0.output[at].value.to_sat()
    }

    fn output_script(&self, at: usize) -> &[u8] {
        self.0.output[at].script_pubkey.as_bytes()
    }
}

/// The oracle's clusters by the rule of the index.
pub fn clusters_of(oracle: &Oracle, height: u32) -> Clusters {
    Clusters::at(oracle, height, &|tx, coins| is_coinjoin(&Spending(tx, coins)), &needs_key)
}

/// Sums that the transactions of each day paid to others, by the rule of the index.
pub fn paid_by_day(oracle: &Oracle, height: u32) -> BTreeMap<u32, Sats> {
    paid_to_others(oracle, height, &|tx, coins| is_coinjoin(&Spending(tx, coins)), &needs_key)
}

/// Sums that each transaction pays to others, by the rule of the index, and whether it is a CoinJoin.
pub fn paid_by_tx(oracle: &Oracle, height: u32) -> BTreeMap<TxNum, (PaidByTx, bool)> {
    let coinjoin = |tx: &Transaction, coins: &[Coin]| is_coinjoin(&Spending(tx, coins));
    let paid = paid_by_transaction(oracle, height, &coinjoin, &needs_key);
    let txs = oracle.transactions(height).map(|(tx_num, _, tx)| (tx_num, tx)).collect::<BTreeMap<_, _>>();
    let is_coinjoin = |tx_num: &TxNum| coinjoin(txs[tx_num], oracle.spent(*tx_num));
    paid.into_iter().map(|(tx_num, paid)| (tx_num, (paid, is_coinjoin(&tx_num)))).collect()
}
