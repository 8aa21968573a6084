//! The program under real load for a long time: an indexer and a server over a node that mines, reorganizes and
//! announces its mempool. Clients ask for every operation over HTTP and as a tool. Now and then one of the processes is
//! killed.
//!
//! Memory, descriptors and threads stay flat; nothing fails but what a kill explains; no answer's tip goes back but by
//! a reorganization; in the end the accepted hashes are final (1,000 of them, if there are more), and the index is
//! sound and equals one that was made in one go.
//!
//! `CAIRN_SOAK_MINUTES` (1) is how long it takes; `CAIRN_SEED` (1) what happens.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, unreachable_pub, missing_docs)]

mod accepted;
mod ask;
mod course;
mod gauges;
mod happen;
mod lists;
mod operations;

use std::{
    sync::atomic::Ordering,
    thread,
    time::{Duration, Instant},
};

use cairn_standin::{StandIn, StandInOptions};
use cairn_support::{Cast, Form, Program, setting};

use crate::{
    accepted::{DESCRIPTOR, WALLET},
    ask::ask_all_the_time,
    course::Course,
    gauges::Gauges,
    happen::Happening,
    lists::Lists,
    operations::Load,
};

/// The program that is tested.
const CAIRN: Program = Program::new(env!("CARGO_BIN_EXE_cairn"));
/// Clients over HTTP, and one more over the Model Context Protocol.
const CLIENTS: u8 = 3;
/// The part of the time in which processes are killed, in percent; then they run undisturbed and have to stay flat.
const KILLS_UNTIL: u32 = 40;
/// Longest time between two kills.
const KILL_EVERY: Duration = Duration::from_secs(240);

#[test]
fn everything_stays_flat_under_load() {
    let whole = Duration::from_secs(60 * setting("CAIRN_SOAK_MINUTES", 1));
    let node = StandIn::start(StandInOptions { premine: 130, ..StandInOptions::default() }).unwrap();
    node.world().fan_out(60, 3_000_000).unwrap();
    // Caches that are soon full, so that further growth is not theirs.
    let wallet =
        format!("--timestamps-wallet {WALLET} --timestamps-interval 5 --timestamps-max-sats-per-day 1000000000");
    let mut cast = Cast::new(CAIRN, &node, Form::Two).with(
        &format!("--memory 256M --cache 16M --mempool-memory 32M --timestamps-max-feerate 1000 {wallet}"),
        &format!("--cache 16M --mempool-memory 32M --payments-descriptor {DESCRIPTOR}"),
    );
    cast.start_all();
    accepted::begin(&cast, &node);
    let course = Course::new(cast.served.clone());
    let load = Load::of(&mut cast.client());
    let mut happening = Happening::new(setting("CAIRN_SEED", 1), &node, &course);
    course.settle(&node, &cast);
    let mut lists = Lists::new(&cast);
    let (mut gauges, began) = (Gauges::default(), Instant::now());
    thread::scope(|scope| {
        // Whatever ends this ends the clients.
        let _end = course.end_on_drop();
        for client in 0..=CLIENTS {
            let (course, load) = (&course, &load);
            scope.spawn(move || ask_all_the_time(client, client == CLIENTS, course, load));
        }
        let (quiet_from, kill_every) = (whole * KILLS_UNTIL / 100, (whole / 6).min(KILL_EVERY));
        let (mut next_kill, mut kills, mut minute) = (kill_every, 0, Duration::from_secs(60));
        while began.elapsed() < whole {
            happening.go_on(&node);
            if next_kill < quiet_from && began.elapsed() > next_kill {
                next_kill += kill_every;
                kills += 1;
                course.disturbed(|| match kills % 2 {
                    1 => {
                        cast.end_writer("KILL");
                        happening.meanwhile(&node);
                        cast.start_writer();
                        course.settle(&node, &cast);
                    }
                    _ => {
                        cast.end_reader("KILL");
                        happening.meanwhile(&node);
                        cast.start_reader();
                        course.settle(&node, &cast);
                    }
                });
            }
            lists.go_on(&cast);
            gauges.look(began.elapsed(), &cast);
            if let Some(fault) = course.fault() {
                panic!("{fault}\n{}", cast.said());
            }
            if began.elapsed() > minute {
                eprintln!("soak: {:3} min: {}, {gauges}, {happening}", minute.as_secs() / 60, course.count());
                minute += Duration::from_secs(60);
            }
            thread::sleep(Duration::from_millis(50));
        }
        assert!(kills >= 2, "{kills} kills");
        gauges.assert_flat(quiet_from, whole);
    });
    eprintln!("soak: {}, {gauges}, {happening}", course.count());
    if let Some(fault) = course.fault() {
        panic!("{fault}\n{}", cast.said());
    }
    course.settle(&node, &cast);
    load.assert_all_answered();
    accepted::assert_all_final(&cast, &node);
    course.settle(&node, &cast);
    let [answers, tips] = [&course.answers, &course.tips].map(|number| number.load(Ordering::Relaxed));
    assert!(tips > answers / 3, "{tips} tips in {answers} answers");
    assert!(happening.reorgs() > 0, "{happening}");
    cast.stop();
    cast.audit();
}
