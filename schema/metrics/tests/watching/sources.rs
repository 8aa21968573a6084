//! The code counts what is in the list, and takes the names from it.

use std::{fs, path::Path};

use crate::{read, root};

/// Code before the tests of all files below a folder, without the folders of tests.
fn code(folder: &Path, into: &mut String) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let (path, name) = (entry.path(), entry.file_name());
        if path.is_dir() && name != "tests" {
            code(&path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") && name != "tests.rs" {
            let text = fs::read_to_string(&path).unwrap();
            into.push_str(text.split("#[cfg(test)]").next().unwrap());
        }
    }
}

#[test]
fn the_code_takes_each_name_from_the_list() {
    let mut all = String::new();
    for folder in ["src", "anchoring", "indexer", "query-api", "schema/reader", "schema/link"] {
        code(&root().join(folder), &mut all);
    }
    let list = read("schema/metrics/src/list.rs");
    let entries = list.lines().filter_map(|line| line.trim().split_once(" = ").filter(|_| line.contains("\"cairn_")));
    let mut listed = 0;
    for (id, rest) in entries {
        listed += 1;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut uses = all
            .match_indices(id)
            .filter(|(at, _)| !all[..*at].ends_with(is_word) && !all[at + id.len()..].starts_with(is_word));
        // Once in the `use`, once where it counts.
        assert!(uses.nth(1).is_some(), "nothing counts {id}");
        let name = rest.split('"').nth(1).unwrap();
        assert!(!all.contains(&format!("\"{name}\"")), "{name} is written by hand");
    }
    assert_eq!(listed, cairn_metrics::all().count());
}
