//! Connects to a node and finds its publishers.

use cairn_model::{CancelToken, Network};
use cairn_node::{NodeClient, NodeConfig, NodeError, NodeInfo, ZmqEndpoint, endpoints};

use super::TOPICS;

/// A client for a node, and the node's answers to the check. `cancel` ends requests and their retries.
///
/// # Errors
/// The node cannot be followed.
pub fn connect(
    config: &NodeConfig,
    network: Network,
    cancel: &CancelToken,
) -> Result<(NodeClient, NodeInfo), NodeError> {
    let client = NodeClient::new(config, cancel.clone())?;
    let info = client.check(network)?;
    tracing::info!(
        url = client.url(),
        version = info.network.subversion,
        blocks = info.chain.blocks,
        "connected to the node"
    );
    Ok((client, info))
}

/// The publishers that the node reports.
pub(super) fn published(client: &NodeClient) -> Vec<ZmqEndpoint> {
    match client.zmq_notifications() {
        Ok(notifications) => endpoints(&notifications, &TOPICS, &host(client.url())),
        Err(error) => {
            tracing::warn!(%error, "the node does not report its ZMQ addresses");
            Vec::new()
        }
    }
}

/// Name or address in a URL.
fn host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or(rest);
    let host = authority
        .rsplit_once(':')
        .map_or(authority, |(host, port)| if port.bytes().all(|b| b.is_ascii_digit()) { host } else { authority });
    host.to_owned()
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn hosts_of_urls() {
        assert_eq!(host("http://127.0.0.1:8332"), "127.0.0.1");
        assert_eq!(host("http://node.local/"), "node.local");
        assert_eq!(host("http://[::1]:8332/"), "[::1]");
    }
}
