//! An index that is asked without a server.

use clap::Args;

use super::{BlocksDir, IndexDir, MempoolMemory, Node, ReadCache};

/// An index of this machine, which is read in this process.
#[derive(Args, Debug)]
pub(crate) struct InProcess {
    /// URL that links in the answers begin with. A server at that URL is not needed.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    pub(crate) base_url: String,
    #[command(flatten)]
    pub(crate) index: IndexDir,
    #[command(flatten)]
    pub(crate) blocks: BlocksDir,
    #[command(flatten)]
    pub(crate) node: Node,
    #[command(flatten)]
    pub(crate) cache: ReadCache,
    #[command(flatten)]
    pub(crate) mempool: MempoolMemory,
}
