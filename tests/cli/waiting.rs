//! `cairn serve` beside an indexer that has not begun, and its private folder.

use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    path::PathBuf,
};

use cairn_chaingen::corefiles::write_chain;
use cairn_support::{Running, World, fails, get, get_json, grown, layout, wait_until};

use crate::CAIRN;

const SERVE: &str = "serve --datadir data --listen 127.0.0.1:0";

#[test]
fn a_server_waits_for_its_index() {
    let world = World::empty(CAIRN);
    let written = write_chain(&world.path("blocks"), grown(105).chain(), &layout()).unwrap();
    let mut running = world.start(SERVE);
    running.wait_for("waiting for `cairn index`");
    let address = running.address();
    let (status, body) = get(&address, "/v1/blocks/105");
    assert!(status == 503 && body.contains("index_syncing"), "{status} {body}");
    // Without a data folder there is no database of the service state either.
    let health = get_json(&address, "/api/health");
    assert_eq!((&health["status"], &health["troubles"][0]["part"]), (&"degraded".into(), &"state".into()), "{health}");
    // A failed start of the indexer leaves an index without a block.
    let path = world.path("blocks/blk00000.dat");
    let good = fs::read(&path).unwrap();
    let mut bad = good.clone();
    bad[written.blocks[50].1.offset as usize + 100] ^= 0x01;
    fs::write(&path, bad).unwrap();
    fails(world.run("index --network regtest --datadir data --blocks-dir blocks --once"), 4, &["is corrupt"]);
    assert!(world.path("data/index/CURRENT").exists());
    let mut second = world.start(SERVE);
    second.wait_for("waiting for `cairn index`");
    // It is filled by a process that goes on and reports its tip.
    fs::write(&path, good).unwrap();
    let mut writer = world.start("index --network regtest --datadir data --blocks-dir blocks");
    writer.wait_for("height=105");
    for address in [&address, &second.address()] {
        wait_until("the index", || get(address, "/v1/blocks/105").0 == 200);
        wait_until("the word of the writer", || {
            get_json(address, "/api/health")["live_data"]["bitcoin_backend"]["best_height"] == 105
        });
    }
    running.signal("TERM");
    assert_eq!(running.end().0.code(), Some(143), "{}", running.said());
}

/// The folders of servers in a folder.
fn folders(world: &World, parent: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(world.path(parent)).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.file_name().unwrap().to_str().unwrap().starts_with("cairn-serve-")).collect()
}

#[test]
fn a_server_uses_nothing_that_others_left() {
    let world = World::small(CAIRN, 5);
    world.index();
    for name in ["victim", "tmp"] {
        fs::create_dir(world.path(name)).unwrap();
    }
    fs::write(world.path("victim/kept"), "").unwrap();
    let start = || {
        let mut command = world.command(SERVE);
        command.env("TMPDIR", world.path("tmp")).env_remove("XDG_RUNTIME_DIR");
        Running::start(command)
    };
    let mut running = start();
    running.address();
    let [own] = &folders(&world, "data")[..] else { panic!("{:?}", folders(&world, "data")) };
    assert_eq!(fs::metadata(own).unwrap().permissions().mode() & 0o777, 0o700);
    // Names that could be guessed, planted as links: the next server's process number is not known, so thousands of
    // them.
    let planted: Vec<PathBuf> = (running.pid() + 1..running.pid() + 2_000)
        .flat_map(|pid| ["tmp", "data"].map(|parent| world.path(&format!("{parent}/cairn-serve-{pid}"))))
        .collect();
    planted.iter().for_each(|path| symlink(world.path("victim"), path).unwrap());
    // A server that is killed leaves its folder; the next one removes it, and that of no other.
    let mut killed = start();
    killed.address();
    killed.signal("KILL");
    killed.end();
    let real = |world: &World| folders(world, "data").into_iter().filter(|path| !path.is_symlink()).collect::<Vec<_>>();
    assert_eq!(real(&world).len(), 2);
    let mut next = start();
    next.address();
    assert_eq!(real(&world).len(), 2);
    assert!(own.exists());
    for server in [&mut running, &mut next] {
        server.signal("TERM");
        assert_eq!(server.end().0.code(), Some(143), "{}", server.said());
    }
    assert_eq!(real(&world), Vec::<PathBuf>::new());
    assert!(planted.iter().all(|path| path.is_symlink()));
    let left: Vec<_> = fs::read_dir(world.path("victim")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["kept"]);
}

#[test]
fn settings_that_others_may_have_written_are_refused() {
    let world = World::empty(CAIRN);
    let file = world.path("cairn.toml");
    fs::write(&file, "max_lag_blocks = 9\n").unwrap();
    let mode = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
    let believed = |line: &str| world.stdout(line).contains("max_lag_blocks = 9  # file\n");
    mode(0o644);
    assert!(believed("config"));
    mode(0o646);
    fails(
        world.run("config"),
        2,
        &["cairn.toml in the current folder is not read", "every user may", "--config cairn.toml"],
    );
    // Named, it is believed, with a warning.
    let run = world.run("config --config cairn.toml").success();
    let log = String::from_utf8_lossy(&run.get_output().stderr).into_owned();
    assert!(believed("config --config cairn.toml") && log.contains("every user may change it"), "{log}");
    mode(0o600);
    assert!(world.run("config --config cairn.toml").success().get_output().stderr.is_empty());
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        cairn_testkit::skip!("only root can give a file to another user");
    }
    std::os::unix::fs::chown(&file, Some(65_534), None).unwrap();
    fails(world.run("config"), 2, &["it belongs to another user (uid 65534)", "--config cairn.toml"]);
    assert!(believed("config --config cairn.toml"));
    // A link of another user to a file of this one.
    fs::rename(&file, world.path("mine.toml")).unwrap();
    std::os::unix::fs::chown(world.path("mine.toml"), Some(0), None).unwrap();
    symlink("mine.toml", &file).unwrap();
    assert!(believed("config"));
    std::os::unix::fs::lchown(&file, Some(65_534), None).unwrap();
    fails(world.run("config"), 2, &["it belongs to another user (uid 65534)"]);
}
