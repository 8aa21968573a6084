//! The node's RPC, and what the node knows of a wallet.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bdk_wallet::bitcoin::{
    Amount, OutPoint, ScriptBuf, Transaction, Txid,
    consensus::encode::{deserialize_hex, serialize_hex},
};
use serde_json::{Value, json};

use crate::Result;

/// The coins of a wallet: value in satoshis, and height, which is 0 for unconfirmed ones.
pub type Coins = BTreeMap<OutPoint, (u64, u64)>;

pub struct Node {
    url: String,
    header: String,
}

impl Node {
    /// Reads `NODE_URL` and `NODE_LOGIN`; makes the wallet `miner`, with some coins that may be spent.
    pub fn start() -> Result<Self> {
        let header = format!("Basic {}", STANDARD.encode(env::var("NODE_LOGIN")?));
        let node = Self { url: env::var("NODE_URL")?, header };
        node.call("createwallet", json!(["miner"]))?;
        let address = node.address()?;
        node.call("generatetoaddress", json!([40, address]))?;
        node.mine(100)?;
        Ok(node)
    }

    /// Calls a method of the node or of its only wallet.
    pub fn call(&self, method: &str, params: Value) -> Result<Value> {
        let body = json!({ "jsonrpc": "1.0", "id": 1, "method": method, "params": params }).to_string();
        let request = minreq::post(&self.url).with_header("authorization", &self.header).with_timeout(60);
        let answer: Value = serde_json::from_str(request.with_body(body).send()?.as_str()?)?;
        match &answer["error"] {
            Value::Null => Ok(answer["result"].clone()),
            error => Err(format!("{method}: {error}").into()),
        }
    }

    pub fn text(&self, method: &str, params: Value) -> Result<String> {
        let answer = self.call(method, params)?;
        answer.as_str().map(str::to_owned).ok_or_else(|| format!("{method}: {answer}").into())
    }

    /// Returns an address of the node's wallet.
    pub fn address(&self) -> Result<String> {
        self.text("getnewaddress", json!([]))
    }

    pub fn height(&self) -> Result<u64> {
        Ok(self.call("getblockcount", json!([]))?.as_u64().ok_or("no height")?)
    }

    /// Pays from the node's wallet. The transaction stays valid in a shorter chain.
    pub fn pay(&self, address: &str, sats: u64) -> Result<Txid> {
        let outputs = json!([{ address: btc(sats) }]);
        let sent = self.call("send", json!([outputs, null, "unset", null, { "locktime": 0 }]))?;
        Ok(sent["txid"].as_str().ok_or("no txid")?.parse()?)
    }

    /// Mines blocks for nobody, with what is in the mempool.
    pub fn mine(&self, blocks: u64) -> Result<String> {
        let mined = self.call("generatetodescriptor", json!([blocks, "raw(51)"]))?;
        Ok(mined[0].as_str().ok_or("no block")?.to_owned())
    }

    /// Replaces the chain from `block` on with `blocks` others. Only `first` is in the first one of them.
    pub fn replace(&self, block: &str, blocks: u64, first: &[&Transaction]) -> Result<()> {
        self.call("invalidateblock", json!([block]))?;
        for at in 0..blocks {
            let transactions: Vec<_> =
                first.iter().take_while(|_| at == 0).map(|first| serialize_hex(*first)).collect();
            self.call("generateblock", json!([self.address()?, transactions]))?;
        }
        Ok(())
    }

    pub fn transaction(&self, txid: &Txid) -> Result<Transaction> {
        Ok(deserialize_hex(&self.text("getrawtransaction", json!([txid]))?)?)
    }

    /// Builds and signs a transaction that spends a coin of the node's wallet.
    pub fn spend(&self, coin: &Value, address: &str, sats: u64) -> Result<Transaction> {
        let inputs = json!([{ "txid": coin["txid"], "vout": coin["vout"] }]);
        let raw = self.text("createrawtransaction", json!([inputs, [{ address: btc(sats) }]]))?;
        let signed = self.call("signrawtransactionwithwallet", json!([raw]))?;
        Ok(deserialize_hex(signed["hex"].as_str().ok_or("not signed")?)?)
    }

    pub fn mempool(&self) -> Result<BTreeSet<Txid>> {
        Ok(serde_json::from_value(self.call("getrawmempool", json!([]))?)?)
    }

    /// Returns the coins of `scripts`, which `descriptors` describe, with the mempool applied to the node's coins.
    pub fn coins(&self, descriptors: &[String], scripts: &BTreeSet<ScriptBuf>) -> Result<Coins> {
        let ranges: Vec<_> = descriptors.iter().map(|desc| json!({ "desc": desc, "range": 300 })).collect();
        let found = self.call("scantxoutset", json!(["start", ranges]))?;
        let mut coins = Coins::new();
        for coin in found["unspents"].as_array().ok_or("no coins")? {
            let txid = coin["txid"].as_str().ok_or("no txid")?.parse()?;
            let vout = u32::try_from(coin["vout"].as_u64().ok_or("no vout")?)?;
            let height = coin["height"].as_u64().ok_or("no height")?;
            coins.insert(OutPoint { txid, vout }, (sats_of(coin)?, height));
        }
        let waiting = self.mempool()?.iter().map(|txid| self.transaction(txid)).collect::<Result<Vec<_>>>()?;
        for transaction in &waiting {
            let txid = transaction.compute_txid();
            for (vout, output) in (0..).zip(&transaction.output) {
                if scripts.contains(&output.script_pubkey) {
                    coins.insert(OutPoint { txid, vout }, (output.value.to_sat(), 0));
                }
            }
        }
        for input in waiting.iter().flat_map(|transaction| &transaction.input) {
            coins.remove(&input.previous_output);
        }
        Ok(coins)
    }
}

pub fn btc(sats: u64) -> String {
    format!("{}.{:08}", sats / 100_000_000, sats % 100_000_000)
}

/// The value of a coin as the node lists it.
pub fn sats_of(coin: &Value) -> Result<u64> {
    Ok(Amount::from_btc(coin["amount"].as_f64().ok_or("no amount")?)?.to_sat())
}
