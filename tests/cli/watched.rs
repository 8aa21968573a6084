//! The files of `deploy/prometheus` fit what a server exposes and what operators can run.

use std::{collections::BTreeSet, fs};

use cairn_support::{World, get, wait_until};

use crate::CAIRN;

fn deployed(name: &str) -> String {
    fs::read_to_string(cairn_testkit::workspace_root().join("deploy/prometheus").join(name)).unwrap()
}

/// Every metric of a server is in the list with its type and its help text.
#[test]
fn a_server_exposes_metrics_of_the_list() {
    let world = World::small(CAIRN, 30);
    let mut running = world.start(
        "run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0",
    );
    let address = running.address();
    running.wait_for("serving operators");
    let said = running.said();
    let admin = said.split("serving operators address=").nth(1).unwrap().split_whitespace().next().unwrap();
    // Those of the other areas need settings that this server does not have. Some have a series for each operation that
    // was asked.
    let always = ["Troubles", "Chain", "Following", "Requests"];
    let areas = cairn_metrics::AREAS.iter().filter(|area| always.contains(&area.title));
    let expected: Vec<&str> = areas.flat_map(|area| area.metrics).map(|metric| metric.name).collect();
    get(&address, "/api/health");
    let is_complete = || {
        let (status, text) = get(admin, "/metrics");
        status == 200 && expected.iter().all(|name| text.contains(&format!("\n# TYPE {name} ")))
    };
    wait_until("all metrics", is_complete);
    let (_, text) = get(admin, "/metrics");
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        if let Some((name, help)) = line.strip_prefix("# HELP ").and_then(|rest| rest.split_once(' ')) {
            let metric = cairn_metrics::all().find(|metric| metric.name == name);
            assert_eq!(metric.map(|metric| metric.help), Some(help), "{name}");
            seen.insert(name);
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            let metric = cairn_metrics::all().find(|metric| metric.name == name);
            assert_eq!(metric.map(|metric| metric.kind.name()), Some(kind), "{name}");
        }
    }
    assert!(seen.len() > expected.len(), "{seen:?}");
}

/// The commands that alerts name exist, and Prometheus asks where the settings say.
#[test]
fn alerts_name_commands_that_exist() {
    let world = World::empty(CAIRN);
    let rules = deployed("rules.yml");
    let mut commands = BTreeSet::new();
    for quoted in rules.split('`').skip(1).step_by(2) {
        if let Some(line) = quoted.strip_prefix("cairn ") {
            let words: Vec<&str> = line.split_whitespace().take_while(|word| !word.starts_with('-')).collect();
            commands.insert(words.join(" "));
        }
    }
    assert!(commands.len() >= 8, "{commands:?}");
    for command in commands {
        world.run(&format!("{command} --help")).success();
    }
    let settings = fs::read_to_string(cairn_testkit::workspace_root().join("deploy/cairn.toml")).unwrap();
    let settings: toml::Table = settings.parse().unwrap();
    let target = format!("targets: [\"{}\"]", settings["admin_listen"].as_str().unwrap());
    assert!(deployed("prometheus.yml").contains(&target), "{target}");
}
