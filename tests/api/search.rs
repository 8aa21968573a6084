//! The search of labels: what is asked for is refused or answered within its bounds, whatever it is.

use serde_json::{Value, json};

use crate::{
    claims::take_example,
    support::{World, assert_problem, everything_world, get, get_ok, script_hash},
};

const SEARCH: &str = "/v1/labels/search";

/// A value of the query.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn asking(text: &str) -> String {
    format!("{SEARCH}?q={}", encoded(text))
}

/// Any script of the chain that a list can name, as a parameter.
fn a_script(world: &World) -> String {
    script_hash(world.oracle.scripts().find(|script| (1..=10_000).contains(&script.len())).unwrap())
}

#[tokio::test]
async fn without_labels_nothing_is_found_and_it_says_why() {
    let world = &everything_world();
    let router = world.open_router();
    let body = get_ok(&router, SEARCH, &asking("Binance")).await;
    assert_eq!((&body["results"], &body["reason"]), (&json!([]), &"no labels are loaded".into()));
    assert_eq!((&body["query"], &body["address"]), (&"Binance".into(), &Value::Null));
    assert_eq!((&body["untrusted_content"], &body["truncated"]), (&true.into(), &false.into()));
    // The label of an address stands next to it.
    let script = a_script(world);
    let body = get_ok(&router, SEARCH, &asking(&script)).await;
    let of = &body["address"];
    assert_eq!((of["script_hash"].as_str(), &of["name"]), (script.strip_prefix("scripthash:"), &Value::Null));
    assert_eq!(of["reason"], "no claim says who or what it may be");
    let csv = get(&router, &format!("{}&format=csv", asking("x"))).await;
    assert_eq!(csv.text, "name,kind,entity,category,behaviour,match,typos,address_count,sample_addresses\r\n");
}

#[tokio::test]
async fn hostile_questions_are_refused_or_answered() {
    let world = &everything_world();
    take_example(world, &a_script(world));
    let router = world.open_router();
    for text in [
        "<script>alert(1)</script>",
        "\u{202e}ecnanib\u{202c}",
        "\0",
        "a\0b",
        "😀",
        "' OR 1=1 --",
        "%",
        &"\u{fdfa}".repeat(80),
        &"a".repeat(80),
        &"a ".repeat(40),
        &"\u{301}".repeat(80),
        "\u{10ffff}",
    ] {
        let body = get_ok(&router, SEARCH, &asking(text)).await;
        assert_eq!(body["query"], text);
        assert_eq!((&body["results"], &body["truncated"]), (&json!([]), &false.into()), "{text:?}");
    }
    for query in ["q=", "", &format!("q={}", "a".repeat(81)), "q=a&limit=0", "q=a&limit=101", "q=a&kind=person"] {
        assert_problem(&get(&router, &format!("{SEARCH}?{query}")).await, 422, "validation_error");
    }
    for query in ["q=a&category=bank", "q=a&behaviour=nice", "q=a&fuzzy=perhaps", "q=a&format=xml"] {
        assert_problem(&get(&router, &format!("{SEARCH}?{query}")).await, 422, "validation_error");
    }
    assert_problem(&get(&router, &format!("{SEARCH}?q=%ff")).await, 400, "invalid_query");
    let status = get(&router, &format!("{SEARCH}?q={}", "a".repeat(60_000))).await.status;
    assert!((400..500).contains(&status), "{status}");
    get_ok(&router, SEARCH, &format!("{SEARCH}?q=a&kind=label&category=exchange&behaviour=scam&fuzzy=false")).await;
}
