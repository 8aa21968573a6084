//! The page that follows money from one address to the next.

use std::sync::Arc;

use askama::Template;
use axum::{
    extract::{Path, State},
    http::{StatusCode, request::Parts},
    response::Response,
};
use serde::Deserialize;
use serde_json::{Number, json};

use super::{
    drawing::{self, Curve, Drawing},
    stops::{self, Balances, Stop},
};
use crate::{
    answer::{self, Kind, Shown},
    ask::{Part, Told},
    assets::TRACE_SCRIPT,
    format, links,
    query::Parameters,
    site::Site,
    tabs::{Tab, Tabs, tabs},
    visible::visible,
};

/// Nodes that are drawn at most, and drawn if nothing else is asked for.
const MAX_NODES: u64 = 60;
const NODES: u64 = 20;
/// Addresses of the way back.
const WAY: usize = 10;
/// Rows of the table of edges.
const EDGES: usize = 50;

#[derive(Deserialize)]
struct Graph {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    filters: Filters,
    accounting: Accounting,
    #[serde(default)]
    truncated_reasons: Vec<String>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    kind: String,
    address: Option<String>,
    entity: Option<String>,
    label: Option<Label>,
    depth: u64,
    value_in_sats: i64,
    value_out_sats: i64,
    #[serde(default)]
    x: i64,
    #[serde(default)]
    y: i64,
}

#[derive(Deserialize)]
struct Label {
    value: Option<String>,
}

#[derive(Deserialize)]
struct Edge {
    source: String,
    target: String,
    value_sats: i64,
    count: u64,
    #[serde(default)]
    txids: Vec<String>,
    first: Option<String>,
    last: Option<String>,
}

#[derive(Deserialize)]
struct Filters {
    hops: u64,
    direction: String,
    min_btc: Number,
    node_limit: u64,
    fold: String,
    #[serde(default)]
    nodes_omitted: u64,
}

#[derive(Deserialize)]
struct Accounting {
    seen_sats: i64,
    shown_sats: i64,
    self_sats: i64,
    below_min_btc_sats: i64,
    omitted_sats: i64,
    not_followed_sats: i64,
}

impl Node {
    /// The name that a source gives it, or what it is.
    fn name(&self) -> String {
        let label = self.label.as_ref().and_then(|label| label.value.clone());
        let known = label.or_else(|| self.entity.clone());
        let name = known.unwrap_or_else(|| self.address.clone().unwrap_or_else(|| format::words(&self.kind)));
        visible(&name)
    }

    fn sats(&self) -> i64 {
        self.value_in_sats.max(self.value_out_sats)
    }
}

/// A node with its place.
struct Placed {
    id: String,
    x: i64,
    y: i64,
    text: String,
    amount: String,
    /// For readers who do not see the drawing.
    name: String,
    /// Where its own flow is shown, if it has one.
    path: Option<String>,
    is_start: bool,
}

#[derive(Template)]
#[template(path = "trace/flow.html")]
struct FlowPage {
    tabs: Tabs,
    address: String,
    action: String,
    via: String,
    way: Vec<Step>,
    nodes: Vec<Placed>,
    drawing: Drawing,
    /// Where money from the address stops, and the number of stops that are not listed.
    stops: Vec<Stop>,
    further: usize,
    /// Balances of the addresses of the stops; `None` if no stop has one.
    balances: Option<Part<Balances>>,
    /// Everything that left the address, as far as one drawing goes.
    follow: String,
    told: Told<Graph>,
}

/// An address that the reader came from.
struct Step {
    path: String,
    address: String,
}

/// The addresses that the reader came by.
fn way_of(via: &str) -> Vec<&str> {
    let is_address =
        |text: &&str| !text.is_empty() && text.len() <= 100 && text.bytes().all(|b| b.is_ascii_alphanumeric());
    let mut way: Vec<&str> = via.split(',').filter(is_address).collect();
    way.drain(..way.len().saturating_sub(WAY));
    way
}

/// The path of the flow of an address, with the same filters and the way to it.
fn flow_path(address: &str, way: &[&str], filters: &Filters) -> String {
    let Filters { hops, direction, min_btc, node_limit, fold, .. } = filters;
    let path = links::address_path(address);
    let (direction, fold) = (cairn_http::segment(direction), cairn_http::segment(fold));
    let via = if way.is_empty() { String::new() } else { format!("&via={}", way.join(",")) };
    format!("{path}/flow?hops={hops}&direction={direction}&min_btc={min_btc}&node_limit={node_limit}&fold={fold}{via}")
}

impl FlowPage {
    fn new(address: &str, via: &str, told: Told<Graph>) -> Self {
        let graph = &told.data;
        let way = way_of(via);
        let mut onward: Vec<&str> = way.iter().copied().chain(way_of(address)).collect();
        onward.drain(..onward.len().saturating_sub(WAY));
        let nodes: Vec<drawing::Node<'_>> =
            graph.nodes.iter().map(|node| drawing::Node { id: &node.id, column: node.x, row: node.y }).collect();
        let edges: Vec<drawing::Edge<'_>> = graph
            .edges
            .iter()
            .map(|edge| drawing::Edge { source: &edge.source, target: &edge.target, sats: edge.value_sats })
            .collect();
        let drawing = Drawing::new(&nodes, &edges);
        let placed = graph.nodes.iter().filter_map(|node| {
            let (x, y) = *drawing.places.get(&node.id)?;
            let (name, amount, is_start) = (node.name(), format::btc(node.sats()), node.depth == 0);
            let kind = if node.kind == "address" { String::new() } else { format!(", {}", format::words(&node.kind)) };
            let hop = if is_start { "start".to_owned() } else { format!("hop {}", node.depth) };
            let path = node.address.as_ref().filter(|_| !is_start);
            Some(Placed {
                id: node.id.clone(),
                x,
                y,
                text: links::short(&name),
                name: format!("{name}{kind}, {amount}, {hop}"),
                amount,
                path: path.map(|other| flow_path(other, &onward, &graph.filters)),
                is_start,
            })
        });
        let nodes = placed.collect();
        let way = way.iter().enumerate().map(|(at, one)| Step {
            path: flow_path(one, way.get(..at).unwrap_or_default(), &graph.filters),
            address: (*one).to_owned(),
        });
        let way: Vec<Step> = way.collect();
        let via = way.iter().map(|step| step.address.as_str()).collect::<Vec<_>>().join(",");
        let action = format!("{}/flow", links::address_path(address));
        let (tabs, address) = (tabs(address, Tab::Flow), address.to_owned());
        let (stops, further) = stops_of(graph);
        let follow = format!("{action}?hops=4&direction=out&min_btc=0&node_limit={MAX_NODES}");
        let balances = None;
        FlowPage { tabs, address, action, via, way, nodes, drawing, stops, further, balances, follow, told }
    }

    /// Payments with their curves.
    fn lines(&self) -> impl Iterator<Item = (&Option<Curve>, &Edge)> {
        self.drawing.curves.iter().zip(&self.told.data.edges)
    }

    fn stop_addresses(&self) -> Vec<&str> {
        self.stops.iter().filter_map(|stop| stop.address.as_deref()).collect()
    }

    /// The confirmed balance of the address of a stop.
    fn holds(&self, stop: &Stop) -> Option<i64> {
        self.balances.as_ref()?.as_ref().ok()?.data.of(stop.address.as_deref()?)
    }

    /// The name of a node, as a link where it has an address.
    fn end(&self, id: &str) -> links::Markup {
        let known = self.told.data.nodes.iter().find(|node| node.id == id);
        match known.and_then(|node| node.address.as_deref().map(|address| (node, address))) {
            None => links::Markup(links::escaped(&known.map_or_else(|| id.to_owned(), Node::name))),
            Some((node, address)) => {
                let (link, name) = (links::short_address(address), node.name());
                if name == address { link } else { links::Markup(format!("{} {}", links::escaped(&name), link.0)) }
            }
        }
    }
}

/// Finds where the money that left the address of the graph stops.
fn stops_of(graph: &Graph) -> (Vec<Stop>, usize) {
    let Some(start) = graph.nodes.iter().find(|node| node.depth == 0) else { return Default::default() };
    let boxes = graph.nodes.iter().map(|node| stops::Reached {
        id: &node.id,
        kind: &node.kind,
        address: node.address.as_deref(),
    });
    let payments = graph.edges.iter().map(|edge| stops::Paid {
        source: &edge.source,
        target: &edge.target,
        sats: edge.value_sats,
    });
    stops::stops(&start.id, &boxes.collect::<Vec<_>>(), &payments.collect::<Vec<_>>())
}

pub(super) async fn page(State(site): State<Arc<Site>>, Path(address): Path<String>, parts: Parts) -> Response {
    let parameters = Parameters::of(&parts);
    let input = json!({
        "address": address,
        "hops": parameters.number("hops").unwrap_or(1),
        "direction": parameters.get("direction"),
        "min_btc": parameters.get("min_btc").and_then(|text| text.parse::<Number>().ok()),
        "node_limit": parameters.number("node_limit").unwrap_or(NODES).min(MAX_NODES),
        "fold": parameters.get("fold"),
    });
    match site.ask::<Graph>(&parts, "wallet_flow_graph", input).await {
        Err(refused) => answer::refused(&site, "Flow of money", "", &refused),
        Ok(told) => {
            let mut content = FlowPage::new(&address, parameters.get("via").unwrap_or_default(), told);
            let stopped = content.stop_addresses();
            if !stopped.is_empty() {
                content.balances = Some(site.ask(&parts, "batch_overview", json!({"addresses": stopped})).await);
            }
            let title = format!("Flow of money: {}", links::short(&address));
            let (kind, status) = (Kind::Unlisted, StatusCode::OK);
            Shown { title: &title, place: "", kind, status, scripts: &[TRACE_SCRIPT.path()], content: &content }
                .answer(&site)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Canned, body_of, get};

    const GRAPH: &str = r#"{"nodes":[
        {"id":"a1","kind":"address","address":"a1","depth":0,"value_in_sats":5,"value_out_sats":0},
        {"id":"b\"2","kind":"address","address":"b\"2","label":{"value":"B <script>"},"depth":1,"value_in_sats":0,
            "value_out_sats":5,"x":-240,"y":0},
        {"id":"coinbase","kind":"coinbase","address":null,"label":null,"depth":1,"value_in_sats":0,
            "value_out_sats":1,"x":-240,"y":40}],
        "edges":[{"source":"b\"2","target":"a1","value_sats":5,"count":2,"txids":["ab"],
            "first":null,"last":"2024-01-01T00:00:00Z"}],
        "filters":{"hops":1,"direction":"both","min_btc":0.1,"node_limit":40,"fold":"none"},
        "accounting":{"seen_sats":9,"shown_sats":5,"self_sats":1,"below_min_btc_sats":1,
            "omitted_sats":1,"not_followed_sats":1},
        "truncated_reasons":["history_cap"]}"#;

    #[tokio::test]
    async fn labels_are_inert_and_the_way_goes_on() {
        let canned = Canned::new().told("wallet_flow_graph", GRAPH);
        let response = get(canned, "/address/a1/flow?via=c3,%22%3E,d4").await;
        assert_eq!(response.headers()["x-robots-tag"], "noindex");
        let html = body_of(response).await;
        for part in [
            "B &#60;script&#62;",
            "/address/b%222/flow?hops=1",
            "via=c3,d4,a1",
            "history cap",
            "not in a block",
            "No payment",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert!(!html.contains("B <script>") && html.contains("value=\"c3,d4\""), "{html}");
    }

    /// A graph whose start pays one address.
    const PAYS: &str = r#"{"nodes":[
        {"id":"a1","kind":"address","address":"a1","depth":0,"value_in_sats":0,"value_out_sats":5},
        {"id":"b2","kind":"address","address":"b2","label":{"value":"B \u202e"},"depth":1,"value_in_sats":5,
            "value_out_sats":0,"x":240}],
        "edges":[{"source":"a1","target":"b2","value_sats":5,"count":1,"txids":["ab"],"first":null,"last":null}],
        "filters":{"hops":1,"direction":"out","min_btc":0,"node_limit":20,"fold":"none"},
        "accounting":{"seen_sats":5,"shown_sats":5,"self_sats":0,"below_min_btc_sats":0,
            "omitted_sats":0,"not_followed_sats":0}}"#;

    #[tokio::test]
    async fn stops_say_what_they_hold_or_why_nobody_knows() {
        let canned = Canned::new()
            .told("wallet_flow_graph", PAYS)
            .told("batch_overview", r#"{"results":[{"address":"b2","balance":{"confirmed_sats":7}}]}"#);
        let html = body_of(get(canned, "/address/a1/flow").await).await;
        assert!(html.contains("holds at least as much") && html.contains("0.00000007 BTC"), "{html}");
        assert!(html.contains("B \\u{202e}") && !html.contains('\u{202e}'), "{html}");
        let canned =
            Canned::new().told("wallet_flow_graph", PAYS).refused("batch_overview", 429, "rate_limited", "wait <5 s>");
        let html = body_of(get(canned, "/address/a1/flow").await).await;
        assert!(html.contains("wait &#60;5 s&#62;") && html.contains("balance unknown"), "{html}");
    }

    #[tokio::test]
    async fn a_refusal_keeps_its_status() {
        let canned = Canned::new().refused("wallet_flow_graph", 400, "invalid_address", "<x> is not an address");
        let response = get(canned, "/address/x/flow").await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        assert!(body_of(response).await.contains("&#60;x&#62; is not an address"));
    }

    #[test]
    fn the_way_is_bounded() {
        let way = (0..20).map(|at| at.to_string()).collect::<Vec<_>>().join(",");
        assert_eq!(way_of(&way).len(), WAY);
        assert_eq!(way_of("a,<b>,,c"), ["a", "c"]);
    }
}
