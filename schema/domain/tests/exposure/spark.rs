//! `snapshots/spark/exposure.py` itself over random graphs: `tests/interop/exposure_graphs.py` runs it, and its amounts
//! are compared with ours to the last digit.

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use cairn_domain::exposure::{Reach, Trace};
use cairn_model::ScriptId;
use serde_json::{Value, json};

use crate::{
    properties::{destinations, limits, sources, stop_name, subject},
    rounds::Sums,
    world::{SCRIPTS, World, script},
};

/// Graphs that are compared.
const GRAPHS: u64 = 120;
/// Modules that the program and its caller need.
const MODULES: &str = "import polars, pyspark";

/// A Python with the modules: the one on the path, or that of `make interop`.
fn python() -> Option<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cache")));
    let of_interop = cache.map(|cache| cache.join("cairn/interop-analysts/bin/python"));
    let runs = |program: &PathBuf| {
        let tried = Command::new(program).args(["-c", MODULES]).output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    [Some(PathBuf::from("python3")), of_interop].into_iter().flatten().find(runs)
}

fn has_java() -> bool {
    env::var_os("JAVA_HOME").is_some() || Command::new("java").arg("-version").output().is_ok()
}

fn number(of: ScriptId) -> u8 {
    of.prefix.0[0]
}

fn graph(seed: u64, world: &World) -> Value {
    let roles = |holds: fn(&cairn_domain::exposure::Role) -> bool| {
        let found = world.roles.iter().filter(|(_, role)| holds(role)).map(|(script, _)| number(*script));
        found.collect::<Vec<u8>>()
    };
    let txs = world.txs.values().map(|tx| {
        let inputs = tx.inputs.iter().map(|input| json!([input.coin.tx_num.0, input.coin.vout, input.value]));
        let outputs = tx.outputs.iter().map(|output| json!([output.value, output.script.map(number)]));
        json!({
            "number": tx.tx_num.0,
            "is_coinjoin": tx.is_coinjoin,
            "inputs": inputs.collect::<Vec<_>>(),
            "outputs": outputs.collect::<Vec<_>>(),
        })
    });
    json!({
        "hops": limits(seed).hops,
        "subject": number(subject(seed)),
        "scripts": SCRIPTS,
        "sources": roles(|role| role.source.is_some()),
        "services": roles(|role| role.is_service),
        "busy": roles(|role| role.is_busy),
        "txs": txs.collect::<Vec<_>>(),
    })
}

fn sums(haircut: &Value, fifo: &Value) -> Sums {
    (u128::from(haircut.as_u64().unwrap()), fifo.as_u64().unwrap())
}

/// The amounts of sources at the subject.
fn received(rows: &Value) -> BTreeMap<u8, Sums> {
    let of = |row: &Value| (row[0].as_u64().unwrap() as u8, sums(&row[1], &row[2]));
    rows["received"].as_array().unwrap().iter().map(of).collect()
}

/// Compares where coins came from. Returns the number of sources that were found.
fn compare_sources(world: &World, of: ScriptId, trace: &Trace, found: &Value, what: &str) -> u64 {
    let (one, all) = (received(&found["one"]), received(found.get("all").unwrap_or(&found["one"])));
    let mut compared = 0;
    for (source, id) in world.roles.iter().filter_map(|(script, role)| Some((*script, role.source?))) {
        if source == of {
            continue;
        }
        let at = |reach| trace.tally.sources.get(&(id, reach)).map_or((0, 0), |of| (of.haircut, of.fifo));
        let (near, far) = (at(Reach::Counterparty), at(Reach::Indirect));
        let [one, all] = [&one, &all].map(|of| of.get(&number(source)).copied().unwrap_or_default());
        assert_eq!(near, one, "{what}: one hop from {source:?}");
        assert_eq!((near.0 + far.0, near.1 + far.1), all, "{what}: from {source:?}");
        compared += u64::from(all != (0, 0));
    }
    compared
}

/// Compares where coins went. Returns the number of ends that were found.
fn compare_destinations(world: &World, of: ScriptId, trace: &Trace, found: &Value, what: &str) -> u64 {
    let found = found.get("all").unwrap_or(&found["one"]);
    let mut theirs: BTreeMap<String, Sums> = BTreeMap::new();
    for row in found["ends"].as_array().unwrap() {
        let (part, at) = (row[0].as_str().unwrap(), row[1].as_u64().map(|at| script(at as u8)));
        // Its starts are all coins of the subject, also those that it did not spend.
        if part == "held" && at == Some(of) {
            continue;
        }
        let source = at.and_then(|at| world.role(at).source).filter(|_| part == "service");
        let key = match (source, part) {
            (Some(source), _) => format!("{source:?}"),
            // At the last hop we do not look which transaction spends a coin.
            (None, "coinjoin" | "hop_limit") => "coinjoin or hop_limit".to_owned(),
            (None, part) => part.to_owned(),
        };
        let (sum, more) = (theirs.entry(key).or_default(), sums(&row[2], &row[3]));
        *sum = (sum.0 + more.0, sum.1 + more.1);
    }
    theirs.insert("fees".to_owned(), sums(&found["fees"][0], &found["fees"][1]));
    let stops = trace.tally.stops.iter().map(|(stop, of)| match stop_name(*stop) {
        "coinjoin" | "hop_limit" => ("coinjoin or hop_limit".to_owned(), of),
        name => (name.to_owned(), of),
    });
    let groups = trace.tally.sources.iter().map(|((source, _), of)| (format!("{source:?}"), of));
    let mut ours: BTreeMap<String, Sums> = BTreeMap::new();
    for (key, of) in stops.chain(groups).chain([("fees".to_owned(), &trace.tally.fees)]) {
        let sum = ours.entry(key).or_default();
        *sum = (sum.0 + of.haircut, sum.1 + of.fifo);
    }
    for of in [&mut ours, &mut theirs] {
        of.retain(|_, sums| *sums != (0, 0));
    }
    assert_eq!(ours, theirs, "{what}");
    ours.len() as u64
}

#[test]
fn amounts_equal_those_of_the_spark_program_itself() {
    let Some(python) = python() else {
        cairn_testkit::skip!("no python3 with pyspark and polars, which make interop installs")
    };
    if !has_java() {
        cairn_testkit::skip!("no java, which Spark needs")
    }
    let folder = cairn_testkit::temp_dir();
    let worlds: Vec<World> = (0..GRAPHS).map(|seed| World::random(seed, 2_000_000_000_000)).collect();
    let graphs: Vec<Value> = (0..).zip(&worlds).map(|(seed, world)| graph(seed, world)).collect();
    fs::write(folder.path().join("graphs.json"), Value::from(graphs).to_string()).unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/interop/exposure_graphs.py");
    let ran = Command::new(&python).arg("-W").arg("ignore").arg(&program).arg(folder.path()).output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let found: Vec<Value> = serde_json::from_slice(&fs::read(folder.path().join("found.json")).unwrap()).unwrap();
    assert_eq!(found.len(), worlds.len());
    let (mut from, mut to) = (0, 0);
    for ((seed, mut world), found) in (0..).zip(worlds).zip(&found) {
        let (of, limits, what) = (subject(seed), limits(seed), format!("seed {seed}"));
        let [came, went] = [sources(&mut world, of, limits), destinations(&mut world, of, limits)];
        assert!(!came.is_truncated() && !went.is_truncated(), "{what}");
        from += compare_sources(&world, of, &came, found, &what);
        to += compare_destinations(&world, of, &went, found, &what);
    }
    assert!(from > GRAPHS / 2 && to > GRAPHS, "{from} {to}");
}
