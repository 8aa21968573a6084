//! The command line of the first run.

use std::path::PathBuf;

use clap::Args;

use crate::config::{All, BlocksDir, Chain, IndexDir, Limits, MempoolMemory, Node, Optional, ReadCache};

#[derive(Args, Debug)]
pub(crate) struct Init {
    /// The node's data folder, where its bitcoin.conf and blocks are. Default: the usual folders are looked into,
    /// unless --node names a node.
    #[arg(long, value_name = "DIR")]
    pub(crate) bitcoin_dir: Option<PathBuf>,
    /// The file to write.
    #[arg(long, value_name = "FILE", default_value = "cairn.toml")]
    pub(crate) out: PathBuf,
    /// Replaces the file if it exists.
    #[arg(long, conflicts_with = "print")]
    pub(crate) force: bool,
    /// Prints the settings instead of writing them.
    #[arg(long)]
    pub(crate) print: bool,
    #[command(flatten)]
    pub(crate) chain: Chain,
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) blocks: BlocksDir,
    #[command(flatten)]
    pub(crate) node: Node,
}

#[derive(Args, Debug)]
pub(crate) struct Plan {
    #[command(flatten)]
    pub(crate) chain: Chain,
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) blocks: BlocksDir,
    #[command(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    pub(crate) optional: Optional,
    #[command(flatten)]
    pub(crate) cache: ReadCache,
    #[command(flatten)]
    pub(crate) mempool: MempoolMemory,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct Doctor {
    /// The node's data folder, where its bitcoin.conf is. Default: the folder around node_cookie or blocks_dir that has
    /// one.
    #[arg(long, value_name = "DIR")]
    pub(crate) bitcoin_dir: Option<PathBuf>,
    /// Prints JSON.
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) all: All,
}
