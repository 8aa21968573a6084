//! The files of `deploy/`: the unit and the proxy's configuration are valid, and all that they name exists.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    process::{Command, Output, Stdio},
};

use cairn_support::{Running, World, get_json};

use crate::CAIRN;

fn deployed(name: &str) -> String {
    fs::read_to_string(cairn_testkit::workspace_root().join("deploy").join(name)).unwrap()
}

/// The values of a key of the unit.
fn values<'a>(unit: &'a str, key: &str) -> Vec<&'a str> {
    let values: Vec<&str> = unit.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('=')).collect();
    assert!(!values.is_empty(), "the unit has no {key}");
    values
}

/// The one argument of a directive of the proxy's configuration.
fn argument<'a>(nginx: &'a str, directive: &str) -> &'a str {
    let mut lines = nginx.lines().filter_map(|line| line.trim().strip_prefix(directive)?.strip_prefix(' '));
    lines.next().and_then(|rest| rest.strip_suffix(';')).unwrap_or_else(|| panic!("no {directive}"))
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn is_installed(program: &str, version: &str) -> bool {
    Command::new(program).arg(version).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

#[test]
fn systemd_accepts_the_unit() {
    if !is_installed("systemd-analyze", "--version") {
        cairn_testkit::skip!("no systemd-analyze (Debian: systemd)");
    }
    // The program is checked too, so it has to be one that is there.
    let unit = deployed("cairn.service");
    let [command] = values(&unit, "ExecStart")[..] else { panic!("more than one command") };
    let program = command.split_whitespace().next().unwrap();
    let world = World::empty(CAIRN);
    let check = |text: &str, words: &[&str]| {
        fs::write(world.path("cairn.service"), text).unwrap();
        Command::new("systemd-analyze").args(words).arg(world.path("cairn.service")).output().unwrap()
    };
    let unit = unit.replace(program, env!("CARGO_BIN_EXE_cairn"));
    let verified = check(&unit, &["verify", "--man=no"]);
    assert!(verified.status.success() && said(&verified).is_empty(), "{}", said(&verified));
    let misspelled = check(&unit.replace("ProtectSystem=", "ProtectSytem="), &["verify", "--man=no"]);
    assert!(said(&misspelled).contains("ProtectSytem"), "{}", said(&misspelled));

    // Exposure in tenths, where 100 is a unit without any of this.
    let offline = ["security", "--offline=true", "--no-pager", "--threshold=20"];
    let exposed = check(&unit, &offline);
    assert!(exposed.status.success(), "{}", said(&exposed));
    let open = check(&unit.replace("CapabilityBoundingSet=", "#").replace("SystemCallFilter=", "#"), &offline);
    assert!(!open.status.success(), "{}", said(&open));
}

/// The units of checkpoints and restores, and their timers.
#[test]
fn systemd_accepts_the_timers() {
    if !is_installed("systemd-analyze", "--version") {
        cairn_testkit::skip!("no systemd-analyze (Debian: systemd)");
    }
    let world = World::empty(CAIRN);
    for name in ["cairn-checkpoint", "cairn-restore"] {
        let unit = deployed(&format!("{name}.service"));
        let [command] = values(&unit, "ExecStart")[..] else { panic!("more than one command") };
        let program = command.split_whitespace().next().unwrap();
        let mut words = command.split_whitespace().skip(1);
        let line = format!("{} {} --help", words.next().unwrap(), words.next().unwrap());
        world.run(&line).success();
        fs::write(world.path("environment"), "CHECKPOINTS=s3://bucket/cairn\n").unwrap();
        let environment = world.path("environment").display().to_string();
        let unit = unit.replace(program, env!("CARGO_BIN_EXE_cairn")).replace("/etc/cairn/cairn.env", &environment);
        let check = |unit: &str, timer: &str| {
            fs::write(world.path(&format!("{name}.service")), unit).unwrap();
            fs::write(world.path(&format!("{name}.timer")), timer).unwrap();
            let mut command = Command::new("systemd-analyze");
            said(&command.args(["verify", "--man=no"]).arg(world.path(&format!("{name}.timer"))).output().unwrap())
        };
        let timer = deployed(&format!("{name}.timer"));
        assert_eq!(check(&unit, &timer), "", "{name}");
        let misspelled = check(&unit, &timer.replace("OnCalendar=", "OnCalender="));
        assert!(misspelled.contains("OnCalender"), "{misspelled}");
        // As closed as the unit of the server, line by line.
        let server = deployed("cairn.service");
        let sandbox = |text: &str| -> BTreeSet<String> {
            let (_, rest) = text.split_once("ProtectSystem=").unwrap();
            let lines = rest.lines().take_while(|line| *line != "[Install]");
            lines.filter(|line| line.contains('=') && !line.starts_with('#')).map(str::to_owned).collect()
        };
        assert_eq!(sandbox(&unit), sandbox(&server), "{name}");
    }
}

/// The load balancer asks what Cairn answers, and fits its limits.
#[test]
fn haproxy_accepts_the_load_balancer() {
    let config = deployed("haproxy.cfg");
    assert_eq!(config.matches("option httpchk GET /readyz").count(), 3);
    let servers: Vec<&str> = config.lines().filter(|line| line.trim().starts_with("server ")).collect();
    assert!(servers.len() == 6 && servers.iter().all(|line| line.ends_with(" port 9090")), "{servers:?}");
    // The API, its streams, and Esplora's API.
    let of_port = |port: &str| servers.iter().filter(|line| line.contains(port)).count();
    assert_eq!((of_port(":8080 "), of_port(":3002 ")), (4, 2));
    let timeout = config.lines().find_map(|line| line.trim().strip_prefix("timeout server ")).unwrap();
    let seconds = timeout.strip_suffix('s').unwrap().parse::<u64>().unwrap();
    assert!(seconds > cairn_http::HttpConfig::default().request_timeout.as_secs(), "{seconds}");
    if !is_installed("haproxy", "-v") || !is_installed("openssl", "version") {
        cairn_testkit::skip!("no haproxy or no openssl");
    }
    let world = World::empty(CAIRN);
    let make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=cairn.example \
                -keyout key.pem -out cert.pem";
    let made = Command::new("openssl").args(make.split_whitespace()).current_dir(world.path("")).output().unwrap();
    assert!(made.status.success(), "{}", said(&made));
    let both =
        fs::read_to_string(world.path("cert.pem")).unwrap() + &fs::read_to_string(world.path("key.pem")).unwrap();
    fs::write(world.path("both.pem"), both).unwrap();
    let config = config.replace("/etc/haproxy/cairn.pem", &world.path("both.pem").display().to_string());
    let check = |config: &str| {
        fs::write(world.path("haproxy.cfg"), config).unwrap();
        Command::new("haproxy").args(["-c", "-f"]).arg(world.path("haproxy.cfg")).output().unwrap()
    };
    let accepted = check(&config);
    assert!(accepted.status.success(), "{}", said(&accepted));
    assert!(!check(&config.replace("balance leastconn", "balance lestconn")).status.success());
}

#[test]
fn the_unit_names_commands_and_exit_codes_that_exist() {
    let (world, unit) = (World::empty(CAIRN), deployed("cairn.service"));
    for command in values(&unit, "ExecStart") {
        let (program, line) = command.split_once(' ').unwrap();
        assert!(program.ends_with("/cairn"), "{program}");
        world.run(&format!("{line} --help")).success();
    }
    let help = world.stdout("--help");
    let listed = help.split("Exit codes:\n").nth(1).unwrap();
    let codes: BTreeSet<u8> = listed.lines().map_while(|line| line.split_whitespace().next()?.parse().ok()).collect();
    let guide = fs::read_to_string(cairn_testkit::workspace_root().join("docs/operators.md")).unwrap();
    for key in ["RestartPreventExitStatus", "SuccessExitStatus"] {
        for code in values(&unit, key).iter().flat_map(|codes| codes.split_whitespace()) {
            assert!(codes.contains(&code.parse().unwrap()), "{key}: {code} is no exit code: {codes:?}");
            assert!(guide.contains(&format!("\n| {code} | ")), "{key}: {code} is not in the operators' guide");
        }
    }
    // The data are where the settings say, and these are where the unit says.
    let settings: toml::Table = deployed("cairn.toml").parse().unwrap();
    let [folder] = values(&unit, "StateDirectory")[..] else { panic!("more than one folder") };
    assert_eq!(settings["datadir"].as_str(), Some(format!("/var/lib/{folder}").as_str()));
    let guide = deployed("README.md");
    for (name, value) in values(&unit, "Environment").iter().map(|pair| pair.split_once('=').unwrap()) {
        assert_eq!(name, "CAIRN_CONFIG");
        assert!(guide.contains(&format!("install -D -m 0644 deploy/cairn.toml {value}")), "{value}");
    }
}

#[test]
fn what_is_deployed_names_settings_that_exist() {
    let world = World::empty(CAIRN);
    let reference = world.stdout("config --reference");
    let mut named = BTreeSet::new();
    for file in [
        "cairn.service",
        "cairn.toml",
        "nginx.conf",
        "Caddyfile",
        "README.md",
        "haproxy.cfg",
        "cairn-checkpoint.service",
        "cairn-restore.service",
    ] {
        let text = deployed(file);
        for (at, _) in text.match_indices("CAIRN_") {
            let end = |c: char| !c.is_ascii_uppercase() && c != '_';
            named.insert(text[at..].split(end).next().unwrap().to_owned());
        }
        for after in text.split("setting `").skip(1) {
            named.insert(after.split('`').next().unwrap().to_owned());
        }
    }
    assert!(named.len() >= 6, "{named:?}");
    for name in named {
        assert!(reference.contains(&format!("`{name}`")), "{name} is no setting");
    }
    // Every key and value is one that `run` takes.
    fs::write(world.path("cairn.toml"), deployed("cairn.toml")).unwrap();
    let shown = world.stdout("config");
    let settings: toml::Table = deployed("cairn.toml").parse().unwrap();
    for key in settings.keys() {
        let line = shown.lines().find(|line| line.starts_with(&format!("{key} = ")));
        assert!(line.is_some_and(|line| line.ends_with("# file")), "{key}: {line:?}");
        let row = reference.lines().find(|line| line.starts_with(&format!("| `{key}` |"))).unwrap();
        assert!(row.contains(" run") || row.contains("| all |"), "{row}");
    }
}

#[test]
fn the_proxy_fits_the_settings() {
    let nginx = deployed("nginx.conf");
    let settings: toml::Table = deployed("cairn.toml").parse().unwrap();
    assert_eq!(Some(argument(&nginx, "server")), settings["listen"].as_str());
    let url = format!("https://{}", argument(&nginx, "server_name").split(' ').next().unwrap());
    assert_eq!(settings["base_url"].as_str(), Some(url.as_str()));
    let proxies = settings["trusted_proxies"].as_array().unwrap();
    assert!(proxies.iter().any(|proxy| proxy.as_str() == Some("127.0.0.1")));

    // Cairn refuses large bodies in its own words.
    let ours = cairn_http::HttpConfig::default();
    assert_eq!(ours.max_body_bytes, 1 << 20, "the comments name it");
    assert_eq!((argument(&nginx, "client_max_body_size"), argument(&nginx, "proxy_request_buffering")), ("0", "off"));
    let seconds = argument(&nginx, "proxy_read_timeout").strip_suffix('s').unwrap().parse::<u64>().unwrap();
    assert!(seconds > ours.request_timeout.as_secs(), "{seconds}");

    let caddy = deployed("Caddyfile");
    let name = argument(&nginx, "server_name").split(' ').next().unwrap();
    let site = format!("\n{name} {{\n\treverse_proxy {} {{", settings["listen"].as_str().unwrap());
    assert!(caddy.contains(&site), "{site}");
    let waits = caddy.lines().find_map(|line| line.trim().strip_prefix("response_header_timeout ")).unwrap();
    assert!(waits.strip_suffix('s').unwrap().parse::<u64>().unwrap() > ours.request_timeout.as_secs(), "{waits}");
}

#[test]
fn nginx_accepts_the_proxy() {
    if !is_installed("nginx", "-v") || !is_installed("openssl", "version") {
        cairn_testkit::skip!("no nginx or no openssl");
    }
    let world = World::empty(CAIRN);
    let make = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=cairn.example \
                -keyout key.pem -out cert.pem";
    let made = Command::new("openssl").args(make.split_whitespace()).current_dir(world.path("")).output().unwrap();
    assert!(made.status.success(), "{}", said(&made));
    // Ports below 1024 are root's, and others may be in use: sockets in the folder listen in their place.
    let mut listeners = 0;
    let mut site = String::new();
    for line in deployed("nginx.conf").lines() {
        if let Some(rest) = line.trim().strip_prefix("listen ") {
            listeners += 1;
            // From nginx 1.25.1 on, the word `http2` gives a warning here.
            let ssl = if rest.contains(" ssl") { " ssl" } else { "" };
            site += &format!("listen unix:{}{ssl};\n", world.path(&format!("{listeners}.sock")).display());
        } else if line.trim().starts_with("ssl_certificate ") {
            site += "ssl_certificate cert.pem;\n";
        } else if line.trim().starts_with("ssl_certificate_key ") {
            site += "ssl_certificate_key key.pem;\n";
        } else {
            site += &format!("{line}\n");
        }
    }
    assert_eq!(listeners, 6);
    let check = |site: &str| {
        let whole = format!("pid nginx.pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n{site}}}\n");
        fs::write(world.path("nginx.conf"), whole).unwrap();
        let mut nginx = Command::new("nginx");
        nginx.arg("-t").arg("-p").arg(world.path("")).arg("-c").arg(world.path("nginx.conf"));
        nginx.args(["-e", "stderr"]).output().unwrap()
    };
    let accepted = check(&site);
    assert!(accepted.status.success() && !said(&accepted).contains("[warn]"), "{}", said(&accepted));
    let wrong = check(&site.replace("proxy_buffering off", "proxy_bufering off"));
    assert!(!wrong.status.success() && said(&wrong).contains("proxy_bufering"), "{}", said(&wrong));
}

/// The system calls that the unit's filter lets through.
fn allowed(unit: &str) -> BTreeSet<String> {
    let output = Command::new("systemd-analyze").args(["syscall-filter", "--no-pager"]).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let mut sets: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let (word, inside) = (line.trim(), line.starts_with(' '));
        match (inside, word.starts_with('@')) {
            (false, true) => current = word.to_owned(),
            (true, _) if !word.starts_with('#') => {
                sets.entry(current.clone()).or_default().push(word.to_owned());
            }
            _ => {}
        }
    }
    let expand = |set: &str| {
        let (mut calls, mut open) = (BTreeSet::new(), vec![set.to_owned()]);
        while let Some(name) = open.pop() {
            match sets.get(&name) {
                Some(members) => open.extend(members.iter().cloned()),
                None => {
                    assert!(!name.starts_with('@'), "systemd knows no {name}");
                    calls.insert(name);
                }
            }
        }
        calls
    };
    let mut allowed = BTreeSet::new();
    for filter in values(unit, "SystemCallFilter") {
        let (denied, names) = filter.strip_prefix('~').map_or((false, filter), |names| (true, names));
        for call in names.split_whitespace().flat_map(expand) {
            if denied {
                allowed.remove(&call)
            } else {
                allowed.insert(call)
            };
        }
    }
    allowed
}

/// A command under strace, which writes to the file `calls` of the folder; without settings from outside, as `cairn`
/// itself.
fn traced(world: &World, words: &[&str]) -> Command {
    let plain = world.command("");
    let mut command = Command::new("strace");
    for (name, _) in plain.get_envs() {
        command.env_remove(name);
    }
    command.current_dir(world.path("")).args(["-f", "-qq", "-o", "calls"]).args(words);
    command
}

fn may_trace(world: &World) -> bool {
    traced(world, &["true"]).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Fails if the unit's filter refuses one of the traced system calls.
fn assert_all_allowed(world: &World, unit: &str, of: &[&str]) {
    let text = fs::read_to_string(world.path("calls")).unwrap();
    let called: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.split_once(' ')?.1.trim_start().split_once('(').map(|(name, _)| name))
        .filter(|name| name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'))
        .collect();
    assert!(of.iter().all(|call| called.contains(call)) && called.len() > 40, "{called:?}");
    let allowed = allowed(unit);
    // As root, which the unit is not, SQLite gives its side files the owner of the database.
    let is_root = std::os::unix::fs::MetadataExt::uid(&fs::metadata("/proc/self").unwrap()) == 0;
    let of_root_only = |call: &str| is_root && call == "fchown";
    let denied: Vec<&&str> = called.iter().filter(|call| !allowed.contains(**call) && !of_root_only(call)).collect();
    assert!(denied.is_empty(), "the unit's filter refuses {denied:?}");
}

#[test]
fn the_unit_allows_every_system_call_of_a_run() {
    let unit = deployed("cairn.service");
    if !is_installed("systemd-analyze", "--version") {
        cairn_testkit::skip!("no systemd-analyze (Debian: systemd)");
    }
    let world = World::small(CAIRN, 30);
    if !may_trace(&world) {
        cairn_testkit::skip!("strace is missing, or may not trace");
    }
    let line = "run --network regtest --datadir data --blocks-dir blocks --listen 127.0.0.1:0";
    let shell = format!("echo $$ >pid; exec '{}' {line}", env!("CARGO_BIN_EXE_cairn"));
    let mut running = Running::start(traced(&world, &["sh", "-c", &shell]));
    let address = running.address();
    get_json(&address, "/api/health");
    // strace itself ignores the signal.
    let pid = fs::read_to_string(world.path("pid")).unwrap();
    assert!(Command::new("kill").arg(pid.trim()).status().unwrap().success());
    assert_eq!(running.end().0.code(), Some(143), "{}", running.said());
    assert_all_allowed(&world, &unit, &["accept4", "fsync"]);
}

#[test]
fn the_units_of_copies_allow_every_system_call() {
    if !is_installed("systemd-analyze", "--version") {
        cairn_testkit::skip!("no systemd-analyze (Debian: systemd)");
    }
    let world = World::small(CAIRN, 30);
    if !may_trace(&world) {
        cairn_testkit::skip!("strace is missing, or may not trace");
    }
    world.index();
    for (name, extra) in [("cairn-checkpoint", " --datadir data"), ("cairn-restore", " --datadir replica")] {
        let unit = deployed(&format!("{name}.service"));
        let [command] = values(&unit, "ExecStart")[..] else { panic!("more than one command") };
        let store = format!("file://{}", world.path("store").display());
        let line = command.replace("${CHECKPOINTS}", &store) + extra;
        let words: Vec<&str> = line.split_whitespace().skip(1).collect();
        let output = traced(&world, &[&[env!("CARGO_BIN_EXE_cairn")], &words[..]].concat()).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        assert_all_allowed(&world, &unit, &["openat", "fsync"]);
    }
}
