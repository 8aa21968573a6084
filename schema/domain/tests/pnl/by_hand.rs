//! Small examples with numbers worked out by hand. At a price of 100 a satoshi is worth one micro-unit.

use cairn_domain::pnl::{BookError, Kind, Ledger, Method, Movement, Report, Row, Sums, part_of, value_of};
use cairn_model::{Outpoint, Sats, TxNum};
use rust_decimal::Decimal;

use super::{histories::MAX_SATS, oracle};

const METHODS: [Method; 2] = [Method::Average, Method::Fifo];

fn price(price: i64) -> Option<Decimal> {
    Some(Decimal::new(price, 0))
}

/// Somebody else pays the wallet, and gets change.
fn receipt(number: u64, received: &[(u32, Sats)]) -> Movement {
    let sats: Sats = received.iter().map(|(_, sats)| sats).sum();
    Movement {
        tx_num: TxNum(number),
        time: 1_600_000_000,
        is_coinbase: false,
        sent: 0,
        received: received.to_vec(),
        all_inputs: sats + 30,
        all_outputs: sats + 20,
        has_foreign_input: true,
        pays_others: true,
    }
}

/// The wallet alone brings the inputs, and pays others.
fn spend(number: u64, sent: Sats, change: Sats, fee: Sats) -> Movement {
    Movement {
        sent,
        received: if change > 0 { vec![(1, change)] } else { Vec::new() },
        all_inputs: sent,
        all_outputs: sent - fee,
        has_foreign_input: false,
        pays_others: true,
        ..receipt(number, &[])
    }
}

/// Runs all, at a price at the end.
fn run(method: Method, steps: &[(Movement, Option<Decimal>)], now: Option<Decimal>) -> (Vec<Row>, Report) {
    let mut ledger = Ledger::new(method);
    let take = |(movement, price): &(Movement, Option<Decimal>)| ledger.take(movement, *price, 2020).unwrap();
    let rows = steps.iter().flat_map(take).collect();
    (rows, ledger.finish(now).unwrap())
}

/// Kind, satoshis, value, cost, and the holding after it.
type Short = (Kind, Sats, Option<i128>, Option<i128>, (Sats, Option<i128>));

fn short(row: &Row) -> Short {
    (row.kind, row.sats, row.value, row.cost, row.after)
}

fn lots(row: &Row) -> Vec<(u64, u32, Sats, Option<i128>)> {
    row.lots.iter().map(|lot| (lot.from.tx_num.0, lot.from.vout, lot.sats, lot.cost)).collect()
}

#[test]
fn an_average_in_the_middle_goes_to_the_even_side() {
    // Two cost 5: one costs 2.5, which is 2, and 3 is left for the other.
    // Two cost 3: one costs 1.5, which is 2, and 1 is left for the other.
    for (paid, first, second) in [(250, 2, 3), (150, 2, 1)] {
        let steps =
            [(receipt(1, &[(0, 2)]), price(paid)), (spend(2, 2, 1, 0), price(300)), (spend(3, 1, 0, 0), price(100))];
        for method in METHODS {
            let (rows, report) = run(method, &steps, price(1));
            assert_eq!(short(&rows[1]), (Kind::Disposal, 1, Some(3), Some(first), (1, Some(second))));
            assert_eq!(short(&rows[2]), (Kind::Disposal, 1, Some(1), Some(second), (0, Some(0))));
            let Sums { wins, losses, even, .. } = report.all;
            assert_eq!((wins, losses, even), if second == 1 { (1, 0, 1) } else { (1, 1, 0) });
            assert_eq!(report.all.realized(), Some(4 - first - second));
        }
    }
}

#[test]
fn values_in_the_middle_go_to_the_even_side() {
    // 1 × 0.5 = 0.5, 3 × 0.5 = 1.5, 5 × 0.5 = 2.5; a digit more, and it is no longer the middle.
    let half = Decimal::new(50, 0);
    assert_eq!([1, 3, 5].map(|sats| value_of(sats, half).unwrap()), [0, 2, 2]);
    let more = Decimal::from_i128_with_scale(50 * 10_i128.pow(26) + 1, 26);
    assert_eq!([1, 3, 5].map(|sats| value_of(sats, more).unwrap()), [1, 2, 3]);
    // 5 × 1 ÷ 2 = 2.5, 7 × 1 ÷ 2 = 3.5.
    assert_eq!((part_of(5, 1, 2), part_of(7, 1, 2)), (Some(2), Some(4)));
    // All bitcoins at 100,000 are 2.1 million millions.
    assert_eq!(value_of(MAX_SATS, Decimal::new(100_000, 0)), Some(2_100_000_000_000 * 1_000_000));
}

/// Lots of 3 for 3; of 2 for 4.4, which is 4; and of 5 for 11. Then 7 go, and one for the fee; 2 stay.
fn three_lots() -> [(Movement, Option<Decimal>); 3] {
    [
        (receipt(1, &[(0, 3)]), price(100)),
        (receipt(2, &[(1, 2), (3, 0), (4, 5)]), price(220)),
        (spend(3, 10, 2, 1), price(300)),
    ]
}

#[test]
fn first_in_first_out_across_three_lots() {
    let (rows, report) = run(Method::Fifo, &three_lots(), price(400));
    assert_eq!(short(&rows[1]), (Kind::Acquisition, 7, Some(15), None, (10, Some(18))));
    assert_eq!(lots(&rows[1]), [(2, 1, 2, Some(4)), (2, 4, 5, Some(11))]);
    // 2 of the 5 cost 4.4, which is 4: 3 + 4 + 4 = 11.
    assert_eq!(short(&rows[2]), (Kind::Disposal, 7, Some(21), Some(11), (3, Some(7))));
    assert_eq!(lots(&rows[2]), [(1, 0, 3, Some(3)), (2, 1, 2, Some(4)), (2, 4, 2, Some(4))]);
    assert_eq!((rows[2].emptied, rows[2].gain()), (2, Some(10)));
    // One of the 3 that are left for 7: 2.33.
    assert_eq!(short(&rows[3]), (Kind::Fee, 1, Some(0), Some(2), (2, Some(5))));
    assert_eq!((lots(&rows[3]), rows[3].emptied), (vec![(2, 4, 1, Some(2))], 0));
    // 21 − 11 − 2 = 8 realized; 2 at 400 are worth 8, less 5 is 3. And 8 + 21 − 18 = 11.
    assert_eq!((report.all.realized(), report.unrealized(), report.invariant()), (Some(8), Some(3), Some((11, 11))));
    let Sums { wins, losses, lots_opened, lots_emptied, txs, .. } = report.all;
    assert_eq!((wins, losses, lots_opened, lots_emptied, report.lots, txs), (1, 0, 3, 2, 1, 3));
}

#[test]
fn the_average_of_three_lots() {
    let (rows, report) = run(Method::Average, &three_lots(), price(400));
    // 18 × 7 ÷ 10 = 12.6. The lots are listed with their own cost.
    assert_eq!(short(&rows[2]), (Kind::Disposal, 7, Some(21), Some(13), (3, Some(5))));
    assert_eq!(lots(&rows[2]), [(1, 0, 3, Some(3)), (2, 1, 2, Some(4)), (2, 4, 2, Some(4))]);
    // 5 × 1 ÷ 3 = 1.67.
    assert_eq!(short(&rows[3]), (Kind::Fee, 1, Some(0), Some(2), (2, Some(3))));
    // 21 − 13 − 2 = 6 realized, 8 − 3 = 5 not.
    assert_eq!((report.all.realized(), report.unrealized(), report.invariant()), (Some(6), Some(5), Some((11, 11))));
}

/// The wallet brings 1,000 of 4,000. Its share of a fee of 10 is 2.5, which is 2.
fn payjoin(gets: Sats) -> [(Movement, Option<Decimal>); 2] {
    let joined = Movement {
        sent: 1_000,
        received: vec![(2, gets - 300), (5, 300)],
        all_inputs: 4_000,
        all_outputs: 3_990,
        ..receipt(2, &[])
    };
    [(receipt(1, &[(0, 1_000)]), price(200)), (joined, price(100))]
}

#[test]
fn a_payjoin_that_brings_more() {
    // 1,000 − 1,500 − 2 = −502. The first 1,000 cost 2,000, these 502.
    let (rows, report) = run(Method::Average, &payjoin(1_500), price(100));
    assert_eq!(short(&rows[1]), (Kind::Acquisition, 502, Some(502), None, (1_502, Some(2_502))));
    assert_eq!(lots(&rows[1]), [(2, 2, 502, Some(502))]);
    // 2,502 × 2 ÷ 1,502 = 3.33; of the first lot alone it is 4.
    assert_eq!(short(&rows[2]), (Kind::Fee, 2, Some(0), Some(3), (1_500, Some(2_499))));
    assert_eq!(lots(&rows[2]), [(1, 0, 2, Some(4))]);
    assert_eq!((report.all.acquired, report.all.fees), ((1_502, Some(2_502)), (2, Some(3))));
    let (rows, _) = run(Method::Fifo, &payjoin(1_500), price(100));
    assert_eq!(short(&rows[2]), (Kind::Fee, 2, Some(0), Some(4), (1_500, Some(2_498))));
}

#[test]
fn a_payjoin_that_costs_and_one_that_does_neither() {
    // 1,000 − 700 − 2 = 298, which cost 596 and are worth 298.
    let (rows, report) = run(Method::Fifo, &payjoin(700), price(100));
    assert_eq!(short(&rows[1]), (Kind::Disposal, 298, Some(298), Some(596), (702, Some(1_404))));
    assert_eq!(short(&rows[2]), (Kind::Fee, 2, Some(0), Some(4), (700, Some(1_400))));
    assert_eq!((report.all.losses, report.all.realized()), (1, Some(-302)));
    // 1,000 − 998 − 2 = 0: the fee alone.
    let (rows, report) = run(Method::Fifo, &payjoin(998), price(100));
    assert_eq!(rows.iter().map(|row| row.kind).collect::<Vec<_>>(), [Kind::Acquisition, Kind::Fee]);
    assert_eq!((report.all.transfers, report.all.txs, report.sats), (0, 2, 998));
}

#[test]
fn a_transfer_disposes_of_the_fee_alone() {
    for (method, fee) in METHODS.into_iter().flat_map(|method| [(method, 10), (method, 0)]) {
        let transfer = Movement { pays_others: false, ..spend(2, 500, 500 - fee, fee) };
        // No price is needed for it.
        let steps = [(receipt(1, &[(0, 500)]), price(100)), (transfer, None)];
        let (rows, report) = run(method, &steps, price(100));
        assert_eq!(short(&rows[1]), (Kind::Transfer, 500 - fee, None, None, (500, Some(500))));
        assert_eq!(rows.len(), if fee > 0 { 3 } else { 2 });
        if let Some(row) = rows.get(2) {
            assert_eq!(short(row), (Kind::Fee, 10, Some(0), Some(10), (490, Some(490))));
            assert_eq!((row.gain(), row.before), (Some(-10), (500, Some(500))));
        }
        let Sums { wins, losses, even, unknown, transfers, .. } = report.all;
        assert_eq!((wins, losses, even, unknown, transfers), (0, 0, 0, 0, 1));
        assert_eq!(report.all.realized(), Some(-i128::from(fee)));
    }
}

#[test]
fn what_is_mined_is_income_rounded_output_by_output() {
    // 3 × 0.5 = 1.5, which is 2, twice; together they would be 3. Others get 5.
    let coinbase =
        Movement { is_coinbase: true, all_inputs: 0, all_outputs: 11, ..receipt(7, &[(0, 3), (1, 0), (2, 3)]) };
    for method in METHODS {
        let (rows, report) = run(method, &[(coinbase.clone(), price(50))], price(100));
        assert_eq!(rows.iter().map(short).collect::<Vec<_>>(), [(Kind::Income, 6, Some(4), None, (6, Some(4)))]);
        assert_eq!(lots(&rows[0]), [(7, 0, 3, Some(2)), (7, 2, 3, Some(2))]);
        assert_eq!(rows[0].lots[1].from, Outpoint { tx_num: TxNum(7), vout: 2 });
        assert_eq!((report.all.mined, report.all.acquired), ((6, Some(4)), (0, Some(0))));
        assert_eq!(report.invariant(), Some((2, 2)));
    }
}

#[test]
fn a_missing_price_in_the_middle_is_forgotten_when_the_pool_is_empty() {
    let steps = [
        (receipt(1, &[(0, 10)]), price(100)),
        (receipt(2, &[(0, 10)]), None),
        (spend(3, 10, 0, 0), price(300)),
        (spend(4, 10, 0, 0), price(100)),
        (receipt(5, &[(0, 4)]), price(100)),
        (spend(6, 4, 0, 0), price(200)),
    ];
    for method in METHODS {
        let (rows, report) = run(method, &steps, price(100));
        assert_eq!(short(&rows[1]), (Kind::Acquisition, 10, None, None, (20, None)));
        // First in, first out: the coins whose cost is known.
        let known = (method == Method::Fifo).then_some(10);
        assert_eq!(short(&rows[2]), (Kind::Disposal, 10, Some(30), known, (10, None)));
        assert_eq!(lots(&rows[2]), [(1, 0, 10, Some(10))]);
        assert_eq!(short(&rows[3]), (Kind::Disposal, 10, Some(10), None, (0, Some(0))));
        assert_eq!(short(&rows[5]), (Kind::Disposal, 4, Some(8), Some(4), (0, Some(0))));
        let Sums { wins, unknown, acquired, disposed, disposed_cost, .. } = report.all;
        assert_eq!((wins, unknown), if method == Method::Fifo { (2, 1) } else { (1, 2) });
        assert_eq!((acquired, disposed, disposed_cost), ((24, None), (24, Some(48)), None));
        assert_eq!((report.all.realized(), report.invariant(), report.cost), (None, None, Some(0)));
    }
}

#[test]
fn a_disposal_without_price_is_neither_won_nor_lost() {
    let steps = [(receipt(1, &[(0, 10)]), price(100)), (spend(2, 10, 5, 1), None)];
    for method in METHODS {
        let (rows, report) = run(method, &steps, None);
        assert_eq!(short(&rows[1]), (Kind::Disposal, 4, None, Some(4), (6, Some(6))));
        assert_eq!(short(&rows[2]), (Kind::Fee, 1, Some(0), Some(1), (5, Some(5))));
        assert_eq!((report.all.unknown, report.all.wins + report.all.losses + report.all.even), (1, 0));
        assert_eq!((report.all.disposed, report.all.disposed_cost), ((4, None), Some(4)));
        assert_eq!((report.market_value, report.unrealized(), report.all.realized()), (None, None, None));
    }
}

#[test]
fn more_than_there_is_and_more_than_can_be_told() {
    for method in METHODS {
        let mut ledger = Ledger::new(method);
        assert_eq!(ledger.take(&spend(1, 1, 0, 0), price(1), 2020), Err(BookError::Short));
        // The coins suffice for the payment, but not for the fee.
        ledger.take(&receipt(2, &[(0, 5)]), price(1), 2020).unwrap();
        assert_eq!(ledger.take(&spend(3, 6, 0, 1), price(1), 2020), Err(BookError::Short));
        let mut ledger = Ledger::new(method);
        let all = receipt(1, &[(0, MAX_SATS)]);
        assert_eq!(ledger.take(&all, Some(Decimal::MAX), 2020), Err(BookError::TooLarge));
    }
}

#[test]
fn years_begin_at_midnight_utc() {
    // 1 January 2024, 1 January 2025 after a leap year, and 2000, which had a leap day, too.
    let starts = [(1_704_067_200, 2024), (1_735_689_600, 2025), (946_684_800, 2000), (978_307_200, 2001)];
    for (start, year) in starts {
        assert_eq!((oracle::year(start - 1), oracle::year(start)), (year - 1, year));
    }
    let mut ledger = Ledger::new(Method::Fifo);
    ledger.take(&receipt(1, &[(0, 5)]), price(100), 2024).unwrap();
    ledger.take(&spend(2, 5, 0, 1), price(200), 2025).unwrap();
    let years = ledger.finish(price(100)).unwrap().years;
    let realized: Vec<_> = years.iter().map(|(year, sums)| (*year, sums.realized(), sums.txs)).collect();
    // 4 for 8, minus the cost of these and of the fee: 8 − 4 − 1.
    assert_eq!(realized, [(2024, Some(0), 1), (2025, Some(3), 1)]);
}
