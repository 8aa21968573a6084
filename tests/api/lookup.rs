//! A whole wallet by its scripts against sums out of the blocks: balance, addresses, transactions, days, gains and
//! activity of random sets; and a wallet of one script against the operations about one address.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use axum::Router;
use bitcoin::{Script, ScriptBuf};
use cairn_model::TxNum;
use cairn_testkit::{DayRow, HistoryRow};
use jsonschema::Validator;
use rand::{Rng, SeedableRng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::{
    balance_history::{assert_points, written},
    gainers,
    pnl::{METHODS, Step, Story, assert_numbers, assert_report, assert_steps, totals, year},
    pnl_files::{Market, dollars, years_world},
    priced::{DAY, now, time},
    support::{World, address, body_validator, everything_world, get, hex, post, script_hash, validator},
    unconfirmed_wallets::fresh,
};

pub const LOOKUP: &str = "/v1/wallets/lookup";

static ANSWER: LazyLock<Validator> = LazyLock::new(|| validator(LOOKUP));
static REQUEST: LazyLock<Validator> = LazyLock::new(|| body_validator(LOOKUP));

/// Sends a request that has to succeed. Request and answer are as described, and nobody stores the answer.
pub async fn ask(router: &Router, body: &Value) -> Value {
    assert!(REQUEST.is_valid(body), "{body}");
    let reply = post(router, LOOKUP, body).await;
    assert_eq!(reply.status, 200, "{body}: {}", reply.text);
    let errors: Vec<String> = ANSWER.iter_errors(&reply.body).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{body}: {errors:?}");
    assert_eq!((reply.header("cache-control"), reply.header("etag")), ("no-store", ""), "{body}");
    reply.body
}

pub fn raw(script: &Script) -> String {
    format!("raw({})", hex(script.as_bytes()))
}

/// By the address, if the script has one.
pub fn addr(script: &Script) -> String {
    address(script).map_or_else(|| raw(script), |address| format!("addr({address})"))
}

/// A wallet of several scripts, as the blocks have it.
pub struct Wallet<'w> {
    pub world: &'w World,
    pub own: BTreeSet<&'w Script>,
    /// Changes of all scripts together by each transaction, in chain order.
    pub rows: Vec<HistoryRow>,
}

impl<'w> Wallet<'w> {
    pub fn of(world: &'w World, own: impl IntoIterator<Item = &'w Script>) -> Self {
        let own: BTreeSet<&Script> = own.into_iter().collect();
        let mut rows: BTreeMap<TxNum, HistoryRow> = BTreeMap::new();
        for row in own.iter().flat_map(|script| world.oracle.history(script)) {
            let nothing = || HistoryRow { received_sats: 0, spent_sats: 0, ..row.clone() };
            let sum = rows.entry(row.tx_num).or_insert_with(nothing);
            sum.received_sats += row.received_sats;
            sum.spent_sats += row.spent_sats;
        }
        Wallet { world, own, rows: rows.into_values().collect() }
    }

    fn day(&self, row: &HistoryRow) -> u32 {
        self.world.oracle.monotone_time(row.height) / DAY
    }

    fn tip_day(&self) -> u32 {
        self.world.oracle.headers().last().unwrap().monotone_time / DAY
    }

    /// Value and count of the coins.
    pub fn coins(&self) -> (u64, usize) {
        let coins = self.world.oracle.coins().values().filter(|coin| self.own.contains(&*coin.script));
        let values: Vec<u64> = coins.map(|coin| coin.value_sats).collect();
        (values.iter().sum(), values.len())
    }

    /// The days from the first activity to the last, or from `from` to `to`.
    fn days(&self, from: Option<u32>, to: Option<u32>) -> Vec<DayRow> {
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else { return Vec::new() };
        let start = from.unwrap_or(0).max(self.day(first));
        let end = to.unwrap_or(self.day(last).max(start)).min(self.tip_day());
        let sums = |is_in: &dyn Fn(u32) -> bool| {
            let rows: Vec<&HistoryRow> = self.rows.iter().filter(|row| is_in(self.day(row))).collect();
            let sum = |of: fn(&HistoryRow) -> u64| rows.iter().map(|row| of(row)).sum::<u64>();
            (sum(|row| row.received_sats), sum(|row| row.spent_sats), rows.len() as u64)
        };
        let point = |day| {
            let (all_in, all_out, _) = sums(&|of| of <= day);
            let (received_sats, sent_sats, tx_count) = sums(&|of| of == day);
            DayRow { day, balance_sats: all_in - all_out, received_sats, sent_sats, tx_count }
        };
        (start..=end).map(point).collect()
    }

    /// Where the value of a transaction went.
    fn direction(&self, row: &HistoryRow) -> &'static str {
        let (_, _, tx) = self.world.oracle.transactions(row.height).nth(row.tx_num.0 as usize).unwrap();
        let spent = self.world.oracle.spent(row.tx_num);
        let is_from_own = spent.iter().all(|coin| coin.value_sats == 0 || self.own.contains(&*coin.script));
        let mut paid = tx.output.iter().filter(|output| output.value.to_sat() > 0);
        let is_to_own = paid.all(|output| self.own.contains(&*output.script_pubkey));
        match row.received_sats.cmp(&row.spent_sats) {
            _ if row.spent_sats == 0 => "in",
            _ if is_from_own && is_to_own => "self",
            std::cmp::Ordering::Equal => "self",
            std::cmp::Ordering::Greater => "in",
            std::cmp::Ordering::Less => "out",
        }
    }

    /// Checks rows of confirmed transactions: all of them, newest first.
    pub fn assert_rows(&self, told: &[Value], what: &Value) {
        let ids: Vec<&str> = told.iter().map(|row| row["txid"].as_str().unwrap()).collect();
        let expected: Vec<String> = self.rows.iter().rev().map(|row| row.txid.to_string()).collect();
        assert_eq!(ids, expected, "{what}");
        for (told, row) in told.iter().zip(self.rows.iter().rev()) {
            let net = row.received_sats as i64 - row.spent_sats as i64;
            let amounts = ["received_sats", "sent_sats", "net_sats"].map(|name| &told[name]);
            assert_eq!(amounts, [&json!(row.received_sats), &json!(row.spent_sats), &json!(net)], "{what}: {told}");
            assert_eq!(told["fee_sats"], self.world.oracle.txs()[row.tx_num.0 as usize].fee_sats, "{what}: {told}");
            assert_eq!(told["direction"], self.direction(row), "{what}: {told}");
            let hash = self.world.oracle.blocks()[row.height as usize].block_hash().to_string();
            assert_eq!(
                (&told["status"]["height"], &told["status"]["hash"]),
                (&json!(row.height), &json!(hash)),
                "{what}: {told}"
            );
        }
    }

    /// Checks what happened in some days.
    fn assert_activity(&self, told: &Value, story: &Story, (first, last): (u32, u32), what: &Value) {
        let rows: Vec<&HistoryRow> = self.rows.iter().filter(|row| (first..=last).contains(&self.day(row))).collect();
        let steps: Vec<&Step> = story.steps.iter().filter(|step| (first..=last).contains(&(step.time / DAY))).collect();
        let of = |kinds: &[&str]| steps.iter().copied().filter(|step| kinds.contains(&step.kind)).collect::<Vec<_>>();
        let (incoming, outgoing) = (of(&["acquisition", "income"]), of(&["disposal"]));
        let received: u64 = rows.iter().map(|row| row.received_sats).sum();
        let sent: u64 = rows.iter().map(|row| row.spent_sats).sum();
        let at = |row: Option<&&HistoryRow>| row.map(|row| time(self.world.oracle.monotone_time(row.height)));
        // Of equal ones the first.
        let largest = |steps: &[&Step]| {
            let step = steps.iter().rev().max_by_key(|step| step.sats)?;
            Some(json!({"txid": step.txid, "sats": step.sats, "time": time(step.time)}))
        };
        let net = received as i64 - sent as i64;
        let expected = json!({
            "transaction_count": rows.len(),
            "incoming_count": incoming.len(),
            "outgoing_count": outgoing.len(),
            "internal_count": of(&["transfer"]).len(),
            "active_days": rows.iter().map(|row| self.day(row)).collect::<BTreeSet<u32>>().len(),
            "received_sats": received,
            "sent_sats": sent,
            "net_sats": net,
            "net_btc": told["activity"]["net_btc"],
            "first_at": at(rows.first()),
            "last_at": at(rows.last()),
            "largest_incoming": largest(&incoming),
            "largest_outgoing": largest(&outgoing),
        });
        assert_eq!(told["activity"], expected, "{what}");
        assert_eq!((&told["from"], &told["to"]), (&json!(written(first)), &json!(written(last))), "{what}");
        assert_eq!(told["transaction_count"], self.rows.len(), "{what}");
        assert_numbers(&told["pnl"]["in_range"], &totals(&steps, rows.len()), &what.to_string());
    }
}

/// Scripts of which each but the first shares a transaction with another one, or is any.
fn some_scripts<'w>(world: &'w World, all: &[&'w ScriptBuf], rng: &mut ChaCha8Rng) -> Vec<&'w ScriptBuf> {
    let outputs = |row: &HistoryRow| -> Vec<ScriptBuf> {
        let (_, _, tx) = world.oracle.transactions(row.height).nth(row.tx_num.0 as usize).unwrap();
        let paid = tx.output.iter().map(|output| output.script_pubkey.clone());
        paid.chain(world.oracle.spent(row.tx_num).iter().map(|coin| coin.script.clone())).collect()
    };
    let mut chosen: Vec<&ScriptBuf> = Vec::new();
    for _ in 0..rng.random_range(1..=14) {
        let near = chosen.choose(rng).and_then(|script| world.oracle.history(script).choose(rng)).map(outputs);
        let near = near.unwrap_or_default();
        let near: Vec<&&ScriptBuf> = all.iter().filter(|script| near.contains(script)).collect();
        let next = if rng.random_bool(0.7) { near.choose(rng).copied() } else { None };
        chosen.push(next.unwrap_or_else(|| all.choose(rng).unwrap()));
    }
    chosen
}

/// The items of a request, and the script of each: some twice, some that the chain does not have.
fn items(chosen: &[&ScriptBuf], rng: &mut ChaCha8Rng) -> Vec<(Value, ScriptBuf)> {
    let mut scripts: Vec<ScriptBuf> = chosen.iter().map(|script| (*script).clone()).collect();
    for number in 0..rng.random_range(0..3) {
        scripts.insert(rng.random_range(0..=scripts.len()), fresh(200 + number));
        scripts.push(scripts.choose(rng).unwrap().clone());
    }
    let item = |script: ScriptBuf| {
        let text = if rng.random_bool(0.5) { raw(&script) } else { addr(&script) };
        (if rng.random_bool(0.8) { json!(text) } else { json!({"desc": text, "active": true, "timestamp": 1}) }, script)
    };
    scripts.into_iter().map(item).collect()
}

fn assert_balance(body: &Value, wallet: &Wallet<'_>, items: &[(Value, ScriptBuf)], what: &Value) {
    let (sats, count) = wallet.coins();
    assert_eq!((&body["balance"]["confirmed_sats"], &body["utxo_count"]), (&json!(sats), &json!(count)), "{what}");
    assert_eq!(body["balance"]["unconfirmed_sats"], Value::Null);
    assert_eq!(body["unconfirmed_tx_count"], Value::Null);
    let branch = |(item, (_, script)): (usize, &(Value, ScriptBuf))| {
        let used = u32::from(wallet.own.contains(&**script));
        let kind = &body["branches"][item]["script_type"];
        json!({"item": item, "step": null, "script_type": kind, "is_ranged": false, "scanned": 1, "used": used,
            "next_index": null, "next_address": null})
    };
    let branches: Vec<Value> = items.iter().enumerate().map(branch).collect();
    assert_eq!(body["branches"], json!(branches), "{what}");
    let mut rows = Vec::new();
    let mut seen = BTreeSet::new();
    for (at, (_, script)) in items.iter().enumerate() {
        let Some(totals) = wallet.world.oracle.totals(script).filter(|_| seen.insert(script)) else { continue };
        let balance = totals.balance_sats();
        rows.push(json!({"address": address(script), "script_hash": script_hash(script)["scripthash:".len()..],
            "branch": at, "index": 0, "tx_count": totals.tx_count, "balance_sats": balance,
            "balance_btc": body["addresses"][rows.len()]["balance_btc"], "received_sats": totals.funded_sats}));
    }
    assert_eq!((&body["address_count"], &body["addresses_omitted"]), (&json!(rows.len()), &json!(0)), "{what}");
    assert_eq!(body["addresses"], json!(rows), "{what}");
}

/// True if the script can be an item: longer scripts do not fit into a descriptor, and none has an empty script.
pub fn fits(script: &ScriptBuf) -> bool {
    (1..4_000).contains(&script.len())
}

/// Asks about one random wallet in all ways. Counts the cases that occurred.
async fn check(world: &World, market: &Market, rng: &mut ChaCha8Rng, seen: &mut BTreeMap<&'static str, usize>) {
    let all: Vec<&ScriptBuf> = world.oracle.scripts().filter(|script| fits(script)).collect();
    let chosen = some_scripts(world, &all, rng);
    check_wallet(world, market, &chosen, rng, seen).await;
}

/// Asks about one wallet in all ways.
async fn check_wallet(
    world: &World,
    market: &Market,
    chosen: &[&ScriptBuf],
    rng: &mut ChaCha8Rng,
    seen: &mut BTreeMap<&'static str, usize>,
) {
    let router = world.open_router();
    let items = items(chosen, rng);
    let wallet = Wallet::of(world, chosen.iter().map(|script| script.as_script()));
    let texts: Vec<&Value> = items.iter().map(|(item, _)| item).collect();

    let plain = ask(&router, &json!({"wallet": texts})).await;
    assert_balance(&plain, &wallet, &items, &json!(texts));
    assert!(["transactions", "balance_history", "dashboard", "pnl"].iter().all(|part| plain[*part].is_null()));

    let limits = [1, 2, 3, 7, 25, 100].into_iter().filter(|limit| wallet.rows.len() / limit < 12);
    for limit in limits {
        let mut body = json!({"wallet": texts, "include": ["transactions"], "limit": limit});
        let mut rows = Vec::new();
        loop {
            let page = ask(&router, &body).await["transactions"].clone();
            assert_eq!((&page["total"], &page["limit"]), (&json!(wallet.rows.len()), &json!(limit)));
            let told = page["transactions"].as_array().unwrap();
            rows.extend(told.clone());
            body["cursor"] = page["next_cursor"].clone();
            if page["next_cursor"].is_null() {
                break;
            }
            assert_eq!(told.len(), limit, "only the last page has fewer");
        }
        wallet.assert_rows(&rows, &body);
        rows.iter().for_each(|row| *seen.entry(wallet_way(row)).or_default() += 1);
    }

    let (first, last) = wallet.rows.first().map(|row| wallet.day(row)).zip(Some(wallet.tip_day())).unwrap();
    let mut day = || Some(rng.random_range(first - 2..=last + 2));
    for (from, to) in
        [(None, None), (day(), None), (None, day()), (Some(first - 1), day()), (Some(first + 3), Some(last))]
    {
        let body =
            json!({"wallet": texts, "include": ["balance_history"], "from": from.map(written), "to": to.map(written)});
        let body = without_nulls(body);
        let told = ask(&router, &body).await;
        assert_points(&told["balance_history"]["points"], &wallet.days(from, to), &body.to_string());
    }

    let (prices, price_now) = (|at| market.price("USD", at), market.price("USD", now()));
    let story = |method| Story::of_all(world, &wallet.own, method, &prices);
    for method in METHODS {
        let body = json!({"wallet": texts, "include": ["pnl"], "method": method, "explain": true});
        let told = &ask(&router, &body).await["pnl"];
        let (story, what) = (story(method), body.to_string());
        assert_report(told, &story, price_now.as_ref(), &what);
        let steps: Vec<&Step> = story.steps.iter().collect();
        assert_steps(told, &steps, &what);
        assert_eq!(story.sats(), wallet.coins().0);
        story.steps.iter().for_each(|step| *seen.entry(step.kind).or_default() += 1);
        let of = *story.years().keys().last().unwrap();
        let body = json!({"wallet": texts, "include": ["pnl"], "method": method, "explain": true, "year": of});
        let steps: Vec<&Step> = steps.into_iter().filter(|step| year(step.time) == of).collect();
        assert_steps(&ask(&router, &body).await["pnl"], &steps, &body.to_string());
    }

    let story = story("average");
    let today = wallet.tip_day();
    let middle = first + (today - first) / 2;
    let part = |days: u32| ((today + 1 - days), today);
    for (query, days) in [
        (json!({"range": "7d"}), part(7)),
        (json!({"range": "30d"}), part(30)),
        (json!({}), part(90)),
        (json!({"range": "1y"}), part(365)),
        (json!({"range": "all"}), (first, today)),
        (json!({"from": written(middle)}), (middle, today)),
        (json!({"to": written(middle)}), (first, middle)),
    ] {
        let mut body = json!({"wallet": texts, "include": ["dashboard", "pnl"]});
        body.as_object_mut().unwrap().extend(query.as_object().unwrap().clone());
        let told = ask(&router, &body).await;
        wallet.assert_activity(&told["dashboard"], &story, days, &body);
        assert_eq!(told["dashboard"]["pnl"]["holdings"], told["pnl"]["holdings"], "{body}");
    }
}

/// Returns the kind of movement: `in and out` if an incoming transaction also spent coins of the wallet.
fn wallet_way(row: &Value) -> &'static str {
    match row["direction"].as_str().unwrap() {
        "in" if row["sent_sats"] != 0 => "in and out",
        "in" => "in",
        "out" => "out",
        _ => "self",
    }
}

/// Parameters that are null are not given.
fn without_nulls(mut body: Value) -> Value {
    body.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    body
}

#[tokio::test]
async fn lookup_of_random_scripts_is_what_the_blocks_say() {
    let world = &years_world();
    let market = dollars(world);
    let (mut rng, mut seen) = (ChaCha8Rng::seed_from_u64(1), BTreeMap::new());
    for _ in 0..16 {
        check(world, &market, &mut rng, &mut seen).await;
    }
    let gainers = gainers::of(world);
    for pair in gainers.iter().step_by((gainers.len() / 8).max(1)) {
        check_wallet(world, &market, &[&pair[0], &pair[1]], &mut rng, &mut seen).await;
    }
    for what in ["acquisition", "income", "disposal", "fee", "transfer", "in", "out", "self", "in and out"] {
        assert!(seen.get(what).is_some_and(|count| *count >= 5), "{what}: {seen:?}");
    }
}

#[tokio::test]
async fn lookup_without_prices_is_what_the_blocks_say() {
    let world = &everything_world();
    let (mut rng, mut seen) = (ChaCha8Rng::seed_from_u64(2), BTreeMap::new());
    for _ in 0..6 {
        check(world, &Market::default(), &mut rng, &mut seen).await;
    }
    assert!(seen["transfer"] > 5, "{seen:?}");
}

/// An answer without the parts that show the address and the place of the page.
fn bare(body: &Value) -> Value {
    let mut body = body.clone();
    let names = [
        "_meta",
        "address",
        "addresses",
        "canonical_address",
        "offset",
        "next_offset",
        "next_cursor",
        "unconfirmed_total",
        "unconfirmed_reason",
        "unconfirmed_omitted",
        "caveat_codes",
    ];
    body.as_object_mut().unwrap().retain(|name, _| !names.contains(&&**name));
    body
}

#[tokio::test]
async fn lookup_of_one_script_is_what_the_address_is_answered() {
    let world = &years_world();
    dollars(world);
    let router = world.open_router();
    let scripts: Vec<&ScriptBuf> = world.oracle.scripts().filter(|script| fits(script)).collect();
    let mut most: Vec<&ScriptBuf> = scripts.clone();
    most.sort_by_key(|script| std::cmp::Reverse(world.oracle.history(script).len()));
    let nobody = fresh(99);
    for script in most[..12].iter().copied().chain(scripts.iter().copied().step_by(19)).chain([&nobody]) {
        let name = address(script).unwrap_or_else(|| script_hash(script));
        for item in [raw(script), addr(script)] {
            let include = ["pnl", "dashboard", "balance_history", "transactions"];
            let body = json!({"wallet": [item], "include": include, "method": "fifo", "range": "1y", "limit": 7});
            let told = ask(&router, &body).await;
            let all_days = ask(&router, &json!({"wallet": [item], "include": ["balance_history"]})).await;
            for (part, path, told) in [
                ("pnl", "pnl?method=fifo", &told),
                ("dashboard", "dashboard?range=1y", &told),
                ("balance_history", "balance-history", &all_days),
                ("transactions", "transactions?limit=7", &told),
            ] {
                let one = get(&router, &format!("/v1/wallets/{name}/{path}")).await;
                assert_eq!(one.status, 200, "{}", one.text);
                assert_eq!(bare(&told[part]), bare(&one.body), "{item} {part}");
            }
        }
    }
}

/// The parts that the sums out of the blocks do not have: counterparties, and the value over time.
#[tokio::test]
async fn lookup_has_the_dashboard_of_several_addresses() {
    let world = &years_world();
    dollars(world);
    let router = world.open_router();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let all: Vec<&ScriptBuf> = world.oracle.scripts().filter(|script| fits(script)).collect();
    for _ in 0..20 {
        let chosen = some_scripts(world, &all, &mut rng);
        let names: Vec<String> = chosen.iter().map(|script| script_hash(script)).collect();
        let target = format!("/v1/wallets/{}/dashboard?range=all&addresses={}", names[0], names.join(","));
        let several = get(&router, &target).await;
        assert_eq!(several.status, 200, "{target}: {}", several.text);
        let items: Vec<String> = chosen.iter().map(|script| raw(script)).collect();
        let body = json!({"wallet": items, "include": ["dashboard"], "range": "all"});
        assert_eq!(bare(&ask(&router, &body).await["dashboard"]), bare(&several.body), "{target}");
    }
}
