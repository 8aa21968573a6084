//! The command line of the first run.

use clap::Args;

use crate::config::{BlocksDir, Chain, IndexDir, Limits, MempoolMemory, Optional, ReadCache};

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
