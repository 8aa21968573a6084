//! Which addresses of a descriptor the chain and the mempool know.

use cairn_domain::{mempool::Mempool, script_sha256};
use cairn_reader::{ReadError, View};
use cairn_state::IndexUse;

use crate::descriptor::{DescriptorError, PaymentDescriptor};

/// Indices that are skipped when addresses may have been given out that the database does not know.
pub const SKIPPED_AFTER_RESTORE: u32 = 1_000;
/// Indices that are looked up at most. Further ones are unknown.
const MAX_SCANNED: u32 = 20_000;

/// Why addresses cannot be looked up.
#[derive(Debug, thiserror::Error)]
pub enum ScanError {
    /// The descriptor is of another network.
    #[error(transparent)]
    Descriptor(#[from] DescriptorError),
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}

/// Looks up if an index can be given out.
pub fn use_of(
    view: &View<'_>,
    pool: Option<&Mempool>,
    descriptor: &PaymentDescriptor,
    index: u32,
) -> Result<IndexUse, ScanError> {
    let (script, address) = descriptor.address(index, view.network())?;
    let waits = pool.is_some_and(|pool| pool.script_totals(&script_sha256(&script)).tx_count > 0);
    let is_used = waits || view.scripts().find(&script)?.is_some();
    Ok(if is_used { IndexUse::Used } else { IndexUse::Free { script, address } })
}

/// Returns the index after the last used one, from `from` on: after it, there are [`SKIPPED_AFTER_RESTORE`] indices
/// that nobody has used. `from` if nobody has used one.
pub fn end_of_used(
    view: &View<'_>,
    pool: Option<&Mempool>,
    descriptor: &PaymentDescriptor,
    from: u32,
) -> Result<u32, ScanError> {
    let mut end = from;
    let mut index = from;
    while index < end.saturating_add(SKIPPED_AFTER_RESTORE) && index < from.saturating_add(MAX_SCANNED) {
        if use_of(view, pool, descriptor, index)? == IndexUse::Used {
            end = index + 1;
        }
        index += 1;
    }
    Ok(end)
}

/// Returns the index to go on from after a restore: above every index that may have been given out. `stored` is the
/// next index of the database, `remembered` that of the data folder, and `seen` the index after the last one that the
/// chain knows.
#[must_use]
pub fn index_after_restore(stored: u32, remembered: u32, seen: u32) -> u32 {
    stored.max(remembered).max(seen).saturating_add(SKIPPED_AFTER_RESTORE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_index_is_above_all_that_may_have_been_given_out() {
        assert_eq!(index_after_restore(3, 4, 2), 1_004);
        assert_eq!(index_after_restore(3, 4, 40), 1_040);
    }
}
