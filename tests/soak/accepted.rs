//! Reports and hashes that the service has accepted: clients ask for them, reports are paid, and no hash is lost. Codes
//! for keys are redeemed.

use std::{
    sync::{Mutex, MutexGuard},
    thread,
    time::{Duration, Instant},
};

use bitcoin::{Address, Amount, ScriptBuf, TxOut, address::NetworkUnchecked};
use cairn_standin::{Payment, StandIn};
use cairn_state::{
    ChallengeSecrets, NewChallenge, NewCheckout, Offering, OpeningCheckout, PaymentInvoice, SeenPayment, State,
    StateUrl,
};
use cairn_support::{Cast, Client, loopback};
use rand::{Rng, seq::IndexedRandom};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

/// The node's wallet that pays for anchors.
pub const WALLET: &str = "stamps";
/// A watch-only descriptor of the test networks, to whose addresses reports are paid.
pub const DESCRIPTOR: &str = "wpkh(tpubDC5FSnBiZDMmhiuCmWAYsLwgLYrrT9rAqvTySfuCCrgsWz8wxMXUS9Tb9iVMvcRbvFcAHGkMD5Kx8koh4GquNGNTfohfk7pgjhaPCdXpoba/0/*)";
/// Feerate of a report's payment, in satoshis per 1,000 vbytes.
const FEERATE: u64 = 30_000;
/// Codes that are redeemed.
const CODES: usize = 3;
/// Most hashes that are looked at in the end.
const MAX_SAMPLE: usize = 1_000;
/// Longest time until the last hash is final: the lease of a killed process ends after a minute.
const PATIENCE: Duration = Duration::from_secs(240);

/// Answers to submissions.
pub struct Accepted {
    reports: Vec<String>,
    hashes: Vec<String>,
    /// Payments that reports wait for.
    unpaid: Vec<TxOut>,
    /// Codes that nobody has redeemed.
    codes: Vec<String>,
    /// A challenge of a sold call.
    challenge: Option<String>,
    /// A paid checkout, and its secret.
    checkout: Option<(String, String)>,
}

static ACCEPTED: Mutex<Accepted> = Mutex::new(Accepted {
    reports: Vec::new(),
    hashes: Vec::new(),
    unpaid: Vec::new(),
    codes: Vec::new(),
    challenge: None,
    checkout: None,
});

/// Returns what was accepted so far.
pub fn accepted() -> MutexGuard<'static, Accepted> {
    ACCEPTED.lock().unwrap()
}

/// Returns a hash that nobody has submitted.
pub fn new_hash(rng: &mut ChaCha8Rng) -> String {
    (0..8).map(|_| format!("{:08x}", rng.random::<u32>())).collect()
}

impl Accepted {
    /// Adds what an operation's answer accepts; `body` is that of the operation or of its tool.
    pub fn add(&mut self, operation: &str, body: &Value) {
        let data = match body["result"].is_object() {
            true => &body["result"]["structuredContent"]["data"],
            false => body,
        };
        let text = |name: &str| data[name].as_str().map(str::to_owned);
        match operation {
            "submit_timestamp" | "timestamp_hash" => self.hashes.extend(text("hash")),
            "submit_report" => {
                self.reports.extend(text("report_id"));
                let address = text("payment_address").and_then(|text| text.parse::<Address<NetworkUnchecked>>().ok());
                self.unpaid.extend(address.zip(data["amount_sats"].as_u64()).map(|(address, sats)| TxOut {
                    value: Amount::from_sat(sats),
                    script_pubkey: ScriptBuf::from(address.assume_checked()),
                }));
            }
            _ => {}
        }
    }

    /// Returns a report to ask for; every other time the first one, which is published.
    pub fn report(&self, rng: &mut ChaCha8Rng) -> Option<String> {
        if rng.random_bool(0.5) { self.reports.first() } else { self.reports.choose(rng) }.cloned()
    }

    /// Returns a hash to ask for; every other time the first one, which is final.
    pub fn hash(&self, rng: &mut ChaCha8Rng) -> Option<String> {
        if rng.random_bool(0.5) { self.hashes.first() } else { self.hashes.choose(rng) }.cloned()
    }

    /// Returns a code; nobody gets it again.
    pub fn code(&mut self) -> Option<String> {
        self.codes.pop()
    }

    /// Returns a challenge to ask for.
    pub fn challenge(&self) -> Option<String> {
        self.challenge.clone()
    }

    /// Returns a checkout to ask for, and its secret.
    pub fn checkout(&self) -> Option<(String, String)> {
        self.checkout.clone()
    }

    /// Returns the payment of a report that is not paid yet, and forgets it.
    pub fn payment(&mut self) -> Option<Payment> {
        self.unpaid.pop().map(|output| Payment { outputs: vec![output], ..Payment::at(FEERATE) })
    }
}

/// Sends a submission, as a client with an address of its own; its answer.
fn submit(cast: &Cast, path: &str, body: &Value) -> (u16, Value) {
    let server = cast.served.address().unwrap().parse().unwrap();
    let answer = loopback::Client::from(99, server).send(path, Some(body)).unwrap();
    (answer.status, answer.json())
}

/// Works on the database of the servers.
fn with_state<T>(cast: &Cast, work: impl AsyncFnOnce(&State) -> T) -> T {
    let url = StateUrl::in_folder(&cast.world.path("data"));
    Runtime::new().unwrap().block_on(async { work(&State::open(&url).await.unwrap()).await })
}

/// Stores a checkout that is paid, as a server that sells passes does. Returns its id and its secret.
fn bought(cast: &Cast) -> (String, String) {
    let now = cairn_clock::now_secs();
    let new = NewCheckout {
        plan: "wallet-monthly".to_owned(),
        price_sats: 5,
        valid_secs: 31 * 86_400,
        expires_at: now + 3_600,
    };
    let invoice =
        PaymentInvoice { provider: "simulated".to_owned(), payment_hash: [2; 32], invoice: "lnbcrt".to_owned() };
    with_state(cast, async |state| {
        let client = state.client_keys(now, 0).await.unwrap().hashes(|key| key.mac(&["soak"]));
        let opened = match state.open_lightning_checkout(new, invoice, &client, now).await.unwrap() {
            OpeningCheckout::Opened(opened) => *opened,
            other => panic!("{other:?}"),
        };
        let id = opened.checkout.id;
        state.note_checkout_payment(&id, &SeenPayment::of_invoice(5, now, 5), now).await.unwrap();
        (id, opened.secret.expose().to_owned())
    })
}

/// Stores a challenge, as a server that sells calls does. Returns its id.
fn offered(cast: &Cast) -> String {
    let secrets = ChallengeSecrets { root_key: [1; 32], macaroon: "macaroon".to_owned(), invoice: "lnbcrt".to_owned() };
    let now = cairn_clock::now_secs();
    let new = NewChallenge {
        token_id: [1; 32],
        payment_hash: [1; 32],
        secrets,
        capability: "tx_lookup".to_owned(),
        method: "GET".to_owned(),
        path_template: "/v1/tx/{txid}".to_owned(),
        resource_path: "/v1/tx/00".to_owned(),
        fingerprint: [1; 32],
        price_sats: 5,
        provider: "simulated".to_owned(),
        invoice_expires_at: now + 540,
        expires_at: now + 600,
    };
    with_state(cast, async |state| {
        let client = state.client_keys(now, 0).await.unwrap().hashes(|key| key.mac(&["soak"]));
        match state.add_challenge(new, &client, now).await.unwrap() {
            Offering::Offered(challenge) => challenge.id,
            other => panic!("{other:?}"),
        }
    })
}

/// Issues codes, fills the wallet, has the first report published and the first hash final.
pub fn begin(cast: &Cast, node: &StandIn) {
    let issue = |_| cast.world.stdout("keys codes issue --datadir data").trim().to_owned();
    accepted().codes = (0..CODES).map(issue).collect();
    accepted().challenge = Some(offered(cast));
    accepted().checkout = Some(bought(cast));
    node.world().create_wallet(WALLET);
    node.world().fund_wallet(WALLET, 200, 1_000_000).unwrap();
    let mut client = cast.client();
    let mut says = |path: &str, name: &str, value: &Value| client.ok(path).is_ok_and(|body| body[name] == *value);
    cast.wait_until("coins for anchors", || says("/v1/timestamp/quote", "available", &true.into()));
    let hash = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
    let (status, body) = submit(cast, "/v1/timestamp", &json!({ "hash": hash }));
    assert_eq!(status, 202, "{body}");
    accepted().add("submit_timestamp", &body);
    let address = "bcrt1qn0zpusylmg5zhuyplwdn5eel7q5junjutxwytm";
    let report = json!({ "address": address, "category": "scam", "description": "Never answered again." });
    let (status, body) = submit(cast, "/v1/community/reports", &report);
    assert_eq!(status, 202, "{body}");
    accepted().add("submit_report", &body);
    let payment = accepted().payment().unwrap();
    node.world().send(&payment).unwrap();
    let at = format!("/v1/timestamp/{hash}");
    cast.wait_until("the first anchor", || says(&at, "state", &"broadcast".into()));
    node.world().mine(6).unwrap();
    cast.wait_until("the first final hash", || says(&at, "state", &"final".into()));
    let at = format!("/v1/community/reports/{}/status", body["report_id"].as_str().unwrap());
    cast.wait_until("the first published report", || says(&at, "status", &"published".into()));
}

/// The hashes that were accepted become final, whatever was killed, evicted or reorganized. If there are more than
/// [`MAX_SAMPLE`], it looks at an even sample.
pub fn assert_all_final(cast: &Cast, node: &StandIn) {
    let mut client = cast.client();
    let hashes = accepted().hashes.clone();
    let step = hashes.len().div_ceil(MAX_SAMPLE);
    let mut open: Vec<String> = hashes.iter().step_by(step).cloned().collect();
    let looked_at = open.len();
    let began = Instant::now();
    while !open.is_empty() {
        open.retain(|hash| state_of(&mut client, hash) != "final");
        let waits = open.first().map(|hash| format!("{hash}: {}", state_of(&mut client, hash)));
        assert!(began.elapsed() < PATIENCE, "{} hashes are not final: {waits:?}\n{}", open.len(), cast.said());
        node.world().mine(1).unwrap();
        thread::sleep(Duration::from_secs(1));
    }
    eprintln!(
        "soak: {} hashes accepted, {looked_at} looked at: final; {} reports",
        hashes.len(),
        accepted().reports.len()
    );
}

fn state_of(client: &mut Client, hash: &str) -> String {
    let record = client.ok(&format!("/v1/timestamp/{hash}")).unwrap();
    record["state"].as_str().unwrap().to_owned()
}
