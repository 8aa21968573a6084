//! Operations about entities: whom labels name, with the sums over their scripts.

use std::collections::BTreeMap;

use bitcoin::{ScriptBuf, hashes::Hash};
use cairn_events::{Category, Claim, ClaimType, EvidenceTier, Profile};
use cairn_model::TxNum;
use serde_json::{Value, json};

use crate::{
    claims::{claim, listed, take, take_profiles, wallets},
    priced::{now, time},
    support::{World, assert_problem, everything_world, get, get_ok, script_hash},
};

const CATEGORIES: &str = "/v1/entities/categories";
const DIRECTORY: &str = "/v1/entities/directory";
const LIST: &str = "/v1/entities/list";
const LOOKUP: &str = "/v1/entities/{entity_name}";
const ACTIVITY: &str = "/v1/entities/{entity_name}/activity";

fn path(template: &str, name: &str) -> String {
    template.replace("{entity_name}", name)
}

/// Satoshis that scripts received and sent together, transaction by transaction.
#[derive(Default)]
struct Movement {
    txid: String,
    height: u32,
    received: u64,
    sent: u64,
    members: u64,
}

/// The transactions of scripts, the newest first.
fn movements(world: &World, scripts: &[ScriptBuf]) -> Vec<Movement> {
    let mut found: BTreeMap<TxNum, Movement> = BTreeMap::new();
    for script in scripts {
        for row in world.oracle.history(script) {
            let of = found.entry(row.tx_num).or_default();
            (of.txid, of.height) = (bitcoin::Txid::from_byte_array(row.txid.to_byte_array()).to_string(), row.height);
            of.received += row.received_sats;
            of.sent += row.spent_sats;
            of.members += 1;
        }
    }
    found.into_values().rev().collect()
}

fn sums(world: &World, scripts: &[ScriptBuf]) -> (u64, u64) {
    let all = movements(world, scripts);
    (all.iter().map(|of| of.received).sum(), all.iter().map(|of| of.sent).sum())
}

fn block_time(world: &World, height: u32) -> u32 {
    world.oracle.blocks()[height as usize].header.time
}

fn names(body: &Value) -> Vec<&str> {
    body["entities"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap()).collect()
}

/// Scripts with an address, in an order that mixes old and new ones.
fn scripts(world: &World) -> Vec<ScriptBuf> {
    wallets(world).into_iter().map(|(script, _)| script).collect()
}

fn claims(scripts: &[ScriptBuf], entity: &str) -> Vec<Claim> {
    scripts.iter().map(|script| claim(script, entity)).collect()
}

#[tokio::test]
async fn without_labels_nobody_is_known() {
    let world = &everything_world();
    let router = world.open_router();
    let list = get_ok(&router, LIST, LIST).await;
    assert_eq!((&list["total"], &list["entities"], &list["next_cursor"]), (&0.into(), &json!([]), &Value::Null));
    assert_eq!(list["basis"]["labels_loaded"], false);
    assert!(list["_meta"]["warnings"].to_string().contains("no_label_source"), "{list}");
    assert_eq!(get_ok(&router, CATEGORIES, CATEGORIES).await["categories"], json!([]));
    assert_eq!(get_ok(&router, DIRECTORY, DIRECTORY).await["categories"], json!([]));
    for template in [LOOKUP, ACTIVITY] {
        let reply = get(&router, &path(template, "binance")).await;
        assert_problem(&reply, 404, "entity_not_found");
        assert_eq!(reply.body["did_you_mean"], json!([]));
    }
}

#[tokio::test]
async fn names_that_nobody_has_are_refused_inertly() {
    let world = &everything_world();
    let router = world.open_router();
    for name in ["%3Cscript%3Ealert(1)%3C%2Fscript%3E", "%E2%80%AE", "%00", "..", "%F0%9F%92%A9", "%20", "..%2Flist"] {
        let reply = get(&router, &path(LOOKUP, name)).await;
        assert_eq!(reply.status, 404, "{name}: {}", reply.text);
        assert!(!reply.text.contains("<script>") && !reply.text.contains('\u{202e}'), "{}", reply.text);
    }
    for bad in ["since=0d", "since=yesterday", "limit=0", "limit=101"] {
        let reply = get(&router, &format!("{}?{bad}", path(ACTIVITY, "abc"))).await;
        assert_problem(&reply, 422, "validation_error");
    }
    for bad in ["category=nonsense", "sort=size", "limit=501", "min_members=-1", "cursor=00"] {
        let reply = get(&router, &format!("{LIST}?{bad}")).await;
        assert_problem(&reply, 422, "validation_error");
    }
}

#[tokio::test]
async fn an_entity_is_the_sum_of_its_members() {
    let world = &everything_world();
    let router = world.open_router();
    let all = scripts(world);
    let (members, rest) = all.split_at(30);
    let unseen = ScriptBuf::from(vec![0x51, 0x93, 0x77]);
    let mut said = claims(members, "abc");
    said.push(claim(&unseen, "abc"));
    said.push(Claim { entity: Some("abc".parse().unwrap()), entity_name: "abc".into(), ..listed(&rest[0]) });
    take(world, "first", now() - 5, false, &said);
    take(world, "second", now() - 5, false, &claims(&members[..4], "abc"));
    // A conflict counts nowhere.
    take(world, "third", now() - 5, false, &[claim(&rest[1], "abc")]);
    take(world, "fourth", now() - 5, false, &[claim(&rest[1], "xyz")]);

    let found = get_ok(&router, LOOKUP, &format!("{}?member_limit=200", path(LOOKUP, "abc"))).await;
    let (received, sent) = sums(world, members);
    assert_eq!((&found["received_sats"], &found["sent_sats"]), (&received.into(), &sent.into()));
    for balance in ["balance_sats", "direct_balance_sats"] {
        assert_eq!(found[balance], received - sent);
    }
    // A claim of level 40 makes a member, and is too weak to extend.
    assert_eq!((&found["inherited_balance_sats"], &found["inherited"]["address_count"]), (&0.into(), &0.into()));
    assert_eq!((&found["address_count"], &found["seen_count"]), (&31.into(), &30.into()));
    assert_eq!((&found["category"], &found["display_name"]), (&"exchange".into(), &"ABC".into()));
    assert_eq!((&found["coverage_status"], &found["coverage"]["origins"]), (&"partial".into(), &2.into()));
    assert_eq!((&found["is_person"], &found["found_by"]), (&false.into(), &"name".into()));
    assert_eq!(found["sources"][0], json!({"origin": "first", "address_count": 31}));
    let newest = &movements(world, members)[0];
    assert_eq!(found["last_activity_at"], time(block_time(world, newest.height)));
    assert_eq!(found["last_activity_height"], newest.height);

    let rows = found["members"].as_array().unwrap();
    assert_eq!((rows.len(), &found["next_cursor"]), (31, &Value::Null));
    assert_eq!((&rows[30]["address"], &rows[30]["last_activity_at"]), (&script_hash(&unseen).into(), &Value::Null));
    for row in &rows[..30] {
        let (script, _) = wallets(world).into_iter().find(|(_, address)| row["address"] == **address).unwrap();
        let (received, sent) = sums(world, std::slice::from_ref(&script));
        assert_eq!((&row["balance_sats"], &row["confidence_level"]), (&(received - sent).into(), &40.into()));
        assert_eq!(row["tx_count"], world.oracle.history(&script).len());
    }
    assert!(found["named_count"].as_u64().unwrap() >= 1);
    let named: Vec<_> = found["named"].as_array().unwrap().iter().map(|of| &of["address"]).collect();
    assert!(named.contains(&&wallets(world)[30].1.clone().into()), "{named:?}");

    // Page by page the same.
    let (mut target, mut paged) = (format!("{}?member_limit=7", path(LOOKUP, "abc")), Vec::new());
    loop {
        let page = get_ok(&router, LOOKUP, &target).await;
        paged.extend(page["members"].as_array().unwrap().clone());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        let other = get(&router, &format!("{}?cursor={cursor}", path(LOOKUP, "xyz"))).await;
        assert!(other.status == 422 || other.status == 404, "{}", other.text);
        target = format!("{}?member_limit=7&cursor={cursor}", path(LOOKUP, "abc"));
    }
    assert_eq!(&paged, rows);
}

#[tokio::test]
async fn activity_is_every_transaction_once() {
    let world = &everything_world();
    let router = world.open_router();
    let all = scripts(world);
    // Every third: some transactions have members on both sides, others one among many.
    let members: Vec<ScriptBuf> = all.iter().step_by(3).cloned().collect();
    take(world, "first", now() - 5, false, &claims(&members, "abc"));
    let expected = movements(world, &members);
    assert!(expected.len() > 100 && expected.iter().any(|of| of.members > 2));
    let tip = world.oracle.blocks().len() as u32 - 1;
    let check = |body: &Value, expected: &[Movement]| {
        let rows = body["transactions"].as_array().unwrap();
        assert_eq!(rows.len(), expected.len());
        for (row, of) in rows.iter().zip(expected) {
            assert_eq!((&row["txid"], &row["height"]), (&of.txid.clone().into(), &of.height.into()));
            assert_eq!((&row["received_sats"], &row["sent_sats"]), (&of.received.into(), &of.sent.into()), "{row}");
            assert_eq!(row["net_sats"], of.received as i64 - of.sent as i64);
            assert_eq!(
                (&row["member_count"], &row["time_unix"]),
                (&of.members.into(), &block_time(world, of.height).into())
            );
            assert_eq!(row["provisional"], tip + 1 - of.height < 6);
        }
    };
    for limit in [1, 2, 17, 100] {
        let target = format!("{}?limit={limit}", path(ACTIVITY, "abc"));
        let body = get_ok(&router, ACTIVITY, &target).await;
        check(&body, &expected[..limit.min(expected.len())]);
        assert_eq!((&body["truncated"], &body["since_height"]), (&false.into(), &Value::Null));
    }
    // Since a height, and since times of the same meaning.
    let since = tip - 8;
    let wanted: Vec<_> = expected.into_iter().take_while(|of| of.height >= since).take(100).collect();
    let body = get_ok(&router, ACTIVITY, &format!("{}?limit=100&since={since}", path(ACTIVITY, "abc"))).await;
    check(&body, &wanted);
    let first =
        (0..=tip).find(|height| world.oracle.monotone_time(*height) >= world.oracle.monotone_time(since)).unwrap();
    let at = time(world.oracle.monotone_time(since));
    let body = get_ok(&router, ACTIVITY, &format!("{}?since={at}", path(ACTIVITY, "abc"))).await;
    assert_eq!(body["since_height"], first);
    let body = get_ok(&router, ACTIVITY, &format!("{}?since={}", path(ACTIVITY, "abc"), tip + 50)).await;
    assert_eq!((&body["transactions"], &body["since_height"]), (&json!([]), &(tip + 1).into()));
    let body = get_ok(&router, ACTIVITY, &format!("{}?since=36500d", path(ACTIVITY, "abc"))).await;
    assert_eq!(body["since_height"], 0);
}

#[tokio::test]
async fn lists_are_sorted_filtered_and_paged() {
    let world = &everything_world();
    let router = world.open_router();
    let all = scripts(world);
    let mut said = Vec::new();
    for (n, part) in all.chunks(4).take(9).enumerate() {
        let category = if n % 2 == 0 { Category::Exchange } else { Category::MiningPool };
        let part = &part[..1 + n % 4];
        said.extend(claims(part, &format!("e{n}")).into_iter().map(|of| Claim { category: Some(category), ..of }));
    }
    take(world, "first", now() - 5, false, &said);
    let whole = get_ok(&router, LIST, LIST).await;
    assert_eq!((&whole["total"], whole["entities"].as_array().unwrap().len()), (&9.into(), 9));
    for (sort, key) in [("balance", "balance_sats"), ("addresses", "address_count")] {
        let body = get_ok(&router, LIST, &format!("{LIST}?sort={sort}")).await;
        let keys: Vec<u64> = body["entities"].as_array().unwrap().iter().map(|of| of[key].as_u64().unwrap()).collect();
        assert!(keys.is_sorted_by(|a, b| a >= b), "{sort}: {keys:?}");
    }
    let last = |name: &str| {
        let n: usize = name[1..].parse().unwrap();
        let part = &all.chunks(4).nth(n).unwrap()[..1 + n % 4];
        part.iter().map(|script| world.oracle.history(script).last().unwrap().tx_num).max()
    };
    let body = get_ok(&router, LIST, &format!("{LIST}?sort=activity")).await;
    assert!(names(&body).is_sorted_by(|a, b| last(a) >= last(b)), "{body}");
    let body = get_ok(&router, LIST, &format!("{LIST}?sort=name")).await;
    assert_eq!(names(&body), ["e0", "e1", "e2", "e3", "e4", "e5", "e6", "e7", "e8"]);
    let body = get_ok(&router, LIST, &format!("{LIST}?sort=name&category=mining_pool&min_members=4")).await;
    assert_eq!((names(&body), &body["total"]), (vec!["e3", "e7"], &2.into()));
    // Page by page the same; a cursor fits its own list only.
    let (mut target, mut paged) = (format!("{LIST}?limit=2"), Vec::new());
    loop {
        let page = get_ok(&router, LIST, &target).await;
        paged.extend(page["entities"].as_array().unwrap().clone());
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        assert_problem(&get(&router, &format!("{LIST}?sort=name&cursor={cursor}")).await, 422, "validation_error");
        target = format!("{LIST}?limit=2&cursor={cursor}");
    }
    assert_eq!(&paged, whole["entities"].as_array().unwrap());
    let csv = get(&router, &format!("{LIST}?sort=name&format=csv")).await;
    assert!(csv.text.starts_with("name,display_name,category,coverage_status,address_count"), "{}", csv.text);
    assert!(csv.text.lines().nth(1).unwrap().starts_with("e0,E0,exchange,seed_only,1,1,"), "{}", csv.text);
    assert_eq!(csv.text.lines().count(), 10);

    let sum =
        |rows: &Value, key: &str| rows.as_array().unwrap().iter().map(|of| of[key].as_u64().unwrap()).sum::<u64>();
    let categories = get_ok(&router, CATEGORIES, CATEGORIES).await;
    let directory = get_ok(&router, DIRECTORY, &format!("{DIRECTORY}?per_category=2")).await;
    for body in [&categories, &directory] {
        assert_eq!(body["categories"].as_array().unwrap().len(), 2);
        for key in ["balance_sats", "address_count"] {
            assert_eq!(sum(&body["categories"], key), sum(&whole["entities"], key), "{key}");
        }
        assert_eq!(sum(&body["categories"], "entity_count"), 9);
    }
    for part in directory["categories"].as_array().unwrap() {
        let shown = part["entities"].as_array().unwrap();
        assert_eq!(
            (shown.len() as u64 + part["more"].as_u64().unwrap(), shown.len()),
            (part["entity_count"].as_u64().unwrap(), 2)
        );
        assert!(shown[0]["balance_sats"].as_u64() >= shown[1]["balance_sats"].as_u64());
    }
    assert_eq!(categories["categories"][0]["largest"], directory["categories"][0]["entities"][0]["name"]);
}

#[tokio::test]
async fn names_have_other_spellings() {
    let world = &everything_world();
    let router = world.open_router();
    let all = scripts(world);
    let written =
        |script: &ScriptBuf, entity: &str, name: &str| Claim { entity_name: name.into(), ..claim(script, entity) };
    let said = [
        written(&all[0], "htx", "Huobi Global"),
        written(&all[1], "htx", "HTX"),
        written(&all[2], "htx", "HTX"),
        written(&all[3], "bitfinex", "Bitfinex"),
        written(&all[4], "other", "Huobi Global"),
    ];
    take(world, "first", now() - 5, false, &said);
    for (name, by) in [("htx", "name"), ("HTX", "name"), ("Huobi%20Global", "alias"), ("huobi-global", "alias")] {
        let found = get_ok(&router, LOOKUP, &path(LOOKUP, name)).await;
        assert_eq!(
            (&found["name"], &found["found_by"], &found["display_name"]),
            (&"htx".into(), &by.into(), &"HTX".into())
        );
        let activity = get_ok(&router, ACTIVITY, &path(ACTIVITY, name)).await;
        assert_eq!((&activity["name"], &activity["found_by"]), (&"htx".into(), &by.into()));
    }
    let reply = get(&router, &path(LOOKUP, "bitfinx")).await;
    assert_problem(&reply, 404, "entity_not_found");
    assert_eq!(reply.body["did_you_mean"], json!(["bitfinex"]));
}

#[tokio::test]
async fn natural_persons_are_found_by_their_exact_name_only() {
    let world = &everything_world();
    let router = world.open_router();
    let all = scripts(world);
    let person =
        |script: &ScriptBuf| Claim { is_person: true, entity_name: "Jane Doe".into(), ..claim(script, "jane-doe-1") };
    take(world, "first", now() - 5, false, &[person(&all[0]), person(&all[1]), claim(&all[2], "abc")]);
    let found = get_ok(&router, LOOKUP, &path(LOOKUP, "jane-doe-1")).await;
    assert_eq!((&found["is_person"], &found["address_count"]), (&true.into(), &2.into()));
    let activity = get_ok(&router, ACTIVITY, &path(ACTIVITY, "jane-doe-1")).await;
    assert_eq!(activity["is_person"], true);
    for name in ["Jane%20Doe", "jane-doe", "Jane%20Doe%201"] {
        let reply = get(&router, &path(LOOKUP, name)).await;
        assert_problem(&reply, 404, "entity_not_found");
        assert!(!reply.body["did_you_mean"].to_string().contains("jane"), "{}", reply.text);
    }
    for target in [LIST, DIRECTORY, CATEGORIES] {
        let reply = get(&router, target).await;
        assert!(!reply.text.to_lowercase().contains("jane") && reply.text.contains("abc"), "{}", reply.text);
    }
    assert_eq!(get_ok(&router, LIST, LIST).await["total"], 1);
}

#[tokio::test]
async fn coverage_follows_the_holders_own_list() {
    let world = &everything_world();
    let router = world.open_router();
    let all = scripts(world);
    let own = |entity: &str| Claim { tier: EvidenceTier::SelfDisclosed, level: 90, ..claim(&all[0], entity) };
    let day = 86_400;
    take(world, "own-new", now() - 80 * day, true, &[own("new")]);
    take(world, "own-old", now() - 100 * day, true, &[Claim { script: all[1].as_bytes().into(), ..own("old") }]);
    take(world, "own-part", now() - day, false, &[Claim { script: all[2].as_bytes().into(), ..own("part") }]);
    for (name, status, is_complete) in [("new", "full", true), ("old", "seed_only", true), ("part", "seed_only", false)]
    {
        let found = get_ok(&router, LOOKUP, &path(LOOKUP, name)).await;
        assert_eq!(found["coverage_status"], status, "{found}");
        assert_eq!(found["own_lists"][0]["complete_at"].is_string(), is_complete, "{found}");
        let list = get_ok(&router, LIST, LIST).await;
        let row = list["entities"].as_array().unwrap().iter().find(|of| of["name"] == name).unwrap();
        assert_eq!(row["coverage_status"], status);
    }
}

#[tokio::test]
async fn a_new_document_changes_the_answers() {
    let world = &everything_world();
    let router = world.open_router();
    let all = scripts(world);
    take(world, "first", now() - 50, true, &claims(&all[..3], "abc"));
    let before = get(&router, LIST).await;
    assert_eq!(before.body["entities"][0]["address_count"], 3);
    take(world, "first", now() - 5, true, &claims(&all[1..3], "abc"));
    let after = get(&router, LIST).await;
    assert_eq!(after.body["entities"][0]["address_count"], 2);
    assert_ne!(before.header("etag"), after.header("etag"));
    // Who only names it makes no member.
    let pays = Claim { claim_type: ClaimType::ReportedAs, ..claim(&all[5], "abc") };
    take(world, "second", now() - 5, false, &[pays]);
    let found = get_ok(&router, LOOKUP, &path(LOOKUP, "abc")).await;
    assert_eq!((&found["address_count"], &found["named_count"]), (&2.into(), &1.into()));
}

#[tokio::test]
async fn sources_say_what_an_entity_is_itself() {
    let world = &everything_world();
    let router = world.open_router();
    let all = scripts(world);
    let person = Claim { is_person: true, ..claim(&all[1], "jane-doe") };
    take(world, "first", now() - 5, false, &[claim(&all[0], "an-exchange"), person]);
    let profile = |row: u32, entity: &str, aliases: &[&str]| Profile {
        row,
        entity: entity.parse().unwrap(),
        name: entity.to_uppercase().into(),
        aliases: aliases.iter().map(|alias| (*alias).into()).collect(),
        category: Some(Category::Exchange),
        homepage: "an.example".into(),
        jurisdictions: vec!["VG".parse().unwrap()],
        legal_name: "".into(),
        asserted_at: None,
    };
    let list = |seconds_ago: u32, source: &str, rows| take_profiles(world, source, now() - seconds_ago, rows);
    let lookup = async |name: &str| get(&router, &path(LOOKUP, name)).await;
    assert_eq!(lookup("an-exchange").await.body["profiles"], json!([]));
    assert_problem(&lookup("anx").await, 404, "entity_not_found");
    list(
        9,
        "packs",
        vec![
            profile(1, "an-exchange", &["AnX", "Both"]),
            profile(2, "another", &["Both", "Nowhere"]),
            profile(3, "jane-doe", &["JD"]),
        ],
    );
    let found = lookup("anx").await.body;
    assert_eq!((&found["name"], &found["found_by"]), (&"an-exchange".into(), &"alias".into()));
    let said = &found["profiles"][0];
    assert_eq!(
        (&said["source"], &said["list"], &said["name"]),
        (&"packs".into(), &"actors".into(), &"AN-EXCHANGE".into())
    );
    assert_eq!((&said["jurisdictions"], &said["homepage"]), (&json!(["VG"]), &"an.example".into()));
    assert_eq!((&said["legal_name"], &said["asserted_at"]), (&Value::Null, &Value::Null));
    // Two entities have one name, one has no address, and one is a person.
    for name in ["both", "nowhere", "jd", "another"] {
        assert_problem(&lookup(name).await, 404, "entity_not_found");
    }
    assert_eq!(lookup("jane-doe").await.body["profiles"], json!([]));
    // A list holds as it was retrieved last, in whatever order its documents come; sources stand beside each other.
    list(20, "packs", vec![profile(1, "an-exchange", &["Older"])]);
    assert_problem(&lookup("older").await, 404, "entity_not_found");
    list(1, "packs", vec![profile(1, "an-exchange", &["Newer"])]);
    assert_problem(&lookup("anx").await, 404, "entity_not_found");
    for at in 0..9 {
        list(50 + at, &format!("other-{at}"), vec![profile(1, "an-exchange", &[])]);
    }
    let found = lookup("newer").await.body;
    let sources: Vec<&str> =
        found["profiles"].as_array().unwrap().iter().map(|of| of["source"].as_str().unwrap()).collect();
    assert_eq!((sources.len(), sources[0], sources[7], &found["profiles_omitted"]), (8, "packs", "other-6", &2.into()));
}
