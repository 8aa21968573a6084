//! Samples of the mempool.

use cairn_model::MempoolSample;
use cairn_tables::{Table, mempool::MempoolSamples};

use crate::{ReadError, subjects::LedgerView};

impl LedgerView<'_> {
    /// Samples from `from_unix` to `to_unix` (seconds since 1970, both inclusive), ascending; at most the first `max`.
    /// Reads one row for each, and one more.
    pub fn mempool_samples(self, from_unix: u64, to_unix: u64, max: usize) -> Result<Vec<MempoolSample>, ReadError> {
        let mut samples = Vec::new();
        if max == 0 || from_unix > to_unix {
            return Ok(samples);
        }
        let mut rows = self.view.scan::<MempoolSamples>(Some(&from_unix))?;
        while let Some((key, value)) = rows.next_bytes()? {
            let time = MempoolSamples::decode_key(key)?;
            if time > to_unix {
                break;
            }
            samples.push(self.own_time(time, MempoolSamples::decode_value(value)?)?);
            if samples.len() == max {
                break;
            }
        }
        Ok(samples)
    }

    fn own_time(self, time: u64, sample: MempoolSample) -> Result<MempoolSample, ReadError> {
        if sample.time_unix == time {
            Ok(sample)
        } else {
            Err(self.view.broken("a sample has another time than its key"))
        }
    }
}
