//! Campaigns of dust pings in the answers about an address; that their tables are right is tested with the engine.

use bitcoin::{Amount, OutPoint, ScriptBuf, TxOut, Txid, script::PushBytesBuf};
use cairn_chaingen::{BlockSpec, ChainBuilder, Lock, Style};
use cairn_events::{Category, Claim};
use serde_json::{Value, json};

use crate::{
    claims::{claim, take},
    support::{World, address, get, get_ok},
};

pub const STATUS: &str = "/v1/wallets/{address}/surveillance-status";

/// Scripts that are in use before they are sent dust.
const USED: u32 = 101;

/// A chain in the making, in which a service funds a sender of dust.
struct Dust {
    builder: ChainBuilder,
    service: ScriptBuf,
    sender: ScriptBuf,
    used: Vec<ScriptBuf>,
}

fn sats(value: u64) -> Amount {
    Amount::from_sat(value)
}

impl Dust {
    fn new() -> Self {
        let mut builder = ChainBuilder::new(91);
        let mut script = |key| builder.keyring().script(&Lock::P2wpkh { key }).unwrap();
        let (service, sender) = (script(1), script(2));
        let used: Vec<ScriptBuf> = (0..USED).map(|at| script(1_000 + at)).collect();
        for _ in 0..3 {
            builder.mine(&BlockSpec::paying(service.clone())).unwrap();
        }
        for _ in 0..101 {
            builder.mine(&BlockSpec::default()).unwrap();
        }
        let mut dust = Dust { builder, service: service.clone(), sender: sender.clone(), used };
        let payments = dust.used.iter().map(|script| TxOut { value: sats(50_000), script_pubkey: script.clone() });
        let payments = payments.collect();
        dust.pay(&service, payments);
        dust.pay(&service, vec![TxOut { value: sats(10_000_000), script_pubkey: sender }]);
        dust
    }

    fn coins(&self, script: &ScriptBuf) -> Vec<OutPoint> {
        let is_own = |at: &&OutPoint| self.builder.coin(at).is_some_and(|coin| coin.txout.script_pubkey == *script);
        let mut coins: Vec<OutPoint> = self.builder.spendable().iter().filter(is_own).copied().collect();
        coins.sort_by_key(|at| std::cmp::Reverse(self.builder.coin(at).unwrap().txout.value));
        coins
    }

    /// Spends coins in a block of its own; what is left goes back to a script.
    fn spend(&mut self, coins: &[OutPoint], mut outputs: Vec<TxOut>, back: &ScriptBuf) -> Txid {
        let all: Amount = coins.iter().map(|at| self.builder.coin(at).unwrap().txout.value).sum();
        let paid: Amount = outputs.iter().map(|output| output.value).sum();
        outputs.push(TxOut { value: all - paid - sats(10_000), script_pubkey: back.clone() });
        let tx = self.builder.spend(coins, outputs, &Style::default()).unwrap();
        let txid = self.builder.add(tx).unwrap();
        self.builder.mine(&BlockSpec::default()).unwrap();
        txid
    }

    /// Pays out of the largest coin of a script.
    fn pay(&mut self, from: &ScriptBuf, outputs: Vec<TxOut>) -> Txid {
        let coin = self.coins(from)[0];
        self.spend(&[coin], outputs, from)
    }

    /// Sends dust to the first scripts that are in use, with a text if there is one.
    fn ping(&mut self, count: u32, text: Option<&str>) -> Txid {
        let scripts = self.used.iter().take(count as usize);
        let mut outputs: Vec<TxOut> =
            scripts.map(|script| TxOut { value: sats(600), script_pubkey: script.clone() }).collect();
        if let Some(text) = text {
            let data = PushBytesBuf::try_from(text.as_bytes().to_vec()).unwrap();
            outputs.push(TxOut { value: Amount::ZERO, script_pubkey: ScriptBuf::new_op_return(data) });
        }
        let sender = self.sender.clone();
        self.pay(&sender, outputs)
    }

    fn world(self) -> World {
        World::of(self.builder.into_chain())
    }
}

/// A chain with a campaign, and an address that it paid, which has spent the dust together with another coin.
pub fn campaign_world() -> (World, String) {
    let mut dust = Dust::new();
    let first = dust.ping(100, Some("visit https://example.org"));
    let [victim, other] = [dust.used[0].clone(), dust.used[1].clone()];
    let coin = dust.coins(&victim).into_iter().find(|at| at.txid == first).unwrap();
    let more = dust.coins(&other)[0];
    dust.spend(&[coin, more], Vec::new(), &victim);
    (dust.world(), address(&victim).unwrap())
}

async fn status(world: &World, script: &ScriptBuf) -> Value {
    let path = STATUS.replace("{address}", &address(script).unwrap());
    get_ok(&world.open_router(), STATUS, &path).await
}

fn label(world: &World, at: u32, script: &ScriptBuf, category: Category) {
    let claim = Claim { category: Some(category), ..claim(script, "somebody") };
    take(world, "labels", 1_700_000_000 + at, true, &[claim]);
}

#[tokio::test]
async fn a_campaign_is_told_to_whom_it_paid() {
    let mut dust = Dust::new();
    let first = dust.ping(100, None);
    let second = dust.ping(3, None);
    // The first one spends its dust with a coin of the second one: that ties them.
    let [victim, other] = [dust.used[0].clone(), dust.used[1].clone()];
    let coins = dust.coins(&victim);
    let coin = *coins.iter().find(|at| at.txid == first).unwrap();
    let more = dust.coins(&other)[0];
    let spend = dust.spend(&[coin, more], Vec::new(), &victim);
    let (last, sender, service) = (dust.used[100].clone(), dust.sender.clone(), dust.service.clone());
    let world = &dust.world();
    let body = status(world, &victim).await;
    assert_eq!((&body["observed"], &body["truncated"]), (&true.into(), &false.into()));
    let [campaign] = &body["campaigns"].as_array().unwrap()[..] else { panic!("{body}") };
    assert_eq!((&campaign["basis"], &campaign["first_txid"]), (&"funding".into(), &first.to_string().into()));
    assert_eq!(campaign["last_txid"], second.to_string());
    let counts = ["ping_tx_count", "payment_count", "recipient_count"].map(|name| campaign[name].as_u64().unwrap());
    assert_eq!(counts, [2, 103, 100]);
    let pings = campaign["pings"].as_array().unwrap();
    let txids: Vec<&str> = pings.iter().map(|ping| ping["txid"].as_str().unwrap()).collect();
    assert_eq!(txids, [second.to_string(), first.to_string()]);
    let states = pings.iter().map(|ping| (&ping["coins"][0]["state"], &ping["coins"][0]["value_sats"]));
    assert!(states.eq([(&json!("unspent"), &json!(600)), (&json!("spent"), &json!(600))]));
    let [co_spent] = &body["co_spent_dust"].as_array().unwrap()[..] else { panic!("{body}") };
    assert_eq!((&co_spent["txid"], &co_spent["spent_txid"]), (&first.to_string().into(), &spend.to_string().into()));
    assert_eq!((&co_spent["other_input_count"], &co_spent["linked_script_count"]), (&json!(1), &json!(1)));
    assert_eq!(campaign["inscriptions_checked"], true, "the block files are at hand");
    // One that was paid once has the same campaign.
    let fourth = status(world, &script_of(world, first, 3)).await;
    assert_eq!((&fourth["campaigns"][0]["id"], &fourth["co_spent_dust"]), (&campaign["id"], &json!([])));
    assert_eq!(fourth["dust_payment_count"], 1);
    // Who was not paid, and who pays, sees none.
    for script in [&last, &sender, &service] {
        let body = status(world, script).await;
        assert_eq!((&body["observed"], &body["campaigns"]), (&false.into(), &json!([])), "{body}");
    }
    let unused = get_ok(
        &world.open_router(),
        STATUS,
        &STATUS.replace("{address}", &"scripthash:00".replace("00", &"00".repeat(32))),
    )
    .await;
    assert_eq!((&unused["observed"], &unused["tx_count"]), (&false.into(), &json!(0)));

    // The service that funds the sender is known now: the campaign begins with its first ping.
    label(world, 1, &service, Category::Exchange);
    let body = status(world, &victim).await;
    let [funded] = &body["campaigns"].as_array().unwrap()[..] else { panic!("{body}") };
    assert_eq!((&funded["basis"], &funded["origin_txid"]), (&"transaction".into(), &first.to_string().into()));
    assert_ne!(funded["id"], campaign["id"]);
    // The sender is a known service: its pings are not a campaign.
    label(world, 2, &sender, Category::Faucet);
    let body = status(world, &victim).await;
    assert_eq!((&body["observed"], &body["from_service_count"]), (&false.into(), &json!(2)));
    // Pings of a known sender that is not a service are a campaign.
    label(world, 3, &sender, Category::User);
    assert_eq!(status(world, &victim).await["observed"], true);
}

/// The script of an output.
fn script_of(world: &World, txid: Txid, vout: usize) -> ScriptBuf {
    let all = world.oracle.transactions(world.oracle.tip().unwrap().0);
    let (_, _, tx) = all.into_iter().find(|(_, _, tx)| tx.compute_txid() == txid).unwrap();
    tx.output[vout].script_pubkey.clone()
}

#[tokio::test]
async fn a_text_is_what_pings_have_in_common() {
    let mut dust = Dust::new();
    let text = "legal notice: visit https://example.org";
    dust.ping(60, Some(text));
    // Those that both pay count once: a hundred are not reached yet.
    dust.ping(99, Some(text));
    let victim = dust.used[0].clone();
    let reached = {
        let mut more = dust;
        let before = more.builder.chain().clone();
        let world = &World::of(before);
        let body = status(world, &victim).await;
        assert_eq!((&body["observed"], &body["other_ping_count"]), (&false.into(), &json!(2)), "{body}");
        more.ping(100, Some(text));
        more
    };
    let world = &reached.world();
    let body = status(world, &victim).await;
    let [campaign] = &body["campaigns"].as_array().unwrap()[..] else { panic!("{body}") };
    assert_eq!((&campaign["basis"], &campaign["text"]), (&"op_return".into(), &text.into()));
    assert_eq!((&campaign["origin_txid"], &campaign["recipient_count"]), (&Value::Null, &json!(100)));
    assert_eq!(body["untrusted_content"], true);
    // It was announced once.
    world.engine.lock().unwrap().follow_feed(1_800_000_000).unwrap();
    let feed = get(&world.open_router(), "/v1/chain/activity-feed?types=dust_campaign").await;
    let [event] = &feed.body["events"].as_array().unwrap()[..] else { panic!("{}", feed.text) };
    assert_eq!((&event["type"], &event["count"]), (&"dust_campaign".into(), &json!(100)));
    assert_eq!((&event["txid"], &event["value_sats"]), (&campaign["last_txid"], &Value::Null));
    assert_eq!((&event["state"], &event["height"]), (&"standing".into(), &campaign["reached_height"]));
}

#[tokio::test]
async fn an_index_that_lacks_the_stage_says_so() {
    let dust = Dust::new();
    let victim = dust.used[0].clone();
    let world = &dust.world();
    world.engine.lock().unwrap().reindex(&["dust"], &cairn_pipeline::NoProgress).unwrap();
    let path = STATUS.replace("{address}", &address(&victim).unwrap());
    let reply = get(&world.open_router(), &path).await;
    crate::support::assert_problem(&reply, 503, "index_syncing");
    world.engine.lock().unwrap().follow_up(&cairn_pipeline::NoProgress, true).unwrap();
    assert_eq!(status(world, &victim).await["observed"], false);
}
