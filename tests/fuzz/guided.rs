//! The folder of libFuzzer's programs has one for every target that needs no index, and nothing else.

use std::{collections::BTreeSet, fs, path::Path};

use crate::targets::parsers::TARGETS;

#[test]
fn libfuzzer_has_a_program_for_every_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/guided");
    let manifest: toml::Table = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
    let programs = manifest["bin"].as_array().unwrap();
    let mut found = BTreeSet::new();
    for program in programs {
        let name = program["name"].as_str().unwrap();
        let text = fs::read_to_string(folder.join(program["path"].as_str().unwrap())).unwrap();
        assert!(text.contains(&format!("run({name:?}, bytes)")), "{name} runs another target: {text}");
        found.insert(name);
    }
    assert_eq!(found, TARGETS.iter().map(|(name, _)| *name).collect());
    assert_eq!(found.len(), programs.len());
}
