//! Reads the tables that no other pass reads, row by row.

use cairn_reader::View;
use cairn_tables::encode_key;

use super::{
    damage::{Damages, Verified},
    meter::{Meter, place},
    tally::Tallies,
};
use crate::PipelineError;

/// Rows between two steps of progress.
const STEP: u64 = 4096;

/// Reads the rest of the tables and notes their facts.
pub(crate) fn audit(
    view: &View<'_>,
    meter: &mut Meter<'_>,
    tallies: &mut Tallies,
    damages: &mut Damages,
) -> Result<(), PipelineError> {
    macro_rules! read {
        ($($module:ident: $($table:ident),+;)*) => {
            $($(read_table::<cairn_tables::$module::$table>(view, meter, tallies, damages)?;)+)*
        };
    }
    cairn_tables::for_each_table!(read);
    Ok(())
}

/// Tables that another pass has read to their last row.
const READ: [&str; 8] =
    ["headers", "block_log", "prevouts", "coins", "coins_by_script", "history", "totals", "cluster_of"];

fn read_table<T: Verified>(
    view: &View<'_>,
    meter: &mut Meter<'_>,
    tallies: &mut Tallies,
    damages: &mut Damages,
) -> Result<(), PipelineError> {
    // An index that was made before the writer's own tables has no family for them.
    if READ.contains(&T::NAME) || (T::FAMILY.is_writers_own() && !view.has_family(T::FAMILY)) {
        return Ok(());
    }
    meter.begin_table::<T>();
    // A table that cannot be read is mended as a whole, so its first damage says enough.
    let rows = match view.scan::<T>(None) {
        Ok(rows) => rows,
        Err(error) => return damages.take(error, T::NAME, None),
    };
    for (at, row) in (0u64..).zip(rows) {
        match row {
            Ok((key, value)) => {
                T::note(&key, &value, tallies);
                if at.is_multiple_of(STEP) {
                    meter.at(place(&encode_key::<T>(&key)), 1 << 16)?;
                }
            }
            Err(error) => return damages.take(error, T::NAME, None),
        }
    }
    Ok(())
}
