//! The Bitcoin node.

use std::path::PathBuf;

use cairn_follow::TOPICS;
use cairn_node::{NodeAuth, NodeConfig, ZmqEndpoint};
use clap::Args;

use crate::exit::{Exit, Failure};

/// Which node to follow.
#[derive(Args, Clone, Debug)]
pub(crate) struct Node {
    /// URL of the node's RPC interface without credentials, for example http://127.0.0.1:8332. If block files are given
    /// too, they are indexed first.
    #[arg(long, env = "CAIRN_NODE", value_name = "URL")]
    pub(crate) node: Option<String>,
    /// The node's cookie file: .cookie in its data folder. It is read again when the node restarts.
    #[arg(long, env = "CAIRN_NODE_COOKIE", value_name = "FILE", conflicts_with = "node_user")]
    pub(crate) node_cookie: Option<PathBuf>,
    /// User of the node's RPC interface. Needs node_password.
    #[arg(long, env = "CAIRN_NODE_USER", value_name = "USER")]
    pub(crate) node_user: Option<String>,
    /// Password of node_user. Set it in the environment or in cairn.toml: other users can see the command line.
    #[arg(long, env = "CAIRN_NODE_PASSWORD", value_name = "PASSWORD", hide_env_values = true)]
    pub(crate) node_password: Option<String>,
    /// ZMQ addresses of the node (zmqpubsequence, zmqpubrawtx, zmqpubhashblock, zmqpubrawblock), for example
    /// tcp://127.0.0.1:28332. Default: the addresses that the node reports. A node without ZMQ is polled every one to
    /// two seconds.
    #[arg(long, env = "CAIRN_ZMQ", value_name = "ADDR", value_delimiter = ',')]
    pub(crate) zmq: Vec<String>,
}

impl Node {
    /// How to reach the node; `None` if no node is set.
    pub(crate) fn config(&self, prefix_len: usize) -> Result<Option<NodeConfig>, Failure> {
        let Some(url) = &self.node else { return Ok(None) };
        let auth = match (&self.node_cookie, &self.node_user, &self.node_password) {
            (Some(cookie), _, _) => NodeAuth::Cookie(cookie.clone()),
            (None, Some(user), Some(password)) => {
                NodeAuth::UserPassword { user: user.clone(), password: password.clone() }
            }
            (None, Some(_), None) => {
                return Err(Failure::new(Exit::Usage, "node_user needs a password")
                    .hint("set CAIRN_NODE_PASSWORD, or node_password in cairn.toml"));
            }
            (None, None, _) => {
                return Err(Failure::new(Exit::Usage, "the node needs credentials")
                    .hint("give its cookie file with --node-cookie, or its user with --node-user"));
            }
        };
        Ok(Some(NodeConfig { prefix_len, ..NodeConfig::new(url.clone(), auth) }))
    }

    /// The configured ZMQ publishers, each with all topics that the follower uses.
    pub(crate) fn endpoints(&self) -> Vec<ZmqEndpoint> {
        let endpoint = |address: &String| ZmqEndpoint { address: address.clone(), topics: TOPICS.to_vec() };
        self.zmq.iter().map(endpoint).collect()
    }
}
