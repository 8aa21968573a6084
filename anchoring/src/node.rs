//! The node and its wallet.

use cairn_model::{BlockHash, Txid};
use cairn_node::{
    FinalizedPsbt, FundedPsbt, Funding, NodeClient, NodeError, ProcessedPsbt, WalletBalances, WalletCoin, WalletInfo,
};

/// Requests to the node and its wallet.
pub trait Node {
    /// State of the wallet.
    ///
    /// # Errors
    /// Fails with code −18 if it is not loaded.
    fn wallet_info(&self) -> Result<WalletInfo, NodeError>;

    /// Balance of the wallet.
    fn balances(&self) -> Result<WalletBalances, NodeError>;

    /// Confirmed coins of the wallet that nothing spends.
    fn coins(&self) -> Result<Vec<WalletCoin>, NodeError>;

    /// Lets the wallet choose coins and change.
    ///
    /// # Errors
    /// Fails with code −4 or −6 if the coins do not suffice.
    fn fund(&self, funding: &Funding) -> Result<FundedPsbt, NodeError>;

    /// Adds the wallet's signatures.
    ///
    /// # Errors
    /// Fails with code −13 if the wallet is locked.
    fn sign(&self, psbt: &[u8]) -> Result<ProcessedPsbt, NodeError>;

    /// Makes the transaction from a PSBT with all signatures.
    fn finalize(&self, psbt: &[u8]) -> Result<FinalizedPsbt, NodeError>;

    /// Whether the node's mempool has these transactions.
    fn in_mempool(&self, txids: &[Txid]) -> Result<Vec<bool>, NodeError>;

    /// Lowest feerate that enters the mempool, in satoshis per 1,000 virtual bytes.
    fn min_feerate(&self) -> Result<u64, NodeError>;

    /// Hash of the node's tip.
    fn tip(&self) -> Result<BlockHash, NodeError>;

    /// Sends a transaction; the node refuses a feerate above the given one.
    ///
    /// # Errors
    /// Fails with code −25, −26 or −27 if the node refuses it.
    fn send(&self, raw: &[u8], max_feerate: u64) -> Result<Txid, NodeError>;
}

/// A node over JSON-RPC, and one of its wallets.
#[derive(Debug)]
pub struct WalletNode {
    node: NodeClient,
    wallet: NodeClient,
}

impl WalletNode {
    /// The wallet of this name.
    #[must_use]
    pub fn new(node: NodeClient, wallet: &str) -> Self {
        let wallet = node.with_wallet(wallet);
        WalletNode { node, wallet }
    }
}

impl Node for WalletNode {
    fn wallet_info(&self) -> Result<WalletInfo, NodeError> {
        self.wallet.wallet_info()
    }

    fn balances(&self) -> Result<WalletBalances, NodeError> {
        self.wallet.wallet_balances()
    }

    fn coins(&self) -> Result<Vec<WalletCoin>, NodeError> {
        self.wallet.wallet_coins(1)
    }

    fn fund(&self, funding: &Funding) -> Result<FundedPsbt, NodeError> {
        self.wallet.create_funded_psbt(funding)
    }

    fn sign(&self, psbt: &[u8]) -> Result<ProcessedPsbt, NodeError> {
        self.wallet.process_psbt(psbt)
    }

    fn finalize(&self, psbt: &[u8]) -> Result<FinalizedPsbt, NodeError> {
        self.node.finalize_psbt(psbt)
    }

    fn in_mempool(&self, txids: &[Txid]) -> Result<Vec<bool>, NodeError> {
        Ok(self.node.mempool_entries(txids)?.iter().map(Option::is_some).collect())
    }

    fn min_feerate(&self) -> Result<u64, NodeError> {
        let info = self.node.mempool_info()?;
        Ok(info.min_fee.max(info.min_relay_fee))
    }

    fn tip(&self) -> Result<BlockHash, NodeError> {
        self.node.best_block_hash()
    }

    fn send(&self, raw: &[u8], max_feerate: u64) -> Result<Txid, NodeError> {
        self.node.send_raw_transaction(raw, Some(max_feerate), None)
    }
}
