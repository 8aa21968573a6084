//! An index in many files.

use std::{fs, path::Path};

use cairn_tables::{Family, Table, block_log::BlockLog, headers::Headers};
use cairn_writer::{SstWriter, Writer};

/// Table files in a folder.
pub(crate) fn count(index: &Path) -> usize {
    let entries = fs::read_dir(index).unwrap().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|ext| ext == "sst")).count()
}

/// Copies a folder of files.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten().filter(|entry| entry.path().is_file()) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Writes headers and block log of the index in `datadir` again, one row a file.
pub(crate) fn spread(datadir: &Path) {
    let writer = Writer::open(&datadir.join("index")).unwrap();
    spread_table::<Headers>(&writer, datadir);
    spread_table::<BlockLog>(&writer, datadir);
    writer.flush().unwrap();
}

fn spread_table<T: Table>(writer: &Writer, datadir: &Path) {
    let family: Family = T::FAMILY;
    let mut rows = Vec::new();
    writer.rows::<T>(|key, value| rows.push((key.to_vec(), value.to_vec()))).unwrap();
    let folder = datadir.join("spread");
    fs::create_dir_all(&folder).unwrap();
    let files = rows.iter().enumerate().map(|(at, (key, value))| {
        let mut file = SstWriter::create(family, folder.join(format!("{at}.sst"))).unwrap();
        file.put(key, value).unwrap();
        file.finish().unwrap()
    });
    let files = files.collect();
    writer.make_anew(family).unwrap();
    writer.ingest(family, files).unwrap();
}
