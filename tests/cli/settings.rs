//! Settings: which one wins, and that the documents say what the program does.

use std::fs;

use crate::common::{World, fails};

fn shown(world: &World, line: &str, env: &[(&str, &str)]) -> String {
    let mut command = world.command(line);
    command.envs(env.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn flags_beat_the_environment_which_beats_the_file_which_beats_defaults() {
    let world = World::empty();
    let listen = |line: &str, env: &[(&str, &str)]| {
        let text = shown(&world, line, env);
        text.lines().find(|line| line.starts_with("listen")).unwrap().to_owned()
    };
    let env = [("CAIRN_LISTEN", "127.0.0.1:3")];
    assert_eq!(listen("config", &[]), "listen = \"127.0.0.1:8080\"  # default");
    fs::write(world.path("cairn.toml"), "listen = '127.0.0.1:2'\nmax_lag_blocks = 9\ngates = false\n").unwrap();
    assert_eq!(listen("config", &[]), "listen = \"127.0.0.1:2\"  # file");
    assert_eq!(listen("config", &env), "listen = \"127.0.0.1:3\"  # environment CAIRN_LISTEN");
    assert_eq!(listen("config --listen 127.0.0.1:4", &env), "listen = \"127.0.0.1:4\"  # flag --listen");
    // An empty variable is none.
    assert_eq!(listen("config", &[("CAIRN_LISTEN", "")]), "listen = \"127.0.0.1:2\"  # file");
    let text = shown(&world, "config", &[]);
    assert!(text.contains("max_lag_blocks = 9  # file\n") && text.contains("gates = false  # file\n"), "{text}");
    // Another file, by flag or by environment.
    fs::write(world.path("other.toml"), "listen = '127.0.0.1:5'\n").unwrap();
    assert_eq!(listen("config --config other.toml", &[]), "listen = \"127.0.0.1:5\"  # file");
    assert_eq!(listen("--config=other.toml config", &[]), "listen = \"127.0.0.1:5\"  # file");
    assert_eq!(listen("config", &[("CAIRN_CONFIG", "other.toml")]), "listen = \"127.0.0.1:5\"  # file");
}

#[test]
fn commands_use_what_config_shows() {
    let world = World::small(4);
    fs::write(world.path("cairn.toml"), "datadir = 'data'\nblocks_dir = 'nowhere'\nlog_format = 'json'\n").unwrap();
    let mut command = world.command("index --once --blocks-dir blocks");
    let output = command.env("CAIRN_NETWORK", "regtest").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(world.path("data/index/CURRENT").exists());
    // Every line of the log is a JSON object.
    let lines = String::from_utf8(output.stderr).unwrap();
    assert!(lines.lines().count() >= 3);
    for line in lines.lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert!(value["level"].is_string() && value["message"].is_string(), "{line}");
    }
    world.run("verify").success();
}

#[test]
fn the_log_filter_may_come_from_rust_log() {
    let world = World::empty();
    let log = |env: &[(&str, &str)]| shown(&world, "config", env).lines().nth(1).unwrap().to_owned();
    assert_eq!(log(&[]), "log = \"info\"  # default");
    assert_eq!(log(&[("RUST_LOG", "warn")]), "log = \"warn\"  # environment RUST_LOG");
    assert_eq!(log(&[("RUST_LOG", "warn"), ("CAIRN_LOG", "debug")]), "log = \"debug\"  # environment CAIRN_LOG");
}

#[test]
fn mistakes_are_usage_errors() {
    let world = World::empty();
    fails(world.run("config --config nix.toml"), 2, &["nix.toml"]);
    fs::write(world.path("cairn.toml"), "lisetn = 'x'\n").unwrap();
    fails(world.run("openapi"), 2, &["cairn.toml: unknown key lisetn", "did you mean listen?"]);
    fs::write(world.path("cairn.toml"), "listen = 'x'\n").unwrap();
    fails(world.run("stages"), 2, &["cairn.toml: listen = \"x\""]);
    fs::write(world.path("cairn.toml"), "").unwrap();
    world.command("config").env("CAIRN_LISTEN", "x").output().map(|o| assert_eq!(o.status.code(), Some(2))).unwrap();
}

/// Reads a document of this repository.
fn document(name: &str) -> String {
    fs::read_to_string(cairn_testkit::workspace_root().join(name)).unwrap()
}

#[test]
fn the_reference_of_settings_is_current() {
    let world = World::empty();
    let expected = world.stdout("config --reference");
    assert!(
        document("docs/configuration.md") == expected,
        "docs/configuration.md is not what `cairn config --reference` prints: write it anew"
    );
}

#[test]
fn the_guide_lists_the_exit_codes() {
    let help = World::empty().stdout("--help");
    let listed = help.split("Exit codes:\n").nth(1).unwrap();
    let guide = document("docs/operators.md");
    let mut count = 0;
    for line in listed.lines().filter(|line| !line.trim().is_empty()) {
        let (code, meaning) = line.trim().split_once("  ").unwrap();
        let row = format!("| {code} | {} |", meaning.trim());
        assert!(guide.contains(&row), "docs/operators.md has no row {row}");
        count += 1;
    }
    assert_eq!(count, 11);
}

#[test]
fn the_api_describes_itself() {
    let document: serde_json::Value = serde_json::from_str(&World::empty().stdout("openapi")).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert!(document["paths"]["/v1/tx/{txid}"]["get"].is_object());
}
