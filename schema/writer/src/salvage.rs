//! Reads the readable rows of a damaged family.

use cairn_tables::Family;
use rocksdb::ReadOptions;

use crate::{WriteError, Writer};

/// Bytes of a key by which damaged places are passed over.
const WIDTH: usize = 16;

/// The start of a key as a number.
fn number(key: &[u8]) -> u128 {
    let mut head = [0; WIDTH];
    let length = key.len().min(WIDTH);
    head[..length].copy_from_slice(&key[..length]);
    u128::from_be_bytes(head)
}

impl Writer {
    /// Passes every row of a family that can be read to `row`, in ascending order of keys, and gives the number of
    /// damaged places that were passed over. Rows between two damaged places close to each other may be passed over
    /// with them.
    ///
    /// # Errors
    /// Fails if `row` fails, or the database fails in another way than by damage.
    pub fn salvage<E: From<WriteError>>(
        &self,
        family: Family,
        mut row: impl FnMut(&[u8], &[u8]) -> Result<(), E>,
    ) -> Result<u64, E> {
        let handle = self.handle(family)?;
        let options = || {
            let mut options = ReadOptions::default();
            options.set_total_order_seek(true);
            options.fill_cache(false);
            options
        };
        let mut rows = self.db().raw_iterator_cf_opt(&handle, options());
        rows.seek_to_first();
        // One past the start of the last key that was seen.
        let (mut after, mut places) = (0u128, 0);
        loop {
            while let Some((key, value)) = rows.item() {
                row(key, value)?;
                after = number(key).saturating_add(1);
                rows.next();
            }
            let Err(error) = rows.status() else { return Ok(places) };
            let error = WriteError::from(error);
            if !error.is_damage() {
                return Err(error.into());
            }
            places += 1;
            // An iterator that has failed stays so.
            let mut readable = |from: u128| {
                rows = self.db().raw_iterator_cf_opt(&handle, options());
                rows.seek(from.to_be_bytes());
                rows.status().is_ok()
            };
            // The nearest key behind the damage: first by doubling steps, then by halving the last one.
            let Some(step) = (0..128).find(|step| after.checked_add(1 << step).is_some_and(&mut readable)) else {
                return Ok(places);
            };
            let (mut low, mut high) = (if step == 0 { after } else { after + (1 << (step - 1)) }, after + (1 << step));
            while high - low > 1 {
                let middle = low + (high - low) / 2;
                if readable(middle) { high = middle } else { low = middle }
            }
            after = high;
            readable(high);
        }
    }
}
