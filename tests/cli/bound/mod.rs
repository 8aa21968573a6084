//! The memory that `cairn config` prints is enough: indexer and server run within exactly that, in a control group
//! where one can be made, and by what the system counts.
//!
//! `CAIRN_TEST_BOUND_MIB` (48) is the size of the chain, `CAIRN_TEST_BOUND_REQUESTS` (12000) the number of requests,
//! `CAIRN_TEST_BOUND_CACHE` (16M) the cache of the server; `CAIRN_TEST_BOUND_DIR` keeps the chain and its index for the
//! next run.

mod group;
mod load;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use bitcoin::{Amount, ScriptBuf, TxOut};
use cairn_standin::{Payment, StandIn, StandInOptions};
use cairn_support::{Running, get, get_json, setting, wait_until};

use crate::CAIRN;
use group::{MemoryGroup, Watch};
use load::{Client, Dice, Kind, Targets, ask, behave_badly, path, write_chain};

const MEMORY: &str = "256M";
const MEMPOOL: &str = "32M";

/// The bound of a command, as `cairn config` prints it, in bytes.
fn bound(command: &str, cache: &str) -> u64 {
    let sizes = ["config", "--memory", MEMORY, "--cache", cache, "--mempool-memory", MEMPOOL];
    let output = CAIRN.command().args(sizes).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let start = format!("# memory bound of cairn {command}: ");
    let line = text.lines().find_map(|line| line.strip_prefix(&start)).unwrap_or_else(|| panic!("{text}"));
    line.split(" MiB").next().unwrap().parse::<u64>().unwrap() << 20
}

fn mib(bytes: u64) -> u64 {
    bytes.div_ceil(1 << 20)
}

/// Within a group, if there is one.
fn inside(group: Option<&MemoryGroup>, command: Command) -> Command {
    match group {
        Some(group) => group.run(&command),
        None => command,
    }
}

fn group(name: &str, bytes: u64) -> Option<MemoryGroup> {
    let group = MemoryGroup::limited(name, bytes);
    if group.is_none() {
        cairn_testkit::note_skipped(
            "bound::control_group",
            "this user cannot make a control group; only samples are taken",
        );
    }
    group
}

/// Checks a peak against a bound. Pages of the program's own file are apart: the system takes them away when it needs
/// them.
#[expect(clippy::print_stdout, reason = "figures for whoever runs it by hand")]
fn check(who: &str, watch: &Watch, bound: u64) {
    println!(
        "{who}: peak {} MiB, {} MiB with pages of files; bound {} MiB",
        mib(watch.anonymous()),
        mib(watch.all()),
        mib(bound)
    );
    assert!(
        watch.anonymous() > 0 && watch.anonymous() <= bound,
        "{who}: {} of {} MiB",
        mib(watch.anonymous()),
        mib(bound)
    );
}

/// A folder with a chain, its index and what can be asked for.
fn prepare(folder: &Path) -> Targets {
    let list = folder.join("targets");
    if let Some(targets) = Targets::read(&list) {
        return targets;
    }
    let targets = write_chain(&folder.join("blocks"), setting("CAIRN_TEST_BOUND_MIB", 48) << 20);
    let limit = bound("index", "16M");
    let group = group("bulk", limit);
    let mut index = inside(group.as_ref(), index(folder));
    let mut child = index.arg("--once").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let watch = Watch::of(child.id());
    assert!(child.wait().unwrap().success());
    // There is no node, so nothing is in the mempool.
    check("index, in bulk", &watch, limit - (32 << 20));
    targets.write(&list);
    targets
}

fn index(folder: &Path) -> Command {
    let mut command = CAIRN.command();
    command.args(["index", "--network", "regtest", "--memory", MEMORY, "--mempool-memory", MEMPOOL]);
    command.arg("--blocks-dir").arg(folder.join("blocks")).arg("--datadir").arg(folder.join("data"));
    command
}

/// Bytes that a process has asked the system to read.
fn bytes_read(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/io")).unwrap();
    text.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn indexer_and_server_stay_within_the_printed_bound() {
    let kept = env::var_os("CAIRN_TEST_BOUND_DIR").map(PathBuf::from);
    let temporary = cairn_testkit::temp_dir();
    let folder = kept.unwrap_or_else(|| temporary.path().to_owned());
    let cache = env::var("CAIRN_TEST_BOUND_CACHE").unwrap_or_else(|_| "16M".to_owned());
    let targets = prepare(&folder);
    let (of_index, of_serve) = (bound("index", &cache), bound("serve", &cache));
    let group = group("served", of_index + of_serve);
    let mut indexer = Running::start(inside(group.as_ref(), index(&folder)));
    indexer.wait_for("index opened");
    // Otherwise the blocks that this process wrote would not be read from the disk. Only root may do it.
    let dropped = fs::write("/proc/sys/vm/drop_caches", "3").is_ok();
    let mut serve = CAIRN.command();
    serve.args(["serve", "--cache", &cache, "--mempool-memory", MEMPOOL, "--rate-limit", "0"]);
    serve.args(["--listen", "127.0.0.1:0", "--max-connections-per-client", "4096", "--datadir"]);
    let mut server = Running::start(inside(group.as_ref(), {
        serve.arg(folder.join("data"));
        serve
    }));
    let watches = [Watch::of(indexer.pid()), Watch::of(server.pid())];
    let address = server.address();
    println!("after the start: {} MiB; caches of files dropped: {dropped}", mib(watches[1].anonymous()));
    // Each target is new, so each is cold.
    let mut dice = Dice(4_711);
    for kind in Kind::ALL {
        let (mut client, before, count) = (Client::to(&address), bytes_read(server.pid()), 1_000);
        for _ in 0..count {
            assert_eq!(client.get(&path(kind, &targets, &mut dice)), 200);
        }
        println!("{kind:?}: {} KiB read a cold request", (bytes_read(server.pid()) - before) / count / 1024);
    }
    let requests = setting("CAIRN_TEST_BOUND_REQUESTS", 12_000);
    let good = ask(&address, &targets, 64, requests);
    println!("{good} of {requests} requests answered; peak {} MiB", mib(watches[1].anonymous()));
    assert!(good > requests / 2);
    // Clients at their worst, beside others.
    let held = behave_badly(&address, 200);
    println!("{} connections held; peak {} MiB", held.len(), mib(watches[1].anonymous()));
    assert!(ask(&address, &targets, 32, requests / 10) > requests / 20);
    drop(held);
    assert!(group.as_ref().is_none_or(|group| group.killed() == 0));
    assert!(get_json(&address, "/v1/chain/recent-blocks?limit=1")["_meta"]["tip"]["height"].as_u64().is_some());
    // There is no node, so nothing is in the mempool.
    check("index, at the tip", &watches[0], of_index - (32 << 20));
    check("serve", &watches[1], of_serve - (32 << 20));
}

/// Transactions of the mempool, and outputs of each: more than there is room for.
const UNCONFIRMED: (usize, u32) = (180, 1_000);
/// Blocks before, whose coins they spend.
const PREMINE: u32 = 300;

#[cfg(target_os = "linux")]
#[test]
fn a_full_mempool_stays_within_the_bound_and_is_told() {
    let folder = cairn_testkit::temp_dir();
    let node = StandIn::start(StandInOptions { premine: PREMINE, ..StandInOptions::default() }).unwrap();
    let limit = bound("run", "16M");
    let group = group("mempool", limit);
    let mut run = CAIRN.command();
    run.args(["run", "--network", "regtest", "--memory", MEMORY, "--mempool-memory", MEMPOOL, "--cache", "16M"]);
    run.args(["--rate-limit", "0", "--listen", "127.0.0.1:0", "--node", &node.url(), "--node-cookie"]);
    run.arg(node.cookie_file()).arg("--datadir").arg(folder.path());
    let mut running = Running::start(inside(group.as_ref(), run));
    let watch = Watch::of(running.pid());
    let address = running.address();
    let tip = || get_json(&address, "/v1/chain/recent-blocks?limit=1")["_meta"]["tip"]["height"].clone();
    wait_until("the tip", || get(&address, "/v1/chain/recent-blocks?limit=1").0 == 200 && tip() == PREMINE);
    for n in 0..UNCONFIRMED.0 {
        let output = |vout: u32| {
            let mut script = vec![0x51; 34];
            script[..2].copy_from_slice(&[0x00, 0x20]);
            script[2..6].copy_from_slice(&vout.to_le_bytes());
            script[6..10].copy_from_slice(&(n as u32).to_le_bytes());
            TxOut { value: Amount::from_sat(10_000), script_pubkey: ScriptBuf::from_bytes(script) }
        };
        // Each pays more than the one before: the first ones are left out.
        let outputs = (0..UNCONFIRMED.1).map(output).collect();
        node.world().send(&Payment { outputs, ..Payment::at(2_000 + 50 * n as u64) }).unwrap();
    }
    let stats = || {
        let (status, text) = get(&address, "/v1/mempool/stats");
        if status == 200 { serde_json::from_str(&text).unwrap() } else { serde_json::Value::Null }
    };
    wait_until("a mempool that is full", || stats()["dropped"].as_u64() > Some(0));
    wait_until("the best transaction", || {
        let known = stats()["count"].as_u64();
        known.is_some_and(|known| known + stats()["dropped"].as_u64().unwrap_or(0) >= UNCONFIRMED.0 as u64)
    });
    println!("{}", stats());
    assert_eq!(stats()["whole"], false);
    assert!(group.as_ref().is_none_or(|group| group.killed() == 0));
    check("run", &watch, limit);
}
