//! Random graphs.

use std::collections::{BTreeMap, BTreeSet};

use cairn_domain::exposure::{Amounts, Limits, MILLIONTHS, Origin, Reach, Source, Stop, Trace, Way, trace};
use cairn_model::{Outpoint, Sats, ScriptId};

use crate::{
    fractions::Fraction,
    naive::Naive,
    rounds::{Rounds, Sums},
    world::{NO_LIMITS, SCRIPTS, World, script},
};

/// Graphs of each property.
pub fn cases() -> u64 {
    match std::env::var_os("CAIRN_TEST_LONG") {
        Some(_) => 100_000,
        None => 3_000,
    }
}

pub fn limits(seed: u64) -> Limits {
    Limits { hops: 1 + (seed % 4) as u8, ..NO_LIMITS }
}

pub fn subject(seed: u64) -> ScriptId {
    script((seed / 4 % u64::from(SCRIPTS)) as u8)
}

pub fn sources(world: &mut World, of: ScriptId, limits: Limits) -> Trace {
    let txs = world.history(of, true);
    trace(world, Way::Sources, of, &txs, limits).unwrap()
}

pub fn destinations(world: &mut World, of: ScriptId, limits: Limits) -> Trace {
    let txs = world.history(of, false);
    trace(world, Way::Destinations, of, &txs, limits).unwrap()
}

/// Haircut with its rounding, and FIFO, add up to what was examined; no amount exceeds its bound.
fn assert_conserves(trace: &Trace, what: &str) {
    let tally = &trace.tally;
    let all: Vec<Amounts> =
        tally.groups.values().chain([&tally.mined, &tally.fees]).chain(tally.stops.values()).copied().collect();
    let haircut: u128 = all.iter().map(|of| of.haircut).sum();
    assert_eq!(haircut + tally.rounding(), u128::from(tally.examined) * MILLIONTHS, "{what}");
    assert_eq!(all.iter().map(|of| of.fifo).sum::<Sats>(), tally.examined, "{what}");
    for of in &trace.reached {
        assert!(of.haircut <= u128::from(of.value) * MILLIONTHS && of.fifo <= of.value, "{what}: {of:?}");
    }
    for of in tally.groups.values() {
        assert!(of.haircut <= u128::from(of.poison) * MILLIONTHS && of.fifo <= of.poison, "{what}: {of:?}");
    }
    let by_source = |group: u32, reach: Reach| {
        let of = tally.sources.iter().filter(|((source, at), _)| (source.group, *at) == (group, reach));
        of.fold((0, 0), |sum: Sums, (_, of)| (sum.0 + of.haircut, sum.1 + of.fifo))
    };
    for ((group, reach), of) in &tally.groups {
        assert_eq!(by_source(*group, *reach), (of.haircut, of.fifo), "{what}");
    }
}

#[test]
fn sources_equal_a_naive_tracer_in_exact_fractions() {
    let mut compared = 0;
    for seed in 0..cases() {
        let (mut world, subject, limits) = (World::random(seed, 60), subject(seed), limits(seed));
        let trace = sources(&mut world, subject, limits);
        let what = format!("seed {seed}");
        assert_conserves(&trace, &what);
        let naive = Naive { world: &world, subject, hops: limits.hops };
        let mut haircut: BTreeMap<(Origin, Option<Reach>), Fraction> = BTreeMap::new();
        let mut fifo: BTreeMap<(Origin, Option<Reach>), Sats> = BTreeMap::new();
        let (mut examined, mut coins) = (0, 0u128);
        let reach = |of: &(Origin, u8)| (of.0, matches!(of.0, Origin::Source(_)).then(|| Reach::of(of.1)));
        for tx in world.txs.values() {
            for (vout, output) in (0..).zip(&tx.outputs) {
                if output.script != Some(subject) {
                    continue;
                }
                let parts = naive.received(Outpoint { tx_num: tx.tx_num, vout });
                let sum = parts.shares.values().fold(Fraction::new(0, 1), |sum, of| sum.plus(of));
                assert!(sum.is(1), "{what}");
                for (of, share) in &parts.shares {
                    let sum = haircut.entry(reach(of)).or_insert(Fraction::new(0, 1));
                    *sum = sum.plus(&share.times(&Fraction::new(output.value, 1)));
                }
                parts.satoshis.iter().for_each(|of| *fifo.entry(reach(of)).or_default() += 1);
                examined += output.value;
                coins += 1;
            }
        }
        let tally = &trace.tally;
        assert_eq!(tally.examined, examined, "{what}");
        let found = |(origin, reach): &(Origin, Option<Reach>)| match (origin, reach) {
            (Origin::Source(source), Some(reach)) => tally.sources.get(&(*source, *reach)).copied().unwrap_or_default(),
            (Origin::Mined, _) => tally.mined,
            (Origin::Stop(stop), _) => tally.stops.get(stop).copied().unwrap_or_default(),
            _ => Amounts::default(),
        };
        for (key, exact) in &haircut {
            let (found, exact) = (found(key).haircut, exact.millionths());
            // Each hop rounds a part down once, and a transaction has four inputs at most.
            let slack = coins * 4u128.pow(limits.hops.into()) * 8;
            assert!(found <= exact && exact <= found + slack, "{what}: {key:?}: {found} for {exact}");
            compared += 1;
        }
        for (key, exact) in &fifo {
            assert_eq!(found(key).fifo, *exact, "{what}: {key:?}");
        }
        assert!(tally.sources.keys().all(|(of, at)| haircut.contains_key(&(Origin::Source(*of), Some(*at)))), "{what}");
    }
    assert!(compared > cases() * 2, "{compared}");
}

/// Scripts where money of another script ends.
fn ends(world: &World, but: [ScriptId; 2]) -> (BTreeSet<ScriptId>, BTreeSet<ScriptId>) {
    let of = |holds: fn(&cairn_domain::exposure::Role) -> bool| {
        world.roles.iter().filter(|(_, role)| holds(role)).map(|(script, _)| *script).collect::<BTreeSet<_>>()
    };
    let mut services = of(|role| role.source.is_some() || role.is_service);
    services.retain(|script| !but.contains(script));
    (services, of(|role| role.is_busy))
}

#[test]
fn sources_equal_the_rounds_of_spark_to_the_last_digit() {
    let mut compared = 0;
    for seed in 0..cases() {
        let (mut world, subject, limits) = (World::random(seed, 2_000_000_000_000), subject(seed), limits(seed));
        let trace = sources(&mut world, subject, limits);
        assert_conserves(&trace, &format!("seed {seed}"));
        let all: Vec<(ScriptId, Source)> =
            world.roles.iter().filter_map(|(script, role)| Some((*script, role.source?))).collect();
        for (script, source) in all.into_iter().filter(|(script, _)| *script != subject) {
            let (services, busy) = ends(&world, [script, subject]);
            let of = Rounds { world: &world, source: script, services, busy, hops: limits.hops, only_spent: false };
            let (rows, _) = of.run();
            let mut expected: BTreeMap<Reach, Sums> = BTreeMap::new();
            for row in rows.iter().filter(|row| row.script == Some(subject)) {
                let sum = expected.entry(Reach::of(row.hop)).or_default();
                *sum = (sum.0 + row.sums.0, sum.1 + row.sums.1);
            }
            for reach in [Reach::Counterparty, Reach::Indirect] {
                let found = trace.tally.sources.get(&(source, reach)).copied().unwrap_or_default();
                let expected = expected.get(&reach).copied().unwrap_or_default();
                assert_eq!((found.haircut, found.fifo), expected, "seed {seed}: {source:?} {reach:?}");
                compared += u64::from(expected != (0, 0));
            }
        }
    }
    assert!(compared > cases() / 2, "{compared}");
}

/// The name that the program has for a stop.
pub fn stop_name(stop: Stop) -> &'static str {
    match stop {
        Stop::Unspendable => "unspendable",
        Stop::Returned => "returned",
        Stop::Service => "service",
        Stop::Busy => "busy",
        Stop::Held => "held",
        Stop::CoinJoin => "coinjoin",
        Stop::HopLimit => "hop_limit",
        Stop::CoinCap | Stop::TransactionCap | Stop::WorkCap => "cap",
    }
}

#[test]
fn destinations_equal_the_rounds_of_spark_to_the_last_digit() {
    let mut seen = BTreeSet::new();
    for seed in 0..cases() {
        let (mut world, subject, limits) = (World::random(seed, 2_000_000_000_000), subject(seed), limits(seed));
        let trace = destinations(&mut world, subject, limits);
        assert_conserves(&trace, &format!("seed {seed}"));
        let (services, busy) = ends(&world, [subject, subject]);
        let of = Rounds { world: &world, source: subject, services, busy, hops: limits.hops, only_spent: true };
        let (rows, fees) = of.run();
        let mut expected: BTreeMap<String, Sums> = BTreeMap::new();
        for row in rows {
            let source = row.script.and_then(|script| world.role(script).source);
            let key = match (row.part, source) {
                (None, _) => continue,
                (Some("service"), Some(source)) => format!("{source:?} {:?}", Reach::of(row.hop)),
                // At the last hop it is not looked up which transaction spends a coin.
                (Some("coinjoin"), _) if row.hop == limits.hops => "hop_limit".to_owned(),
                (Some(part), _) => part.to_owned(),
            };
            let sum = expected.entry(key).or_default();
            *sum = (sum.0 + row.sums.0, sum.1 + row.sums.1);
        }
        expected.insert("fees".to_owned(), fees);
        let mut found: BTreeMap<String, Sums> = BTreeMap::new();
        for ((source, reach), of) in &trace.tally.sources {
            found.insert(format!("{source:?} {reach:?}"), (of.haircut, of.fifo));
        }
        for (stop, of) in &trace.tally.stops {
            found.insert(stop_name(*stop).to_owned(), (of.haircut, of.fifo));
        }
        found.insert("fees".to_owned(), (trace.tally.fees.haircut, trace.tally.fees.fifo));
        let of_coinjoins = |sums: &mut BTreeMap<String, Sums>| {
            let [a, b] = ["coinjoin", "hop_limit"].map(|key| sums.remove(key).unwrap_or_default());
            (a.0 + b.0, a.1 + b.1)
        };
        // A coin that a shorter way reaches, too, is known to be spent by a CoinJoin at its last hop.
        assert_eq!(of_coinjoins(&mut found), of_coinjoins(&mut expected), "seed {seed}");
        found.retain(|_, sums| *sums != (0, 0));
        expected.retain(|_, sums| *sums != (0, 0));
        assert_eq!(found, expected, "seed {seed}");
        seen.extend(expected.into_keys().map(|key| key.split(' ').next().unwrap().to_owned()));
    }
    for key in ["unspendable", "returned", "service", "busy", "held", "fees", "Source"] {
        assert!(seen.contains(key), "{key}: {seen:?}");
    }
}

#[test]
fn limits_leave_amounts_unresolved_and_never_lose_them() {
    let mut seen = BTreeSet::new();
    for seed in 0..cases() {
        let (mut world, subject) = (World::random(seed, 1_000_000), subject(seed));
        let small = Limits {
            hops: 1 + (seed % 4) as u8,
            coins: 1 + (seed % 13) as usize,
            txs: 1 + (seed % 7) as usize,
            steps: (seed % 50) as usize,
        };
        for is_forward in [false, true] {
            let run = |world: &mut World, limits| match is_forward {
                true => destinations(world, subject, limits),
                false => sources(world, subject, limits),
            };
            let cut = run(&mut world, small);
            assert_conserves(&cut, &format!("seed {seed}"));
            let whole = run(&mut world, Limits { hops: small.hops, ..NO_LIMITS });
            assert!(!whole.is_truncated() && cut.tally.examined <= whole.tally.examined, "seed {seed}");
            for (key, of) in &cut.tally.sources {
                let most = whole.tally.sources.get(key).copied().unwrap_or_default();
                assert!(of.haircut <= most.haircut && of.fifo <= most.fifo, "seed {seed}: {key:?}");
            }
            seen.extend(cut.tally.stops.keys().copied());
        }
    }
    for stop in [Stop::CoinCap, Stop::TransactionCap, Stop::WorkCap] {
        assert!(seen.contains(&stop), "{stop:?}: {seen:?}");
    }
}

#[test]
fn ways_lead_from_one_end_to_the_other() {
    let mut steps = 0;
    for seed in 0..cases() {
        let (mut world, subject, limits) = (World::random(seed, 1_000_000), subject(seed), limits(seed));
        for trace in [sources(&mut world, subject, limits), destinations(&mut world, subject, limits)] {
            for of in &trace.reached {
                let way = trace.way(of);
                assert_eq!(way.len(), usize::from(of.part.hop), "seed {seed}");
                let last = way.last().unwrap();
                assert_eq!(Outpoint { tx_num: last.tx, vout: last.vout }, of.coin, "seed {seed}");
                assert_eq!((last.haircut, last.fifo, last.value), (of.haircut, of.fifo, of.value), "seed {seed}");
                for two in way.windows(2) {
                    let input = world.txs[&two[1].tx].inputs[two[1].vin as usize];
                    assert_eq!(input.coin, Outpoint { tx_num: two[0].tx, vout: two[0].vout }, "seed {seed}");
                }
                steps += way.len();
            }
        }
    }
    assert!(steps as u64 > cases(), "{steps}");
}
