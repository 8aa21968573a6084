//! Transactions made from the published descriptions, at each limit of each rule. They are not part of the corpus.

use cairn_domain::coinjoin::{CoinJoin, detect, is_coinjoin};
use cairn_model::{MempoolInput, MempoolOutput, MempoolTx, Sats, Txid};

use super::shapes::{Coin, Tx, coin};

/// Coins of these amounts, each of a script of its own; `from` keeps sides apart.
fn side(from: u32, letter: char, amounts: impl IntoIterator<Item = Sats>) -> Vec<Coin> {
    amounts.into_iter().enumerate().map(|(at, value)| coin(value, letter, from + at as u32)).collect()
}

fn tx(letter: char, inputs: &[Sats], outputs: &[Sats]) -> Tx {
    let side = |from, amounts: &[Sats]| side(from, letter, amounts.iter().copied());
    Tx { inputs: side(1_000, inputs), outputs: side(10_000, outputs) }
}

fn whirlpool(pool: Sats, participants: usize, premix: usize) -> Tx {
    let inputs: Vec<Sats> = (0..participants).map(|n| if n < premix { pool + 9_000 } else { pool }).collect();
    tx('w', &inputs, &vec![pool; participants])
}

#[test]
fn whirlpool_has_pools_and_sizes() {
    for pool in [100_000, 1_000_000, 2_500_000, 5_000_000, 25_000_000, 50_000_000] {
        for participants in 5..=10 {
            for premix in [1, 2, participants] {
                assert_eq!(detect(&whirlpool(pool, participants, premix)), Some(CoinJoin::Whirlpool));
            }
        }
    }
    for (pool, participants) in [(1_000_000, 4), (1_000_000, 11), (1_000_001, 5), (999_999, 5), (10_000_000, 5)] {
        assert_eq!(detect(&whirlpool(pool, participants, 2)), Some(CoinJoin::EqualOutput), "{pool} {participants}");
    }
}

#[test]
fn whirlpool_inputs_bring_the_pool_and_little_more() {
    let with = |first: Sats| {
        let mut tx = whirlpool(5_000_000, 5, 2);
        tx.inputs[0].value = first;
        detect(&tx)
    };
    assert_eq!(with(5_110_000), Some(CoinJoin::Whirlpool));
    assert_ne!(with(5_110_001), Some(CoinJoin::Whirlpool));
    assert_ne!(with(4_999_999), Some(CoinJoin::Whirlpool));
    let mut other_type = whirlpool(5_000_000, 5, 2);
    other_type.inputs[0] = coin(5_000_000, 't', 1);
    assert_ne!(detect(&other_type), Some(CoinJoin::Whirlpool));
    let mut elsewhere = whirlpool(5_000_000, 5, 2);
    elsewhere.outputs[0] = coin(5_000_000, 'v', 1);
    assert_eq!(detect(&elsewhere), Some(CoinJoin::Whirlpool));
    let mut twice = whirlpool(5_000_000, 5, 2);
    twice.outputs[0].script = twice.outputs[1].script.clone();
    assert!(!is_coinjoin(&twice));
}

fn wasabi1(base: Sats, participants: u64, others: u64) -> Tx {
    let inputs: Vec<Sats> = (0..participants).map(|n| base + 1_000_000 + n * 70_001).collect();
    let mut outputs = vec![base; participants as usize];
    outputs.extend((0..others).map(|n| 500_000 + n * 70_001));
    tx('w', &inputs, &outputs)
}

#[test]
fn wasabi_1_has_a_base_amount() {
    for base in [8_000_000, 10_000_000, 12_000_000, 4_900_000, 5_100_000] {
        assert_eq!(detect(&wasabi1(base, 40, 30)), Some(CoinJoin::Wasabi1), "{base}");
    }
    for base in [7_999_999, 12_000_001, 4_899_999, 5_100_001] {
        assert_eq!(detect(&wasabi1(base, 40, 30)), Some(CoinJoin::EqualOutput), "{base}");
    }
    assert_eq!(detect(&wasabi1(10_000_000, 10, 2)), Some(CoinJoin::Wasabi1));
    assert_eq!(detect(&wasabi1(10_000_000, 9, 2)), None);
    assert_eq!(detect(&wasabi1(10_000_000, 10, 1)), None);
    let mut other_type = wasabi1(10_000_000, 40, 30);
    other_type.outputs[69] = coin(700_000, 'p', 1);
    assert_eq!(detect(&other_type), Some(CoinJoin::EqualOutput));
    let mut payer_of_two = wasabi1(10_000_000, 40, 30);
    payer_of_two.inputs[0].script = payer_of_two.inputs[1].script.clone();
    assert_eq!(detect(&payer_of_two), None);
}

fn wasabi2(inputs: usize, standard: &[Sats], others: &[Sats]) -> Tx {
    let inputs = side(1_000, 'w', (0..inputs).map(|n| 3_000_000 + n as u64 * 97_003));
    let outputs = side(10_000, 't', standard.iter().chain(others).copied());
    Tx { inputs, outputs }
}

#[test]
fn wasabi_2_has_standard_amounts() {
    let twos = [1 << 20, 1 << 20, 1 << 19, 1 << 19, 531_441, 531_441, 1_062_882, 1_000_000];
    assert_eq!(detect(&wasabi2(20, &twos, &[700_001])), Some(CoinJoin::Wasabi2));
    assert_eq!(detect(&wasabi2(19, &twos, &[700_001])), None);
    assert_eq!(detect(&wasabi2(20, &twos, &[700_001, 800_001])), None, "four fifths are not enough");
    assert_eq!(detect(&wasabi2(20, &twos[..5], &[])), None, "two amounts that occur twice are not enough");
    // Round amounts, as an exchange pays them.
    let round = [10_000, 10_000, 20_000, 20_000, 50_000, 50_000, 100_000];
    assert_eq!(detect(&wasabi2(20, &round, &[])), None);
    assert_eq!(detect(&wasabi2(20, &round, &[8_192, 8_192])), None, "two of nine");
    assert_eq!(detect(&wasabi2(20, &round, &[8_192, 8_192, 16_384])), Some(CoinJoin::Wasabi2), "three of ten");
    let mut reused = wasabi2(20, &twos, &[]);
    for at in 0..2 {
        reused.inputs[at].script = reused.inputs[19].script.clone();
    }
    assert_eq!(detect(&reused), Some(CoinJoin::Wasabi2), "18 of 20 differ");
    reused.inputs[2].script = reused.inputs[19].script.clone();
    assert_eq!(detect(&reused), None);
    let mut other_type = wasabi2(20, &twos, &[]);
    other_type.inputs[0] = coin(3_000_000, 'p', 1);
    assert_eq!(detect(&other_type), None);
}

fn joinmarket(letter: char, participants: u64, sweep: bool) -> Tx {
    let inputs: Vec<Sats> = (0..participants).map(|n| 30_000_000 + n * 1_300_007).collect();
    let mut outputs = vec![20_000_000; participants as usize];
    outputs.extend((0..participants).map(|n| 10_000_100 + n * 1_300_007));
    let mut tx = tx(letter, &inputs, &outputs);
    // The taker is the first: without change, the input is the amount and the fees.
    tx.inputs[0].value -= if sweep { 9_900_000 } else { 100_000 };
    let taker = tx.outputs.remove(participants as usize);
    if !sweep {
        tx.outputs.push(Coin { value: taker.value - 110_000, ..taker });
    }
    tx
}

#[test]
fn joinmarket_has_any_type_and_at_most_one_change_each() {
    for letter in ['p', 's', 'w', 't'] {
        for participants in [3, 4, 9, 30] {
            for sweep in [false, true] {
                let made = joinmarket(letter, participants, sweep);
                assert_eq!(detect(&made), Some(CoinJoin::JoinMarket), "{letter} {participants} {sweep}");
            }
        }
    }
    assert_eq!(detect(&joinmarket('w', 31, false)), Some(CoinJoin::EqualOutput));
    assert_eq!(detect(&joinmarket('w', 2, false)), Some(CoinJoin::EqualOutput));
    assert_eq!(detect(&joinmarket('w', 2, true)), None);
}

#[test]
fn joinmarket_pays_elsewhere_once_and_changes_elsewhere_once() {
    let foreign = |amounts: usize, changes: usize| {
        let mut tx = joinmarket('w', 5, false);
        for at in (0..amounts).chain(5..5 + changes) {
            tx.outputs[at] = coin(tx.outputs[at].value, 'p', at as u32);
        }
        detect(&tx)
    };
    assert_eq!(foreign(1, 1), Some(CoinJoin::JoinMarket));
    assert_eq!(foreign(2, 0), Some(CoinJoin::EqualOutput));
    assert_eq!(foreign(0, 2), Some(CoinJoin::EqualOutput));
    let mut mixed = joinmarket('w', 5, false);
    mixed.inputs[2] = coin(mixed.inputs[2].value, 'p', 1);
    assert_eq!(detect(&mixed), Some(CoinJoin::EqualOutput));
}

#[test]
fn equal_outputs_need_as_many_payers() {
    let mut made = joinmarket('w', 5, false);
    made.inputs[0].script = made.inputs[1].script.clone();
    assert_eq!(detect(&made), None, "four payers, five equal outputs");
    let mut made = joinmarket('w', 5, false);
    made.outputs[0].script = made.outputs[7].script.clone();
    assert_eq!(detect(&made), None, "an output script occurs twice");
    let mut made = joinmarket('w', 5, false);
    made.outputs.push(coin(0, 'd', 1));
    assert_eq!(detect(&made), None, "an OP_RETURN output");
}

#[test]
fn equal_outputs_need_a_division_of_the_inputs() {
    // One payer has nearly everything: the others cannot have brought their shares.
    assert_eq!(
        detect(&tx('w', &[100_000_000, 50_000, 50_000], &[20_000_000, 20_000_000, 20_000_000, 30_000_000, 9_000_000])),
        None
    );
    // The largest input is more than any share.
    assert_eq!(
        detect(&tx(
            'w',
            &[90_000_000, 21_000_000, 22_000_000],
            &[20_000_000, 20_000_000, 20_000_000, 41_000_000, 31_000_000]
        )),
        None
    );
    // The largest share is more than any payer can have brought.
    assert_eq!(
        detect(&tx(
            'w',
            &[45_000_000, 44_000_000, 46_000_000],
            &[20_000_000, 20_000_000, 20_000_000, 70_000_000, 4_900_000]
        )),
        None
    );
    // Divisible: each paid for an output and its change.
    assert_eq!(
        detect(&tx(
            'w',
            &[45_000_000, 44_000_000, 46_000_000],
            &[20_000_000, 20_000_000, 20_000_000, 25_000_000, 23_900_000]
        )),
        Some(CoinJoin::JoinMarket)
    );
    // Several small inputs make one share.
    assert_eq!(
        detect(&tx(
            'w',
            &[30_000_000, 33_000_000, 11_000_000, 12_000_000],
            &[20_000_000, 20_000_000, 20_000_000, 10_000_000, 12_900_000]
        )),
        Some(CoinJoin::JoinMarket)
    );
}

/// Small inputs that together reach the amount less what a maker may be paid.
#[test]
fn small_inputs_are_shares_together() {
    let with = |small: Sats| {
        let outputs = [20_000_000, 20_000_000, 20_000_000, 10_000_000, 2_500_000];
        detect(&tx('w', &[30_000_000, 23_000_000, small, 9_900_000], &outputs))
    };
    assert_eq!(with(9_900_000), Some(CoinJoin::JoinMarket), "19.8 million, and 1 % of 20");
    assert_eq!(with(9_899_999), None);
}

#[test]
fn equal_outputs_have_bounds() {
    let inputs = [45_000_000, 44_000_000, 46_000_000];
    // Change divided into four by its owner leaves a remainder.
    assert_eq!(detect(&tx('w', &inputs, &[20_000_000, 20_000_000, 20_000_000, 19_999_958, 25_000_000])), None);
    assert_eq!(
        detect(&tx('w', &inputs, &[20_000_000, 20_000_000, 20_000_000, 19_970_000, 25_000_000])),
        Some(CoinJoin::JoinMarket)
    );
    // Dust.
    let dust = |amount: Sats| detect(&tx('w', &[5_000, 5_001, 5_002], &[amount, amount, amount, 2_100, 2_000]));
    assert_eq!(dust(2_730), None);
    assert_eq!(dust(2_731), Some(CoinJoin::JoinMarket));
    // A payment of the same amount to two has one change.
    assert_eq!(detect(&tx('w', &inputs[..2], &[20_000_000, 20_000_000, 48_900_000])), None);
    // Too few others for the equal outputs, and too many.
    let inputs: Vec<Sats> = (0..8).map(|n| 25_000_000 + n * 1_001_000).collect();
    let others = |count: usize| {
        let outputs: Vec<Sats> =
            [20_000_000; 8].into_iter().chain((0..count as u64).map(|n| 3_000_000 + n * 500_500)).collect();
        detect(&tx('w', &inputs, &outputs))
    };
    assert_eq!(others(3), None);
    assert_eq!(others(4), Some(CoinJoin::EqualOutput));
    assert_eq!(others(9), Some(CoinJoin::EqualOutput));
    assert_eq!(others(10), None);
    // Small rounds have few inputs.
    let small = |more: usize| {
        let inputs: Vec<Sats> =
            (0..27 + more as u64).map(|n| 2_000_000 + n).chain([25_000_000, 26_000_000, 24_000_000]).collect();
        detect(&tx('w', &inputs, &[20_000_000, 20_000_000, 20_000_000, 30_000_000, 38_000_000]))
    };
    assert_eq!(small(0), Some(CoinJoin::JoinMarket));
    assert_eq!(small(1), None);
}

#[test]
fn unconfirmed_transactions_are_read_in_place() {
    let made = joinmarket('w', 6, false);
    let input = |coin: &Coin| MempoolInput {
        prev_txid: Txid([1; 32]),
        prev_vout: 0,
        sequence: 0,
        value: coin.value,
        script: coin.script.clone().into(),
        birth: None,
    };
    let output = |coin: &Coin| MempoolOutput { value: coin.value, script: coin.script.clone().into() };
    let unconfirmed = MempoolTx {
        txid: Txid([2; 32]),
        wtxid: Txid([3; 32]),
        size: 1,
        base_size: 1,
        sigop_cost: 0,
        fee_sats: 0,
        version: 2,
        lock_time: 0,
        first_seen_ms: 0,
        inputs: made.inputs.iter().map(input).collect(),
        outputs: made.outputs.iter().map(output).collect(),
        raw: None,
    };
    assert_eq!(detect(&unconfirmed), Some(CoinJoin::JoinMarket));
}
