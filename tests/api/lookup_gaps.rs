//! Which addresses of descriptors and extended public keys are found: against scripts that are derived here, and a
//! naive walk over the indexes that are used.

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use bitcoin::{
    Network, PublicKey, ScriptBuf, XOnlyPublicKey, base58,
    bip32::{ChildNumber, DerivationPath, Xpriv, Xpub},
    secp256k1::{All, Secp256k1},
};
use cairn_chaingen::{BlockSpec, ChainBuilder};
use proptest::{
    prelude::{Strategy, any},
    test_runner::{Config, TestRunner},
};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use crate::{
    lookup::{Wallet, ask},
    support::{World, address},
};

/// Kinds of scripts in the order in which an extended public key stands for them, as descriptors.
pub const KINDS: [[&str; 2]; 4] = [["pkh(", ")"], ["sh(wpkh(", "))"], ["wpkh(", ")"], ["tr(", ")"]];
const TYPES: [&str; 4] = ["pubkeyhash", "scripthash", "witness_v0_keyhash", "witness_v1_taproot"];

/// Keys of an account, by BIP 32.
pub struct Account {
    secp: Secp256k1<All>,
    pub key: Xpub,
    /// The master key's fingerprint and the steps to the account.
    pub origin: String,
}

impl Account {
    pub fn new(seed: u8, account: u32) -> Self {
        let secp = Secp256k1::new();
        let master = Xpriv::new_master(Network::Regtest, &[seed; 32]).unwrap();
        let path: DerivationPath = format!("m/84h/1h/{account}h").parse().unwrap();
        let key = Xpub::from_priv(&secp, &master.derive_priv(&secp, &path).unwrap());
        let origin = format!("[{}/84h/1h/{account}h]", master.fingerprint(&secp));
        Account { secp, key, origin }
    }

    pub fn child(&self, steps: &[u32]) -> Xpub {
        let steps: Vec<ChildNumber> = steps.iter().map(|step| ChildNumber::from_normal_idx(*step).unwrap()).collect();
        self.key.derive_pub(&self.secp, &steps).unwrap()
    }

    pub fn script(&self, kind: usize, step: u32, index: u32) -> ScriptBuf {
        let key = PublicKey::new(self.child(&[step, index]).public_key);
        let witness = ScriptBuf::new_p2wpkh(&key.wpubkey_hash().unwrap());
        match kind {
            0 => ScriptBuf::new_p2pkh(&key.pubkey_hash()),
            1 => ScriptBuf::new_p2sh(&witness.script_hash()),
            2 => witness,
            _ => ScriptBuf::new_p2tr(&self.secp, XOnlyPublicKey::from(key.inner), None),
        }
    }

    /// With the first bytes of another kind of key (SLIP 132).
    pub fn with_prefix(&self, prefix: [u8; 4]) -> String {
        let mut bytes = self.key.encode();
        bytes[..4].copy_from_slice(&prefix);
        base58::encode_check(&bytes)
    }
}

pub const UPUB: [u8; 4] = [0x04, 0x4a, 0x52, 0x62];
pub const VPUB: [u8; 4] = [0x04, 0x5f, 0x1c, 0xf6];

/// The checksum of a descriptor, after the program in BIP 380.
pub fn checksum(text: &str) -> String {
    const LETTERS: &str =
        "0123456789()[],'/*abcdefgh@:$%{}IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~ijklmnopqrstuvwxyzABCDEFGH`#\"\\ ";
    const DIGITS: &[u8] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
    const STEPS: [u64; 5] = [0xf5_dee5_1989, 0xa9_fdca_3312, 0x1b_ab10_e32d, 0x37_06b1_677a, 0x64_4d62_6ffd];
    let mut sum = 1u64;
    let mut take = |value: u64| {
        let top = sum >> 35;
        sum = (sum & 0x7_ffff_ffff) << 5 ^ value;
        for (bit, step) in STEPS.iter().enumerate() {
            sum ^= if top >> bit & 1 == 1 { *step } else { 0 };
        }
    };
    let places: Vec<u64> = text.chars().map(|letter| LETTERS.find(letter).unwrap() as u64).collect();
    for three in places.chunks(3) {
        three.iter().for_each(|place| take(place & 31));
        take(three.iter().fold(0, |group, place| group * 3 + (place >> 5)));
    }
    (0..8).for_each(|_| take(0));
    sum ^= 1;
    let digits = (0..8).map(|at| char::from(DIGITS[(sum >> (5 * (7 - at)) & 31) as usize])).collect::<String>();
    format!("{text}#{digits}")
}

/// The indexes of branches that are used, by kind and step.
type Used = BTreeMap<(usize, u32), BTreeSet<u32>>;

/// Accounts with the indexes that the chain pays to.
struct Paid {
    world: World,
    accounts: Vec<(Account, Used)>,
}

impl Paid {
    fn of(all: Vec<(Account, Used)>) -> Self {
        let mut builder = ChainBuilder::new(41);
        let mut payees: Vec<(ScriptBuf, u64)> = Vec::new();
        for (account, used) in &all {
            for ((kind, step), indexes) in used {
                payees
                    .extend(indexes.iter().map(|index| (account.script(*kind, *step, *index), 1 + u64::from(*index))));
            }
        }
        for some in payees.chunks(200) {
            builder.mine(&BlockSpec { payees: some.to_vec(), ..BlockSpec::default() }).unwrap();
        }
        Paid { world: World::of(builder.into_chain()), accounts: all }
    }
}

/// The addresses found of a branch: their indexes, how many were looked at, and the index after the last used.
#[derive(PartialEq, Eq, Debug)]
struct Found {
    indexes: Vec<u32>,
    scanned: u32,
    next: Option<u32>,
}

/// Looks at one index after the other until `gap` of them were not used.
fn walk(used: &BTreeSet<u32>, gap: u32) -> Found {
    // Whether each index that was looked at is used.
    let mut looked: Vec<bool> = Vec::new();
    while looked.iter().rev().take_while(|is_used| !**is_used).count() < gap as usize {
        looked.push(used.contains(&(looked.len() as u32)));
    }
    let indexes: Vec<u32> = (0..looked.len() as u32).filter(|index| looked[*index as usize]).collect();
    let next = Some(indexes.last().map_or(0, |last| last + 1));
    Found { indexes, scanned: looked.len() as u32, next }
}

/// Looks at a range.
fn within(used: &BTreeSet<u32>, [first, last]: [u32; 2]) -> Found {
    let indexes: Vec<u32> = used.range(first..=last).copied().collect();
    let next = indexes.last().map_or(first, |index| index + 1);
    Found { indexes, scanned: last - first + 1, next: Some(next).filter(|next| *next <= last) }
}

/// A branch that an answer has to have.
struct Expected<'a> {
    item: usize,
    kind: usize,
    step: u32,
    /// Null where the key is below the account.
    told_step: Option<u32>,
    account: &'a Account,
    found: Found,
}

/// Checks branches, addresses and balance of an answer. Returns how many addresses it has.
fn assert_found(world: &World, body: &Value, expected: &[Expected<'_>], what: &str) -> usize {
    let branches = expected.iter().map(|of| {
        let next = of.found.next.map(|index| address(&of.account.script(of.kind, of.step, index)).unwrap());
        json!({"item": of.item, "step": of.told_step, "script_type": TYPES[of.kind], "is_ranged": true,
            "scanned": of.found.scanned, "used": of.found.indexes.len(), "next_index": of.found.next, "next_address": next})
    });
    assert_eq!(body["branches"], json!(branches.collect::<Vec<_>>()), "{what}");
    let mut scripts: Vec<ScriptBuf> = Vec::new();
    let mut rows = Vec::new();
    for (at, of) in expected.iter().enumerate() {
        for index in &of.found.indexes {
            let script = of.account.script(of.kind, of.step, *index);
            if !scripts.contains(&script) {
                rows.push(json!([address(&script), at, index, world.oracle.totals(&script).unwrap().balance_sats()]));
                scripts.push(script);
            }
        }
    }
    let told = body["addresses"].as_array().unwrap();
    let told = told.iter().map(|row| json!([row["address"], row["branch"], row["index"], row["balance_sats"]]));
    assert_eq!(told.collect::<Vec<_>>(), rows, "{what}");
    let (sats, count) = Wallet::of(world, scripts.iter().map(|script| script.as_script())).coins();
    assert_eq!(
        (&body["balance"]["confirmed_sats"], &body["utxo_count"], &body["address_count"]),
        (&json!(sats), &json!(count), &json!(rows.len())),
        "{what}"
    );
    rows.len()
}

fn used(rows: &[(usize, u32, &[u32])]) -> Used {
    rows.iter().map(|(kind, step, indexes)| ((*kind, *step), indexes.iter().copied().collect())).collect()
}

/// An account with gaps of 0, 1, 4, 5, 19, 20 and more than a thousand addresses, in the one kind or the other.
fn gaps() -> (Account, Used) {
    let used = used(&[
        (0, 0, &[0, 1, 3, 8]),
        (0, 1, &[1]),
        (1, 0, &[4, 10, 30]),
        (1, 1, &[]),
        (2, 0, &[0, 1, 2, 4, 9, 15, 35, 56, 77, 1_077]),
        (2, 1, &[0, 20, 40, 1_040, 2_041]),
        (3, 0, &[19, 39, 60]),
        (3, 1, &[20]),
    ]);
    (Account::new(7, 0), used)
}

/// All branches of an account's key that stand for these kinds.
fn branches<'a>((account, used): &'a (Account, Used), kinds: &[usize], gap: u32, item: usize) -> Vec<Expected<'a>> {
    let nothing = BTreeSet::new();
    let each = kinds.iter().flat_map(|kind| [(*kind, 0), (*kind, 1)]);
    let branch = each.map(|(kind, step)| {
        let found = walk(used.get(&(kind, step)).unwrap_or(&nothing), gap);
        Expected { item, kind, step, told_step: Some(step), account, found }
    });
    branch.collect()
}

#[tokio::test]
async fn lookup_finds_addresses_up_to_the_gap_limit() {
    let paid = Paid::of(vec![gaps()]);
    let (router, own) = (paid.world.open_router(), &paid.accounts[0]);
    let account = &own.0;
    let mut counts = BTreeSet::new();
    for gap in [1, 2, 5, 6, 20, 1_000] {
        let mut same: BTreeSet<usize> = BTreeSet::new();
        // In all forms that can express all kinds.
        let key = account.key.to_string();
        let each = |key: &str| KINDS.map(|[open, close]| format!("{open}{key}/<0;1>/*{close}"));
        let steps = KINDS.iter().flat_map(|[open, close]| [0, 1].map(|step| format!("{open}{key}/{step}/*{close}")));
        for items in [
            vec![key.clone()],
            vec![format!("{}{key}", account.origin)],
            each(&key).to_vec(),
            each(&format!("{}{key}", account.origin)).iter().map(|text| checksum(text)).collect(),
            steps.map(|text| checksum(&text)).collect(),
        ] {
            let body = ask(&router, &json!({"wallet": items, "gap_limit": gap})).await;
            let all = branches(own, &[0, 1, 2, 3], gap, 0).into_iter().enumerate();
            // The kinds or branches of an item.
            let of_item = 8 / items.len();
            let all: Vec<Expected<'_>> = all.map(|(at, branch)| Expected { item: at / of_item, ..branch }).collect();
            same.insert(assert_found(&paid.world, &body, &all, &format!("{items:?} {gap}")));
        }
        for (items, kinds) in [
            (json!([account.with_prefix(UPUB)]), [1].as_slice()),
            (json!([account.with_prefix(VPUB)]), &[2]),
            (json!([checksum(&format!("tr({key}/<0;1>/*)"))]), &[3]),
        ] {
            let body = ask(&router, &json!({"wallet": items, "gap_limit": gap})).await;
            assert_found(&paid.world, &body, &branches(own, kinds, gap, 0), &format!("{items} {gap}"));
        }
        assert_eq!(same.len(), 1);
        counts.extend(same);
        // A key below that of the account has its addresses directly; then nothing shows the step.
        let below = account.child(&[1]).to_string();
        let told = ask(&router, &json!({"wallet": [below], "gap_limit": gap})).await;
        let change = branches(own, &[0, 1, 2, 3], gap, 0).into_iter().filter(|branch| branch.step == 1);
        let change: Vec<Expected<'_>> = change.map(|branch| Expected { told_step: None, ..branch }).collect();
        assert_found(&paid.world, &told, &change, &format!("{below} {gap}"));
    }
    assert!(counts.len() > 4, "gap limits make a difference: {counts:?}");
    let (default, twenty) =
        (json!({"wallet": [account.key.to_string()]}), json!({"wallet": [account.key.to_string()], "gap_limit": 20}));
    assert_eq!(ask(&router, &default).await["branches"], ask(&router, &twenty).await["branches"]);
}

#[tokio::test]
async fn lookup_counts_what_several_items_stand_for_once() {
    let paid = Paid::of(vec![gaps()]);
    let (router, own) = (paid.world.open_router(), &paid.accounts[0]);
    let (account, key) = (&own.0, own.0.key.to_string());
    let items = [account.with_prefix(VPUB), key.clone(), format!("wpkh({key}/<0;1>/*)"), account.with_prefix(VPUB)];
    let body = ask(&router, &json!({"wallet": items})).await;
    let mut all = branches(own, &[2], 20, 0);
    all.extend(branches(own, &[0, 1, 2, 3], 20, 1));
    all.extend(branches(own, &[2], 20, 2));
    all.extend(branches(own, &[2], 20, 3));
    assert_found(&paid.world, &body, &all, "twice");
    // combo has pk beside pkh, wpkh and sh(wpkh), and no tr; nobody pays to pk here.
    let body = ask(&router, &json!({"wallet": [checksum(&format!("combo({key}/0/*)"))], "gap_limit": 5})).await;
    let types: Vec<&Value> = body["branches"].as_array().unwrap().iter().map(|branch| &branch["script_type"]).collect();
    assert_eq!(types, ["pubkey", TYPES[0], TYPES[2], TYPES[1]]);
    let (_, used) = own;
    let found = |kind| walk(&used[&(kind, 0)], 5).indexes.len();
    let told: Vec<&Value> = body["branches"].as_array().unwrap().iter().map(|branch| &branch["used"]).collect();
    assert_eq!(told, [0, found(0), found(2), found(1)]);
    assert_eq!(body["address_count"], found(0) + found(1) + found(2));
    assert_eq!(body["branches"][0]["next_address"], Value::Null, "pk has no address");
}

#[tokio::test]
async fn lookup_takes_what_listdescriptors_tells() {
    let paid = Paid::of(vec![gaps()]);
    let (router, own) = (paid.world.open_router(), &paid.accounts[0]);
    let (account, used) = own;
    let key = format!("{}{}", account.origin, account.key);
    let mut found = 0;
    for range in [[0, 999], [0, 0], [1, 1], [3, 9], [5, 8], [16, 35], [36, 36], [60, 2_041], [2_042, 2_100]] {
        let mut expected = Vec::new();
        let entries = (0..4).flat_map(|kind| [(kind, 0), (kind, 1)]).map(|(kind, step)| {
            let [open, close] = KINDS[kind];
            let nothing = BTreeSet::new();
            let found = within(used.get(&(kind, step)).unwrap_or(&nothing), range);
            expected.push(Expected { item: expected.len(), kind, step, told_step: Some(step), account, found });
            json!({
                "desc": checksum(&format!("{open}{key}/{step}/*{close}")),
                "timestamp": 1_700_000_000,
                "active": true,
                "internal": step == 1,
                "range": range,
                "next": 12,
                "next_index": 12,
            })
        });
        let entries: Vec<Value> = entries.collect();
        // The gap limit does not count here.
        let body = ask(&router, &json!({"wallet": entries, "gap_limit": 1})).await;
        found += assert_found(&paid.world, &body, &expected, &format!("{range:?}"));
    }
    assert!(found > 40, "{found}");
    // Without a range, the gap limit counts.
    let entries: Vec<Value> = KINDS
        .iter()
        .map(|[open, close]| json!({"desc": format!("{open}{key}/<0;1>/*{close}"), "internal": null}))
        .collect();
    let body = ask(&router, &json!({"wallet": entries, "gap_limit": 5})).await;
    let all = branches(own, &[0, 1, 2, 3], 5, 0).into_iter().enumerate();
    let all: Vec<Expected<'_>> = all.map(|(at, branch)| Expected { item: at / 2, ..branch }).collect();
    assert_found(&paid.world, &body, &all, "without a range");
}

/// Accounts whose indexes are used at random, closer or further apart.
fn random_accounts() -> Vec<(Account, Used)> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let mut account = |number| {
        let mut used = Used::new();
        for branch in (0..4).flat_map(|kind| [(kind, 0), (kind, 1)]) {
            let (widest, mut at) = ([1, 2, 6, 24][rng.random_range(0..4)], 0);
            for _ in 0..rng.random_range(0..9) {
                at += rng.random_range(0..=widest);
                used.entry(branch).or_default().insert(at);
                at += 1;
            }
        }
        (Account::new(9, number), used)
    };
    (0..12).map(&mut account).collect()
}

async fn assert_case(router: &Router, paid: &Paid, (number, kind, gap): (usize, usize, u32)) {
    let own = &paid.accounts[number];
    let key = &own.0.key;
    let (item, kinds) = match kind {
        0..=3 => (checksum(&format!("{}{key}/<0;1>/*{}", KINDS[kind][0], KINDS[kind][1])), vec![kind]),
        4 => (own.0.with_prefix(UPUB), vec![1]),
        5 => (own.0.with_prefix(VPUB), vec![2]),
        _ => (key.to_string(), vec![0, 1, 2, 3]),
    };
    let body = ask(router, &json!({"wallet": [item], "gap_limit": gap})).await;
    assert_found(&paid.world, &body, &branches(own, &kinds, gap, 0), &format!("{item} {gap} {:?}", own.1));
}

#[test]
fn lookup_walks_as_one_index_after_the_other() {
    let paid = Paid::of(random_accounts());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let router = paid.world.open_router();
    let cases = (
        0..paid.accounts.len(),
        0..7usize,
        (1..30u32, any::<bool>()).prop_map(|(gap, is_small)| if is_small { 1 + gap % 6 } else { gap }),
    );
    let mut runner = TestRunner::new(Config { cases: 250, failure_persistence: None, ..Config::default() });
    runner
        .run(&cases, |case| {
            runtime.block_on(assert_case(&router, &paid, case));
            Ok(())
        })
        .unwrap();
}
