//! The node that the anchorer talks to: the demo's chain and wallet, in this process.

use std::sync::Arc;

use cairn_anchoring::Node;
use cairn_demo::{DemoCoin, Payee};
use cairn_model::{BlockHash, Txid};
use cairn_node::{
    FinalizedPsbt, FundedPsbt, Funding, NodeError, ProcessedPsbt, WalletBalances, WalletCoin, WalletInfo,
};

use super::{Live, Refused};
use crate::commands::demo::mempool::RELAY_FEE;

/// Bitcoin Core's error codes.
const WALLET_ERROR: i64 = -4;
const INSUFFICIENT: i64 = -6;
const VERIFY: i64 = -25;
const REJECTED: i64 = -26;
const IN_CHAIN: i64 = -27;

pub(crate) struct DemoNode(pub(crate) Arc<Live>);

fn refused(method: &str, code: i64, message: impl ToString) -> NodeError {
    NodeError::Rpc { method: method.to_owned(), code, message: message.to_string() }
}

impl DemoNode {
    fn own_coins(&self, method: &str) -> Result<Vec<DemoCoin>, NodeError> {
        self.0.coins().map_err(|failure| refused(method, WALLET_ERROR, failure))
    }

    /// The coins of these outputs.
    fn named(&self, points: &[(Txid, u32)]) -> Result<Vec<DemoCoin>, NodeError> {
        let found = self.0.view(|view| view.transactions().coins(points));
        let found = found.map_err(|failure| refused("walletcreatefundedpsbt", WALLET_ERROR, failure))?;
        let coins = points.iter().zip(found).map(|((txid, vout), coin)| {
            let own = coin.filter(|coin| *coin.script == *self.0.wallet.script());
            own.map(|coin| DemoCoin { txid: txid.0, vout: *vout, sats: coin.value })
        });
        let coins: Option<Vec<DemoCoin>> = coins.collect();
        coins.ok_or_else(|| refused("walletcreatefundedpsbt", WALLET_ERROR, "a coin is not in the wallet"))
    }
}

impl Node for DemoNode {
    fn wallet_info(&self) -> Result<WalletInfo, NodeError> {
        Ok(WalletInfo { name: "demo".to_owned(), unlocked_until: None, private_keys_enabled: true })
    }

    fn balances(&self) -> Result<WalletBalances, NodeError> {
        let coins = self.own_coins("getbalances")?;
        Ok(WalletBalances { trusted: coins.iter().map(|coin| coin.sats).sum(), pending: 0 })
    }

    fn coins(&self) -> Result<Vec<WalletCoin>, NodeError> {
        let script = self.0.wallet.script();
        let coins = self.own_coins("listunspent")?.into_iter().map(|coin| WalletCoin {
            txid: Txid(coin.txid),
            vout: coin.vout,
            script: script.to_vec(),
            amount: coin.sats,
            // All of them are in blocks; how deep does not matter.
            confirmations: 1,
            spendable: true,
            safe: true,
        });
        Ok(coins.collect())
    }

    fn fund(&self, funding: &Funding) -> Result<FundedPsbt, NodeError> {
        const METHOD: &str = "walletcreatefundedpsbt";
        let must = self.named(&funding.inputs)?;
        let more = if funding.may_add_inputs { self.own_coins(METHOD)? } else { Vec::new() };
        let draft = self.0.wallet.draft(&must, &more, Payee::Data(&funding.data), funding.feerate);
        let draft = draft.map_err(|error| refused(METHOD, WALLET_ERROR, error))?;
        let draft = draft.ok_or_else(|| refused(METHOD, INSUFFICIENT, "Insufficient funds"))?;
        Ok(FundedPsbt { psbt: draft.psbt, fee: draft.fee })
    }

    fn sign(&self, psbt: &[u8]) -> Result<ProcessedPsbt, NodeError> {
        let psbt = self.0.wallet.sign(psbt).map_err(|error| refused("walletprocesspsbt", WALLET_ERROR, error))?;
        Ok(ProcessedPsbt { psbt, complete: true })
    }

    fn finalize(&self, psbt: &[u8]) -> Result<FinalizedPsbt, NodeError> {
        let tx = self.0.wallet.finish(psbt).map_err(|error| refused("finalizepsbt", WALLET_ERROR, error))?;
        Ok(FinalizedPsbt { tx: Some(tx), complete: true })
    }

    fn in_mempool(&self, txids: &[Txid]) -> Result<Vec<bool>, NodeError> {
        let waiting = self.0.waiting.lock();
        Ok(txids.iter().map(|txid| waiting.iter().any(|of| of.txid == *txid)).collect())
    }

    fn min_feerate(&self) -> Result<u64, NodeError> {
        Ok(RELAY_FEE)
    }

    fn tip(&self) -> Result<BlockHash, NodeError> {
        self.0.view(|view| Ok(view.tip().hash)).map_err(|failure| refused("getbestblockhash", WALLET_ERROR, failure))
    }

    fn send(&self, raw: &[u8], max_feerate: u64) -> Result<Txid, NodeError> {
        const METHOD: &str = "sendrawtransaction";
        let (made, _) = self.0.resolved(raw).map_err(|why| answered(METHOD, &why))?;
        if made.fee().saturating_mul(1_000) > max_feerate.saturating_mul(made.tx.vsize() as u64) {
            return Err(refused(METHOD, VERIFY, "Fee exceeds maximum configured by user"));
        }
        self.0.accept(raw, None).map_err(|why| answered(METHOD, &why))
    }
}

fn answered(method: &str, why: &Refused) -> NodeError {
    let code = match why {
        Refused::InChain => IN_CHAIN,
        Refused::Spent => VERIFY,
        Refused::Fee => REJECTED,
        Refused::Other(_) => WALLET_ERROR,
    };
    refused(method, code, why)
}
