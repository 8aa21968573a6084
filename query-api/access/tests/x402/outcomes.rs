//! Outcomes of payments that were taken.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use cairn_access::{Reconciled, X402Settings};
use cairn_state::{X402PaymentState, X402Taking};
use serde_json::Value;
use tokio::{runtime::Handle, task::spawn_blocking};

use crate::{
    payer::{ASSET, Outcome, PAYER, TRANSACTION, settings},
    shop::{NOW, Shop, THING},
};

const LONG: Duration = Duration::from_secs(20);

fn state_of(row: Option<cairn_state::X402Payment>) -> X402PaymentState {
    row.unwrap().state
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_settlement_gives_no_data() {
    let shop = Shop::new().await;
    let payment = shop.payment(THING, "refused").await;
    shop.fake.settles(&[Outcome::Refused]);
    let reply = shop.pay(THING, &payment).await;
    assert_eq!((reply.status, &reply.body["error"]), (402, &"payment_required".into()), "{}", reply.body);
    assert!(reply.body.get("text").is_none());
    let receipt = reply.message("payment-response");
    assert_eq!((&receipt["success"], &receipt["errorReason"]), (&false.into(), &"insufficient_funds".into()));
    assert_eq!((&receipt["payer"], &receipt["transaction"]), (&PAYER.into(), &"".into()));
    let required = reply.message("payment-required");
    assert_eq!(required["accepts"], reply.body["payment_options"]["x402"]["accepts"]);
    assert!(matches!(state_of(shop.row(&payment).await), X402PaymentState::Refused { .. }));
    let again = shop.pay(THING, &payment).await;
    assert_eq!((again.status, again.warning()), (402, "settlement_refused"), "{}", again.body);
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unclear_settlement_is_found_out_later() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let shop = Shop::with(settings(), LONG, || CLOCK.load(Ordering::SeqCst) * 1_000).await;
    let payment = shop.payment(THING, "unclear").await;
    shop.fake.settles(&[Outcome::Unclear, Outcome::Unclear, Outcome::NotSent, Outcome::Panic]);
    for _ in 0..4 {
        let reply = shop.pay(THING, &payment).await;
        assert_eq!((reply.status, &reply.body["error"]), (503, &"payment_pending".into()), "{}", reply.body);
        assert!(reply.has_retry_after() && reply.body["retryable"] == true);
        assert_eq!(reply.message("payment-response"), Value::Null);
        assert!(matches!(state_of(shop.row(&payment).await), X402PaymentState::Unknown { .. }));
    }
    // Only the same payment for the same request may find it out, also after its end.
    CLOCK.store(NOW + 3_600, Ordering::SeqCst);
    let mut elsewhere = payment.clone();
    elsewhere["resource"]["url"] = "https://cairn.test/v1/things/b".into();
    assert_eq!(shop.pay("/v1/things/b", &elsewhere).await.warning(), "payment_used_elsewhere");
    let reply = shop.pay(THING, &payment).await;
    assert_eq!((reply.status, &reply.body["text"]), (200, &"the goods".into()), "{}", reply.body);
    assert_eq!(reply.message("payment-response")["transaction"], TRANSACTION);
    assert_eq!(
        shop.fake.called(),
        ["verify", "settle First", "settle Again", "settle Again", "settle Again", "settle Again"]
    );
    assert_eq!(shop.pay(THING, &payment).await.warning(), "payment_already_used");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payment_that_was_not_sent_is_free_again() {
    let shop = Shop::new().await;
    let payment = shop.payment(THING, "unsent").await;
    shop.fake.settles(&[Outcome::NotSent]);
    let reply = shop.pay(THING, &payment).await;
    assert_eq!((reply.status, &reply.body["error"]), (503, &"facilitator_unavailable".into()), "{}", reply.body);
    assert_eq!(state_of(shop.row(&payment).await), X402PaymentState::Taken);
    assert_eq!(shop.pay(THING, &payment).await.status, 200);
    assert_eq!(shop.fake.called(), ["verify", "settle First", "verify", "settle First"]);
}

/// The answer of an operation that fails costs nothing; one that says that there is nothing costs as much as any.
#[tokio::test(flavor = "multi_thread")]
async fn failures_are_free_and_answers_such_as_404_are_not() {
    let shop = Shop::new().await;
    for (path, is_broken) in [(THING, true), ("/v1/things/panic", false)] {
        let payment = shop.payment(path, path).await;
        shop.is_broken(is_broken);
        for _ in 0..2 {
            let reply = shop.pay(path, &payment).await;
            assert_eq!(reply.status, 500, "{}", reply.body);
            assert_eq!(reply.message("payment-response"), Value::Null);
            assert_eq!(state_of(shop.row(&payment).await), X402PaymentState::Taken);
        }
    }
    assert_eq!(shop.fake.called(), ["verify"; 4]);
    shop.is_broken(false);
    let none = "/v1/things/none";
    let payment = shop.payment(none, "none").await;
    let reply = shop.pay(none, &payment).await;
    assert_eq!((reply.status, &reply.body["error"]), (404, &"entity_not_found".into()), "{}", reply.body);
    assert_eq!(reply.message("payment-response")["success"], true);
    assert_eq!(reply.body["payment_state"], "redeemed");
    assert_eq!(shop.pay(none, &payment).await.warning(), "payment_already_used");
    // Without a payment, no client learns that there is nothing.
    let payment = shop.payment(none, "poor").await;
    shop.fake.settles(&[Outcome::Refused]);
    let reply = shop.pay(none, &payment).await;
    assert_eq!((reply.status, &reply.body["error"]), (402, &"payment_required".into()), "{}", reply.body);
}

/// The client gets its answer in time, and the facilitator is not cut off: what it says later counts.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_facilitator_is_waited_for_in_the_background() {
    let shop = Shop::with(settings(), Duration::from_millis(100), || NOW * 1_000).await;
    let payment = shop.payment(THING, "slow").await;
    shop.fake.hold(true);
    for _ in 0..2 {
        let reply = shop.pay(THING, &payment).await;
        assert_eq!((reply.status, &reply.body["error"]), (503, &"payment_pending".into()), "{}", reply.body);
    }
    assert_eq!(shop.fake.called(), ["verify", "settle First"], "it is asked once");
    shop.fake.hold(false);
    let began = Instant::now();
    while !matches!(state_of(shop.row(&payment).await), X402PaymentState::Settled { delivered_at: None, .. }) {
        assert!(began.elapsed() < LONG, "the outcome was not recorded");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let reply = shop.pay(THING, &payment).await;
    assert_eq!((reply.status, &reply.message("payment-response")["success"]), (200, &true.into()), "{}", reply.body);
    assert_eq!(shop.fake.called(), Vec::<String>::new());
    assert_eq!(shop.pay(THING, &payment).await.warning(), "payment_already_used");
}

/// A client that gives up while its payment is settled has its answer when it asks again.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_too_early_loses_nothing() {
    let shop = Shop::new().await;
    let payment = shop.payment(THING, "impatient").await;
    shop.fake.hold(true);
    assert!(tokio::time::timeout(Duration::from_millis(500), shop.pay(THING, &payment)).await.is_err());
    assert_eq!(shop.fake.called(), ["verify", "settle First"]);
    shop.fake.hold(false);
    let began = Instant::now();
    while !matches!(state_of(shop.row(&payment).await), X402PaymentState::Settled { delivered_at: None, .. }) {
        assert!(began.elapsed() < LONG, "the answer is not owed");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(shop.pay(THING, &payment).await.status, 200);
    assert_eq!(shop.fake.called(), Vec::<String>::new());
}

/// An answer that is owed survives failures of the operation, and costs no second settlement.
#[tokio::test(flavor = "multi_thread")]
async fn an_owed_answer_stays_owed_until_it_is_given() {
    let shop = Shop::new().await;
    let none = "/v1/things/none";
    let payment = shop.payment(none, "owed").await;
    shop.fake.settles(&[Outcome::Unclear]);
    assert_eq!(shop.pay(none, &payment).await.status, 503);
    shop.is_broken(true);
    for _ in 0..2 {
        assert_eq!(shop.pay(none, &payment).await.status, 500);
        assert!(matches!(state_of(shop.row(&payment).await), X402PaymentState::Settled { delivered_at: None, .. }));
    }
    shop.is_broken(false);
    let reply = shop.pay(none, &payment).await;
    assert_eq!((reply.status, &reply.body["error"]), (404, &"entity_not_found".into()), "{}", reply.body);
    assert_eq!(reply.message("payment-response")["transaction"], TRANSACTION);
    assert_eq!(shop.fake.called(), ["verify", "settle First", "settle Again"]);
}

/// The process died while it settled.
#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_of_a_dead_process_is_found_out() {
    let shop = Shop::new().await;
    let payment = shop.payment(THING, "dead").await;
    shop.fake.settles(&[Outcome::NotSent]);
    assert_eq!(shop.pay(THING, &payment).await.status, 503);
    let row = shop.row(&payment).await.unwrap();
    let X402Taking::Taken(lease) = shop.state.take_x402_payment(&row.content, "dead", 30, NOW).await.unwrap() else {
        panic!("{row:?}")
    };
    assert!(shop.state.begin_settling(&lease, 0, NOW).await.unwrap());
    shop.fake.called();
    assert_eq!(shop.pay(THING, &payment).await.status, 200);
    assert_eq!(shop.fake.called(), ["settle Again"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_slow_settlements_hold_no_further_calls_up() {
    let shop = Arc::new(Shop::with(settings(), Duration::from_millis(50), || NOW * 1_000).await);
    shop.fake.hold(true);
    let mut full = None;
    for number in 0..40 {
        let payment = shop.payment(THING, &format!("many {number}")).await;
        let reply = shop.pay(THING, &payment).await;
        assert_eq!(reply.status, 503, "{}", reply.body);
        if reply.body["error"] == "facilitator_unavailable" {
            full = Some(number);
            assert_eq!(shop.row(&payment).await, None);
            break;
        }
    }
    shop.fake.hold(false);
    assert_eq!(full, Some(16));
}

/// A client that never comes back is owed its answer all the same.
#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_found_out_without_a_client() {
    static CLOCK: AtomicU64 = AtomicU64::new(NOW);
    let shop = Shop::with(settings(), LONG, || CLOCK.load(Ordering::SeqCst) * 1_000).await;
    let (first, second) = (shop.payment(THING, "first").await, shop.payment(THING, "second").await);
    shop.fake.settles(&[Outcome::Unclear, Outcome::Unclear]);
    for payment in [&first, &second] {
        assert_eq!(shop.pay(THING, payment).await.status, 503);
    }
    shop.fake.called();
    let round = async |now: u64| {
        let (till, state, runtime) = (Arc::clone(&shop.till), shop.state.clone(), Handle::current());
        spawn_blocking(move || till.reconcile(&state, &runtime, now)).await.unwrap().unwrap()
    };
    // The facilitator is away for one, and does not know the other.
    shop.fake.settles(&[Outcome::NotSent, Outcome::Unclear]);
    assert_eq!(round(NOW + 60).await, Reconciled { open: 2, ..Reconciled::default() });
    shop.fake.settles(&[Outcome::Settled, Outcome::Unclear]);
    assert_eq!(round(NOW + 120).await, Reconciled { settled: 1, open: 1, refused: 0 });
    assert_eq!(shop.fake.called(), ["settle Again"; 4]);
    CLOCK.store(NOW + 121, Ordering::SeqCst);
    // Both changed in the same second, so either may have been asked about first.
    let is_settled = |state| matches!(state, X402PaymentState::Settled { delivered_at: None, .. });
    let (owed, open) = if is_settled(state_of(shop.row(&first).await)) { (first, second) } else { (second, first) };
    let reply = shop.pay(THING, &owed).await;
    assert_eq!((reply.status, &reply.body["text"]), (200, &"the goods".into()), "{}", reply.body);
    assert_eq!(shop.pay(THING, &owed).await.warning(), "payment_already_used");
    // A day after its end nobody is asked any more.
    assert_eq!(round(NOW + 200_000).await, Reconciled::default());
    assert_eq!(shop.fake.called(), Vec::<String>::new());
    assert!(matches!(state_of(shop.row(&open).await), X402PaymentState::Unknown { .. }));
}

/// An operator who changes the price or the account breaks no payment that is on its way.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_the_terms_leaves_payments_on_their_way_alone() {
    let shop = Shop::new().await;
    let payment = shop.payment(THING, "before the change").await;
    shop.fake.settles(&[Outcome::Unclear]);
    assert_eq!(shop.pay(THING, &payment).await.status, 503);
    let other = X402Settings { pay_to: ASSET.parse().unwrap(), max_timeout_seconds: 90, ..settings() };
    let changed = shop.reopened(other);
    let reply = changed.pay(THING, &payment).await;
    assert_eq!((reply.status, &reply.body["text"]), (200, &"the goods".into()), "{}", reply.body);
    // A new payment by the old terms is not taken.
    let late = shop.payment(THING, "after the change").await;
    assert_eq!(changed.pay(THING, &late).await.status, 402);
}
