//! The node that is followed.

use std::path::PathBuf;

use cairn_follow::TOPICS;
use cairn_node::{NodeAuth, NodeConfig, ZmqEndpoint};
use clap::Args;

use crate::exit::{Exit, Failure};

/// Which node to follow.
#[derive(Args, Clone, Debug)]
pub(crate) struct Node {
    /// The node's RPC interface, as in http://127.0.0.1:8332, without credentials. With block files as well, these come
    /// first.
    #[arg(long, env = "CAIRN_NODE", value_name = "URL")]
    pub(crate) node: Option<String>,
    /// The node's cookie file, .cookie in its data folder. Read again when the node restarts.
    #[arg(long, env = "CAIRN_NODE_COOKIE", value_name = "FILE", conflicts_with = "node_user")]
    pub(crate) node_cookie: Option<PathBuf>,
    /// User for the node's RPC interface, with the password in node_password.
    #[arg(long, env = "CAIRN_NODE_USER", value_name = "USER")]
    pub(crate) node_user: Option<String>,
    /// Password of that user. Better in the environment or the file than on the command line, where others see it.
    #[arg(long, env = "CAIRN_NODE_PASSWORD", value_name = "PASSWORD", hide_env_values = true)]
    pub(crate) node_password: Option<String>,
    /// Addresses at which the node publishes by ZMQ (zmqpubsequence, zmqpubrawtx, zmqpubhashblock, zmqpubrawblock), as
    /// in tcp://127.0.0.1:28332. By default the node is asked for them; without any it is polled each second or two.
    #[arg(long, env = "CAIRN_ZMQ", value_name = "ADDR", value_delimiter = ',')]
    pub(crate) zmq: Vec<String>,
}

impl Node {
    /// How to reach the node; `None` if no node is set.
    ///
    /// # Errors
    /// Credentials are missing.
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
                    .hint("--node-cookie names its cookie file, --node-user its user"));
            }
        };
        Ok(Some(NodeConfig { prefix_len, ..NodeConfig::new(url.clone(), auth) }))
    }

    /// Publishers that are named here, each asked for everything that we want to hear.
    pub(crate) fn endpoints(&self) -> Vec<ZmqEndpoint> {
        let endpoint = |address: &String| ZmqEndpoint { address: address.clone(), topics: TOPICS.to_vec() };
        self.zmq.iter().map(endpoint).collect()
    }
}
