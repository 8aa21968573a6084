//! Uses of the node's wallet in the tests: payments of every kind, and raw transactions for scripts without address.

use bitcoin::{
    Amount, CompressedPublicKey, Network, ScriptBuf, TxOut,
    consensus::encode::serialize_hex,
    opcodes::all,
    script::Builder,
    secp256k1::{Secp256k1, SecretKey},
};
use serde_json::{Value, json};

use crate::node::Node;

/// The wallet's address types.
pub(crate) const KINDS: [&str; 4] = ["legacy", "p2sh-segwit", "bech32", "bech32m"];

/// Satoshis of an amount of bitcoin in an answer.
#[track_caller]
pub(crate) fn sats(amount: &Value) -> i64 {
    let text = amount.as_f64().unwrap_or_else(|| panic!("{amount} is no amount"));
    // Exact: a double holds every amount of satoshis below 2^53.
    (text * 1e8).round() as i64
}

/// An amount for a request.
pub(crate) fn btc(sats: u64) -> Value {
    Value::String(Amount::from_sat(sats).to_string_in(bitcoin::Denomination::Bitcoin))
}

/// A public key of nobody's, as any number gives it.
pub(crate) fn public_key(number: u8) -> CompressedPublicKey {
    let secret = SecretKey::from_slice(&[number; 32]).unwrap();
    CompressedPublicKey(secret.public_key(&Secp256k1::new()))
}

/// Bare 1-of-2 multisig.
pub(crate) fn bare_multisig() -> ScriptBuf {
    Builder::new()
        .push_opcode(all::OP_PUSHNUM_1)
        .push_slice(public_key(1).to_bytes())
        .push_slice(public_key(2).to_bytes())
        .push_opcode(all::OP_PUSHNUM_2)
        .push_opcode(all::OP_CHECKMULTISIG)
        .into_script()
}

/// Pay to public key.
pub(crate) fn pay_to_public_key() -> ScriptBuf {
    ScriptBuf::new_p2pk(&bitcoin::PublicKey::new(public_key(3).0))
}

/// OP_RETURN with a text.
pub(crate) fn op_return(text: &[u8]) -> ScriptBuf {
    let data: &bitcoin::script::PushBytes = text.try_into().unwrap();
    ScriptBuf::new_op_return(data)
}

/// The address of a script of regtest.
pub(crate) fn address_of(script: &ScriptBuf) -> String {
    bitcoin::Address::from_script(script, Network::Regtest).unwrap().to_string()
}

/// An address of somebody else.
pub(crate) fn foreign(number: u8) -> String {
    address_of(&ScriptBuf::new_p2wpkh(&public_key(number).wpubkey_hash()))
}

/// The script of an address.
#[track_caller]
pub(crate) fn script_of(address: &str) -> ScriptBuf {
    address.parse::<bitcoin::Address<_>>().unwrap().assume_checked().script_pubkey()
}

impl Node {
    /// Pays from the wallet; the transaction's id.
    #[track_caller]
    pub(crate) fn pay(&self, address: &str, sats: u64) -> String {
        self.ask("sendtoaddress", json!([address, btc(sats)]))
    }

    /// The script of a new address of the wallet.
    #[track_caller]
    pub(crate) fn new_script(&self, kind: &str) -> ScriptBuf {
        let address: bitcoin::Address<_> = self.new_address(kind).parse().unwrap();
        address.assume_checked().script_pubkey()
    }

    /// Pays to scripts of any kind, with coins and change of the wallet; the transaction's id.
    #[track_caller]
    pub(crate) fn pay_to_scripts(&self, outputs: &[(ScriptBuf, u64)]) -> String {
        let output = outputs.iter().map(|(script_pubkey, sats)| TxOut {
            value: Amount::from_sat(*sats),
            script_pubkey: script_pubkey.clone(),
        });
        // By hand: a transaction without inputs would be taken for one with witnesses.
        let outputs: Vec<TxOut> = output.collect();
        let hex = format!("0200000000{}00000000", serialize_hex(&outputs));
        let funded = self.rpc("fundrawtransaction", json!([hex, {}, false]));
        self.sign_and_send(funded["hex"].as_str().unwrap())
    }

    /// Signs with the wallet's keys and sends.
    #[track_caller]
    pub(crate) fn sign_and_send(&self, hex: &str) -> String {
        let signed = self.rpc("signrawtransactionwithwallet", json!([hex]));
        assert_eq!(signed["complete"], true, "{signed}");
        // Any feerate, and whatever is burned.
        self.ask("sendrawtransaction", json!([signed["hex"], 0, btc(21_000_000 * 100_000_000)]))
    }
}
