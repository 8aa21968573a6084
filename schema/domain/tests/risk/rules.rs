//! Each rule at its limits, and the states that follow.

use cairn_domain::{
    claims::Strength,
    risk::{ClaimRef, DETECTORS, KnownService, MAX_TXS, Signal, SignalState, Unexamined, examine},
};
use cairn_events::Category;
use cairn_model::{Sats, ScriptId, TxNum};

use super::world::{Coin, Mark, World};

const BTC: Sats = 100_000_000;

fn signal(world: &World, script: ScriptId, id: &str) -> Signal {
    world.signals(script).into_iter().find(|signal| signal.detector.id == id).unwrap()
}

fn fires(world: &World, script: ScriptId, id: &str) -> bool {
    signal(world, script, id).state == SignalState::Fired
}

/// A chain of spends that take a part off; the scripts that the rest was at.
fn peel(world: &mut World, links: u32, gap: u32, percent: u64) -> Vec<ScriptId> {
    let mut coin = {
        let script = world.script();
        world.coin(0, script, 100 * BTC)
    };
    let mut scripts = vec![coin.script];
    for link in 0..links {
        let (to, back) = (world.script(), world.script());
        let part = coin.value * percent / 100;
        let made = world.tx(200 + link * gap, &[coin], &[(to, part), (back, coin.value - part)]);
        coin = made[1];
        scripts.push(coin.script);
    }
    scripts
}

#[test]
fn a_peel_chain_has_five_links_within_a_day() {
    for (links, gap, percent, expected) in
        [(5, 144, 20, true), (4, 144, 20, false), (5, 145, 20, false), (5, 144, 21, false), (30, 1, 5, true)]
    {
        let mut world = World::default();
        let scripts = peel(&mut world, links, gap, percent);
        for script in &scripts {
            assert_eq!(fires(&world, *script, "peel_chain"), expected, "{links} {gap} {percent}");
        }
        let found = signal(&world, scripts[0], "peel_chain");
        assert_eq!(found.total, if expected { u64::from(links) } else { 0 });
        assert!(found.txs.len() <= 10);
    }
}

#[test]
fn a_peel_chain_names_the_part_with_the_script_and_not_its_payees() {
    let mut world = World::default();
    let scripts = peel(&mut world, 30, 1, 5);
    let own = world.of(scripts[25]);
    let found = signal(&world, scripts[25], "peel_chain");
    assert!(own.iter().all(|tx| found.txs.contains(tx)), "{found:?}");
    assert!(found.txs.is_sorted());
    let payee = world.txs[&own[1]].outputs[0].script;
    assert!(!fires(&world, payee, "peel_chain"));
}

#[test]
fn reuse_is_funding_after_the_first_spend() {
    let mut world = World::default();
    let [reused, once, own] = [world.script(), world.script(), world.script()];
    let elsewhere = world.script();
    for script in [reused, once] {
        let coins: Vec<Coin> = (0..2).map(|_| world.coin(1, script, BTC)).collect();
        world.tx(2, &coins, &[(elsewhere, BTC)]);
    }
    world.coin(3, reused, BTC);
    // Change that goes back.
    let coin = world.coin(1, own, BTC);
    world.tx(2, &[coin], &[(elsewhere, BTC / 2), (own, BTC / 3)]);
    let found = signal(&world, reused, "address_reuse");
    assert_eq!((found.state, found.level, found.total), (SignalState::Fired, Some(100), 1));
    assert_eq!(found.txs, [*world.of(reused).last().unwrap()]);
    assert!(!fires(&world, once, "address_reuse"));
    assert!(fires(&world, own, "address_reuse"));
}

#[test]
fn what_passes_through_is_nine_tenths_of_a_tenth_of_a_bitcoin_within_a_day() {
    let passes = |value: Sats, parts: [Sats; 2], blocks: u32| {
        let mut world = World::default();
        let [payer, script, to] = [world.script(), world.script(), world.script()];
        let own = world.coin(1, payer, value);
        let coin = world.tx(10, &[own], &[(script, value)])[0];
        world.tx(10 + blocks, &[coin], &[(to, parts[0]), (script, parts[1])]);
        fires(&world, script, "rapid_pass_through")
    };
    assert!(passes(10_000_000, [9_000_000, 1_000_000], 144));
    assert!(!passes(9_999_999, [9_999_000, 0], 1), "too little");
    assert!(!passes(10_000_000, [8_999_999, 1_000_001], 1), "a part stays");
    assert!(!passes(10_000_000, [10_000_000, 0], 145), "too late");
    // Nobody passed on a mined coin, which cannot leave for 100 blocks.
    let mut world = World::default();
    let [miner, to] = [world.script(), world.script()];
    let coin = world.coin(10, miner, BTC);
    world.tx(110, &[coin], &[(to, BTC)]);
    assert!(!fires(&world, miner, "rapid_pass_through"));
}

/// Payments of strangers to a script, one each in blocks `step` apart.
fn strangers(world: &mut World, count: u32, step: u32) -> ScriptId {
    let script = world.script();
    for at in 0..count {
        let stranger = world.script();
        let coin = world.coin(1, stranger, BTC);
        world.tx(10 + at * step, &[coin], &[(script, BTC / 2)]);
    }
    script
}

#[test]
fn many_senders_are_ten_within_a_day() {
    for (count, step, expected) in [(10, 1, true), (9, 1, false), (10, 15, true), (10, 16, false), (40, 14, true)] {
        let mut world = World::default();
        let script = strangers(&mut world, count, step);
        assert_eq!(fires(&world, script, "fan_in"), expected, "{count} {step}");
    }
    // Senders that a transaction ties together are one.
    let mut world = World::default();
    let script = strangers(&mut world, 10, 1);
    let senders: Vec<ScriptId> = world.of(script).iter().map(|tx| world.txs[tx].inputs[0].script).collect();
    let coins: Vec<Coin> = senders[..2].iter().map(|sender| world.coin(500, *sender, BTC)).collect();
    let elsewhere = world.script();
    world.tx(501, &coins, &[(elsewhere, BTC)]);
    assert!(!fires(&world, script, "fan_in"));
    // Mined coins have no sender.
    let mined = world.script();
    for _ in 0..20 {
        world.coin(600, mined, BTC);
    }
    assert!(!fires(&world, mined, "fan_in"));
}

#[test]
fn many_recipients_are_twenty_others() {
    for (others, expected) in [(20, true), (19, false)] {
        let mut world = World::default();
        let script = world.script();
        let coin = world.coin(1, script, 100 * BTC);
        let paid: Vec<(ScriptId, Sats)> =
            (0..others).map(|at| (world.script(), BTC + at)).chain([(script, BTC)]).collect();
        world.tx(2, &[coin], &paid);
        assert_eq!(fires(&world, script, "fan_out"), expected, "{others}");
        assert!(!fires(&world, paid[0].0, "fan_out"), "a recipient pays nobody");
    }
}

#[test]
fn claims_are_found_within_two_transactions() {
    let claim = || ClaimRef { claim_id: "list:7".to_owned(), level: 100, strength: Strength::Strong };
    let mut world = World::default();
    let scripts: Vec<ScriptId> = (0..5).map(|_| world.script()).collect();
    let mut coin = world.coin(1, scripts[0], BTC);
    for (at, to) in (1..).zip(&scripts[1..]) {
        coin = world.tx(1 + at, &[coin], &[(*to, BTC)])[0];
    }
    world.marks.insert(scripts[2], Mark { sanctioned: Some(claim()), ..Mark::default() });
    for (at, script) in scripts.iter().enumerate() {
        let found = signal(&world, *script, "sanctioned_indirect");
        assert_eq!(found.state == SignalState::Fired, at != 2, "{at}: {found:?}");
        assert_eq!(found.txs.len(), [2, 1, 0, 1, 2][at]);
    }
    assert_eq!(signal(&world, scripts[0], "sanctioned_indirect").claim_ids, ["list:7"]);
    assert!(!fires(&world, scripts[0], "mixer_exposure"));
    // A service between ends the walk; it is found itself.
    world.marks.insert(scripts[1], Mark { mixer: Some(claim()), is_service: true, ..Mark::default() });
    assert!(!fires(&world, scripts[0], "sanctioned_indirect"));
    assert!(fires(&world, scripts[0], "mixer_exposure"));
}

/// A script pays 3,000 others, and each pays on.
fn wide(world: &mut World, to: impl Fn(&mut World) -> ScriptId) -> ScriptId {
    let subject = world.script();
    let coin = world.coin(1, subject, 100 * BTC);
    let paid: Vec<(ScriptId, Sats)> = (0..3_000).map(|_| (to(world), 1_000)).collect();
    for coin in world.tx(2, &[coin], &paid) {
        let next = world.script();
        world.tx(3, &[coin], &[(next, 900)]);
    }
    world.look_ups.set(0);
    subject
}

#[test]
fn many_neighbours_do_not_cost_without_end() {
    let mut world = World::default();
    let subject = wide(&mut world, World::script);
    let found = signal(&world, subject, "mixer_exposure");
    assert_eq!((found.state, found.code), (SignalState::NotExamined, Unexamined::LookUpCap.code()));
    // The transactions of one direction for each of the two detectors, and what the others look up.
    assert!(world.look_ups.get() <= 5_000, "{}", world.look_ups.get());
}

#[test]
fn a_busy_script_ends_the_trace() {
    let mut world = World::default();
    let busy = world.script();
    let subject = wide(&mut world, |_| busy);
    let found = signal(&world, subject, "mixer_exposure");
    assert_eq!((found.state, found.code), (SignalState::NotFired, "examined"));
    // A claim comes before a stop.
    let claim = ClaimRef { claim_id: "list:7".to_owned(), level: 40, strength: Strength::Moderate };
    world.marks.insert(busy, Mark { mixer: Some(claim), ..Mark::default() });
    let found = signal(&world, subject, "mixer_exposure");
    assert_eq!((found.state, found.total), (SignalState::Fired, 1));
}

#[test]
fn every_detector_has_a_signal_in_the_order_of_the_registry() {
    let mut world = World::default();
    let script = strangers(&mut world, 3, 1);
    let order = |signals: &[Signal]| signals.iter().map(|signal| signal.detector.id).collect::<Vec<_>>();
    let expected: Vec<&str> = DETECTORS.iter().map(|detector| detector.id).collect();
    let signals = world.signals(script);
    assert_eq!(order(&signals), expected);
    for signal in &signals {
        assert_eq!(signal.state, SignalState::NotFired, "{signal:?}");
        assert_eq!((signal.level, signal.strength), (None, None));
        let counts = signal.reason.contains("3 of 3 transactions");
        assert_eq!(counts, signal.detector.needs_history, "{signal:?}");
    }
    let unknown = world.script();
    for signal in world.signals(unknown).iter().filter(|signal| signal.detector.needs_history) {
        assert_eq!((signal.state, signal.code), (SignalState::NotExamined, "no_history"), "{signal:?}");
    }
}

#[test]
fn a_cut_history_is_never_quiet() {
    let mut world = World::default();
    let script = strangers(&mut world, MAX_TXS as u32 + 1, 2_000);
    for signal in world.signals(script).iter().filter(|signal| signal.detector.needs_history) {
        assert_eq!((signal.state, signal.code), (SignalState::NotExamined, "history_cut"), "{signal:?}");
        assert!(signal.reason.contains("1000 of 1001"), "{signal:?}");
    }
    // A pattern in the part that was examined fires. The first spend may be older.
    let mut facts = world.facts_of(script);
    facts.sent_before = 1;
    let signals = examine(&facts, &world).unwrap();
    let reuse = signals.iter().find(|signal| signal.detector.id == "address_reuse").unwrap();
    assert_eq!((reuse.state, reuse.txs.len(), reuse.total), (SignalState::Fired, 10, 1_000));
    // A transaction that was not taken apart counts like a cut.
    let mut world = World::default();
    let script = strangers(&mut world, 3, 1);
    let mut facts = world.facts_of(script);
    facts.txs[1].parts = None;
    let signals = examine(&facts, &world).unwrap();
    let fan_out = signals.iter().find(|signal| signal.detector.id == "fan_out").unwrap();
    assert_eq!((fan_out.state, fan_out.code), (SignalState::NotExamined, "large_transaction"));
    assert!(fan_out.reason.contains("2 of 3"), "{fan_out:?}");
}

#[test]
fn a_known_service_suppresses_structures_alone() {
    let mut world = World::default();
    let script = strangers(&mut world, 12, 1);
    world.marks.insert(
        world.txs[&world.of(script)[0]].inputs[0].script,
        Mark {
            mixer: Some(ClaimRef { claim_id: "list:1".to_owned(), level: 40, strength: Strength::Moderate }),
            ..Mark::default()
        },
    );
    let mut facts = world.facts_of(script);
    facts.services.push(KnownService {
        entity: "shop".to_owned(),
        category: Category::Shop,
        claim_id: "list:2".to_owned(),
        level: 40,
    });
    let signals = examine(&facts, &world).unwrap();
    let of = |id: &str| signals.iter().find(|signal| signal.detector.id == id).unwrap();
    let fan_in = of("fan_in");
    assert_eq!((fan_in.state, fan_in.total, fan_in.txs.len()), (SignalState::Suppressed, 12, 10));
    assert_eq!(fan_in.suppressed_by, facts.services);
    assert_eq!(of("mixer_exposure").state, SignalState::Fired);
    assert_eq!(of("fan_out").state, SignalState::NotFired, "what did not fire is not suppressed");
}

#[test]
fn claims_about_the_script_need_labels_and_all_of_them() {
    let mut world = World::default();
    let script = strangers(&mut world, 2, 1);
    let of = |change: fn(&mut cairn_domain::risk::Facts)| {
        let mut facts = world.facts_of(script);
        change(&mut facts);
        let signals = examine(&facts, &world).unwrap();
        signals.into_iter().find(|signal| signal.detector.id == "sanctioned_direct").unwrap()
    };
    let claim = || ClaimRef { claim_id: "list:7".to_owned(), level: 100, strength: Strength::Strong };
    let fired = {
        let mut facts = world.facts_of(script);
        facts.listed = vec![claim()];
        examine(&facts, &world).unwrap().swap_remove(8)
    };
    assert_eq!((fired.state, fired.level, fired.strength), (SignalState::Fired, Some(100), Some(Strength::Strong)));
    assert_eq!(fired.claim_ids, ["list:7"]);
    assert_eq!(of(|facts| facts.has_labels = false).code, "no_labels");
    assert_eq!(of(|facts| facts.is_claims_cut = true).code, "claims_cut");
    let quiet = of(|_| {});
    assert_eq!(quiet.state, SignalState::NotFired);
    assert!(quiet.reason.contains("No list is complete"), "{quiet:?}");
}

#[test]
fn dust_that_is_not_judged_is_not_examined() {
    let mut world = World::default();
    let script = strangers(&mut world, 2, 1);
    let of = |dust: Result<Vec<TxNum>, Unexamined>| {
        let mut facts = world.facts_of(script);
        facts.dust = dust;
        let signals = examine(&facts, &world).unwrap();
        let found = signals.into_iter().find(|signal| signal.detector.id == "dust_recipient").unwrap();
        (found.state, found.code)
    };
    assert_eq!(of(Err(Unexamined::Unfinished)), (SignalState::NotExamined, "unfinished"));
    assert_eq!(of(Ok(vec![TxNum(7)])), (SignalState::Fired, "observed"));
    assert_eq!(of(Ok(Vec::new())), (SignalState::NotFired, "examined"));
}
