//! `cairn access`: reports of sold calls, challenges that are opened again or paid and unused, payments of the
//! simulated node, and settings that are refused.

use std::{fs, sync::Arc};

use assert_cmd::assert::Assert;
use cairn_clock::now_secs;
use cairn_lightning::{InvoiceStore, Invoices, MemoryStore, NewInvoice, Secret, Simulated};
use cairn_model::Network;
use cairn_state::{
    Challenge, ChallengeSecrets, Checkout, Leasing, NewChallenge, NewCheckout, Offering, OpeningCheckout,
    PaymentInvoice, Redeeming, SeenPayment, SimulatedInvoice, State, StateUrl,
};
use cairn_support::{World, fails, get, get_json};
use serde_json::Value;

use crate::{CAIRN, keys::get_with};

const XPRV: &str =
    "xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3TGtRBeJgk33yuGBxrMPHi";
const CSV_HEADER: &str = "id,capability,path,sats,paid_at,redeemable\n";

fn empty() -> World {
    let world = World::empty(CAIRN);
    fs::create_dir(world.path("data")).unwrap();
    world
}

/// Works on the service state, as a server does.
fn with_state<T>(world: &World, work: impl AsyncFnOnce(&State) -> T) -> T {
    let url = StateUrl::in_folder(&world.path("data"));
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let state = State::open(&url).await.unwrap();
        let result = work(&state).await;
        state.close().await;
        result
    })
}

/// Standard output and standard error of a command that succeeds.
fn said(world: &World, line: &str) -> (String, String) {
    let assert = world.run(line).success();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&assert.get_output().stdout), text(&assert.get_output().stderr))
}

/// Makes an invoice of a simulated node. Its key does not matter, because rows decide what is paid.
fn invoice(label: &str) -> SimulatedInvoice {
    let store = Arc::new(MemoryStore::default());
    let of_node = Arc::<MemoryStore>::clone(&store);
    let node = Simulated::new(Network::Regtest, &Secret::new("11".repeat(32)), of_node).unwrap();
    let made = node.create(&NewInvoice::new(10, "a call", 600, label).unwrap()).unwrap();
    let stored = store.get(&made.payment_hash).unwrap().unwrap();
    SimulatedInvoice {
        label: stored.label,
        payment_hash: stored.payment_hash.0,
        preimage: *stored.preimage.as_bytes(),
        bolt11: stored.bolt11,
        amount_sats: stored.amount_sats,
        expires_at: stored.expires_at,
        paid_at: None,
    }
}

/// Stores a challenge with this payment hash.
async fn offered(state: &State, payment_hash: [u8; 32], provider: &str) -> Challenge {
    let now = now_secs();
    let client = state.client_keys(now, 0).await.unwrap().hashes(|key| key.mac(&["l402", "ann"]));
    let new = NewChallenge {
        token_id: payment_hash,
        payment_hash,
        secrets: ChallengeSecrets {
            root_key: [0xab; 32],
            macaroon: "macaroon".to_owned(),
            invoice: "lnbcrt".to_owned(),
        },
        capability: "tx_lookup".to_owned(),
        method: "GET".to_owned(),
        path_template: "/v1/tx/{txid}".to_owned(),
        resource_path: "/v1/tx/a,b".to_owned(),
        fingerprint: payment_hash,
        price_sats: 10,
        provider: provider.to_owned(),
        invoice_expires_at: now + 540,
        expires_at: now + 600,
    };
    match state.add_challenge(new, &client, now).await.unwrap() {
        Offering::Offered(challenge) => *challenge,
        other => panic!("{other:?}"),
    }
}

async fn redeem(state: &State, of: &Challenge) {
    let (content, now) = (&of.content, now_secs());
    match state.lease_challenge(&content.token_id, &content.fingerprint, "a test", 30, now).await.unwrap() {
        Leasing::Leased(lease) => assert_eq!(state.redeem_challenge(&lease, now).await.unwrap(), Redeeming::Done),
        other => panic!("{other:?}"),
    }
}

/// Opens a checkout with this payment hash, which expired at `expires_at`.
async fn checkout(state: &State, payment_hash: [u8; 32], provider: &str, expires_at: u64) -> Checkout {
    let now = now_secs();
    let client = state.client_keys(now, 0).await.unwrap().hashes(|key| key.mac(&["checkout", "ann"]));
    let new = NewCheckout { plan: "wallet-monthly".to_owned(), price_sats: 9_000, valid_secs: 31 * 86_400, expires_at };
    let invoice = PaymentInvoice { provider: provider.to_owned(), payment_hash, invoice: "lnbcrt".to_owned() };
    match state.open_lightning_checkout(new, invoice, &client, now).await.unwrap() {
        OpeningCheckout::Opened(opened) => opened.checkout,
        other => panic!("{other:?}"),
    }
}

#[test]
fn sales_are_reported() {
    let world = empty();
    let csv = "access report --datadir data --format csv";
    let (list, about) = said(&world, csv);
    assert_eq!(list, "day,capability,method,count,amount,unit\n");
    assert!(about.contains("0 open challenges, 0 settlements"), "{about}");
    assert_eq!(world.stdout("access report --datadir data"), "day  capability  method  count  amount  unit\n");
    with_state(&world, async |state| {
        redeem(state, &offered(state, [1; 32], "simulated").await).await;
        offered(state, [2; 32], "simulated").await;
    });
    let (list, about) = said(&world, csv);
    assert!(list.ends_with(",tx_lookup,l402,1,10,sats\n") && list.lines().count() == 2, "{list}");
    assert!(about.contains("1 open challenges") && about.contains("0 open checkouts, 0 passes"), "{about}");
    with_state(&world, async |state| {
        let now = now_secs();
        let sold = checkout(state, [3; 32], "simulated", now + 60).await;
        state.note_checkout_payment(&sold.id, &SeenPayment::of_invoice(9_000, now, 9_000), now).await.unwrap();
        checkout(state, [4; 32], "simulated", now + 600).await;
    });
    let (list, about) = said(&world, csv);
    assert!(list.ends_with(",wallet-monthly,lightning,1,9000,sats\n") && list.lines().count() == 3, "{list}");
    assert!(about.contains("1 open checkouts, 0 passes"), "{about}");
    // A range without today.
    assert_eq!(said(&world, &format!("{csv} --from 2020-01-01 --until 2020-12-31")).0.lines().count(), 1);
    fails(world.run("access report"), 2, &["--datadir is missing"]);
    for (range, says) in [
        ("--from 2026-02-30", "for example 2026-11-29"),
        ("--until 2026-11-01 --from 2026-11-29", "1 to 400 days"),
        ("--until 2026-11-01 --from 2020-11-29", "1 to 400 days"),
    ] {
        fails(world.run(&format!("{csv} {range}")), 2, &[says]);
    }
}

#[test]
fn challenges_are_opened_again_once() {
    let world = empty();
    let reopen = |id: &str| world.run(&format!("access reopen --datadir data --reason lost {id}"));
    fails(reopen("ch_0"), 1, &["there is no challenge \"ch_0\"", "402 answer"]);
    let challenge = with_state(&world, async |state| offered(state, [1; 32], "simulated").await);
    let id = challenge.id.as_str();
    fails(reopen(id), 1, &["was not redeemed", "nothing to open"]);
    let empty_list = "challenge  redeemed  opened again  reason\n";
    assert_eq!(world.stdout("access reopened --datadir data"), empty_list);
    with_state(&world, async |state| redeem(state, &challenge).await);
    let long = "x".repeat(501);
    fails(world.run(&format!("access reopen --datadir data --reason {long} {id}")), 2, &["1 to 500 characters"]);
    let done = String::from_utf8(reopen(id).success().get_output().stdout.clone()).unwrap();
    assert!(done.starts_with(&format!("{id} can be redeemed once more until 2")), "{done}");
    fails(reopen(id), 1, &["was opened again at 2", "possible once", "cairn keys codes issue"]);
    let list = world.stdout("access reopened --datadir data");
    assert!(list.lines().count() == 2 && list.contains(id) && list.ends_with("  lost\n"), "{list}");
    fails(world.run("access reopen --datadir data ch_0"), 2, &["--reason"]);
}

#[test]
fn simulated_invoices_are_paid_once() {
    let world = empty();
    let pay = |bolt11: &str| world.run(&format!("access pay --datadir data {bolt11}"));
    let (ours, foreign) = (invoice("ours"), invoice("foreign"));
    let ended = SimulatedInvoice { expires_at: 1_700_000_000, ..invoice("ended") };
    with_state(&world, async |state| {
        for row in [&ours, &ended] {
            assert!(state.add_simulated_invoice(row).await.unwrap());
        }
    });
    for not_ours in [foreign.bolt11.as_str(), "lnbc1", "x"] {
        fails(pay(not_ours), 1, &["not an invoice of the simulated backend", "--state-url"]);
    }
    fails(pay(&ended.bolt11), 1, &["expired at 2023-11-14T22:13:20Z"]);
    let paid = String::from_utf8(pay(&ours.bolt11).success().get_output().stdout.clone()).unwrap();
    assert_eq!(paid, format!("{}\n", hex::encode(ours.preimage)));
    fails(pay(&ours.bolt11), 1, &["already paid"]);
    // It pays with nothing else than what the settings name.
    for backend in ["lnd", "core-lightning", "phoenixd"] {
        let line = format!("access pay --datadir data --lightning {backend} {}", foreign.bolt11);
        fails(world.run(&line), 2, &[backend, "no wallet", "--lightning simulated"]);
    }
}

#[test]
fn payments_that_were_never_redeemed_are_found() {
    let world = empty();
    let line = "access reconcile --datadir data --format csv";
    fails(world.run(line), 2, &["--lightning is missing", "CAIRN_LIGHTNING"]);
    let simulated = format!("{line} --lightning simulated");
    assert_eq!(said(&world, &simulated).0, CSV_HEADER);
    let (paid, open) = (invoice("paid"), invoice("open"));
    let challenge = with_state(&world, async |state| {
        for row in [&paid, &open] {
            assert!(state.add_simulated_invoice(row).await.unwrap());
        }
        offered(state, open.payment_hash, "simulated").await;
        offered(state, [2; 32], "simulated").await;
        offered(state, [3; 32], "phoenixd").await;
        offered(state, paid.payment_hash, "simulated").await
    });
    world.run(&format!("access pay --datadir data {}", paid.bolt11)).success();
    let (list, about) = said(&world, &simulated);
    let row = list.strip_prefix(CSV_HEADER).unwrap();
    assert!(row.starts_with(&format!("{},tx_lookup,\"/v1/tx/a,b\",10,2", challenge.id)), "{row}");
    assert!(row.contains(",until 2") && row.lines().count() == 1, "{row}");
    assert!(about.contains("1 paid, 1 unpaid, 1 unknown to simulated, 1 of another Lightning node"), "{about}");
    with_state(&world, async |state| redeem(state, &challenge).await);
    assert_eq!(said(&world, &simulated).0, CSV_HEADER);

    // Checkouts too, whatever their expiry; and the payment is noted.
    let of_pass = invoice("pass");
    let sold = with_state(&world, async |state| {
        assert!(state.add_simulated_invoice(&of_pass).await.unwrap());
        let old = now_secs() - 20 * 86_400;
        checkout(state, [5; 32], "simulated", old).await;
        checkout(state, [6; 32], "phoenixd", old).await;
        checkout(state, of_pass.payment_hash, "simulated", old).await
    });
    let summary = |paid: u32, unknown: u32| {
        format!("Checkouts that were not known as paid: {paid} paid, 0 unpaid, {unknown} unknown to simulated, 1 of")
    };
    world.run(&format!("access pay --datadir data {}", of_pass.bolt11)).success();
    let (list, about) = said(&world, &simulated);
    let row = list.strip_prefix(CSV_HEADER).unwrap();
    assert!(row.starts_with(&format!("{0},wallet-monthly,/v1/billing/checkout/{0},9000,2", sold.id)), "{row}");
    assert!(row.contains(",until 2") && row.lines().count() == 1 && about.contains(&summary(1, 1)), "{row}{about}");
    let (list, about) = said(&world, &simulated);
    assert!(list == CSV_HEADER && about.contains(&summary(0, 1)), "{list}{about}");
    with_state(&world, async |state| {
        let key = state.claim_checkout(&sold.id, now_secs()).await.unwrap();
        assert!(matches!(key, cairn_state::Claiming::Done(..)), "{key:?}");
    });

    // A node that is away: the failure is named, and the credential is not.
    let mut command = world.command(&format!("{line} --lightning phoenixd --lightning-url http://127.0.0.1:1"));
    let assert = Assert::new(command.env("CAIRN_LIGHTNING_CREDENTIAL", "hunter2").output().unwrap());
    let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
    assert!(!text.contains("hunter2"), "{text}");
    fails(assert, 1, &["1 challenges could not be looked up", "cannot reach phoenixd", "when phoenixd answers"]);
}

#[test]
fn settings_that_cannot_sell_are_refused() {
    let world = World::empty(CAIRN);
    let run = |network: &str, settings: &str| {
        world.run(&format!("run --network {network} --datadir data --access-mode live {settings}"))
    };
    for network in ["main", "testnet3", "testnet4", "signet"] {
        let says = format!("on regtest only, not on {network}");
        fails(run(network, "--lightning simulated"), 2, &[&says, "lnd, core-lightning or phoenixd"]);
    }
    fails(world.run("serve --access-mode live"), 2, &["--datadir is missing"]);
    fails(run("main", "--lightning lnd --lightning-url https://127.0.0.1:8080"), 2, &["lnd needs a credential"]);
    fails(run("main", "--lightning eclair"), 2, &["lnd, core-lightning, phoenixd, simulated"]);
    fails(run("main", "--lightning lnd --lightning-timeout-ms 99"), 2, &["from 100 to 30000"]);
    // A private key is refused in every mode, and shown nowhere.
    for line in ["run --network main --datadir data --lightning lnd", "access reconcile --datadir data --lightning lnd"]
    {
        let assert = Assert::new(world.command(line).env("CAIRN_LIGHTNING_CREDENTIAL", XPRV).output().unwrap());
        let text = String::from_utf8_lossy(&assert.get_output().stderr).into_owned();
        assert!(!text.contains("xprv9"), "{text}");
        fails(assert, 2, &["lightning_credential looks like a private key", "invoices:read invoices:write info:read"]);
    }
    let shown = world.command("config").env("CAIRN_LIGHTNING_CREDENTIAL", XPRV).output().unwrap();
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(shown.contains("lightning_credential = \"********\"") && !shown.contains("xprv9"), "{shown}");
    assert!(!world.path("data").exists());
}

#[test]
fn a_demo_sells_a_call_that_access_pay_pays() {
    let world = World::empty(CAIRN);
    let mut running =
        world.start("demo --still --access-mode live --lightning simulated --datadir demo --listen 127.0.0.1:0");
    let address = running.address();
    running.wait_for("calls are sold over Lightning");
    let block = get_json(&address, "/v1/blocks/100");
    let path = format!("/v1/tx/{}", block["transactions"][0]["txid"].as_str().unwrap());
    let (status, body) = get(&address, &path);
    let offer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(status, 402, "{offer}");
    let payment = &offer["payment_options"]["l402"]["payment"];
    let text = |name: &str| payment[name].as_str().unwrap_or_else(|| panic!("no {name}: {offer}")).to_owned();
    let preimage = world.stdout(&format!("access pay --datadir demo {}", text("invoice")));
    let header = format!("Authorization: L402 {}:{}", text("macaroon"), preimage.trim());
    // Paid and not redeemed yet.
    let reconcile = "access reconcile --datadir demo --lightning simulated --format csv";
    assert_eq!(said(&world, reconcile).0.lines().count(), 2);
    assert!(get_with(&address, &path, &header).starts_with("HTTP/1.1 200 "));
    assert_eq!(said(&world, reconcile).0.lines().count(), 1);
    let answer = get_with(&address, &path, &header);
    assert!(answer.starts_with("HTTP/1.1 402 "), "a payment opens one answer: {answer}");
    let report = world.stdout("access report --datadir demo --format csv");
    assert!(report.lines().count() == 2 && report.contains(",l402,1,"), "{report}");
    running.signal("INT");
    assert_eq!(running.end().0.code(), Some(130));
    let log = running.said();
    assert!(!log.contains(preimage.trim()) && !log.contains(&text("macaroon")), "a secret is in the log");
}
