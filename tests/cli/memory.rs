//! The limit on memory holds whatever the blocks are.

use std::{
    fs,
    io::Read,
    process::{Child, ExitStatus, Stdio},
    thread,
    time::Duration,
};

use bitcoin::{
    Amount, Block, Network, OutPoint, ScriptBuf, Sequence, Transaction, TxIn, TxOut, Witness, absolute::LockTime,
    consensus::serialize, params::Params, transaction,
};
use cairn_chaingen::{
    Coin,
    corefiles::{FileOptions, Writer, write_undo},
};
use cairn_support::{World, forge::mined};

use crate::CAIRN;

/// Blocks that make coins, and coins that each makes.
const MAKING: (u32, u32) = (12, 100_000);
/// Blocks that spend coins, and coins that each spends.
const SPENDING: (u32, u32) = (12, 20_000);

/// Mainnet's, and those of some more years.
const MANY_BLOCKS: u32 = 1_050_000;
/// Blocks beside them that are too many.
const MORE_BLOCKS: u32 = 400_000;

/// One script that everything in the chain belongs to: rows by the million in one group, in the smallest space.
fn only_script() -> ScriptBuf {
    ScriptBuf::from_bytes(vec![0x51])
}

fn tx(input: Vec<(OutPoint, Vec<u8>)>, outputs: u32) -> Transaction {
    let input = input.into_iter().map(|(previous_output, script_sig)| TxIn {
        previous_output,
        script_sig: ScriptBuf::from_bytes(script_sig),
        sequence: Sequence::MAX,
        witness: Witness::new(),
    });
    let output = TxOut { value: Amount::from_sat(1), script_pubkey: only_script() };
    Transaction {
        version: transaction::Version::ONE,
        lock_time: LockTime::ZERO,
        input: input.collect(),
        output: vec![output; outputs as usize],
    }
}

fn coinbase(height: u32, outputs: u32) -> Transaction {
    tx(vec![(OutPoint::null(), [&[4][..], &height.to_le_bytes()].concat())], outputs)
}

fn write_hostile_chain(world: &World) {
    let mut files = Writer::create(&world.path("blocks"), FileOptions::new(Network::Regtest, [3; 8])).unwrap();
    let mut tip = bitcoin::constants::genesis_block(Params::REGTEST);
    files.block(&serialize(&tip)).unwrap();
    let mut add = |tip: &mut Block, txs: Vec<Transaction>, spent: &[Vec<Coin>]| {
        *tip = mined(tip, txs);
        let place = files.block(&serialize(tip)).unwrap();
        let mut undo = Vec::new();
        write_undo(&mut undo, spent);
        files.undo(place.file, &tip.header.prev_blockhash, &undo).unwrap();
    };
    let mut coins = Vec::new();
    for height in 1..=MAKING.0 {
        let making = coinbase(height, MAKING.1);
        let txid = making.compute_txid();
        coins.extend((0..MAKING.1).map(|vout| (OutPoint { txid, vout }, height)));
        add(&mut tip, vec![making], &[]);
    }
    // From all over the chain, so that nothing is near what it belongs to.
    let mut next = 0;
    for height in MAKING.0 + 1..=MAKING.0 + SPENDING.0 {
        let mut inputs = Vec::new();
        let mut spent = Vec::new();
        for _ in 0..SPENDING.1 {
            next = (next + 700_001) % coins.len();
            let (outpoint, birth) = coins[next];
            inputs.push((outpoint, Vec::new()));
            let txout = TxOut { value: Amount::from_sat(1), script_pubkey: only_script() };
            spent.push(Coin { txout, height: birth, coinbase: true });
        }
        add(&mut tip, vec![coinbase(height, 1), tx(inputs, SPENDING.1)], &[spent]);
    }
    files.finish().unwrap();
}

/// Most bytes of memory that a process has had until it ended, and how it ended.
fn watched(mut child: Child) -> (u64, ExitStatus) {
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        most = most.max(kilobytes.unwrap_or(0) << 10);
        thread::sleep(Duration::from_millis(10));
    }
    (most, child.wait().unwrap())
}

/// Most bytes of memory that a process has had, which ended well.
fn most_memory(child: Child) -> u64 {
    let (most, status) = watched(child);
    assert!(status.success());
    most
}

#[cfg(target_os = "linux")]
#[test]
fn a_script_that_holds_everything() {
    let world = World::empty(CAIRN);
    write_hostile_chain(&world);
    let mut sums = Vec::new();
    for limit in ["256M", "4G"] {
        let data = world.path(limit);
        let mut index = CAIRN.command();
        index.args(["index", "--network", "regtest", "--once", "--memory", limit, "--log", "warn"]);
        index.arg("--blocks-dir").arg(world.path("blocks")).arg("--datadir").arg(&data);
        let most = most_memory(index.stdout(Stdio::null()).spawn().unwrap());
        println!("{} MiB with --memory {limit}", most >> 20);
        if limit == "256M" {
            assert!(most > 0 && most <= 256 << 20, "{} MiB with --memory {limit}", most >> 20);
        }
        let checksum = CAIRN.command().args(["db", "checksum", "--datadir"]).arg(&data).output().unwrap();
        assert!(checksum.status.success());
        sums.push(String::from_utf8(checksum.stdout).unwrap());
        // Audited within a limit of its own.
        let mut verify = CAIRN.command();
        verify.args(["verify", "--memory", "128M", "--log", "warn", "--datadir"]).arg(&data);
        let most = most_memory(verify.stdout(Stdio::null()).spawn().unwrap());
        println!("{} MiB with --memory 128M, audited", most >> 20);
        assert!(most <= 128 << 20, "{} MiB with --memory 128M, audited", most >> 20);
        // Rebuilt within the limit as well.
        let mut reindex = CAIRN.command();
        reindex.args(["reindex", "--stage", "scripts", "--memory", limit, "--log", "warn", "--datadir"]).arg(&data);
        let most = most_memory(reindex.stdout(Stdio::null()).spawn().unwrap());
        println!("{} MiB with --memory {limit}, rebuilding", most >> 20);
        if limit == "256M" {
            assert!(most <= 256 << 20, "{} MiB with --memory {limit}, rebuilding", most >> 20);
        }
        let checksum = CAIRN.command().args(["db", "checksum", "--datadir"]).arg(&data).output().unwrap();
        sums.push(String::from_utf8(checksum.stdout).unwrap());
    }
    assert!(sums.iter().all(|s| *s == sums[0]), "the limit changes what is indexed");
}

/// As many blocks as the longest chain has. Facts about each block stay in memory while they are indexed. Then more
/// blocks than the memory has room for, without end: that is reported, and the limit holds.
#[cfg(target_os = "linux")]
#[test]
fn a_chain_of_many_blocks() {
    let world = World::empty(CAIRN);
    let mut files = Writer::create(&world.path("blocks"), FileOptions::new(Network::Regtest, [3; 8])).unwrap();
    let mut tip = bitcoin::constants::genesis_block(Params::REGTEST);
    files.block(&serialize(&tip)).unwrap();
    let next = |tip: &Block, height: u32| {
        // Miners are paid no more by then.
        let mut coinbase = coinbase(height, 1);
        coinbase.output[0].value = Amount::ZERO;
        mined(tip, vec![coinbase])
    };
    for height in 1..MANY_BLOCKS {
        tip = next(&tip, height);
        let place = files.block(&serialize(&tip)).unwrap();
        files.undo(place.file, &tip.header.prev_blockhash, &[0]).unwrap();
    }
    let index = |datadir: &str| {
        let mut index = CAIRN.command();
        index.args(["index", "--network", "regtest", "--once", "--memory", "256M", "--log", "warn"]);
        index.arg("--blocks-dir").arg(world.path("blocks")).arg("--datadir").arg(world.path(datadir));
        index
    };
    files.flush().unwrap();
    let most = most_memory(index("data").stdout(Stdio::null()).spawn().unwrap());
    println!("{} MiB with --memory 256M", most >> 20);
    assert!(most > 0 && most <= 256 << 20, "{} MiB with --memory 256M", most >> 20);
    // Nobody has the ancestors of these.
    tip = next(&tip, MANY_BLOCKS);
    for height in 0..MORE_BLOCKS {
        tip = next(&tip, height);
        files.block(&serialize(&tip)).unwrap();
    }
    files.finish().unwrap();
    let mut child = index("other").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let (most, status) = watched(child);
    let mut said = String::new();
    stderr.read_to_string(&mut said).unwrap();
    assert_eq!(status.code(), Some(3), "{said}");
    assert!(said.contains("listing them needs") && said.contains("--memory"), "{said}");
    println!("{} MiB until it gave up", most >> 20);
    assert!(most > 0 && most <= 256 << 20, "{} MiB with --memory 256M", most >> 20);
}
