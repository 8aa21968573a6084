//! The arrows between the files of a crate: none is part of a circle. One exception: a `mod.rs` and the files beside it
//! may refer to each other, but not in the query API. The root of a crate counts as no folder, since everything in a
//! small crate lies there.
//!
//! An arrow is a path that a file names, in `use` or in its code. Where the path leads through a re-export, the arrow
//! goes to the file that defines the name. Methods are not followed, nor what macros make.

mod source;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs,
    path::Path,
};

use toml::Table;

use crate::source::Source;

/// Where a `mod.rs` and the files beside it must not refer to each other either.
const STRICT: &str = "query-api/";

/// The path of a module within its crate.
type Module = Vec<String>;

/// The files of a crate by their modules; for each its path below `src`, and what it says.
type Files = BTreeMap<Module, (String, Source)>;

/// The module that a file is; `None` for tests.
fn module_of(path: &str) -> Option<Module> {
    let mut names: Module = path.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if names.iter().any(|name| name == "tests") {
        return None;
    }
    let last = names.last().map(String::as_str);
    if last == Some("mod") || names.len() == 1 && matches!(last, Some("lib" | "main")) {
        names.pop();
    }
    Some(names)
}

fn read_files(files: impl IntoIterator<Item = (String, String)>) -> Files {
    let file = |(path, text): (String, String)| Some((module_of(&path)?, (path, Source::read(&text))));
    files.into_iter().filter_map(file).collect()
}

/// Where a path starts that `module` names, and what is left of it; `None` if it leads out of the crate.
fn start(files: &Files, module: &[String], path: &[String]) -> Option<(Module, Vec<String>)> {
    let (first, rest) = path.split_first()?;
    let child: Module = module.iter().chain([first]).cloned().collect();
    match first.as_str() {
        "crate" => Some((Module::new(), rest.to_vec())),
        "self" => Some((module.to_vec(), rest.to_vec())),
        "super" => {
            let ups = path.iter().take_while(|name| *name == "super").count();
            Some((module[..module.len().saturating_sub(ups)].to_vec(), path[ups..].to_vec()))
        }
        _ => files.contains_key(&child).then(|| (child, rest.to_vec())),
    }
}

/// The module that defines what a path names, through at most `left` re-exports; `None` if that is another crate.
fn defines(files: &Files, mut module: Module, mut path: Vec<String>, left: usize) -> Option<Module> {
    while let Some(name) = path.first().filter(|name| *name != "*") {
        let child: Module = module.iter().chain([name]).cloned().collect();
        if files.contains_key(&child) {
            module = child;
            path.remove(0);
            continue;
        }
        let uses = files.get(&module).into_iter().flat_map(|(_, source)| &source.uses);
        return match uses.into_iter().find(|found| found.name == *name) {
            Some(found) if left > 0 => {
                let (next, mut rest) = start(files, &module, &found.path)?;
                rest.extend_from_slice(&path[1..]);
                defines(files, next, rest, left - 1)
            }
            _ => Some(module),
        };
    }
    Some(module)
}

/// The arrows: for each module those that it names.
fn arrows(files: &Files) -> BTreeMap<&Module, BTreeSet<&Module>> {
    const MAX_REEXPORTS: usize = 8;
    let mut arrows: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
    for (module, (_, source)) in files {
        // A path in the code may begin with a name that a `use` brings in.
        let through_use = |path: &Vec<String>| {
            let found = source.uses.iter().find(|found| found.name == path[0])?;
            Some(found.path.iter().chain(&path[1..]).cloned().collect::<Vec<_>>())
        };
        let in_code = source.paths.iter().map(|path| through_use(path).unwrap_or_else(|| path.clone()));
        let named = source.uses.iter().map(|found| found.path.clone()).chain(in_code);
        let to = named
            .filter_map(|path| start(files, module, &path))
            .filter_map(|(from, rest)| defines(files, from, rest, MAX_REEXPORTS))
            .filter_map(|to| files.get_key_value(&to).map(|(to, _)| to));
        arrows.insert(module, to.filter(|to| *to != module).collect());
    }
    arrows
}

/// A shortest way along the arrows, with both ends.
fn way<'f>(
    arrows: &BTreeMap<&'f Module, BTreeSet<&'f Module>>,
    from: &'f Module,
    to: &'f Module,
) -> Option<Vec<&'f Module>> {
    let mut came_from = BTreeMap::from([(from, from)]);
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        if at == to {
            let mut way = vec![at];
            while let Some(&last) = way.last().filter(|last| **last != from) {
                way.push(came_from[last]);
            }
            way.reverse();
            return Some(way);
        }
        for &next in arrows.get(at).into_iter().flatten() {
            came_from.entry(next).or_insert_with(|| {
                queue.push_back(next);
                at
            });
        }
    }
    None
}

/// Every arrow that must not be part of a circle and is, with the way back. `strict`: without the exception for a
/// `mod.rs` and the files beside it.
fn circles(files: &Files, strict: bool) -> Vec<String> {
    let all = arrows(files);
    let path = |module: &Module| files[module].0.as_str();
    let folder = |module: &Module| path(module).rsplit_once('/').map(|(folder, _)| folder);
    let is_beside = |from: &Module, to: &Module| folder(from).is_some() && folder(from) == folder(to);
    // An arrow to the `mod.rs` beside a file does not count in circles within the folder.
    let is_excepted = |from: &Module, to: &Module| !strict && is_beside(from, to) && path(to).ends_with("/mod.rs");
    let within: BTreeMap<&Module, BTreeSet<&Module>> = all
        .iter()
        .map(|(&from, targets)| (from, targets.iter().copied().filter(|to| !is_excepted(from, to)).collect()))
        .collect();
    let mut found = Vec::new();
    for (&from, targets) in &within {
        for &to in targets {
            let arrows = if is_beside(from, to) { &within } else { &all };
            if let Some(back) = way(arrows, to, from) {
                let circle: Vec<&str> = [from].into_iter().chain(back).map(path).collect();
                found.push(circle.join(" -> "));
            }
        }
    }
    found
}

/// Every Rust file below a folder, relative to it, with its text.
fn files_below(root: &Path, folder: &Path, into: &mut Vec<(String, String)>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display())).path();
        if path.is_dir() {
            files_below(root, &path, into);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let below = path.strip_prefix(root).unwrap_or(&path);
            into.push((below.display().to_string().replace('\\', "/"), text));
        }
    }
}

#[test]
fn no_files_refer_to_each_other_but_a_mod_and_those_beside_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap_or_else(|error| panic!("Cargo.toml: {error}"));
    let manifest: Table = manifest.parse().unwrap_or_else(|error| panic!("Cargo.toml: {error}"));
    let members = manifest["workspace"]["members"].as_array().into_iter().flatten();
    let members: Vec<&str> = members.filter_map(|member| member.as_str()).chain(["."]).collect();
    assert!(members.iter().any(|member| member.starts_with(STRICT)), "no crate under {STRICT}");
    let mut found = Vec::new();
    let mut count = 0;
    for member in members {
        let src = root.join(member).join("src");
        let mut texts = Vec::new();
        files_below(&src, &src, &mut texts);
        let files = read_files(texts);
        assert!(files.contains_key(&Module::new()), "{member} has neither lib.rs nor main.rs");
        count += arrows(&files).values().map(BTreeSet::len).sum::<usize>();
        found.extend(
            circles(&files, member.starts_with(STRICT)).into_iter().map(|circle| format!("{member}: {circle}")),
        );
    }
    // Else the paths are not read any more.
    assert!(count > 500, "only {count} arrows in all crates");
    assert!(found.is_empty(), "move what both need to a file below them:\n{}", found.join("\n"));
}

/// The search can fail: it finds the circles of made-up crates, and only those.
mod made_up {
    use super::*;

    fn found(files: &[(&str, &str)], strict: bool) -> Vec<String> {
        circles(&read_files(files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))), strict)
    }

    #[test]
    fn a_good_crate_passes() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; pub use a::A; pub use c::d::D;"),
            ("a.rs", "use crate::b::B; pub struct A(B);"),
            // The root only passes the name on; a test does not count as an arrow.
            ("b.rs", "use crate::D; pub struct B(D); #[cfg(test)] mod tests { use crate::A; }"),
            // A `mod.rs` and the files beside it may refer to each other.
            ("c/mod.rs", "pub mod d; mod e; pub struct C; use e::E;"),
            ("c/d.rs", "use super::{C, e::E}; pub struct D(C, E);"),
            ("c/e.rs", "pub struct E; fn f(_: super::C) { std::process::exit(1) }"),
            ("c/tests.rs", "use crate::a::A;"),
        ];
        assert_eq!(found(&files, false), Vec::<String>::new());
    }

    #[test]
    fn circles_are_found_through_uses_paths_and_re_exports() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c; mod d; pub use crate::c::C;"),
            ("a.rs", "use crate::b; pub struct A; fn f() { b::g() }"),
            ("b.rs", "pub fn g() { crate::d::h() }"),
            ("c.rs", "pub struct C; impl super::a::A {}"),
            ("d.rs", "use crate::C as Named; pub fn h(_: Named) {}"),
        ];
        let around = ["a.rs -> b.rs -> d.rs -> c.rs -> a.rs", "b.rs -> d.rs -> c.rs -> a.rs -> b.rs"];
        let again = ["c.rs -> a.rs -> b.rs -> d.rs -> c.rs", "d.rs -> c.rs -> a.rs -> b.rs -> d.rs"];
        assert_eq!(found(&files, false), [around, again].concat());
    }

    #[test]
    fn files_of_one_folder_make_circles_too() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; mod c; pub use b::B; pub struct A;"),
            ("a/b.rs", "use super::c::C; pub struct B; pub struct D(C);"),
            // Through the `mod.rs`, which only passes the name on.
            ("a/c.rs", "use super::B; pub struct C(B, super::A);"),
        ];
        let circle = ["a/b.rs -> a/c.rs -> a/b.rs", "a/c.rs -> a/b.rs -> a/c.rs"];
        assert_eq!(found(&files, false), circle);
    }

    #[test]
    fn a_folder_ends_where_another_begins() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; mod c; use b::B; use c::C; pub struct A;"),
            ("a/b/mod.rs", "use super::super::a::A; pub struct B(A);"),
            ("a/c.rs", "use super::A; pub struct C(A);"),
        ];
        let beyond = ["a/mod.rs -> a/b/mod.rs -> a/mod.rs", "a/b/mod.rs -> a/mod.rs -> a/b/mod.rs"];
        assert_eq!(found(&files, false), beyond);
        assert_eq!(found(&files, true).len(), 4);
    }

    #[test]
    fn what_the_root_defines_belongs_to_the_root() {
        let files =
            [("lib.rs", "mod a; pub use a::A; pub const LIMIT: u8 = 1;"), ("a.rs", "pub struct A; use crate::LIMIT;")];
        assert_eq!(found(&files, false), ["lib.rs -> a.rs -> lib.rs", "a.rs -> lib.rs -> a.rs"]);
        // A name that is only brought in is not the root's.
        let files = [("lib.rs", "mod a; use std::fmt; pub use a::A;"), ("a.rs", "use crate::fmt; pub struct A;")];
        assert_eq!(found(&files, false), Vec::<String>::new());
    }
}
