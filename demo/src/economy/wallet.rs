//! A wallet with keys of the demo chain: it pays and anchors in blocks that are added to the chain.

use bitcoin::hashes::Hash;
use bitcoin::script::PushBytesBuf;
use bitcoin::sighash::EcdsaSighashType;
use bitcoin::{Amount, OutPoint, Psbt, Script, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Txid, Witness};
use bitcoin::{absolute::LockTime, consensus::serialize, transaction::Version};

use super::KEY_SEED;
use super::actors::Participant;
use super::purses::DUST;
use super::unconfirmed::Unconfirmed;
use crate::build::{BlockSpec, Coin, Keyring, Mined, Parent, block_on};
use crate::error::Error;

/// Virtual bytes of a P2TR input that is spent by its key, with its signature, rounded up.
const INPUT_VSIZE: u64 = 58;
/// Virtual bytes of the change.
const CHANGE_VSIZE: u64 = 43;
/// Virtual bytes of a transaction without inputs and outputs.
const FIXED_VSIZE: u64 = 11;
/// The tag of the pool that mines the blocks.
const TAG: &[u8] = b"/Stone Pool/";

/// A coin of the wallet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DemoCoin {
    /// The transaction that made it, in the byte order of blocks.
    pub txid: [u8; 32],
    /// Number of the output.
    pub vout: u32,
    /// Its value in satoshis.
    pub sats: u64,
}

/// An output to make.
#[derive(Clone, Copy, Debug)]
pub enum Payee<'p> {
    /// Data in an OP_RETURN.
    Data(&'p [u8]),
    /// A payment.
    Script {
        /// The script.
        script: &'p [u8],
        /// Satoshis.
        sats: u64,
    },
}

/// A transaction without signatures.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DemoDraft {
    /// The transaction (BIP 174).
    pub psbt: Vec<u8>,
    /// Its fee in satoshis.
    pub fee: u64,
}

/// The coins of the whale at its newer address. No transaction of the generated mempool spends them.
#[derive(Debug)]
pub struct DemoWallet {
    ring: Keyring,
    script: ScriptBuf,
    pool: ScriptBuf,
}

impl DemoWallet {
    /// Derives its keys.
    ///
    /// # Errors
    /// Never seen: see [`Error::Key`].
    pub fn new() -> Result<Self, Error> {
        let mut ring = Keyring::new(KEY_SEED);
        let script = ring.script(&Participant::Whale.lock(1))?;
        let pool = ring.script(&Participant::Pool.lock(0))?;
        Ok(DemoWallet { ring, script, pool })
    }

    /// Returns the script that its coins and its change pay to.
    pub fn script(&self) -> &[u8] {
        self.script.as_bytes()
    }

    /// Makes a transaction that spends the coins in `must` and as many of `more` as it needs, in their order. `feerate`
    /// is in satoshis per 1,000 virtual bytes. `None` if the coins do not suffice.
    ///
    /// # Errors
    /// Fails if the data is longer than a script may be.
    pub fn draft(
        &self,
        must: &[DemoCoin],
        more: &[DemoCoin],
        payee: Payee<'_>,
        feerate: u64,
    ) -> Result<Option<DemoDraft>, Error> {
        let output = output(payee)?;
        let vsize = FIXED_VSIZE + 9 + output.script_pubkey.len() as u64 + CHANGE_VSIZE;
        let mut more = more.iter().filter(|coin| !must.contains(coin));
        let mut coins = must.to_vec();
        loop {
            let sum = coins.iter().fold(0u64, |sum, coin| sum.saturating_add(coin.sats));
            let vsize = vsize + INPUT_VSIZE * coins.len() as u64;
            let fee = feerate.saturating_mul(vsize).div_ceil(1_000);
            let need = output.value.to_sat().saturating_add(fee).saturating_add(DUST);
            if !coins.is_empty() && sum >= need {
                let change = sum - output.value.to_sat() - fee;
                return self.unsigned(&coins, output, change).map(|psbt| Some(DemoDraft { psbt, fee }));
            }
            match more.next() {
                Some(coin) => coins.push(*coin),
                None => return Ok(None),
            }
        }
    }

    fn unsigned(&self, coins: &[DemoCoin], output: TxOut, change: u64) -> Result<Vec<u8>, Error> {
        let input = |coin: &DemoCoin| TxIn {
            previous_output: OutPoint { txid: Txid::from_byte_array(coin.txid), vout: coin.vout },
            script_sig: ScriptBuf::new(),
            sequence: Sequence::ENABLE_RBF_NO_LOCKTIME,
            witness: Witness::new(),
        };
        let tx = Transaction {
            version: Version::TWO,
            lock_time: LockTime::ZERO,
            input: coins.iter().map(input).collect(),
            output: vec![output, self.own(change)],
        };
        let mut psbt = Psbt::from_unsigned_tx(tx).map_err(unusable)?;
        for (input, coin) in psbt.inputs.iter_mut().zip(coins) {
            input.witness_utxo = Some(self.own(coin.sats));
        }
        Ok(psbt.serialize())
    }

    fn own(&self, sats: u64) -> TxOut {
        TxOut { value: Amount::from_sat(sats), script_pubkey: self.script.clone() }
    }

    /// Signs all inputs of a draft.
    ///
    /// # Errors
    /// Fails if the bytes are not a draft of this wallet.
    pub fn sign(&self, psbt: &[u8]) -> Result<Vec<u8>, Error> {
        let mut psbt = Psbt::deserialize(psbt).map_err(unusable)?;
        let spent: Option<Vec<TxOut>> = psbt.inputs.iter().map(|input| input.witness_utxo.clone()).collect();
        let mut tx = psbt.unsigned_tx.clone();
        self.ring.sign(&mut tx, &spent.unwrap_or_default(), |_| EcdsaSighashType::All)?;
        for (input, signed) in psbt.inputs.iter_mut().zip(tx.input) {
            input.final_script_witness = Some(signed.witness);
        }
        Ok(psbt.serialize())
    }

    /// Returns the bytes of the signed transaction of a draft.
    ///
    /// # Errors
    /// Fails if the bytes are not a draft, or lack signatures.
    pub fn finish(&self, psbt: &[u8]) -> Result<Vec<u8>, Error> {
        let psbt = Psbt::deserialize(psbt).map_err(unusable)?;
        if psbt.inputs.iter().any(|input| input.final_script_witness.is_none()) {
            return Err(Error::Encoding("signatures are missing".to_owned()));
        }
        Ok(serialize(&psbt.extract_tx_unchecked_fee_rate()))
    }

    /// Makes the next block with these transactions. The pool of the demo chain mines it.
    ///
    /// # Errors
    /// See [`block_on`].
    pub fn mine(&self, parent: &Parent, time: u32, txs: &[Unconfirmed]) -> Result<Mined, Error> {
        let spec = BlockSpec { time: Some(time), tag: TAG.to_vec(), ..BlockSpec::paying(self.pool.clone()) };
        block_on(parent, &spec, txs.iter().map(|made| (made.tx.clone(), made.spent.clone())).collect())
    }
}

/// Returns a coin of the chain, as transactions spend it.
pub fn coin(sats: u64, script: &[u8], height: u32, coinbase: bool) -> Coin {
    let script_pubkey = Script::from_bytes(script).to_owned();
    Coin { txout: TxOut { value: Amount::from_sat(sats), script_pubkey }, height, coinbase }
}

/// Returns the script of a regtest address; `None` if it is not one.
pub fn script_of(address: &str) -> Option<Vec<u8>> {
    let address: bitcoin::Address<bitcoin::address::NetworkUnchecked> = address.parse().ok()?;
    let address = address.require_network(bitcoin::Network::Regtest).ok()?;
    Some(address.script_pubkey().into_bytes())
}

fn output(payee: Payee<'_>) -> Result<TxOut, Error> {
    Ok(match payee {
        Payee::Data(data) => {
            let data = PushBytesBuf::try_from(data.to_vec()).map_err(unusable)?;
            TxOut { value: Amount::ZERO, script_pubkey: ScriptBuf::new_op_return(data) }
        }
        Payee::Script { script, sats } => {
            TxOut { value: Amount::from_sat(sats), script_pubkey: Script::from_bytes(script).to_owned() }
        }
    })
}

fn unusable(error: impl std::fmt::Display) -> Error {
    Error::Encoding(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_pays_its_fee_and_becomes_a_block() {
        let wallet = DemoWallet::new().unwrap();
        let coins = [10_000, 20_000].map(|sats| DemoCoin { txid: [sats as u8; 32], vout: 0, sats });
        let payee = Payee::Script { script: &[0x51], sats: 12_000 };
        assert_eq!(wallet.draft(&[], &coins, payee, 200_000).unwrap(), None);
        let draft = wallet.draft(&[], &coins, payee, 2_000).unwrap().unwrap();
        assert!(wallet.finish(&draft.psbt).is_err());
        let raw = wallet.finish(&wallet.sign(&draft.psbt).unwrap()).unwrap();
        let spent = coins.map(|of| coin(of.sats, wallet.script(), 7, false)).to_vec();
        assert!(Unconfirmed::read(&raw, spent[..1].to_vec()).is_err());
        let made = Unconfirmed::read(&raw, spent).unwrap();
        assert_eq!((made.fee(), made.tx.output.len()), (draft.fee, 2));
        let vsize = made.tx.vsize() as u64;
        assert!((2 * vsize..=2 * vsize + 8).contains(&made.fee()), "{} for {vsize}", made.fee());

        let parent = Parent { height: 3_000, hash: [3; 32], median_time: 99 };
        assert!(wallet.mine(&parent, 99, &[]).is_err());
        let mined = wallet.mine(&parent, 100, std::slice::from_ref(&made)).unwrap();
        assert_eq!((mined.height, mined.block.txdata.len(), mined.spent.len()), (3_001, 2, 1));
        assert!(mined.block.check_merkle_root() && mined.block.check_witness_commitment());
        assert!(mined.block.header.validate_pow(mined.block.header.target()).is_ok());
    }

    #[test]
    fn only_addresses_of_the_demo_chain_are_paid() {
        let wallet = DemoWallet::new().unwrap();
        let own = bitcoin::Address::from_script(&wallet.script, bitcoin::Network::Regtest).unwrap().to_string();
        assert_eq!(script_of(&own), Some(wallet.script().to_vec()));
        assert_eq!(script_of("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"), None);
        assert_eq!(script_of(""), None);
    }
}
