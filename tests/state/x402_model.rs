//! Random operations on payments of x402, held against a model in memory that is as simple as can be.

use std::collections::BTreeMap;

use cairn_state::{X402Lease, X402Taking};

use crate::{
    damages::Random,
    database::TestDatabase,
    sales::NOW,
    x402::{payment, refused, settled, unknown},
};

on_both!(payments_do_as_the_model_does);

const STEPS: usize = 500;
const SEEDS: u64 = 4;

/// Steps of a payment in the model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Taken,
    Settling,
    Settled,
    Delivered,
    Refused,
    Unknown,
}

/// Step, request, fence and end of the lease.
type Paid = (Step, u8, i64, u64);

/// The name of an answer, with the fence of a lease or the end of another one's.
fn answer_of(taking: &X402Taking) -> (&'static str, u64) {
    match taking {
        X402Taking::Taken(lease) => ("taken", lease.fence as u64),
        X402Taking::Owed(lease) => ("owed", lease.fence as u64),
        X402Taking::SameInProgress { until } => ("in progress", *until),
        X402Taking::Pending(_) => ("pending", 0),
        X402Taking::Used(_) => ("used", 0),
        X402Taking::Refused(_) => ("refused", 0),
        X402Taking::UsedElsewhere => ("elsewhere", 0),
    }
}

fn model_take(all: &mut BTreeMap<u8, Paid>, nonce: u8, request: u8, now: u64, end: u64) -> (&'static str, u64) {
    let Some(paid) = all.get_mut(&nonce) else {
        all.insert(nonce, (Step::Taken, request, 1, end));
        return ("taken", 1);
    };
    let (step, of, fence, until) = *paid;
    let is_leased = until > now;
    match step {
        Step::Taken if !is_leased => {
            *paid = (Step::Taken, request, fence + 1, end);
            ("taken", fence as u64 + 1)
        }
        _ if of != request => ("elsewhere", 0),
        Step::Delivered => ("used", 0),
        Step::Refused => ("refused", 0),
        Step::Unknown => ("pending", 0),
        _ if is_leased => ("in progress", until),
        Step::Settled => {
            *paid = (Step::Settled, request, fence + 1, end);
            ("owed", fence as u64 + 1)
        }
        Step::Taken | Step::Settling => ("pending", 0),
    }
}

async fn payments_do_as_the_model_does(database: &TestDatabase) {
    let state = database.open().await;
    for seed in 0..SEEDS {
        let (mut random, mut model) = (Random(1_000 + seed), BTreeMap::<u8, Paid>::new());
        let (mut now, mut leases) = (NOW, Vec::<X402Lease>::new());
        let mut deliveries = BTreeMap::<u8, u32>::new();
        for step in 0..STEPS {
            let at = format!("seed {seed}, step {step}");
            now += [0, 1, 3, 12][random.below(4)];
            let (nonce, request, ttl) =
                (random.below(20) as u8, random.below(8) as u8 / 7, 5 + random.below(30) as u64);
            let end = now + ttl;
            let lease = leases.iter().rev().nth(random.below(4)).cloned();
            let outcome = [(Step::Settled, settled()), (Step::Refused, refused()), (Step::Unknown, unknown())]
                [random.below(3)]
            .clone();
            let mut held = lease
                .as_ref()
                .and_then(|lease| model.get_mut(&lease.key.nonce[0]).filter(|(_, _, fence, _)| *fence == lease.fence));
            match (random.below(10), lease.as_ref()) {
                (0..4, _) | (_, None) => {
                    let new = payment(nonce, request);
                    let taking = state.take_x402_payment(&new, "a", ttl, now).await.unwrap();
                    assert_eq!(answer_of(&taking), model_take(&mut model, nonce, request, now, end), "{at}");
                    if let X402Taking::Taken(lease) | X402Taking::Owed(lease) = taking {
                        leases.push(lease);
                    }
                }
                (4, Some(lease)) => {
                    let expected = held.as_mut().is_some_and(|paid| paid.0 == Step::Taken);
                    if let Some(paid) = held.filter(|_| expected) {
                        (paid.0, paid.3) = (Step::Settling, end);
                    }
                    assert_eq!(state.begin_settling(lease, ttl, now).await.unwrap(), expected, "{at}");
                }
                (5 | 6, Some(lease)) => {
                    let expected = held.as_mut().is_some_and(|paid| paid.0 == Step::Settling);
                    if let Some(paid) = held.filter(|_| expected) {
                        let step = if outcome.0 == Step::Settled { Step::Delivered } else { outcome.0 };
                        (paid.0, paid.3) = (step, now);
                        *deliveries.entry(lease.key.nonce[0]).or_default() += u32::from(step == Step::Delivered);
                    }
                    assert_eq!(state.finish_settling(lease, &outcome.1, now).await.unwrap(), expected, "{at}");
                }
                (7, Some(lease)) => {
                    let expected = held.as_mut().is_some_and(|paid| matches!(paid.0, Step::Settled | Step::Delivered));
                    if let Some(paid) = held.filter(|paid| paid.0 == Step::Settled) {
                        paid.0 = Step::Delivered;
                        *deliveries.entry(lease.key.nonce[0]).or_default() += 1;
                    }
                    assert_eq!(state.deliver_x402_payment(lease, now).await.unwrap(), expected, "{at}");
                }
                (8, Some(lease)) => {
                    let expected = held.as_mut().is_some_and(|paid| matches!(paid.0, Step::Settled | Step::Taken));
                    if let Some(paid) = held.filter(|_| expected) {
                        paid.3 = 0;
                    }
                    assert_eq!(state.release_x402_payment(lease).await.unwrap(), expected, "{at}");
                }
                _ => {
                    let paid = model
                        .get_mut(&nonce)
                        .filter(|paid| paid.0 == Step::Unknown || paid.0 == Step::Settling && paid.3 <= now);
                    let expected = paid.is_some();
                    if let Some(paid) = paid {
                        (paid.0, paid.2, paid.3) = (outcome.0, paid.2 + 1, now);
                    }
                    let key = payment(nonce, 0).key;
                    assert_eq!(state.reconcile_x402_payment(&key, &outcome.1, now).await.unwrap(), expected, "{at}");
                }
            }
            let open = state.open_settlements(now, 100).await.unwrap().len();
            let is_open = |paid: &Paid| paid.0 == Step::Unknown || paid.0 == Step::Settling && paid.3 <= now;
            assert_eq!(open, model.values().filter(|paid| is_open(paid)).count(), "{at}");
        }
        // Each payment is answered at most once.
        assert!(deliveries.values().sum::<u32>() > 3 && deliveries.values().all(|count| *count <= 1), "{deliveries:?}");
        database.execute("DELETE FROM x402_payments").await;
    }
}
