//! Counterparties of wallets (who paid them, and whom they paid), and their activity in a range of days, against a slow
//! computation out of the blocks and out of the claims that the test loads.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet, HashSet},
};

use bitcoin::{Amount, OutPoint, ScriptBuf, Transaction, TxOut};
use cairn_chaingen::{BlockSpec, ChainBuilder, Lock, Style};
use cairn_model::TxNum;
use cairn_support::cospending::paid_by_tx;
use jsonschema::Validator;
use serde_json::{Value, json};

use crate::{
    pnl::number,
    priced::{DAY, time},
    said::{Said, shared_world},
    support::{World, get, script_hash, validator},
};

const DASHBOARD: &str = "/v1/wallets/{address}/dashboard";
/// Most entities in an answer, and most scripts that are looked up.
const MAX_ENTITIES: usize = 50;
const MAX_SCRIPTS: usize = 20_000;
/// Parts of payments that are kept apart.
const MAX_PARTS: usize = 200_000;

/// Shares of an amount by the largest remainder, of equal ones the first.
pub fn shares(amount: u64, weights: &[u64]) -> Vec<u64> {
    let all: u128 = weights.iter().map(|weight| u128::from(*weight)).sum();
    let exact: Vec<u128> = weights.iter().map(|weight| u128::from(amount) * u128::from(*weight)).collect();
    let mut shares: Vec<u64> = exact.iter().map(|exact| (exact / all) as u64).collect();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|at| (Reverse(exact[*at] % all), *at));
    let left = amount - shares.iter().sum::<u64>();
    order[..left as usize].iter().for_each(|at| shares[*at] += 1);
    shares
}

/// The net effect of a transaction on a wallet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Net {
    In(u64),
    Out(u64),
    Inside,
    Nothing,
}

/// Who is on the other side.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Other {
    Script(ScriptBuf),
    CoinJoin,
    Mined,
}

/// Effect of a transaction on a wallet.
struct Step {
    num: TxNum,
    txid: String,
    time: u32,
    brought: u64,
    got: u64,
    net: Net,
    parts: Vec<(Other, u64)>,
}

impl Step {
    fn net_sats(&self) -> i64 {
        self.got as i64 - self.brought as i64
    }

    /// Satoshis that came in, and satoshis that went out.
    fn moved(&self) -> [u64; 2] {
        match self.net {
            Net::In(sats) => [sats, 0],
            Net::Out(sats) => [0, sats],
            Net::Inside | Net::Nothing => [0, 0],
        }
    }
}

#[derive(Clone, Default)]
struct Flow {
    received: u64,
    sent: u64,
    txs: BTreeSet<TxNum>,
    inherited: u64,
}

impl Flow {
    fn told(&self) -> Value {
        json!({"received_sats": self.received, "sent_sats": self.sent, "tx_count": self.txs.len()})
    }
}

/// How often what occurred.
type Seen = BTreeMap<&'static str, usize>;

/// A chain and what is said of its scripts.
struct Book<'w> {
    world: &'w World,
    said: &'w Said,
    txs: Vec<&'w Transaction>,
    coinjoins: HashSet<TxNum>,
    schema: Validator,
}

impl<'w> Book<'w> {
    fn of(world: &'w World, said: &'w Said) -> Self {
        let tip = world.oracle.tip().unwrap().0;
        let coinjoins = paid_by_tx(&world.oracle, tip).into_iter().filter(|(_, (_, is_coinjoin))| *is_coinjoin);
        let coinjoins = coinjoins.map(|(num, _)| num).collect();
        let txs = world.oracle.transactions(tip).map(|(_, _, tx)| tx).collect();
        Book { world, said, txs, coinjoins, schema: validator(DASHBOARD) }
    }

    /// The transactions of a wallet, in order.
    fn steps(&self, wallet: &[ScriptBuf]) -> Vec<Step> {
        let own: HashSet<&ScriptBuf> = wallet.iter().collect();
        let rows = own.iter().flat_map(|script| self.world.oracle.history(script));
        let all: BTreeMap<TxNum, u32> = rows.map(|row| (row.tx_num, row.height)).collect();
        all.into_iter().map(|(num, height)| self.step(num, self.world.oracle.monotone_time(height), &own)).collect()
    }

    fn step(&self, num: TxNum, time: u32, own: &HashSet<&ScriptBuf>) -> Step {
        let (tx, coins) = (self.txs[num.0 as usize], self.world.oracle.spent(num));
        let inputs = || coins.iter().map(|coin| (&coin.script, coin.value_sats));
        let outputs = || tx.output.iter().map(|output| (&output.script_pubkey, output.value.to_sat()));
        let sum = |parts: &mut dyn Iterator<Item = (&ScriptBuf, u64)>| parts.map(|(_, sats)| sats).sum::<u64>();
        let (all_in, all_out) = (sum(&mut inputs()), sum(&mut outputs()));
        let brought = sum(&mut inputs().filter(|(script, _)| own.contains(script)));
        let got = sum(&mut outputs().filter(|(script, _)| own.contains(script)));
        let stays = inputs().all(|(script, _)| own.contains(script))
            && outputs().all(|(script, sats)| own.contains(script) || sats == 0);
        let net = if brought == 0 {
            if got > 0 { Net::In(got) } else { Net::Nothing }
        } else if stays {
            Net::Inside
        } else {
            let share = (u128::from(all_in - all_out) * u128::from(brought) / u128::from(all_in)) as u64;
            match brought.cmp(&(got + share)) {
                std::cmp::Ordering::Greater => Net::Out(brought - got - share),
                std::cmp::Ordering::Less => Net::In(got + share - brought),
                std::cmp::Ordering::Equal => Net::Nothing,
            }
        };
        let of = |parts: &mut dyn Iterator<Item = (&ScriptBuf, u64)>, moved: u64| {
            let others: Vec<(&ScriptBuf, u64)> =
                parts.filter(|(script, sats)| *sats > 0 && !own.contains(script)).collect();
            let weights: Vec<u64> = others.iter().map(|(_, sats)| *sats).collect();
            let shares = shares(moved, &weights);
            others.into_iter().zip(shares).map(|((script, _), sats)| (Other::Script(script.clone()), sats)).collect()
        };
        let parts = match net {
            Net::In(sats) if tx.is_coinbase() => vec![(Other::Mined, sats)],
            Net::In(sats) | Net::Out(sats) if self.coinjoins.contains(&num) => vec![(Other::CoinJoin, sats)],
            Net::In(sats) => of(&mut inputs(), sats),
            Net::Out(sats) => of(&mut outputs(), sats),
            Net::Inside | Net::Nothing => Vec::new(),
        };
        Step { num, txid: tx.compute_txid().to_string(), time, brought, got, net, parts }
    }

    /// Counterparties that the wallet received from and sent to.
    fn counterparties(&self, steps: &[&Step], seen: &mut Seen) -> Value {
        let (mut sums, mut kept, mut left_out): (BTreeMap<&ScriptBuf, u64>, usize, HashSet<TxNum>) = Default::default();
        for step in steps {
            let of_scripts = matches!(&step.parts[..], [(Other::Script(_), _), ..]);
            if of_scripts && kept + step.parts.len() > MAX_PARTS {
                left_out.insert(step.num);
                kept += 1;
                continue;
            }
            kept += step.parts.len();
            for (other, sats) in &step.parts {
                if let Other::Script(script) = other {
                    *sums.entry(script).or_default() += sats;
                }
            }
        }
        let mut looked_up: Vec<(Reverse<u64>, &ScriptBuf)> =
            sums.into_iter().map(|(script, sats)| (Reverse(sats), script)).collect();
        looked_up.sort();
        let looked_up: HashSet<&ScriptBuf> =
            looked_up.into_iter().take(MAX_SCRIPTS).map(|(_, script)| script).collect();
        let (mut entities, mut buckets): (BTreeMap<&str, Flow>, BTreeMap<&str, Flow>) = Default::default();
        for step in steps {
            for (other, sats) in &step.parts {
                let (flow, is_inherited) = match other {
                    Other::Mined => (buckets.entry("mined"), false),
                    _ if left_out.contains(&step.num) => (buckets.entry("not_examined"), false),
                    Other::CoinJoin => (buckets.entry("coinjoin"), false),
                    Other::Script(script) if !looked_up.contains(script) => (buckets.entry("not_examined"), false),
                    Other::Script(script) => match self.said.owner(script) {
                        Some((entity, is_inherited)) => (entities.entry(entity), is_inherited),
                        None => (buckets.entry("unlabeled"), false),
                    },
                };
                let flow = flow.or_default();
                if let Net::In(_) = step.net {
                    flow.received += sats
                } else {
                    flow.sent += sats
                }
                flow.txs.insert(step.num);
                flow.inherited += if is_inherited { *sats } else { 0 };
            }
        }
        let mut saw = |what, is_so: bool| *seen.entry(what).or_default() += usize::from(is_so);
        for (bucket, flow) in &buckets {
            saw(if *bucket == "coinjoin" { "coinjoin" } else { "others" }, flow.received + flow.sent > 0);
            saw("mined", *bucket == "mined");
            saw("not examined", *bucket == "not_examined" && flow.txs.len() > 1);
            saw("unlabeled", *bucket == "unlabeled");
        }
        entities.values().for_each(|flow| saw("both sides", flow.received > 0 && flow.sent > 0));
        entities
            .values()
            .for_each(|flow| saw("partly inherited", (1..flow.received + flow.sent).contains(&flow.inherited)));
        entities.values().for_each(|flow| saw("entity", flow.received + flow.sent > 0));
        saw("other entities", entities.len() > MAX_ENTITIES);
        let mut entities: Vec<(&str, Flow)> = entities.into_iter().collect();
        entities.sort_by_key(|(name, flow)| (Reverse(flow.received + flow.sent), *name));
        let others = entities.split_off(entities.len().min(MAX_ENTITIES));
        // A transaction counts once for each of them.
        let rest = |of: fn(&Flow) -> u64| others.iter().map(|(_, flow)| of(flow)).sum::<u64>();
        let rest = json!({
            "received_sats": rest(|flow| flow.received),
            "sent_sats": rest(|flow| flow.sent),
            "tx_count": rest(|flow| flow.txs.len() as u64),
        });
        let entity = |(name, flow): (&str, Flow)| {
            let mut told = flow.told();
            (told["entity"], told["inherited_sats"]) = (name.into(), flow.inherited.into());
            told
        };
        let bucket = |name: &str| buckets.get(name).cloned().unwrap_or_default().told();
        json!({
            "entities": entities.into_iter().map(entity).collect::<Vec<_>>(),
            "other_entities": if others.is_empty() { Value::Null } else { rest },
            "unlabeled": bucket("unlabeled"),
            "coinjoin": bucket("coinjoin"),
            "mined": bucket("mined"),
            "not_examined": bucket("not_examined"),
        })
    }

    /// Asks for a wallet and some days, and compares the answer.
    async fn check(
        &self,
        router: &axum::Router,
        wallet: &[ScriptBuf],
        query: &str,
        days: (Option<u32>, Option<u32>),
        seen: &mut Seen,
    ) {
        let more = wallet[1..].iter().map(|script| script_hash(script)).collect::<Vec<_>>().join(",");
        let more = if more.is_empty() { more } else { format!("&addresses={more}") };
        let target = format!("{}?{query}{more}", DASHBOARD.replace("{address}", &script_hash(&wallet[0])));
        let reply = get(router, &target).await;
        assert_eq!(reply.status, 200, "{target}: {}", reply.text);
        let body = &reply.body;
        assert!(self.schema.is_valid(body), "{target}: {body}");
        let steps = self.steps(wallet);
        let today = self.world.oracle.headers().last().unwrap().monotone_time / DAY;
        let first = days.0.unwrap_or_else(|| steps.first().map_or(today, |step| step.time / DAY));
        let last = days.1.unwrap_or(today);
        assert_eq!([&body["from"], &body["to"]], [&date(first), &date(last)], "{target}");
        assert_eq!(body["transaction_count"], steps.len(), "{target}");
        let inside: Vec<&Step> = steps.iter().filter(|step| (first..=last).contains(&(step.time / DAY))).collect();
        assert_eq!(body["counterparties"], self.counterparties(&inside, seen), "{target}");
        let mut activity = body["activity"].clone();
        let net_btc = activity.as_object_mut().unwrap().remove("net_btc").unwrap();
        assert_eq!(activity, expected_activity(&inside), "{target}");
        assert_eq!(number(&net_btc, 8), activity["net_sats"].as_i64().map(i128::from), "{target}");
        // All parts together are what was acquired and disposed of.
        let parts = &body["counterparties"];
        let all = || parts["entities"].as_array().unwrap().iter().chain(parts.as_object().unwrap().values());
        let sum = |name: &str| all().filter_map(|part| part.get(name)?.as_u64()).sum::<u64>();
        let in_range = |name: &str| body["pnl"]["in_range"][name].as_u64().unwrap();
        assert_eq!(sum("received_sats"), in_range("acquired_sats") + in_range("mined_sats"), "{target}");
        assert_eq!(sum("sent_sats"), in_range("disposed_sats"), "{target}");
        for point in body["equity_curve"].as_array().unwrap() {
            let until = steps.iter().filter(|step| date(step.time / DAY).as_str() <= point["date"].as_str());
            assert_eq!(point["quantity_sats"], until.map(Step::net_sats).sum::<i64>(), "{target} {point}");
        }
        let mut saw = |what, count: usize| *seen.entry(what).or_default() += count;
        saw("answers", 1);
        let of = |is_so: &dyn Fn(&&&Step) -> bool| inside.iter().filter(is_so).count();
        saw("inside", of(&|step| step.net == Net::Inside));
        saw("nothing", of(&|step| step.net == Net::Nothing));
        saw("acquired with own inputs", of(&|step| step.moved()[0] > 0 && step.brought > 0));
        saw("acquired but holds less", of(&|step| step.moved()[0] > 0 && step.net_sats() < 0));
    }
}

fn date(day: u32) -> Value {
    time(day * DAY)[..10].into()
}

/// Sums over some transactions.
fn expected_activity(steps: &[&Step]) -> Value {
    let largest = |side: usize| {
        // Of equal ones the first.
        let best = steps.iter().rev().filter(|step| step.moved()[side] > 0).max_by_key(|step| step.moved()[side]);
        best.map(|step| json!({"txid": step.txid, "sats": step.moved()[side], "time": time(step.time)}))
    };
    let count = |is_so: fn(&Step) -> bool| steps.iter().filter(|step| is_so(step)).count();
    json!({
        "transaction_count": steps.len(),
        "incoming_count": count(|step| step.moved()[0] > 0),
        "outgoing_count": count(|step| step.moved()[1] > 0),
        "internal_count": count(|step| step.net == Net::Inside),
        "active_days": steps.iter().map(|step| step.time / DAY).collect::<BTreeSet<_>>().len(),
        "received_sats": steps.iter().map(|step| step.got).sum::<u64>(),
        "sent_sats": steps.iter().map(|step| step.brought).sum::<u64>(),
        "net_sats": steps.iter().map(|step| step.net_sats()).sum::<i64>(),
        "first_at": steps.first().map(|step| time(step.time)),
        "last_at": steps.last().map(|step| time(step.time)),
        "largest_incoming": largest(0),
        "largest_outgoing": largest(1),
    })
}

/// Ranges of days: the parameters, the first day (by default that of the first transaction) and the last one (by
/// default today).
fn ranges(world: &World) -> Vec<(String, (Option<u32>, Option<u32>))> {
    let today = world.oracle.headers().last().unwrap().monotone_time / DAY;
    let day = |day| date(day).as_str().unwrap().to_owned();
    let back = |days: u32| (Some(today + 1 - days), None);
    vec![
        ("range=all".to_owned(), (None, None)),
        (String::new(), back(90)),
        ("range=7d".to_owned(), back(7)),
        (format!("from={}&to={}", day(today - 100), day(today - 8)), (Some(today - 100), Some(today - 8))),
        ("range=30d".to_owned(), back(30)),
        (format!("from={}", day(today - 62)), (Some(today - 62), None)),
        ("range=90d".to_owned(), back(90)),
        (format!("to={}", day(today)), (None, None)),
        ("range=1y".to_owned(), back(365)),
        (format!("from={}&to=2199-01-01", day(today - 1)), (Some(today - 1), None)),
    ]
}

#[tokio::test]
async fn of_one_script_are_those_of_the_blocks_and_the_claims() {
    let (world, _) = shared_world(true);
    let said = Said::take(&world);
    let (book, router, ranges) = (Book::of(&world, &said), world.open_router(), ranges(&world));
    let mut scripts: Vec<&ScriptBuf> = world.oracle.scripts().collect();
    scripts.sort_by_key(|script| (Reverse(world.oracle.history(script).len()), (*script).clone()));
    let step = (scripts.len() / 200).max(1);
    let mut seen = Seen::new();
    for (at, script) in scripts.iter().take(40).chain(scripts.iter().skip(40).step_by(step)).enumerate() {
        for (query, days) in [&ranges[0], &ranges[1 + at % (ranges.len() - 1)]] {
            book.check(&router, &[(*script).clone()], query, *days, &mut seen).await;
        }
    }
    for what in ["coinjoin", "mined", "unlabeled", "entity", "both sides", "partly inherited", "inside"] {
        assert!(seen[what] > 3, "{what}: {seen:?}");
    }
    assert!(seen["answers"] >= 400, "{seen:?}");
}

#[tokio::test]
async fn of_unions_are_those_of_the_blocks_and_the_claims() {
    let (world, truth) = shared_world(false);
    let said = Said::take(&world);
    let (book, router, ranges) = (Book::of(&world, &said), world.open_router(), ranges(&world));
    // Wallets: the scripts of each owner, clusters, and scripts that have nothing to do with each other.
    let mut wallets: BTreeMap<u32, Vec<ScriptBuf>> = BTreeMap::new();
    for script in world.oracle.scripts() {
        wallets.entry(truth.owner(script).map_or(u32::MAX, |owner| owner)).or_default().push(script.clone());
    }
    let mut wallets: Vec<Vec<ScriptBuf>> = wallets.into_values().collect();
    wallets.extend(said.clusters().all().filter(|all| all.len() > 2).map(|all| all.into_iter().cloned().collect()));
    let mut all: Vec<ScriptBuf> = world.oracle.scripts().cloned().collect();
    all.sort_by_key(|script| script_hash(script));
    for size in [2, 5, 30, 100] {
        wallets.extend(all.chunks(size).take(12).map(<[ScriptBuf]>::to_vec));
    }
    // One that no block has, and one twice.
    wallets.push(vec![ScriptBuf::from(vec![0x51, 0x93, 0x77]), all[3].clone(), all[5].clone(), all[3].clone()]);
    wallets.push(vec![ScriptBuf::from(vec![0x51, 0x93, 0x77])]);
    let mut seen = Seen::new();
    for (at, wallet) in wallets.iter().enumerate() {
        for (query, days) in
            [&ranges[0], &ranges[1 + at % (ranges.len() - 1)], &ranges[1 + at / 2 % (ranges.len() - 1)]]
        {
            book.check(&router, &wallet[..wallet.len().min(101)], query, *days, &mut seen).await;
        }
    }
    for what in [
        "coinjoin",
        "mined",
        "unlabeled",
        "both sides",
        "partly inherited",
        "other entities",
        "inside",
        "acquired with own inputs",
    ] {
        assert!(seen[what] > 3, "{what}: {seen:?}");
    }
}

#[tokio::test]
async fn beyond_the_bounds_are_not_examined() {
    // One wallet pays the same 20 100 scripts in ten transactions: the last one has too many parts, and 100 scripts
    // have too little.
    let mut builder = ChainBuilder::new(5);
    let wallet = builder.keyring().script(&Lock::anyone()).unwrap();
    for _ in 0..110 {
        builder.mine(&BlockSpec::paying(wallet.clone())).unwrap();
    }
    let payee = |at: u64| ScriptBuf::from([&[0x00, 0x14][..], &[7; 12], &at.to_be_bytes()].concat());
    let coins: Vec<OutPoint> =
        builder.spendable().iter().filter(|at| builder.is_mature(at)).take(10).copied().collect();
    for coin in coins {
        let pay = |at| TxOut { value: Amount::from_sat(1_000 + 20 * at), script_pubkey: payee(at) };
        let tx = builder.spend(&[coin], (0..20_100).map(pay).collect(), &Style::default()).unwrap();
        builder.add(tx).unwrap();
        builder.mine(&BlockSpec::default()).unwrap();
    }
    let world = World::of(builder.into_chain());
    let these = [(3, "small"), (99, "small"), (100, "large"), (20_099, "large"), (5_000, "other")];
    let said = Said::take_these(&world, these.into_iter().map(|(at, entity)| (payee(at), entity)).collect());
    let (book, mut seen) = (Book::of(&world, &said), Seen::new());
    book.check(&world.open_router(), &[wallet], "range=all", (None, None), &mut seen).await;
    assert_eq!((seen["not examined"], seen["entity"]), (1, 2), "{seen:?}");
}
