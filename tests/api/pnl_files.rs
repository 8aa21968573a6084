//! Files of profit and loss, read as importers read them, and amounts in other currencies or without prices; and the
//! chain and the quotes of all these tests.

use std::collections::BTreeMap;

use axum::Router;
use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut};
use cairn_chaingen::{BlockSpec, ChainBuilder, Everything, Style};
use cairn_events::{Currency, Interval, QuoteRow};
use rust_decimal::Decimal;
use serde_json::Value;

use crate::{
    pnl::{METHODS, Step, Story, check, number, path, ratio},
    priced::{DAY, currency, now, row, series, take, time},
    support::{World, get},
};

/// The first moments of 2012, 2013 and 2014.
const NEW_YEARS: [u32; 3] = [1_325_376_000, 1_356_998_400, 1_388_534_400];
const GAINS: &str =
    "kind,time,txid,quantity_btc,proceeds,cost_basis,gain,currency,method,price,price_as_of,price_source,reason";
const KOINLY: &str = "Date,Sent Amount,Sent Currency,Received Amount,Received Currency,Fee Amount,Fee Currency,\
                      Net Worth Amount,Net Worth Currency,Label,Description,TxHash";
const COINTRACKER: &str =
    "Date,Received Quantity,Received Currency,Sent Quantity,Sent Currency,Fee Amount,Fee Currency,Tag";
const COINTRACKING: &str = "Type,Buy Amount,Buy Currency,Sell Amount,Sell Currency,Fee,Fee Currency,Exchange,Trade-Group,Comment,\
                            Date,Tx-ID";

/// A chain in which everything occurs, over four years, with blocks in the last second of a year and in the first of
/// the next.
pub fn years_world() -> World {
    let mut generator = Everything::new(11, 8, true);
    generator.grow(112).unwrap();
    for start in NEW_YEARS {
        for at in [start - 1, start, start + 90 * DAY] {
            let payees = spend_some(generator.builder());
            generator.builder().mine(&BlockSpec { time: Some(at), payees, ..BlockSpec::default() }).unwrap();
            // Some of these have earlier times than the ones before: by their headers they are of the old year.
            generator.grow(5).unwrap();
        }
    }
    World::of(generator.into_chain())
}

/// Scripts that are in use pay each other; they also share what the block is worth.
fn spend_some(builder: &mut ChainBuilder) -> Vec<(ScriptBuf, u64)> {
    let is_fit = |at: &OutPoint| {
        let coin = builder.coin(at).unwrap();
        coin.coinbase && builder.is_mature(at) && coin.txout.value > Amount::from_sat(1_000_000)
    };
    let coins: Vec<OutPoint> = builder.spendable().iter().filter(|at| is_fit(at)).take(4).copied().collect();
    let mut scripts: Vec<ScriptBuf> = Vec::new();
    for coin in coins {
        let TxOut { value, script_pubkey } = builder.coin(&coin).unwrap().txout.clone();
        let to = scripts.last().unwrap_or(&script_pubkey).clone();
        let (part, rest) = (value / 3, value - value / 3 - Amount::from_sat(7_001));
        let outputs =
            [(part, to), (rest, script_pubkey.clone())].map(|(value, script_pubkey)| TxOut { value, script_pubkey });
        let tx = builder.spend(&[coin], outputs.to_vec(), &Style::default()).unwrap();
        builder.add(tx).unwrap();
        scripts.push(script_pubkey);
    }
    (1..).zip(scripts).map(|(weight, script)| (script, weight)).collect()
}

/// The price of a bitcoin, as a fraction.
#[derive(Clone, Debug)]
pub struct Price {
    over: i128,
    under: i128,
    pub as_of: u32,
    pub source: Option<&'static str>,
}

impl Price {
    pub fn micros(&self, sats: u64) -> i128 {
        ratio(sats.into(), self.over, self.under.checked_mul(100).unwrap())
    }

    /// The number as answers show it: with eight digits.
    pub fn shown(&self) -> Decimal {
        let told = |places| ratio(self.over, 10i128.pow(places), self.under);
        let places = (0..12).rev().find(|places| told(*places) < 100_000_000).unwrap();
        Decimal::from_i128_with_scale(told(places), places).normalize()
    }
}

type Closes = BTreeMap<u32, Vec<(&'static str, Decimal)>>;

/// All quotes that an index has: by pair and close what each source says.
#[derive(Default)]
pub struct Market(BTreeMap<(Currency, Currency), Closes>);

impl Market {
    pub fn take(&mut self, world: &World, source: &'static str, rows: Vec<QuoteRow>) {
        for row in &rows {
            let closes = self.0.entry((row.series.base, row.series.quote)).or_default();
            closes.entry(row.closes_at).or_default().push((source, row.quote.close));
        }
        take(world, source, 5, rows);
    }

    /// The last one that was known: of two sources the mean, which is nobody's.
    fn last(&self, base: Currency, quote: Currency, at: u32) -> Option<(u32, Decimal, Option<&'static str>)> {
        let (closes_at, said) = self.0.get(&(base, quote))?.range(..=at).next_back()?;
        let mean = said.iter().map(|(_, close)| *close).sum::<Decimal>() / Decimal::from(said.len());
        Some((*closes_at, mean, (said.len() == 1).then(|| said[0].0)))
    }

    /// In the currency itself; else in dollars, by the euro's rates of the last business day.
    pub fn price(&self, code: &str, at: u32) -> Option<Price> {
        let code = currency(code);
        let (euro, dollar) = (currency("EUR"), currency("USD"));
        let rate = |of: Currency| match of == euro {
            true => Some(Decimal::ONE),
            // A rate older than a month is not from the last business day.
            false => self.last(euro, of, at).filter(|(day, ..)| at - day <= 30 * DAY).map(|(_, rate, _)| rate),
        };
        let (as_of, close, source, target, base) = match self.last(Currency::BTC, code, at) {
            Some((as_of, close, source)) => (as_of, close, source, Decimal::ONE, Decimal::ONE),
            None if code == dollar => return None,
            None => {
                let (as_of, close, source) = self.last(Currency::BTC, dollar, at)?;
                (as_of, close, source, rate(code)?, rate(dollar)?)
            }
        };
        let ten = |scale| 10i128.pow(scale);
        let over = close.mantissa() * target.mantissa() * ten(base.scale());
        let under = ten(close.scale() + target.scale()) * base.mantissa();
        Some(Price { over, under, as_of, source })
    }
}

/// The ends of the days of the chain, and of the last ones before now.
fn days(world: &World) -> (Vec<u32>, Vec<u32>) {
    let tip = world.oracle.headers().last().unwrap().monotone_time;
    let (first, last, today) = (world.oracle.monotone_time(0) / DAY, tip / DAY, now() / DAY);
    ((first..=last + 1).map(|day| day * DAY).collect(), (today - 9..=today).map(|day| day * DAY).collect())
}

/// Prices of most days after a moment: some are missing here and there, some for weeks.
pub fn daily(world: &World, code: &str, after: u32) -> Vec<QuoteRow> {
    let (mut of_chain, of_now) = days(world);
    let is_there = |at: u32| NEW_YEARS.contains(&at) || at / DAY % 7 != 3 && at / DAY % 97 > 20;
    of_chain.retain(|at| *at > after && is_there(*at));
    let closes = of_chain.into_iter().chain(of_now).map(|at| {
        let number = i64::from(at / DAY) * 7_919 % 99_991 + 1_000;
        // Every fifth has more digits than answers show of a price.
        let close =
            if (at / DAY).is_multiple_of(5) { Decimal::new(number * 1_000_003, 8) } else { Decimal::new(number, 2) };
        row(series("BTC", code, Interval::Day), at, &close.to_string())
    });
    closes.collect()
}

/// The euro's rates of business days, until the end of the chain or until now.
fn rates(world: &World, until_now: bool) -> Vec<QuoteRow> {
    let (of_chain, of_now) = days(world);
    let before = (1..=7).rev().map(|days| of_chain[0] - days * DAY);
    let closes: Vec<u32> =
        before.chain(of_chain.iter().copied()).chain(of_now.into_iter().filter(|_| until_now)).collect();
    // The day that ends there; the first one of 1970 was a Thursday.
    let is_business = |at: &u32| (at / DAY - 1 + 3) % 7 < 5;
    let rate = |code, at: u32, from: u32| {
        let rate = Decimal::new((from + at / DAY * 37 % 2_000).into(), 4);
        row(series("EUR", code, Interval::Day), at, &rate.to_string())
    };
    closes.into_iter().filter(is_business).flat_map(|at| [rate("USD", at, 10_000), rate("GBP", at, 7_000)]).collect()
}

/// Dollars of one source, of a second one for some days, and for a month also by the hour.
pub fn dollars(world: &World) -> Market {
    let mut market = Market::default();
    let rows = daily(world, "USD", 0);
    let second = rows.iter().filter(|row| (row.closes_at / DAY).is_multiple_of(4)).map(|row| {
        let mut row = *row;
        row.quote.close = (row.quote.close + Decimal::new(3, 2)).normalize();
        row
    });
    let start = world.oracle.monotone_time(0) / DAY * DAY + 20 * DAY;
    let hours = (0..720u32).filter(|hour| hour % 24 != 0 && hour % 5 != 1).map(|hour| {
        let close = Decimal::new(50_000 + i64::from(hour) * 17, 3);
        row(series("BTC", "USD", Interval::Hour), start + hour * 3_600, &close.to_string())
    });
    market.take(world, "two", second.collect());
    market.take(world, "one", rows.into_iter().chain(hours).collect());
    market
}

/// A file: all cells, after what every file has to be was checked.
async fn file(router: &Router, target: &str, header: &str) -> Vec<Vec<String>> {
    let reply = get(router, target).await;
    assert_eq!(reply.status, 200, "{target}: {}", reply.text);
    assert!(reply.header("content-type").starts_with("text/csv"), "{target}");
    let text = reply.text.strip_suffix("\r\n").unwrap();
    assert!(!text.contains('"'), "no cell of these needs it");
    let mut lines = text.split("\r\n").map(|line| line.split(',').map(str::to_owned).collect::<Vec<String>>());
    assert_eq!(lines.next().unwrap().join(","), header, "{target}");
    let rows: Vec<Vec<String>> = lines.collect();
    for cells in &rows {
        assert_eq!(cells.len(), header.split(',').count(), "{target}: {cells:?}");
        for cell in cells {
            assert!(cell.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{target}: {cells:?}");
            assert!(!cell.starts_with(['=', '+', '@']), "{target}: {cells:?}");
            assert!(!cell.starts_with('-') || is_decimal(&cell[1..], 6), "{target}: {cells:?}");
        }
    }
    rows
}

/// Digits, and no more places than that after a point.
fn is_decimal(text: &str, places: usize) -> bool {
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match text.split_once('.') {
        None => is_digits(text),
        Some((whole, part)) => is_digits(whole) && is_digits(part) && part.len() <= places,
    }
}

/// Satoshis of an amount with its currency; both are there or none.
fn sats(amount: &str, code: &str) -> u64 {
    if amount.is_empty() {
        assert_eq!(code, "");
        return 0;
    }
    assert!(is_decimal(amount, 8) && code == "BTC", "{amount} {code}");
    let (whole, part) = amount.split_once('.').unwrap_or((amount, ""));
    let sats = format!("{whole}{part:0<8}").parse().unwrap();
    assert!(sats > 0, "an amount of nothing is an empty cell");
    sats
}

fn micros(cell: &str) -> Option<i128> {
    (!cell.is_empty()).then(|| {
        assert!(is_decimal(cell.trim_start_matches('-'), 6), "{cell}");
        number(&serde_json::from_str::<Value>(cell).unwrap(), 6).unwrap()
    })
}

/// A movement as an importer takes it: what came, what went, a fee, and what it is called.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Moved {
    date: String,
    came: u64,
    went: u64,
    fee: u64,
    label: String,
    txid: Option<String>,
    worth: Option<i128>,
}

impl Moved {
    fn read(profile: &str, cells: &[String]) -> Moved {
        // Places of the date, of what came, of what went, of the fee, of the label and of the txid.
        let ([date, came, went, fee, label], txid, labels): (_, _, &[&str]) = match profile {
            "koinly" => ([0, 3, 1, 5, 9], Some(11), &["", "mining", "cost"]),
            "cointracker" => ([0, 1, 3, 5, 7], None, &["", "mined"]),
            _ => ([10, 1, 3, 5, 0], Some(11), &["Deposit", "Withdrawal", "Mining", "Other Fee"]),
        };
        assert!(labels.contains(&&*cells[label]), "{cells:?}");
        let pair = |place: usize| sats(&cells[place], &cells[place + 1]);
        let txid = txid.map(|place: usize| cells[place].clone());
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        assert!(txid.iter().all(|txid| txid.len() == 64 && txid.bytes().all(is_hex)), "{cells:?}");
        let worth = if profile == "koinly" { micros(&cells[7]) } else { None };
        assert!(profile != "koinly" || cells[8] == if worth.is_some() { "USD" } else { "" }, "{cells:?}");
        let (date, label) = (cells[date].clone(), cells[label].clone());
        Moved { date, came: pair(came), went: pair(went), fee: pair(fee), label, txid, worth }
    }

    /// The expected row of a wallet's transaction.
    fn of(profile: &str, steps: &[&Step]) -> Option<Moved> {
        let of = |kinds: &[&str]| steps.iter().filter(|s| kinds.contains(&s.kind)).map(|s| s.sats).sum::<u64>();
        let (came, went, all_fee) = (of(&["acquisition", "income"]), of(&["disposal"]), of(&["fee"]));
        let (is_mined, is_fee) = (steps[0].kind == "income", came == 0 && went == 0);
        if is_fee && all_fee == 0 {
            return None;
        }
        let at = time(steps[0].time);
        let (day, clock, txid) = (&at[..10], &at[11..19], Some(steps[0].txid.clone()));
        let worth = steps.iter().find(|step| step.needs_price()).and_then(|step| step.value);
        // A fee without a payment is what is sent.
        let (sent, fee) = if is_fee { (all_fee, 0) } else { (went, all_fee) };
        let choose = |mined, only_fee, other| {
            if is_mined {
                mined
            } else if is_fee {
                only_fee
            } else {
                other
            }
        };
        Some(match profile {
            "koinly" => {
                let label = choose("mining", "cost", "").to_owned();
                Moved { date: format!("{day} {clock} UTC"), came, went: sent, fee, label, txid, worth }
            }
            "cointracker" => {
                let date = format!("{}/{}/{} {clock}", &day[5..7], &day[8..], &day[..4]);
                let label = choose("mined", "", "").to_owned();
                Moved { date, came, went: sent, fee, label, txid: None, worth: None }
            }
            _ => {
                // Amounts contain the fee.
                let (came, went) = (came.saturating_sub(went + all_fee), (went + all_fee).saturating_sub(came));
                let label = choose("Mining", "Other Fee", if went > 0 { "Withdrawal" } else { "Deposit" }).to_owned();
                Moved { date: format!("{day} {clock}"), came, went, fee, label, txid, worth: None }
            }
        })
    }
}

/// Scripts that more than two transactions are of, and some of the others.
pub fn some(world: &World, every: usize) -> impl Iterator<Item = &ScriptBuf> {
    let all = world.oracle.scripts().enumerate();
    all.filter(move |(at, script)| at % every == 0 || world.oracle.history(script).len() > 2).map(|(_, script)| script)
}

/// The steps of each transaction.
fn by_tx(story: &Story) -> Vec<Vec<&Step>> {
    story.steps.chunk_by(|a, b| a.txid == b.txid).map(|steps| steps.iter().collect()).collect()
}

#[tokio::test]
async fn importers_get_every_satoshi() {
    let world = &years_world();
    let router = &world.open_router();
    let market = dollars(world);
    let mut labels: BTreeMap<String, usize> = BTreeMap::new();
    for script in some(world, 8) {
        let story = Story::of(world, script, "average", &|at| market.price("USD", at));
        assert_eq!(story.sats(), world.oracle.totals(script).unwrap().balance_sats());
        for (profile, header) in [("koinly", KOINLY), ("cointracker", COINTRACKER), ("cointracking", COINTRACKING)] {
            let target = format!("{}?format=csv&csv_profile={profile}", path(script));
            let rows = file(router, &target, header).await;
            let told: Vec<Moved> = rows.iter().map(|cells| Moved::read(profile, cells)).collect();
            let expected: Vec<Moved> = by_tx(&story).iter().filter_map(|steps| Moved::of(profile, steps)).collect();
            assert_eq!(told, expected, "{target}");
            let fee = |moved: &Moved| if profile == "cointracking" { 0 } else { i128::from(moved.fee) };
            let left = told.iter().map(|m| i128::from(m.came) - i128::from(m.went) - fee(m)).sum::<i128>();
            assert_eq!(left, story.sats().into(), "{target}");
            told.into_iter().for_each(|moved| *labels.entry(moved.label).or_default() += 1);
            assert_parts(router, &target, header, &story, &rows).await;
        }
    }
    for label in ["", "mining", "cost", "mined", "Deposit", "Withdrawal", "Mining", "Other Fee"] {
        assert!(labels[label] > 9, "{label}: {labels:?}");
    }
}

/// The files of the years make up the whole one.
async fn assert_parts(router: &Router, target: &str, header: &str, story: &Story, whole: &[Vec<String>]) {
    let mut parts = Vec::new();
    for year in story.years().into_keys() {
        parts.extend(file(router, &format!("{target}&year={year}"), header).await);
    }
    assert_eq!(parts, whole, "{target}");
    assert!(file(router, &format!("{target}&year=2020"), header).await.is_empty());
}

#[tokio::test]
async fn files_of_gains_add_up_to_the_sums() {
    let world = &years_world();
    let mut market = Market::default();
    // Of the first transactions no price is known.
    market.take(world, "one", daily(world, "USD", world.oracle.monotone_time(120)));
    const BOTH: &[&str] = &["disposal", "fee"];
    let router = &world.open_router();
    let (mut rows_seen, mut unknown) = (0, 0);
    for script in some(world, 8) {
        for method in METHODS {
            let target = format!("{}?method={method}", path(script));
            let totals = get(router, &target).await.body["totals"].clone();
            let target = format!("{target}&format=csv");
            let rows = file(router, &target, GAINS).await;
            let story = Story::of(world, script, method, &|at| market.price("USD", at));
            let lines: Vec<&Step> = story.steps.iter().filter(|s| s.is_out()).collect();
            assert_eq!(rows.len(), lines.len(), "{target}");
            for (cells, step) in rows.iter().zip(lines) {
                assert_eq!(cells[..3], [step.kind.to_owned(), time(step.time), step.txid.clone()], "{target}");
                assert_eq!(sats(&cells[3], "BTC"), step.sats, "{target}");
                assert_eq!([4, 5, 6].map(|at| micros(&cells[at])), [step.value, step.cost, step.gain()], "{target}");
                assert_eq!(cells[7..9], ["USD", method], "{target}");
                let tell = |p: &Price| [p.shown().to_string(), time(p.as_of), p.source.unwrap_or("").to_owned()];
                let price = step.price.as_ref().map(tell).unwrap_or_default();
                assert_eq!(cells[9..12], price, "{target}");
                // Whatever is unknown has a reason.
                assert_eq!(cells[12].is_empty(), cells[5..7].iter().all(|cell| !cell.is_empty()), "{target}");
                unknown += usize::from(cells[6].is_empty());
            }
            // Null in the sums is an empty cell in the file.
            let of = |kinds: &[&str], column: usize| -> Option<i128> {
                rows.iter().filter(|cells| kinds.contains(&&*cells[0])).map(|cells| micros(&cells[column])).sum()
            };
            assert_eq!(number(&totals["proceeds"], 6), of(BOTH, 4), "{target}");
            assert_eq!(number(&totals["disposed_cost"], 6), of(&BOTH[..1], 5), "{target}");
            assert_eq!(number(&totals["fee_cost"], 6), of(&BOTH[1..], 5), "{target}");
            assert_eq!(number(&totals["realized_gain"], 6), of(BOTH, 6), "{target}");
            assert_parts(router, &target, GAINS, &story, &rows).await;
            rows_seen += rows.len();
        }
    }
    assert!(rows_seen > 300 && unknown > 20 && unknown < rows_seen, "{unknown} of {rows_seen}");
}

#[tokio::test]
async fn other_currencies_are_quoted_or_converted() {
    let world = &years_world();
    let mut market = dollars(world);
    market.take(world, "bank", rates(world, true));
    for code in ["EUR", "GBP"] {
        let seen = check(world, &market, code, 60).await;
        assert!(seen["known"] > 50 && !seen.contains_key("not known"), "{seen:?}");
    }
    // From the middle on it is quoted in euros, day by day.
    let (of_chain, of_now) = days(world);
    let own = of_chain.into_iter().filter(|at| *at > world.oracle.monotone_time(115)).chain(of_now);
    let own = own.map(|at| row(series("BTC", "EUR", Interval::Day), at, &format!("{}.7", at / DAY % 777 + 90)));
    market.take(world, "three", own.collect());
    let seen = check(world, &market, "EUR", 60).await;
    assert!(seen["known"] > 50 && !seen.contains_key("not known"), "{seen:?}");
}

/// Why amounts are null, for a script that holds coins.
async fn reason(world: &World, code: &str) -> String {
    let rich = world.oracle.all_totals().iter().max_by_key(|(_, totals)| totals.balance_sats()).unwrap();
    let reply = get(&world.open_router(), &format!("{}?currency={code}", path(rich.0))).await;
    reply.body["reason"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn sums_are_null_where_a_price_is_missing() {
    let world = &years_world();
    let mut market = Market::default();
    // Those that are known hold nothing and got nothing.
    let seen = check(world, &market, "USD", 60).await;
    assert!(seen["not known"] > 50, "{seen:?}");
    assert!(reason(world, "USD").await.contains("no prices are loaded"));
    market.take(world, "one", daily(world, "USD", world.oracle.monotone_time(120)));
    let seen = check(world, &market, "USD", 60).await;
    assert!(seen["known"] > 20 && seen["not known"] > 20, "{seen:?}");
    assert!(reason(world, "USD").await.contains("begins later"));
    // Rates that ended long ago give no price of this moment: what was gained is known, and what is held is worth
    // nobody knows.
    let world = &years_world();
    let mut market = dollars(world);
    market.take(world, "bank", rates(world, false));
    let seen = check(world, &market, "EUR", 60).await;
    assert!(seen["known"] > 20 && seen["not known"] > 20, "{seen:?}");
    assert!(reason(world, "EUR").await.contains("no exchange rate is known"));
}
