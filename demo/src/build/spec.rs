//! Properties of blocks and transactions to build, besides the coins that they spend and the payments.

use bitcoin::absolute::LockTime;
use bitcoin::sighash::EcdsaSighashType;
use bitcoin::{ScriptBuf, Sequence};

/// When a coinbase carries the BIP 141 witness commitment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Commitment {
    /// In every block, as miners do.
    #[default]
    Always,
    /// Only where a transaction has a witness.
    Needed,
}

/// Header and coinbase of a block to mine.
#[derive(Clone, Debug, Default)]
pub struct BlockSpec {
    /// Header time, Unix seconds; must be after the parent's median time past. None: ten minutes after the parent.
    pub time: Option<u32>,
    /// Bytes pushed in the coinbase script after the height: a pool's tag. At most 90.
    pub tag: Vec<u8>,
    /// Payees that share the reward: script and weight. Empty: one output that anyone can spend.
    pub payees: Vec<(ScriptBuf, u64)>,
    /// Scripts of further coinbase outputs of zero value (merged mining commitments and the like).
    pub notes: Vec<ScriptBuf>,
    /// Satoshis of subsidy and fees that the miner fails to claim.
    pub unclaimed: u64,
    /// When to commit to the witnesses.
    pub commitment: Commitment,
}

impl BlockSpec {
    /// A block whose whole reward goes to one script.
    pub fn paying(script: ScriptBuf) -> Self {
        Self { payees: vec![(script, 1)], ..Self::default() }
    }
}

/// Everything about a transaction but its inputs and outputs.
#[derive(Clone, Debug)]
pub struct Style {
    /// Transaction version.
    pub version: i32,
    /// Sequence of every input.
    pub sequence: Sequence,
    /// Lock time; must be below the height of the block (or the sequence final).
    pub lock_time: LockTime,
    /// Signature hash types, used in turn by the inputs; empty means SIGHASH_ALL.
    pub sighash: Vec<EcdsaSighashType>,
}

impl Default for Style {
    fn default() -> Self {
        Self { version: 2, sequence: Sequence::ENABLE_RBF_NO_LOCKTIME, lock_time: LockTime::ZERO, sighash: Vec::new() }
    }
}
