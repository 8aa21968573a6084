//! Checks that a node can be used.

use cairn_model::{ChainParams, Height, Network};

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

    /// Fails if the node is on another network or another signet. A node that does not report its challenge, as those
    /// before v28, passes as any signet.
    pub fn is_on(&self, chain: ChainParams) -> Result<(), NodeError> {
        if self.chain != core_name(chain.network()) {
            return Err(NodeError::WrongNetwork { expected: chain.network(), found: self.chain.clone() });
        }
        self.is_on_signet_of(chain)
    }

    /// Fails if both are signets with different challenges.
    pub(crate) fn is_on_signet_of(&self, chain: ChainParams) -> Result<(), NodeError> {
        match (chain.challenge_hex(), &self.signet_challenge) {
            (Some(expected), Some(found)) if !found.eq_ignore_ascii_case(expected) => {
                Err(NodeError::WrongSignet { expected: chain, found: found.clone() })
            }
            _ => Ok(()),
        }
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
    /// starting, too old, on another network or another signet. A version newer than the tested ones gives a warning.
    pub fn check(&self, chain: impl Into<ChainParams>) -> Result<NodeInfo, NodeError> {
        let chain = chain.into();
        let info = NodeInfo { network: self.network_info()?, chain: self.chain_info()? };
        if info.network.version < OLDEST {
            return Err(NodeError::TooOld { version: info.network.version });
        }
        info.chain.is_on(chain)?;
        *self.shared.checked.lock() = Some(chain);
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
    fn a_node_of_another_signet_is_refused() {
        let info = |challenge: Option<&str>| -> ChainInfo {
            let more = challenge.map(|hex| format!(r#","signet_challenge":"{hex}""#)).unwrap_or_default();
            let hash = format!("{:064x}", 1);
            serde_json::from_str(&format!(
                r#"{{"chain":"signet","blocks":0,"headers":0,"bestblockhash":"{hash}"{more}}}"#
            ))
            .unwrap()
        };
        let signet = |hex: &str| ChainParams::signet(hex.parse().unwrap());
        let default = ChainParams::from(Network::Signet);
        let of_default = default.challenge_hex().unwrap();
        for (node, expected) in [
            (None, default),
            (None, signet("51")),
            (Some(of_default), default),
            (Some("51"), signet("51")),
            (Some("ab"), signet("AB")),
        ] {
            info(node).is_on(expected).unwrap();
        }
        let refused = |node: &str, expected| info(Some(node)).is_on(expected).unwrap_err().to_string();
        assert_eq!(
            refused("52", signet("51")),
            "the node is on the signet with challenge 52, not on the signet with challenge 51"
        );
        assert_eq!(
            refused(of_default, signet("51")),
            format!(
                "the node is on the default signet, with challenge {of_default}, not on the signet with challenge 51"
            )
        );
        assert!(refused("51", default).ends_with(&format!("not on the default signet, with challenge {of_default}")));
        assert!(refused(&"51".repeat(10_000), default).len() < 600);
        assert!(matches!(info(None).is_on(Network::Regtest.into()), Err(NodeError::WrongNetwork { .. })));
    }

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
