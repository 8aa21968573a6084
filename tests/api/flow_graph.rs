//! Graphs of who pays whom: every satoshi is accounted for, one hop agrees with the blocks, and the same question has
//! the same answer.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Script, Transaction};
use cairn_model::{TxNum, is_unspendable};
use serde_json::Value;

use crate::support::{World, address, assert_valid, everything_world, get, get_ok, script_hash};

const GRAPH: &str = "/v1/wallets/{address}/flow-graph";

fn path(script: &Script, query: &str) -> String {
    format!("{}?{query}", GRAPH.replace("{address}", &script_hash(script)))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

/// Checks properties of every graph.
fn assert_sound(graph: &Value, what: &str) {
    let (nodes, edges) = (graph["nodes"].as_array().unwrap(), graph["edges"].as_array().unwrap());
    let ids: BTreeSet<&str> = nodes.iter().map(|node| text(&node["id"])).collect();
    let places: BTreeSet<(i64, i64)> =
        nodes.iter().map(|node| (node["x"].as_i64().unwrap(), node["y"].as_i64().unwrap())).collect();
    assert_eq!((ids.len(), places.len()), (nodes.len(), nodes.len()), "{what}");
    let filters = &graph["filters"];
    assert!(nodes.len() as u64 <= number(&filters["node_limit"]), "{what}");
    assert!(nodes.iter().all(|node| number(&node["depth"]) <= number(&filters["hops"])), "{what}");
    let min = (filters["min_btc"].as_f64().unwrap() * 1e8).round() as u64;
    let (mut shown, mut sums) = (0, BTreeMap::<&str, [u64; 2]>::new());
    for edge in edges {
        let [source, target] = ["source", "target"].map(|end| text(&edge[end]));
        assert!(ids.contains(source) && ids.contains(target) && source != target, "{what}: {edge}");
        assert!(number(&edge["value_sats"]) >= min.max(1) && number(&edge["count"]) > 0, "{what}: {edge}");
        assert_eq!(edge["txids"].as_array().unwrap().len() as u64, number(&edge["count"]).min(5), "{what}: {edge}");
        assert!(text(&edge["first"]) <= text(&edge["last"]), "{what}: {edge}");
        shown += number(&edge["value_sats"]);
        sums.entry(source).or_default()[1] += number(&edge["value_sats"]);
        sums.entry(target).or_default()[0] += number(&edge["value_sats"]);
    }
    for node in nodes {
        let [into, out] = sums.get(text(&node["id"])).copied().unwrap_or_default();
        assert_eq!([number(&node["value_in_sats"]), number(&node["value_out_sats"])], [into, out], "{what}: {node}");
        // Value goes from the left to the right, and whoever is in the graph has an edge.
        assert!(number(&node["depth"]) == 0 || into + out > 0, "{what}: {node}");
    }
    let of = |name: &str| number(&graph["accounting"][name]);
    let parts = of("shown_sats") + of("self_sats") + of("below_min_btc_sats") + of("omitted_sats");
    assert_eq!((of("seen_sats"), of("shown_sats")), (parts, shown), "{what}");
    let is_partial = !graph["truncated_reasons"].as_array().unwrap().is_empty();
    assert_eq!(graph["partial"], is_partial, "{what}");
    assert_eq!(graph["view_kind"], if min == 0 { "attribution" } else { "value_flow" }, "{what}");
}

/// The scripts with the longest histories, and some others.
fn scripts(world: &World) -> Vec<&bitcoin::ScriptBuf> {
    let mut all: Vec<_> = world.oracle.scripts().collect();
    all.sort_by_key(|script| (std::cmp::Reverse(world.oracle.history(script).len()), (*script).clone()));
    let step = (all.len() / 60).max(1);
    all.iter().take(6).chain(all.iter().skip(6).step_by(step)).copied().collect()
}

#[tokio::test]
async fn graphs_account_for_every_satoshi() {
    let world = &everything_world();
    let router = world.open_router();
    let queries = [
        "hops=1",
        "hops=2&min_btc=0&node_limit=200",
        "hops=4&min_btc=0&node_limit=40",
        "hops=3&min_btc=0.01&direction=in",
        "hops=3&min_btc=0.01&direction=out&node_limit=2",
        "hops=4&min_btc=0&node_limit=200&fold=cluster",
        "hops=2&min_btc=0.001&fold=entity&include_labels=false",
    ];
    let mut kinds = BTreeSet::new();
    for script in scripts(world) {
        for query in queries {
            let asked = path(script, query);
            let graph = get_ok(&router, GRAPH, &asked).await;
            assert_sound(&graph, &asked);
            kinds.extend(graph["nodes"].as_array().unwrap().iter().map(|node| text(&node["kind"]).to_owned()));
            let again = get(&router, &asked).await.body;
            assert_eq!((&again["nodes"], &again["edges"]), (&graph["nodes"], &graph["edges"]), "{asked}");
        }
    }
    let all = ["address", "cluster", "coinbase", "fee", "unspendable"].map(str::to_owned);
    assert!(all.iter().all(|kind| kinds.contains(kind)), "{kinds:?}");
}

/// Shares of an amount by the largest remainder.
fn shares(amount: u64, weights: &[u64]) -> Vec<u64> {
    let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let mut rest: Vec<(u128, usize)> = Vec::new();
    let mut shares: Vec<u64> = Vec::new();
    for (at, weight) in weights.iter().enumerate() {
        let exact = u128::from(amount) * u128::from(*weight);
        shares.push((exact / all.max(1)) as u64);
        rest.push((exact % all.max(1), at));
    }
    let mut left = amount - shares.iter().sum::<u64>();
    while left > 0 {
        let best = rest.iter().copied().max_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1))).unwrap();
        shares[best.1] += 1;
        rest.retain(|one| one.1 != best.1);
        left -= 1;
    }
    shares
}

fn name(script: &Script) -> String {
    address(script).unwrap_or_else(|| script_hash(script))
}

/// Who pays whom in a transaction: by payer and payee; `fee` and `coinbase` are ends.
fn flows(world: &World, tx_num: TxNum, tx: &Transaction) -> BTreeMap<(String, String), u64> {
    let mut outputs: BTreeMap<Vec<u8>, (String, u64)> = BTreeMap::new();
    for output in tx.output.iter().filter(|output| output.value.to_sat() > 0) {
        let script = &output.script_pubkey;
        // Outputs that nobody can spend come after all scripts.
        let (key, name) = match is_unspendable(script.as_bytes()) {
            true => (vec![0xff], "unspendable".to_owned()),
            false => (key(script), name(script)),
        };
        let entry = outputs.entry(key).or_insert((name, 0));
        entry.1 += output.value.to_sat();
    }
    if tx.is_coinbase() {
        let paid = outputs.into_values();
        return paid.map(|(payee, sats)| (("coinbase".to_owned(), payee), sats)).collect();
    }
    let mut payers: BTreeMap<String, u64> = BTreeMap::new();
    for coin in world.oracle.spent(tx_num) {
        *payers.entry(name(&coin.script)).or_default() += coin.value_sats;
    }
    let brought: u64 = payers.values().sum();
    let mut parties: Vec<(String, u64)> = outputs.into_values().collect();
    let fee = brought - parties.iter().map(|(_, sats)| *sats).sum::<u64>();
    parties.push(("fee".to_owned(), fee));
    let weights: Vec<u64> = parties.iter().map(|(_, sats)| *sats).collect();
    let mut flows = BTreeMap::new();
    for (payer, sats) in payers {
        let parts = shares(sats, &weights);
        assert_eq!(parts.iter().sum::<u64>(), if brought == 0 { 0 } else { sats });
        for ((payee, _), part) in parties.iter().zip(parts).filter(|(_, part)| *part > 0) {
            *flows.entry((payer.clone(), payee.clone())).or_default() += part;
        }
    }
    flows
}

/// The order of scripts in the index: by the first bytes of their SHA-256.
fn key(script: &Script) -> Vec<u8> {
    let hash = script_hash(script);
    hash.trim_start_matches("scripthash:").as_bytes().to_vec()
}

#[tokio::test]
async fn one_hop_agrees_with_the_blocks() {
    let world = &everything_world();
    let router = world.open_router();
    let txs: BTreeMap<TxNum, &Transaction> =
        world.oracle.transactions(world.oracle.tip().unwrap().0).map(|(tx_num, _, tx)| (tx_num, tx)).collect();
    let mut compared = 0;
    for script in world.oracle.scripts().step_by(3) {
        let history = world.oracle.history(script);
        if history.len() > 60 {
            continue;
        }
        let graph = get_ok(&router, GRAPH, &path(script, "min_btc=0&node_limit=200")).await;
        let own = text(&graph["nodes"][0]["id"]).to_owned();
        assert_eq!(own, name(script));
        if graph["partial"] == true {
            continue;
        }
        assert!(graph["nodes"].as_array().unwrap().iter().all(|node| node["kind"] != "coinjoin"), "{own}");
        let mut expected: BTreeMap<(String, String), (u64, u64)> = BTreeMap::new();
        let mut own_sats = 0;
        for row in history {
            for ((payer, payee), sats) in flows(world, row.tx_num, txs[&row.tx_num]) {
                if payer == own && payee == own {
                    own_sats += sats;
                } else if payer == own || payee == own {
                    let sum = expected.entry((payer, payee)).or_default();
                    (sum.0, sum.1) = (sum.0 + sats, sum.1 + 1);
                }
            }
        }
        let edges = graph["edges"].as_array().unwrap().iter();
        let found: BTreeMap<(String, String), (u64, u64)> = edges
            .map(|edge| {
                let [source, target] = ["source", "target"].map(|end| text(&edge[end]).to_owned());
                ((source, target), (number(&edge["value_sats"]), number(&edge["count"])))
            })
            .collect();
        assert_eq!(found, expected, "{own}");
        assert_eq!(number(&graph["accounting"]["self_sats"]), own_sats, "{own}");
        compared += 1;
    }
    assert!(compared >= 100, "{compared}");
}

#[tokio::test]
async fn what_is_asked_for_limits_a_flow_graph() {
    let world = &everything_world();
    let router = world.open_router();
    let busiest = scripts(world)[0];
    let whole = get_ok(&router, GRAPH, &path(busiest, "min_btc=0&node_limit=200")).await;
    // From a later time on there is less, from the end nothing.
    let history = world.oracle.history(busiest);
    let middle = world.oracle.monotone_time(history[history.len() - 2].height);
    let later = get_ok(
        &router,
        GRAPH,
        &path(busiest, &format!("min_btc=0&node_limit=200&since={}", crate::priced::time(middle))),
    )
    .await;
    let seen = |graph: &Value| number(&graph["accounting"]["seen_sats"]);
    assert!(seen(&later) < seen(&whole));
    let none = get_ok(&router, GRAPH, &path(busiest, "since=2106-01-01")).await;
    assert_eq!((seen(&none), none["nodes"].as_array().unwrap().len()), (0, 1));
    // Both directions together have what each has.
    let [into, out] = ["in", "out"].map(|way| path(busiest, &format!("min_btc=0&node_limit=200&direction={way}")));
    let (into, out) = (get_ok(&router, GRAPH, &into).await, get_ok(&router, GRAPH, &out).await);
    let of_both = |graph: &Value| number(&graph["accounting"]["self_sats"]);
    assert_eq!(seen(&into) + seen(&out) - of_both(&into), seen(&whole));
    for (query, status) in [
        ("hops=0", 422),
        ("hops=5", 422),
        ("node_limit=1", 422),
        ("node_limit=201", 422),
        ("direction=up", 422),
        ("min_btc=-1", 422),
        ("min_btc=0.000000001", 422),
        ("since=yesterday", 422),
        ("fold=all", 422),
        ("include_labels=maybe", 422),
    ] {
        assert_eq!(get(&router, &path(busiest, query)).await.status, status, "{query}");
    }
    let unknown = get_ok(&router, GRAPH, &GRAPH.replace("{address}", &format!("scripthash:{}", "ab".repeat(32)))).await;
    assert_valid(GRAPH, &unknown);
    assert_eq!((unknown["nodes"].as_array().unwrap().len(), unknown["partial"].as_bool()), (1, Some(false)));
}
