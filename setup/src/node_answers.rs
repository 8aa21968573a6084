//! Asks a node about its state.

use std::{net::TcpStream, time::Duration};

use cairn_model::{CancelToken, ChainParams};
use cairn_node::{NodeClient, NodeConfig, NodeError, NodeInfo, RetryPolicy, ZmqNotification};
use cairn_sources::{BlockFiles, decode_block};

/// Time for one answer. A node that works answers these calls within milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Time for a connection to a publisher.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes at the start of the first block file that have its first two blocks on every network.
const FIRST_BLOCKS_BYTES: u64 = 1 << 10;

/// The state of a node that can be used.
#[derive(Clone, Debug)]
pub(crate) struct NodeAnswers {
    /// Version, peers and chain.
    pub(crate) info: NodeInfo,
    /// True if it offers blocks by REST; `None` if that is unknown.
    pub(crate) offers_rest: Option<bool>,
    /// Its ZMQ publishers; `None` if it does not report them.
    pub(crate) publishers: Option<Vec<ZmqNotification>>,
    /// Publishers that this machine cannot connect to.
    pub(crate) unreachable_publishers: Vec<String>,
    /// True if the node knows the second block of the block files, false if these are of another node; `None` if that
    /// is unknown.
    pub(crate) knows_files: Option<bool>,
}

/// Asks the node; each request is sent once and waits for at most 5 seconds.
pub(crate) fn ask(
    config: &NodeConfig,
    chain: ChainParams,
    files: Option<&BlockFiles>,
) -> Result<NodeAnswers, NodeError> {
    let config = NodeConfig { timeout: TIMEOUT, retry: RetryPolicy::NONE, ..config.clone() };
    let client = NodeClient::new(&config, CancelToken::new())?;
    let info = client.check(chain)?;
    let publishers = client.zmq_notifications().ok();
    let host = host(client.url());
    let mut unreachable: Vec<String> = Vec::new();
    for publisher in publishers.iter().flatten() {
        if !unreachable.contains(&publisher.address) && !can_connect(&publisher.address, host) {
            unreachable.push(publisher.address.clone());
        }
    }
    Ok(NodeAnswers {
        offers_rest: client.offers_rest().ok(),
        publishers,
        unreachable_publishers: unreachable,
        knows_files: files.and_then(|files| knows(&client, files)),
        info,
    })
}

/// Name or address in a URL.
pub(crate) fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

/// The port after a wildcard address of a publisher.
pub(crate) fn wildcard_port(address: &str) -> Option<&str> {
    ["tcp://0.0.0.0:", "tcp://[::]:", "tcp://*:"].into_iter().find_map(|wildcard| address.strip_prefix(wildcard))
}

/// False if nobody accepts connections at the address of a publisher. Addresses that are not of TCP are not tried.
fn can_connect(address: &str, node_host: &str) -> bool {
    use std::net::ToSocketAddrs;
    let target = match wildcard_port(address) {
        Some(port) => format!("{node_host}:{port}"),
        None => match address.strip_prefix("tcp://") {
            Some(target) => target.to_owned(),
            None => return true,
        },
    };
    let Ok(mut addresses) = target.to_socket_addrs() else { return false };
    addresses.any(|address| TcpStream::connect_timeout(&address, CONNECT_TIMEOUT).is_ok())
}

/// Asks the node for the second block of the first file: the first one is the same for all nodes of a network.
fn knows(client: &NodeClient, files: &BlockFiles) -> Option<bool> {
    let mut hashes = Vec::new();
    let first = files.block_numbers().ok()?.first().copied()?;
    let note = &mut |block: &[u8]| hashes.extend(decode_block(block, 8).ok().map(|decoded| decoded.hash));
    files.sample(first, FIRST_BLOCKS_BYTES, note).ok()?;
    let second = *hashes.get(1)?;
    client.block_headers(&[second]).ok()?.first().map(Option::is_some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_wildcards() {
        assert_eq!(host("http://127.0.0.1:8332"), "127.0.0.1");
        assert_eq!(host("http://node.local/"), "node.local");
        assert_eq!(host("[::1]"), "[::1]");
        assert_eq!(wildcard_port("tcp://*:28332"), Some("28332"));
        assert_eq!(wildcard_port("tcp://127.0.0.1:28332"), None);
    }
}
