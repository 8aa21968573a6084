//! Profit and loss of a wallet against a slow computation out of the blocks and the quotes: every number, step by step.

use std::collections::{BTreeMap, BTreeSet};

use bitcoin::{Amount, Script, Transaction, TxOut};
use cairn_events::Interval;
use cairn_model::TxNum;
use rust_decimal::{Decimal, prelude::ToPrimitive};
use serde_json::{Value, json};

use crate::{
    pnl_files::{Market, Price, dollars, some, years_world},
    priced::{DAY, exact, now, row, series, take, time},
    support::{World, everything_world, get, get_ok, script_hash, validator},
};

pub const PNL: &str = "/v1/wallets/{address}/pnl";
pub const METHODS: [&str; 2] = ["average", "fifo"];
/// Most steps in an answer, and most lots of a step.
const MAX_STEPS: usize = 500;
const MAX_LOTS: usize = 20;

pub fn path(script: &Script) -> String {
    PNL.replace("{address}", &script_hash(script))
}

pub fn year(at: u32) -> u32 {
    time(at)[..4].parse().unwrap()
}

/// a × b ÷ c, to the nearest integer, from the middle to the even one.
pub fn ratio(a: i128, b: i128, c: i128) -> i128 {
    let product = a.checked_mul(b).unwrap();
    let (floor, rest) = (product / c, product % c);
    match (2 * rest).cmp(&c) {
        std::cmp::Ordering::Less => floor,
        std::cmp::Ordering::Equal => floor + floor % 2,
        std::cmp::Ordering::Greater => floor + 1,
    }
}

/// Coins that came in together, or a part of them.
#[derive(Clone, Debug)]
pub struct Lot {
    from: (TxNum, u32),
    txid: String,
    sats: u64,
    cost: Option<i128>,
}

/// Satoshis, and what they have cost if that is known.
type Held = (u64, Option<i128>);

#[derive(Clone, Default, Debug)]
pub struct Step {
    pub kind: &'static str,
    pub txid: String,
    pub time: u32,
    pub sats: u64,
    pub price: Option<Price>,
    pub value: Option<i128>,
    pub cost: Option<i128>,
    before: Held,
    after: Held,
    lots: Vec<Lot>,
    emptied: u64,
}

impl Step {
    /// All but transfers and fees.
    pub fn needs_price(&self) -> bool {
        ["acquisition", "income", "disposal"].contains(&self.kind)
    }

    /// Disposals and fees.
    pub fn is_out(&self) -> bool {
        ["disposal", "fee"].contains(&self.kind)
    }

    pub fn gain(&self) -> Option<i128> {
        Some(self.value? - self.cost?)
    }
}

/// The history of a wallet.
pub struct Story {
    pub steps: Vec<Step>,
    /// Of each of its transactions.
    pub times: Vec<u32>,
    method: &'static str,
    lots: Vec<Lot>,
    pool: Option<i128>,
}

/// The sum of what is known, if all is known.
fn sum(parts: impl Iterator<Item = Option<i128>>) -> Option<i128> {
    parts.sum()
}

impl Story {
    pub fn of(world: &World, script: &Script, method: &'static str, prices: &dyn Fn(u32) -> Option<Price>) -> Self {
        Story::of_all(world, &BTreeSet::from([script]), method, prices)
    }

    /// Of several scripts as one wallet.
    pub fn of_all(
        world: &World,
        own: &BTreeSet<&Script>,
        method: &'static str,
        prices: &dyn Fn(u32) -> Option<Price>,
    ) -> Self {
        let txs: Vec<&Transaction> = world.oracle.transactions(u32::MAX).map(|(_, _, tx)| tx).collect();
        let mut story = Story { steps: Vec::new(), times: Vec::new(), method, lots: Vec::new(), pool: Some(0) };
        let rows = own.iter().flat_map(|script| world.oracle.history(script));
        let heights: BTreeMap<TxNum, u32> = rows.map(|row| (row.tx_num, row.height)).collect();
        for (num, height) in heights {
            let at = world.oracle.monotone_time(height);
            story.times.push(at);
            story.tx(world, own, (num, txs[num.0 as usize]), at, prices(at));
        }
        story
    }

    pub fn sats(&self) -> u64 {
        self.lots.iter().map(|lot| lot.sats).sum()
    }

    fn held(&self) -> Held {
        let of_lots = || sum(self.lots.iter().map(|lot| lot.cost));
        (self.sats(), if self.method == "fifo" { of_lots() } else { self.pool })
    }

    fn tx(
        &mut self,
        world: &World,
        own: &BTreeSet<&Script>,
        (num, tx): (TxNum, &Transaction),
        at: u32,
        price: Option<Price>,
    ) {
        let spent = world.oracle.spent(num);
        let is_of = |script: &Script| own.contains(script);
        let brought: u64 = spent.iter().filter(|coin| is_of(&coin.script)).map(|coin| coin.value_sats).sum();
        let all_in: u64 = spent.iter().map(|coin| coin.value_sats).sum();
        let all_out: u64 = tx.output.iter().map(|output| output.value.to_sat()).sum();
        let is_own = |output: &TxOut| is_of(&output.script_pubkey);
        let outputs = (0u32..).zip(&tx.output).filter(|(_, output)| is_own(output));
        let got: Vec<(u32, u64)> = outputs.map(|(vout, output)| (vout, output.value.to_sat())).collect();
        let got_sats: u64 = got.iter().map(|(_, sats)| *sats).sum();
        let txid = tx.compute_txid().to_string();
        let step = |kind, sats| Step { kind, txid: txid.clone(), time: at, sats, ..Step::default() };
        let lot = |(vout, sats): &(u32, u64)| {
            let cost = price.as_ref().map(|price| price.micros(*sats));
            (*sats > 0).then_some(Lot { from: (num, *vout), txid: txid.clone(), sats: *sats, cost })
        };
        if brought == 0 {
            let kind = if tx.is_coinbase() { "income" } else { "acquisition" };
            return self.comes(step(kind, got_sats), got.iter().filter_map(lot).collect(), price);
        }
        let fee = all_in - all_out;
        let stays = spent.iter().all(|coin| is_of(&coin.script))
            && tx.output.iter().all(|output| is_own(output) || output.value == Amount::ZERO);
        let share = if stays { fee } else { (u128::from(fee) * u128::from(brought) / u128::from(all_in)) as u64 };
        if stays {
            let held = self.held();
            self.steps.push(Step { before: held, after: held, ..step("transfer", got_sats) });
        } else if brought > got_sats + share {
            let sats = brought - got_sats - share;
            let value = price.as_ref().map(|price| price.micros(sats));
            self.leaves(Step { value, price, ..step("disposal", sats) });
        } else if brought < got_sats + share {
            let more = (got[0].0, got_sats + share - brought);
            self.comes(step("acquisition", more.1), lot(&more).into_iter().collect(), price);
        }
        if share > 0 {
            self.leaves(Step { value: Some(0), ..step("fee", share) });
        }
    }

    fn comes(&mut self, step: Step, lots: Vec<Lot>, price: Option<Price>) {
        if lots.is_empty() {
            return;
        }
        let (before, value) = (self.held(), sum(lots.iter().map(|lot| lot.cost)));
        self.pool = sum([self.pool, value].into_iter());
        self.lots.extend(lots.iter().cloned());
        self.lots.sort_by_key(|lot| lot.from);
        self.steps.push(Step { price, value, before, after: self.held(), lots, ..step });
    }

    fn leaves(&mut self, step: Step) {
        let (before, held) = (self.held(), self.sats());
        let of_pool = self.pool.map(|pool| ratio(pool, step.sats.into(), held.into()));
        let (mut wanted, mut lots) = (step.sats, Vec::new());
        for lot in &mut self.lots {
            let sats = wanted.min(lot.sats);
            if sats > 0 {
                let cost = lot.cost.map(|cost| ratio(cost, sats.into(), lot.sats.into()));
                lots.push(Lot { sats, cost, ..lot.clone() });
                lot.cost = lot.cost.zip(cost).map(|(all, part)| all - part);
                (lot.sats, wanted) = (lot.sats - sats, wanted - sats);
            }
        }
        assert_eq!(wanted, 0, "nobody spends what they do not have");
        let count = self.lots.len();
        self.lots.retain(|lot| lot.sats > 0);
        // Where nothing is left, nothing is unknown.
        self.pool = if step.sats == held { Some(0) } else { self.pool.zip(of_pool).map(|(all, part)| all - part) };
        let cost = if self.method == "fifo" { sum(lots.iter().map(|lot| lot.cost)) } else { of_pool };
        let emptied = (count - self.lots.len()) as u64;
        self.steps.push(Step { cost, before, after: self.held(), lots, emptied, ..step });
    }

    /// The years in which anything happened, with the number of transactions.
    pub fn years(&self) -> BTreeMap<u32, usize> {
        let mut years = BTreeMap::new();
        self.times.iter().for_each(|at| *years.entry(year(*at)).or_default() += 1);
        years
    }
}

/// A number of an answer in units of its last place.
pub fn number(value: &Value, places: u32) -> Option<i128> {
    let text = value.to_string();
    let number = (!value.is_null()).then(|| text.parse().or_else(|_| Decimal::from_scientific(&text)).unwrap())?;
    let units: Decimal = number * Decimal::from(10u64.pow(places));
    assert!(units.fract().is_zero(), "{text} has more than {places} places");
    units.to_i128()
}

/// Name, decimal places and value.
pub type Expected = (&'static str, u32, Option<i128>);

pub fn assert_numbers(found: &Value, expected: &[Expected], what: &str) {
    for (name, places, value) in expected {
        assert_eq!(number(&found[name], *places), *value, "{what} {name}: {found}");
    }
}

/// Expected sums over steps.
pub fn totals(steps: &[&Step], transactions: usize) -> Vec<Expected> {
    let of = |kind: &'static str| steps.iter().filter(move |step| step.kind == kind);
    let sats = |kind| Some(of(kind).map(|step| i128::from(step.sats)).sum());
    let values = |kind| sum(of(kind).map(|step| step.value));
    let costs = |kind| sum(of(kind).map(|step| step.cost));
    let signs = |sign| Some(of("disposal").filter(|step| step.gain().map(i128::signum) == sign).count() as i128);
    let realized = sum(of("disposal").chain(of("fee")).map(|step| step.gain()));
    let opened = of("acquisition").chain(of("income")).map(|step| step.lots.len() as i128).sum();
    vec![
        ("transactions", 0, Some(transactions as i128)),
        ("acquired_sats", 0, sats("acquisition")),
        ("acquired_cost", 6, values("acquisition")),
        ("mined_sats", 0, sats("income")),
        ("mined_value", 6, values("income")),
        ("disposed_sats", 0, sats("disposal")),
        ("proceeds", 6, values("disposal")),
        ("disposed_cost", 6, costs("disposal")),
        ("fee_sats", 0, sats("fee")),
        ("fee_cost", 6, costs("fee")),
        ("realized_gain", 6, realized),
        ("wins", 0, signs(Some(1))),
        ("losses", 0, signs(Some(-1))),
        ("even", 0, signs(Some(0))),
        ("unknown", 0, signs(None)),
        ("lots_opened", 0, Some(opened)),
        ("lots_consumed", 0, Some(steps.iter().map(|step| i128::from(step.emptied)).sum())),
        ("transfers", 0, Some(of("transfer").count() as i128)),
    ]
}

/// All of an answer but its steps.
pub fn assert_report(body: &Value, story: &Story, now: Option<&Price>, what: &str) {
    let (sats, cost) = story.held();
    let market = if sats == 0 { Some(0) } else { now.map(|price| price.micros(sats)) };
    let unrealized = market.zip(cost).map(|(market, cost)| market - cost);
    let average = cost.filter(|_| sats > 0).map(|cost| ratio(cost, 100_000_000, sats.into()));
    let holdings = [
        ("quantity_sats", 0, Some(sats.into())),
        ("quantity_btc", 8, Some(sats.into())),
        ("cost_basis", 6, cost),
        ("average_cost", 6, average),
        ("market_value", 6, market),
        ("unrealized_gain", 6, unrealized),
        ("open_lots", 0, Some(story.lots.len() as i128)),
    ];
    assert_numbers(&body["holdings"], &holdings, what);
    assert_price(&body["holdings"], now, what);
    assert_eq!(body["holdings"]["price_stale"], json!(now.map(|_| false)), "{what}");
    let all: Vec<&Step> = story.steps.iter().collect();
    let totals_of_all = totals(&all, story.times.len());
    assert_numbers(&body["totals"], &totals_of_all, what);
    let years = story.years();
    let told = body["years"].as_array().unwrap();
    assert!(told.iter().map(|told| &told["year"]).eq(years.keys()), "{what}: {years:?} {told:?}");
    for (told, (of, count)) in told.iter().zip(years) {
        let steps: Vec<&Step> = all.iter().copied().filter(|step| year(step.time) == of).collect();
        assert_numbers(told, &totals(&steps, count), &format!("{what} {of}"));
    }
    let unpriced: BTreeSet<&String> =
        all.iter().filter(|s| s.needs_price() && s.price.is_none()).map(|s| &s.txid).collect();
    let amount = |name: &str| totals_of_all.iter().find(|(of, ..)| *of == name).unwrap().2;
    let gain = amount("realized_gain").zip(unrealized).map(|(one, other)| one + other);
    if let Some(market) = market.filter(|_| unpriced.is_empty()) {
        let paid = amount("acquired_cost").unwrap() + amount("mined_value").unwrap();
        assert_eq!(gain, Some(market + amount("proceeds").unwrap() - paid), "{what}");
    }
    let numbers = [
        ("transaction_count", 0, Some(story.times.len() as i128)),
        ("total_gain", 6, gain),
        ("unpriced_transactions", 0, Some(unpriced.len() as i128)),
    ];
    assert_numbers(body, &numbers, what);
    let at = |at: Option<&u32>| json!(at.map(|at| time(*at)));
    assert_eq!([&body["first_at"], &body["last_at"]], [&at(story.times.first()), &at(story.times.last())], "{what}");
    assert_eq!(body["reason"].is_string(), !unpriced.is_empty() || market.is_none(), "{what}: {}", body["reason"]);
    assert_eq!(body["method"], story.method);
}

/// A price with its time and its source, in a step or in what is held.
fn assert_price(found: &Value, price: Option<&Price>, what: &str) {
    let told = (!found["price"].is_null()).then(|| exact(&found["price"]));
    assert_eq!(told, price.map(Price::shown), "{what}: {found}");
    let as_of = json!(price.map(|price| time(price.as_of)));
    let source = json!(price.and_then(|price| price.source));
    assert_eq!((&found["price_as_of"], &found["price_source"]), (&as_of, &source), "{what}: {found}");
}

/// The steps of an answer.
pub fn assert_steps(body: &Value, steps: &[&Step], what: &str) {
    let told = body["explained"].as_array().unwrap();
    assert_eq!(told.len(), steps.len().min(MAX_STEPS), "{what}");
    assert_eq!(body["explained_omitted"], steps.len() - told.len(), "{what}");
    for (found, step) in told.iter().zip(steps) {
        let what = &format!("{what} {step:?}");
        let texts = [step.kind.to_owned(), step.txid.clone(), time(step.time)];
        assert_eq!(["kind", "txid", "time"].map(|name| found[name].as_str().unwrap().to_owned()), texts, "{what}");
        let gap = step.price.as_ref().map(|price| i128::from(step.time - price.as_of));
        let numbers = [
            ("quantity_sats", 0, Some(step.sats.into())),
            ("quantity_btc", 8, Some(step.sats.into())),
            ("price_gap_seconds", 0, gap),
            ("value", 6, step.value),
            ("cost", 6, step.cost),
            ("gain", 6, step.gain()),
            ("quantity_before_sats", 0, Some(step.before.0.into())),
            ("cost_before", 6, step.before.1),
            ("quantity_after_sats", 0, Some(step.after.0.into())),
            ("cost_after", 6, step.after.1),
            ("lots_omitted", 0, Some(step.lots.len().saturating_sub(MAX_LOTS) as i128)),
        ];
        assert_numbers(found, &numbers, what);
        assert_price(found, step.price.as_ref(), what);
        let lacks = step.value.is_none() && step.needs_price() || step.cost.is_none() && step.is_out();
        assert_eq!(found["reason"].is_string(), lacks, "{what}");
        let quantity = Decimal::from_i128_with_scale(step.sats.into(), 8).normalize().to_string();
        assert!(found["arithmetic"].as_str().unwrap().contains(&quantity), "{what}: {found}");
        let lots = found["lots"].as_array().unwrap();
        assert_eq!(lots.len(), step.lots.len().min(MAX_LOTS), "{what}");
        for (found, lot) in lots.iter().zip(&step.lots) {
            assert_eq!((&found["txid"], &found["vout"]), (&json!(lot.txid), &json!(lot.from.1)), "{what}");
            assert_numbers(found, &[("sats", 0, Some(lot.sats.into())), ("cost", 6, lot.cost)], what);
        }
    }
}

/// Checks answers of one currency for each script that is wanted. How often what occurred is counted.
pub async fn check(world: &World, market: &Market, code: &'static str, every: usize) -> BTreeMap<&'static str, usize> {
    let (router, schema) = (world.open_router(), validator(PNL));
    let price_now = market.price(code, now());
    let mut seen = BTreeMap::new();
    for (at, script) in some(world, every).enumerate() {
        for method in METHODS {
            let story = Story::of(world, script, method, &|at| market.price(code, at));
            let target = format!("{}?currency={code}&method={method}", path(script));
            let body = get(&router, &format!("{target}&explain=true")).await.body;
            assert!(schema.is_valid(&body), "{target}: {body}");
            assert_eq!(body["currency"], code);
            assert_report(&body, &story, price_now.as_ref(), &target);
            let all: Vec<&Step> = story.steps.iter().collect();
            assert_steps(&body, &all, &target);
            assert_eq!(story.sats(), world.oracle.totals(script).unwrap().balance_sats());
            // The steps of each year are those of the whole that fall into it; sums do not follow.
            let years = story.years();
            for of in years.keys().filter(|_| years.len() > 1 || at % 9 == 0) {
                let part = get(&router, &format!("{target}&explain=true&year={of}")).await.body;
                let steps: Vec<&Step> = all.iter().copied().filter(|step| year(step.time) == *of).collect();
                assert_steps(&part, &steps, &format!("{target} {of}"));
                assert_eq!((&part["totals"], &part["years"]), (&body["totals"], &body["years"]));
            }
            if at % 7 == 0 {
                let plain = get_ok(&router, PNL, &target).await;
                assert!(plain["explained"].is_null() && plain["explained_omitted"] == 0);
                for part in ["holdings", "totals", "years", "total_gain", "reason"] {
                    assert_eq!(plain[part], body[part]);
                }
            }
            let mut saw = |what, count| *seen.entry(what).or_default() += count;
            story.steps.iter().for_each(|step| saw(step.kind, 1));
            saw("several years", usize::from(years.len() > 1));
            let is_won = |step: &&Step| step.kind == "disposal" && step.gain() > Some(0);
            saw("won", story.steps.iter().filter(is_won).count());
            saw(if body["total_gain"].is_null() { "not known" } else { "known" }, 1);
            saw("many", usize::from(story.times.len() > 20));
        }
    }
    seen
}

#[tokio::test]
async fn every_number_is_that_of_the_blocks() {
    let world = &years_world();
    let market = dollars(world);
    let seen = check(world, &market, "USD", 4).await;
    for what in ["acquisition", "income", "disposal", "fee", "transfer", "several years", "won", "many"] {
        assert!(seen[what] > 20, "{what}: {seen:?}");
    }
    assert!(seen["known"] > 300 && !seen.contains_key("not known"), "{seen:?}");
}

#[tokio::test]
async fn an_address_without_transactions_has_gained_nothing() {
    let world = &everything_world();
    let router = world.open_router();
    let target = PNL.replace("{address}", &format!("scripthash:{}", "5a".repeat(32)));
    // With prices and without.
    for _ in 0..2 {
        for query in ["", "?method=fifo&explain=true&currency=EUR&year=2009", "?year=2200"] {
            let body = get_ok(&router, PNL, &format!("{target}{query}")).await;
            for (name, value) in body["totals"].as_object().unwrap() {
                assert_eq!(value, 0, "{name}");
            }
            for name in ["quantity_sats", "quantity_btc", "cost_basis", "market_value", "unrealized_gain", "open_lots"]
            {
                assert_eq!(body["holdings"][name], 0, "{name}");
            }
            assert_eq!(
                (&body["transaction_count"], &body["total_gain"], &body["years"]),
                (&json!(0), &json!(0), &json!([]))
            );
            for nothing in [&body["first_at"], &body["last_at"], &body["reason"], &body["holdings"]["average_cost"]] {
                assert!(nothing.is_null(), "{body}");
            }
            assert_eq!(body["explained"], if query.contains("explain") { json!([]) } else { Value::Null });
        }
        let text = get(&router, &format!("{target}?format=csv")).await.text;
        assert_eq!(text.lines().count(), 1, "nothing but the names of the columns: {text}");
        take(world, "one", 5, vec![row(series("BTC", "USD", Interval::Day), now() / DAY * DAY, "90")]);
    }
}
