//! Reads the table files themselves. A walk over the rows reads neither filters, which only look-ups use, nor anything
//! else of a file that lies beside its rows.

use cairn_reader::{FileCheck, Reader, TableFile, table_files_in};
use cairn_tables::{Family, TABLES, Table, heights::HeightByHash};

use super::{
    damage::{Damage, Damages, repair_of},
    meter::Meter,
};
use crate::PipelineError;

/// Checks every table file. Damage that the rows have shown already is not reported again.
pub(crate) fn audit(reader: &Reader, meter: &mut Meter<'_>, damages: &mut Damages) -> Result<(), PipelineError> {
    let files = reader.table_files()?;
    let (total, mut done) = (files.iter().map(TableFile::bytes).sum::<u64>(), 0);
    meter.begin_files();
    for file in &files {
        let check = file.check(|bytes| {
            done += bytes;
            meter.at(done, total)
        })?;
        let how = match check {
            FileCheck::Whole => continue,
            FileCheck::Unreadable(error) => return Err(PipelineError::io(file.path())(error)),
            // A compaction of a running writer may have removed it.
            FileCheck::Gone if table_files_in(reader.dir()).is_ok_and(|now| !now.contains(file)) => continue,
            FileCheck::Gone => "it is missing".to_owned(),
            FileCheck::Damaged(how) => how,
        };
        let place = place_of(file.family());
        let repair = repair_of(place);
        let is_of = |place: &str| TABLES.iter().any(|table| table.name == place && table.family == file.family());
        if !damages.listed.iter().any(|damage| is_of(&damage.place)) {
            let what = format!("file {}: {how}", file.name());
            damages.note(Damage { place: place.to_owned(), height: None, what, repair });
        }
    }
    Ok(())
}

/// The table whose repair replaces all files of a family.
fn place_of(family: Family) -> &'static str {
    let own = TABLES.iter().find(|table| table.family == family && table.tag.is_none());
    own.map_or(HeightByHash::NAME, |table| table.name)
}
