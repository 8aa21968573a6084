//! A whole wallet by its extended public key: a thousand used addresses that change goes through.
//!
//! Each payment spends the coin of one address, pays somebody, and sends the change to the next address of the branch
//! for change; every second one comes in on the branch for receipts.

use bitcoin::{
    Address, Amount, CompressedPublicKey, Network as BitcoinNetwork, OutPoint, ScriptBuf, Transaction, TxIn, TxOut,
    Witness,
    absolute::LockTime,
    bip32::{ChildNumber, Xpriv, Xpub},
    secp256k1::Secp256k1,
    transaction::Version,
};
use cairn_chaingen::{BlockSpec, ChainBuilder};
use serde_json::{Value, json};

use crate::{
    TIMES, index,
    questions::{LocalApi, Question},
};

/// Used addresses of each of the two branches.
const USED: u32 = 500;

/// The wallet: its account key, and its scripts by branch and index.
struct Wallet {
    key: Xpub,
}

impl Wallet {
    fn new() -> Self {
        let secp = Secp256k1::new();
        let root = Xpriv::new_master(BitcoinNetwork::Regtest, &[7; 32]).unwrap();
        Wallet { key: Xpub::from_priv(&secp, &root) }
    }

    fn script(&self, branch: u32, index: u32) -> ScriptBuf {
        let path = [branch, index].map(|step| ChildNumber::from_normal_idx(step).unwrap());
        let key = self.key.derive_pub(&Secp256k1::new(), &path).unwrap();
        Address::p2wpkh(&CompressedPublicKey(key.public_key), BitcoinNetwork::Regtest).script_pubkey()
    }
}

/// A transaction whose signature nobody checks here.
fn transaction(spent: OutPoint, outputs: Vec<(ScriptBuf, u64)>) -> Transaction {
    let witness = Witness::from_slice(&[[1u8; 71].as_slice(), [2u8; 33].as_slice()]);
    let input = TxIn { previous_output: spent, witness, ..TxIn::default() };
    let output = |(script_pubkey, sats)| TxOut { value: Amount::from_sat(sats), script_pubkey };
    Transaction {
        version: Version::TWO,
        lock_time: LockTime::ZERO,
        input: vec![input],
        output: outputs.into_iter().map(output).collect(),
    }
}

pub(crate) fn measure() {
    let (wallet, mut builder) = (Wallet::new(), ChainBuilder::new(19));
    builder.mine(&BlockSpec::paying(wallet.script(0, 0))).unwrap();
    for _ in 0..120 {
        builder.mine(&BlockSpec::default()).unwrap();
    }
    // The keyring lists coins of its own keys only.
    let first = builder.chain().active()[1].block.txdata[0].compute_txid();
    let mut coin = OutPoint { txid: first, vout: 0 };
    let mut value = builder.coin(&coin).unwrap().txout.value.to_sat();
    let other = ScriptBuf::from_hex("0014aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa").unwrap();
    for at in 0..USED {
        let change = value - 1_000_000 - 1_000 - 500_000;
        let outputs =
            vec![(other.clone(), 1_000_000), (wallet.script(1, at), change), (wallet.script(0, at + 1), 500_000)];
        let txid = builder.add(transaction(coin, outputs)).unwrap();
        (coin, value) = (OutPoint { txid, vout: 1 }, change);
        if at % 50 == 49 {
            builder.mine(&BlockSpec::default()).unwrap();
        }
    }
    builder.mine(&BlockSpec::default()).unwrap();
    let folder = cairn_testkit::temp_dir();
    let engine = index(folder.path(), &builder.into_chain());
    let asked = LocalApi::of(engine.reader());
    let question = |name: &str, text: String, include: &[&str]| Question {
        name: format!("lookup of {name}: {}", include.join(", ")),
        path: "/v1/wallets/lookup".to_owned(),
        body: Some(json!({"wallet": [text], "include": include, "from": "2009-01-01"})),
    };
    let everything = ["addresses", "transactions", "balance_history", "dashboard", "pnl"];
    let one = || format!("wpkh({}/<0;1>/*)", wallet.key);
    let questions = [
        question("a descriptor", one(), &[]),
        question("a descriptor", one(), &everything),
        question("an extended key (four kinds)", wallet.key.to_string(), &everything),
    ];
    let found: Value = serde_json::from_slice(&asked.ask(&questions[0]).body).unwrap();
    assert_eq!(found["address_count"], 2 * USED + 1);
    println!("\na wallet of {} used addresses and {} transactions", 2 * USED + 1, USED + 1);
    asked.print(TIMES, &questions);
}
