//! `cairn db` and `cairn stages`: read-only inspection of the tables. Both work while another process writes the index.

use std::path::Path;

use cairn_follow::size;
use cairn_reader::{Reader, StageState, TableView, View};
use cairn_tables::{TABLES, TableInfo};

use crate::{
    cli::{DbCommand, DbGet},
    config::IndexDir,
    exit::{Exit, Failure},
    out::{print, table, thousands},
};

/// Opens the index in a data folder for reading.
pub(crate) fn open(datadir: &Path) -> Result<Reader, Failure> {
    Ok(Reader::open(&datadir.join("index"))?)
}

/// Formats a number of rows; marks an estimate with `~`.
fn rows(rows: u64, counted: bool) -> String {
    format!("{}{}", if counted || rows == 0 { "" } else { "~" }, thousands(rows))
}

pub(crate) fn stages(index: &IndexDir) -> Result<Exit, Failure> {
    let reader = open(index.datadir()?)?;
    let view = reader.view()?;
    let mut lines = Vec::new();
    for StageState { stage, checkpoint, .. } in view.stages()?.into_iter().chain(view.late_stages()?) {
        let version = match &checkpoint {
            Some(c) if c.version != stage.version => format!("{} (program: {})", c.version, stage.version),
            _ => stage.version.to_string(),
        };
        let at = match &checkpoint {
            Some(c) => format!("{} {}", c.height, c.hash),
            None => "none (rebuild the stage)".to_owned(),
        };
        let (mut row_count, mut bytes, mut counted) = (0, 0, true);
        for table in stage.tables {
            let size = reader.table_size(table)?;
            row_count += size.rows;
            bytes += size.bytes;
            counted &= size.counted;
        }
        let rows = rows(row_count, counted);
        lines.push(vec![stage.name.to_owned(), version, rows, size(bytes), at]);
    }
    print(&table(&["stage", ">version", ">rows", ">bytes", "checkpoint"], &lines))?;
    Ok(Exit::Done)
}

pub(crate) fn db(command: &DbCommand) -> Result<Exit, Failure> {
    match command {
        DbCommand::Stats(index) => stats(&open(index.datadir()?)?),
        DbCommand::Checksum(index) => checksum(&open(index.datadir()?)?.view()?),
        DbCommand::Get(args) => get(args),
    }
}

fn stats(reader: &Reader) -> Result<Exit, Failure> {
    let (mut lines, mut total) = (Vec::new(), 0);
    for info in &TABLES {
        let found = reader.table_size(info)?;
        total += found.bytes;
        let rows = rows(found.rows, found.counted);
        lines.push(vec![info.name.to_owned(), info.family.name().to_owned(), rows, size(found.bytes)]);
    }
    lines.push(vec!["total".to_owned(), String::new(), String::new(), size(total)]);
    print(&table(&["table", "family", ">rows", ">bytes"], &lines))?;
    Ok(Exit::Done)
}

fn checksum(view: &View<'_>) -> Result<Exit, Failure> {
    let tip = view.tip();
    print(&format!("# {} height {} {}\n", view.network(), tip.height, tip.hash))?;
    // Print line by line: large tables take a long time.
    for info in TableView::summed() {
        let sum = view.tables().checksum(info)?;
        print(&format!(
            "{}  {:<16} {:>14} rows {:>18} bytes\n",
            hex::encode(sum.sha256),
            info.name,
            sum.rows,
            sum.bytes
        ))?;
    }
    Ok(Exit::Done)
}

fn get(args: &DbGet) -> Result<Exit, Failure> {
    let found: Option<&TableInfo> = TABLES.iter().find(|info| info.name == args.table);
    let names = || TABLES.iter().map(|info| info.name).collect::<Vec<_>>().join(", ");
    let hint = || format!("tables: {}", names());
    let info = found.ok_or_else(|| Failure::usage(format!("unknown table {:?}", args.table)).hint(hint()))?;
    let key = hex::decode(&args.key).map_err(|e| Failure::usage(format!("the key is not hex: {e}")))?;
    let reader = open(args.index.datadir()?)?;
    match reader.view()?.tables().row_bytes(info, &key)? {
        Some(value) => {
            print(&format!("{}\n", hex::encode(value)))?;
            Ok(Exit::Done)
        }
        None => Err(Failure::new(Exit::Other, format!("{} has no row {}", info.name, args.key))),
    }
}
