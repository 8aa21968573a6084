//! Many requests with one payment, sent to two servers that share a database.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use cairn_lightning::{Invoices, Simulated};

use crate::{
    sold::{Shop, get_with, live_config, selling, warnings},
    sold_failures::paid_summary,
    state_database::{POSTGRES, TestDatabase},
    support::{assert_problem, everything_world},
};

/// Requests with one payment, in all.
const RACERS: usize = 10_000;
/// Of them, at a time.
const AT_ONCE: usize = 50;

/// Of all requests with one payment, one gets the answer.
async fn race(database: &TestDatabase) {
    let world = everything_world();
    let shop = Shop::keeping(&world, live_config(), database.open().await);
    let daemon = Arc::<Simulated>::clone(&shop.wallet) as Arc<dyn Invoices>;
    let other = selling(&world, &database.open().await, &shop.config, daemon, "two");
    let (path, paid, id) = paid_summary(&shop).await;
    let answered = Arc::new(AtomicUsize::new(0));
    let left = Arc::new(AtomicUsize::new(RACERS));
    let racers = (0..AT_ONCE).map(|number| {
        let router = if number % 2 == 0 { shop.router.clone() } else { other.clone() };
        let (path, paid, answered, left) = (path.clone(), paid.clone(), Arc::clone(&answered), Arc::clone(&left));
        tokio::spawn(async move {
            while left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok() {
                let reply = get_with(&router, &path, &[("authorization", &paid)]).await;
                match reply.status {
                    200 => drop(answered.fetch_add(1, Ordering::SeqCst)),
                    402 => assert_eq!(warnings(&reply), ["credential_redeemed"], "{}", reply.text),
                    // Fifty at once may wait longer than two seconds for the database of a busy machine.
                    503 => assert_eq!(reply.body["error"], "state_unavailable", "{}", reply.text),
                    _ => assert_problem(&reply, 409, "payment_in_use"),
                }
            }
        })
    });
    for racer in racers.collect::<Vec<_>>() {
        racer.await.unwrap();
    }
    assert_eq!(answered.load(Ordering::SeqCst), 1);
    assert_eq!(shop.status_of(&id).await["status"], "redeemed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_of_ten_thousand_gets_the_answer() {
    race(&TestDatabase::sqlite()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_of_ten_thousand_gets_the_answer_on_postgresql() {
    let Some(database) = TestDatabase::postgres().await else {
        cairn_testkit::note_skipped(
            "api::sold_races::one_request_of_ten_thousand_gets_the_answer_on_postgresql",
            &format!("no PostgreSQL server ({POSTGRES})"),
        );
        return;
    };
    race(&database).await;
    database.remove().await;
}
