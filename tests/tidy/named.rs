//! Documents name only files, folders, types and sections that exist, and `docs/architecture.md` has all dependencies
//! of every crate.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path, PathBuf},
};

use toml::{Table, Value};

use super::{EXCLUDED, files, none, sources};

/// Endings of names of files that a document may give without their folder.
const SOURCE_ENDINGS: &[&str] = &[".rs", ".py", ".sh", ".mjs"];

/// Documents about the code: it has the types that they name.
const ABOUT_CODE: &[&str] =
    &["CONTRIBUTING.md", "docs/architecture.md", "docs/vocabulary.md", "docs/walkthroughs.md", "tests/README.md"];

/// Documents that speak of the tree as it is. Decisions and the changelog speak of their date.
fn is_about_the_tree(path: &str) -> bool {
    path != "CHANGELOG.md" && !path.starts_with("docs/adr/")
}

/// The texts in backquotes of a document, outside blocks of code, with their lines.
fn quoted(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut is_code, mut paragraph) = (Vec::new(), false, None);
    let mut at = 0;
    let mut take = |from: Option<usize>, to: usize| {
        let Some(from) = from else { return };
        let mut begin = from;
        let parts: Vec<&str> = text[from..to].split('`').collect();
        for (index, part) in parts.iter().copied().enumerate() {
            // One without an end is a sign of its own.
            if index % 2 == 1 && index + 1 < parts.len() {
                found.push((text[..begin].matches('\n').count() + 1, part));
            }
            begin += part.len() + 1;
        }
    };
    for line in text.split_inclusive('\n') {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        if is_code || is_fence || line.trim().is_empty() {
            take(paragraph.take(), at);
        } else {
            paragraph.get_or_insert(at);
        }
        at += line.len();
    }
    take(paragraph, at);
    found
}

/// All files of the tree and their folders.
struct Tree(BTreeSet<String>);

impl Tree {
    fn new(files: impl IntoIterator<Item = String>) -> Self {
        let mut all = BTreeSet::new();
        for file in files {
            let folders = Path::new(&file).ancestors().skip(1).filter_map(Path::to_str).filter(|path| !path.is_empty());
            all.extend(folders.map(str::to_owned));
            all.insert(file);
        }
        Tree(all)
    }

    /// A file or folder that a text in backquotes names and that does not exist.
    fn lacks<'q>(&self, quoted: &'q str) -> Option<&'q str> {
        if quoted.contains(char::is_whitespace) {
            return None;
        }
        // A path with a placeholder names the folder before it.
        let placeholder = quoted.find(['<', '*', '{', '$', '…']);
        let path = match placeholder {
            Some(at) => quoted[..at].rsplit_once('/')?.0,
            None => quoted.trim_end_matches('/'),
        };
        let first = path.split('/').next().unwrap_or_default();
        if quoted.contains('/') && self.0.contains(first) {
            return (!self.0.contains(path)).then_some(path);
        }
        let is_source = SOURCE_ENDINGS.iter().any(|ending| path.ends_with(ending)) && !path.starts_with(['/', '.']);
        let end = format!("/{path}");
        (is_source && !self.0.iter().any(|file| file == path || file.ends_with(&end))).then_some(path)
    }
}

/// The parts of the name of a type, or of an item in one (`View::labels`); none for other texts.
fn parts_of_type(quoted: &str) -> Vec<&str> {
    let parts: Vec<&str> = quoted.trim_end_matches("()").split("::").collect();
    let is_word = |part: &&str| part.chars().all(|c| c.is_alphanumeric() || c == '_') && !part.is_empty();
    let is_type = |part: &&str| part.starts_with(char::is_uppercase) && part.contains(char::is_lowercase);
    if parts.iter().all(is_word) && parts.iter().any(is_type) { parts } else { Vec::new() }
}

/// The words of Rust code, without its comments.
fn words_of_code(code: &str) -> impl Iterator<Item = &str> {
    let lines = code.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
}

/// The anchor of a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

fn anchors(text: &str) -> BTreeSet<String> {
    text.lines().filter(|line| line.starts_with('#')).map(|line| anchor(line.trim_start_matches('#'))).collect()
}

/// A path without `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Links of a document to sections that do not exist.
fn broken_anchors(path: &str, text: &str, documents: &BTreeMap<String, String>) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|after| after.split([')', '\n']).next());
    let mut problems = Vec::new();
    for (file, section) in targets.filter(|target| !target.contains(':')).filter_map(|target| target.split_once('#')) {
        let target = if file.is_empty() { PathBuf::from(path) } else { plain(&Path::new(path).with_file_name(file)) };
        let Some(text) = target.to_str().and_then(|target| documents.get(target)) else { continue };
        if !anchors(text).contains(section) {
            problems.push(format!(
                "{path}: a link to the section {section:?} of {}, which does not exist",
                target.display()
            ));
        }
    }
    problems
}

/// The names in backquotes of a cell.
fn names(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Compares the table of dependencies in the page with those of the manifests, by the names of crates without `cairn-`.
fn problems_of_arrows(page: &str, manifests: &BTreeMap<String, BTreeSet<String>>) -> Vec<String> {
    let rows = page.lines().skip_while(|line| !line.starts_with("| crate | depends on")).skip(2);
    let mut drawn = BTreeMap::new();
    for row in rows.take_while(|line| line.starts_with('|')) {
        let mut cells = row.split('|').skip(1);
        let (crates, on) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        drawn.extend(names(crates).into_iter().map(|of| (of, names(on))));
    }
    let all: BTreeSet<&String> = drawn.keys().chain(manifests.keys()).collect();
    let differ = all.into_iter().filter(|of| drawn.get(*of) != manifests.get(*of));
    differ
        .map(|of| format!("docs/architecture.md: {of} depends on {:?}, not {:?}", manifests.get(of), drawn.get(of)))
        .collect()
}

/// The crates of ours that a manifest depends on, without those of tests only.
fn depends_on(manifest: &Table) -> BTreeSet<String> {
    let platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(Table::values);
    let tables = platforms.filter_map(Value::as_table).chain([manifest]);
    let dependencies = tables.filter_map(|table| table.get("dependencies").and_then(Value::as_table));
    dependencies.flat_map(Table::keys).filter_map(|name| name.strip_prefix("cairn-")).map(str::to_owned).collect()
}

#[test]
fn documents_name_files_that_exist() {
    let tree = Tree::new(files());
    let mut problems = Vec::new();
    let mut checked = 0;
    for (path, text) in sources(".md").into_iter().filter(|(path, _)| is_about_the_tree(path)) {
        for (line, quoted) in quoted(&text) {
            checked += 1;
            problems.extend(tree.lacks(quoted).map(|named| format!("{path}:{line}: {named} does not exist")));
        }
    }
    assert!(checked > 500, "only {checked} texts in backquotes were found");
    none(problems);
}

#[test]
fn documents_name_types_that_exist() {
    let code = sources(".rs");
    let words: BTreeSet<&str> = code.iter().flat_map(|(_, text)| words_of_code(text)).collect();
    let (mut problems, mut checked) = (Vec::new(), 0);
    for (path, text) in sources(".md").into_iter().filter(|(path, _)| ABOUT_CODE.contains(&path.as_str())) {
        for (line, quoted) in quoted(&text) {
            let parts = parts_of_type(quoted);
            checked += usize::from(!parts.is_empty());
            if parts.iter().any(|part| !words.contains(part)) {
                problems.push(format!("{path}:{line}: {quoted} is not in the code"));
            }
        }
    }
    assert!(checked > 80, "only {checked} types were found");
    none(problems);
}

#[test]
fn links_to_sections_lead_somewhere() {
    let documents: BTreeMap<String, String> = sources(".md").into_iter().collect();
    none(documents.iter().flat_map(|(path, text)| broken_anchors(path, text, &documents)).collect());
}

#[test]
fn the_architecture_has_every_dependency() {
    let documents: BTreeMap<String, String> = sources(".md").into_iter().collect();
    let (page, tests) = (&documents["docs/architecture.md"], &documents["tests/README.md"]);
    let mut problems = Vec::new();
    let mut manifests = BTreeMap::new();
    for (path, text) in sources("/Cargo.toml") {
        if EXCLUDED.contains(&path.trim_end_matches("/Cargo.toml")) {
            continue;
        }
        let manifest: Table = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        let name = manifest.get("package").and_then(|of| of.get("name")).and_then(Value::as_str).unwrap_or_default();
        manifests.insert(name.trim_start_matches("cairn-").to_owned(), depends_on(&manifest));
    }
    problems.extend(problems_of_arrows(page, &manifests));
    let programs =
        files().into_iter().filter_map(|path| Some(path.strip_prefix("tests/")?.split('/').next()?.to_owned()));
    for program in programs.collect::<BTreeSet<_>>() {
        if !program.ends_with(".md") && !tests.contains(&format!("tests/{program}")) {
            problems.push(format!("tests/README.md: tests/{program} is missing"));
        }
    }
    none(problems);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_do_not_exist_are_found() {
        let tree = Tree::new(["src/a/b.rs", "docs/c.md", "x.toml"].map(str::to_owned));
        for quoted in ["src/b.rs", "docs/", "a/c.rs", "c.rs", "src/no/<name>.rs", "docs/d.md", "src/no/…/b.rs"] {
            let exists = quoted == "docs/";
            assert_eq!(tree.lacks(quoted).is_none(), exists, "{quoted}");
        }
        for quoted in
            ["src/a/b.rs", "a/b.rs", "b.rs", "src/a/", "src/a/<name>.rs", "/v1/a.rs", "a b.rs", "index/CURRENT"]
        {
            assert_eq!(tree.lacks(quoted), None);
        }
    }

    #[test]
    fn names_of_types_are_found() {
        assert_eq!(parts_of_type("View::labels"), ["View", "labels"]);
        assert_eq!(parts_of_type("IndexSlot::with()"), ["IndexSlot", "with"]);
        for quoted in ["label_due", "CAIRN_SEED=1", "Content-Length", "a B", "BIP", "Vec<Row>"] {
            assert_eq!(parts_of_type(quoted), [""; 0], "{quoted}");
        }
        let words: Vec<&str> = words_of_code("fn a_b() {} // not here\n").filter(|word| !word.is_empty()).collect();
        assert_eq!(words, ["fn", "a_b"]);
    }

    #[test]
    fn texts_in_backquotes_are_found() {
        let text = "a `b` and `c\nd`\n\n```sh\n`no`\n```\nlast ` one\n\n`e`\n";
        assert_eq!(quoted(text), [(1, "b"), (1, "c\nd"), (9, "e")]);
    }

    #[test]
    fn sections_that_do_not_exist_are_found() {
        assert_eq!(anchor(" The `a`: one, two"), "the-a-one-two");
        let documents = [("docs/a.md", "# One two\n"), ("README.md", "## Here\n")];
        let documents = documents.map(|(path, text)| (path.to_owned(), text.to_owned())).into();
        let text =
            "[a](../README.md#here) [b](#one-two) [c](a.md#three) [d](../README.md#gone) [e](https://x.example/#f)";
        let found = broken_anchors("docs/a.md", text, &documents);
        assert!(found.len() == 2 && found[0].contains("three") && found[1].contains("gone"), "{found:?}");
    }

    #[test]
    fn wrong_arrows_are_found() {
        let page = "| crate | depends on |\n|---|---|\n| `a` | – |\n| `b` (tests) | `a` |\n\ntext\n";
        let on = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<String>>();
        let mut manifests = BTreeMap::from([("a".to_owned(), on(&[])), ("b".to_owned(), on(&["a"]))]);
        assert_eq!(problems_of_arrows(page, &manifests), [""; 0]);
        manifests.insert("a".to_owned(), on(&["c"]));
        manifests.insert("c".to_owned(), on(&[]));
        assert_eq!(problems_of_arrows(page, &manifests).len(), 2);
        let manifest: Table = "[dependencies]\ncairn-x = \"1\"\ny = \"1\"\n[target.z.dependencies]\ncairn-w = \"1\"\n\
                               [dev-dependencies]\ncairn-v = \"1\"\n"
            .parse()
            .unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(depends_on(&manifest), on(&["w", "x"]));
    }
}
