//! Settings: which one wins, and that the documents say what the program does.

use std::fs;

use assert_cmd::assert::Assert;
use cairn_support::{World, fails};

use crate::CAIRN;

fn shown(world: &World, line: &str, env: &[(&str, &str)]) -> String {
    let mut command = world.command(line);
    command.envs(env.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn flags_beat_the_environment_which_beats_the_file_which_beats_defaults() {
    let world = World::empty(CAIRN);
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
    // An empty variable does not count as set.
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
    let world = World::small(CAIRN, 4);
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
    let world = World::empty(CAIRN);
    let log = |env: &[(&str, &str)]| shown(&world, "config", env).lines().nth(1).unwrap().to_owned();
    assert_eq!(log(&[]), "log = \"info\"  # default");
    assert_eq!(log(&[("RUST_LOG", "warn")]), "log = \"warn\"  # environment RUST_LOG");
    assert_eq!(log(&[("RUST_LOG", "warn"), ("CAIRN_LOG", "debug")]), "log = \"debug\"  # environment CAIRN_LOG");
}

#[test]
fn mistakes_are_usage_errors() {
    let world = World::empty(CAIRN);
    fails(world.run("config --config nix.toml"), 2, &["nix.toml"]);
    fs::write(world.path("cairn.toml"), "lisetn = 'x'\n").unwrap();
    fails(world.run("openapi"), 2, &["cairn.toml, line 1: unknown key lisetn", "did you mean listen?"]);
    fs::write(world.path("cairn.toml"), "listen = 'x'\n").unwrap();
    fails(world.run("stages"), 2, &["cairn.toml, line 1: listen = \"x\""]);
}

/// A command with one variable set.
fn with_variable(world: &World, line: &str, name: &str, value: &str) -> Assert {
    Assert::new(world.command(line).env(name, value).output().unwrap())
}

#[test]
fn a_mistyped_level_of_the_log_is_refused_wherever_it_is_given() {
    let world = World::empty(CAIRN);
    let levels = "the levels are off, error, warn, info, debug, trace";
    fails(world.run("--log loud config"), 2, &["'loud' for '--log <FILTER>'", levels]);
    fails(
        world.run("--log info,cairn_http=loud config"),
        2,
        &["\"loud\" in \"cairn_http=loud\" is not a level", levels],
    );
    fails(with_variable(&world, "config", "CAIRN_LOG", "loud"), 2, &["environment: CAIRN_LOG = \"loud\"", levels]);
    fails(with_variable(&world, "config", "RUST_LOG", "loud"), 2, &["environment: RUST_LOG = \"loud\"", levels]);
    fs::write(world.path("cairn.toml"), "# a comment\n\nlog = 'loud'\n").unwrap();
    fails(world.run("config"), 2, &["cairn.toml, line 3: log = \"loud\"", levels, "hint: for example log = \"info\""]);
}

#[test]
fn a_bad_value_is_blamed_on_what_set_it() {
    let world = World::empty(CAIRN);
    let allowed = "must be a whole number from 0 to 1000000000";
    let rate = |assert, says: &[&str]| fails(assert, 2, &[&[allowed], says].concat());
    rate(
        with_variable(&world, "config", "CAIRN_RATE_LIMIT", "abc"),
        &["environment: CAIRN_RATE_LIMIT = \"abc\"", "hint: for example CAIRN_RATE_LIMIT=6000"],
    );
    rate(world.run("config --rate-limit abc"), &["'--rate-limit <UNITS>'", "tip: for example --rate-limit 6000"]);
    fs::write(world.path("cairn.toml"), "gates = true\nrate_limit = 'abc'\n").unwrap();
    rate(world.run("config"), &["cairn.toml, line 2: rate_limit = \"abc\"", "hint: for example rate_limit = 6000"]);
    fs::write(world.path("cairn.toml"), "gates = true\ntrusted_proxies = ['10.0.0.0/33']\n").unwrap();
    fails(
        world.run("config"),
        2,
        &["line 2: trusted_proxies", "for example trusted_proxies = [\"10.0.0.0/8\", \"fd00::/8\"]"],
    );
    fs::write(world.path("cairn.toml"), "gates = true\nnot toml\n").unwrap();
    fails(world.run("config"), 2, &["cairn.toml, line 2: "]);
}

#[test]
fn a_mistyped_variable_is_named_with_its_neighbour() {
    let world = World::empty(CAIRN);
    let assert = with_variable(&world, "config", "CAIRN_DATADRI", "x").success();
    let said = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(said.contains("WARN") && said.contains("CAIRN_DATADRI is ignored"), "{said}");
    assert!(said.contains("did you mean CAIRN_DATADIR?"), "{said}");
    let assert = with_variable(&world, "config", "CAIRN_DATADIR", "x").success();
    assert!(assert.get_output().stderr.is_empty());
}

#[test]
fn addresses_to_listen_on_may_be_localhost_and_mistakes_say_what_is_allowed() {
    let world = World::empty(CAIRN);
    assert!(world.stdout("config --listen localhost:8080").contains("listen = \"localhost:8080\"  # flag --listen"));
    let allowed = "127.0.0.1:8080, [::1]:8080, localhost:8080";
    for (listen, says) in
        [("localhost", "has no port"), ("127.0.0.1:99999", "from 0 to 65535"), ("a.b:1", "not looked up")]
    {
        fails(world.run(&format!("config --listen {listen}")), 2, &[says, allowed]);
        fails(with_variable(&world, "config", "CAIRN_ADMIN_LISTEN", listen), 2, &["CAIRN_ADMIN_LISTEN", says, allowed]);
    }
}

#[test]
fn what_is_no_folder_or_no_file_is_named_with_its_setting() {
    let world = World::empty(CAIRN);
    fs::write(world.path("file"), "x").unwrap();
    for line in
        ["stages", "keys list", "index --network regtest --node http://127.0.0.1:1 --node-user a --node-password b"]
    {
        fails(
            world.run(&format!("{line} --datadir file")),
            2,
            &["--datadir file is a file, not a folder", "hint: give a folder"],
        );
    }
    fails(world.run("demo --datadir file"), 2, &["--datadir file is a file, not a folder"]);
    let index = "index --network regtest --datadir data";
    fails(world.run(&format!("{index} --blocks-dir file")), 2, &["--blocks-dir file is a file, not a folder"]);
    fails(world.run(index), 2, &["neither --blocks-dir nor --node is set", "CAIRN_NODE"]);
    fails(
        world.run("config --config nix.toml"),
        2,
        &["settings file nix.toml cannot be read: no such file", "--config"],
    );
    fs::create_dir(world.path("folder")).unwrap();
    fails(world.run("config --config folder"), 2, &["a folder is where a file is expected"]);
    fails(world.run("keys issue --datadir folder"), 2, &["--kind", "tip: --kind is one of key, session"]);
}

#[test]
fn a_full_standard_output_is_no_full_index() {
    let world = World::empty(CAIRN);
    for line in ["config", "--help", "config --reference", "openapi"] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = world.command(line).stdout(full).output().unwrap();
        let assert = Assert::new(output);
        fails(assert, 1, &["standard output cannot be written: No space left on device"]);
    }
}

/// Reads a document of this repository.
fn document(name: &str) -> String {
    fs::read_to_string(cairn_testkit::workspace_root().join(name)).unwrap()
}

#[test]
fn the_reference_of_settings_is_current() {
    let world = World::empty(CAIRN);
    let expected = world.stdout("config --reference");
    assert!(
        document("docs/configuration.md") == expected,
        "docs/configuration.md is not what `cairn config --reference` prints: write it again"
    );
}

#[test]
fn help_shows_the_way() {
    let help = World::empty(CAIRN).stdout("help");
    for part in [
        "Start:\n  demo ",
        "`run` does both in one process",
        "Look after the index:\n",
        "Examples:\n  cairn demo\n",
        "a flag beats the environment",
        "docs/operators.md",
        "Exit codes:\n",
    ] {
        assert!(help.contains(part), "{part}: {help}");
    }
    // The examples are commands that the program takes: only what they name is missing here.
    let examples: Vec<&str> = help.lines().filter_map(|line| line.strip_prefix("  cairn ")).collect();
    assert_eq!(examples.len(), 3, "{help}");
    for example in examples.into_iter().filter(|example| *example != "demo") {
        let said = World::empty(CAIRN).run(&example.replace("~/", "")).failure();
        let said = String::from_utf8_lossy(&said.get_output().stderr).into_owned();
        assert!(!said.contains("Usage:") && !said.contains("unexpected"), "{example}: {said}");
    }
    for brief in ["-h", ""] {
        let output = World::empty(CAIRN).command(brief).output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(said.contains("Start:\n") && said.contains("Examples:\n"), "{brief}: {said}");
    }
}

#[test]
fn origins_of_pages_are_named() {
    let world = World::small(CAIRN, 2);
    world.index();
    fails(world.run("serve --datadir data --browser-origins app.example"), 2, &["https://app.example"]);
    fails(
        world.run("serve --datadir data --listen 127.0.0.1:0 --browser-origins *"),
        2,
        &["every web page", "--base-url"],
    );
}

#[test]
fn the_guide_lists_the_exit_codes() {
    let help = World::empty(CAIRN).stdout("--help");
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
    let document: serde_json::Value = serde_json::from_str(&World::empty(CAIRN).stdout("openapi")).unwrap();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    assert!(document["paths"]["/v1/tx/{txid}"]["get"].is_object());
}
