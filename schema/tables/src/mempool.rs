//! What was seen of the mempool: observations, which no journal of blocks can give back. No stage owns these tables, no
//! checksum covers them, and rebuilding stages leaves them alone.
//!
//! ```text
//! mempool          txid (32)                     → the transaction, resolved, with the time when it was first seen
//! mempool_samples  'm' ‖ seconds since 1970 (8)  → the mempool in numbers at that time
//! ```
//!
//! Values have the binary form that `cairn-model` defines for the wire: a version, then fields.
//!
//! `mempool` is written with each block and once a minute, so that a restart keeps first-seen times; only the writer
//! reads it back. `mempool_samples` holds the journal's input events of that kind.

use cairn_model::{MempoolSample, MempoolTx, Txid};

use crate::{
    codec::{DecodeError, Input, KeyCodec, ValueCodec},
    table::{Compression, Home, Origin, Table, Tuning},
};

impl KeyCodec for Txid {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    fn decode(bytes: &mut Input<'_>) -> Result<Self, DecodeError> {
        Ok(Txid(bytes.array()?))
    }
}

/// The mempool as it was last kept.
pub struct KeptMempool;

impl Table for KeptMempool {
    const NAME: &'static str = "mempool";
    // Rows come and go within the hour: in a family of their own, so that compaction does not move anything else with
    // them. Written blindly and read back as a whole; scripts and coins' hashes repeat a little.
    const HOME: Home = Home::WritersOwn(Tuning { compression: Compression::Lz4, ..Tuning::PLAIN });
    const ORIGIN: Origin = Origin::Observations;
    type Key = Txid;
    type Value = MempoolTx;
}

impl ValueCodec for MempoolTx {
    fn encode(&self, out: &mut Vec<u8>) {
        MempoolTx::encode(self, out);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let all = b.take(b.left())?;
        MempoolTx::decode(all).map_err(|e| b.error(e.0))
    }
}

/// The mempool in numbers, now and then. The key is the sample's own time.
pub struct MempoolSamples;

impl Table for MempoolSamples {
    const NAME: &'static str = "mempool_samples";
    const HOME: Home = Home::Shared(b'm');
    const ORIGIN: Origin = Origin::Observations;
    type Key = u64;
    type Value = MempoolSample;
}

impl ValueCodec for MempoolSample {
    fn encode(&self, out: &mut Vec<u8>) {
        MempoolSample::encode(self, out);
    }

    fn decode(b: &mut Input<'_>) -> Result<Self, DecodeError> {
        let all = b.take(b.left())?;
        MempoolSample::decode(all).map_err(|e| b.error(e.0))
    }
}
