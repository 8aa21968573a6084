//! The diffs that CONTRIBUTING.md shows as examples are true: what they add is in the files, line for line.

use std::fs;

use super::{none, root};

const PAGE: &str = "CONTRIBUTING.md";

/// Lines that follow each other in a file after the change, with the file.
type Hunk<'d> = (&'d str, Vec<&'d str>);

/// The hunks of all diffs in a document. A block of code may be indented, as a part of a list.
fn hunks(document: &str) -> Vec<Hunk<'_>> {
    let (mut found, mut is_diff, mut file): (Vec<Hunk<'_>>, _, _) = (Vec::new(), false, None);
    let mut indent = 0;
    for line in document.lines() {
        let fence = line.trim_start();
        if fence.starts_with("```") {
            is_diff = fence == "```diff";
            indent = if is_diff { line.len() - fence.len() } else { 0 };
            file = None;
            continue;
        }
        let line = line.get(indent..).unwrap_or_default();
        if !is_diff || line.starts_with('-') {
            // Only the state after the change is looked at.
        } else if let Some(path) = line.strip_prefix("+++ b/") {
            file = Some(path);
            found.push((path, Vec::new()));
        } else if line.starts_with("@@") {
            found.extend(file.map(|path| (path, Vec::new())));
        } else if let (Some((_, lines)), true) = (found.last_mut(), file.is_some()) {
            lines.push(line.strip_prefix(['+', ' ']).unwrap_or(line));
        }
    }
    found.retain(|(_, lines)| !lines.is_empty());
    found
}

/// Hunks whose lines are not in their file.
fn untrue(hunks: &[Hunk<'_>], read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, lines) in hunks {
        let Some(text) = read(path) else {
            problems.push(format!("{PAGE}: a diff of {path}, which does not exist"));
            continue;
        };
        let is: Vec<&str> = text.lines().collect();
        if !is.windows(lines.len()).any(|window| window == lines.as_slice()) {
            problems.push(format!("{PAGE}: {path} does not have these lines:\n{}", lines.join("\n")));
        }
    }
    problems
}

#[test]
fn examples_are_true() {
    let document = fs::read_to_string(root().join(PAGE)).unwrap_or_else(|error| panic!("{PAGE}: {error}"));
    let hunks = hunks(&document);
    assert!(hunks.len() >= 6, "{PAGE} has only {} examples", hunks.len());
    none(untrue(&hunks, &|path| fs::read_to_string(root().join(path)).ok()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrue_examples_are_found() {
        let document = "```diff\n--- /dev/null\n+++ b/a.rs\n@@ -0,0 +1 @@\n+one\n+two\n@@ …\n+four\n```\n+no diff\n\
                        \x20 ```diff\n  +++ b/b.rs\n   old\n  +new\n  +++ b/c.rs\n  +x\n  ```\n";
        let hunks = hunks(document);
        let expected = [("a.rs", vec!["one", "two"]), ("a.rs", vec!["four"]), ("b.rs", vec!["old", "new"])];
        assert_eq!(hunks[..3], expected);
        let read = |path: &str| match path {
            "a.rs" => Some("one\ntwo\nthree\nfour\n".to_owned()),
            "b.rs" => Some("old\n\nnew\n".to_owned()),
            _ => None,
        };
        let problems = untrue(&hunks, &read);
        assert!(problems.len() == 2 && problems[0].contains("b.rs") && problems[1].contains("c.rs"), "{problems:?}");
    }
}
