//! Properties of the detectors: order is without meaning, nothing panics, and the work is bounded.

use std::{cell::Cell, cmp::Ordering};

use cairn_domain::coinjoin::{CoinJoin, Resolved, Shape, detect, is_coinjoin};
use cairn_model::{InputFlags, OutputMeta, Sats, ScriptId, ScriptPrefix, ScriptTemplate, SpentCoin};
use proptest::prelude::*;
use rand::{SeedableRng, seq::SliceRandom};
use rand_chacha::ChaCha8Rng;

use super::{
    corpus,
    shapes::{Coin, Tx, coin},
};

const MAX_SATS: Sats = 2_100_000_000_000_000;

fn shuffled(tx: &Tx, seed: u64) -> Tx {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut tx = tx.clone();
    tx.inputs.shuffle(&mut rng);
    tx.outputs.shuffle(&mut rng);
    tx
}

#[test]
fn order_of_real_transactions_is_without_meaning() {
    for (seed, entry) in corpus::entries().into_iter().enumerate() {
        assert_eq!(detect(&shuffled(&entry.tx, seed as u64)), detect(&entry.tx), "{}", entry.txid);
    }
}

/// Amounts that meet the detectors' limits often.
fn amount() -> impl Strategy<Value = Sats> {
    let near = [0, 1, 546, 5_000, 8_192, 100_000, 2_500_000, 5_000_000, 8_000_000, 10_000_000, 12_000_000, 50_000_000];
    prop_oneof![
        6 => (prop::sample::select(near.to_vec()), 0..3u64).prop_map(|(amount, more)| amount + more),
        2 => (0..50u32).prop_map(|power| 1 << power),
        1 => 0..=MAX_SATS,
        1 => Just(MAX_SATS),
    ]
}

fn coins(most: usize) -> impl Strategy<Value = Vec<Coin>> {
    let letter =
        prop_oneof![8 => Just('w'), 2 => Just('t'), 1 => prop::sample::select(vec!['p', 's', 'v', 'm', 'a', 'n', 'd'])];
    let one = (amount(), letter, 0..20_000u32).prop_map(|(value, letter, number)| coin(value, letter, number));
    // Runs of equal amounts, since random ones are never equal.
    prop::collection::vec((one, 1..24usize), 0..=most / 24 + 1).prop_map(move |runs| {
        let run = |(first, times): (Coin, usize)| {
            (0..times).map(move |n| {
                let mut next = first.clone();
                if let Some(last) = next.script.iter_mut().nth_back(3) {
                    *last = last.wrapping_add(n as u8);
                }
                next.template = ScriptTemplate::of(&next.script);
                next
            })
        };
        let mut coins: Vec<Coin> = runs.into_iter().flat_map(run).collect();
        coins.truncate(most);
        coins
    })
}

proptest! {
    #[test]
    fn order_is_without_meaning(inputs in coins(60), outputs in coins(60), seed: u64) {
        let tx = Tx { inputs, outputs };
        prop_assert_eq!(detect(&shuffled(&tx, seed)), detect(&tx));
    }

    #[test]
    fn any_amounts_have_an_answer(inputs in coins(3_000), outputs in coins(3_000)) {
        let tx = Tx { inputs, outputs };
        prop_assert_eq!(is_coinjoin(&tx), detect(&tx).is_some());
    }
}

#[test]
fn amounts_at_the_limit_do_not_overflow() {
    let side = |count: u32, value| (0..count).map(|number| coin(value, 'w', number)).collect::<Vec<_>>();
    for value in [MAX_SATS, u64::MAX] {
        for count in [3, 10, 3_000] {
            let tx = Tx { inputs: side(count, value), outputs: side(count, value) };
            assert_eq!(detect(&tx), Some(CoinJoin::EqualOutput), "{count} of {value}");
        }
        let mut tx = Tx { inputs: side(3_000, value), outputs: side(3_000, value) };
        for (at, output) in tx.outputs.iter_mut().enumerate().skip(1_500) {
            output.value -= value / 4_500 * at as u64;
        }
        assert_eq!(detect(&tx), Some(CoinJoin::EqualOutput), "with others, of {value}");
    }
}

/// Counts values that detectors read and compare.
struct Counted<'a> {
    tx: &'a Tx,
    read: Cell<usize>,
    compared: Cell<usize>,
}

struct Script<'a>(&'a [u8], &'a Cell<usize>);

impl PartialEq for Script<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Script<'_> {}

impl PartialOrd for Script<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Script<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.1.set(self.1.get() + 1);
        self.0.cmp(other.0)
    }
}

impl Counted<'_> {
    fn count(&self) {
        self.read.set(self.read.get() + 1);
    }
}

impl Shape for Counted<'_> {
    type Spent<'a>
        = Script<'a>
    where
        Self: 'a;

    fn inputs(&self) -> usize {
        self.tx.inputs.len()
    }
    fn outputs(&self) -> usize {
        self.tx.outputs.len()
    }
    fn input_value(&self, at: usize) -> Sats {
        self.count();
        self.tx.inputs[at].value
    }
    fn input_template(&self, at: usize) -> ScriptTemplate {
        self.count();
        self.tx.inputs[at].template
    }
    fn input_script(&self, at: usize) -> Script<'_> {
        self.count();
        Script(&self.tx.inputs[at].script, &self.compared)
    }
    fn output_value(&self, at: usize) -> Sats {
        self.count();
        self.tx.outputs[at].value
    }
    fn output_script(&self, at: usize) -> &[u8] {
        self.count();
        &self.tx.outputs[at].script
    }
}

fn cost(tx: &Tx) -> (usize, usize) {
    let counted = Counted { tx, read: Cell::default(), compared: Cell::default() };
    assert_eq!(detect(&counted), detect(tx));
    (counted.read.get(), counted.compared.get())
}

#[test]
fn work_grows_as_sorting_does() {
    // Accepted by the general rule, so that every detector is asked.
    let of = |participants: u32| {
        let inputs = (0..participants).map(|n| coin(30_000_000 + u64::from(n) * 20_011, 'w', n)).collect();
        let equal = (0..participants).map(|n| coin(10_000_000, 'w', 100_000 + n));
        let change = (0..participants).map(|n| coin(19_900_000 + u64::from(n) * 20_011, 'w', 200_000 + n));
        shuffled(&Tx { inputs, outputs: equal.chain(change).collect() }, 1)
    };
    for participants in [3u32, 30, 300, 1_500] {
        let tx = of(participants);
        assert!(detect(&tx).is_some());
        let coins = tx.inputs.len() + tx.outputs.len();
        let (read, compared) = cost(&tx);
        assert!(read <= 8 * coins, "{read} reads of {coins} coins");
        let sorting = coins * (coins.ilog2() as usize + 1);
        assert!(compared <= 2 * sorting, "{compared} comparisons of {coins} coins");
    }
}

#[test]
fn most_transactions_cost_next_to_nothing() {
    let many = |count: u32| (0..count).map(|n| coin(u64::from(n) + 10_000, 'w', n)).collect::<Vec<_>>();
    let no_input = Tx { inputs: Vec::new(), outputs: many(3_000) };
    let one_input = Tx { inputs: many(1), outputs: many(3_000) };
    let two_outputs = Tx { inputs: many(3_000), outputs: many(2) };
    for tx in [&no_input, &one_input, &two_outputs] {
        assert_eq!(detect(tx), None);
        assert_eq!(cost(tx), (0, 0));
        assert_eq!(allocation_counter::measure(|| assert_eq!(detect(tx), None)).count_total, 0);
    }
    // No equal amounts: one look at each output.
    let different = Tx { inputs: many(100), outputs: many(3_000) };
    assert_eq!(cost(&different), (3_000, 0));
}

#[test]
fn a_block_is_read_in_place() {
    let entry = corpus::entries().into_iter().find(|entry| entry.label == "whirlpool").unwrap();
    let inputs: Vec<SpentCoin> = entry
        .tx
        .inputs
        .iter()
        .enumerate()
        .map(|(at, coin)| SpentCoin {
            outpoint: Default::default(),
            value: coin.value,
            script: ScriptId { prefix: ScriptPrefix([at as u8; 8]), ordinal: 0 },
            birth: 1,
            flags: InputFlags { template: coin.template, ..InputFlags::default() },
        })
        .collect();
    let mut scripts = vec![0x6a; 7];
    let outputs: Vec<OutputMeta> = entry
        .tx
        .outputs
        .iter()
        .map(|coin| {
            let start = scripts.len() as u32;
            scripts.extend(&coin.script);
            OutputMeta {
                value: coin.value,
                script: start..scripts.len() as u32,
                id: ScriptId::default(),
                spendable: true,
            }
        })
        .collect();
    let tx = Resolved { inputs: &inputs, outputs: &outputs, scripts: &scripts };
    assert_eq!(detect(&tx), Some(CoinJoin::Whirlpool));
    let mut same = inputs.clone();
    same[1].script = same[0].script;
    assert_eq!(detect(&Resolved { inputs: &same, ..tx }), None);
}
