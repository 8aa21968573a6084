//! Calls of one of the node's wallets ([`NodeClient::with_wallet`]). Keys stay in the node.

use cairn_model::{Height, Sats, Txid};
use serde::{Deserialize, Deserializer, de};
use serde_json::{Value, json};

use crate::{amount, calls::decimals, client::NodeClient, error::NodeError};

/// Maximum size of a list of coins in bytes: some 100,000 coins.
const MAX_COINS_ANSWER: u64 = 64 << 20;

/// `getwalletinfo`.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct WalletInfo {
    /// Its name.
    #[serde(rename = "walletname")]
    pub name: String,
    /// Until when an encrypted wallet is unlocked, in seconds since 1970; 0 if it is locked. `None` if it is not
    /// encrypted.
    #[serde(default)]
    pub unlocked_until: Option<u64>,
    /// Whether it has keys, or only watches scripts.
    #[serde(default)]
    pub private_keys_enabled: bool,
}

impl WalletInfo {
    /// True if it cannot sign at present.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        !self.private_keys_enabled || self.unlocked_until == Some(0)
    }
}

/// `getbalances`, without coins that the wallet only watches.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(from = "Balances")]
pub struct WalletBalances {
    /// Confirmed coins, and change of own unconfirmed transactions, in satoshis.
    pub trusted: Sats,
    /// Unconfirmed payments of others.
    pub pending: Sats,
}

#[derive(Deserialize)]
struct Balances {
    mine: Mine,
}

#[derive(Deserialize)]
struct Mine {
    #[serde(deserialize_with = "amount::sats")]
    trusted: Sats,
    #[serde(deserialize_with = "amount::sats")]
    untrusted_pending: Sats,
}

impl From<Balances> for WalletBalances {
    fn from(balances: Balances) -> Self {
        WalletBalances { trusted: balances.mine.trusted, pending: balances.mine.untrusted_pending }
    }
}

/// A coin of `listunspent`.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct WalletCoin {
    /// The transaction that made it.
    #[serde(deserialize_with = "txid")]
    pub txid: Txid,
    /// Number of the output.
    pub vout: u32,
    /// The script that it pays to.
    #[serde(rename = "scriptPubKey", deserialize_with = "amount::bytes")]
    pub script: Vec<u8>,
    /// Its value in satoshis.
    #[serde(deserialize_with = "amount::sats")]
    pub amount: Sats,
    /// Confirmations.
    pub confirmations: u32,
    /// Whether the wallet has its keys.
    #[serde(default)]
    pub spendable: bool,
    /// False for an unconfirmed payment of others.
    #[serde(default)]
    pub safe: bool,
}

fn txid<'de, D: Deserializer<'de>>(from: D) -> Result<Txid, D::Error> {
    amount::Hash::deserialize(from).map(|hash| hash.0)
}

/// A transaction that `walletcreatefundedpsbt` is to make: it pays nobody, and has one output with data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Funding {
    /// Data of the OP_RETURN output.
    pub data: Vec<u8>,
    /// Coins that it must spend: transaction and number of the output.
    pub inputs: Vec<(Txid, u32)>,
    /// Whether the wallet may add other coins. It takes only confirmed ones.
    pub may_add_inputs: bool,
    /// Feerate in satoshis per 1,000 virtual bytes.
    pub feerate: u64,
}

/// `walletcreatefundedpsbt`.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct FundedPsbt {
    /// The unsigned transaction (BIP 174).
    #[serde(deserialize_with = "psbt")]
    pub psbt: Vec<u8>,
    /// Its fee in satoshis.
    #[serde(deserialize_with = "amount::sats")]
    pub fee: Sats,
}

/// `walletprocesspsbt`.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct ProcessedPsbt {
    /// The transaction with the wallet's signatures.
    #[serde(deserialize_with = "psbt")]
    pub psbt: Vec<u8>,
    /// Whether it has all signatures.
    pub complete: bool,
}

/// `finalizepsbt`.
#[derive(Deserialize, Clone, PartialEq, Eq, Debug)]
pub struct FinalizedPsbt {
    /// Bytes of the signed transaction; `None` if signatures are missing.
    #[serde(rename = "hex", default, deserialize_with = "optional_bytes")]
    pub tx: Option<Vec<u8>>,
    /// Whether it has all signatures.
    pub complete: bool,
}

fn optional_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<u8>>, D::Error> {
    amount::bytes(from).map(Some)
}

fn psbt<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let text = String::deserialize(from)?;
    STANDARD.decode(text).map_err(de::Error::custom)
}

fn coded(psbt: &[u8]) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    STANDARD.encode(psbt)
}

impl NodeClient {
    /// State of the wallet.
    ///
    /// # Errors
    /// Returns [`NodeError::Rpc`] with code −18 if it is not loaded.
    pub fn wallet_info(&self) -> Result<WalletInfo, NodeError> {
        self.call("getwalletinfo", &json!([]))
    }

    /// Balance of the wallet.
    pub fn wallet_balances(&self) -> Result<WalletBalances, NodeError> {
        self.call("getbalances", &json!([]))
    }

    /// Coins of the wallet with at least this many confirmations that nothing spends.
    pub fn wallet_coins(&self, min_confirmations: Height) -> Result<Vec<WalletCoin>, NodeError> {
        self.call_within("listunspent", &json!([min_confirmations, 9_999_999, [], false]), MAX_COINS_ANSWER)
    }

    /// Lets the wallet choose coins and change for a transaction with data. Nothing is signed or locked.
    ///
    /// # Errors
    /// Returns [`NodeError::Rpc`] with code −4 or −6 if the coins do not suffice.
    pub fn create_funded_psbt(&self, funding: &Funding) -> Result<FundedPsbt, NodeError> {
        const METHOD: &str = "walletcreatefundedpsbt";
        let funded: FundedPsbt = self.call(METHOD, &funding.params())?;
        // Nodes after version 31 make version 2 unless asked; those before refuse to be asked. Nothing was locked, so
        // that the second call may choose the same coins.
        if funded.has_version_0() { Ok(funded) } else { self.call(METHOD, &funding.params_of_version_0()) }
    }

    /// Adds the wallet's signatures.
    ///
    /// # Errors
    /// Returns [`NodeError::Rpc`] with code −13 if the wallet is locked.
    pub fn process_psbt(&self, psbt: &[u8]) -> Result<ProcessedPsbt, NodeError> {
        self.call("walletprocesspsbt", &json!([coded(psbt), true]))
    }

    /// Makes the transaction from a PSBT with all signatures.
    pub fn finalize_psbt(&self, psbt: &[u8]) -> Result<FinalizedPsbt, NodeError> {
        self.call("finalizepsbt", &json!([coded(psbt), true]))
    }
}

impl FundedPsbt {
    /// True if the unsigned transaction, which only version 0 has, comes first (key length 1, type 0), where Bitcoin
    /// Core writes it.
    fn has_version_0(&self) -> bool {
        self.psbt.starts_with(b"psbt\xff\x01\x00")
    }
}

impl Funding {
    /// The same with `psbt_version` 0, behind the default of `version`.
    fn params_of_version_0(&self) -> Value {
        let mut params = self.params();
        if let Value::Array(params) = &mut params {
            params.extend([Value::Null, Value::from(0)]);
        }
        params
    }

    fn params(&self) -> Value {
        let input = |(txid, vout): &(Txid, u32)| json!({ "txid": txid.to_string(), "vout": vout });
        let inputs: Vec<Value> = self.inputs.iter().map(input).collect();
        // `feeRate` is in bitcoin for 1,000 virtual bytes: any number of satoshis.
        let options = json!({
            "add_inputs": self.may_add_inputs,
            "include_unsafe": false,
            "minconf": 1,
            "replaceable": true,
            "feeRate": decimals(Some(self.feerate)),
        });
        json!([inputs, [{ "data": hex::encode(&self.data) }], 0, options, false])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_funding_is_written_as_the_node_documents_it() {
        let funding =
            Funding { data: vec![0xab; 2], inputs: vec![(Txid([1; 32]), 7)], may_add_inputs: false, feerate: 12_345 };
        let options = json!({
            "add_inputs": false, "include_unsafe": false, "minconf": 1, "replaceable": true, "feeRate": "0.00012345",
        });
        let txid = "01".repeat(32);
        let (inputs, outputs) = (json!([{ "txid": txid, "vout": 7 }]), json!([{ "data": "abab" }]));
        assert_eq!(funding.params(), json!([inputs, outputs, 0, options, false]));
        assert_eq!(funding.params_of_version_0(), json!([inputs, outputs, 0, options, false, null, 0]));
    }

    #[test]
    fn answers() {
        let info: WalletInfo =
            serde_json::from_str(r#"{"walletname":"w","unlocked_until":0,"private_keys_enabled":true}"#).unwrap();
        assert!(info.is_locked());
        let info: WalletInfo = serde_json::from_str(r#"{"walletname":"w","private_keys_enabled":true}"#).unwrap();
        assert!(!info.is_locked());
        let funded: FundedPsbt = serde_json::from_str(r#"{"psbt":"cHNidP8=","fee":0.00000153,"changepos":1}"#).unwrap();
        assert_eq!(funded, FundedPsbt { psbt: b"psbt\xff".to_vec(), fee: 153 });
        // Version 2 begins with the version of the transaction (BIP 370).
        let version_2 = b"psbt\xff\x01\x02\x04\x02\x00\x00\x00".to_vec();
        assert!(!FundedPsbt { psbt: version_2, fee: 1 }.has_version_0());
        assert!(FundedPsbt { psbt: b"psbt\xff\x01\x00\x3c".to_vec(), fee: 1 }.has_version_0());
        assert!(serde_json::from_str::<FundedPsbt>(r#"{"psbt":"*","fee":1}"#).is_err());
        let open: FinalizedPsbt = serde_json::from_str(r#"{"psbt":"cHNidP8=","complete":false}"#).unwrap();
        assert_eq!(open, FinalizedPsbt { tx: None, complete: false });
        let balances = r#"{"mine":{"trusted":0.5,"untrusted_pending":0.00000001,"immature":0}}"#;
        let balances: WalletBalances = serde_json::from_str(balances).unwrap();
        assert_eq!((balances.trusted, balances.pending), (50_000_000, 1));
    }
}
