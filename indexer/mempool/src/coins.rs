//! The confirmed coins of our index.

use std::error::Error;

use cairn_model::{Height, Sats, Txid};

/// Why the index could not be read.
pub type CoinsError = Box<dyn Error + Send + Sync>;

/// A confirmed coin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfirmedCoin {
    /// Its value in satoshis.
    pub value: Sats,
    /// Its scriptPubKey.
    pub script: Box<[u8]>,
    /// Height of the block that created it.
    pub height: Height,
}

/// The confirmed and unspent coins of our index at our tip: the tip given to [`crate::MempoolWatcher::step`].
pub trait CoinSource {
    /// The coin of output `vout` of transaction `txid`; `None` if there is none, or it is spent.
    fn coin(&self, txid: &Txid, vout: u32) -> Result<Option<ConfirmedCoin>, CoinsError>;

    /// The same for many, in the order of the request.
    fn coins(&self, outpoints: &[(Txid, u32)]) -> Result<Vec<Option<ConfirmedCoin>>, CoinsError> {
        outpoints.iter().map(|(txid, vout)| self.coin(txid, *vout)).collect()
    }
}
