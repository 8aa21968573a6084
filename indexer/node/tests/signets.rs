//! Signets share their genesis block: they are distinguished by the challenge that the node reports.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use bitcoin::{constants::genesis_block, hashes::Hash};
use cairn_model::{BlockHash, CancelToken, ChainParams, Height, Network};
use cairn_node::{
    BlockAt, ChainFollower, ChainStep, FetchOptions, NodeAuth, NodeClient, NodeConfig, NodeError, OurChain, OwnerError,
};
use cairn_standin::{Restart, StandIn, StandInOptions};

/// A chain of one block.
struct AtGenesis(bitcoin::BlockHash);

impl OurChain for AtGenesis {
    fn tip(&self) -> Result<Option<BlockAt>, OwnerError> {
        Ok(self.hash_at(0)?.map(|hash| BlockAt { height: 0, hash }))
    }

    fn hash_at(&self, height: Height) -> Result<Option<BlockHash>, OwnerError> {
        Ok((height == 0).then(|| BlockHash(self.0.to_byte_array())))
    }
}

fn client(node: &StandIn) -> NodeClient {
    let auth = NodeAuth::Cookie(node.cookie_file().to_owned());
    NodeClient::new(&NodeConfig::new(node.url(), auth), CancelToken::new()).unwrap()
}

fn signet(challenge: &str) -> ChainParams {
    ChainParams::signet(challenge.parse().unwrap())
}

#[test]
fn signets_are_distinguished_by_their_challenge() {
    let mut node = StandIn::start(StandInOptions::default()).unwrap();
    node.restart(&Restart { network: Some(bitcoin::Network::Signet), ..Restart::default() }).unwrap();
    client(&node).check(Network::Signet).unwrap();
    let said = client(&node).check(signet("51")).unwrap_err().to_string();
    assert!(said.starts_with("the node is on the default signet, with challenge 5121"), "{said}");
    assert!(said.ends_with(", not on the signet with challenge 51"), "{said}");

    node.world().set_signet_challenge("51");
    let checked = client(&node);
    checked.check(signet("51")).unwrap();
    let at_genesis = AtGenesis(genesis_block(bitcoin::Network::Signet).block_hash());
    let genesis = BlockHash(at_genesis.0.to_byte_array());
    let mut follower = ChainFollower::new(checked, FetchOptions::default());
    assert!(matches!(follower.next_step(&at_genesis), Ok(ChainStep::AtTip(tip)) if tip.hash == genesis));
    // Another node takes its place. Signets share their genesis: without the challenge, it seems to reorganize.
    node.world().set_signet_challenge("52");
    let error = follower.next_step(&at_genesis).unwrap_err();
    assert!(matches!(&error, NodeError::WrongSignet { found, .. } if found == "52"), "{error}");
    assert!(error.is_of_node() && !error.is_transient());
    node.world().set_signet_challenge("51");
    assert!(follower.next_step(&at_genesis).is_ok());
}

#[test]
fn a_node_that_does_not_report_its_challenge_is_accepted() {
    let mut node = StandIn::start(StandInOptions { version: 270_000, ..StandInOptions::default() }).unwrap();
    node.restart(&Restart { network: Some(bitcoin::Network::Signet), ..Restart::default() }).unwrap();
    client(&node).check(signet("51")).unwrap();
}
