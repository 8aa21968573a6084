//! Observations of the mempool, which cannot be rebuilt from the journal of blocks. No stage owns these tables, no
//! checksum covers them, and rebuilding stages does not change them.
//!
//! ```text
//! mempool          txid (32)                     → the resolved transaction with its first-seen time
//! mempool_samples  'm' ‖ seconds since 1970 (8)  → statistics of the mempool at that time
//! ```
//!
//! Values have the wire format of `cairn-model`: a version, then fields.
//!
//! `mempool` is written with each block and once a minute, so that first-seen times survive a restart; only the writer
//! reads it. `mempool_samples` has the journal's input events of this kind.

use cairn_model::{MempoolSample, MempoolTx, Txid};

use crate::{
    codec::{DecodeError, Input, ValueCodec},
    table::{Compression, Home, Origin, Tuning, table},
};

table! {
    /// The last stored mempool.
    // Rows come and go within the hour: in a family of their own, so that compaction does not move anything else with
    // them. Written blindly and read back as a whole; scripts and coins' hashes repeat a little.
    pub struct KeptMempool("mempool": Txid => MempoolTx)
        in Home::WritersOwn(Tuning { compression: Compression::Lz4, ..Tuning::PLAIN }), from Origin::Observations;
}

table! {
    /// Samples of the mempool's statistics. The key is the sample's time.
    pub struct MempoolSamples("mempool_samples": u64 => MempoolSample) in Home::Shared(b'm'), from Origin::Observations;
}

/// Values have the form in which processes send them.
macro_rules! value_as_sent {
    ($($value:ty),*) => {$(
        impl ValueCodec for $value {
            fn encode(&self, out: &mut Vec<u8>) {
                <$value>::encode(self, out);
            }

            fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
                <$value>::decode(b.take(b.left())?).map_err(|e| b.error(e.0))
            }
        }
    )*};
}

value_as_sent!(MempoolTx, MempoolSample);
