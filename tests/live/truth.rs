//! The expected answers, found in the most obvious way, and a comparison with the served ones.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{OutPoint, ScriptBuf, TxOut, Txid};
use cairn_standin::{PoolTx, World};
use cairn_support::{Client, name_of};
use cairn_testkit::Oracle;
use serde_json::Value;

/// Blocks below the tip whose transactions and scripts are looked at each time.
const RECENT: usize = 12;

/// The node's chain and mempool at a moment.
pub(crate) struct Truth {
    oracle: Oracle,
    tip: String,
    pool: Vec<PoolTx>,
    /// Changes by the mempool, by script: received and sent.
    changes: BTreeMap<ScriptBuf, (u64, u64)>,
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, right: &T) -> Result<(), String> {
    if found == right { Ok(()) } else { Err(format!("{what}: served {found:?}, right is {right:?}")) }
}

impl Truth {
    /// Of the node now.
    pub(crate) fn of(world: &World) -> Self {
        let blocks = world.active();
        let oracle = Oracle::of(cairn_model::Network::Regtest, blocks.iter().map(|mined| &mined.block));
        let pool = world.pool();
        let made: BTreeMap<Txid, &PoolTx> = pool.iter().map(|tx| (tx.txid, tx)).collect();
        let output = |at: &OutPoint| -> TxOut {
            match made.get(&at.txid) {
                Some(parent) => parent.tx.output[at.vout as usize].clone(),
                None => {
                    let coin = &oracle.coins()[at];
                    TxOut { value: bitcoin::Amount::from_sat(coin.value_sats), script_pubkey: coin.script.clone() }
                }
            }
        };
        let mut changes = BTreeMap::<ScriptBuf, (u64, u64)>::new();
        for tx in &pool {
            for txout in &tx.tx.output {
                changes.entry(txout.script_pubkey.clone()).or_default().0 += txout.value.to_sat();
            }
            for input in &tx.tx.input {
                let txout = output(&input.previous_output);
                changes.entry(txout.script_pubkey).or_default().1 += txout.value.to_sat();
            }
        }
        Truth { oracle, tip: world.tip().to_string(), pool, changes }
    }

    /// Every script that chain or mempool know.
    pub(crate) fn scripts(&self) -> BTreeSet<ScriptBuf> {
        self.oracle.scripts().chain(self.changes.keys()).filter(|script| !script.is_op_return()).cloned().collect()
    }

    /// The scripts of the mempool and of the newest blocks.
    fn recent_scripts(&self) -> BTreeSet<ScriptBuf> {
        let blocks = self.oracle.blocks();
        let outputs = blocks[blocks.len().saturating_sub(RECENT)..].iter().flat_map(|block| &block.txdata);
        let outputs = outputs.flat_map(|tx| &tx.output).map(|txout| &txout.script_pubkey);
        outputs.chain(self.changes.keys()).filter(|script| !script.is_op_return()).cloned().collect()
    }

    /// Whether chain and mempool that are served are these: tip, count, each transaction of the mempool, the newest
    /// blocks' transactions, `gone` and the balances of `more` scripts and the recent ones.
    pub(crate) fn is_served(
        &self,
        client: &mut Client,
        gone: &BTreeSet<Txid>,
        more: &BTreeSet<ScriptBuf>,
    ) -> Result<(), String> {
        let stats = client.ok("/v1/mempool/stats")?;
        self.same_tip(&stats)?;
        same("count of the mempool", &stats["count"], &self.pool.len().into())?;
        let fees: u64 = self.pool.iter().map(|tx| tx.fee).sum();
        same("fees of the mempool", &stats["fees_sats"], &fees.into())?;
        for tx in &self.pool {
            self.pooled(client, tx)?;
        }
        let blocks = self.oracle.blocks();
        for block in &blocks[blocks.len().saturating_sub(RECENT)..] {
            for tx in &block.txdata {
                let status = self.status(client, &tx.compute_txid())?;
                same("state of a transaction in a block", &status["state"], &"confirmed".into())?;
                same("its block", &status["block"]["hash"], &block.block_hash().to_string().into())?;
            }
        }
        for txid in gone.iter().filter(|txid| self.is_gone(txid)) {
            let status = self.status(client, txid)?;
            if !["unknown", "conflicted"].contains(&status["state"].as_str().unwrap_or_default()) {
                return Err(format!("{txid} is gone, but served: {status}"));
            }
        }
        for script in self.recent_scripts().union(more) {
            self.balance(client, script)?;
        }
        Ok(())
    }

    fn is_gone(&self, txid: &Txid) -> bool {
        self.oracle.tx_nums(txid).is_empty() && !self.pool.iter().any(|tx| tx.txid == *txid)
    }

    fn same_tip(&self, answer: &Value) -> Result<(), String> {
        same("tip", &answer["_meta"]["tip"]["hash"], &self.tip.as_str().into())
    }

    fn status(&self, client: &mut Client, txid: &Txid) -> Result<Value, String> {
        let status = client.ok(&format!("/v1/tx/{txid}/status"))?;
        self.same_tip(&status)?;
        Ok(status)
    }

    fn pooled(&self, client: &mut Client, tx: &PoolTx) -> Result<(), String> {
        let status = self.status(client, &tx.txid)?;
        same("state of a transaction of the mempool", &status["state"], &"mempool".into())?;
        let served = client.ok(&format!("/v1/mempool/tx/{}", tx.txid))?;
        self.same_tip(&served)?;
        let what = |member: &str| format!("{member} of {}", tx.txid);
        same(&what("fee"), &served["fee_sats"], &tx.fee.into())?;
        same(&what("size"), &served["adjusted_vsize"], &tx.vsize.into())?;
        same(&what("weight"), &served["weight"], &tx.weight.into())?;
        let listed = |member: &Value| -> BTreeSet<String> {
            let rows = member.as_array().map(Vec::as_slice).unwrap_or_default();
            rows.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let texts = |txids: &[Txid]| -> BTreeSet<String> { txids.iter().map(Txid::to_string).collect() };
        same(&what("ancestors"), &listed(&served["ancestors"]["txids"]), &texts(&tx.ancestors))?;
        same(&what("descendants"), &listed(&served["descendants"]["txids"]), &texts(&tx.descendants))?;
        let parents = tx.tx.input.iter().map(|input| input.previous_output.txid);
        let parents: BTreeSet<String> =
            parents.filter(|txid| tx.ancestors.contains(txid)).map(|txid| txid.to_string()).collect();
        same(&what("parents"), &listed(&served["parents"]), &parents)
    }

    /// Compares the overview of a script.
    fn balance(&self, client: &mut Client, script: &ScriptBuf) -> Result<(), String> {
        let name = name_of(script);
        let overview = client.ok(&format!("/v1/wallets/{name}/overview"))?;
        self.same_tip(&overview)?;
        let totals = self.oracle.totals(script);
        let (confirmed, count) = totals.map_or((0, 0), |totals| (totals.balance_sats(), totals.tx_count));
        let (received, sent) = self.changes.get(script).copied().unwrap_or_default();
        let balance = &overview["balance"];
        same(&format!("confirmed balance of {name}"), &balance["confirmed_sats"], &confirmed.into())?;
        let net = received as i64 - sent as i64;
        same(&format!("unconfirmed change of {name}"), &balance["unconfirmed_sats"], &net.into())?;
        same(&format!("total of {name}"), &balance["total_sats"], &(confirmed + received - sent).into())?;
        same(&format!("received by {name}"), &overview["unconfirmed_received_sats"], &received.into())?;
        same(&format!("sent by {name}"), &overview["unconfirmed_sent_sats"], &sent.into())?;
        same(&format!("transactions of {name}"), &overview["tx_count"], &count.into())
    }
}
