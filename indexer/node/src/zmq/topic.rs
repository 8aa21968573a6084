//! The topics that a node can publish, and their addresses.

use serde::Serialize;

use crate::answers::ZmqNotification;

cairn_model::words! {
    /// A kind of ZMQ message.
    #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Topic {
        /// Hash of each new tip.
        HashBlock = "hashblock",
        /// Bytes of each new tip.
        RawBlock = "rawblock",
        /// Blocks connected and disconnected, transactions taken into the mempool and removed from it.
        Sequence = "sequence",
        /// Bytes of each transaction that enters the mempool or a block.
        RawTx = "rawtx",
    }
    /// Its name in messages.
    pub fn name, Display;
}

impl Topic {
    /// The topic of this name.
    #[must_use]
    pub fn of_name(name: &[u8]) -> Option<Topic> {
        Topic::ALL.into_iter().find(|topic| topic.name().as_bytes() == name)
    }

    /// Whether it announces every new tip.
    #[must_use]
    pub fn tells_of_tips(self) -> bool {
        self != Topic::RawTx
    }
}

/// Where to subscribe to what. A topic is taken from one endpoint only: each counts its messages on its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ZmqEndpoint {
    /// As in `tcp://127.0.0.1:28332` or `ipc:///run/bitcoind/zmq`.
    pub address: String,
    /// Topics to take from this endpoint.
    pub topics: Vec<Topic>,
}

/// Returns the endpoints at which to subscribe to the wanted topics, from the node's list of what it publishes. Both
/// `rawblock` and `hashblock` may be wanted; a topic that the node does not publish is left out. `node_host` (a name or
/// an IP address, as in the address of its RPC interface) takes the place of wildcard addresses such as `0.0.0.0`.
#[must_use]
pub fn endpoints(published: &[ZmqNotification], wanted: &[Topic], node_host: &str) -> Vec<ZmqEndpoint> {
    let mut found: Vec<ZmqEndpoint> = Vec::new();
    for topic in Topic::ALL.into_iter().filter(|topic| wanted.contains(topic)) {
        let is_it = |n: &&ZmqNotification| n.kind.strip_prefix("pub") == Some(topic.name());
        let Some(address) = published.iter().find(is_it).map(|n| reachable(&n.address, node_host)) else { continue };
        match found.iter_mut().find(|endpoint| endpoint.address == address) {
            Some(endpoint) => endpoint.topics.push(topic),
            None => found.push(ZmqEndpoint { address, topics: vec![topic] }),
        }
    }
    found
}

fn reachable(address: &str, node_host: &str) -> String {
    for wildcard in ["tcp://0.0.0.0:", "tcp://[::]:", "tcp://*:"] {
        if let Some(port) = address.strip_prefix(wildcard) {
            return format!("tcp://{node_host}:{port}");
        }
    }
    address.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_taken_once() {
        let published: Vec<ZmqNotification> = [
            ("pubrawtx", "tcp://127.0.0.1:1"),
            ("pubhashblock", "tcp://0.0.0.0:2"),
            ("pubsequence", "tcp://127.0.0.1:1"),
            ("pubrawtx", "tcp://127.0.0.1:3"),
            ("pubhashtx", "tcp://127.0.0.1:1"),
        ]
        .map(|(kind, address)| ZmqNotification { kind: kind.to_owned(), address: address.to_owned(), hwm: 1000 })
        .into();
        assert_eq!(
            endpoints(&published, &Topic::ALL, "node"),
            [
                ZmqEndpoint { address: "tcp://node:2".to_owned(), topics: vec![Topic::HashBlock] },
                ZmqEndpoint { address: "tcp://127.0.0.1:1".to_owned(), topics: vec![Topic::Sequence, Topic::RawTx] },
            ]
        );
        assert_eq!(endpoints(&published, &[Topic::RawBlock], "node"), []);
    }
}
