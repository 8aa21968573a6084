//! The oracle's ages, daily metrics and cohorts against chains that were reckoned by hand.

mod common;

use std::collections::BTreeMap;

use bitcoin::{Amount, Block, ScriptBuf, TxOut};
use cairn_model::{Network, TxNum};
use cairn_testkit::{AGE_BANDS, BalanceBand, BlockAges, CoinSum, DayMetrics, LONG_TERM_DAYS, Oracle, TxSums};
use common::{DAY, GENESIS_DAY, block_after, chain_at, coinbase, genesis, spend, to};

const G: u32 = GENESIS_DAY;

fn sum(sats: u64, coins: u64) -> CoinSum {
    CoinSum { sats, coins }
}

/// Header times in seconds since the start of the day after genesis (day G + 1 begins at 0):
/// block 1 at 100, block 2 at 86 400 + 50, block 3 says 500 and counts as 86 450 too, block 4 at 3 × 86 400.
fn moves() -> Vec<Block> {
    let start = (G + 1) * DAY;
    let burnt = TxOut { value: Amount::from_sat(9), script_pubkey: ScriptBuf::from_bytes(vec![0x6a]) };
    let c1 = coinbase(1, vec![to(b'a', 1_000), to(b'b', 0), burnt]);
    let c2 = coinbase(2, vec![to(b'b', 500)]);
    // Block 2: a pays b 600 and itself 300; the fee is 100.
    let pay = spend(&[(&c1, 0)], vec![to(b'b', 600), to(b'a', 300)]);
    // Block 3: b spends the 600, and in the same block the 550 that it makes of them.
    let c3 = coinbase(3, vec![to(b'c', 700)]);
    let on = spend(&[(&pay, 0)], vec![to(b'b', 550)]);
    let over = spend(&[(&on, 0)], vec![to(b'd', 540)]);
    // Block 4: the 0 of block 1, the 500 of block 2 and the 300 of its second transaction.
    let c4 = coinbase(4, vec![to(b'c', 5)]);
    let all = spend(&[(&c1, 1), (&c2, 0), (&pay, 1)], vec![to(b'e', 800)]);
    chain_at(vec![
        (start + 100, vec![c1]),
        (start + DAY + 50, vec![c2, pay]),
        (start + 500, vec![c3, on, over]),
        (start + 3 * DAY, vec![c4, all]),
    ])
}

#[test]
fn ages_by_hand() {
    let oracle = Oracle::of(Network::Regtest, &moves());
    let ages = oracle.all_block_ages();
    assert_eq!(ages[0], BlockAges::default());
    // Before block 1 there was no coin.
    assert_eq!(ages[1], BlockAges::default());
    assert_eq!(
        ages[2],
        BlockAges {
            spent: BTreeMap::from([(G + 1, sum(1_000, 1))]),
            destroyed_sat_seconds: 1_000 * 86_350,
            created_sat_seconds: 1_000 * 86_350,
        }
    );
    // No time passed by the rule of the running maximum.
    assert_eq!(
        ages[3],
        BlockAges {
            spent: BTreeMap::from([(G + 2, sum(600 + 550, 2))]),
            destroyed_sat_seconds: 0,
            created_sat_seconds: 0,
        }
    );
    // 3 × 86 400 − 86 450 = 172 750 seconds; before the block there were 500 + 300 + 700 + 540 (and the 0).
    assert_eq!(
        ages[4],
        BlockAges {
            spent: BTreeMap::from([(G + 1, sum(0, 1)), (G + 2, sum(800, 2))]),
            destroyed_sat_seconds: 800 * 172_750,
            created_sat_seconds: 2_040 * 172_750,
        }
    );
    assert_eq!(oracle.block_ages(4), ages[4]);

    let sums = |number| oracle.tx_sums(TxNum(number));
    // Genesis 0, c1 1, c2 2, pay 3, c3 4, on 5, over 6, c4 7, all 8.
    assert_eq!(sums(2), TxSums { fee_sats: 0, input_sats: 0 });
    assert_eq!(sums(3), TxSums { fee_sats: 100, input_sats: 1_000 });
    assert_eq!(sums(6), TxSums { fee_sats: 10, input_sats: 550 });
    assert_eq!(sums(8), TxSums { fee_sats: 0, input_sats: 800 });
}

#[test]
fn days_by_hand() {
    let oracle = Oracle::of(Network::Regtest, &moves());
    let days = oracle.daily_metrics(4);
    // Day G + 3 has no block.
    assert_eq!(days.keys().copied().collect::<Vec<_>>(), [G, G + 1, G + 2, G + 4]);
    // The coinbase of genesis makes no coin.
    assert_eq!(days[&G], DayMetrics::default());
    // The burnt 9 do not make a coin; the 0 does.
    assert_eq!(days[&(G + 1)], DayMetrics { created: sum(1_000, 2), receivers: 2, active: 2, ..DayMetrics::default() });
    // Blocks 2 and 3. Received: b, a, c, d; spent: a and b.
    assert_eq!(
        days[&(G + 2)],
        DayMetrics {
            created: sum(500 + 900 + 700 + 550 + 540, 6),
            spent: sum(1_000 + 600 + 550, 3),
            senders: 2,
            receivers: 4,
            active: 4,
            destroyed_sat_seconds: 1_000 * 86_350,
            created_sat_seconds: 1_000 * 86_350,
        }
    );
    // Received: c, e; spent: a and b.
    assert_eq!(
        days[&(G + 4)],
        DayMetrics {
            created: sum(805, 2),
            spent: sum(800, 3),
            senders: 2,
            receivers: 2,
            active: 4,
            destroyed_sat_seconds: 800 * 172_750,
            created_sat_seconds: 2_040 * 172_750,
        }
    );
    // As of block 2 its day is half as full.
    let before = oracle.daily_metrics(2);
    assert_eq!(before[&(G + 2)].created, sum(500 + 900, 3));
    assert_eq!((before[&(G + 2)].senders, before[&(G + 2)].receivers, before[&(G + 2)].active), (1, 2, 2));
    assert!(!before.contains_key(&(G + 4)));
}

#[test]
fn holders_by_hand() {
    let oracle = Oracle::of(Network::Regtest, &moves());
    let bands = |height| oracle.balance_bands(height).into_iter().collect::<Vec<_>>();
    let band = |holders, sats| BalanceBand { holders, sats };
    assert!(bands(0).is_empty());
    // b has a coin of nothing: no balance.
    assert_eq!(bands(1), [(3, band(1, 1_000))]);
    // a 300, b 500 + 600.
    assert_eq!(bands(2), [(2, band(1, 300)), (3, band(1, 1_100))]);
    // c 705, d 540, e 800.
    assert_eq!(bands(4), [(2, band(3, 2_045))]);
    // The bounds: 9, 10, 99 and 100.
    let edges = coinbase(1, vec![to(b'a', 9), to(b'b', 10), to(b'c', 99), to(b'd', 100), to(b'd', 1)]);
    let oracle = Oracle::of(Network::Regtest, &[genesis(), block_after(genesis().block_hash(), 0, vec![edges])]);
    let bands: Vec<_> = oracle.balance_bands(1).into_iter().collect();
    assert_eq!(bands, [(0, band(1, 9)), (1, band(2, 109)), (2, band(1, 101))]);
}

#[test]
fn supply_by_age_counts_days() {
    // A coin at each bound and one a day younger, oldest first, as of the first second of a day eleven years later;
    // each is born in the last second of its day.
    let end = (G + 4_016) * DAY;
    let ages: Vec<u32> = AGE_BANDS.iter().rev().flat_map(|&age| [Some(age), age.checked_sub(1)]).flatten().collect();
    assert_eq!(ages[..4], [3_650, 3_649, 2_555, 2_554]);
    assert_eq!(ages[16..], [30, 29, 7, 6, 1, 0, 0]);
    let mut blocks: Vec<_> = ages
        .iter()
        .zip(1u8..)
        .map(|(&age, tag)| {
            let last_second = end - age * DAY + DAY - 1;
            (if age == 0 { end } else { last_second }, vec![coinbase(tag, vec![to(tag, 1 << tag)])])
        })
        .collect();
    // The day's first second again, not later than the last coin's.
    blocks.push((end, vec![coinbase(200, vec![])]));
    let oracle = Oracle::of(Network::Regtest, &chain_at(blocks));
    let height = oracle.tip().map_or(0, |(height, _)| height);
    let found = oracle.supply_by_age(height);
    assert!(found.iter().map(|band| band.from_days).eq(AGE_BANDS));
    // Coin 1 is 10 years old: alone in the last band. In each other band are the coin a day younger than the next bound
    // and the coin at its own.
    assert_eq!(found[11].sum, sum(1 << 1, 1));
    for (band, found) in found.iter().enumerate().skip(1).take(10) {
        let coin = 2 * (11 - band);
        assert_eq!(found.sum, sum(1 << coin | 1 << (coin + 1), 2), "band {band}");
    }
    assert_eq!(found[0].sum, sum(1 << 22 | 1 << 23, 2));
    let total: u64 = found.iter().map(|band| band.sum.sats).sum();
    assert_eq!(total, oracle.supply_sats());
    // As of the first of them it is the only coin, and new.
    let first: Vec<u64> = oracle.supply_by_age(1).iter().map(|band| band.sum.coins).collect();
    assert_eq!(first, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

/// A second can make a day, and a whole day less a second can make none.
#[test]
fn ages_in_days_go_by_the_calendar() {
    let start = (G + 1) * DAY;
    let blocks = chain_at(vec![
        (start, vec![coinbase(1, vec![to(b'a', 1)])]),
        (start + DAY - 1, vec![coinbase(2, vec![to(b'b', 2)])]),
        (start + DAY, vec![coinbase(3, vec![to(b'c', 4)])]),
        (start + 154 * DAY, vec![coinbase(4, vec![])]),
        (start + 155 * DAY, vec![coinbase(5, vec![])]),
        (start + 156 * DAY, vec![coinbase(6, vec![])]),
    ]);
    let oracle = Oracle::of(Network::Regtest, &blocks);
    let bands = |height| oracle.supply_by_age(height).iter().map(|band| band.sum.sats).collect::<Vec<_>>();
    assert_eq!(bands(2), [3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(bands(3), [4, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // 153 and 154 days; 154 and 155; 155 and 156.
    assert_eq!(LONG_TERM_DAYS, 155);
    assert_eq!([4, 5, 6].map(|height| oracle.long_term_supply(height)), [sum(0, 0), sum(3, 2), sum(7, 3)]);
}

#[test]
fn holders_without_an_address_are_told_apart() {
    let witness = ScriptBuf::from_bytes([&[0, 20][..], &[7; 20]].concat());
    let key = ScriptBuf::from_bytes([&[33, 2][..], &[7; 32], &[0xac]].concat());
    let pay = |script: &ScriptBuf, sats| TxOut { value: Amount::from_sat(sats), script_pubkey: script.clone() };
    let funds = coinbase(1, vec![pay(&witness, 50), pay(&key, 60), pay(&key, 50), to(b'a', 70)]);
    let oracle = Oracle::of(Network::Regtest, &chain_at(vec![((G + 1) * DAY, vec![funds])]));
    let band = |holders, sats| BalanceBand { holders, sats };
    assert_eq!(oracle.balance_bands(1).into_iter().collect::<Vec<_>>(), [(1, band(2, 120)), (2, band(1, 110))]);
    let without: Vec<_> = oracle.balance_bands_without_address(1).into_iter().collect();
    assert_eq!(without, [(1, band(1, 70)), (2, band(1, 110))]);
}

/// Overwritten coins (BIP 30) leave balances and supply, but that is not a spend.
#[test]
fn overwritten_coins_are_no_spend() {
    let start = (G + 1) * DAY;
    let twin = coinbase(1, vec![to(b'a', 30), to(b'b', 4)]);
    let blocks = chain_at(vec![
        (start, vec![twin.clone()]),
        (start + 10, vec![coinbase(2, vec![to(b'c', 100)])]),
        (start + 30, vec![twin.clone()]),
        (start + 60, vec![coinbase(3, vec![])]),
    ]);
    let oracle = Oracle::of(Network::Regtest, &blocks);
    assert_eq!(
        oracle.overwritten().iter().map(|(at, coin)| (*at, coin.value_sats)).collect::<Vec<_>>(),
        [(3, 30), (3, 4)]
    );
    let ages = oracle.all_block_ages();
    assert!(ages.iter().all(|ages| ages.spent.is_empty() && ages.destroyed_sat_seconds == 0));
    // 34 before block 2, 134 before block 3, 134 before block 4: the second twin took the place of the first.
    let created: Vec<u128> = ages.iter().map(|ages| ages.created_sat_seconds).collect();
    assert_eq!(created, [0, 0, 340, 2_680, 4_020]);
    let day = &oracle.daily_metrics(4)[&(G + 1)];
    assert_eq!((day.created, day.spent), (sum(34 + 100 + 34, 5), sum(0, 0)));
    assert_eq!((day.senders, day.receivers, day.active), (0, 3, 3));
    let bands: Vec<_> = oracle.balance_bands(4).into_iter().map(|(k, band)| (k, band.holders, band.sats)).collect();
    assert_eq!(bands, [(0, 1, 4), (1, 1, 30), (2, 1, 100)]);
    // The new twins are of the day.
    assert_eq!(oracle.supply_by_age(4)[0].sum, sum(134, 3));

    // Created satoshi-seconds are destroyed, lost with the overwritten coins, or still there: 34 × 30 lost, 34 × 30 +
    // 100 × 50 still there.
    let total: u128 = created.iter().sum();
    assert_eq!(total, 34 * 30 + 34 * 30 + 100 * 50);
}

/// Coin-seconds are destroyed or still there, at every height.
#[test]
fn nothing_is_lost() {
    let oracle = Oracle::of(Network::Regtest, &moves());
    let ages = oracle.all_block_ages();
    for height in 0..=4 {
        let until = &ages[..=height as usize];
        let created: u128 = until.iter().map(|ages| ages.created_sat_seconds).sum();
        let destroyed: u128 = until.iter().map(|ages| ages.destroyed_sat_seconds).sum();
        let coins = oracle.coins_at(height);
        let left =
            coins.values().map(|coin| u128::from(coin.value_sats) * u128::from(oracle.age_seconds(coin, height)));
        assert_eq!(created, destroyed + left.sum::<u128>(), "height {height}");
        // Every coin is in one band, and every satoshi.
        let bands = oracle.supply_by_age(height);
        assert_eq!(bands.iter().map(|band| band.sum.coins).sum::<u64>(), coins.len() as u64);
        let supply: u64 = coins.values().map(|coin| coin.value_sats).sum();
        assert_eq!(bands.iter().map(|band| band.sum.sats).sum::<u64>(), supply);
        assert_eq!(oracle.balance_bands(height).values().map(|band| band.sats).sum::<u64>(), supply);
        assert_eq!(Oracle::of(Network::Regtest, &moves()[..=height as usize]).supply_sats(), supply);
    }
}
