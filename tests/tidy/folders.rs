//! The table of folders in `docs/architecture.md` has each crate with the description of its manifest.
//!
//! `CAIRN_UPDATE_DOCS=1` writes the descriptions into the table.

use std::{collections::BTreeMap, env, fs};

use toml::{Table, Value};

use super::{EXCLUDED, none, root, sources};

const PAGE: &str = "docs/architecture.md";
const HEADER: &str = "| folder | content | see |";

/// The descriptions of the crates by their folders, and the manifests that have none.
fn descriptions(manifests: &[(String, String)]) -> (BTreeMap<String, String>, Vec<String>) {
    let (mut descriptions, mut problems) = (BTreeMap::new(), Vec::new());
    for (path, text) in manifests {
        let Some(folder) = path.strip_suffix("/Cargo.toml").filter(|folder| !EXCLUDED.contains(folder)) else {
            continue;
        };
        let manifest: Table = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        let description = manifest.get("package").and_then(|package| package.get("description"));
        match description.and_then(Value::as_str) {
            Some(text) if !text.contains(['|', '\n']) => _ = descriptions.insert(folder.to_owned(), text.to_owned()),
            Some(_) => problems.push(format!("{path}: the description is not a cell of a table: one line without |")),
            None => problems.push(format!("{path}: no description")),
        }
    }
    (descriptions, problems)
}

/// The folder of a row.
fn folder_of(row: &str) -> &str {
    let folder = row.strip_prefix("| `").and_then(|rest| rest.split_once("/` |"));
    folder.unwrap_or_else(|| panic!("{PAGE}: a row without a folder: {row}")).0
}

/// The page, with the description of each crate in its row; the last cell of a row stays. A crate without a row gets
/// one behind those of the same folder.
fn with_descriptions(page: &str, descriptions: &BTreeMap<String, String>) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let header = lines.iter().position(|line| *line == HEADER).unwrap_or_else(|| panic!("{PAGE}: no line {HEADER}"));
    let begin = header + 2;
    let end = begin + lines[begin..].iter().take_while(|line| line.starts_with('|')).count();
    let row_of = |folder: &str, text: &str, see: &str| format!("| `{folder}/` | {text} |{see}|");
    let mut rows: Vec<String> = Vec::new();
    for row in &lines[begin..end] {
        let (folder, see) = (folder_of(row), row.rsplit('|').nth(1).unwrap_or(" "));
        rows.push(descriptions.get(folder).map_or_else(|| (*row).to_owned(), |text| row_of(folder, text, see)));
    }
    for (folder, text) in descriptions {
        if !rows.iter().any(|row| folder_of(row) == folder) {
            let is_beside = |row: &String| folder_of(row).split('/').next() == folder.split('/').next();
            let at = rows.iter().rposition(is_beside).map_or(rows.len(), |at| at + 1);
            rows.insert(at, row_of(folder, text, " "));
        }
    }
    let rows = rows.iter().map(String::as_str);
    let all = lines[..begin].iter().copied().chain(rows).chain(lines[end..].iter().copied());
    all.flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn the_table_of_folders_has_the_descriptions_of_the_crates() {
    let (descriptions, mut problems) = descriptions(&sources("/Cargo.toml"));
    let path = root().join(PAGE);
    let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{PAGE}: {error}"));
    let wanted = with_descriptions(&page, &descriptions);
    if env::var_os("CAIRN_UPDATE_DOCS").is_some() {
        fs::write(&path, &wanted).unwrap_or_else(|error| panic!("{PAGE}: {error}"));
    } else {
        let missing = wanted.lines().filter(|line| !page.lines().any(|is| is == *line));
        problems.extend(missing.map(|row| format!("{PAGE} lacks the row {row} (CAIRN_UPDATE_DOCS=1 writes it)")));
    }
    none(problems);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_get_the_descriptions_of_their_crates() {
        let page = "text\n| folder | content | see |\n|---|---|---|\n| `a/b/` | Old | [x](y.md) |\n| `docs/` | Pages | |\n\nend\n";
        let descriptions = [("a/b", "New"), ("a/c", "Added"), ("z", "Last")];
        let descriptions = descriptions.map(|(folder, text)| (folder.to_owned(), text.to_owned())).into();
        let rows = "| `a/b/` | New | [x](y.md) |\n| `a/c/` | Added | |\n| `docs/` | Pages | |\n| `z/` | Last | |\n";
        let wanted = format!("text\n| folder | content | see |\n|---|---|---|\n{rows}\nend\n");
        assert_eq!(with_descriptions(page, &descriptions), wanted);
        assert_eq!(with_descriptions(&wanted, &descriptions), wanted);
    }

    #[test]
    fn crates_without_a_description_are_found() {
        let manifest = |path: &str, text: &str| (path.to_owned(), format!("[package]\n{text}\n"));
        let manifests = [
            manifest("a/Cargo.toml", "description = \"A\""),
            manifest("b/Cargo.toml", "name = \"b\""),
            manifest("c/Cargo.toml", "description = \"x|y\""),
            manifest("Cargo.toml", ""),
            manifest("tests/fuzz/guided/Cargo.toml", ""),
        ];
        let (descriptions, problems) = descriptions(&manifests);
        assert_eq!(descriptions, BTreeMap::from([("a".to_owned(), "A".to_owned())]));
        assert!(problems.len() == 2 && problems[0].starts_with("b/") && problems[1].starts_with("c/"), "{problems:?}");
    }
}
