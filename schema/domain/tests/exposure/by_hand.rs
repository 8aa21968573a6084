//! Examples worked out by hand.

use cairn_domain::exposure::{Limits, MILLIONTHS, Reach, Role, Source, Stop, Way, trace};
use cairn_model::{Outpoint, TxNum};

use crate::world::{NO_LIMITS, World, script};

const SUBJECT: u8 = 9;
const THIEF: Source = Source { id: 1, group: 0 };
const MIXER: Source = Source { id: 2, group: 1 };

fn coin(tx_num: TxNum, vout: u32) -> Outpoint {
    Outpoint { tx_num, vout }
}

fn world() -> World {
    let mut world = World::default();
    world.roles.insert(script(1), Role { source: Some(THIEF), ..Role::default() });
    world.roles.insert(script(2), Role { source: Some(MIXER), is_service: true, is_busy: true });
    world.roles.insert(script(3), Role { is_service: true, ..Role::default() });
    world
}

/// 30 of the thief and 70 of somebody pay the subject 50, somebody 40, and a fee of 10.
#[test]
fn haircut_splits_by_value_and_fifo_by_order() {
    let mut world = world();
    let thief = world.push(&[], &[(30, Some(1))], false);
    let other = world.push(&[], &[(70, Some(4))], false);
    world.push(&[coin(thief, 0), coin(other, 0)], &[(50, Some(SUBJECT)), (40, Some(5))], false);
    let txs = world.history(script(SUBJECT), true);
    let trace = trace(&mut world, Way::Sources, script(SUBJECT), &txs, NO_LIMITS).unwrap();
    let of = trace.tally.groups[&(0, Reach::Counterparty)];
    assert_eq!((of.haircut, of.fifo, of.poison), (15 * MILLIONTHS, 30, 50));
    assert_eq!((trace.tally.mined.haircut, trace.tally.mined.fifo), (35 * MILLIONTHS, 20));
    assert_eq!((trace.tally.rounding(), trace.tally.stops.len(), trace.is_truncated()), (0, 0, false));
}

/// The mixer is a service and busy, but it has a claim: it is a source.
#[test]
fn a_source_comes_before_a_stop() {
    let mut world = world();
    let mixer = world.push(&[], &[(10, Some(2))], false);
    let service = world.push(&[], &[(20, Some(4))], false);
    let service = world.push(&[coin(service, 0)], &[(20, Some(3))], false);
    world.push(&[coin(mixer, 0), coin(service, 0)], &[(30, Some(SUBJECT))], false);
    let txs = world.history(script(SUBJECT), true);
    let trace = trace(&mut world, Way::Sources, script(SUBJECT), &txs, NO_LIMITS).unwrap();
    assert_eq!(trace.tally.groups[&(1, Reach::Counterparty)].fifo, 10);
    assert_eq!(trace.tally.stops[&Stop::Service].fifo, 20);
}

/// Nothing goes through a CoinJoin, and nothing further than the hops.
#[test]
fn coinjoins_and_hops_end_a_trace() {
    let mut world = world();
    let thief = world.push(&[], &[(8, Some(1)), (8, Some(1))], false);
    let joined = world.push(&[coin(thief, 0)], &[(8, Some(4))], true);
    let far = world.push(&[coin(thief, 1)], &[(8, Some(5))], false);
    let far = world.push(&[coin(far, 0)], &[(8, Some(6))], false);
    world.push(&[coin(joined, 0), coin(far, 0)], &[(16, Some(SUBJECT))], false);
    let txs = world.history(script(SUBJECT), true);
    let two = trace(&mut world, Way::Sources, script(SUBJECT), &txs, NO_LIMITS).unwrap();
    assert_eq!((two.tally.stops[&Stop::CoinJoin].fifo, two.tally.stops[&Stop::HopLimit].fifo), (8, 8));
    let three = trace(&mut world, Way::Sources, script(SUBJECT), &txs, Limits { hops: 3, ..NO_LIMITS }).unwrap();
    assert_eq!(three.tally.groups[&(0, Reach::Indirect)].fifo, 8);
    let way: Vec<u64> = three.way(&three.reached[0]).iter().map(|step| step.tx.0).collect();
    assert_eq!(way, [2, 3, 4]);
}

/// The subject spends 100: 60 to the thief, 30 change, of which 20 reach the thief again, and fees.
#[test]
fn destinations_follow_change_and_end_at_claims() {
    let mut world = world();
    let start = world.push(&[], &[(100, Some(SUBJECT))], false);
    let first = world.push(&[coin(start, 0)], &[(60, Some(1)), (30, Some(4))], false);
    world.push(&[coin(first, 1)], &[(20, Some(1)), (5, None), (3, Some(SUBJECT))], false);
    let txs = world.history(script(SUBJECT), false);
    let trace = trace(&mut world, Way::Destinations, script(SUBJECT), &txs, NO_LIMITS).unwrap();
    let tally = &trace.tally;
    assert_eq!((tally.examined, tally.fees.fifo), (100, 12));
    let [near, far] = [Reach::Counterparty, Reach::Indirect].map(|reach| tally.groups[&(0, reach)]);
    assert_eq!([near.fifo, near.poison, far.fifo, far.poison], [60, 60, 20, 20]);
    assert_eq!((tally.stops[&Stop::Unspendable].fifo, tally.stops[&Stop::Returned].fifo), (5, 3));
}
