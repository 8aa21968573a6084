//! Over random histories the ledger agrees with the oracle, and the invariants of both methods hold.

use std::{collections::BTreeMap, fmt::Debug};

use cairn_domain::pnl::{
    Book, BookError, Kind, Ledger, Lot, Method, Net, Report, Row, Sums, mul_div, part_of, value_of,
};
use cairn_model::{Outpoint, Sats, TxNum};
use num_bigint::BigInt;
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use rust_decimal::Decimal;

use super::{
    histories::{History, MAX_SATS, Tx, history, start_of_year},
    oracle::{self, Fraction},
};

const HISTORIES: u64 = 10_000;
const METHODS: [Method; 2] = [Method::Average, Method::Fifo];

fn histories() -> impl Iterator<Item = History> {
    (0..HISTORIES).map(history)
}

/// Compares the results for a transaction, and shows the history up to it if they differ.
#[track_caller]
fn same<T: PartialEq + Debug>(history: &History, method: Method, tx: &Tx, ours: &T, theirs: &T) {
    if ours != theirs {
        let until = history.txs.iter().take_while(|other| other.tx_num <= tx.tx_num);
        let until: Vec<String> = until.map(|tx| format!("{tx:?}")).collect();
        panic!(
            "seed {}, {method:?}\nproduct: {ours:?}\noracle:  {theirs:?}\nafter:\n{}",
            history.seed,
            until.join("\n")
        );
    }
}

/// Finds the year that the ledger takes, in another way than the oracle does.
fn year(time: u32) -> u32 {
    (1971..).find(|year| start_of_year(*year) > time).unwrap() - 1
}

/// The rows of each transaction of the wallet, and the report.
fn run(history: &History, method: Method) -> Result<(Vec<Vec<Row>>, Report), (usize, BookError)> {
    let mut ledger = Ledger::new(method);
    let mut rows: Vec<Vec<Row>> = Vec::new();
    for tx in history.txs_of_wallet() {
        let movement = tx.movement(&history.wallet).unwrap();
        let of_tx = ledger.take(&movement, tx.price, year(tx.time)).map_err(|error| (rows.len(), error))?;
        rows.push(of_tx);
    }
    let report = ledger.finish(history.price_now).map_err(|error| (rows.len(), error))?;
    Ok((rows, report))
}

#[test]
fn effects_are_those_of_the_oracle() {
    for history in histories() {
        for tx in history.txs_of_wallet() {
            let mut effect = tx.movement(&history.wallet).unwrap().effect();
            // Outputs without value may be among the coins; no lot is made of them.
            if let Net::In(_, coins) = &mut effect.net {
                coins.retain(|(_, sats)| *sats > 0);
                if coins.is_empty() {
                    effect.net = Net::Nothing;
                }
            }
            same(&history, Method::Average, tx, &effect, &oracle::effect(tx, &history.wallet));
        }
    }
}

#[test]
fn rows_and_reports_are_those_of_the_oracle() {
    for history in histories() {
        for method in METHODS {
            let (rows, report) = run(&history, method).unwrap();
            let expected = oracle::run(&history, method).unwrap();
            for ((tx, ours), theirs) in history.txs_of_wallet().zip(&rows).zip(&expected.rows) {
                same(&history, method, tx, ours, theirs);
            }
            assert_eq!(rows.len(), expected.rows.len());
            assert_eq!(report, expected.report, "seed {}, {method:?}", history.seed);
        }
    }
}

#[test]
fn both_sides_of_the_invariant_are_equal_and_those_of_the_oracle() {
    for history in histories() {
        for method in METHODS {
            let (_, report) = run(&history, method).unwrap();
            let ours = report.invariant().map(|(a, b)| (BigInt::from(a), BigInt::from(b)));
            let theirs = oracle::run(&history, method).unwrap().invariant;
            assert_eq!(ours, theirs, "seed {}, {method:?}", history.seed);
            assert!(ours.as_ref().is_none_or(|(a, b)| a == b), "seed {}, {method:?}: {ours:?}", history.seed);
            assert!(ours.is_some() || !history.has_all_prices(), "seed {}, {method:?}", history.seed);
        }
    }
}

#[test]
fn the_quantity_is_that_of_the_unspent_outputs_after_every_transaction() {
    for history in histories() {
        for method in METHODS {
            let mut ledger = Ledger::new(method);
            for (tx, unspent) in history.txs_of_wallet().zip(history.unspent()) {
                let movement = tx.movement(&history.wallet).unwrap();
                let rows = ledger.take(&movement, tx.price, year(tx.time)).unwrap();
                same(&history, method, tx, &ledger.holds().0, &unspent);
                if let Some(last) = rows.last() {
                    same(&history, method, tx, &last.after, &ledger.holds());
                }
            }
        }
    }
}

#[test]
fn sums_so_far_are_those_of_the_history_so_far() {
    for history in histories().take(300) {
        for method in METHODS {
            let mut ledger = Ledger::new(method);
            let mut so_far = History { txs: Vec::new(), ..history.clone() };
            for tx in history.txs_of_wallet() {
                ledger.take(&tx.movement(&history.wallet).unwrap(), tx.price, year(tx.time)).unwrap();
                so_far.txs.push(tx.clone());
                let expected = oracle::run(&so_far, method).unwrap();
                same(&history, method, tx, ledger.sums(), &expected.report.all);
            }
        }
    }
}

#[test]
fn what_comes_in_and_what_leaves_is_the_same_for_both_methods() {
    let shared = |sums: &Sums| (sums.acquired, sums.mined, sums.disposed, sums.fees.0, sums.transfers, sums.txs);
    let of_lots = |sums: &Sums| (sums.lots_opened, sums.lots_emptied);
    for history in histories() {
        let [average, fifo] = METHODS.map(|method| run(&history, method).unwrap().1);
        assert_eq!(shared(&average.all), shared(&fifo.all), "seed {}", history.seed);
        assert_eq!(of_lots(&average.all), of_lots(&fifo.all), "seed {}", history.seed);
        assert_eq!((average.sats, average.lots, average.market_value), (fifo.sats, fifo.lots, fifo.market_value));
        assert!(average.years.keys().eq(fifo.years.keys()));
        for (one, other) in average.years.values().zip(fifo.years.values()) {
            assert_eq!(shared(one), shared(other), "seed {}", history.seed);
        }
    }
}

#[test]
fn years_add_up_to_all_and_gains_to_what_is_realized() {
    for history in histories() {
        for method in METHODS {
            let (rows, report) = run(&history, method).unwrap();
            let years = || report.years.values();
            let count = |of: fn(&Sums) -> u64| assert_eq!(years().map(of).sum::<u64>(), of(&report.all));
            let money = |of: fn(&Sums) -> Option<i128>| {
                assert_eq!(years().map(of).sum::<Option<i128>>(), of(&report.all), "seed {}", history.seed);
            };
            count(|sums| sums.acquired.0);
            count(|sums| sums.mined.0);
            count(|sums| sums.disposed.0);
            count(|sums| sums.fees.0);
            count(|sums| sums.wins);
            count(|sums| sums.losses);
            count(|sums| sums.even);
            count(|sums| sums.unknown);
            count(|sums| sums.lots_opened);
            count(|sums| sums.lots_emptied);
            count(|sums| sums.transfers);
            count(|sums| sums.txs);
            money(|sums| sums.acquired.1);
            money(|sums| sums.mined.1);
            money(|sums| sums.disposed.1);
            money(|sums| sums.disposed_cost);
            money(|sums| sums.fees.1);
            money(Sums::realized);
            let leaves = |row: &&Row| matches!(row.kind, Kind::Disposal | Kind::Fee);
            let gains = rows.iter().flatten().filter(leaves).map(Row::gain).sum::<Option<i128>>();
            assert_eq!(gains, report.all.realized(), "seed {}, {method:?}", history.seed);
            assert!(rows.iter().flatten().filter(|row| !leaves(row)).all(|row| row.gain().is_none()));
            assert_eq!(report.unrealized(), report.market_value.zip(report.cost).map(|(worth, cost)| worth - cost));
        }
    }
}

/// Some transactions are left out, so that coins leave that never came.
#[test]
fn incomplete_histories_run_short_where_the_oracle_does() {
    let mut short = 0;
    for mut history in histories() {
        let mut rng = ChaCha8Rng::seed_from_u64(history.seed);
        history.txs.retain(|_| rng.random_ratio(2, 3));
        for method in METHODS {
            let (ours, theirs) = (run(&history, method), oracle::run(&history, method));
            assert_eq!(ours.as_ref().err(), theirs.as_ref().err(), "seed {}, {method:?}", history.seed);
            short += u64::from(ours.is_err());
        }
    }
    assert!(short > HISTORIES / 20, "{short}");
}

/// A book alone, with lots whose costs have nothing to do with a price.
#[test]
fn costs_of_any_lots_leave_whole() {
    for seed in 0..HISTORIES {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let method = *METHODS.choose(&mut rng).unwrap();
        let mut book = Book::new(method);
        let (mut paid, mut left) = (0, 0);
        for number in 0..rng.random_range(1..20) {
            let most = *[3, 1_000, MAX_SATS].choose(&mut rng).unwrap();
            if rng.random_ratio(1, 2) {
                let cost = rng.random_range(0..i128::from(most) * 1_000);
                let from = Outpoint { tx_num: TxNum(number), vout: 0 };
                book.acquire(Lot { from, sats: rng.random_range(1..=most), cost: Some(cost) }).unwrap();
                paid += cost;
            } else if book.sats() > 0 {
                let sats = rng.random_range(1..=book.sats().min(most));
                let (held, cost, lots) = (book.sats(), book.cost().unwrap(), book.lots() as u64);
                let gone = book.dispose(sats).unwrap();
                if method == Method::Average {
                    let exact = Fraction::new(BigInt::from(cost) * sats, held).half_even();
                    assert_eq!(gone.cost.map(BigInt::from), Some(exact), "seed {seed}");
                }
                left += gone.cost.unwrap();
                assert_eq!(gone.parts.iter().map(|part| part.sats).sum::<Sats>(), sats, "seed {seed}");
                assert_eq!(book.lots() as u64, lots - gone.emptied, "seed {seed}");
            }
            assert_eq!(book.cost(), Some(paid - left), "seed {seed}");
        }
        let all = book.dispose(book.sats()).unwrap();
        assert_eq!((all.cost, book.cost(), book.sats(), book.lots()), (Some(paid - left), Some(0), 0, 0));
        assert_eq!(book.dispose(1), Err(BookError::Short));
    }
}

#[test]
fn products_and_values_are_rounded_half_to_even_once() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..50_000 {
        let bits = |rng: &mut ChaCha8Rng| rng.random::<u128>() >> rng.random_range(0..128);
        let (a, b, divisor) = (bits(&mut rng), bits(&mut rng), bits(&mut rng).max(1));
        let exact = Fraction::new(BigInt::from(a) * b, divisor).half_even();
        assert_eq!(mul_div(a, b, divisor), u128::try_from(exact).ok(), "{a} × {b} ÷ {divisor}");

        let price = Decimal::from_i128_with_scale((bits(&mut rng) >> 32) as i128, rng.random_range(0..=28));
        let sats = rng.random_range(0..=MAX_SATS) >> rng.random_range(0..51);
        let exact = i128::try_from(oracle::value(sats, price)).ok();
        assert_eq!(value_of(sats, price), exact, "{sats} at {price}");

        let of = rng.random_range(1..=MAX_SATS) >> rng.random_range(0..48) | 1;
        let (part, cost) = (rng.random_range(0..=of), (bits(&mut rng) >> 1) as i128);
        let exact = Fraction::new(BigInt::from(cost) * part, of).half_even();
        assert_eq!(part_of(cost, part, of), i128::try_from(exact).ok(), "{part} of {of}, {cost}");
    }
    assert_eq!((mul_div(1, 1, 0), mul_div(0, 0, 0)), (None, None));
}

/// The cases for which the histories are made occur in them.
#[test]
fn the_histories_hold_all_cases() {
    let mut cases: BTreeMap<&str, u64> = BTreeMap::new();
    for history in histories() {
        let (rows, report) = run(&history, Method::Average).unwrap();
        let txs = history.txs_of_wallet().zip(&rows);
        let mut add = |case: &'static str, is_there: bool| *cases.entry(case).or_default() += u64::from(is_there);
        add("several years", report.years.len() > 2);
        add("even", report.all.even > 0);
        add("won and lost", report.all.wins > 0 && report.all.losses > 0);
        add("no price now", history.price_now.is_none());
        for (tx, rows) in txs {
            let movement = tx.movement(&history.wallet).unwrap();
            let effect = movement.effect();
            let is_mixed = movement.has_foreign_input && movement.sent > 0;
            let came = matches!(effect.net, Net::In(..));
            let is_transfer = effect.net == Net::Transfer;
            add("mixed, gains", is_mixed && came);
            add("mixed, gains, and pays a share of the fee", is_mixed && came && effect.fee > 0);
            add("mixed, loses", is_mixed && matches!(effect.net, Net::Out(_)));
            add("mixed, neither", is_mixed && effect.net == Net::Nothing && effect.fee > 0);
            add("nothing at all", rows.is_empty());
            add("transfer with fee", is_transfer && effect.fee > 0);
            add("transfer without fee", is_transfer && effect.fee == 0);
            add("transfer with an empty output", is_transfer && tx.outputs.iter().any(|output| output.sats == 0));
            add("transfer of all to the fee", is_transfer && movement.received_sats() == 0 && effect.fee > 0);
            add("mined to others, too", tx.is_coinbase && movement.pays_others);
            for row in rows {
                add("three lots opened", came && row.lots.len() == 3);
                add("three lots used", row.kind == Kind::Disposal && row.emptied >= 2 && row.lots.len() >= 3);
                add("worth known, cost not", row.kind == Kind::Disposal && row.value.is_some() && row.cost.is_none());
                add("cost known, worth not", row.kind == Kind::Disposal && row.value.is_none() && row.cost.is_some());
                add("emptied, and known again", row.before.1.is_none() && row.after == (0, Some(0)));
                add("worth nothing", row.kind == Kind::Disposal && row.value == Some(0));
                add("beyond 128 bits", row.before.1.is_some_and(|cost| cost.checked_mul(row.sats.into()).is_none()));
            }
        }
    }
    let is_rare = |count: &u64| *count < HISTORIES / 200;
    assert!(!cases.values().any(is_rare), "{cases:#?}");
}
