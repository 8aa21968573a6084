//! Connects to a node and finds its publishers.

use cairn_model::{CancelToken, ChainParams, Part};
use cairn_node::{NodeClient, NodeConfig, NodeError, NodeInfo, RetryPolicy, ZmqEndpoint, endpoints};

use super::{NEXT, PATIENCE, PAUSE, TOPICS};
use crate::{FollowError, OpenIndex};

/// A client for a node, and the node's answers to the check. `cancel` ends requests and their retries.
pub fn connect(
    config: &NodeConfig,
    chain: impl Into<ChainParams>,
    cancel: &CancelToken,
) -> Result<(NodeClient, NodeInfo), NodeError> {
    let client = NodeClient::new(config, cancel.clone())?;
    let info = client.check(chain)?;
    log(&client, &info);
    Ok((client, info))
}

/// A client for a node that may be away or still start; true if it can be used now.
///
/// # Errors
/// Fails only if the settings are wrong: the node is another one, or does not let us in.
pub(super) fn try_connect(
    config: &NodeConfig,
    chain: ChainParams,
    cancel: &CancelToken,
) -> Result<(NodeClient, bool), NodeError> {
    let client = NodeClient::new(config, cancel.clone())?;
    match impatient(&client).check(chain) {
        Ok(info) => log(&client, &info),
        Err(error) if error.is_transient() => {
            tracing::warn!(%error, "the node cannot be used yet: what is indexed is served, and the node is asked again every second");
            return Ok((client, false));
        }
        Err(error) => return Err(error),
    }
    Ok((client, true))
}

/// Waits until a node can be used. Until then it is a trouble, whatever it answers.
///
/// # Errors
/// Fails only if the work was cancelled, or if this process is at fault.
pub(super) fn wait_for(client: &NodeClient, chain: ChainParams, index: &mut OpenIndex) -> Result<(), FollowError> {
    let asks = impatient(client);
    loop {
        match asks.check(chain) {
            Ok(info) => {
                index.troubles.clear(Part::Node);
                log(client, &info);
                return Ok(());
            }
            Err(error) if error.is_of_node() => index.troubles.set(Part::Node, &error, NEXT),
            Err(error) => return Err(error.into()),
        }
        if index.cancel_token().wait(PAUSE) {
            return Err(NodeError::Stopped.into());
        }
    }
}

/// The same client without retries, and with a short timeout.
fn impatient(client: &NodeClient) -> NodeClient {
    client.with_retry(RetryPolicy::NONE).with_timeout(PATIENCE[0])
}

fn log(client: &NodeClient, info: &NodeInfo) {
    tracing::info!(
        url = client.url(),
        version = info.network.subversion,
        blocks = info.chain.blocks,
        "connected to the node"
    );
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
