//! `cairn sanctions`, with the real binary: approvals, two pairs of eyes, feeds that change, and a server that follows.

use std::{
    fs::{self, File},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, SystemTime},
};

use cairn_support::{
    Running, World, fails, get,
    server::{Reply, Server},
    wait_until,
};
use serde_json::Value;

use crate::{CAIRN, labels::wallet};

const DAY: u64 = 86_400;

/// An asset of OFAC's list, by the number of its feature.
const ASSETS: &str = "<FeatureTypeValues><FeatureType ID=\"344\">Digital Currency Address - XBT</FeatureType>\
    <FeatureType ID=\"345\">Digital Currency Address - ETH</FeatureType></FeatureTypeValues>";

/// A file in the form of `sdn_advanced.xml`: parties with number, name and addresses, each with its asset.
fn sdn(world: &World, name: &str, days_old: u64, parties: &[(u32, &str, &[(u32, String)])]) {
    let parties: String = parties.iter().map(|(uid, name, addresses)| {
        let features: String = addresses.iter().map(|(asset, address)| format!(
            "<Feature ID=\"1\" FeatureTypeID=\"{asset}\"><FeatureVersion><VersionDetail>{address}</VersionDetail></FeatureVersion></Feature>"
        )).collect();
        format!(
            "<DistinctParty FixedRef=\"{uid}\"><Profile ID=\"{uid}\"><Identity Primary=\"true\"><Alias Primary=\"true\"><DocumentedName>\
             <DocumentedNamePart><NamePartValue NamePartGroupID=\"0\">{name}</NamePartValue></DocumentedNamePart></DocumentedName>\
             </Alias></Identity>{features}</Profile></DistinctParty>"
        )
    }).collect();
    let date = "<DateOfIssue><Year>2025</Year><Month>3</Month><Day>4</Day></DateOfIssue>";
    let text = format!(
        "<?xml version=\"1.0\"?>\n<Sanctions>{date}<ReferenceValueSets>{ASSETS}</ReferenceValueSets><DistinctParties>{parties}\
         </DistinctParties></Sanctions>"
    );
    fs::write(world.path(name), text).unwrap();
    let modified = SystemTime::now() - Duration::from_secs(days_old * DAY);
    File::options().write(true).open(world.path(name)).unwrap().set_modified(modified).unwrap();
}

fn xbt(numbers: &[u8]) -> Vec<(u32, String)> {
    numbers.iter().map(|number| (344, wallet(*number))).collect()
}

fn import(world: &World, file: &str) -> String {
    world.stdout(&format!("sanctions import --datadir data --licence public-domain {file}"))
}

fn status(world: &World, more: &str) -> Value {
    serde_json::from_str(&world.stdout(&format!("sanctions status --datadir data --json {more}"))).unwrap()
}

const APPROVE: &str = "sanctions approve --datadir data";

/// Counts of the status, in this order: listed, approved, pending, removed.
fn counts(status: &Value) -> [u64; 4] {
    ["listed", "approved", "pending", "removed"].map(|name| status["feed"][name].as_u64().unwrap())
}

/// The answer of a server at a path.
fn answer(address: &str, path: &str) -> Value {
    let (status, body) = get(address, &format!("/v1/sanctions/ofac/{path}"));
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

/// Waits until a server has the feed that the commands have.
fn follow(world: &World, address: &str) {
    let sha256 = status(world, "")["feed"]["sha256"].clone();
    wait_until("the feed", || answer(address, "coverage")["feed"]["sha256"] == sha256);
}

fn served(address: &str) -> Vec<String> {
    let body = answer(address, "compliance-tier");
    let rows = body["addresses"].as_array().unwrap();
    rows.iter().map(|row| row["address"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rows_are_approved_and_served_at_once() {
    let world = World::small(CAIRN, 5);
    fails(world.run(&format!("{APPROVE} --approver ann --all")), 5, &["no index in data"]);
    world.index();
    fails(world.run(&format!("{APPROVE} --approver ann --all")), 1, &["there is no current feed", "sanctions import"]);
    assert!(world.stdout("sanctions status --datadir data").contains("no current feed"));
    // A list under another name is not a feed, whoever publishes it.
    fs::write(world.path("copy.txt"), wallet(9) + "\n").unwrap();
    let copy =
        "labels import --datadir data --licence x --source ofac_copy --list starter --layout address_list copy.txt";
    world.run(copy).success();
    assert_eq!(status(&world, "")["feed"], Value::Null);

    let odd = [
        (344, "0xbe0eb53f46cd790cd13851d5eff43d12404d33e8".to_owned()),
        (345, wallet(8)),
        (344, "nonsense".to_owned()),
    ];
    let acme = [xbt(&[1, 2]), odd.to_vec()].concat();
    sdn(&world, "first.xml", 1, &[(7, "ACME", &acme), (8, "BOB LTD", &xbt(&[3]))]);
    let mut server = Running::start(world.command("serve --datadir data --listen 127.0.0.1:0"));
    let address = server.address();
    assert_eq!(answer(&address, "compliance-tier")["feed"], Value::Null);
    assert!(import(&world, "first.xml").contains("3 taken"));
    follow(&world, &address);
    let of = status(&world, "");
    assert_eq!(counts(&of), [3, 0, 3, 0]);
    assert_eq!((&of["feed"]["invalid"], &of["feed"]["listed_under_other_asset"]), (&1.into(), &2.into()), "{of}");
    assert!(served(&address).is_empty());

    let said = world.stdout(&format!("{APPROVE} --approver Ann {} {}", wallet(1), wallet(3)));
    assert!(said.contains(&format!("approved {} ACME (uid 7)\n", wallet(1))), "{said}");
    assert!(
        said.contains("2 new approvals by ann, 0 were there before; 2 of these 2 rows count as approved"),
        "{said}"
    );
    assert_eq!(served(&address), [wallet(1), wallet(3)]);
    let again = world.stdout(&format!("{APPROVE} --approver ann {} {}", wallet(1), wallet(1)));
    assert!(again.starts_with("0 new approvals by ann, 1 were there before"), "{again}");
    let coverage = answer(&address, "coverage");
    assert_eq!((&coverage["counts"]["approved"], &coverage["counts"]["pending"]), (&2.into(), &1.into()), "{coverage}");
    assert_eq!((&coverage["counts"]["invalid"], &coverage["feed"]["stale"]), (&1.into(), &false.into()));
    assert_eq!(coverage["feed"]["issued_on"], "2025-03-04");
    assert_eq!(coverage["top_entities"][0]["name"], "ACME");
    assert_eq!(coverage["top_entities"][0]["listed_addresses"], 2);

    fails(world.run(&format!("{APPROVE} --approver ann {}", wallet(5))), 1, &["does not have", "nothing is approved"]);
    fails(world.run(&format!("{APPROVE} --approver ann nonsense")), 2, &["nonsense"]);
    fails(world.run(&format!("{APPROVE} --approver ann")), 2, &["ADDRESS"]);
    fails(world.run(&format!("{APPROVE} --approver a\u{430}n --all")), 2, &["invalid name of an approver"]);
    fails(world.run(&format!("{APPROVE} --approver ann --all --feed {}", "0".repeat(64))), 1, &["the current feed is"]);
    let hash = of["feed"]["sha256"].as_str().unwrap();
    assert!(world.stdout(&format!("{APPROVE} --approver ann --all --feed {hash}")).contains("1 new approvals"));
    assert_eq!(served(&address), [wallet(1), wallet(2), wallet(3)]);
    let rows = status(&world, "--rows approved");
    assert_eq!((&rows["rows"][0]["party_uid"], &rows["rows"][0]["approvers"][0]), (&"7".into(), &"ann".into()));
    assert_eq!(rows["approvers"]["ann"], 3);

    let withdrawn = world.stdout(&format!("{APPROVE} --approver bob --withdraw {} {}", wallet(2), wallet(7)));
    assert!(withdrawn.contains(&format!("withdrew the approval of {}", wallet(2))), "{withdrawn}");
    assert!(withdrawn.contains(&format!("{} has no approval", wallet(7))), "{withdrawn}");
    assert_eq!(served(&address), [wallet(1), wallet(3)]);
    world.run(&format!("{APPROVE} --approver bob --withdraw --all")).success();
    assert!(served(&address).is_empty());
    server.signal("TERM");
    server.end();
}

#[test]
fn two_operators_must_approve_if_the_settings_say_so() {
    let world = World::small(CAIRN, 5);
    world.index();
    sdn(&world, "list.xml", 0, &[(7, "ACME", &xbt(&[1]))]);
    import(&world, "list.xml");
    fs::write(world.path("cairn.toml"), "sanctions_four_eyes = true\n").unwrap();
    let mut server = Running::start(world.command("serve --datadir data --listen 127.0.0.1:0"));
    let address = server.address();
    follow(&world, &address);
    let said = world.stdout(&format!("{APPROVE} --approver ann --all"));
    assert!(said.contains("another operator must approve it") && said.contains("0 of these 1 rows count"), "{said}");
    // The same person under another spelling is not a second one.
    assert!(world.stdout(&format!("{APPROVE} --approver ANN --all")).contains("0 new approvals"));
    let of = status(&world, "");
    assert_eq!((counts(&of), &of["feed"]["pending_second_approval"]), ([1, 0, 1, 0], &1.into()));
    assert!(served(&address).is_empty());
    world.run(&format!("{APPROVE} --approver bob --all")).success();
    assert_eq!(counts(&status(&world, "")), [1, 1, 0, 0]);
    let body = answer(&address, "compliance-tier");
    assert_eq!((&body["four_eyes"], &body["addresses"][0]["approved_by_count"]), (&true.into(), &2.into()));
    assert!(!body.to_string().contains("bob") && !body.to_string().contains("ann"), "names of operators: {body}");
}

#[test]
fn a_new_feed_ends_what_it_drops_and_asks_again_for_what_it_changes() {
    let world = World::small(CAIRN, 5);
    world.index();
    let mut server = Running::start(world.command("serve --datadir data --listen 127.0.0.1:0"));
    let address = server.address();
    sdn(&world, "old.xml", 9, &[(7, "ACME", &xbt(&[1, 2])), (8, "BOB LTD", &xbt(&[3]))]);
    import(&world, "old.xml");
    follow(&world, &address);
    world.run(&format!("{APPROVE} --approver ann --all")).success();
    let old = answer(&address, "compliance-tier");
    assert_eq!((&old["feed"]["stale"], &old["caveat_codes"][0]["code"]), (&true.into(), &"feed_stale".into()), "{old}");
    assert!(world.stdout("sanctions status --datadir data").contains("stale: import the list again"));

    // The second address is gone, the third is another party's, the fourth is new.
    sdn(&world, "new.xml", 0, &[(7, "ACME", &xbt(&[1])), (9, "CAROL LTD", &xbt(&[3, 4]))]);
    import(&world, "new.xml");
    follow(&world, &address);
    let of = status(&world, "--rows removed");
    assert_eq!((counts(&of), &of["feed"]["pending_party_changed"]), ([3, 1, 2, 1], &1.into()), "{of}");
    assert_eq!(of["rows"][0]["address"], wallet(2));
    assert_eq!(served(&address), [wallet(1)]);
    let new = answer(&address, "compliance-tier");
    let (row, day) = (&new["addresses"][0], old["feed"]["retrieved_at"].as_str().unwrap());
    assert_eq!((&new["feed"]["stale"], row["first_snapshot"].as_str().unwrap()), (&false.into(), day));
    let date = new["feed"]["date"].as_str().unwrap();
    let statement = format!("listed by OFAC (US Treasury) in the snapshot of {date} under the name ACME");
    assert_eq!(row["statement"], statement);
    // An older file that comes late is not the feed.
    sdn(&world, "older.xml", 20, &[(7, "ACME", &xbt(&[5]))]);
    import(&world, "older.xml");
    assert_eq!(served(&address), [wallet(1)]);
    // If the newest is withdrawn, the one before holds again, with what was approved of it.
    let hash = new["feed"]["sha256"].as_str().unwrap();
    world.run(&format!("events withdraw --datadir data --reason wrong {hash}")).success();
    follow(&world, &address);
    assert_eq!(served(&address), [wallet(1), wallet(2), wallet(3)]);
}

#[test]
fn a_look_at_the_publisher_counts_though_nothing_changed() {
    let world = World::small(CAIRN, 5);
    world.index();
    let checked = |world: &World| status(world, "")["feed"]["checked_at"].as_str().unwrap().to_owned();
    sdn(&world, "list.xml", 5, &[(7, "ACME", &xbt(&[1]))]);
    import(&world, "list.xml");
    let (retrieved, first) = (status(&world, "")["feed"]["retrieved_at"].clone(), checked(&world));
    assert_eq!((retrieved.as_str().unwrap(), &status(&world, "")["feed"]["stale"]), (first.as_str(), &true.into()));
    // The same file, fetched again.
    File::options().write(true).open(world.path("list.xml")).unwrap().set_modified(SystemTime::now()).unwrap();
    assert!(import(&world, "list.xml").contains("was there before"));
    let of = status(&world, "");
    assert_eq!((&of["feed"]["retrieved_at"], &of["feed"]["stale"]), (&retrieved, &false.into()));
    assert!(checked(&world) > first);

    // A server that says that its file has not changed.
    let known = Arc::new(AtomicBool::new(false));
    let (says, list) = (Arc::clone(&known), wallet(2) + "\n");
    let server = Server::start(move |_| match says.load(Ordering::SeqCst) {
        true => Reply::status(304, ""),
        false => Reply::ok(list.clone()).with("etag", "\"a\""),
    });
    let url = format!("--allow-private-addresses {}", server.url("/list.txt"));
    import(&world, &url);
    let before = checked(&world);
    known.store(true, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(1_100));
    assert!(import(&world, &url).contains("has not changed"));
    assert!(checked(&world) > before);
    let of = status(&world, "");
    assert_eq!((counts(&of), &of["feed"]["invalid"]), ([1, 0, 1, 0], &0.into()), "{of}");
}
