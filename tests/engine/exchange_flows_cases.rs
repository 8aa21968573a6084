//! Flows of exchanges in chains by hand, a block a day.

use std::collections::BTreeMap;

use bitcoin::OutPoint;
use cairn_events::{Body, Category, Claim, ClaimList, ClaimType, Document, DocumentHash, EvidenceTier, Provenance};
use cairn_model::{Network, day_of};
use cairn_pipeline::{Driver, NoProgress, SyncOptions};
use cairn_reader::SUSPECT_TRANSACTIONS;
use cairn_support::forge::{pay, script, spend};
use cairn_tables::exchange_flows::FlowMode::{self, Latest, PointInTime};
use cairn_testkit::{Oracle, temp_dir};
use tempfile::TempDir;

use crate::{
    exchange_flows_by_hand::Nine,
    exchange_flows_chains::{BEGIN, DAY, TimedChain},
    exchange_flows_following::{Kept, Seen, assert_generation},
    support::*,
};

/// The time of a block.
fn time(block: u32) -> u32 {
    BEGIN + block * DAY as u32
}

/// Adds a block: what its coinbase pays, amounts and scripts, and transactions, each of all coins of some scripts.
fn day(chain: &mut TimedChain, paid: &[(u64, u32)], txs: &[(&[u32], &[(u64, u32)])]) {
    let height = chain.forge.blocks.len() as u32;
    let outputs = |paid: &[(u64, u32)]| paid.iter().map(|(sats, tag)| pay(*sats, script(*tag))).collect::<Vec<_>>();
    let tx = |(spent, paid): &(&[u32], &[(u64, u32)])| {
        let of = |tag: &u32| {
            let coins = chain.coins.iter().filter(|(_, coin)| coin.txout.script_pubkey == script(*tag));
            coins.map(|(at, _)| *at).collect::<Vec<OutPoint>>()
        };
        spend(&spent.iter().flat_map(of).collect::<Vec<_>>(), outputs(paid))
    };
    let txs = txs.iter().map(tx).collect();
    chain.block(height, [outputs(paid), vec![pay(1, script(9_000_000 + height))]].concat(), txs, DAY);
}

/// A claim that an exchange controls a script, and no others of its cluster.
fn control(tag: u32, entity: &str, asserted_at: Option<u32>) -> Claim {
    Claim {
        level: 90,
        entity: Some(entity.parse().unwrap()),
        category: Some(Category::Exchange),
        asserted_at,
        ..Claim::bare(1, script(tag).as_bytes().into(), ClaimType::ControlledBy, EvidenceTier::SelfDisclosed)
    }
}

/// A document of a list.
fn list(name: &str, is_complete: bool, retrieved_at: u32, claims: Vec<Claim>) -> Document {
    let rows: Vec<Claim> = (1..).zip(claims).map(|(row, claim)| Claim { row, ..claim }).collect();
    let mut hash = [0; 32];
    hash[..4].copy_from_slice(&retrieved_at.to_be_bytes());
    name.bytes().zip(&mut hash[4..]).for_each(|(byte, at)| *at = byte);
    let provenance = Provenance {
        source: "a".parse().unwrap(),
        licence: "cc0-1.0".parse().unwrap(),
        origin: "a test".to_owned(),
        retrieved_at,
        document: DocumentHash(hash),
    };
    let list = ClaimList { name: name.parse().unwrap(), is_complete };
    Document { provenance, received_at: None, body: Body::Claims { list, rows } }
}

/// Claims of before the first block, known since then.
fn from_the_beginning(of: &[(u32, &str)], is_inherited: bool) -> (Document, u32) {
    let claim = |(tag, entity): &(u32, &str)| Claim { is_inherited, ..control(*tag, entity, None) };
    (list("old", false, BEGIN, of.iter().map(claim).collect()), BEGIN)
}

/// A chain, and an index of it with flows.
struct World {
    blocks: TempDir,
    index: Index,
}

impl World {
    /// Of the blocks up to one. The documents come after them, each at its time.
    fn up_to(height: u32, chain: TimedChain, documents: &[(Document, u32)]) -> Self {
        let blocks = temp_dir();
        chain.forge.write(blocks.path());
        let index = Index::up_to(blocks.path(), Driver::Bulk, height);
        for (document, received_at) in documents {
            index.engine.take_document(document, *received_at).unwrap();
        }
        assert!(index.engine.follow_flows(&NoProgress, true).unwrap());
        let oracle = Oracle::of(Network::Regtest, &chain.forge.blocks[..=height as usize]);
        index.view(|view| assert_generation(view, &oracle, &Kept::of(view), &mut Seen::default(), "by hand"));
        World { blocks, index }
    }

    fn of(chain: TimedChain, documents: &[(Document, u32)]) -> Self {
        World::up_to(chain.forge.blocks.len() as u32 - 1, chain, documents)
    }

    /// Takes in blocks up to one, and has them followed.
    fn follow_to(&mut self, height: u32) {
        let options = SyncOptions { to: Some(height), ..SyncOptions::default() };
        sync_with(&mut self.index.engine, self.blocks.path(), &options, &NoProgress).unwrap();
        assert!(self.index.engine.follow_flows(&NoProgress, true).unwrap());
    }

    fn kept(&self) -> Kept {
        self.index.view(Kept::of)
    }

    /// The rows of an exchange, or of all together, by block: in, out, internal, fees, from and to exchanges,
    /// reclassified, backfilled, transactions.
    fn assert_rows(&self, mode: FlowMode, of: &str, expected: &[(u32, Nine)]) {
        let nine = |sums: &cairn_tables::sums::Sums| std::array::from_fn(|at| sums.get(at as u32));
        let rows = self.kept().of_mode(mode).into_iter();
        let rows = rows.filter(|((exchange, _), _)| exchange.as_ref().map_or("", |exchange| exchange.as_str()) == of);
        let found: BTreeMap<u32, Nine> = rows.map(|((_, day), sums)| (day - day_of(BEGIN), nine(&sums))).collect();
        assert_eq!(found, expected.iter().copied().collect(), "{mode:?} of {of:?}");
    }

    /// The row of a block after the generation, if `a` is the only exchange.
    fn assert_block(&self, block: u32, expected: Nine, held: u64) {
        let row = &self.kept().since[&block];
        let [(None, all), (Some(of), sums)] = &row.flows[..] else { panic!("{row:?}") };
        let nine = std::array::from_fn(|at| sums.get(at as u32));
        assert_eq!((of.as_str(), nine, all), ("a", expected, sums), "block {block}");
        assert_eq!(row.held, [("a".parse().unwrap(), held)], "block {block}");
    }
}

#[test]
fn payments_between_exchanges_and_others() {
    let mut chain = TimedChain::new();
    day(&mut chain, &[(1_000, 10)], &[]);
    day(&mut chain, &[(850, 91)], &[(&[10], &[(600, 20), (350, 10)])]);
    day(&mut chain, &[(500, 10)], &[]);
    // Half of the inputs are an exchange's. Two others receive more than it sends.
    day(&mut chain, &[], &[(&[10, 91], &[(700, 20), (701, 30), (199, 92)])]);
    // Two send, and the third one receives. Their shares of the fee are less than one.
    day(&mut chain, &[], &[(&[20, 30], &[(1_000, 10), (1_000, 93)])]);
    // Only a fee is paid: all of it, and less than the share.
    day(&mut chain, &[], &[(&[10], &[(990, 10)])]);
    day(&mut chain, &[], &[(&[10, 93], &[(985, 10), (500, 93)])]);
    day(&mut chain, &[], &[(&[93], &[(500, 94)])]);
    let world = World::of(chain, &[from_the_beginning(&[(10, "a"), (20, "b"), (30, "c")], false)]);
    for mode in [Latest, PointInTime] {
        world.assert_rows(
            mode,
            "a",
            &[
                (1, [1_000, 0, 0, 0, 0, 0, 0, 0, 1]),
                (2, [0, 600, 350, 50, 0, 600, 0, 0, 1]),
                (3, [500, 0, 0, 0, 0, 0, 0, 0, 1]),
                (4, [0, 800, 0, 50, 0, 800, 0, 0, 1]),
                (5, [1_000, 0, 0, 0, 1_000, 0, 0, 0, 1]),
                (6, [0, 0, 990, 10, 0, 0, 0, 0, 1]),
                (7, [0, 0, 985, 5, 0, 0, 0, 0, 1]),
            ],
        );
        world.assert_rows(
            mode,
            "b",
            &[
                (2, [600, 0, 0, 0, 600, 0, 0, 0, 1]),
                (4, [700, 0, 0, 0, 399, 0, 0, 0, 1]),
                (5, [0, 1_300, 0, 0, 0, 649, 0, 0, 1]),
            ],
        );
        world.assert_rows(mode, "c", &[(4, [701, 0, 0, 0, 400, 0, 0, 0, 1]), (5, [0, 701, 0, 0, 0, 350, 0, 0, 1])]);
        world.assert_rows(
            mode,
            "",
            &[
                (1, [1_000, 0, 0, 0, 0, 0, 0, 0, 1]),
                (2, [600, 600, 350, 50, 600, 600, 0, 0, 1]),
                (3, [500, 0, 0, 0, 0, 0, 0, 0, 1]),
                (4, [1_401, 800, 0, 50, 800, 800, 0, 0, 1]),
                (5, [1_000, 2_001, 0, 0, 1_000, 1_000, 0, 0, 1]),
                (6, [0, 0, 990, 10, 0, 0, 0, 0, 1]),
                (7, [0, 0, 985, 5, 0, 0, 0, 0, 1]),
            ],
        );
    }
}

#[test]
fn deposits_count_since_they_are_swept_or_always() {
    let mut chain = TimedChain::new();
    day(&mut chain, &[(1_000, 30), (500, 31)], &[]);
    day(&mut chain, &[], &[(&[30, 31], &[(1_490, 30)])]);
    day(&mut chain, &[(200, 31)], &[]);
    let documents = [from_the_beginning(&[(30, "a")], true)];
    let world = World::of(chain.clone(), &documents);
    let in_all = |paid| [paid, 0, 0, 0, 0, 0, 0, 0, 1];
    for of in ["a", ""] {
        let swept = [0, 0, 1_490, 10, 0, 0, 0, 0, 1];
        world.assert_rows(Latest, of, &[(1, in_all(1_500)), (2, swept), (3, in_all(200))]);
        let tied = [0, 0, 1_490, 10, 0, 0, 500, 0, 1];
        world.assert_rows(PointInTime, of, &[(1, in_all(1_000)), (2, tied), (3, in_all(200))]);
    }
    // The generation of before the sweep did not count the deposit: the row of that block does.
    let mut world = World::up_to(1, chain, &documents);
    world.assert_rows(Latest, "a", &[(1, in_all(1_000))]);
    for (block, expected, held) in
        [(2, [0, 0, 1_490, 10, 0, 0, 500, 0, 1], 1_490), (3, [200, 0, 0, 0, 0, 0, 0, 0, 1], 1_690)]
    {
        world.follow_to(block);
        world.assert_block(block, expected, held);
    }
}

#[test]
fn a_cluster_is_nobodys_once_that_of_another_exchange_joins() {
    let mut chain = TimedChain::new();
    day(&mut chain, &[(100, 40), (110, 41), (200, 50), (220, 51)], &[]);
    let own: [(&[u32], &[(u64, u32)]); 2] = [(&[40, 41], &[(150, 41), (60, 40)]), (&[50, 51], &[(300, 51), (120, 50)])];
    day(&mut chain, &[], &own);
    day(&mut chain, &[], &[(&[41, 51], &[(450, 94)])]);
    let world = World::of(chain, &[from_the_beginning(&[(40, "a"), (50, "b")], true)]);
    world.assert_rows(Latest, "a", &[(1, [100, 0, 0, 0, 0, 0, 0, 0, 1]), (2, [0, 40, 60, 0, 0, 0, 0, 0, 1])]);
    world.assert_rows(Latest, "b", &[(1, [200, 0, 0, 0, 0, 0, 0, 0, 1]), (2, [0, 80, 120, 0, 0, 0, 0, 0, 1])]);
    let then = |paid, tied, stays, left| {
        let mut rows = [(1, [paid, 0, 0, 0, 0, 0, 0, 0, 1]), (2, [0, 0, stays, 0, 0, 0, tied, 0, 1]), (3, [0; 9])];
        rows[2].1[6] = left;
        rows
    };
    world.assert_rows(PointInTime, "a", &then(100, 110, 210, -150));
    world.assert_rows(PointInTime, "b", &then(200, 220, 420, -300));
    let all =
        [(1, [300, 0, 0, 0, 0, 0, 0, 0, 1]), (2, [0, 0, 630, 0, 0, 0, 330, 0, 2]), (3, [0, 0, 0, 0, 0, 0, -450, 0, 0])];
    world.assert_rows(PointInTime, "", &all);
}

#[test]
fn claims_begin_and_end_with_the_first_block_at_their_time() {
    let mut chain = TimedChain::new();
    day(&mut chain, &[(700, 60), (11, 61), (5, 62), (7, 64), (3, 65), (2, 66)], &[]);
    (2..8).for_each(|_| day(&mut chain, &[], &[]));
    let held_for_a_time = Claim { valid_from: Some(time(4)), valid_to: Some(time(6)), ..control(64, "a", Some(BEGIN)) };
    let asserted = vec![control(60, "a", Some(time(3))), control(61, "a", Some(time(3) + 1)), held_for_a_time];
    // Claims asserted after the last block count now.
    let asserted = [asserted, vec![control(65, "a", Some(time(8)))]].concat();
    let documents = [
        (list("asserted", false, time(9), asserted), BEGIN),
        (list("whole", true, time(2), vec![control(62, "a", None), control(66, "a", None)]), BEGIN),
        (list("whole", true, time(5), vec![control(66, "b", None)]), BEGIN),
    ];
    let world = World::of(chain, &documents);
    world.assert_rows(Latest, "a", &[(1, [714, 0, 0, 0, 0, 0, 0, 0, 1])]);
    world.assert_rows(Latest, "b", &[(1, [2, 0, 0, 0, 0, 0, 0, 0, 1])]);
    let reclassified = |days: &[(u32, i128)]| -> Vec<(u32, Nine)> {
        days.iter().map(|(day, sats)| (*day, [0, 0, 0, 0, 0, 0, *sats, 0, 0])).collect()
    };
    world.assert_rows(PointInTime, "a", &reclassified(&[(2, 7), (3, 700), (4, 18), (5, -7), (6, -7)]));
    world.assert_rows(PointInTime, "b", &reclassified(&[(5, 2)]));
    // Moved from one exchange to another: for all together nothing is reclassified.
    world.assert_rows(PointInTime, "", &reclassified(&[(2, 7), (3, 700), (4, 18), (5, -5), (6, -7)]));
}

#[test]
fn what_counts_by_documents_of_later_days_is_backfilled() {
    let mut chain = TimedChain::new();
    day(&mut chain, &[(1_000, 70), (40, 71), (50, 72), (60, 73), (70, 74), (2_000, 75), (900, 96)], &[]);
    day(&mut chain, &[(41, 71), (51, 72)], &[(&[70], &[(300, 70), (650, 95)]), (&[73, 74], &[(130, 73)])]);
    day(&mut chain, &[(61, 73)], &[]);
    day(&mut chain, &[(62, 73)], &[]);
    // Of an inflow, and of an outflow, at most what the script of the late document receives, or sends.
    day(&mut chain, &[], &[(&[75, 96], &[(400, 70), (1_900, 75), (600, 97)])]);
    day(&mut chain, &[], &[(&[70, 75], &[(2_400, 75), (150, 98), (50, 99)])]);
    let of = |tag: u32, name: &str, retrieved_at| {
        let claim = Claim { is_inherited: tag == 74, ..control(tag, "a", Some(BEGIN)) };
        list(name, false, retrieved_at, vec![claim])
    };
    let midnight = |block| (day_of(time(block)) + 1) * DAY as u32;
    let documents = [
        (of(70, "later", time(400)), time(365)),
        // At the last second of the day of the second block, and just after it.
        (of(71, "same-day", BEGIN), midnight(2) - 1),
        (of(72, "next-day", BEGIN), midnight(2)),
        (of(74, "cluster", BEGIN), time(3)),
        // Of two, the first that was received counts.
        (of(75, "once", BEGIN), BEGIN),
        (of(75, "again", time(1)), time(365)),
    ];
    let world = World::of(chain, &documents);
    let rows = world.kept().of_mode(Latest);
    assert!(rows.len() == 12 && rows.values().all(|sums| sums.get(7) == 0), "{rows:?}");
    let all = [
        (1, [3_160, 0, 0, 0, 0, 0, 0, 1_160, 1]),
        (2, [41 + 51, 650, 300 + 130, 50, 0, 0, 60, 51 + 650, 3]),
        (3, [61, 0, 0, 0, 0, 0, 0, 0, 1]),
        (4, [62, 0, 0, 0, 0, 0, 0, 0, 1]),
        (5, [300, 0, 2_000, 0, 0, 0, 0, 300, 1]),
        (6, [0, 200, 2_400, 0, 0, 0, 0, 200, 1]),
    ];
    world.assert_rows(PointInTime, "a", &all);
    world.assert_rows(PointInTime, "", &all);
}

/// Adds a block at the same time as the last one, in which each of `transactions` transactions spends 10 satoshis of
/// each of two scripts.
fn spent_together(chain: &mut TimedChain, tag: u32, transactions: u32) {
    let of = |tag: u32| {
        let coins = chain.coins.iter().filter(|(_, coin)| coin.txout == pay(10, script(tag)));
        coins.map(|(at, _)| *at).take(transactions as usize).collect::<Vec<OutPoint>>()
    };
    let pairs = of(tag).into_iter().zip(of(tag + 1));
    let txs = pairs.map(|(one, other)| spend(&[one, other], vec![pay(20, script(tag))])).collect();
    let height = chain.forge.blocks.len() as u32;
    chain.block(height, vec![pay(1, script(9_000_000 + height))], txs, 0);
}

/// Two large clusters that one transaction merges: nothing is inherited from that block on, by whomever.
#[test]
fn a_merge_of_two_large_clusters_ends_what_is_inherited() {
    let mut chain = TimedChain::new();
    let many = u32::try_from(SUSPECT_TRANSACTIONS).unwrap();
    let coins = |tag: u32| vec![(10, tag); many as usize + 1].into_iter().chain(vec![(10, tag + 1); many as usize + 1]);
    let funded: Vec<(u64, u32)> = coins(10).chain(coins(20)).collect();
    day(&mut chain, &funded, &[]);
    for tag in [10, 20] {
        spent_together(&mut chain, tag, many / 2);
        spent_together(&mut chain, tag, many / 2);
    }
    day(&mut chain, &[], &[(&[11, 21], &[(20, 94)])]);
    day(&mut chain, &[(7, 10), (8, 11), (9, 20)], &[]);
    let received = 10 * i128::from(many) + 10;
    let spent = 10 * i128::from(many);
    let first = 1 + i128::from(many);
    let latest = |paid| [(1, [received + spent, 0, spent, 0, 0, 0, 0, 0, first]), (3, [paid, 0, 0, 0, 0, 0, 0, 0, 1])];
    let then = |paid| {
        let tied = (1, [received, 0, 2 * spent, 0, 0, 0, received, 0, first]);
        [tied, (2, [0, 0, 0, 0, 0, 0, -10, 0, 0]), (3, [paid, 0, 0, 0, 0, 0, 0, 0, 1])]
    };
    for of in [&[(10, "a"), (20, "b")][..], &[(10, "a")], &[(20, "b")]] {
        let world = World::of(chain.clone(), &[from_the_beginning(of, true)]);
        for (tag, of) in of {
            let paid = if *tag == 10 { 7 } else { 9 };
            world.assert_rows(Latest, of, &latest(paid));
            world.assert_rows(PointInTime, of, &then(paid));
        }
    }
}

/// The same coinbase again: the older coin is gone, as if the new one had spent it.
#[test]
fn coins_that_were_overwritten_balance() {
    let mut chain = TimedChain::new();
    for _ in 0..2 {
        chain.block(7, vec![pay(500, script(10))], Vec::new(), DAY);
    }
    let documents = [from_the_beginning(&[(10, "a")], false)];
    let (came, stayed) = ([500, 0, 0, 0, 0, 0, 0, 0, 1], [0, 0, 500, 0, 0, 0, 0, 0, 1]);
    let world = World::of(chain.clone(), &documents);
    for mode in FlowMode::ALL {
        world.assert_rows(mode, "a", &[(1, came), (2, stayed)]);
        world.assert_rows(mode, "", &[(1, came), (2, stayed)]);
    }
    let mut world = World::up_to(1, chain, &documents);
    world.follow_to(2);
    world.assert_block(2, stayed, 500);
}

/// Of the scripts of a cluster with claims for the others the first 16 count. That of two clusters which makes them
/// somebody's is the 16th, and the 17th.
#[test]
fn the_first_claims_of_a_cluster_count() {
    let mut chain = TimedChain::new();
    let (one, other) = (1_000, 2_000);
    let funded = |first: u32, last: u32| {
        let others = (first + 1..=first + last).map(|tag| (10, tag));
        others.chain([(1_000, first), (1, first + 100)]).collect::<Vec<(u64, u32)>>()
    };
    day(&mut chain, &[funded(one, 15), funded(other, 16)].concat(), &[]);
    // Each joins the first one in a block of its own; one without claims joins with the second one, and is paid later.
    for nth in 1..=16 {
        let scripts =
            |first: u32| if nth == 1 { vec![first, first + 1, first + 100] } else { vec![first, first + nth] };
        let paid = |first: u32| [(1_001 + 10 * u64::from(nth), first)];
        let [of_one, of_other] = [one, other].map(|first| (scripts(first), paid(first)));
        let txs: [(&[u32], &[(u64, u32)]); 2] = [(&of_one.0, &of_one.1), (&of_other.0, &of_other.1)];
        let paid: &[(u64, u32)] = if nth == 2 { &[(7, one + 100), (9, other + 100)] } else { &[] };
        day(&mut chain, paid, &txs[usize::from(nth == 16)..]);
    }
    let claims = |first: u32, last: u32, of: &'static str| {
        let claim = move |tag| {
            let level = if tag == first + last { 90 } else { 60 };
            Claim { level, is_inherited: true, ..control(tag, of, Some(BEGIN)) }
        };
        (first..=first + last).map(claim).collect::<Vec<Claim>>()
    };
    let all = [claims(one, 15, "a"), claims(other, 16, "b")].concat();
    let world = World::of(chain, &[(list("many", false, BEGIN, all), BEGIN)]);
    let ties = |last: u32| (2..=last).map(|day| (day, [0, 0, 1_001 + 10 * i128::from(day - 1), 0, 0, 0, 0, 0, 1]));
    let first = |sats| [(1, [sats, 0, 0, 0, 0, 0, 0, 0, 1])].into_iter();
    let mut rows: Vec<(u32, Nine)> = first(1_151).chain(ties(16)).collect();
    rows[2].1 = [7, 0, 1_021, 0, 0, 0, 0, 0, 2];
    world.assert_rows(Latest, "a", &rows);
    let mut rows: Vec<(u32, Nine)> = first(1_150).chain(ties(16)).collect();
    rows[1].1 = [1, 0, 1_010, 0, 0, 0, 0, 0, 1];
    rows[15].1[6] = 7;
    world.assert_rows(PointInTime, "a", &rows);
    let mut rows: Vec<(u32, Nine)> = first(1_160).chain(ties(17)).collect();
    rows[1].1 = [1, 0, 1_010, 0, 0, 0, 0, 0, 1];
    for mode in FlowMode::ALL {
        world.assert_rows(mode, "b", &rows);
    }
}
