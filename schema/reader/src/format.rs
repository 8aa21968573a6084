//! The version of the index's format, read before anything else.

use std::path::Path;

use cairn_tables::{
    Family, Table, encode_key,
    format::{FORMAT, Format, FormatVersion},
};

use crate::{
    Db, ReadError,
    db::{read_only, while_written},
    db_options,
};

/// Checks that this program supports the format of an open database. `None` if it has no row for the format, because it
/// is older than this row, or empty.
pub fn check_format(db: &Db) -> Result<Option<FormatVersion>, ReadError> {
    // Without the family it is an index in the making.
    let Some(family) = db.cf_handle(Format::FAMILY.name()) else { return Ok(None) };
    let Some(bytes) = db.get_pinned_cf(&family, encode_key::<Format>(&()))? else { return Ok(None) };
    match Format::decode_value(&bytes)? {
        FormatVersion(found) if found > FORMAT.0 => Err(ReadError::NewerFormat { found, known: FORMAT.0 }),
        found => Ok(Some(found)),
    }
}

/// The same before the database in `dir` is opened, for a format with other column families: opening the families of
/// this program could fail or change something. A database that cannot be opened at all passes; the later open reports
/// it.
pub fn check_format_in(dir: &Path) -> Result<(), ReadError> {
    let families = Db::list_cf(&db_options(), dir).unwrap_or_default();
    if !families.iter().any(|name| name == Format::FAMILY.name()) {
        return Ok(());
    }
    match while_written(dir, || read_only(dir, &[Family::SHARED], None)) {
        Ok(db) => check_format(&db).map(drop),
        Err(_) => Ok(()),
    }
}
