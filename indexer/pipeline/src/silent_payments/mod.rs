//! Tweaks of silent payments, made only if the operator asks for them: a multiplication on the curve for each
//! transaction that pays to taproot costs more processor time than the rest of the index.
//!
//! `make` computes those of some blocks at a time from whole blocks, in a thread of its own, concurrently with new
//! blocks. `follow` writes them, and takes back the rows of blocks that are gone.

pub(crate) mod follow;
mod make;

use std::sync::Arc;

use cairn_model::{BlockHash, Height, Network};
use parking_lot::Mutex;

use self::make::NewTweaks;
pub(crate) use self::make::make_again;
use crate::background::Background;

/// Gives whole blocks, where no block files have them.
pub trait WholeBlocks: Send + Sync {
    /// The bytes of a block; `None` if it is not there, for example since it was pruned.
    ///
    /// # Errors
    /// Says in words why it cannot be asked for.
    fn block(&self, hash: &BlockHash) -> Result<Option<Vec<u8>>, String>;
}

/// State of an engine that makes tweaks, if it does.
#[derive(Default)]
pub(crate) struct TweakMaking {
    /// True if the operator asks for them.
    pub(crate) is_on: bool,
    pub(crate) whole_blocks: Mutex<Option<Arc<dyn WholeBlocks>>>,
    pub(crate) thread: Background<NewTweaks>,
}

/// The first block whose transactions can have tweaks: on mainnet the one from which taproot's rules hold (BIP 341).
pub(crate) fn first_block(network: Network) -> Height {
    if network == Network::Main { 709_632 } else { 0 }
}
