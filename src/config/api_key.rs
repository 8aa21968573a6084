//! The key of this program as a client.

use clap::Args;

/// The key for a server.
#[derive(Args, Clone, Debug)]
pub(crate) struct ApiKey {
    /// Key for the server at --url, which gets it as X-WR-API-Key. Set it in the environment or in cairn.toml: other
    /// users can see the command line.
    #[arg(long, env = "CAIRN_API_KEY", value_name = "KEY", hide_env_values = true)]
    pub(crate) api_key: Option<String>,
}
