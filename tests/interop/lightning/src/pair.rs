//! The two nodes and their channel.

use std::{net::TcpListener, path::Path, sync::Arc};

use ldk_node::{
    Builder, ChannelDetails, Node, UserChannelId, bitcoin::Network, config::Config, lightning::ln::msgs::SocketAddress,
    logger::LogLevel,
};

use crate::{
    Result,
    chain::{Chain, wait},
};

const CHANNEL_SATS: u64 = 1_000_000;
/// The share of the shop at the beginning. It exceeds the reserve (1 % of the channel), so that the capacity to send
/// shows every satoshi that the shop receives.
const SHOP_SATS: u64 = 50_000;
/// Blocks until a coinbase can be spent.
const MATURITY: u32 = 100;
/// Blocks until a channel is open, or a closed one is settled.
const CONFIRMATIONS: u32 = 6;

/// Balances of a channel in thousandths of a satoshi, from the view of one node.
pub(crate) struct Balances {
    pub(crate) local_msat: u64,
    pub(crate) remote_msat: u64,
}

/// The node that sells, and the node that pays.
pub(crate) struct Pair {
    pub(crate) shop: Arc<Node>,
    pub(crate) wallet: Arc<Node>,
}

impl Pair {
    /// Starts both nodes, each with a mature coin.
    pub(crate) fn start(folder: &Path, chain: &Chain) -> Result<Self> {
        let pair = Self { shop: start(folder, "shop", chain)?, wallet: start(folder, "wallet", chain)? };
        for node in pair.nodes() {
            chain.reward(&node.onchain_payment().new_address()?)?;
        }
        chain.mine(MATURITY)?;
        for node in pair.nodes() {
            wait("a mature coin", || {
                sync(node);
                Ok(node.list_balances().spendable_onchain_balance_sats > 0)
            })?;
        }
        Ok(pair)
    }

    fn nodes(&self) -> [&Node; 2] {
        [&self.shop, &self.wallet]
    }

    /// Opens the channel from the wallet to the shop, and waits until both can use it.
    pub(crate) fn open_channel(&self, chain: &Chain) -> Result<()> {
        let address = self.shop.listening_addresses().unwrap_or_default().pop().ok_or("the shop does not listen")?;
        self.wallet.open_channel(self.shop.node_id(), address, CHANNEL_SATS, Some(SHOP_SATS * 1_000), None)?;
        chain.confirm("the funding transaction", CONFIRMATIONS)?;
        for node in self.nodes() {
            wait("a usable channel", || {
                sync(node);
                Ok(node.list_channels().iter().any(|channel| channel.is_usable))
            })?;
        }
        Ok(())
    }

    /// Closes the channel by agreement, and returns the satoshis that the shop received on the chain.
    ///
    /// # Errors
    /// Fails also if they are not the shop's share of the channel.
    pub(crate) fn close_channel(&self, chain: &Chain) -> Result<u64> {
        let before = self.shop.list_balances().total_onchain_balance_sats;
        let share = balances(&self.shop)?.local_msat / 1_000;
        let UserChannelId(id) = only_channel(&self.wallet)?.user_channel_id;
        self.wallet.close_channel(&UserChannelId(id), self.shop.node_id())?;
        chain.confirm("the closing transaction", CONFIRMATIONS)?;
        wait("the shop's share on the chain", || {
            sync(&self.shop);
            Ok(self.shop.list_balances().total_onchain_balance_sats > before)
        })?;
        let received = self.shop.list_balances().total_onchain_balance_sats - before;
        if received == share {
            Ok(received)
        } else {
            Err(format!("the shop received {received} sats on the chain instead of {share}").into())
        }
    }

    pub(crate) fn stop(&self) -> Result<()> {
        self.nodes().into_iter().try_for_each(|node| Ok(node.stop()?))
    }
}

/// Starts a node with a new key in a folder of its own.
fn start(folder: &Path, name: &str, chain: &Chain) -> Result<Arc<Node>> {
    let folder = folder.join(name);
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = SocketAddress::from(listener.local_addr()?);
    let mut builder = Builder::from_config(Config {
        storage_dir_path: folder.display().to_string(),
        network: Network::Regtest,
        listening_addresses: Some(vec![address]),
        ..Config::default()
    });
    builder.set_node_alias(name.to_owned())?;
    builder.set_filesystem_logger(Some(folder.join("log").display().to_string()), Some(LogLevel::Debug));
    chain.connect(&mut builder);
    let node = builder.build()?;
    // The node binds the port that was free a moment ago.
    drop(listener);
    node.start()?;
    Ok(Arc::new(node))
}

/// Reads the chain. A node gives up after 5 seconds, which happens on a busy machine; the caller repeats it.
fn sync(node: &Node) {
    if let Err(error) = node.sync_wallets() {
        eprintln!("interop: a node reads the chain again: {error}");
    }
}

/// Returns the balances of the only channel of a node.
pub(crate) fn balances(node: &Node) -> Result<Balances> {
    let channel = only_channel(node)?;
    let local_reserve = channel.unspendable_punishment_reserve.unwrap_or_default();
    Ok(Balances {
        local_msat: channel.outbound_capacity_msat + local_reserve * 1_000,
        remote_msat: channel.inbound_capacity_msat + channel.counterparty_unspendable_punishment_reserve * 1_000,
    })
}

fn only_channel(node: &Node) -> Result<ChannelDetails> {
    node.list_channels().pop().ok_or_else(|| "the node has no channel".into())
}
