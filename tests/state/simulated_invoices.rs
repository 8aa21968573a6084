//! Invoices of the simulated Lightning node, on both databases.

use cairn_state::{SimulatedInvoice, StateError, check};
use sha2::{Digest, Sha256};

use crate::{
    database::TestDatabase,
    sales::{DAY, NOW},
};

on_both!(
    an_invoice_is_kept_and_paid_once,
    raced_payments_succeed_once,
    a_label_and_a_hash_are_taken_once,
    old_invoices_are_removed,
    invoices_that_do_not_fit_are_refused,
    damaged_invoices_are_errors,
);

fn invoice(number: u8, expires_at: u64) -> SimulatedInvoice {
    let preimage = [number; 32];
    SimulatedInvoice {
        label: format!("label-{number}"),
        payment_hash: Sha256::digest(preimage).into(),
        preimage,
        bolt11: format!("lnbcrt-{number}"),
        amount_sats: 10,
        expires_at,
        paid_at: None,
    }
}

async fn an_invoice_is_kept_and_paid_once(database: &TestDatabase) {
    let state = database.open().await;
    let made = invoice(0xab, NOW + 60);
    assert!(state.add_simulated_invoice(&made).await.unwrap());
    let found = state.simulated_invoice(&made.payment_hash).await.unwrap().unwrap();
    assert_eq!(found, made, "all of it is kept");
    let shown = format!("{found:?}");
    assert!(shown.contains("label-171") && !shown.contains("171, 171") && !shown.contains("abab"), "{shown}");
    assert_eq!(state.simulated_invoice(&[0; 32]).await.unwrap(), None);

    assert!(!state.mark_simulated_invoice_paid(&[0; 32], NOW).await.unwrap());
    assert!(state.mark_simulated_invoice_paid(&made.payment_hash, NOW + 1).await.unwrap());
    assert!(!state.mark_simulated_invoice_paid(&made.payment_hash, NOW + 2).await.unwrap());
    // Another process finds it, with the first time.
    let paid = database.open().await.simulated_invoice(&made.payment_hash).await.unwrap();
    assert_eq!(paid, Some(SimulatedInvoice { paid_at: Some(NOW + 1), ..made }));
    let report = check(&database.state_url()).await.unwrap();
    assert_eq!((report.simulated_invoices, report.problems), (1, Vec::new()));
}

async fn raced_payments_succeed_once(database: &TestDatabase) {
    const TASKS: usize = 40;
    let states = [database.open().await, database.open().await];
    let made = invoice(1, NOW + 60);
    assert!(states[0].add_simulated_invoice(&made).await.unwrap());
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (state, hash) = (states[task % 2].clone(), made.payment_hash);
            tokio::spawn(async move { state.mark_simulated_invoice_paid(&hash, NOW + task as u64).await.unwrap() })
        })
        .collect();
    let mut winners = Vec::new();
    for (task, done) in tasks.into_iter().enumerate() {
        winners.extend(done.await.unwrap().then_some(NOW + task as u64));
    }
    assert_eq!(winners.len(), 1);
    let paid = states[1].simulated_invoice(&made.payment_hash).await.unwrap().unwrap();
    assert_eq!(paid.paid_at, Some(winners[0]));
}

async fn a_label_and_a_hash_are_taken_once(database: &TestDatabase) {
    let state = database.open().await;
    let made = invoice(1, NOW);
    assert!(state.add_simulated_invoice(&made).await.unwrap());
    let same_label = SimulatedInvoice { label: made.label.clone(), ..invoice(2, NOW) };
    let same_hash = SimulatedInvoice { payment_hash: made.payment_hash, ..invoice(3, NOW) };
    for other in [&made, &same_label, &same_hash] {
        assert!(!state.add_simulated_invoice(other).await.unwrap(), "{other:?}");
    }
    assert_eq!(state.simulated_invoice(&same_label.payment_hash).await.unwrap(), None);
    assert_eq!(state.simulated_invoice(&made.payment_hash).await.unwrap(), Some(made));
}

async fn old_invoices_are_removed(database: &TestDatabase) {
    let state = database.open().await;
    let (old, young) = (invoice(1, NOW), invoice(2, NOW + 1));
    for made in [&old, &young] {
        assert!(state.add_simulated_invoice(made).await.unwrap());
    }
    state.mark_simulated_invoice_paid(&old.payment_hash, NOW - 1).await.unwrap();
    assert_eq!(state.purge_simulated_invoices(NOW + 7 * DAY - 1, 7 * DAY).await.unwrap(), 0);
    assert_eq!(state.purge_simulated_invoices(NOW + 7 * DAY, 7 * DAY).await.unwrap(), 1);
    assert_eq!(state.purge_simulated_invoices(NOW + 7 * DAY, 7 * DAY).await.unwrap(), 0);
    assert_eq!(state.simulated_invoice(&old.payment_hash).await.unwrap(), None);
    assert_eq!(state.simulated_invoice(&young.payment_hash).await.unwrap(), Some(young));
}

async fn invoices_that_do_not_fit_are_refused(database: &TestDatabase) {
    let state = database.open().await;
    let made = invoice(1, NOW);
    for bad in [
        SimulatedInvoice { label: String::new(), ..made.clone() },
        SimulatedInvoice { label: "l".repeat(101), ..made.clone() },
        SimulatedInvoice { bolt11: "a\nb".to_owned(), ..made.clone() },
        SimulatedInvoice { amount_sats: 0, ..made.clone() },
    ] {
        assert!(matches!(state.add_simulated_invoice(&bad).await.unwrap_err(), StateError::Sale), "{bad:?}");
    }
    let late = SimulatedInvoice { expires_at: u64::MAX, ..made.clone() };
    assert!(matches!(state.add_simulated_invoice(&late).await.unwrap_err(), StateError::Time));
    let error = state.mark_simulated_invoice_paid(&made.payment_hash, u64::MAX).await.unwrap_err();
    assert!(matches!(error, StateError::Time));
    assert_eq!(state.simulated_invoice(&made.payment_hash).await.unwrap(), None);
}

async fn damaged_invoices_are_errors(database: &TestDatabase) {
    let state = database.open().await;
    let made = invoice(1, NOW);
    assert!(state.add_simulated_invoice(&made).await.unwrap());
    for damage in ["expires_at = -1", "expires_at = 1, paid_at = -1"] {
        database.execute(&format!("UPDATE simulated_invoices SET {damage}")).await;
        let error = state.simulated_invoice(&made.payment_hash).await.unwrap_err();
        assert!(matches!(&error, StateError::Row(what) if what.contains(&hex::encode(made.payment_hash))), "{error:?}");
    }
}
