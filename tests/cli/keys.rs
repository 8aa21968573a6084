//! `cairn keys`: issuing, listing and revoking, beside a server that is running.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
};

use cairn_support::{Running, World, fails, wait_until};

use crate::CAIRN;

/// The output of a command: results, and messages for people.
fn said(world: &World, line: &str) -> (String, String) {
    let output = world.command(line).output().unwrap();
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{line}: {err}");
    (out, err)
}

/// The columns of the list, split at two spaces or more.
fn listed(world: &World) -> Vec<Vec<String>> {
    let text = world.stdout("keys list --datadir data");
    let cells = |line: &str| line.split("  ").map(str::trim).filter(|c| !c.is_empty()).map(str::to_owned).collect();
    let mut lines: Vec<Vec<String>> = text.lines().map(cells).collect();
    assert_eq!(lines.remove(0).join(","), "id,kind,state,begins with,created,expires,revoked,last used,label");
    lines
}

/// A GET request with another header; the whole answer.
pub(crate) fn get_with(address: &str, path: &str, header: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n{header}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn keys_are_issued_listed_and_revoked() {
    let world = World::empty(CAIRN);
    fs::create_dir(world.path("data")).unwrap();
    assert!(listed(&world).is_empty());
    let mut command = world.command("keys issue --datadir data --kind session --expires 31d --label");
    let output = command.arg("for Ann").output().unwrap();
    assert!(output.status.success());
    let secret = String::from_utf8(output.stdout).unwrap();
    let secret = secret.strip_suffix('\n').unwrap();
    assert!(secret.starts_with("cairn_ses_") && secret.len() == 95 && !secret.contains(char::is_whitespace));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("Authorization: Bearer <token>") && !told.contains(&secret[23..]), "{told}");
    let (key, told) = said(&world, "keys issue --datadir data --kind key");
    assert!(key.starts_with("cairn_key_") && told.contains("X-WR-API-Key"));

    let (id, key_id) = (&secret[10..22], &key[10..22]);
    // Both may be of the same second; then their ids, which are random, decide the order.
    let listed = || {
        let mut rows = listed(&world);
        rows.sort_by_key(|row| row[0] != *id);
        rows
    };
    let rows = listed();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[0][..4], [id, "session", "active", &format!("cairn_ses_{id}_…")]);
    assert_eq!(rows[0][6..], ["-", "-", "for Ann"]);
    assert_eq!((rows[1][0].as_str(), rows[1][5].as_str()), (key_id, "never"));
    let text = world.stdout("keys list --datadir data");
    assert!(!text.contains(&secret[23..31]) && !text.contains(&key[23..31]));

    assert!(said(&world, &format!("keys revoke --datadir data {id}")).0.starts_with(&format!("revoked {id}")));
    assert!(said(&world, &format!("keys revoke --datadir data {secret}")).0.contains("was already revoked at"));
    assert_eq!(listed()[0][2], "revoked");
    assert_eq!(listed()[1][2], "active");
}

#[test]
fn codes_are_issued_listed_and_revoked() {
    let world = World::empty(CAIRN);
    fs::create_dir(world.path("data")).unwrap();
    let (code, about) = said(&world, "keys codes issue --datadir data --kind session --valid 7d --expires 1h");
    let code = code.trim();
    assert!(code.starts_with("cairn_code_") && about.contains("POST /v1/billing/redeem"), "{about}");
    let (id, list) = (&code[11..23], || world.stdout("keys codes list --datadir data"));
    assert!(about.contains(id) && !about.contains(&code[24..]));
    assert!(list().contains(&format!("{id}  session  open")) && !list().contains(&code[24..32]), "{}", list());
    assert!(said(&world, &format!("keys codes revoke --datadir data {code}")).0.starts_with(&format!("revoked {id}")));
    assert!(said(&world, &format!("keys codes revoke --datadir data {id}")).0.contains("was already revoked at"));
    assert!(list().contains(&format!("{id}  session  revoked")), "{}", list());
    fails(world.run("keys codes revoke --datadir data 0123456789ab"), 1, &["no such code", "codes list"]);
    fails(world.run("keys codes issue --datadir data --valid 7"), 2, &["--valid"]);
    fails(world.run("keys codes list"), 2, &["--datadir is missing"]);
}

#[test]
fn mistakes_are_told() {
    let world = World::empty(CAIRN);
    fails(world.run("keys list"), 2, &["--datadir is missing"]);
    fails(world.run("keys issue --kind key --datadir nowhere"), 1, &["nowhere", "hint"]);
    assert!(!world.path("nowhere").exists());
    fs::create_dir(world.path("data")).unwrap();
    for (line, says) in [
        ("keys issue --datadir data", "--kind"),
        ("keys issue --datadir data --kind password", "session"),
        ("keys issue --datadir data --kind key --expires 31", "for example 31d"),
        ("keys issue --datadir data --kind key --expires 0d", "from 1m to 3650d"),
    ] {
        fails(world.run(line), 2, &[says]);
    }
    let secret = "cairn_ses_0123456789ab_ffffffffffffffff";
    let revoked = world.run(&format!("keys revoke --datadir data {secret}"));
    assert!(!String::from_utf8_lossy(&revoked.get_output().stderr).contains("ffff"));
    fails(revoked, 1, &["no such key or session"]);
    for url in ["hunter2", "mysql://ann:hunter2@host/db", "postgres://ann:hunter2@127.0.0.1:1/db"] {
        let mut command = world.command("keys list");
        let output = command.env("CAIRN_STATE_URL", url).output().unwrap();
        assert!([Some(1), Some(2)].contains(&output.status.code()));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.starts_with("error: ") && !text.contains("hunter2"), "{text}");
        let shown = world.command("config").env("CAIRN_STATE_URL", url).output().unwrap();
        let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
        assert!(shown.contains("state_url = \"********\"") && !shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn a_database_elsewhere_needs_no_datadir() {
    let world = World::empty(CAIRN);
    let file = world.path("elsewhere.sqlite");
    let line = format!("keys issue --kind key --state-url sqlite:{}", file.display());
    said(&world, &line);
    let list = world.stdout(&format!("keys list --state-url sqlite:{}", file.display()));
    assert_eq!(list.lines().count(), 2);
}

#[test]
fn a_running_server_takes_what_is_issued_beside_it_and_logs_no_secret() {
    let world = World::small(CAIRN, 20);
    world.index();
    let mut command = world.command("serve --datadir data --listen 127.0.0.1:0");
    command.env("CAIRN_LOG", "trace");
    let mut server = Running::start(command);
    let address = server.address();
    // The gate stands before the page, whatever is on it.
    let later = format!("/v1/wallets/scripthash:{}/transactions?offset=1", "00".repeat(32));
    assert!(get_with(&address, &later, "X-None: 1").starts_with("HTTP/1.1 402 "));
    let mut secrets = Vec::new();
    for (kind, header) in [("session", "Authorization: Bearer"), ("key", "X-WR-API-Key:")] {
        let secret = said(&world, &format!("keys issue --datadir data --kind {kind}")).0.trim().to_owned();
        let answer = get_with(&address, &later, &format!("{header} {secret}"));
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        secrets.push(secret);
    }
    // It is noted beside the answer, not before it.
    wait_until("their use is noted", || listed(&world).iter().all(|row| row[7] != "-"));
    // A new one is refused at once when it is revoked before it is first seen.
    let secret = said(&world, "keys issue --datadir data --kind session").0.trim().to_owned();
    said(&world, &format!("keys revoke --datadir data {}", &secret[10..22]));
    let answer = get_with(&address, &later, &format!("Authorization: Bearer {secret}"));
    assert!(answer.starts_with("HTTP/1.1 402 "), "{answer}");
    secrets.push(secret);
    server.signal("TERM");
    let (status, _) = server.end();
    assert!(status.code() == Some(143), "{status:?}");
    wait_until("the log", || !server.said().is_empty());
    let log = server.said();
    for secret in &secrets {
        assert!(!log.contains(&secret[23..39]), "a secret is in the log");
    }
}
