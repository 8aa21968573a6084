//! `cairn plan`: the sizing sheet against the files that it is made from.

use std::fs;

use cairn_support::{SmallDisk, World, fails};
use cairn_testkit::skip;
use serde_json::Value;

use crate::CAIRN;

/// The line of a sheet with this name.
fn line(sheet: &Value, name: &str) -> Value {
    let lines = sheet["lines"].as_array().unwrap();
    lines.iter().find(|line| line["name"] == name).unwrap_or_else(|| panic!("{name}: {sheet}")).clone()
}

#[test]
fn a_sheet_counts_the_files_and_names_the_source_of_each_number() {
    let world = World::small(CAIRN, 120);
    let text =
        world.stdout("plan --blocks-dir blocks --datadir data --json --memory 256M --cache 8M --mempool-memory 32M");
    let sheet: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(sheet["network"], "regtest", "the files say it");
    let bytes = fs::metadata(world.path("blocks/blk00000.dat")).unwrap().len();
    assert_eq!(line(&sheet, "block files")["value"], bytes);
    let undo = fs::metadata(world.path("blocks/rev00000.dat")).unwrap().len();
    assert_eq!(line(&sheet, "undo files")["value"], undo);
    let shares = line(&sheet, "disk needed")["value"].as_f64().unwrap() / bytes as f64;
    assert!((0.60..0.62).contains(&shares), "{shares}");
    for (name, source) in [
        ("index", "recorded"),
        ("disk free", "measured"),
        ("memory needed", "configured"),
        ("reading", "measured"),
        ("decoding", "measured"),
        ("first indexing", "computed"),
    ] {
        let line = line(&sheet, name);
        assert!(line["source"] == source && line["value"].is_u64() && line["from"] != "", "{line}");
    }
    assert_eq!(line(&sheet, "memory needed")["value"], 424_u64 << 20, "as `cairn config` says");
    assert_eq!(sheet["findings"][0]["kind"], "small_chain");
    assert!(!world.path("data").exists(), "nothing is written");
    // As a table for people; without a data folder the free space is unknown, with the reason.
    let page = world.stdout("plan --blocks-dir blocks --silent-payments --memory 256M --cache 8M");
    for said in ["network regtest\n", "silent payments", "unknown  unknown", "no data folder is given (--datadir)"] {
        assert!(page.contains(said), "{said}: {page}");
    }
}

#[test]
fn what_cannot_be_planned_is_an_error() {
    let world = World::small(CAIRN, 3);
    fails(world.run("plan"), 2, &["--blocks-dir is missing", "blocks_dir in cairn.toml"]);
    fails(world.run("plan --blocks-dir nowhere"), 3, &["nowhere: no such folder"]);
    fails(world.run("plan --blocks-dir blocks --network main"), 3, &["of regtest, not of main"]);
    let small = world.run("plan --blocks-dir blocks --memory 60T").code(1);
    let page = String::from_utf8(small.get_output().stdout.clone()).unwrap();
    assert!(page.contains("fault   this machine has") || page.contains("fault   the control group"), "{page}");
    assert!(page.contains("           memory = \"1G\"\n"), "{page}");
}

/// Too little disk is said before the first byte is written.
#[test]
fn a_disk_that_is_too_small() {
    let world = World::small(CAIRN, 120);
    let Some(disk) = SmallDisk::mount(&world.path("disk"), 16) else { skip!("no file system can be mounted here") };
    let datadir = disk.path().join("data");
    let refused = world.run(&format!("plan --blocks-dir blocks --datadir {}", datadir.display())).code(6);
    let page = String::from_utf8(refused.get_output().stdout.clone()).unwrap();
    assert!(page.contains("kB free, and the first indexing needs"), "{page}");
    assert!(page.contains("choose a folder on a larger disk with --datadir"), "{page}");
    assert!(!datadir.exists());
}
