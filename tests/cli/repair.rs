//! Damage, what `verify` says about it, and the command that it prints.

use std::{
    fs,
    path::{Path, PathBuf},
};

use cairn_reader::{TableFile, table_files_in};
use cairn_support::{World, fails};

use crate::CAIRN;

/// The largest file of a table.
pub(crate) fn file_of(index: &Path, table: &str) -> PathBuf {
    let files = table_files_in(index).unwrap();
    let file = files.iter().filter(|file| file.table() == table).max_by_key(|file| TableFile::bytes(file));
    file.unwrap_or_else(|| panic!("{table}: {files:?}")).path().to_owned()
}

/// Flips a bit of a row.
pub(crate) fn damage(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    let at = bytes.len() / 4;
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

/// Every file in a folder and below.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

fn copy(from: &Path, to: &Path) {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// The output of `verify` about a damaged index, and the command in it, without the program's name.
#[track_caller]
fn verdict(world: &World, datadir: &str) -> (String, String) {
    let assert = world.run(&format!("verify --datadir {datadir}")).code(7);
    let text = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    let command =
        text.split("then run: cairn ").nth(1).unwrap_or_else(|| panic!("no command: {text}")).trim().to_owned();
    (text, command)
}

#[test]
fn the_printed_command_mends_what_verify_finds() {
    let world = World::small(CAIRN, 110);
    world.index();
    world.run("verify --datadir data").success();
    assert_eq!(world.stdout("repair --datadir data"), "nothing is damaged\n");
    let expected = world.stdout("db checksum --datadir data");
    for (table, says, done) in [
        ("spenders", "stage spends is rebuilt from the journal", "stage spends: rebuilt"),
        ("coins", "stage coins is rebuilt from the journal", "stage coins: rebuilt"),
        ("totals", "stage scripts is rebuilt from the journal", "stage scripts: rebuilt"),
        ("history", "stage scripts is rebuilt from the journal", "stage scripts: rebuilt"),
        ("tx_nums", "its rows are made again from the journal", "table tx_nums: made again"),
        ("block_log", "the blocks are read again from the block files or the node", "journal: "),
        ("prevouts", "the blocks are read again from the block files or the node", "journal: "),
    ] {
        copy(&world.path("data/index"), &world.path("hurt/index"));
        damage(&file_of(&world.path("hurt/index"), table));
        let (text, command) = verdict(&world, "hurt");
        assert!(text.contains(table) && text.contains(says), "{table}: {text}");
        assert_eq!(command, "repair --datadir hurt");
        let repaired = world.stdout(&command);
        assert!(repaired.contains(done) && repaired.ends_with("the index is whole\n"), "{table}: {repaired}");
        world.run("verify --datadir hurt").success();
        assert_eq!(world.stdout("db checksum --datadir hurt"), expected, "{table}");
        assert!(!world.path("hurt/repair").exists() && !world.path("hurt/bulk").exists(), "{table}");
    }
}

/// With a missing or cut file an index does not open for writing: each command says which file, and what to do.
#[test]
fn missing_files_are_named_by_what_writes() {
    let world = World::small(CAIRN, 110);
    world.index();
    let expected = world.stdout("db checksum --datadir data");
    for cut in [None, Some(100)] {
        copy(&world.path("data/index"), &world.path("hurt/index"));
        let file = file_of(&world.path("hurt/index"), "spenders");
        match cut {
            None => fs::remove_file(&file).unwrap(),
            Some(bytes) => fs::write(&file, &fs::read(&file).unwrap()[..bytes]).unwrap(),
        }
        let name = file.file_name().unwrap().to_str().unwrap();
        let wrong = if cut.is_none() { "is missing" } else { "has 100 bytes instead of" };
        let names = format!("table file {name} of table spenders {wrong}");
        for line in [
            "reindex --datadir hurt --stage all",
            "unwind --datadir hurt --to 3",
            "index --network regtest --datadir hurt --blocks-dir blocks --once",
            "serve --datadir hurt --listen 127.0.0.1:0",
            "stages --datadir hurt",
        ] {
            fails(world.run(line), 5, &[&names, "hint: ", "`cairn repair`"]);
        }
        let (text, command) = verdict(&world, "hurt");
        assert!(text.contains("spenders") && text.contains("stage spends is rebuilt"), "{text}");
        world.run(&command).success();
        world.run("verify --datadir hurt").success();
        assert_eq!(world.stdout("db checksum --datadir hurt"), expected);
    }
}

/// Events that no chain gives back survive the loss of the list of files: the printed command brings everything back.
#[test]
fn input_events_survive_a_damaged_list_of_files() {
    let world = World::small(CAIRN, 60);
    world.index();
    fs::write(world.path("a.csv"), "date,close\n2015-01-01,200\n2015-01-02,210\n").unwrap();
    world.run("prices import --datadir data --licence cc0-1.0 --pair BTC/USD --source one a.csv").success();
    let events = "events list --datadir data --json --limit 100";
    let (listed, sums) = (world.stdout(events), world.stdout("db checksum --datadir data"));
    assert_eq!(listed.lines().count(), 1, "{listed}");
    for (round, name) in ["CURRENT", "MANIFEST-"].into_iter().enumerate() {
        let found = files_below(&world.path("data/index")).into_iter();
        let hurt = found.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with(name));
        hurt.for_each(|path| fs::write(path, "").unwrap());
        let (_, command) = verdict(&world, "data");
        assert_eq!(command, "repair --datadir data", "it runs as it is printed");
        let repaired = world.stdout(&command);
        let aside = if round == 0 { "data/index.damaged" } else { "data/index.damaged.2" };
        assert!(repaired.contains(aside) && world.path(aside).exists(), "{name}: {repaired}");
        assert!(repaired.ends_with("the index is whole\n"), "{name}: {repaired}");
        assert_eq!(world.stdout(events), listed, "{name}");
        assert_eq!(world.stdout("db checksum --datadir data"), sums, "{name}");
    }
    // Without the archive, too, nothing is changed before the operator says so.
    let file = files_below(&world.path("data/ledger")).into_iter().find(|path| path.extension().is_some()).unwrap();
    fs::remove_file(file).unwrap();
    fs::write(world.path("data/index/CURRENT"), "").unwrap();
    fails(world.run("repair --datadir data"), 5, &["would lose input events", "2 quotes from one", "--without-events"]);
    let repaired = world.stdout("repair --datadir data --without-events");
    assert!(repaired.contains("lost: document") && repaired.contains("2 quotes from one"), "{repaired}");
    assert_eq!(world.stdout(events), "");
    world.run("verify --datadir data").success();
}

#[test]
fn a_damaged_archive_is_found_and_written_again() {
    let world = World::small(CAIRN, 30);
    world.index();
    fs::write(world.path("a.csv"), "date,close\n2015-01-01,200\n2015-01-02,210\n").unwrap();
    world.run("prices import --datadir data --licence cc0-1.0 --pair BTC/USD --source one a.csv").success();
    for path in files_below(&world.path("data/ledger")).into_iter().filter(|path| !path.ends_with("facts")) {
        let whole = fs::read(&path).unwrap();
        damage(&path);
        let (text, command) = verdict(&world, "data");
        assert!(text.contains("archive of the ledger"), "{text}");
        world.run(&command).success();
        world.run("verify --datadir data").success();
        assert!(fs::read(&path).unwrap() == whole, "{}", path.display());
    }
}
