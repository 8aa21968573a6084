//! Checks that a node can be used.

use cairn_model::{Height, Network};

use crate::{
    answers::{ChainInfo, NetworkInfo},
    client::NodeClient,
    error::NodeError,
};

/// Oldest supported version, as in `getnetworkinfo`.
const OLDEST: u32 = 250_000;
/// Newer major versions than this one are used, with a warning.
const NEWEST_MAJOR: u32 = 31;

/// The node's answers to the check.
#[derive(Clone, PartialEq, Debug)]
pub struct NodeInfo {
    /// Its version and peers.
    pub network: NetworkInfo,
    /// Its chain.
    pub chain: ChainInfo,
}

impl NodeInfo {
    /// Major version, as in 30.
    #[must_use]
    pub fn major_version(&self) -> u32 {
        self.network.version / 10_000
    }

    /// True if this version is newer than the tested ones.
    #[must_use]
    pub fn is_newer_than_known(&self) -> bool {
        self.major_version() > NEWEST_MAJOR
    }
}

/// Name of a network in Bitcoin Core's `getblockchaininfo`.
#[must_use]
pub fn core_name(network: Network) -> &'static str {
    match network {
        Network::Main => "main",
        Network::Testnet3 => "test",
        Network::Testnet4 => "testnet4",
        Network::Signet => "signet",
        Network::Regtest => "regtest",
    }
}

impl ChainInfo {
    /// True if the node is in its initial download. Always false on regtest, where blocks may be old on purpose.
    #[must_use]
    pub fn is_catching_up(&self) -> bool {
        self.initial_download && self.chain != core_name(Network::Regtest)
    }

    /// Fails if the node has deleted the block at this height.
    pub fn needs_block(&self, height: Height) -> Result<(), NodeError> {
        match self.prune_height {
            Some(lowest) if self.pruned && height < lowest => {
                Err(NodeError::Pruned { needed: height.to_string(), lowest: Some(lowest) })
            }
            _ => Ok(()),
        }
    }
}

impl NodeClient {
    /// Checks the node, and fails with a clear error if it cannot be used: not Bitcoin Core, wrong credentials, still
    /// starting, too old, on another network. A version newer than the tested ones gives a warning.
    pub fn check(&self, network: Network) -> Result<NodeInfo, NodeError> {
        let info = NodeInfo { network: self.network_info()?, chain: self.chain_info()? };
        if info.network.version < OLDEST {
            return Err(NodeError::TooOld { version: info.network.version });
        }
        if info.chain.chain != core_name(network) {
            return Err(NodeError::WrongNetwork { expected: network, found: info.chain.chain });
        }
        if info.is_newer_than_known() {
            tracing::warn!(
                version = info.network.subversion,
                "the node is newer than the supported versions (25 to {NEWEST_MAJOR})"
            );
        }
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pruned_blocks_are_missed_only_below_the_lowest() {
        let text = r#"{"chain":"main","blocks":900,"headers":900,"pruned":true,"pruneheight":700,"initialblockdownload":true,
            "bestblockhash":"00000000000000000000000000000000000000000000000000000000000000ff"}"#;
        let info: ChainInfo = serde_json::from_str(text).unwrap();
        assert!(info.needs_block(700).is_ok() && info.is_catching_up());
        let error = info.needs_block(699).unwrap_err();
        assert_eq!(error.to_string(), "the node is pruned: block 699 is needed, its lowest block is 700");
    }
}
