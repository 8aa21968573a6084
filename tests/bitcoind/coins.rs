//! Coins that anyone may spend, and transactions of any shape, size and feerate that spend them without a wallet.

use bitcoin::{
    Amount, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, Witness, absolute::LockTime,
    consensus::encode::serialize_hex, opcodes::all::OP_PUSHNUM_1, script::Builder, transaction::Version,
};
use serde_json::json;

use crate::{
    node::Node,
    wallet::{btc, op_return},
};

/// An unspent output that anyone may spend.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Coin {
    pub(crate) outpoint: OutPoint,
    pub(crate) value: u64,
}

/// The script behind them: OP_1.
fn witness_script() -> ScriptBuf {
    Builder::new().push_opcode(OP_PUSHNUM_1).into_script()
}

/// Pays to anyone: P2WSH of OP_1, which nodes relay.
pub(crate) fn anyone() -> ScriptBuf {
    ScriptBuf::new_p2wsh(&witness_script().wscript_hash())
}

/// A transaction that is to be made.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// The coins that it spends.
    pub(crate) coins: Vec<Coin>,
    /// Coins for anyone that it makes; what `others` and the fee leave is divided between them.
    pub(crate) change: usize,
    /// Further outputs.
    pub(crate) others: Vec<(ScriptBuf, u64)>,
    /// Bytes of an OP_RETURN output; 0: none.
    pub(crate) filler: usize,
    /// Fee in satoshis by 1 000 virtual bytes.
    pub(crate) rate: u64,
    /// Whether it signals that it may be replaced.
    pub(crate) signals: bool,
}

impl Draft {
    /// One input, one coin, no text.
    pub(crate) fn of(coin: Coin, rate: u64) -> Self {
        Draft { coins: vec![coin], change: 1, others: Vec::new(), filler: 0, rate, signals: true }
    }

    /// The transaction.
    #[track_caller]
    pub(crate) fn make(&self) -> Transaction {
        let sequence = if self.signals { Sequence::ENABLE_RBF_NO_LOCKTIME } else { Sequence::MAX };
        let input = self.coins.iter().map(|coin| TxIn {
            previous_output: coin.outpoint,
            script_sig: ScriptBuf::new(),
            sequence,
            witness: Witness::from_slice(&[witness_script().to_bytes()]),
        });
        let output = |script_pubkey, value| TxOut { value: Amount::from_sat(value), script_pubkey };
        let mut outputs: Vec<TxOut> = (0..self.change).map(|_| output(anyone(), 0)).collect();
        outputs.extend(self.others.iter().map(|(script, value)| output(script.clone(), *value)));
        if self.filler > 0 {
            outputs.push(output(op_return(&vec![0x5a; self.filler]), 0));
        }
        let mut tx =
            Transaction { version: Version::TWO, lock_time: LockTime::ZERO, input: input.collect(), output: outputs };
        let fee = (tx.vsize() as u64 * self.rate).div_ceil(1000);
        let have: u64 = self.coins.iter().map(|coin| coin.value).sum();
        let paid: u64 = self.others.iter().map(|(_, value)| value).sum();
        let left = have.checked_sub(paid + fee).unwrap_or_else(|| panic!("{have} do not pay {paid} and {fee}"));
        for change in &mut tx.output[..self.change] {
            change.value = Amount::from_sat(left / self.change as u64);
        }
        tx
    }
}

/// The coins for anyone that a transaction makes.
pub(crate) fn coins_of(tx: &Transaction) -> Vec<Coin> {
    let txid: Txid = tx.compute_txid();
    let outputs = (0u32..).zip(&tx.output).filter(|(_, output)| output.script_pubkey == anyone());
    outputs.map(|(vout, o)| Coin { outpoint: OutPoint { txid, vout }, value: o.value.to_sat() }).collect()
}

impl Node {
    /// Makes coins for anyone and confirms them.
    #[track_caller]
    pub(crate) fn coins_for_anyone(&self, count: usize, value: u64) -> Vec<Coin> {
        let mut coins = Vec::new();
        for part in vec![value; count].chunks(1000) {
            let outputs: Vec<(ScriptBuf, u64)> = part.iter().map(|value| (anyone(), *value)).collect();
            let txid = self.pay_to_scripts(&outputs);
            self.mine(1);
            coins.extend(coins_of(&self.transaction(&txid, Some(&self.best()))));
        }
        coins
    }

    /// A transaction, unconfirmed or of a block.
    #[track_caller]
    pub(crate) fn transaction(&self, txid: &str, block: Option<&str>) -> Transaction {
        let hex: String = self.ask("getrawtransaction", json!([txid, 0, block]));
        bitcoin::consensus::encode::deserialize_hex(&hex).unwrap()
    }

    /// Sends a transaction of any feerate, whatever it burns; its id, or why the node does not take it.
    pub(crate) fn try_send(&self, tx: &Transaction) -> Result<String, String> {
        let all = btc(21_000_000 * 100_000_000);
        let txid = self.outcome("sendrawtransaction", json!([serialize_hex(tx), 0, all]))?;
        Ok(txid.as_str().unwrap().to_owned())
    }

    /// Sends a transaction that the node is to take; its id.
    #[track_caller]
    pub(crate) fn send(&self, tx: &Transaction) -> String {
        self.try_send(tx).unwrap_or_else(|error| panic!("{}: {error}", tx.compute_txid()))
    }
}
