//! Every command that a message, a help text or a document names exists, with the flags that it is named with. Those
//! that a message prints whole run as printed: tests/cli/repair.rs and tests/cli/damaged_blocks.rs run what `cairn
//! verify` prints.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use cairn_testkit::workspace_root;

use crate::CAIRN;

/// Where texts for clients and operators are.
const PLACES: [&str; 9] = ["src", "indexer", "schema", "snapshots", "query-api", "demo", "docs", "deploy", "README.md"];

fn files(path: &Path, all: &mut Vec<PathBuf>) {
    if path.is_dir() {
        let skipped = path.file_name().is_some_and(|name| name == "tests" || name == "target" || name == "adr");
        let entries = if skipped { None } else { Some(fs::read_dir(path).unwrap()) };
        entries.into_iter().flatten().for_each(|entry| files(&entry.unwrap().path(), all));
    } else if path.extension().is_some_and(|kind| ["rs", "md", "toml", "service", "json"].iter().any(|k| kind == *k)) {
        all.push(path.to_owned());
    }
}

/// The commands in a text: between backquotes, and lines of shell.
fn commands(text: &str) -> impl Iterator<Item = String> + '_ {
    let quoted = text.split("`cairn ").skip(1).filter_map(|rest| rest.split_once('`').map(|(command, _)| command));
    let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("cairn "));
    let lines = lines.map(|line| line.split([';', '|', '#', '>', '&']).next().unwrap_or_default());
    quoted.chain(lines).map(|command| command.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn is_name(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-') && !word.starts_with('-')
}

#[test]
fn every_command_that_a_text_names_exists() {
    let mut all = Vec::new();
    PLACES.iter().for_each(|place| files(&workspace_root().join(place), &mut all));
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &all {
        let text = fs::read_to_string(file).unwrap();
        for command in commands(&text) {
            named.entry(command).or_default().insert(file.display().to_string());
        }
    }
    assert!(named.len() > 60, "{}", named.len());
    let mut helps: BTreeMap<Vec<String>, Option<String>> = BTreeMap::new();
    let mut help = |words: &[&str]| {
        let key: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let ask = || {
            let output = CAIRN.command().args(words).arg("--help").output().unwrap();
            output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
        };
        helps.entry(key).or_insert_with(ask).clone()
    };
    let mut wrong = Vec::new();
    named.remove("help");
    for (command, places) in &named {
        let words: Vec<&str> = command.split(' ').collect();
        // A command has at most three words, and what follows may be an argument.
        let names: Vec<&str> = words.iter().copied().take(3).take_while(|word| is_name(word)).collect();
        let found = (1..=names.len()).rev().find_map(|count| help(&names[..count]));
        let Some(text) = found else {
            // A sentence that begins with the program's name is not a command.
            if names.len().min(2) == words.len().min(2) && !names.is_empty() {
                wrong.push(format!("{command}: no such command; {places:?}"));
            }
            continue;
        };
        // Behind the name of an operation stand its own flags.
        let mut operations = words.iter().skip(1).filter(|word| names.first() == Some(&"ask") && is_name(word));
        let text = text + &operations.find_map(|word| help(&["ask", word])).unwrap_or_default();
        for flag in words.iter().filter(|word| word.starts_with("--") && word.len() > 2) {
            let flag = flag.split(['=', ',', '.', ')', ']', '|']).next().unwrap_or_default();
            if !text.contains(flag) {
                wrong.push(format!("{command}: no {flag}; {places:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
