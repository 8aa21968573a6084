//! The arrows between crates, as the architecture draws them: what may never be reached through normal dependencies,
//! however many crates lie between.

use std::{
    collections::{BTreeMap, VecDeque},
    env,
    path::Path,
    process::Command,
};

use serde_json::Value;

mod rules;
use rules::{
    RULES,
    Who::{self, Crate, Under},
};

/// Names in the rules that must be found in the real graph: a rule about a renamed crate would hold for ever.
const MUST_EXIST: &str = "cairn cairn-clock cairn-model cairn-tables cairn-reader cairn-writer cairn-link cairn-sources \
    cairn-inputs cairn-fetch cairn-events cairn-node cairn-mempool cairn-stages cairn-pipeline cairn-follow cairn-domain cairn-keys cairn-timestamps cairn-payments cairn-state \
    cairn-http cairn-operations cairn-mcp cairn-web cairn-demo rmcp rocksdb librocksdb-sys axum tokio clap \
    indicatif cairn-anchoring cairn-access cairn-l402 cairn-x402 cairn-lightning";

#[derive(Clone, Default)]
struct Package {
    name: String,
    /// Folder in the workspace; `None` for the crates of others.
    folder: Option<String>,
    /// Normal dependencies, as indices of the graph.
    needs: Vec<usize>,
}

impl Package {
    fn is(&self, who: Who) -> bool {
        match who {
            Crate(name) => self.name == name,
            Under(top) => self.folder.as_deref().is_some_and(|folder| Path::new(folder).starts_with(top)),
        }
    }
}

/// Every forbidden path, written out.
fn violations(graph: &[Package]) -> Vec<String> {
    let mut found = Vec::new();
    for rule in RULES {
        for start in (0..graph.len()).filter(|&at| graph[at].is(rule.who)) {
            // Breadth first, so that the path that is named is a shortest one.
            let mut came_from = BTreeMap::from([(start, start)]);
            let mut queue = VecDeque::from([start]);
            while let Some(at) = queue.pop_front() {
                if at != start && rule.never.iter().any(|&never| graph[at].is(never)) {
                    let mut path = vec![graph[at].name.as_str()];
                    let mut step = at;
                    while step != start {
                        step = came_from[&step];
                        path.push(&graph[step].name);
                    }
                    path.reverse();
                    found.push(format!("{}: {}", path.join(" -> "), rule.why));
                    // Crates behind it are reached through it: one line is enough.
                    continue;
                }
                for &next in &graph[at].needs {
                    came_from.entry(next).or_insert_with(|| {
                        queue.push_back(next);
                        at
                    });
                }
            }
        }
    }
    found
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or_else(|| panic!("cargo metadata: no text at {key} in {value}"))
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("cargo metadata: no list at {key}"))
}

/// The graph in the output of `cargo metadata`.
fn read_graph(metadata: &Value) -> Vec<Package> {
    let root = Path::new(text(metadata, "workspace_root"));
    let members = list(metadata, "workspace_members");
    let mut index = BTreeMap::new();
    let mut graph = Vec::new();
    for package in list(metadata, "packages") {
        index.insert(text(package, "id"), graph.len());
        let folder = members.contains(&package["id"]).then(|| {
            let folder = Path::new(text(package, "manifest_path")).parent().and_then(|f| f.strip_prefix(root).ok());
            folder.map(|f| f.display().to_string()).unwrap_or_default()
        });
        graph.push(Package { name: text(package, "name").to_owned(), folder, needs: Vec::new() });
    }
    for node in list(&metadata["resolve"], "nodes") {
        for dependency in list(node, "deps") {
            // Dev and build dependencies are not part of what runs.
            if list(dependency, "dep_kinds").iter().any(|kind| kind["kind"].is_null()) {
                graph[index[text(node, "id")]].needs.push(index[text(dependency, "pkg")]);
            }
        }
    }
    graph
}

fn output_of(command: &mut Command) -> Vec<u8> {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// The workspace's own graph, for this platform (what it needs is downloaded already: this test was built from it).
fn our_graph() -> Vec<Package> {
    let version = output_of(Command::new(env::var_os("RUSTC").unwrap_or("rustc".into())).arg("-vV"));
    let version = String::from_utf8_lossy(&version);
    let Some(host) = version.lines().find_map(|line| line.strip_prefix("host: ")) else {
        panic!("rustc names no host: {version}")
    };
    let metadata = output_of(
        Command::new(env::var_os("CARGO").unwrap_or("cargo".into()))
            .args(["metadata", "--format-version=1", "--locked", "--filter-platform", host])
            .current_dir(env!("CARGO_MANIFEST_DIR")),
    );
    match serde_json::from_slice(&metadata) {
        Ok(metadata) => read_graph(&metadata),
        Err(error) => panic!("cargo metadata: {error}"),
    }
}

#[test]
fn the_arrows_hold() {
    let graph = our_graph();
    for name in MUST_EXIST.split_whitespace() {
        assert!(graph.iter().any(|package| package.name == name), "no crate {name}: rename it in the rules too");
    }
    for top in ["schema", "indexer", "query-api", "demo", "tests"] {
        assert!(graph.iter().any(|package| package.is(Under(top))), "no crate under {top}/");
    }
    assert_eq!(violations(&graph), Vec::<String>::new());
}

/// A made-up graph: (name, folder, needs).
fn made_up(packages: &[(&str, Option<&str>, &[&str])]) -> Vec<Package> {
    let at = |name: &str| packages.iter().position(|p| p.0 == name).unwrap_or_else(|| panic!("no {name}"));
    packages
        .iter()
        .map(|&(name, folder, needs)| Package {
            name: name.to_owned(),
            folder: folder.map(str::to_owned),
            needs: needs.iter().map(|need| at(need)).collect(),
        })
        .collect()
}

#[test]
fn a_good_graph_passes() {
    let graph = made_up(&[
        ("cairn", Some(""), &["cairn-pipeline", "cairn-operations", "cairn-demo"]),
        ("cairn-pipeline", Some("indexer/pipeline"), &["cairn-writer"]),
        ("cairn-operations", Some("query-api/operations"), &["cairn-reader", "cairn-domain", "cairn-http"]),
        ("cairn-http", Some("query-api/http"), &["axum"]),
        ("cairn-domain", Some("schema/domain"), &["cairn-model"]),
        ("cairn-writer", Some("schema/writer"), &["cairn-model", "rocksdb"]),
        ("cairn-reader", Some("schema/reader"), &["cairn-model", "rocksdb"]),
        ("cairn-model", Some("schema/model"), &[]),
        ("cairn-demo", Some("demo"), &[]),
        ("cairn-chaingen", Some("tests/chaingen"), &["cairn-demo"]),
        ("axum", None, &[]),
        ("rocksdb", None, &[]),
    ]);
    assert_eq!(violations(&graph), Vec::<String>::new());
}

#[test]
fn forbidden_arrows_are_found_however_long() {
    let graph = made_up(&[
        ("cairn-operations", Some("query-api/operations"), &["between", "cairn-domain"]),
        ("cairn-http", Some("query-api/http"), &["cairn-model"]),
        ("cairn-domain", Some("schema/domain"), &["innocent"]),
        ("innocent", None, &["axum"]),
        ("axum", None, &[]),
        ("between", None, &["also-between"]),
        ("also-between", None, &["cairn-writer"]),
        ("cairn-writer", Some("schema/writer"), &[]),
        ("cairn-stages", Some("indexer/stages"), &["cairn-new"]),
        ("cairn-new", Some("query-api/new"), &[]),
        // A cycle must not hang the search.
        ("cairn-reader", Some("schema/reader"), &["loop"]),
        ("loop", None, &["cairn-reader", "cairn-testkit"]),
        ("cairn-testkit", Some("tests/testkit"), &["cairn-model"]),
        ("cairn-model", Some("schema/model"), &[]),
        ("cairn-demo", Some("demo"), &["cairn-model"]),
        ("cairn", Some(""), &["cairn-demo", "hidden"]),
        ("hidden", None, &["cairn-testkit"]),
    ]);
    assert_eq!(
        violations(&graph),
        [
            "cairn-reader -> loop -> cairn-testkit: the schema is below everything",
            "cairn-stages -> cairn-new: the indexer and the query API never depend on each other",
            "cairn-operations -> between -> also-between -> cairn-writer: the query API is read-only",
            "cairn-domain -> innocent -> axum: the domain is pure",
            "cairn-http -> cairn-model: the framework knows nothing of chains",
            "cairn-demo -> cairn-model: the demo's chain is made by code that shares nothing with what reads it",
            "cairn -> hidden -> cairn-testkit: what is shipped holds no code of the tests",
        ]
    );
}

#[test]
fn only_normal_dependencies_count() {
    let metadata = serde_json::json!({
        "workspace_root": "/w",
        "workspace_members": ["a", "b"],
        "packages": [
            { "id": "a", "name": "cairn-domain", "manifest_path": "/w/schema/domain/Cargo.toml" },
            { "id": "b", "name": "cairn-writer", "manifest_path": "/w/schema/writer/Cargo.toml" },
            { "id": "c", "name": "axum", "manifest_path": "/elsewhere/axum/Cargo.toml" },
        ],
        "resolve": { "nodes": [
            { "id": "a", "deps": [
                { "pkg": "b", "dep_kinds": [{ "kind": "dev" }] },
                { "pkg": "c", "dep_kinds": [{ "kind": "build" }, { "kind": null }] },
            ] },
            { "id": "b", "deps": [] },
            { "id": "c", "deps": [] },
        ] },
    });
    let graph = read_graph(&metadata);
    assert_eq!(graph[0].folder.as_deref(), Some("schema/domain"));
    assert_eq!(graph[2].folder, None);
    assert_eq!(violations(&graph), ["cairn-domain -> axum: the domain is pure"]);
}
