//! The processes before which troubles are put, and what is demanded of them.

use std::{
    fs,
    time::{Duration, Instant},
};

use bitcoin::{Address, Amount, BlockHash, Network, TxOut};
use cairn_standin::{Payment, StandIn, StandInOptions};
use cairn_support::{Cast, Form};
use serde_json::Value;
use sqlx::SqliteConnection;
use tokio::runtime::Runtime;

use crate::{CAIRN, disk::Disk, reads::Reads, table::Outage};

/// Health names a trouble within this time.
pub(crate) const NAMED: Duration = Duration::from_secs(5);
/// The follower goes on within this time after the end of a trouble.
pub(crate) const OVER: Duration = Duration::from_secs(10);
/// A trouble lasts for at least this time after it was named.
const LASTS: Duration = Duration::from_millis(700);
/// Maximum growth of the resident memory of a process, in KiB.
const MAX_GROWTH: u64 = 200 << 10;
/// Between two looks.
const LOOK: Duration = Duration::from_millis(20);
/// Blocks at the start.
const BLOCKS: u32 = 112;
/// Satoshis that the wallet received, which is read all the time.
const BALANCE: u64 = 123_456_789;

/// A transaction that keeps the database of the service state locked.
pub(crate) struct StateLock {
    pub(crate) runtime: Runtime,
    pub(crate) connection: SqliteConnection,
}

/// A node, the processes that follow it at its tip, and a client that reads.
pub(crate) struct Rig {
    pub(crate) node: StandIn,
    pub(crate) cast: Cast,
    pub(crate) lock: Option<StateLock>,
    /// The block that the node takes for invalid.
    pub(crate) invalid: Option<BlockHash>,
    wallet: String,
    pub(crate) disk: Option<Disk>,
}

/// Sums over troubles.
#[derive(Default)]
struct Tally {
    complaints: Vec<String>,
    skipped: Vec<&'static str>,
    longest_named: Duration,
    longest_over: Duration,
    count: u32,
}

/// Waits until something holds, for a limited time; how long it took.
pub(crate) fn within(limit: Duration, mut holds: impl FnMut() -> bool) -> Option<Duration> {
    let started = Instant::now();
    loop {
        if holds() {
            return Some(started.elapsed());
        }
        if started.elapsed() > limit {
            return None;
        }
        std::thread::sleep(LOOK);
    }
}

/// Resident memory of a process in KiB.
fn memory(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}

impl Rig {
    /// Starts them all. The wallet is paid below any reorganization.
    pub(crate) fn start(form: Form) -> Self {
        let node = StandIn::start(StandInOptions { premine: BLOCKS, ..StandInOptions::default() }).unwrap();
        let wallet = {
            let mut world = node.world();
            let script_pubkey = world.fresh_script().unwrap();
            let wallet = Address::from_script(&script_pubkey, Network::Regtest).unwrap().to_string();
            let outputs = vec![TxOut { value: Amount::from_sat(BALANCE), script_pubkey }];
            world.send(&Payment { outputs, ..Payment::at(9_000) }).unwrap();
            world.mine(8).unwrap();
            wallet
        };
        let mut cast = Cast::new(CAIRN, &node, form);
        let disk = Disk::mount(&cast.world.path("data"));
        cast.start_all();
        Rig { node, cast, lock: None, invalid: None, wallet, disk }
    }

    /// Puts one trouble after the other before them.
    pub(crate) fn endure(mut self, outages: &[Outage]) {
        let wanted = std::env::var("CAIRN_TEST_OUTAGE").unwrap_or_default();
        let mut tally = Tally::default();
        self.cast.wait_until("the tip", || self.is_at_tip() && self.troubles().is_empty());
        let mut before = self.cast.pids();
        let at_start = before.map(|pid| pid.and_then(memory));
        let wallet = format!("/v1/wallets/{}/overview", self.wallet);
        let reads = Reads::start(&self.cast.served.address().unwrap(), &wallet, "/received_sats");
        for outage in outages.iter().filter(|outage| outage.name.contains(&wanted)) {
            let complaints = tally.complaints.len();
            self.meet(outage, &mut tally);
            let failed =
                reads.failures().into_iter().map(|failure| format!("{}: a read failed: {failure}", outage.name));
            tally.complaints.extend(failed);
            if outage.name.contains("killed") {
                before = self.cast.pids();
            }
            for (name, grown) in self.growth(before, at_start) {
                if grown > MAX_GROWTH {
                    tally.complaints.push(format!("{}: {name} has grown by {} MiB", outage.name, grown >> 10));
                }
            }
            if tally.complaints.len() > complaints {
                println!("{}\n{}", tally.complaints[complaints..].join("\n"), self.cast.said());
            }
        }
        let growth: Vec<String> =
            self.growth(before, at_start).map(|(name, kib)| format!("{name} {:+} MiB", kib >> 10)).collect();
        println!(
            "{:?}: {} troubles, {} reads; named within {:?}, over within {:?}; {}; not on this machine: {:?}",
            self.cast.form,
            tally.count,
            reads.count(),
            tally.longest_named,
            tally.longest_over,
            growth.join(", "),
            tally.skipped
        );
        drop(reads);
        assert!(tally.complaints.is_empty(), "{}", tally.complaints.join("\n"));
        assert!(tally.count > 0 && tally.skipped.len() < 4);
        self.cast.stop();
        self.cast.audit();
    }

    /// Growth of the memory of the processes, in KiB.
    fn growth(&self, pids: [Option<u32>; 2], then: [Option<u64>; 2]) -> impl Iterator<Item = (&'static str, u64)> {
        let now = pids.map(|pid| pid.and_then(memory));
        let grown = now.into_iter().zip(then).map(|(now, then)| now.zip(then));
        ["the writer", "the server"].into_iter().zip(grown).filter_map(|(name, grown)| {
            let (now, then) = grown?;
            Some((name, now.saturating_sub(then)))
        })
    }

    /// One trouble, from its begin until the follower has gone on.
    fn meet(&mut self, outage: &Outage, tally: &mut Tally) {
        let (name, (part, words)) = (outage.name, outage.named);
        if !outage.begin(self) {
            tally.skipped.push(name);
            return;
        }
        tally.count += 1;
        let is_named = |trouble: &Value| {
            let reason = trouble["reason"].as_str().unwrap_or_default();
            trouble["part"] == part && reason.contains(words) && reason.chars().count() <= 301
        };
        let named = within(NAMED, || self.troubles().iter().any(&is_named));
        if named.is_none() {
            tally.complaints.push(format!("{name}: health does not name it: {:?}", self.troubles()));
        }
        std::thread::sleep(LASTS);
        outage.end(self);
        self.node.world().mine(1).unwrap();
        let over = within(OVER, || self.is_at_tip() && self.troubles().is_empty());
        if over.is_none() {
            let (at, troubles) = (self.is_at_tip(), self.troubles());
            tally.complaints.push(format!("{name}: it is not over (at the tip: {at}, troubles: {troubles:?})"));
            // Begins again, so that later troubles are judged on their own.
            self.cast.stop();
            self.cast.complete();
            self.cast.wait_until("the tip", || self.is_at_tip());
        }
        tally.longest_named = tally.longest_named.max(named.unwrap_or_default());
        tally.longest_over = tally.longest_over.max(over.unwrap_or_default());
        println!("{:?}: {name}: named after {named:.1?}, over after {over:.1?}", self.cast.form);
    }

    /// The troubles that health reports.
    fn troubles(&self) -> Vec<Value> {
        let health = self.cast.client().ok("/api/health").unwrap();
        health["troubles"].as_array().unwrap().clone()
    }

    /// Whether the tip that is served is the node's.
    fn is_at_tip(&self) -> bool {
        let tip = self.node.world().tip().to_string();
        let answer = self.cast.client().ok("/v1/chain/recent-blocks?limit=1");
        answer.is_ok_and(|body| body["_meta"]["tip"]["hash"] == tip.as_str())
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        // Before the folder that it is mounted in.
        self.disk = None;
    }
}
