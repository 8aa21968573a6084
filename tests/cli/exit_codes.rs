//! Every documented exit code, from what causes it.

use std::{fs, net::TcpListener, process::Command};

use assert_cmd::assert::Assert;
use bitcoin::{consensus::serialize, constants::genesis_block};
use cairn_chaingen::corefiles::{Layout, write_chain};
use cairn_reader::Reader;
use cairn_tables::{Table, TableInfo, coins::Coins};
use cairn_writer::{WriteError, Writer};

use crate::common::{KEY, World, fails, grown, layout};

const INDEX: &str = "index --network regtest --datadir data --blocks-dir blocks --once";

#[test]
fn usage() {
    let world = World::empty();
    for line in ["", "nonsense", "index --nonsense", "unwind --datadir data", "demo --listen nowhere"] {
        let assert = world.run(line).code(2);
        assert!(assert.get_output().stdout.is_empty(), "{line}");
    }
    fails(world.run("index --blocks-dir blocks --datadir data"), 2, &["--network is missing", "CAIRN_NETWORK"]);
    fails(
        world.run("index --network regtest --datadir data"),
        2,
        &["neither --blocks-dir nor --node", "blocks_dir in cairn.toml"],
    );
    fails(world.run("verify"), 2, &["--datadir is missing"]);
    fails(world.run("--log no=such=filter config"), 2, &["log filter"]);
    world.run("--version").success();
    world.run("help index").success();
}

#[test]
fn sources_that_cannot_be_used() {
    let world = World::empty();
    fails(world.run(INDEX), 3, &["blocks: no such folder"]);
    fs::create_dir(world.path("blocks")).unwrap();
    fails(world.run(INDEX), 3, &["no blocks here"]);
    // As root, nothing is unreadable; a folder where a file should be is, for everyone.
    fs::create_dir(world.path("blocks/blk00000.dat")).unwrap();
    fails(world.run(INDEX), 3, &["blk00000.dat: is not a file"]);
    fs::remove_dir(world.path("blocks/blk00000.dat")).unwrap();
    world.write(grown(5).chain());
    fails(
        world.run(&INDEX.replace("regtest", "signet")),
        3,
        &["of regtest, not of signet", "hint: use --network regtest"],
    );
    fs::write(world.path("blocks/xor.dat"), [0; 8]).unwrap();
    fails(world.run(INDEX), 3, &["XORed with the key 6b01ff00421799c3"]);
    fs::write(world.path("blocks/xor.dat"), [0; 3]).unwrap();
    fails(world.run(INDEX), 3, &["3 bytes instead of 8"]);
    fs::write(world.path("blocks/xor.dat"), KEY).unwrap();
    assert!(!world.path("data").exists(), "nothing is made for a folder that cannot be used");
    world.run(INDEX).success();
}

/// A limit that would abort the work in the middle is reported before it begins.
#[test]
fn an_address_space_that_is_too_small() {
    let world = World::small(3);
    let limited = |kib: u64, line: &str| {
        let plain = world.command(line);
        let mut command = Command::new("sh");
        command.current_dir(world.path("."));
        let script = format!("ulimit -v {kib}; exec \"$0\" \"$@\"");
        command.arg("-c").arg(script).arg(plain.get_program()).args(plain.get_args());
        Assert::new(command.output().unwrap())
    };
    let index = format!("{INDEX} --memory 256M --mempool-memory 32M");
    fails(limited(1 << 21, &index), 1, &["limited to 2048 MiB, and it needs 2336 MiB", "ulimit -v"]);
    assert!(!world.path("data").exists(), "nothing is begun");
    limited(3 << 20, &index).success();
    let serve = "serve --datadir data --listen 127.0.0.1:0 --cache 64M --mempool-memory 32M";
    fails(limited(1 << 20, serve), 1, &["limited to 1024 MiB, and it needs 2144 MiB"]);
    let run = "run --network regtest --datadir data --blocks-dir blocks --memory 256M --cache 64M --mempool-memory 32M";
    fails(limited(1 << 20, run), 1, &["limited to 1024 MiB, and it needs 2400 MiB", "ulimit -v"]);
    fails(limited(1 << 20, "demo --datadir demo"), 1, &["it needs 2048 MiB"]);
    // A command that needs little is not refused.
    limited(1 << 20, "config").success();
}

#[test]
fn pruned_folder() {
    let world = World::empty();
    let mut files = layout().files;
    files.max_file_size = 8_000;
    let written = write_chain(&world.path("blocks"), grown(40).chain(), &Layout::tidy(files)).unwrap();
    assert!(written.files > 2);
    world.run(INDEX).success();
    for name in ["blocks/blk00000.dat", "blocks/rev00000.dat"] {
        fs::remove_file(world.path(name)).unwrap();
    }
    fails(world.run(INDEX), 3, &["the first block file is number 1", "prune=0"]);
    // The index that there is stays usable.
    world.run("verify --datadir data").success();
}

#[test]
fn corrupt_block() {
    let world = World::empty();
    let written = write_chain(&world.path("blocks"), grown(30).chain(), &layout()).unwrap();
    let path = world.path("blocks/blk00000.dat");
    let good = fs::read(&path).unwrap();
    let offset = written.blocks[25].1.offset as usize;
    let mut bad = good.clone();
    // Inside the coinbase: header and size stay right, the Merkle root does not.
    bad[offset + 100] ^= 0x01;
    fs::write(&path, &bad).unwrap();
    let says = ["blk00000.dat", &format!("offset {offset}"), "is corrupt"];
    // In bulk nothing comes of it; block by block, all before it.
    fails(world.run(INDEX), 4, &says);
    fails(world.run("stages --datadir data"), 5, &["nothing has been indexed"]);
    fs::remove_dir_all(world.path("data")).unwrap();
    world.run(&format!("{INDEX} --to 20")).success();
    fails(world.run(INDEX), 4, &says);
    assert!(world.stdout("verify --datadir data").contains("height   24"));
    // Repaired, it goes on.
    fs::write(&path, &good).unwrap();
    world.run(INDEX).success();
    assert!(world.stdout("verify --datadir data").contains("height   30"));
}

#[test]
fn index_that_cannot_be_used() {
    let world = World::small(5);
    for line in ["stages", "db stats", "verify", "unwind --to 1", "reindex --stage all"] {
        fails(world.run(&format!("{line} --datadir data")), 5, &["no index in data", "hint: "]);
        assert!(!world.path("data").exists(), "{line} makes no index");
    }
    world.run(INDEX).success();
    // Another network in the same folder. Its genesis alone is a chain.
    let genesis = serialize(&genesis_block(bitcoin::Network::Signet));
    let magic = bitcoin::Network::Signet.magic().to_bytes();
    let record = [&magic[..], &(genesis.len() as u32).to_le_bytes(), &genesis].concat();
    fs::create_dir(world.path("signet")).unwrap();
    fs::write(world.path("signet/blk00000.dat"), record).unwrap();
    let signet = "index --network signet --datadir data --blocks-dir signet --once";
    fails(world.run(signet), 5, &["this is an index of regtest, not of signet"]);
    // Damaged.
    fs::write(world.path("data/index/CURRENT"), "rubbish\n").unwrap();
    for line in ["stages --datadir data", "serve --datadir data", INDEX] {
        fails(world.run(line), 5, &["database"]);
    }
}

#[test]
fn one_writer_many_readers() {
    let world = World::small(20);
    let mut writer = world.start("index --network regtest --datadir data --blocks-dir blocks");
    writer.wait_for("height=20");
    for line in [INDEX, "unwind --datadir data --to 3", "reindex --datadir data --stage coins"] {
        fails(world.run(line), 5, &["another process is writing this index"]);
    }
    for line in ["stages", "db stats", "db checksum", "verify"] {
        world.run(&format!("{line} --datadir data")).success();
    }
    writer.signal("TERM");
    assert_eq!(writer.end().0.code(), Some(143));
    world.run("unwind --datadir data --to 3").success();
}

/// A file system of its own size, in a mount namespace of our own: no privileges, and nothing to clean up. Printed are
/// the exit codes with ever more free space, each followed by what the next start, with space again, makes of it.
const FULL_DISK: &str = r#"
    mount -t tmpfs -o size=48m tmpfs disk && cp -r blocks disk/ && cd disk || exit 99
    index() { "$CAIRN" index --network regtest --datadir data --blocks-dir blocks --once; }
    for free in 0 8 64 200 400 700 1000 1500 2000; do
        dd if=/dev/zero of=filler bs=1k count=100000 2>/dev/null
        truncate -s "-${free}k" filler
        index; echo "code $?"
        rm filler
        index && "$CAIRN" db checksum --datadir data
        rm -r data
    done
"#;

#[test]
fn full_disk() {
    let world = World::small(150);
    world.run(INDEX).success();
    let expected = world.stdout("db checksum --datadir data");
    fs::create_dir(world.path("disk")).unwrap();
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "bash", "-c", script]).current_dir(world.path(""));
        command.env("CAIRN", env!("CARGO_BIN_EXE_cairn")).output()
    };
    if !unshare("mount -t tmpfs tmpfs disk").is_ok_and(|output| output.status.success()) {
        cairn_testkit::skip!("no mount namespaces here");
    }
    let output = unshare(FULL_DISK).unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let mut full = 0;
    for run in stdout.split("code ").skip(1) {
        let (code, checksum) = run.split_once('\n').unwrap();
        assert!(["0", "6"].contains(&code), "{stdout}{stderr}");
        full += usize::from(code == "6");
        assert_eq!(checksum, expected, "{stderr}");
    }
    assert!(full >= 4, "{stdout}{stderr}");
    assert_eq!(stderr.matches("error: the disk is full").count(), full, "{stderr}");
    assert_eq!(stderr.matches("free some space").count(), full, "{stderr}");
}

#[test]
fn verify_finds_a_difference() {
    let world = World::small(110);
    world.run(INDEX).success();
    world.run("verify --datadir data").success();
    let mut first = None;
    let reader = Reader::open(&world.path("data/index")).unwrap();
    let keep = |key: &[u8], _: &[u8]| first = first.take().or_else(|| Some(key.to_vec()));
    reader.view().unwrap().tables().rows(&TableInfo::of::<Coins>(), keep).unwrap();
    drop(reader);
    let key = first.unwrap();
    let writer = Writer::open(&world.path("data/index")).unwrap();
    let delete = |batch: &mut cairn_writer::Batch<'_>| -> Result<(), WriteError> {
        batch.delete(Coins::FAMILY, &key);
        Ok(())
    };
    writer.commit(delete).unwrap();
    writer.flush().unwrap();
    drop(writer);
    let assert = world.run("verify --datadir data").code(7);
    let text = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    assert!(text.contains("DIFFERS") && text.contains("coins"), "{text}");
    // Derived tables can be rebuilt.
    world.run("reindex --datadir data --stage coins").success();
    world.run("verify --datadir data").success();
}

#[test]
fn address_taken() {
    let world = World::small(3);
    world.index();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    for line in
        ["serve --datadir data", "demo --datadir demo", "run --network regtest --datadir data --blocks-dir blocks"]
    {
        fails(world.run(&format!("{line} --listen {address}")), 8, &["cannot listen on", "port 0"]);
    }
}

#[test]
fn rows_that_do_not_exist() {
    let world = World::small(3);
    world.index();
    fails(world.run("db get --datadir data headers 00000004"), 1, &["headers has no row 00000004"]);
    fails(world.run("db get --datadir data headers xyz"), 2, &["not hex"]);
    fails(world.run("db get --datadir data nothing 00"), 2, &["unknown table \"nothing\"", "hint: tables: headers"]);
}

#[test]
fn a_damaged_record_that_cuts_the_chain_short_is_an_error() {
    let world = World::small(40);
    let path = world.path("blocks/blk00000.dat");
    let good = fs::read(&path).unwrap();
    // The size of some record in the middle is wrong: it is not a record any more, and the blocks behind it have lost
    // their ancestors.
    let chain = grown(40);
    let victim = serialize(&chain.chain().active()[20].block.header);
    let plain: Vec<u8> = good.iter().enumerate().map(|(i, b)| b ^ KEY[i % 8]).collect();
    let at = plain.windows(80).position(|w| w == victim).unwrap();
    let mut bad = good.clone();
    bad[at - 1] ^= 0x7f;
    fs::write(&path, &bad).unwrap();
    let place = format!("blk00000.dat, offset {}", at - 8);
    fails(world.run(INDEX), 4, &["break off after height 19", "damaged record in", &place, "indexed up to height 19"]);
    // The blocks before it are indexed whole, which is enough if no more was asked for.
    assert!(world.stdout("verify --datadir data").contains("height   19"));
    world.run(&format!("{INDEX} --to 19")).success();
    fs::write(&path, &good).unwrap();
    world.run(INDEX).success();
    assert!(world.stdout("verify --datadir data").contains("height   40"));
}
