//! `cairn state`: the database of keys is copied while a server uses it, damage is reported, and the copy restores it.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

use cairn_support::{World, fails};

use crate::CAIRN;

const ISSUE: &str = "keys issue --datadir data --kind key";
const WHOLE: &str = "ok: schema version 11, 1 keys and sessions, 0 tickets, 0 approvals, 0 files of documents that wait, 0 writers, 0 reports, 0 payment addresses, 0 timestamps, 0 codes, 0 challenges, 0 payments of x402, 0 simulated invoices, 0 checkouts\n";

fn with_key() -> (World, String) {
    let world = World::empty(CAIRN);
    fs::create_dir(world.path("data")).unwrap();
    let secret = world.stdout(ISSUE).trim_end().to_owned();
    (world, secret)
}

fn mode(world: &World, name: &str) -> u32 {
    fs::metadata(world.path(name)).unwrap().permissions().mode() & 0o777
}

#[test]
fn damage_is_told_and_a_backup_restores_the_keys() {
    let (world, secret) = with_key();
    let id = secret[10..22].to_owned();
    assert_eq!(world.stdout("state check --datadir data"), WHOLE);
    let said = world.stdout("state backup --datadir data copy.sqlite");
    assert!(said.contains("copy.sqlite") && said.contains("only its owner"), "{said}");
    assert_eq!(mode(&world, "copy.sqlite"), 0o600);
    // It has hashes, no secret.
    let bytes = fs::read(world.path("copy.sqlite")).unwrap();
    let holds = |what: &str| bytes.windows(what.len()).any(|window| window == what.as_bytes());
    assert!(holds(&id) && !holds(&secret[23..]));
    assert!(!world.path("copy.sqlite.part").exists());
    assert_eq!(world.stdout("state check --state-url sqlite:copy.sqlite"), WHOLE);
    // Every page but the first is damaged, or the file is cut off, or it is something else.
    let file = world.path("data/state.sqlite");
    let whole = fs::read(&file).unwrap();
    let mut torn = whole.clone();
    torn[4096..].fill(0xa5);
    let cut = whole[..whole.len() / 2].to_vec();
    let mut one = whole.clone();
    let at = whole.windows(12).position(|window| window == id.as_bytes()).unwrap();
    // A row that its index does not know.
    one[at] ^= 1;
    for damaged in [torn, cut, one, b"no database, but long enough to be looked at closely".repeat(40)] {
        fs::write(&file, &damaged).unwrap();
        let output = world.run("state check --datadir data").code(7);
        let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        assert!(text.starts_with("damaged: "), "{text}");
        assert!(text.contains("cairn state backup") && text.contains("cairn state check"), "{text}");
        assert_eq!(fs::read(&file).unwrap(), damaged, "left as it was");
    }
    fs::copy(world.path("copy.sqlite"), &file).unwrap();
    for side in ["-wal", "-shm"] {
        let _ = fs::remove_file(world.path(&format!("data/state.sqlite{side}")));
    }
    assert_eq!(world.stdout("state check --datadir data"), WHOLE);
    assert!(world.stdout("keys list --datadir data").contains(&format!("{id}  ")));
    assert!(world.stdout(&format!("keys revoke --datadir data {secret}")).contains(&id));
}

#[test]
fn a_table_that_is_missing_is_told() {
    let (world, _) = with_key();
    // The same as SQLite would do, without a tool for it: the name in the schema is another one.
    let file = world.path("data/state.sqlite");
    let mut bytes = fs::read(&file).unwrap();
    for at in 0..bytes.len() - 8 {
        if &bytes[at..at + 8] == b"feedback" {
            bytes[at..at + 8].copy_from_slice(b"feedbaxx");
        }
    }
    fs::write(&file, bytes).unwrap();
    let output = world.run("state check --datadir data").code(7);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(text.contains("feedback"), "{text}");
}

#[test]
fn nothing_is_overwritten_without_consent() {
    let (world, _) = with_key();
    let backup = "state backup --datadir data";
    fs::write(world.path("other"), "precious").unwrap();
    fails(world.run(&format!("{backup} other")), 2, &["other: the file exists", "--force"]);
    assert_eq!(fs::read(world.path("other")).unwrap(), b"precious");
    symlink("nowhere", world.path("link")).unwrap();
    fails(world.run(&format!("{backup} link")), 2, &["the file exists"]);
    assert!(!world.path("nowhere").exists());
    world.run(&format!("{backup} --force other")).success();
    assert_eq!(mode(&world, "other"), 0o600);
    fs::set_permissions(world.path("other"), fs::Permissions::from_mode(0o644)).unwrap();
    world.run(&format!("{backup} --force other")).success();
    assert_eq!(mode(&world, "other"), 0o600);
    // A link is replaced, not followed.
    world.run(&format!("{backup} --force link")).success();
    assert!(!world.path("nowhere").exists() && !world.path("link").is_symlink());
}

#[test]
fn what_cannot_be_copied_or_checked_is_said() {
    let (world, _) = with_key();
    fails(world.run("state check --datadir nowhere"), 1, &["state.sqlite", "does not exist"]);
    assert!(!world.path("nowhere").exists());
    fails(world.run("state backup --datadir nowhere copy"), 1, &["state.sqlite"]);
    fails(world.run("state backup --datadir data no/such/folder"), 1, &["no/such/folder"]);
    let url = "--state-url postgres://cairn:hunter2@db.invalid/cairn";
    let refused = world.run(&format!("state backup {url} copy"));
    let text = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(!text.contains("hunter2"), "{text}");
    fails(refused, 2, &["PostgreSQL", "pg_dump"]);
    assert!(!world.path("copy").exists());
}

#[test]
fn a_copy_is_whole_while_keys_are_issued() {
    let (world, _) = with_key();
    let mut children: Vec<_> = (0..4)
        .map(|_| {
            let mut command = world.command(ISSUE);
            command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap()
        })
        .collect();
    for n in 0..4 {
        world.run(&format!("state backup --datadir data copy{n}")).success();
        let text = world.stdout(&format!("state check --state-url sqlite:copy{n}"));
        assert!(text.starts_with("ok: "), "{text}");
    }
    for child in &mut children {
        assert!(child.wait().unwrap().success());
    }
}

/// A database that was used and is gone is not taken for a new one: commands say what is there, and go on only if asked
/// to.
#[test]
fn a_lost_database_is_told_and_begun_anew_only_if_asked() {
    let (world, secret) = with_key();
    let (file, copy) = (world.path("data/state.sqlite"), world.path("copy.sqlite"));
    world.run("state backup --datadir data copy.sqlite").success();
    let hint = ["cairn state accept", "--new"];
    for emptied in [false, true] {
        if emptied {
            fs::write(&file, "").unwrap()
        } else {
            fs::remove_file(&file).unwrap()
        }
        let says = if emptied { "the file is empty" } else { "the file is missing" };
        for line in ["keys list --datadir data", ISSUE, "state check --datadir data", "state accept --datadir data"] {
            fails(world.run(line), 1, &["data/state.sqlite", "state.sqlite.mark", says, hint[0], hint[1]]);
        }
        fs::copy(&copy, &file).unwrap();
        assert_eq!(world.stdout("state check --datadir data"), WHOLE);
    }
    // An older copy: the key is valid in it.
    world.run(&format!("keys revoke --datadir data {secret}")).success();
    fs::copy(&copy, &file).unwrap();
    fails(world.run("keys list --datadir data"), 1, &["older copy", "revoked", hint[0]]);
    let checked = world.run("state check --datadir data").code(7);
    let text = String::from_utf8_lossy(&checked.get_output().stdout).into_owned();
    assert!(text.contains("older copy") && text.contains("cairn state accept"), "{text}");
    let used = world.stdout("state accept --datadir data");
    assert!(used.contains("revoke them"), "{used}");
    assert_eq!(world.stdout("state check --datadir data"), WHOLE);
    fails(world.run("state accept --new --datadir data"), 2, &["there is a database"]);
    fs::remove_file(&file).unwrap();
    world.run("state accept --new --datadir data").success();
    assert_eq!(mode(&world, "data/state.sqlite.mark"), 0o600);
    assert!(world.stdout("state check --datadir data").contains("0 keys and sessions"));
}
