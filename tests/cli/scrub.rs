//! The scrubber: a running server reports damage of files that nobody reads.

use std::{fs, os::unix::fs::FileExt, time::Duration};

use cairn_reader::{TableFile, table_files_in};
use cairn_support::{Running, World, get, get_json, wait_until};
use serde_json::{Value, json};

use crate::CAIRN;

fn index_row(address: &str) -> Value {
    let health = get_json(address, "/api/health/full");
    health["components"].as_array().unwrap().iter().find(|row| row["name"] == "index").unwrap().clone()
}

fn admin_of(running: &Running) -> String {
    let said = running.said();
    said.split("serving operators address=").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
}

/// The value of a metric; 0 if it is not shown.
fn metric(admin: &str, name: &str) -> u64 {
    let (_, text) = get(admin, "/metrics");
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.map_or(0, |value| value.parse().unwrap())
}

const SCRUBS: &str = "cairn_scrubs_total";
const DAMAGES: &str = "cairn_index_damages_total{table=\"spenders\"}";

fn two_more_scrubs(admin: &str) {
    let before = metric(admin, SCRUBS);
    wait_until("two more scrubs", || metric(admin, SCRUBS) >= before + 2);
}

#[test]
fn damage_that_nobody_reads_is_told_after_a_scrub() {
    for how in ["serve --datadir data", "run --network regtest --datadir data --blocks-dir blocks"] {
        let world = World::small(CAIRN, 110);
        world.index();
        let line = format!("{how} --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --scrub-period 1s");
        let mut running = world.start(&line);
        let address = running.address();
        running.wait_for("serving operators");
        let admin = admin_of(&running);
        two_more_scrubs(&admin);
        assert!(metric(&admin, "cairn_scrub_bytes_total") > 100_000);
        assert!(metric(&admin, "cairn_scrub_last_end_seconds") > 1_700_000_000);
        let row = index_row(&address);
        assert_eq!((&row["status"], &row["details"]["damaged_tables"]), (&json!("ok"), &json!([])), "{row}");
        assert!(row["details"]["last_scrub_at"].is_string(), "{row}");
        assert_eq!((get(&admin, "/readyz").0, metric(&admin, DAMAGES)), (200, 0));

        // A bit of a row in the largest file of a table.
        let files = table_files_in(&world.path("data/index")).unwrap();
        let of_table = files.iter().filter(|file| file.table() == "spenders");
        let path = of_table.max_by_key(|file| TableFile::bytes(file)).unwrap().path();
        let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
        let (mut byte, at) = ([0], file.metadata().unwrap().len() / 4);
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[byte[0] ^ 4], at).unwrap();
        wait_until("the word of health", || index_row(&address)["status"] == "degraded");
        let row = index_row(&address);
        let details = &row["details"];
        assert_eq!((&details["problems"], &details["damaged_tables"]), (&json!(["damaged"]), &json!(["spenders"])));
        let reason = row["reason"].as_str().unwrap();
        assert!(
            reason.contains("table spenders of the index is damaged") && reason.contains("cairn verify"),
            "{reason}"
        );
        assert_eq!(get_json(&address, "/api/health")["status"], "degraded");
        let (status, ready) = get(&admin, "/readyz");
        assert!(status == 503 && ready.contains("spenders"), "{ready}");
        assert!(metric(&admin, DAMAGES) >= 1);
        // In the log once, however often it is found.
        two_more_scrubs(&admin);
        assert!(metric(&admin, DAMAGES) >= 2);
        let said = running.said();
        let told: Vec<&str> = said.lines().filter(|line| line.contains("the file of a table is damaged")).collect();
        let [told] = told.as_slice() else { panic!("told {} times: {said}", told.len()) };
        let name = path.file_name().unwrap().to_str().unwrap();
        for word in [name, "spenders", "checksum of its block", "cairn verify"] {
            assert!(told.contains(word), "{told}");
        }

        // Mended, here by hand, it is whole after the next scrub.
        file.write_all_at(&byte, at).unwrap();
        wait_until("health", || index_row(&address)["status"] == "ok");
        assert_eq!((get(&admin, "/readyz").0, metric(&admin, "cairn_index_damaged_tables")), (200, 0));
        // Gone altogether.
        fs::rename(path, world.path("away")).unwrap();
        wait_until("the word of health", || index_row(&address)["details"]["damaged_tables"] == json!(["spenders"]));
        // Health may be ahead of the log.
        running.wait_for("it is missing");
        fs::rename(world.path("away"), path).unwrap();
        wait_until("health", || index_row(&address)["status"] == "ok");

        running.signal("TERM");
        let (status, took) = running.end();
        assert_eq!(status.code(), Some(143), "{}", running.said());
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

/// Files that the index no longer has are not damage, and slow reading does not delay the end.
#[test]
fn a_slow_scrub_ends_with_the_server_and_forgives_compactions() {
    let world = World::small(CAIRN, 400);
    world.index();
    let bytes: u64 = table_files_in(&world.path("data/index")).unwrap().iter().map(TableFile::bytes).sum();
    let line = "--listen 127.0.0.1:0 --admin-listen 127.0.0.1:0 --scrub-period 1s --scrub-rate 64K";
    let mut running = world.start(&format!("serve --datadir data {line}"));
    let address = running.address();
    running.wait_for("serving operators");
    let admin = admin_of(&running);
    wait_until("the first bytes", || metric(&admin, "cairn_scrub_bytes_total") > 0);
    assert_eq!(index_row(&address)["details"]["scrubber"], "running");
    assert!(bytes > 250_000, "{bytes} bytes: too few for a slow scrub");
    // Every table is made again meanwhile.
    world.run("reindex --datadir data --stage all").success();
    wait_until("a whole scrub", || metric(&admin, SCRUBS) >= 1);
    assert_eq!(index_row(&address)["details"]["damaged_tables"], json!([]), "{}", running.said());
    running.signal("TERM");
    let (status, took) = running.end();
    assert_eq!(status.code(), Some(143));
    assert!(took < Duration::from_secs(5), "{took:?}");
}

#[test]
fn it_can_be_switched_off() {
    let world = World::small(CAIRN, 5);
    world.index();
    let mut running = world.start("serve --datadir data --listen 127.0.0.1:0 --scrub-rate 0");
    let address = running.address();
    let row = index_row(&address);
    assert_eq!((&row["details"]["scrubber"], &row["details"]["last_scrub_at"]), (&json!("off"), &Value::Null));
    assert!(running.said().contains("the scrubber is off"));
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(143));
}
