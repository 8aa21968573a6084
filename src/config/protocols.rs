//! Other protocols over the same index, each on a listener of its own.

use std::net::SocketAddr;

use clap::Args;

use super::listener;

/// Other protocols.
#[derive(Args, Clone, Default, Debug)]
pub(crate) struct Protocols {
    /// Address and port at which the HTTP API of Esplora is served, at the root and below /api. Default: not served.
    #[arg(long, env = "CAIRN_ESPLORA", value_name = "ADDR:PORT", value_parser = listener::address)]
    pub(crate) esplora: Option<SocketAddr>,
}
