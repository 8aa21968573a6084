//! Whole blocks from the node, for tweaks of silent payments.

use cairn_model::BlockHash;
use cairn_node::NodeClient;
use cairn_pipeline::WholeBlocks;

/// A node that gives whole blocks.
pub(super) struct NodeBlocks(pub(super) NodeClient);

impl WholeBlocks for NodeBlocks {
    fn block(&self, hash: &BlockHash) -> Result<Option<Vec<u8>>, String> {
        self.0.raw_block(hash).map_err(|error| error.to_string())
    }
}
