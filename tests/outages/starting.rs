//! A node that is away when the program starts: that is reported at once, with how long the program waits for it.

use std::time::Duration;

use cairn_standin::{Restart, StandIn, StandInOptions};
use cairn_support::{World, fails, get, get_json};

use crate::{
    CAIRN,
    rig::{OVER, within},
};

/// A warning comes within this time.
const AT_ONCE: Duration = Duration::from_secs(3);

#[test]
fn a_node_that_is_away_at_the_start_is_told_at_once_and_waited_for() {
    for cookie_stays in [true, false] {
        let mut node = StandIn::start(StandInOptions { premine: 5, ..StandInOptions::default() }).unwrap();
        let world = World::empty(CAIRN);
        let cookie = node.cookie_file().to_owned();
        node.stop();
        if cookie_stays {
            std::fs::write(&cookie, "__cookie__:of an earlier start").unwrap();
        }
        for (command, listen) in [("run", " --listen 127.0.0.1:0"), ("index", "")] {
            let line = format!(
                "{command} --network regtest --datadir {command} --node {} --node-cookie {}{listen}",
                node.url(),
                cookie.display()
            );
            let mut running = world.start(&line);
            let why = if cookie_stays { "connection refused" } else { "not found; check that the node is running" };
            let told = |said: &str| {
                let mut lines = said.lines().filter(|line| line.contains("WARN"));
                lines.any(|line| line.contains(why) && line.contains("asking again for up to 30 s"))
            };
            assert!(within(AT_ONCE, || told(&running.said())).is_some(), "{}", running.said());
            node.start_again(&Restart::default()).unwrap();
            running.wait_for("at the node's tip");
            if command == "run" {
                assert_eq!(get(&running.address(), "/v1/blocks/5").0, 200);
            }
            running.signal("TERM");
            assert_eq!(running.end().0.code(), Some(143), "{}", running.said());
            node.stop();
            if cookie_stays {
                std::fs::write(&cookie, "__cookie__:of an earlier start").unwrap();
            }
        }
    }
}

#[test]
fn what_is_indexed_is_served_although_the_node_is_away_at_the_start() {
    let mut node = StandIn::start(StandInOptions { premine: 105, ..StandInOptions::default() }).unwrap();
    let world = World::empty(CAIRN);
    let of = format!("--node {} --node-cookie {}", node.url(), node.cookie_file().display());
    world.run(&format!("index --network regtest --datadir data {of} --once")).success();
    node.stop();
    let mut running = world.start(&format!("run --network regtest --datadir data {of} --listen 127.0.0.1:0"));
    let address = running.address();
    assert!(within(AT_ONCE, || get(&address, "/v1/blocks/105").0 == 200).is_some(), "{}", running.said());
    let named = || get_json(&address, "/api/health")["troubles"][0]["part"] == "node";
    assert!(within(AT_ONCE, named).is_some(), "{}", running.said());
    assert!(running.said().contains("the node cannot be used yet"), "{}", running.said());
    node.start_again(&Restart::default()).unwrap();
    node.world().mine(1).unwrap();
    assert!(within(OVER, || get(&address, "/v1/blocks/106").0 == 200).is_some(), "{}", running.said());
    assert_eq!(get_json(&address, "/api/health")["troubles"], serde_json::json!([]));
    // Another network is a wrong setting; nothing waits for it.
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(143), "{}", running.said());
    node.restart(&Restart { network: Some(bitcoin::Network::Signet), ..Restart::default() }).unwrap();
    let refused = world.run(&format!("run --network regtest --datadir data {of} --listen 127.0.0.1:0"));
    fails(refused, 3, &["the node is on signet, not on regtest"]);
}
