//! The parts of a package besides the server: completions, manual pages, and the command of health checks.

use std::{
    collections::BTreeSet,
    fs,
    process::{Command, Stdio},
};

use cairn_support::{World, fails};

use crate::CAIRN;

/// Names of the commands, as `--help` lists them.
fn commands(world: &World) -> BTreeSet<String> {
    let help = world.stdout("--help");
    let groups = help.split("\nOptions:").next().unwrap();
    // Further lines of a description are further to the right.
    let name = |line: &str| {
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (name.starts_with(|c: char| c.is_ascii_lowercase())).then(|| name.to_owned())
    };
    let names: BTreeSet<String> = groups.lines().filter_map(name).collect();
    assert!(["demo", "completions", "verify"].iter().all(|name| names.contains(*name)), "{names:?}");
    assert!(names.len() > 20, "{names:?}");
    names
}

#[test]
fn each_shell_completes_each_command() {
    let world = World::empty(CAIRN);
    let commands = commands(&world);
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = world.stdout(&format!("completions {shell}"));
        for command in &commands {
            assert!(script.contains(command.as_str()), "{shell}: {command}");
        }
        assert!(script.contains("--silent-payments") || script.contains("silent-payments"), "{shell}: no flags");
    }
    fails(world.run("completions tcsh"), 2, &["tcsh", "bash", "zsh"]);

    // Bash itself completes a command and a flag.
    fs::write(world.path("cairn.bash"), world.stdout("completions bash")).unwrap();
    let complete = "source ./cairn.bash; COMP_WORDS=(cairn snap); COMP_CWORD=1; _cairn cairn snap cairn; \
                    echo \"${COMPREPLY[@]}\"; COMP_WORDS=(cairn run --silent); COMP_CWORD=2; \
                    _cairn cairn --silent run; echo \"${COMPREPLY[@]}\"";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", complete]).current_dir(world.path("")).stdin(Stdio::null());
    let output = bash.output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "snapshot\n--silent-payments\n", "{output:?}");
}

#[test]
fn each_command_has_a_manual_page() {
    let world = World::empty(CAIRN);
    world.run("manual pages/man1").success();
    for command in commands(&world).iter().filter(|name| *name != "help") {
        let page = fs::read_to_string(world.path(&format!("pages/man1/cairn-{command}.1"))).unwrap();
        assert!(page.contains(".SH SYNOPSIS"), "{command}: {page}");
    }
    // Commands of commands, and their settings.
    let page = fs::read_to_string(world.path("pages/man1/cairn-labels-import.1")).unwrap();
    assert!(page.contains(r"\-\-datadir"), "{page}");
    assert!(fs::read_to_string(world.path("pages/man1/cairn.1")).unwrap().contains("Exit codes"));

    fs::write(world.path("file"), "").unwrap();
    fails(world.run("manual file/man1"), 2, &["file/man1 cannot be written"]);
}

#[test]
fn the_version_says_what_an_upgrade_asks() {
    let world = World::empty(CAIRN);
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(world.stdout("-V"), format!("cairn {version}\n"));
    let long = world.stdout("--version");
    let lines: Vec<&str> = long.lines().collect();
    assert_eq!(lines[0], format!("cairn {version}"));
    for (line, start) in lines[1..].iter().zip(["commit: ", "index: format ", "service state: schema ", "built for: "])
    {
        assert!(line.starts_with(start), "{long}");
    }
    assert_eq!(lines.len(), 5, "{long}");
}

#[test]
fn health_checks_ask_the_server_that_runs() {
    let world = World::small(CAIRN, 5);
    fails(world.run("ready"), 2, &["--admin-listen is missing", "--admin-listen 127.0.0.1:9090"]);
    // Nobody listens at a port that was free a moment ago.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    fails(world.run(&format!("ready --admin-listen {free}")), 1, &[&free.to_string()]);

    world.index();
    let mut server = world.start("serve --datadir data --listen 127.0.0.1:0 --admin-listen 0.0.0.0:0");
    server.wait_for("serving operators address=");
    let said = server.said();
    let admin = said.split("serving operators address=").nth(1).unwrap().split_whitespace().next().unwrap();
    let port = admin.rsplit(':').next().unwrap();
    server.address();
    assert_eq!(world.stdout(&format!("ready --admin-listen 0.0.0.0:{port}")).lines().next(), Some("ok"));
    // By the environment, as in a container.
    let mut command = world.command("ready");
    let output = command.env("CAIRN_ADMIN_LISTEN", format!("127.0.0.1:{port}")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    drop(server);

    // A server without an index answers nothing yet, and says why.
    let mut empty = world.start("serve --datadir nothing --listen 127.0.0.1:0 --admin-listen 127.0.0.1:0");
    empty.wait_for("serving operators address=");
    let said = empty.said();
    let admin = said.split("serving operators address=").nth(1).unwrap().split_whitespace().next().unwrap();
    fails(world.run(&format!("ready --admin-listen {admin}")), 1, &["503"]);
}
