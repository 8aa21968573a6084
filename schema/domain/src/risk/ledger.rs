//! A narrow view of the rest of the chain for detectors.

use std::rc::Rc;

use cairn_model::{Outpoint, ScriptId, TxNum};

use super::{Facts, Near, Nearby, Party, Tx};

/// The rest of the chain, as far as detectors need it. Look-ups are bounded by the detectors.
pub trait Ledger {
    /// Failure of a look-up.
    type Error;

    /// A transaction; `None` if it has too many parts to be examined.
    fn tx(&self, tx_num: TxNum) -> Result<Option<Rc<Tx>>, Self::Error>;

    /// The outputs that a transaction spends, in the order of its inputs.
    fn outpoints(&self, tx_num: TxNum) -> Result<Vec<Outpoint>, Self::Error>;

    /// The transactions that spend outputs of a transaction: number of the output and spender, ascending.
    fn spenders(&self, tx_num: TxNum) -> Result<Vec<(u32, TxNum)>, Self::Error>;

    /// The clusters of scripts, in their order; `None` while clusters are being computed.
    fn parties(&self, scripts: &[ScriptId]) -> Result<Option<Vec<Party>>, Self::Error>;

    /// The claims near the subject that exposure finds within [`NEAR_LIMITS`](super::NEAR_LIMITS), in both directions.
    fn near(&self, facts: &Facts, nearby: Nearby) -> Result<Near, Self::Error>;
}
