//! Payments of x402, on both databases.

use cairn_state::{
    NewX402Payment, SALES_KEPT_SECS, SalesMethod, SettlementOutcome, State, StateError, X402Lease, X402Payment,
    X402PaymentKey, X402PaymentState, X402Taking,
};

use crate::{database::TestDatabase, sales::NOW};

on_both!(
    a_payment_is_taken_settled_and_used,
    a_nonce_pays_one_request_over_all_operations,
    raced_payments_are_taken_once,
    a_process_that_dies_before_it_settles_frees_the_payment,
    a_process_that_dies_while_it_settles_leaves_it_pending,
    a_settled_payment_that_was_not_answered_is_owed,
    a_payment_that_was_not_sent_is_free_again,
    refused_payments_stay_refused,
    old_payments_are_removed,
    settled_payments_are_in_the_report,
    payments_that_do_not_fit_are_refused,
    damaged_payments_are_errors,
);

const TTL: u64 = 30;

pub(crate) fn payment(nonce: u8, request: u8) -> NewX402Payment {
    NewX402Payment {
        key: X402PaymentKey {
            chain_id: 84_532,
            asset: format!("0x{}", "a5".repeat(20)),
            payer: format!("0x{}", "b6".repeat(20)),
            nonce: [nonce; 32],
        },
        fingerprint: [request; 32],
        capability: "tx_verify".to_owned(),
        amount: 10_000,
        payload: "eyJ4NDAyVmVyc2lvbiI6Mn0=".to_owned(),
        valid_before: NOW + 600,
    }
}

pub(crate) fn settled() -> SettlementOutcome {
    SettlementOutcome::Settled { transaction: format!("0x{}", "cd".repeat(32)) }
}

pub(crate) fn refused() -> SettlementOutcome {
    SettlementOutcome::Refused { reason: "insufficient_funds".to_owned() }
}

pub(crate) fn unknown() -> SettlementOutcome {
    SettlementOutcome::Unknown { reason: "time-out".to_owned() }
}

async fn take(state: &State, new: &NewX402Payment, now: u64) -> X402Taking {
    state.take_x402_payment(new, "a", TTL, now).await.unwrap()
}

async fn taken(state: &State, new: &NewX402Payment, now: u64) -> X402Lease {
    match take(state, new, now).await {
        X402Taking::Taken(lease) => lease,
        other => panic!("{other:?}"),
    }
}

async fn owed(state: &State, new: &NewX402Payment, now: u64) -> X402Lease {
    match take(state, new, now).await {
        X402Taking::Owed(lease) => lease,
        other => panic!("{other:?}"),
    }
}

async fn found(state: &State, new: &NewX402Payment) -> X402Payment {
    state.x402_payment(&new.key).await.unwrap().unwrap()
}

async fn a_payment_is_taken_settled_and_used(database: &TestDatabase) {
    let state = database.open().await;
    let new = payment(1, 1);
    assert_eq!(state.x402_payment(&new.key).await.unwrap(), None);
    let lease = taken(&state, &new, NOW).await;
    assert_eq!((lease.fence, lease.expires_at), (1, NOW + TTL));
    let row = found(&state, &new).await;
    assert_eq!((row.content, row.state, row.taken_at), (new.clone(), X402PaymentState::Taken, NOW));
    assert_eq!(take(&state, &new, NOW + 1).await, X402Taking::SameInProgress { until: NOW + TTL });
    assert!(!state.finish_settling(&lease, &settled(), NOW + 2).await.unwrap(), "it has not begun");
    assert!(state.begin_settling(&lease, 60, NOW + 2).await.unwrap());
    assert!(!state.begin_settling(&lease, 60, NOW + 2).await.unwrap(), "it begins once");
    assert!(!state.release_x402_payment(&lease).await.unwrap(), "it may be settled by now");
    assert_eq!(take(&state, &new, NOW + TTL).await, X402Taking::SameInProgress { until: NOW + 62 });
    assert!(state.finish_settling(&lease, &settled(), NOW + 3).await.unwrap());
    assert!(!state.finish_settling(&lease, &refused(), NOW + 4).await.unwrap(), "the first outcome counts");
    let X402Taking::Used(used) = take(&state, &new, NOW + 5).await else { panic!("used") };
    let transaction = format!("0x{}", "cd".repeat(32));
    assert_eq!(used.state, X402PaymentState::Settled { transaction, at: NOW + 3, delivered_at: Some(NOW + 3) });
    for lease in [lease] {
        assert!(!state.begin_settling(&lease, 60, NOW + 6).await.unwrap());
        assert!(!state.release_x402_payment(&lease).await.unwrap());
    }
    assert!(!state.reconcile_x402_payment(&new.key, &refused(), NOW + 7).await.unwrap());
}

async fn a_nonce_pays_one_request_over_all_operations(database: &TestDatabase) {
    let state = database.open().await;
    let (new, mut elsewhere) = (payment(1, 1), payment(1, 2));
    elsewhere.capability = "wallet_summary".to_owned();
    let lease = taken(&state, &new, NOW).await;
    assert_eq!(take(&state, &elsewhere, NOW).await, X402Taking::UsedElsewhere);
    state.begin_settling(&lease, 9, NOW).await.unwrap();
    for now in [NOW, NOW + 10] {
        assert_eq!(take(&state, &elsewhere, now).await, X402Taking::UsedElsewhere);
    }
    state.finish_settling(&lease, &unknown(), NOW + 11).await.unwrap();
    assert_eq!(take(&state, &elsewhere, NOW + 12).await, X402Taking::UsedElsewhere);
    state.reconcile_x402_payment(&new.key, &settled(), NOW + 12).await.unwrap();
    assert_eq!(take(&state, &elsewhere, NOW + 13).await, X402Taking::UsedElsewhere, "it is owed to its own request");
    // Every part of the key makes another one.
    let others: [fn(&mut X402PaymentKey); 4] = [
        |key| key.chain_id = 8_453,
        |key| key.asset = format!("0x{}", "01".repeat(20)),
        |key| key.payer = format!("0x{}", "02".repeat(20)),
        |key| key.nonce = [3; 32],
    ];
    for change in others {
        let mut other = elsewhere.clone();
        change(&mut other.key);
        taken(&state, &other, NOW).await;
    }
}

async fn a_payment_that_was_not_sent_is_free_again(database: &TestDatabase) {
    let state = database.open().await;
    let new = payment(1, 1);
    let lease = taken(&state, &new, NOW).await;
    assert!(!state.release_unsent_x402_payment(&lease, NOW).await.unwrap(), "its settlement has not begun");
    assert!(state.begin_settling(&lease, 60, NOW + 1).await.unwrap());
    let other = X402Lease { fence: lease.fence + 1, ..lease.clone() };
    assert!(!state.release_unsent_x402_payment(&other, NOW + 2).await.unwrap());
    assert!(state.release_unsent_x402_payment(&lease, NOW + 2).await.unwrap());
    assert!(!state.finish_settling(&lease, &settled(), NOW + 3).await.unwrap());
    assert_eq!(found(&state, &new).await.state, X402PaymentState::Taken);
    // It may pay another request.
    let lease = taken(&state, &payment(1, 2), NOW + 3).await;
    state.begin_settling(&lease, 60, NOW + 4).await.unwrap();
    state.finish_settling(&lease, &unknown(), NOW + 5).await.unwrap();
    assert!(!state.release_unsent_x402_payment(&lease, NOW + 6).await.unwrap());
}

async fn raced_payments_are_taken_once(database: &TestDatabase) {
    let states = [database.open().await, database.open().await];
    let tasks: Vec<_> = (0..200_u8)
        .map(|n| {
            let state = states[n as usize % 2].clone();
            // Half of them pay another request.
            tokio::spawn(async move { (n % 4, take(&state, &payment(1, n % 4 / 2), NOW).await) })
        })
        .collect();
    let mut leases = Vec::new();
    for task in tasks {
        match task.await.unwrap().1 {
            X402Taking::Taken(lease) => leases.push(lease),
            X402Taking::SameInProgress { .. } | X402Taking::UsedElsewhere => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(leases.len(), 1);
    let tasks: Vec<_> = (0..40)
        .map(|n| {
            let (state, lease) = (states[n % 2].clone(), leases[0].clone());
            tokio::spawn(async move { state.begin_settling(&lease, 60, NOW).await.unwrap() })
        })
        .collect();
    let mut begun = 0;
    for task in tasks {
        begun += u32::from(task.await.unwrap());
    }
    assert_eq!(begun, 1, "it is settled once");
}

async fn a_process_that_dies_before_it_settles_frees_the_payment(database: &TestDatabase) {
    let state = database.open().await;
    let dead = taken(&state, &payment(1, 1), NOW).await;
    // Nothing was settled, so that another request may use it.
    let lease = taken(&state, &payment(1, 2), NOW + TTL).await;
    assert_eq!(lease.fence, 2);
    assert!(!state.begin_settling(&dead, 60, NOW + TTL).await.unwrap());
    assert!(!state.release_x402_payment(&dead).await.unwrap());
    assert_eq!(found(&state, &payment(1, 2)).await.content, payment(1, 2));
    // Given back after a failure of the server: free at once.
    assert!(state.release_x402_payment(&lease).await.unwrap());
    assert_eq!(taken(&state, &payment(1, 1), NOW + TTL).await.fence, 3);
    assert!(!state.begin_settling(&lease, 60, NOW + TTL).await.unwrap());
    // Late, and nobody else has taken it: it may settle.
    let late = taken(&state, &payment(2, 1), NOW).await;
    assert!(state.begin_settling(&late, 60, NOW + 2 * TTL).await.unwrap());
    assert_eq!(state.open_settlements(NOW + 2 * TTL, 9).await.unwrap(), []);
}

async fn a_process_that_dies_while_it_settles_leaves_it_pending(database: &TestDatabase) {
    let state = database.open().await;
    let (new, end) = (payment(1, 1), NOW + 60);
    let dead = taken(&state, &new, NOW).await;
    assert!(state.begin_settling(&dead, 60, NOW).await.unwrap());
    assert!(!state.reconcile_x402_payment(&new.key, &settled(), end - 1).await.unwrap(), "it still settles");
    assert_eq!(state.open_settlements(end - 1, 9).await.unwrap(), []);
    let X402Taking::Pending(pending) = take(&state, &new, end).await else { panic!("pending") };
    assert_eq!((pending.content.payload.as_str(), &pending.state), (new.payload.as_str(), &X402PaymentState::Settling));
    // The answer of another one was unclear: pending at once.
    let unclear = payment(2, 1);
    let lease = taken(&state, &unclear, NOW).await;
    assert!(state.begin_settling(&lease, 60, NOW).await.unwrap());
    assert!(state.finish_settling(&lease, &unknown(), NOW + 1).await.unwrap());
    let counts = state.sales_counts(end).await.unwrap();
    assert_eq!((counts.open_challenges, counts.open_settlements, counts.owed_payments), (0, 2, 0));
    let X402Taking::Pending(pending) = take(&state, &unclear, NOW + 1).await else { panic!("pending") };
    assert_eq!(pending.state, X402PaymentState::Unknown { reason: "time-out".to_owned() });
    let open = state.open_settlements(end, 9).await.unwrap();
    assert_eq!(open.iter().map(|of| of.content.key.nonce[0]).collect::<Vec<_>>(), [1, 2], "the oldest first");
    assert_eq!(state.open_settlements(end, 1).await.unwrap().len(), 1);
    // Still unknown, then found out; the first who finds it out counts, and the dead one no longer.
    assert!(state.reconcile_x402_payment(&unclear.key, &unknown(), end).await.unwrap());
    assert!(state.reconcile_x402_payment(&new.key, &settled(), end).await.unwrap());
    assert!(!state.reconcile_x402_payment(&new.key, &refused(), end).await.unwrap());
    assert!(!state.finish_settling(&dead, &refused(), end + 1).await.unwrap());
    assert!(matches!(take(&state, &new, end + 1).await, X402Taking::Owed(_)));
    // The process comes back late, before anyone has looked: its outcome counts.
    let slow = payment(3, 1);
    let lease = taken(&state, &slow, NOW).await;
    assert!(state.begin_settling(&lease, 60, NOW).await.unwrap());
    assert!(matches!(take(&state, &slow, end).await, X402Taking::Pending(_)));
    assert!(state.finish_settling(&lease, &settled(), end).await.unwrap());
    assert!(matches!(take(&state, &slow, end).await, X402Taking::Used(_)));
}

async fn a_settled_payment_that_was_not_answered_is_owed(database: &TestDatabase) {
    let state = database.open().await;
    let new = payment(1, 1);
    let lease = taken(&state, &new, NOW).await;
    state.begin_settling(&lease, 9, NOW).await.unwrap();
    state.finish_settling(&lease, &unknown(), NOW + 1).await.unwrap();
    state.reconcile_x402_payment(&new.key, &settled(), NOW + 2).await.unwrap();
    assert!(!state.deliver_x402_payment(&lease, NOW + 2).await.unwrap(), "its lease is over");
    assert_eq!(state.sales_counts(NOW + 2).await.unwrap().owed_payments, 1);
    let dead = owed(&state, &new, NOW + 3).await;
    assert_eq!(take(&state, &new, NOW + 4).await, X402Taking::SameInProgress { until: NOW + 3 + TTL });
    assert!(!state.begin_settling(&dead, 9, NOW + 4).await.unwrap(), "it is never settled again");
    let lease = owed(&state, &new, NOW + 3 + TTL).await;
    assert!(!state.deliver_x402_payment(&dead, NOW + 40).await.unwrap());
    assert!(state.release_x402_payment(&lease).await.unwrap(), "the operation failed");
    let lease = owed(&state, &new, NOW + 41).await;
    for now in [NOW + 42, NOW + 43] {
        assert!(state.deliver_x402_payment(&lease, now).await.unwrap());
    }
    assert!(!state.release_x402_payment(&lease).await.unwrap());
    let X402Taking::Used(used) = take(&state, &new, NOW + 99).await else { panic!("used") };
    let X402PaymentState::Settled { at, delivered_at, .. } = used.state else { panic!("settled") };
    assert_eq!((at, delivered_at), (NOW + 2, Some(NOW + 42)));
}

async fn refused_payments_stay_refused(database: &TestDatabase) {
    let state = database.open().await;
    let new = payment(1, 1);
    let lease = taken(&state, &new, NOW).await;
    state.begin_settling(&lease, 9, NOW).await.unwrap();
    let long = SettlementOutcome::Refused { reason: format!("no\n{}", "x".repeat(600)) };
    assert!(state.finish_settling(&lease, &long, NOW + 1).await.unwrap());
    let X402Taking::Refused(row) = take(&state, &new, NOW + 2).await else { panic!("refused") };
    let X402PaymentState::Refused { reason } = row.state else { panic!("refused") };
    assert!(reason.starts_with("nox") && reason.len() == 500, "{reason}");
    assert_eq!(take(&state, &payment(1, 2), NOW + 2).await, X402Taking::UsedElsewhere);
    assert_eq!(state.open_settlements(NOW + 99, 9).await.unwrap(), []);
}

async fn old_payments_are_removed(database: &TestDatabase) {
    let state = database.open().await;
    let end = NOW + 600;
    taken(&state, &payment(1, 1), NOW).await;
    for (nonce, outcome) in [(2, Some(refused())), (3, Some(settled())), (4, Some(unknown())), (5, None)] {
        let lease = taken(&state, &payment(nonce, 1), NOW).await;
        state.begin_settling(&lease, 9, NOW).await.unwrap();
        if let Some(outcome) = outcome {
            state.finish_settling(&lease, &outcome, NOW).await.unwrap();
        }
    }
    assert_eq!(state.purge_x402_payments(end + 99, 100).await.unwrap(), 0);
    assert_eq!(state.purge_x402_payments(end + 100, 100).await.unwrap(), 2, "taken and refused");
    assert_eq!(state.purge_x402_payments(NOW + SALES_KEPT_SECS - 1, 0).await.unwrap(), 0);
    assert_eq!(state.purge_x402_payments(NOW + SALES_KEPT_SECS, 0).await.unwrap(), 1, "settled");
    assert_eq!(state.open_settlements(NOW + SALES_KEPT_SECS, 9).await.unwrap().len(), 2, "these stay");
}

async fn settled_payments_are_in_the_report(database: &TestDatabase) {
    let state = database.open().await;
    for (nonce, outcome) in [(1, settled()), (2, settled()), (3, refused()), (4, unknown())] {
        let lease = taken(&state, &payment(nonce, 1), NOW).await;
        state.begin_settling(&lease, 9, NOW).await.unwrap();
        state.finish_settling(&lease, &outcome, NOW).await.unwrap();
    }
    taken(&state, &payment(5, 1), NOW).await;
    let rows = state.sales_report(NOW, NOW).await.unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].capability.as_str(), rows[0].count, rows[0].amount), ("tx_verify", 2, 20_000));
    let asset = payment(1, 1).key.asset;
    assert_eq!(rows[0].method, SalesMethod::X402 { chain_id: 84_532, asset: asset.clone() });
    assert_eq!((rows[0].method.name(), rows[0].method.unit()), ("x402", format!("eip155:84532/{asset}")));
}

async fn payments_that_do_not_fit_are_refused(database: &TestDatabase) {
    let state = database.open().await;
    let wrong: [fn(&mut NewX402Payment); 9] = [
        |new| new.key.chain_id = 0,
        |new| new.key.chain_id = u64::MAX,
        |new| new.key.asset = format!("0x{}", "A5".repeat(20)),
        |new| new.key.payer = "b6".repeat(21),
        |new| new.key.payer = "0x12".to_owned(),
        |new| new.capability = String::new(),
        |new| new.payload = "x".repeat(8_193),
        |new| new.amount = 0,
        |new| new.amount = u64::MAX,
    ];
    for spoil in wrong {
        let mut new = payment(1, 1);
        spoil(&mut new);
        let error = state.take_x402_payment(&new, "a", TTL, NOW).await.unwrap_err();
        assert!(matches!(error, StateError::Sale), "{new:?}: {error}");
    }
    let holder = state.take_x402_payment(&payment(1, 1), "", TTL, NOW).await.unwrap_err();
    assert!(matches!(holder, StateError::Sale));
    let time = state.take_x402_payment(&payment(1, 1), "a", u64::MAX, NOW).await.unwrap_err();
    assert!(matches!(time, StateError::Time));
    let lease = taken(&state, &payment(1, 1), NOW).await;
    state.begin_settling(&lease, 9, NOW).await.unwrap();
    let nameless = SettlementOutcome::Settled { transaction: String::new() };
    assert!(matches!(state.finish_settling(&lease, &nameless, NOW).await.unwrap_err(), StateError::Sale));
}

async fn damaged_payments_are_errors(database: &TestDatabase) {
    let state = database.open().await;
    let new = payment(1, 1);
    let lease = taken(&state, &new, NOW).await;
    state.begin_settling(&lease, 9, NOW).await.unwrap();
    for (damage, repair) in
        [("taken_at = -1", format!("taken_at = {NOW}")), ("reason = 'x'", "reason = NULL".to_owned())]
    {
        database.execute(&format!("UPDATE x402_payments SET {damage}")).await;
        let errors = [
            state.x402_payment(&new.key).await.unwrap_err(),
            state.take_x402_payment(&new, "a", TTL, NOW).await.unwrap_err(),
            state.open_settlements(NOW + 99, 9).await.unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, StateError::Row(_)), "{damage}: {error}");
        }
        database.execute(&format!("UPDATE x402_payments SET {repair}")).await;
    }
    assert!(matches!(take(&state, &new, NOW + 99).await, X402Taking::Pending(_)));
}
