//! The pages for people on the demo chain: every item that `docs/pages.md` lists is shown, every link leads to a page,
//! and nothing on them comes from elsewhere.

mod list;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    net::SocketAddr,
};

use cairn_chaingen::demo::actors;
use cairn_support::{
    World,
    loopback::{Answer, Client},
};
use cairn_testkit::workspace_root;
use list::{Page, pages};

use crate::CAIRN;

/// A demo that stands still, for whoever asks for many pages.
const DEMO: &str = "demo --still --datadir demo --listen 127.0.0.1:0 --rate-limit 0";
/// Bytes of a page with its style and scripts.
const HEAVIEST: usize = 150 * 1024;
/// Pages that are followed: the chain has many blocks, and each links the one before.
const MOST_PAGES: usize = 400;
/// Elements without an end.
const VOID: [&str; 4] = ["img", "input", "br", "hr"];

/// Items of a page, each with its inner HTML.
fn items(html: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (at, _) in html.match_indices("data-item=\"") {
        let start = html[..at].rfind('<').unwrap();
        let name = html[start + 1..].split([' ', '>']).next().unwrap();
        let item = html[at..].split('"').nth(1).unwrap().to_owned();
        let open_end = at + html[at..].find('>').unwrap() + 1;
        let inner =
            if VOID.contains(&name) { html[start..open_end].to_owned() } else { inner(&html[open_end..], name) };
        found.push((item, inner));
    }
    found
}

/// The content up to the end of an element of this name that has just begun.
fn inner(rest: &str, name: &str) -> String {
    let (open, close) = (format!("<{name}"), format!("</{name}>"));
    let (mut depth, mut at) = (1, 0);
    loop {
        let end = at + rest[at..].find(&close).unwrap_or_else(|| panic!("<{name}> has no end: {rest:.200}"));
        let begun = rest[at..end]
            .match_indices(&open)
            .filter(|(place, _)| rest[at + place + open.len()..].starts_with([' ', '>']));
        depth += begun.count();
        depth -= 1;
        if depth == 0 {
            return rest[..end].to_owned();
        }
        at = end + close.len();
    }
}

/// True if a reader sees something of it.
fn is_visible(inner: &str) -> bool {
    let mut text = String::new();
    let mut is_tag = false;
    for c in inner.chars() {
        match c {
            '<' => is_tag = true,
            '>' => is_tag = false,
            c if !is_tag => text.push(c),
            _ => {}
        }
    }
    text.chars().any(char::is_alphanumeric)
        || ["<svg", "<img", "<input", "<textarea", "<select"].iter().any(|tag| inner.contains(tag))
}

fn text_of(answer: &Answer) -> String {
    String::from_utf8(answer.body.clone()).unwrap()
}

/// Sends what an example asks for.
fn open(client: &mut Client, example: &str) -> Answer {
    match example.strip_prefix("POST ").and_then(|rest| rest.split_once(' ')) {
        Some((path, form)) => client.submit(path, form).unwrap(),
        None => client.get(example),
    }
}

#[test]
fn pages_show_all_that_the_list_says() {
    let world = World::empty(CAIRN);
    let mut running = world.start(DEMO);
    let address: SocketAddr = running.address().parse().unwrap();
    let mut client = Client::from(1, address);
    let actors = actors().unwrap();
    let mut names: BTreeMap<&str, String> =
        actors.iter().map(|actor| (actor.name, actor.addresses[0].to_string())).collect();
    // A transaction that moved coins, and one that waits.
    let sleeper = names["sleeper"].clone();
    let moved = client.get(&format!("/v1/wallets/{sleeper}/overview")).json()["last_seen"]["txid"].clone();
    let newest = client.get(&format!("/v1/wallets/{sleeper}/transactions?limit=1")).json();
    let waiting = newest["transactions"][0]["txid"].clone();
    for (name, txid) in [("moved", moved), ("waiting", waiting)] {
        names.insert(name, txid.as_str().unwrap().to_owned());
    }
    let exchange = names["exchange"].clone();
    let card = client.get(&format!("/v1/wallets/{exchange}/trust-safety")).json();
    names.insert("claim", card["best_claim"]["claim_id"].as_str().unwrap().to_owned());
    // Another transaction that nobody has seen: the one that waits, with another locktime.
    let hex = client.get(&format!("/v1/tx/{}?include_hex=true", names["waiting"])).json()["hex"].clone();
    let hex = hex.as_str().unwrap();
    names.insert("signed", format!("{}01000000", &hex[..hex.len() - 8]));
    let text = std::fs::read_to_string(workspace_root().join("docs/pages.md")).unwrap();
    let pages = pages(&text, &names);
    assert!(pages.len() >= 4, "{pages:?}");
    let mut faults = Vec::new();
    for Page { title, examples, items: listed } in &pages {
        let mut shown: BTreeMap<String, bool> = BTreeMap::new();
        for example in examples {
            let answer = open(&mut client, example);
            let html = text_of(&answer);
            // A form that is refused shows why; so does a search that finds nothing.
            let is_expected = match example.starts_with("POST ") {
                true => answer.status >= 400 || answer.status == 200,
                false => matches!(answer.status, 200 | 404),
            };
            if !is_expected {
                faults.push(format!("{title}: {example}: {} {html:.300}", answer.status));
            }
            for (item, inner) in items(&html) {
                *shown.entry(item).or_default() |= is_visible(&inner);
            }
        }
        for item in listed {
            match shown.get(item) {
                Some(true) => {}
                Some(false) => faults.push(format!("{title}: {item} is empty")),
                None => faults.push(format!("{title}: {item} is not there")),
            }
        }
        let unlisted = shown.keys().filter(|item| !listed.contains(item.as_str()));
        faults.extend(unlisted.map(|item| format!("{title}: {item} is not in docs/pages.md")));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Where the links of a page lead, without the place on the page.
fn links(html: &str) -> BTreeSet<String> {
    let targets = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    let whole =
        targets.map(|target| target.split('#').next().unwrap_or_default().replace("&#38;", "&").replace("&amp;", "&"));
    whole.filter(|target| target.starts_with('/')).collect()
}

/// True for pages whose links are followed; documents and answers of the API are only opened.
fn is_page(path: &str) -> bool {
    !["/v1/", "/api/", "/assets/", "/openapi", "/llms", "/style", "/fav"].iter().any(|start| path.starts_with(start))
}

#[test]
fn links_lead_to_pages_and_nothing_comes_from_elsewhere() {
    let world = World::empty(CAIRN);
    let mut running = world.start(DEMO);
    let address: SocketAddr = running.address().parse().unwrap();
    let mut client = Client::from(1, address);
    let mut queue: VecDeque<(String, String)> = VecDeque::from([("/".to_owned(), String::new())]);
    for actor in actors().unwrap() {
        queue.push_back((format!("/address/{}", actor.addresses[0]), String::new()));
    }
    let mut seen: BTreeSet<String> = queue.iter().map(|(path, _)| path.clone()).collect();
    let (mut opened, mut faults) = (0, Vec::new());
    let mut weights: BTreeMap<String, usize> = BTreeMap::new();
    while let Some((path, from)) = queue.pop_front() {
        let answer = client.get(&path);
        let html = text_of(&answer);
        // A redirect is followed by its place alone.
        // Gains of a long history need a session, and some are too long to compute: the page says so.
        let may_be_refused = path.split('?').next().is_some_and(|path| path.ends_with("/pnl"));
        let is_expected = match answer.status {
            200 | 302 | 303 | 307 | 308 => true,
            402 | 503 => may_be_refused,
            _ => false,
        };
        if !is_expected {
            faults.push(format!("{path} (linked by {from}): {} {html:.200}", answer.status));
            continue;
        }
        if !is_page(&path) {
            weights.insert(path, html.len());
            continue;
        }
        opened += 1;
        let policy = answer.header("content-security-policy").unwrap_or_default();
        if answer.status == 200 && (!policy.contains("default-src 'none'") || policy.contains("unsafe")) {
            faults.push(format!("{path}: policy {policy:?}"));
        }
        for absent in ["<style", " style=\"", "href=\"http", "src=\"http", "javascript:", " onclick", "<script>"] {
            if html.contains(absent) {
                faults.push(format!("{path} contains {absent}"));
            }
        }
        let loaded = html.split("<link rel=\"stylesheet\" href=\"").chain(html.split("<script src=\"")).skip(1);
        let loaded: BTreeSet<&str> =
            loaded.filter_map(|rest| rest.split('"').next()).filter(|p| p.starts_with('/')).collect();
        let weight =
            html.len() + loaded.iter().map(|path| weights.get(*path).copied().unwrap_or_default()).sum::<usize>();
        if weight > HEAVIEST {
            faults.push(format!("{path} has {weight} bytes"));
        }
        for link in links(&html) {
            if seen.len() < MOST_PAGES && seen.insert(link.clone()) {
                queue.push_back((link, path.clone()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(opened > 50, "{opened}");
}

#[test]
fn items_are_found_whole() {
    let html =
        "<dl><div data-item=\"a\"><div>x</div> y</div><p data-item=\"b\"> </p><img data-item=\"c\" src=\"/x\"></dl>";
    let found = items(html);
    assert_eq!(found[0], ("a".to_owned(), "<div>x</div> y".to_owned()));
    assert_eq!(found.iter().map(|(_, inner)| is_visible(inner)).collect::<Vec<_>>(), [true, false, true]);
}
