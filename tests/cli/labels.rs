//! `cairn labels`, `cairn pools` and `cairn sanctions`, with the real binary.

use std::{fs, process::Stdio, thread, time::Duration};

use bitcoin::{Address, Network, PubkeyHash, hashes::Hash};
use cairn_support::{
    World, fails, get,
    server::{Reply, Server},
    wait_until,
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::CAIRN;

/// Addresses that no block has.
pub(crate) fn wallet(number: u8) -> String {
    Address::p2pkh(PubkeyHash::from_byte_array([number; 20]), Network::Regtest).to_string()
}

const HEAD: &str = "address,entity,entity_name,category,behaviour,claim_type,evidence_tier,source_id,source_url,\
    origin_url,asserted_at,licence,note\n";

/// A file of facts: who these addresses are said to belong to.
fn facts(world: &World, name: &str, rows: &[(u8, &str)]) {
    let row = |(number, entity): &(u8, &str)| {
        let wallet = wallet(*number);
        format!("{wallet},{entity},,exchange,,controlled_by,self_disclosed,s,https://example.org,,2024-05-06,MIT,\n")
    };
    fs::write(world.path(name), HEAD.to_owned() + &rows.iter().map(row).collect::<String>()).unwrap();
}

/// Claims of lists about an address.
fn shown(world: &World, number: u8) -> Vec<Value> {
    let lines = world.stdout(&format!("labels show --datadir data {}", wallet(number)));
    lines.lines().filter(|line| line.starts_with('{')).map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn status(world: &World) -> Vec<Value> {
    let lines = world.stdout("labels status --datadir data --json");
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const IMPORT: &str = "labels import --datadir data --licence mit";

#[test]
fn a_list_is_imported_shown_and_ended() {
    let world = World::small(CAIRN, 20);
    facts(&world, "list.csv", &[(1, "abc"), (2, "abc"), (3, "xyz")]);
    let import = |more: &str, file: &str| world.stdout(&format!("{IMPORT} --source abc --list por {more} {file}"));
    fails(world.run(&format!("{IMPORT} --source abc list.csv")), 5, &["no index in data"]);
    world.index();
    let text = import("--complete --dry-run", "list.csv");
    assert!(text.contains("layout facts: 3 rows read, 3 taken") && text.contains("nothing is written"), "{text}");
    assert!(status(&world).is_empty());
    assert!(import("--complete", "list.csv").contains("document 1: 3 new, 0 repeat"));
    assert!(import("--complete", "list.csv").contains("was there before"));
    let said = &shown(&world, 1)[0];
    assert_eq!((&said["source"], &said["licence"], &said["ended_at"]), (&"abc".into(), &"mit".into(), &Value::Null));
    let claim = &said["claims"][0];
    assert_eq!((&claim["entity"], &claim["confidence_level"]), (&"abc".into(), &90.into()));
    assert_eq!((&claim["asserted_at"], &claim["untrusted_content"]), (&"2024-05-06T00:00:00Z".into(), &true.into()));

    // A newer file without the second address, and with another name for the third.
    thread::sleep(Duration::from_millis(1_100));
    facts(&world, "newer.csv", &[(1, "abc"), (3, "abc")]);
    assert!(import("--complete", "newer.csv").contains("document 5: 1 new, 1 repeat"));
    assert!(shown(&world, 2)[0]["ended_at"].is_string());
    assert_eq!(shown(&world, 3)[0]["claims"][0]["entity"], "abc");
    let of = &status(&world)[0];
    assert_eq!((&of["documents"], &of["claims"], &of["is_complete"]), (&2.into(), &2.into(), &true.into()));
    let text = world.stdout("labels status --datadir data");
    assert!(text.contains("por") && text.contains("all together"), "{text}");
    assert_eq!((&of["source_labelled_scripts"], &of["source_labelled_sats"]), (&2.into(), &0.into()));
    assert!(world.stdout("labels licences --datadir data").contains("mit"));
    assert!(world.stdout(&format!("labels show --datadir data {}", wallet(9))).contains("no list says anything"));

    let documents = world.stdout("events list --datadir data --kind claims --json");
    assert_eq!(documents.lines().count(), 2);
    assert!(world.stdout("events show --datadir data 3").contains("\"row\": 3"));
    // Withdrawn, the newer file ends nothing any more.
    let newest: Value = serde_json::from_str(documents.lines().nth(1).unwrap()).unwrap();
    let hash = newest["document"].as_str().unwrap();
    world.run(&format!("events withdraw --datadir data --reason wrong {hash}")).success();
    assert_eq!(shown(&world, 2)[0]["ended_at"], Value::Null);
    assert_eq!(shown(&world, 3)[0]["claims"][0]["entity"], "xyz");
    assert!(world.stdout("verify --datadir data").contains("0 quotes, 3 claims"));

    // The backup has everything.
    let before = world.stdout(&format!("labels show --datadir data {}", wallet(3)));
    world.run("events export --datadir data all.events").success();
    fs::rename(world.path("data"), world.path("old")).unwrap();
    world.index();
    world.run("events import --datadir data all.events").success();
    assert_eq!(world.stdout(&format!("labels show --datadir data {}", wallet(3))), before);
}

/// Source and licence in the file need no flag, and a flag beats them.
#[test]
fn source_and_licence_are_taken_from_the_file() {
    let world = World::small(CAIRN, 20);
    world.index();
    let import = |more: &str, file: &str| world.run(&format!("labels import --datadir data {more} {file}"));
    let pack = |about: &str| {
        format!("title: Test\n{about}category: exchange\ntags:\n- {{address: {}, label: abc}}\n", wallet(1))
    };
    fs::write(world.path("whole.yaml"), pack("creator: GraphSense Core Team\nlicense: CC BY 4.0\n")).unwrap();
    import("", "whole.yaml").success();
    let said = &shown(&world, 1)[0];
    assert_eq!((&said["source"], &said["licence"]), (&"graphsense-core-team".into(), &"cc-by-4.0".into()));
    // The same file again would be the document that is there already.
    let other = pack("creator: GraphSense Core Team\nlicense: CC BY 4.0\nversion: 2\n");
    fs::write(world.path("other.yaml"), other).unwrap();
    import("--source other --licence mit", "other.yaml").success();
    let sources: Vec<Value> = shown(&world, 1).iter().map(|said| said["source"].clone()).collect();
    assert!(sources.contains(&"other".into()), "{sources:?}");
    fs::write(world.path("silent.yaml"), pack("")).unwrap();
    fails(
        import("--licence mit", "silent.yaml"),
        2,
        &["--source is missing", "hint: give the flag, for example --source"],
    );
    fails(import("--source abc", "silent.yaml"), 2, &["--licence is missing", "--licence cc-by-4.0"]);
    import("--dry-run", "silent.yaml").success();

    // Columns with names of ours need no map; the only source and licence of the rows count.
    let rows = format!(
        "address;label;category;source_id;licence\n{};Some Shop;shop;shops;MIT\n{};Other;;shops;MIT\n",
        wallet(2),
        wallet(3)
    );
    fs::write(world.path("plain.csv"), rows).unwrap();
    import("", "plain.csv").success();
    let said = &shown(&world, 2)[0];
    assert_eq!((&said["source"], &said["licence"]), (&"shops".into(), &"mit".into()));
    assert_eq!((&said["claims"][0]["label"], &said["claims"][0]["category"]), (&"Some Shop".into(), &"shop".into()));
    fs::write(world.path("plainer.csv"), format!("address,label,category\n{},A,exchange\n", wallet(4))).unwrap();
    fails(import("--licence mit", "plainer.csv"), 2, &["--source is missing"]);
    import("--licence mit --source me", "plainer.csv").success();
    assert_eq!(shown(&world, 4)[0]["claims"][0]["category"], "exchange");

    // A map of another file says what there is instead.
    fs::write(world.path("quoted.csv"), "\"Addr\"x;Tag\n").unwrap();
    for (map, file, says) in [
        ("address=Address,category=Category", "plainer.csv", None),
        ("address=Addr", "plainer.csv", Some("the file has address, label, category")),
        ("address=Address", "whole.yaml", Some("the file has title: Test")),
        ("address=Address,delimiter=;", "quoted.csv", Some("it begins \"\\\"Addr\\\"x;Tag\"")),
    ] {
        let ran = import(&format!("--licence mit --source me --map {map}"), file);
        match says {
            None => drop(ran.success()),
            Some(says) => fails(ran, 1, &[says]),
        }
    }
}

/// A contest is of what is said: a newer file that repeats it does not end it, the operator does.
#[test]
fn a_claim_is_contested_until_the_operator_ends_it() {
    let world = World::small(CAIRN, 20);
    facts(&world, "list.csv", &[(1, "abc"), (2, "abc")]);
    world.index();
    let import = |file: &str| world.stdout(&format!("{IMPORT} --source abc --list por --complete {file}"));
    import("list.csv");
    let contest = |what: &str, id: &str| world.run(&format!("labels {what} --datadir data --reason sold {id}"));
    let claim = |number: u8| shown(&world, number)[0]["claims"][0].clone();
    let id = claim(1)["claim_id"].as_str().unwrap().to_owned();
    assert_eq!(claim(1)["contest"], Value::Null);
    contest("dispute", &id).success();
    let contested = claim(1)["contest"].clone();
    assert_eq!((&contested["act"], &contested["by"]), (&"contests".into(), &"operator".into()), "{contested}");
    assert_eq!((&contested["reason"], &claim(2)["contest"]), (&"sold".into(), &Value::Null), "{contested}");
    let (document, row) = id.split_once(':').unwrap();
    fails(contest("dispute", &format!("{document}:{row}9")), 1, &["no claim in row"]);
    fails(contest("dispute", &format!("{}:1", "0".repeat(64))), 1, &["has no document"]);
    fails(contest("dispute", "abc:1"), 2, &["the id of a claim"]);

    thread::sleep(Duration::from_millis(1_100));
    facts(&world, "newer.csv", &[(3, "abc"), (2, "abc"), (1, "abc")]);
    assert!(import("newer.csv").contains("1 new, 2 repeat"));
    assert_ne!(claim(1)["claim_id"], id);
    assert_eq!(claim(1)["contest"], contested);
    let mut running = world.start("serve --datadir data --listen 127.0.0.1:0");
    let address = running.address();
    let card = |number: u8| {
        let (status, body) = get(&address, &format!("/v1/wallets/{}/trust-safety", wallet(number)));
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()["assessment"]["state"].clone()
    };
    assert_eq!((card(1), card(2)), ("contested".into(), "labeled".into()));
    let listed = world.stdout("events list --datadir data --kind contest --json");
    let listed: Value = serde_json::from_str(listed.trim()).unwrap();
    let event = world.stdout(&format!("events show --datadir data {}", listed["seq"]));
    assert!(event.contains(&id) && event.contains("\"list\": \"por\""), "{event}");
    assert!(world.stdout("verify --datadir data").contains("1 contests"));

    contest("resolve", &id).success();
    assert_eq!(claim(1)["contest"]["act"], "settles");
    wait_until("the contest to end", || card(1) == "labeled");
    // The contest of a document that is withdrawn is as if nobody had contested it.
    let hash = listed["document"].as_str().unwrap();
    world.run(&format!("events withdraw --datadir data --reason wrong {hash}")).success();
    assert!(world.stdout("verify --datadir data").contains("1 contests"));
    let before = world.stdout(&format!("labels show --datadir data {}", wallet(1)));
    world.run("events export --datadir data all.events").success();
    fs::rename(world.path("data"), world.path("old")).unwrap();
    world.index();
    world.run("events import --datadir data all.events").success();
    assert_eq!(world.stdout(&format!("labels show --datadir data {}", wallet(1))), before);
}

/// A publisher that goes back to an older file means it.
#[test]
fn a_list_that_becomes_what_it_was_holds_again() {
    let world = World::small(CAIRN, 20);
    world.index();
    let import = || world.stdout(&format!("{IMPORT} --source abc --list por --complete list.csv"));
    // The list's statements about two addresses, a second later each time.
    let published = |rows: &[(u8, &str)]| {
        thread::sleep(Duration::from_millis(1_100));
        facts(&world, "list.csv", rows);
        let text = import();
        assert!(import().contains("was there before"));
        let holds = |number: u8| {
            let lists = shown(&world, number);
            let of = lists.first().filter(|of| of["ended_at"].is_null());
            of.map(|of| of["claims"][0]["entity"].as_str().unwrap().to_owned())
        };
        (text, holds(1), holds(2))
    };
    let (one, other): (&[(u8, &str)], &[(u8, &str)]) = (&[(1, "abc"), (2, "abc")], &[(1, "xyz")]);
    let who = |name: &str| Some(name.to_owned());
    let (text, ..) = published(one);
    assert!(text.contains("document 1: 2 new"), "{text}");
    let (_, first, second) = published(other);
    assert_eq!((first, second), (who("xyz"), None));
    let (text, first, second) = published(one);
    assert!(text.contains("document 6: 2 new"), "{text}");
    assert_eq!((first, second), (who("abc"), who("abc")));
    let (_, first, second) = published(other);
    assert_eq!((first, second), (who("xyz"), None));
    // The same again, later, is the same.
    let (text, first, _) = published(other);
    assert!(text.contains("was there before"), "{text}");
    assert_eq!(first, who("xyz"));
    let listed = world.stdout("events list --datadir data --json");
    assert!(listed.lines().nth(2).unwrap().contains("as it was before"), "{listed}");
    assert!(world.stdout("verify --datadir data").contains(" 6 claims"));
}

/// The bytes of all files of the index.
fn index_bytes(world: &World) -> Vec<u8> {
    let files = fs::read_dir(world.path("data/index")).unwrap();
    files.flat_map(|file| fs::read(file.unwrap().path()).unwrap()).collect()
}

/// True if a file of the index has the words.
fn has_words(world: &World, words: &str) -> bool {
    // A waiting document is taken in when the index is opened next, and files that this replaces are removed with the
    // next opening.
    for _ in 0..2 {
        let nothing = "e".repeat(64);
        world.run(&format!("events withdraw --datadir data --reason x --unseen {nothing}")).success();
    }
    index_bytes(world).windows(words.len()).any(|window| window == words.as_bytes())
}

/// The command is killed at random moments: what it has handed in is blanked in files as well, by whoever opens the
/// index next.
#[test]
fn a_redaction_that_is_killed_is_ended() {
    let world = World::small(CAIRN, 20);
    facts(&world, "list.csv", &[(1, "jane-doe-of-nowhere"), (2, "abc")]);
    let rng = &mut ChaCha8Rng::seed_from_u64(16);
    for round in 0..12 {
        let _ = fs::remove_dir_all(world.path("data"));
        world.index();
        world.run(&format!("{IMPORT} --source abc --list por --complete list.csv")).success();
        assert!(has_words(&world, "jane-doe-of-nowhere"));
        let id = shown(&world, 1)[0]["claims"][0]["claim_id"].as_str().unwrap().to_owned();
        let redact = format!("labels redact --datadir data --reason order {id}");
        let mut command = world.command(&redact);
        let mut command = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(Duration::from_millis(rng.random_range(0..150)));
        command.kill().unwrap();
        command.wait().unwrap();
        let is_handed_in = !has_words(&world, "jane-doe-of-nowhere");
        assert_eq!(
            is_handed_in,
            shown(&world, 1).is_empty(),
            "round {round}: the words are gone, or nothing has happened"
        );
    }
}

/// Blanked words are in no file any more, and do not come back.
#[test]
fn a_claim_is_blanked_for_good() {
    let world = World::small(CAIRN, 20);
    facts(&world, "list.csv", &[(1, "jane-doe-of-nowhere"), (2, "abc")]);
    world.index();
    let import = |file: &str| world.stdout(&format!("{IMPORT} --source abc --list por --complete {file}"));
    import("list.csv");
    let has_name = || has_words(&world, "jane-doe-of-nowhere");
    assert!(has_name());
    let id = shown(&world, 1)[0]["claims"][0]["claim_id"].as_str().unwrap().to_owned();
    let redact = || world.run(&format!("labels redact --datadir data --reason order {id}"));
    redact().success();
    assert!(world.stdout(&format!("labels show --datadir data {}", wallet(1))).contains("no list says anything"));
    assert!(!has_name());
    fails(redact(), 1, &["blanked already"]);
    let event: Value = serde_json::from_str(&world.stdout("events show --datadir data 2")).unwrap();
    assert_eq!((&event["is_redacted"], &event["entity"]), (&true.into(), &Value::Null), "{event}");
    // A newer file repeats it, and says something else of another address.
    thread::sleep(Duration::from_millis(1_100));
    facts(&world, "newer.csv", &[(2, "abcd"), (1, "jane-doe-of-nowhere")]);
    import("newer.csv");
    assert!(shown(&world, 1).is_empty() && !has_name());
    assert_eq!(shown(&world, 2)[0]["claims"][0]["entity"], "abcd");
    assert!(world.stdout("verify --datadir data").contains(" 2 claims"));
    world.run("events export --datadir data all.events").success();
    fs::rename(world.path("data"), world.path("old")).unwrap();
    world.index();
    world.run("events import --datadir data all.events").success();
    assert!(shown(&world, 1).is_empty());
    assert!(world.stdout("verify --datadir data").contains(" 2 claims"));
}

#[test]
fn a_server_answers_with_an_import_within_a_second() {
    let world = World::small(CAIRN, 20);
    let mut running = world.start("run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0");
    running.wait_for("height=20");
    let address = running.address();
    let card = || {
        let (status, body) = get(&address, &format!("/v1/wallets/{}/trust-safety", wallet(1)));
        assert_eq!(status, 200, "{body}");
        serde_json::from_str::<Value>(&body).unwrap()
    };
    assert_eq!(card()["assessment"]["state"], "not_examined");
    facts(&world, "list.csv", &[(1, "abc")]);
    world.run(&format!("{IMPORT} --source abc list.csv")).success();
    wait_until("the label", || card()["label"]["entity"] == "abc");
    // A list of sanctions from a server, which says nothing of the first address.
    let list = format!("{}\nnonsense\n", wallet(2));
    let server = Server::start(move |_| Reply::ok(list.clone()));
    let import = "sanctions import --datadir data --licence us-pd --allow-private-addresses";
    let text = world.stdout(&format!("{import} {}", server.url("/list.txt")));
    assert!(text.contains("layout address_list: 2 rows read, 1 taken, 1 left out"), "{text}");
    assert!(text.contains("line 2") && text.contains("invalid_address"), "{text}");
    let listed = || get(&address, &format!("/v1/wallets/{}/trust-safety", wallet(2))).1;
    wait_until("the listing", || listed().contains("\"direct_flag\""));
    assert!(listed().contains("listed by OFAC"), "{}", listed());
    assert_eq!(card()["risk_indicator"], "none_observed");
}

#[test]
fn what_is_no_list_is_refused_with_a_reason() {
    let world = World::small(CAIRN, 20);
    world.index();
    let pools =
        format!("[{{\"id\":1,\"name\":\"Pool\",\"addresses\":[\"{}\"],\"tags\":[\"/p/\"],\"link\":\"\"}}]", wallet(4));
    fs::write(world.path("pools.json"), pools).unwrap();
    world.run("pools import --datadir data --licence mit --source pools pools.json").success();
    assert_eq!(shown(&world, 4)[0]["claims"][0]["claim_type"], "coinbase_payout_of");
    let import = |more: &str| world.run(&format!("{IMPORT} --source x {more}"));
    fs::write(world.path("a.txt"), "what is this\n").unwrap();
    fails(import("a.txt"), 1, &["a.txt"]);
    // A list of addresses alone does not say what they are.
    fs::write(world.path("list.txt"), wallet(5) + "\n").unwrap();
    fails(import("list.txt"), 1, &["list.txt", "give the type of claim"]);
    let text = "--claim-type reported_as --evidence-tier third_party --behaviour scam list.txt";
    import(text).success();
    assert_eq!(shown(&world, 5)[0]["claims"][0]["behaviour"], "scam");
    fails(import("--claim-type owned_by list.txt"), 2, &["owned_by", "controlled_by"]);
    fails(world.run("sanctions import --datadir data --licence x pools.json"), 1, &["pools", "sdn_advanced"]);
    fs::write(world.path("main.txt"), "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa\n").unwrap();
    fails(world.run("sanctions import --datadir data --licence x main.txt"), 1, &["no row can be taken"]);
}

#[test]
fn a_list_of_pools_becomes_two_documents() {
    let world = World::small(CAIRN, 20);
    world.index();
    let pools = format!(
        "[{{\"id\":1,\"name\":\"A Pool\",\"addresses\":[\"{}\"],\"tags\":[\"/p/\",\"/q/\"],\"link\":\"\"}}]",
        wallet(4)
    );
    fs::write(world.path("pools.json"), pools).unwrap();
    let import = "pools import --datadir data --licence mit --source pools-test";
    let text = world.stdout(&format!("{import} --dry-run pools.json"));
    assert!(text.contains("1 taken") && text.contains("2 tags of coinbases") && text.contains("nothing is"), "{text}");
    let text = world.stdout(&format!("{import} pools.json"));
    assert!(text.contains("document 1: 1 new") && text.contains("document 3: 2 new"), "{text}");
    assert_eq!(world.stdout(&format!("{import} pools.json")).matches("was there before").count(), 2);
    let listed = world.stdout("events list --datadir data --json --kind pool_tags");
    let tags: Value = serde_json::from_str(listed.trim()).unwrap();
    assert_eq!((&tags["seq"], &tags["rows"], &tags["source"]), (&3.into(), &2.into(), &"pools-test".into()));
    let shown: Value = serde_json::from_str(&world.stdout("events show --datadir data 5")).unwrap();
    assert_eq!((&shown["tag"], &shown["pool"], &shown["name"]), (&"/q/".into(), &"a-pool".into(), &"A Pool".into()));
    assert!(world.stdout("verify --datadir data").contains("1 claims, 2 tags of pools"));
    // They are in the backup, and come back with it.
    world.stdout("events export --datadir data backup.events");
    let hash = tags["document"].as_str().unwrap();
    world.stdout(&format!("events withdraw --datadir data --reason wrong {hash}"));
    assert!(world.stdout("verify --datadir data").contains("1 claims, 0 tags of pools"));
    fs::rename(world.path("data"), world.path("old")).unwrap();
    world.index();
    world.stdout("events import --datadir data backup.events");
    assert!(world.stdout("verify --datadir data").contains("1 claims, 2 tags of pools"));
}

#[test]
fn a_pack_of_actors_becomes_profiles() {
    let world = World::small(CAIRN, 20);
    world.index();
    let pack = "title: t\nlastmod: 2023-02-17\nactors:\n- id: an_exchange\n  label: An Exchange\n  aliases: [AnX]\n  \
                categories: [exchange]\n  jurisdictions: [VG]\n  uri: an.example\n- id: other\n  label: Other\n";
    fs::write(world.path("actors.yaml"), pack).unwrap();
    let import = format!("{IMPORT} --source packs actors.yaml");
    let text = world.stdout(&format!("{import} --dry-run"));
    assert!(text.contains("actorpack: 2 rows read, 2 taken") && text.contains("profiles of entities"), "{text}");
    assert!(world.stdout(&import).contains("document 1: 2 new"));
    assert!(world.stdout(&import).contains("was there before"));
    let listed: Value =
        serde_json::from_str(world.stdout("events list --datadir data --json --kind profiles").trim()).unwrap();
    assert_eq!((&listed["kind"], &listed["rows"], &listed["source"]), (&"profiles".into(), &2.into(), &"packs".into()));
    let shown: Value = serde_json::from_str(&world.stdout("events show --datadir data 2")).unwrap();
    assert_eq!(
        (&shown["entity"], &shown["aliases"], &shown["category"], &shown["homepage"], &shown["jurisdictions"]),
        (&"an_exchange".into(), &json!(["AnX"]), &"exchange".into(), &"an.example".into(), &json!(["VG"]))
    );
    assert!(world.stdout("verify --datadir data").contains("0 tags of pools, 2 profiles"));
    let licences = world.stdout("labels licences --datadir data");
    assert!(licences.lines().any(|line| line.starts_with("packs ") && line.contains("mit")), "{licences}");
    // They are in the backup, and come back with it.
    world.stdout("events export --datadir data backup.events");
    let hash = listed["document"].as_str().unwrap();
    world.stdout(&format!("events withdraw --datadir data --reason wrong {hash}"));
    assert!(world.stdout("verify --datadir data").contains("0 profiles"));
    fs::rename(world.path("data"), world.path("old")).unwrap();
    world.index();
    world.stdout("events import --datadir data backup.events");
    assert!(world.stdout("verify --datadir data").contains("2 profiles"));
    // It is not a list of sanctions.
    fails(world.run("sanctions import --datadir data --licence x actors.yaml"), 1, &["actorpack", "sdn_advanced"]);
}
