//! Requests that wait for the facilitator hold no place that others need.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use cairn_state::X402PaymentState;
use tokio::{task::JoinSet, time::timeout};

use crate::shop::{Reply, Shop, THING};

const FREE: &str = "/v1/free/a";
const HELD: &str = "/v1/free/held";
const PLACES: usize = 4;
const LONG: Duration = Duration::from_secs(20);

/// Waits until the facilitator got `count` calls with this name.
async fn called(shop: &Shop, name: &str, count: usize) {
    let began = Instant::now();
    while shop.fake.calls.lock().unwrap().iter().filter(|call| *call == name).count() < count {
        assert!(began.elapsed() < LONG, "the facilitator was not called");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Free calls, more at once than there are places, are answered.
async fn free_calls_are_answered(shop: &Arc<Shop>) {
    let mut all = JoinSet::new();
    for _ in 0..3 * PLACES {
        let shop = Arc::clone(shop);
        all.spawn(async move { shop.get(FREE).await.status });
    }
    let statuses = timeout(LONG, all.join_all()).await.expect("payments that wait hold free calls up");
    assert!(statuses.iter().all(|status| *status == 200), "{statuses:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_facilitator_that_hangs_holds_no_free_call_up() {
    let shop = Arc::new(Shop::narrow(PLACES, Duration::from_secs(40)).await);
    shop.fake.hold(true);
    shop.fake.hold_checks(true);
    let mut paying = JoinSet::new();
    for number in 0..2 * PLACES {
        let payment = shop.payment(THING, &format!("waits {number}")).await;
        let shop = Arc::clone(&shop);
        paying.spawn(async move { shop.pay(THING, &payment).await });
    }
    called(&shop, "verify", 2 * PLACES).await;
    free_calls_are_answered(&shop).await;
    shop.fake.hold_checks(false);
    called(&shop, "settle First", 2 * PLACES).await;
    free_calls_are_answered(&shop).await;
    shop.fake.hold(false);
    let replies: Vec<Reply> = paying.join_all().await;
    for reply in replies {
        assert_eq!(
            (reply.status, &reply.message("payment-response")["success"]),
            (200, &true.into()),
            "{}",
            reply.body
        );
    }
    assert_eq!(shop.fake.called().len(), 4 * PLACES, "each payment is checked once and settled once");
}

/// A request that gets no place after the check has charged nothing, and can be repeated.
#[tokio::test(flavor = "multi_thread")]
async fn a_payment_without_a_place_is_not_settled() {
    let shop = Arc::new(Shop::narrow(1, Duration::from_secs(2)).await);
    let payment = shop.payment(THING, "no place").await;
    shop.fake.hold(true);
    shop.fake.hold_checks(true);
    let paying = tokio::spawn({
        let (shop, payment) = (Arc::clone(&shop), payment.clone());
        async move { shop.pay(THING, &payment).await }
    });
    called(&shop, "verify", 1).await;
    // Another call gets the only place, and keeps it.
    shop.hold(true);
    let other = tokio::spawn({
        let shop = Arc::clone(&shop);
        async move { shop.get(HELD).await.status }
    });
    let began = Instant::now();
    while shop.asked() == 0 {
        assert!(began.elapsed() < LONG, "the call does not begin");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    shop.fake.hold_checks(false);
    let reply = paying.await.unwrap();
    // Overloaded or late: both limits end at the same time.
    assert!([503, 504].contains(&reply.status) && reply.body["retryable"] == true, "{}", reply.body);
    assert_eq!(shop.fake.called(), ["verify"], "nothing is settled");
    shop.hold(false);
    assert_ne!(other.await.unwrap(), 402);
    shop.fake.hold(false);
    let began = Instant::now();
    let paid = loop {
        let reply = shop.pay(THING, &payment).await;
        // The first request may still be giving its payment back.
        if reply.status == 200 || began.elapsed() > LONG {
            break reply;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(paid.status, 200, "{}", paid.body);
    assert_eq!(shop.fake.called().iter().filter(|call| *call == "settle First").count(), 1);
    assert!(matches!(shop.row(&payment).await.unwrap().state, X402PaymentState::Settled { .. }));
}
