//! Scripts of faults, one after the other against processes that stay up: after each the index and the mempool that are
//! served equal the node's.
//!
//! `CAIRN_SEED=n` plays one script alone, `CAIRN_SEED=m..n` those of one lane from m up to n: a script finds what the
//! ones before it in its lane have left. `CAIRN_TEST_LONG=1` plays some hundred more.

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use bitcoin::ScriptBuf;
use cairn_standin::{StandIn, StandInOptions, Topic, ZmqOptions};
use cairn_support::{Cast, Form};
use rand::{SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;

use crate::{
    CAIRN,
    acts::{Act, Script, Stage},
    truth::Truth,
    witness::Witness,
};

const SCRIPTS: u64 = 180;
/// With `CAIRN_TEST_LONG=1`.
const LONG: u64 = 600;
/// Chain and mempool are served within this time after the last fault.
const SETTLED: Duration = Duration::from_secs(30);
/// Scripts that are asked for each time, beyond those that something happened to.
const SAMPLE: usize = 25;

/// Scripts that are played one after the other.
struct Lane {
    name: &'static str,
    form: Form,
    topics: &'static [Topic],
    /// All topics over one address.
    shared: bool,
    version: u32,
}

const LANES: [Lane; 6] = [
    Lane { name: "one process", form: Form::One, topics: &Topic::ALL, shared: true, version: 280_000 },
    Lane { name: "two processes", form: Form::Two, topics: &Topic::ALL, shared: true, version: 280_000 },
    Lane {
        name: "one process, an address for each topic",
        form: Form::One,
        topics: &Topic::ALL,
        shared: false,
        version: 250_000,
    },
    Lane { name: "two processes, polling", form: Form::Two, topics: &[], shared: true, version: 310_000 },
    Lane { name: "one process, polling", form: Form::One, topics: &[], shared: true, version: 280_000 },
    Lane {
        name: "two processes, no sequence",
        form: Form::Two,
        topics: &[Topic::HashBlock, Topic::RawTx],
        shared: true,
        version: 300_000,
    },
];

/// Says which script failed.
struct Reproduce<'l>(&'l Lane, u64);

impl Drop for Reproduce<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            let lanes = LANES.len() as u64;
            eprintln!("{}: CAIRN_SEED={} (alone), CAIRN_SEED={}..{}", self.0.name, self.1, self.1 % lanes, self.1);
        }
    }
}

/// The seeds of each lane: seed n belongs to lane n modulo their number.
fn seeds() -> Vec<Vec<u64>> {
    let lanes = LANES.len() as u64;
    let number = |text: &str| -> u64 { text.trim().parse().expect("CAIRN_SEED is n or m..n") };
    let (range, only) = match env::var("CAIRN_SEED") {
        Ok(text) => {
            let (from, to) = match text.split_once("..") {
                Some((from, to)) => (number(from), number(to)),
                None => (number(&text), number(&text)),
            };
            (from..to + 1, Some(to % lanes))
        }
        Err(_) if env::var("CAIRN_TEST_LONG").is_ok_and(|value| value == "1") => (0..LONG, None),
        Err(_) => (0..SCRIPTS, None),
    };
    let of_lane = |lane: u64| range.clone().filter(move |seed| seed % lanes == lane);
    (0..lanes).map(|lane| of_lane(lane).filter(|_| only.is_none_or(|only| only == lane)).collect()).collect()
}

#[test]
fn after_each_script_of_faults_index_and_mempool_are_the_nodes() {
    let (done, started) = (Mutex::new(BTreeMap::<Act, u32>::new()), Instant::now());
    let seeds = seeds();
    thread::scope(|scope| {
        for (lane, seeds) in LANES.iter().zip(&seeds).filter(|(_, seeds)| !seeds.is_empty()) {
            let done = &done;
            scope.spawn(move || play(lane, seeds, done));
        }
    });
    let done = done.into_inner().unwrap();
    let count = seeds.iter().map(Vec::len).sum::<usize>();
    eprintln!("{count} scripts in {:.1} s: {done:?}", started.elapsed().as_secs_f64());
    if count as u64 >= SCRIPTS {
        assert_eq!(done.len(), Act::Expire as usize + 2, "some acts never came about: {done:?}");
    }
}

fn play(lane: &Lane, seeds: &[u64], done: &Mutex<BTreeMap<Act, u32>>) {
    let zmq = ZmqOptions { topics: lane.topics.to_vec(), shared: lane.shared, ..ZmqOptions::default() };
    let options = StandInOptions { premine: 105, zmq, version: lane.version, ..StandInOptions::default() };
    let mut node = StandIn::start(options).unwrap();
    node.world().fan_out(60, 3_000_000).unwrap();
    let mut cast = Cast::start(CAIRN, &node, lane.form);
    let mut witness = Witness::start(cast.served.clone());
    for &seed in seeds {
        let _reproduce = Reproduce(lane, seed);
        let script = Script::of(&mut ChaCha8Rng::seed_from_u64(seed ^ 0xac75));
        let started = Instant::now();
        let mut stage = Stage::new(seed, &mut node, &mut cast, witness.turn_to(seed));
        stage.play(&script);
        let (acts, gone) = (std::mem::take(&mut stage.done), std::mem::take(&mut stage.ever));
        let played = started.elapsed();
        let truth = Truth::of(&node.world());
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let scripts: Vec<ScriptBuf> = truth.scripts().into_iter().collect();
        let more = scripts.choose_multiple(&mut rng, SAMPLE).cloned().collect();
        settle(&truth, &cast, &gone, &more, &script);
        if let Some(objection) = witness.objection() {
            panic!("{objection}\n{acts:?}\n{script:?}\n{}", cast.said());
        }
        if env::var("CAIRN_SEED").is_ok() {
            eprintln!("{seed}: played {played:?}, settled {:?}: {acts:?}", started.elapsed() - played);
        }
        let mut done = done.lock().unwrap();
        for act in acts {
            *done.entry(act).or_default() += 1;
        }
    }
    let count = witness.finish();
    eprintln!("{}: {count:?}", lane.name);
    assert!(count.whole > 20 * seeds.len() as u64, "{count:?}");
    // Every balance there is, at last.
    let truth = Truth::of(&node.world());
    truth.is_served(&mut cast.client(), &BTreeSet::new(), &truth.scripts()).unwrap();
    cast.stop();
    cast.audit();
}

/// Waits until the truth is served.
fn settle(truth: &Truth, cast: &Cast, gone: &BTreeSet<bitcoin::Txid>, more: &BTreeSet<ScriptBuf>, script: &Script) {
    let (started, mut client) = (Instant::now(), cast.client());
    while let Err(difference) = truth.is_served(&mut client, gone, more) {
        assert!(started.elapsed() < SETTLED, "{difference}\n{script:?}\n{}", cast.said());
        thread::sleep(Duration::from_millis(15));
    }
}
