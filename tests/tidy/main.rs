//! House rules that no compiler knows: lengths, leftovers, large files, paths of one machine, pinned dependencies,
//! banned calls, numbered decisions, the language, links between documents, the files that these name, and the examples
//! that they show.

mod diffs;
mod folders;
mod language;
mod made_up;
mod named;
mod width;

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use toml::{Table, Value};

/// Lines of a source file outside the tests. Longer ones are split by meaning.
const MAX_FILE_LINES: usize = 600;
/// Lines of code of a file, tests included. A longer one says in its documentation why it is one file.
const MAX_CODE_LINES: usize = 400;
/// How such a line begins.
const REASON: &str = "//! One file on purpose: ";
/// Lines of a function outside the tests.
const MAX_FUNCTION_LINES: usize = 120;
/// Bytes of any file: larger data is generated or lives elsewhere.
const MAX_FILE_BYTES: u64 = 2 << 20;

/// Leftovers of work in source files. They are written in two halves, so that this file does not contain them.
const LEFTOVERS: &[&str] = &[
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("to", "do!("),
    concat!("unimpl", "emented!("),
    concat!("db", "g!("),
];

/// Folders of computations that must not know a clock, chance, files or floating point, and what would give it away.
const PURE: &[&str] = &["schema/model/", "schema/tables/", "indexer/stages/", "schema/domain/"];
const IMPURE_CALLS: &[&str] = &[
    "SystemTime",
    "Instant::now",
    "Timestamp::now",
    "Zoned::now",
    "std::fs",
    "File::open",
    "std::net",
    "rand::",
    "env::var",
];
/// The folders among these with ledgers: amounts are not floats.
const LEDGERS: &[&str] = &["schema/model/", "schema/tables/", "indexer/stages/"];

/// Dependencies that break when they move within what their version number allows, and so are fixed exactly.
const EXACT: &[&str] = &["bitcoin", "bincode", "rocksdb", "bitcoinkernel", "tikv-jemallocator"];

/// Crates outside the workspace: programs for libFuzzer need other flags, and Lightning nodes and wallets have
/// dependencies that nothing that is shipped should share.
const EXCLUDED: &[&str] = &["tests/fuzz/guided", "tests/interop/lightning", "tests/interop/wallets"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every file that is tracked or could be, relative to the root.
fn files() -> Vec<String> {
    let output = Command::new("git")
        // CI may run as another user than the one that cloned.
        .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap_or_else(|error| panic!("git: {error}"));
    assert!(output.status.success(), "git ls-files: {}", String::from_utf8_lossy(&output.stderr));
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    let files: BTreeSet<String> = names.split_terminator('\0').map(str::to_owned).collect();
    assert!(files.contains("Cargo.toml") && files.len() > 30, "git lists {} files", files.len());
    // Deleted but not yet committed files are listed too.
    files.into_iter().filter(|file| root().join(file).is_file()).collect()
}

/// The files whose name ends so, with their text.
fn sources(ending: &str) -> Vec<(String, String)> {
    let files = files().into_iter().filter(|file| file.ends_with(ending));
    files
        .map(|file| {
            let text = fs::read_to_string(root().join(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
            (file, text)
        })
        .collect()
}

fn is_test_code(path: &str) -> bool {
    let of_tests = |folder: &str| path.starts_with(&format!("{folder}/")) || path.contains(&format!("/{folder}/"));
    ["tests", "benches", "fuzz"].into_iter().any(of_tests) || path.ends_with("/tests.rs")
}

/// The part of a file before its test module, without comments.
fn code_of(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().take_while(|(_, line)| !line.starts_with("#[cfg(test)]"));
    lines.map(|(at, line)| (at + 1, line.split("//").next().unwrap_or_default()))
}

/// Functions that are too long, in code as rustfmt lays it out: the last line stands as far in as the `fn`, and is a
/// brace (or ends with a semicolon, where there is no body).
fn long_functions(path: &str, text: &str, limit: usize) -> Vec<String> {
    let mut problems = Vec::new();
    let mut open: Vec<(usize, usize, &str)> = Vec::new();
    for (number, line) in code_of(text) {
        let line = line.trim_end();
        let indent = line.len() - line.trim_start().len();
        if line.is_empty() {
            continue;
        }
        // Functions that are open further in than this line have ended unnoticed.
        open.retain(|(of_fn, ..)| *of_fn <= indent);
        let one_line = line.ends_with(['}', ';']);
        if let Some((before, name)) = line.split_once("fn ")
            && !one_line
            && (before.is_empty() || before.ends_with(' '))
        {
            open.push((indent, number, name.split(['(', '<']).next().unwrap_or_default()));
        } else if one_line && let Some((_, first, name)) = open.pop_if(|(of_fn, ..)| *of_fn == indent) {
            let lines = number + 1 - first;
            if line.ends_with('}') && lines > limit {
                problems.push(format!("{path}:{first}: fn {name} has {lines} lines (limit {limit})"));
            }
        }
    }
    problems
}

/// A file with too much code that gives no reason.
fn long_code(path: &str, text: &str) -> Option<String> {
    let lines = code_of(text).filter(|(_, code)| !code.trim().is_empty()).count();
    let has_reason = text.lines().any(|line| line.strip_prefix(REASON).is_some_and(|reason| !reason.is_empty()));
    let is_long = lines > MAX_CODE_LINES && !has_reason;
    is_long.then(|| format!("{path}: {lines} lines of code (limit {MAX_CODE_LINES}) and no line {REASON:?}"))
}

/// Finds problems of a Rust file.
fn problems_of_source(path: &str, text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    for (at, line) in text.lines().enumerate() {
        for leftover in LEFTOVERS {
            if line.contains(leftover) {
                problems.push(format!("{path}:{}: leftover {leftover}", at + 1));
            }
        }
    }
    problems.extend(long_code(path, text));
    if is_test_code(path) {
        return problems;
    }
    let lines = text.lines().count();
    if lines > MAX_FILE_LINES {
        problems.push(format!("{path}: {lines} lines (limit {MAX_FILE_LINES})"));
    }
    problems.extend(long_functions(path, text, MAX_FUNCTION_LINES));
    let within = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    for (number, code) in code_of(text) {
        for call in IMPURE_CALLS.iter().filter(|call| within(PURE) && code.contains(**call)) {
            problems.push(format!("{path}:{number}: {call} in a pure crate"));
        }
        let is_float = |word: &str| word == "f64" || word == "f32";
        if within(LEDGERS) && code.split(|c: char| !c.is_alphanumeric() && c != '_').any(is_float) {
            problems.push(format!("{path}:{number}: a float in a ledger"));
        }
    }
    problems
}

/// Paths that exist on one machine only: homes, and where this very clone lies.
fn machine_paths(path: &str, text: &str, here: &[String]) -> Vec<String> {
    let homes = [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/"), concat!("C:\\", "Users\\")];
    let mut problems = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let named = homes.iter().copied().chain(here.iter().map(String::as_str));
        for folder in named.filter(|folder| line.contains(folder)) {
            problems.push(format!("{path}:{}: a path of one machine ({folder})", at + 1));
        }
    }
    problems
}

/// Finds problems in the manifest of a member.
fn problems_of_member(path: &str, manifest: &Table) -> Vec<String> {
    let mut problems = Vec::new();
    let inherits = |table: Option<&Value>, key: &str| {
        table.and_then(|t| t.get(key)).and_then(|v| v.get("workspace")).and_then(Value::as_bool) == Some(true)
    };
    if manifest.get("lints").and_then(|l| l.get("workspace")).and_then(Value::as_bool) != Some(true) {
        problems.push(format!("{path}: [lints] workspace = true is missing"));
    }
    for key in ["version", "edition", "rust-version", "license", "publish"] {
        if !inherits(manifest.get("package"), key) {
            problems.push(format!("{path}: {key}.workspace = true is missing"));
        }
    }
    let of_platforms = manifest.get("target").and_then(Value::as_table).into_iter().flat_map(|t| t.values());
    let tables = of_platforms.filter_map(Value::as_table).chain([manifest]);
    for table in tables {
        for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(dependencies) = table.get(kind) else { continue };
            for name in dependencies.as_table().into_iter().flat_map(Table::keys) {
                if !inherits(Some(dependencies), name) {
                    problems.push(format!("{path}: {kind}.{name} does not take its version from the workspace"));
                }
            }
        }
    }
    problems
}

/// Finds problems in the manifest of a crate outside the workspace: it has its own lock, and exact versions, since the
/// workspace's do not bind it.
fn problems_of_excluded(path: &str, manifest: &Table) -> Vec<String> {
    let mut problems = Vec::new();
    let package = manifest.get("package").and_then(Value::as_table).cloned().unwrap_or_default();
    if package.get("publish").and_then(Value::as_bool) != Some(false) {
        problems.push(format!("{path}: publish = false is missing"));
    }
    if package.get("license").and_then(Value::as_str) != Some("MIT OR Apache-2.0") {
        problems.push(format!("{path}: it has another licence than the rest"));
    }
    if !manifest.contains_key("workspace") {
        problems.push(format!("{path}: no [workspace]: cargo would take it for a member"));
    }
    for (name, dependency) in manifest.get("dependencies").and_then(Value::as_table).into_iter().flatten() {
        let version = dependency.as_str().or_else(|| dependency.get("version").and_then(Value::as_str));
        if dependency.get("path").is_none() && !version.is_some_and(|version| version.starts_with('=')) {
            problems.push(format!("{path}: {name}: its version must be exact (=…)"));
        }
    }
    problems
}

/// Finds problems of the versions in the workspace.
fn problems_of_versions(dependencies: &Table) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, dependency) in dependencies {
        if dependency.get("path").is_some() {
            continue;
        }
        let version = dependency.as_str().or_else(|| dependency.get("version").and_then(Value::as_str));
        let version = version.unwrap_or_default();
        if !version.trim_start_matches('=').starts_with(|c: char| c.is_ascii_digit()) || version.contains('*') {
            problems.push(format!("{name}: no plain version ({version:?})"));
        }
        if EXACT.contains(&name.as_str()) && !version.starts_with('=') {
            problems.push(format!("{name}: its version must be exact (=…)"));
        }
        if dependency.get("git").is_some() {
            problems.push(format!("{name}: from git"));
        }
    }
    for name in EXACT.iter().filter(|name| !dependencies.contains_key(**name)) {
        problems.push(format!("{name}: named in this test, but no dependency"));
    }
    problems
}

/// Finds problems of the numbered decisions.
fn problems_of_decisions(files: &[(String, String)]) -> Vec<String> {
    let mut problems = Vec::new();
    for (at, (path, text)) in files.iter().enumerate() {
        let name = path.rsplit('/').next().unwrap_or_default();
        if !name.starts_with(&format!("{at:04}-")) {
            problems.push(format!("{path}: decisions are numbered without gaps; number {at:04} is missing or double"));
        }
        for part in ["# ", "Status: ", "Date: ", "## Context", "## Decision", "## Consequences"] {
            if !text.lines().any(|line| line.starts_with(part)) {
                problems.push(format!("{path}: no line {part:?}"));
            }
        }
    }
    problems
}

/// Links to files in a document that lead nowhere. Links to the web and within the page are not looked at.
fn broken_links(path: &str, text: &str, exists: &dyn Fn(&Path) -> bool) -> Vec<String> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let targets = text.split("](").skip(1).filter_map(|after| after.split([')', '\n']).next());
    targets
        .map(|target| target.split('#').next().unwrap_or_default())
        .filter(|target| !target.is_empty() && !target.contains(':') && !exists(&folder.join(target)))
        .map(|target| format!("{path}: a link to {target}, which is not there"))
        .collect()
}

fn none(problems: Vec<String>) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn sources_are_tidy() {
    none(sources(".rs").iter().flat_map(|(path, text)| problems_of_source(path, text)).collect());
}

#[test]
fn no_large_files() {
    let mut problems = Vec::new();
    for file in files() {
        let bytes = fs::metadata(root().join(&file)).map_or(0, |metadata| metadata.len());
        if bytes > MAX_FILE_BYTES {
            problems.push(format!("{file}: {bytes} bytes (limit {MAX_FILE_BYTES})"));
        }
    }
    none(problems);
}

#[test]
fn no_paths_of_one_machine() {
    let mut here = vec![format!("{}/", root().display())];
    if let Ok(home) = env::var("HOME")
        && Path::new(&home).components().count() > 1
    {
        here.push(format!("{}/", home.trim_end_matches('/')));
    }
    let mut problems = Vec::new();
    for file in files() {
        // Binary files have no lines to look at.
        if let Ok(text) = fs::read_to_string(root().join(&file)) {
            problems.extend(machine_paths(&file, &text, &here));
        }
    }
    none(problems);
}

#[test]
fn manifests_are_tidy() {
    let manifests = sources("Cargo.toml");
    let mut problems = Vec::new();
    let mut workspace = None;
    let mut folders = BTreeSet::new();
    let files = files();
    for (path, text) in &manifests {
        let manifest: Table = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
        if EXCLUDED.iter().any(|folder| path.strip_suffix("/Cargo.toml") == Some(folder)) {
            problems.extend(problems_of_excluded(path, &manifest));
            let lock = path.replace("Cargo.toml", "Cargo.lock");
            if !files.contains(&lock) {
                problems.push(format!("{lock} is not part of the repository"));
            }
        } else {
            problems.extend(problems_of_member(path, &manifest));
        }
        match path.strip_suffix("/Cargo.toml") {
            None => workspace = manifest.get("workspace").cloned(),
            Some(folder) => {
                folders.insert(folder.to_owned());
            }
        }
    }
    let workspace = workspace.unwrap_or_else(|| panic!("no workspace"));
    let list = |key: &str| -> BTreeSet<String> {
        let entries = workspace.get(key).and_then(Value::as_array).into_iter().flatten();
        entries.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    assert_eq!(list("exclude"), EXCLUDED.iter().map(|folder| (*folder).to_owned()).collect());
    let known: BTreeSet<String> = list("members").union(&list("exclude")).cloned().collect();
    for folder in folders.symmetric_difference(&known) {
        problems.push(format!("{folder}: a crate is either a member of the workspace or excluded by name"));
    }
    match workspace.get("dependencies").and_then(Value::as_table) {
        Some(dependencies) => problems.extend(problems_of_versions(dependencies)),
        None => problems.push("Cargo.toml: no [workspace.dependencies]".to_owned()),
    }
    if !files.iter().any(|file| file == "Cargo.lock") {
        problems.push("Cargo.lock is not part of the repository".to_owned());
    }
    none(problems);
}

#[test]
fn decisions_are_numbered() {
    let decisions: Vec<_> = sources(".md").into_iter().filter(|(path, _)| path.starts_with("docs/adr/")).collect();
    assert!(decisions.len() >= 2, "docs/adr/ holds the template and the first decision");
    none(problems_of_decisions(&decisions));
}

/// `cargo fmt` does not see modules that a macro declares, as the registries of tables and stages do.
#[test]
fn every_rust_file_is_formatted() {
    let paths: Vec<String> = sources(".rs").into_iter().map(|(path, _)| path).collect();
    let mut rustfmt = Command::new("rustfmt");
    let output = rustfmt.args(["--edition", "2024", "--check", "-l"]).args(&paths).current_dir(root()).output();
    let output = output.unwrap_or_else(|error| panic!("rustfmt: {error}"));
    let unformatted: BTreeSet<&str> = str::from_utf8(&output.stdout).unwrap_or_default().lines().collect();
    assert!(
        output.status.success() && unformatted.is_empty(),
        "not formatted: {unformatted:#?} {}\nrustfmt --edition 2024 FILE formats them",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn links_between_documents_lead_somewhere() {
    let exists = |path: &Path| root().join(path).exists();
    let documents = sources(".md");
    assert!(documents.iter().any(|(_, text)| text.contains("](docs/operators.md)")), "the README links to the guide");
    none(documents.iter().flat_map(|(path, text)| broken_links(path, text, &exists)).collect());
}

#[test]
fn scripts_parse_and_can_be_run() {
    let mut scripts: Vec<_> = sources(".sh").into_iter().map(|(path, _)| path).collect();
    scripts.push(".ci/run".to_owned());
    for script in scripts {
        let output = Command::new("bash").arg("-n").arg(root().join(&script)).output();
        let output = output.unwrap_or_else(|error| panic!("bash: {error}"));
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = fs::metadata(root().join(&script)).map_or(0, |metadata| metadata.permissions().mode());
            assert!(mode & 0o111 != 0, "{script} is not executable");
        }
    }
}
