//! Graphs of several hops, against a slow walk through the blocks: which nodes are in them, what every edge has, and
//! where all other value is.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashMap},
};

use axum::Router;
use bitcoin::ScriptBuf;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{
    flow_walk::{Asked, Book, ENDS, End, Found, Place},
    pnl::number,
    priced::time,
    said::{Said, shared_world},
    support::{World, get, script_hash, validator},
};

const GRAPH: &str = "/v1/wallets/{address}/flow-graph";

/// Asks, and compares the answers.
struct Asker<'w> {
    book: &'w Book<'w>,
    router: Router,
    schema: Validator,
}

impl<'w> Asker<'w> {
    fn of(book: &'w Book<'w>) -> Self {
        Asker { book, router: book.world.open_router(), schema: validator(GRAPH) }
    }

    async fn ask(&self, middle: End, asked: Asked) -> (String, Value) {
        let Asked { hops, direction, limit, min_sats, since, fold } = asked;
        let since = since.map(|height| format!("&since={}", time(self.book.world.oracle.monotone_time(height))));
        let target = format!(
            "{}?hops={hops}&direction={direction}&node_limit={limit}&min_btc={}.{:08}&fold={fold}{}",
            GRAPH.replace("{address}", &script_hash(&self.book.scripts[middle])),
            min_sats / 100_000_000,
            min_sats % 100_000_000,
            since.unwrap_or_default(),
        );
        let reply = get(&self.router, &target).await;
        assert_eq!(reply.status, 200, "{target}: {}", reply.text);
        assert!(self.schema.is_valid(&reply.body), "{target}: {}", reply.text);
        (target, reply.body)
    }

    /// Compares an answer. `node_of` says which node an id names. `ordered` says if nodes of equal value have a known
    /// order.
    fn compare(
        &self,
        target: &str,
        graph: &Value,
        asked: Asked,
        found: &Found,
        node_of: &dyn Fn(&Value) -> End,
        ordered: bool,
    ) {
        let (edges, accounting, counts) = self.book.told(found, asked.min_sats);
        let told: Vec<&Value> = graph["nodes"].as_array().unwrap().iter().collect();
        let nodes: Vec<End> = told.iter().map(|node| node_of(node)).collect();
        let mut expected: Vec<(End, Place)> = found.nodes.iter().map(|(node, place)| (*node, *place)).collect();
        expected.sort_by_key(|(node, place)| (place.hop, place.side, Reverse(place.sats), *node));
        let ids: BTreeSet<End> = nodes.iter().copied().collect();
        assert_eq!((ids.len(), &ids), (nodes.len(), &found.nodes.keys().copied().collect()), "{target}");
        if ordered {
            assert!(nodes.iter().eq(expected.iter().map(|(node, _)| node)), "{target}");
        }
        for (node, (at, place)) in told.iter().zip(nodes.iter().map(|at| (*at, found.nodes[at]))) {
            let sum = |of: &dyn Fn(&(End, End)) -> End| {
                edges
                    .iter()
                    .filter(|(ends, _)| of(ends) == at)
                    .map(|(_, edge)| edge["value_sats"].as_u64().unwrap())
                    .sum::<u64>()
            };
            assert_eq!(
                (&node["depth"], &node["value_in_sats"], &node["value_out_sats"], &node["expanded"]),
                (
                    &place.hop.into(),
                    &sum(&|ends| ends.1).into(),
                    &sum(&|ends| ends.0).into(),
                    &found.expanded.contains(&at).into()
                ),
                "{target} {node}"
            );
            assert_eq!(node["x"], place.side * i64::from(place.hop) * 240, "{target} {node}");
        }
        let ids: HashMap<&str, End> = told.iter().map(|node| node["id"].as_str().unwrap()).zip(nodes).collect();
        let told = graph["edges"].as_array().unwrap().iter().map(|edge| {
            let ends = ["source", "target"].map(|end| ids[edge[end].as_str().unwrap()]);
            let mut of = edge.clone();
            let of = of.as_object_mut().unwrap();
            let [id, source, target, btc] =
                ["id", "source", "target", "value_btc"].map(|name| of.remove(name).unwrap());
            assert_eq!(id, format!("{}->{}", source.as_str().unwrap(), target.as_str().unwrap()));
            assert_eq!(number(&btc, 8), of["value_sats"].as_i64().map(i128::from), "{target} {edge}");
            ((ends[0], ends[1]), Value::Object(of.clone()))
        });
        assert_eq!(told.collect::<BTreeMap<_, _>>(), edges, "{target}");
        assert_eq!(graph["accounting"], accounting, "{target}");
        let filters = ["edge_candidates", "edge_candidates_filtered_by_min_btc", "nodes_omitted"];
        assert_eq!(filters.map(|name| graph["filters"][name].as_u64().unwrap() as usize), counts, "{target}");
        assert_eq!(graph["transactions_read"], found.txs_read, "{target}");
        let reasons = if counts[2] > 0 { json!(["node_limit"]) } else { json!([]) };
        assert_eq!((&graph["truncated_reasons"], graph["partial"] == true), (&reasons, counts[2] > 0), "{target}");
    }
}

/// Scripts all over a chain.
fn some(book: &Book<'_>, count: usize) -> Vec<End> {
    (0..book.scripts.len()).step_by((book.scripts.len() / count).max(1)).collect()
}

/// The parameters of requests, one after the other.
fn asked(world: &World, at: usize, limits: &[usize], fold: &'static str) -> Asked {
    let tip = world.oracle.tip().unwrap().0;
    Asked {
        hops: [2, 3, 4, 1][at % 4],
        direction: ["both", "in", "out"][at % 3],
        limit: limits[at % limits.len()],
        min_sats: [0, 1_000_000, 0, 10_000_000, 150_000_000][at % 5],
        since: [None, Some(tip - 12), None, None, Some(tip / 2 + 50), None, Some(tip - 30)][at % 7].filter(|height| {
            *height == 0 || world.oracle.monotone_time(*height) > world.oracle.monotone_time(height - 1)
        }),
        fold,
    }
}

/// Asks about many scripts, and compares each answer. Gives how many there were of what kind.
async fn check(world: &World, starts: usize, limits: &[usize]) -> BTreeMap<&'static str, usize> {
    let (book, mut seen) = (Book::of(world), BTreeMap::new());
    let asker = Asker::of(&book);
    let ids: HashMap<String, End> = (0..book.scripts.len() + ENDS.len()).map(|end| (book.name(end), end)).collect();
    for (at, middle) in some(&book, starts).into_iter().enumerate() {
        for round in 0..3 {
            let asked = asked(world, at * 11 + round, limits, "none");
            let found = book.walk(middle, asked, &|end| end);
            let (target, graph) = asker.ask(middle, asked).await;
            asker.compare(&target, &graph, asked, &found, &|node| ids[node["id"].as_str().unwrap()], true);
            for node in graph["nodes"].as_array().unwrap() {
                let end = ids[node["id"].as_str().unwrap()];
                let is_script = end < book.scripts.len();
                let kind = if is_script { "address" } else { ENDS[end - book.scripts.len()] };
                assert_eq!(
                    (&node["kind"], &node["script_count"]),
                    (&kind.into(), &u64::from(is_script).into()),
                    "{target}"
                );
                *seen.entry(kind).or_default() += 1;
            }
            let reached = found.nodes.values().map(|place| place.hop).max().unwrap();
            let name = match (graph["partial"] == true, reached) {
                (true, _) => "cut",
                (false, 0 | 1) => "whole",
                (false, 2) => "whole of two hops",
                (false, 3) => "whole of three hops",
                (false, _) => "whole of four hops",
            };
            *seen.entry(name).or_default() += 1;
            *seen.entry("all").or_default() += 1;
        }
    }
    seen
}

#[tokio::test]
async fn every_node_and_edge_is_that_of_the_blocks() {
    let (world, _) = shared_world(false);
    let seen = check(&world, 300, &[200]).await;
    for what in ["whole of two hops", "whole of three hops", "whole of four hops", "coinjoin", "coinbase", "fee"] {
        assert!(seen[what] > 10, "{what}: {seen:?}");
    }
}

#[tokio::test]
async fn the_largest_nodes_of_each_hop_are_taken() {
    let (world, _) = shared_world(false);
    let seen = check(&world, 300, &[2, 3, 5, 8, 13, 30, 70]).await;
    assert!(seen["cut"] > 200, "{seen:?}");
}

#[tokio::test]
async fn clusters_and_entities_have_the_sums_of_their_scripts() {
    let (world, _) = shared_world(false);
    let said = Said::take(&world);
    let book = Book::of(&world);
    let asker = Asker::of(&book);
    let places: HashMap<&ScriptBuf, End> = book.scripts.iter().zip(0..).collect();
    let mut by_address: HashMap<String, End> =
        (0..book.scripts.len() + ENDS.len()).map(|end| (book.name(end), end)).collect();
    // The node of each script, named by one script of it.
    let clusters: Vec<End> = book.scripts.iter().map(|script| places[&said.clusters().cluster_of(script).0]).collect();
    let mut entities: HashMap<&str, End> = HashMap::new();
    let owned: Vec<End> = (0..book.scripts.len())
        .map(|at| {
            said.owner(&book.scripts[at]).map_or(clusters[at], |(entity, _)| {
                let next = book.scripts.len() + ENDS.len() + entities.len();
                *entities.entry(entity).or_insert(next)
            })
        })
        .collect();
    by_address.extend(entities.iter().map(|(entity, end)| (format!("entity:{entity}"), *end)));
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, middle) in some(&book, 150).into_iter().enumerate() {
        for (fold, keys) in [("cluster", &clusters), ("entity", &owned)] {
            let asked = asked(&world, at, &[200, 12], fold);
            let key = |end: End| keys.get(end).copied().unwrap_or(end);
            let found = book.walk(middle, asked, &key);
            if found.most_scripts > 20 {
                *seen.entry("too many scripts").or_default() += 1;
                continue;
            }
            let (target, graph) = asker.ask(middle, asked).await;
            let node_of = |node: &Value| {
                let id = node["id"].as_str().unwrap();
                let named = by_address[id.strip_prefix("cluster:").unwrap_or(id)];
                if id.starts_with("entity:") { named } else { key(named) }
            };
            asker.compare(&target, &graph, asked, &found, &node_of, false);
            for node in graph["nodes"].as_array().unwrap() {
                let (of, kind) = (node_of(node), node["kind"].as_str().unwrap());
                *seen
                    .entry(if kind == "cluster" {
                        "cluster"
                    } else if kind == "entity" {
                        "entity"
                    } else {
                        "other"
                    })
                    .or_default() += 1;
                if book.is_end(of) {
                    continue;
                }
                let members: Vec<End> = found.sums.keys().copied().filter(|script| key(*script) == of).collect();
                assert_eq!(node["script_count"], members.len(), "{target} {node}");
                let largest = members.iter().max_by_key(|script| (found.sums[script], Reverse(**script))).unwrap();
                assert_eq!(node["address"], book.name(*largest), "{target} {node}");
                let expected = match book.scripts.get(of) {
                    None => "entity",
                    Some(script) if said.clusters().members(script).len() > 1 => "cluster",
                    Some(_) => "address",
                };
                assert_eq!(kind, expected, "{target} {node}");
                *seen.entry("several scripts").or_default() += usize::from(members.len() > 1);
            }
            *seen.entry("all").or_default() += 1;
        }
    }
    for what in ["cluster", "entity", "several scripts", "all"] {
        assert!(seen[what] > 100, "{what}: {seen:?}");
    }
}
