//! Codes that are redeemed for keys.

use cairn_state::{CodeState, KeyKind, NewCode, Redemption, Revocation, State, StateError, Verdict};

use crate::database::TestDatabase;

on_both!(
    a_code_gives_one_key,
    codes_end_and_are_revoked,
    one_of_many_redeems,
    codes_and_secrets_that_do_not_fit_are_refused,
    a_damaged_code_is_an_error,
);

const NOW: u64 = 1_700_000_000;

fn new_code(kind: KeyKind) -> NewCode {
    NewCode { kind, label: "for Ann".to_owned(), valid_secs: 3_600, expires_at: NOW + 60 }
}

async fn state_of(state: &State, id: &str, now: u64) -> CodeState {
    state.codes().await.unwrap().iter().find(|code| code.id == id).unwrap().state(now)
}

async fn a_code_gives_one_key(database: &TestDatabase) {
    let state = database.open().await;
    for kind in KeyKind::ALL {
        let (code, secret) = state.issue_code(new_code(kind), NOW).await.unwrap();
        assert_eq!(
            (code.state(NOW), &code.label, code.redeemed.as_ref()),
            (CodeState::Open, &"for Ann".to_owned(), None)
        );
        let Redemption::Done(key, of_key) = state.redeem(&secret, NOW + 5).await.unwrap() else { panic!("{kind:?}") };
        assert_eq!((key.kind, key.label.as_str(), key.created_at), (kind, "for Ann", NOW + 5));
        assert_eq!(key.expires_at, Some(NOW + 5 + 3_600), "its time begins with the redemption");
        assert_eq!(state.check(&of_key, NOW + 6).await.unwrap(), Verdict::Valid(key.clone()));
        let redeemed = state.codes().await.unwrap().into_iter().find(|of| of.id == code.id).unwrap();
        assert_eq!(redeemed.redeemed, Some((NOW + 5, key.id.clone())));
        for now in [NOW + 6, NOW + 1_000] {
            let again = state.redeem(&secret, now).await.unwrap();
            assert!(matches!(again, Redemption::Not(CodeState::Redeemed)), "{again:?}");
        }
    }
    assert_eq!(state.keys().await.unwrap().len(), 2);
}

async fn codes_end_and_are_revoked(database: &TestDatabase) {
    let state = database.open().await;
    let (late, secret) = state.issue_code(new_code(KeyKind::Bridge), NOW).await.unwrap();
    let expired = state.redeem(&secret, NOW + 60).await.unwrap();
    assert!(matches!(expired, Redemption::Not(CodeState::Expired)), "{expired:?}");
    assert_eq!(state_of(&state, &late.id, NOW + 59).await, CodeState::Open);

    let (revoked, secret) = state.issue_code(new_code(KeyKind::Bridge), NOW).await.unwrap();
    assert_eq!(state.revoke_code(&revoked.id, NOW + 1).await.unwrap(), Ok(Revocation::Done));
    assert_eq!(state.revoke_code(&revoked.id, NOW + 2).await.unwrap(), Ok(Revocation::Before(NOW + 1)));
    let refused = state.redeem(&secret, NOW + 3).await.unwrap();
    assert!(matches!(refused, Redemption::Not(CodeState::Revoked)), "{refused:?}");
    assert_eq!(state.revoke_code("0123456789ab", NOW).await.unwrap(), Ok(Revocation::Unknown));

    // A redeemed one has nothing to revoke but its key.
    let (code, secret) = state.issue_code(new_code(KeyKind::Bridge), NOW).await.unwrap();
    assert!(matches!(state.redeem(&secret, NOW).await.unwrap(), Redemption::Done(..)));
    let kept = state.revoke_code(&code.id, NOW).await.unwrap().unwrap_err();
    assert_eq!(kept.state(NOW), CodeState::Redeemed);
    assert_eq!(state.keys().await.unwrap().len(), 1);
}

/// Many connections and two pools: one key comes of it.
async fn one_of_many_redeems(database: &TestDatabase) {
    let states = [database.open().await, database.open().await];
    let (_, secret) = states[0].issue_code(new_code(KeyKind::Session), NOW).await.unwrap();
    let tasks: Vec<_> = (0..200)
        .map(|n| {
            let (state, secret) = (states[n % 2].clone(), secret.clone());
            tokio::spawn(async move { state.redeem(&secret, NOW + 1).await })
        })
        .collect();
    let mut keys = 0;
    for task in tasks {
        match task.await.unwrap().unwrap() {
            Redemption::Done(..) => keys += 1,
            Redemption::Not(CodeState::Redeemed) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(keys, 1);
    assert_eq!(states[1].keys().await.unwrap().len(), 1);
}

async fn codes_and_secrets_that_do_not_fit_are_refused(database: &TestDatabase) {
    let state = database.open().await;
    let (_, secret) = state.issue_code(new_code(KeyKind::Bridge), NOW).await.unwrap();
    // The same public id with another secret: the check of its end is right, its hash is another one.
    let (_, other) = state.issue_code(new_code(KeyKind::Bridge), NOW).await.unwrap();
    database.execute(&format!("DELETE FROM codes WHERE id = '{}'", other.id())).await;
    assert!(matches!(state.redeem(&other, NOW).await.unwrap(), Redemption::Unknown));
    database.execute(&format!("UPDATE codes SET id = '{}'", other.id())).await;
    assert!(matches!(state.redeem(&other, NOW).await.unwrap(), Redemption::Unknown), "the secret is not its own");
    assert!(matches!(state.redeem(&secret, NOW).await.unwrap(), Redemption::Unknown));
    let new = |label: &str, valid_secs, expires_at| NewCode {
        kind: KeyKind::Bridge,
        label: label.to_owned(),
        valid_secs,
        expires_at,
    };
    assert!(matches!(state.issue_code(new("a\nb", 1, NOW), NOW).await.unwrap_err(), StateError::Label));
    for (valid, end) in [(0, NOW), (u64::MAX, NOW), (1, u64::MAX)] {
        assert!(matches!(state.issue_code(new("", valid, end), NOW).await.unwrap_err(), StateError::Time));
    }
    assert_eq!((state.codes().await.unwrap().len(), state.keys().await.unwrap().len()), (1, 0));
}

async fn a_damaged_code_is_an_error(database: &TestDatabase) {
    let state = database.open().await;
    let (_, secret) = state.issue_code(new_code(KeyKind::Bridge), NOW).await.unwrap();
    database.execute("UPDATE codes SET created_at = -1").await;
    for error in [state.codes().await.unwrap_err(), state.redeem(&secret, NOW).await.unwrap_err()] {
        assert!(matches!(error, StateError::Row(_)), "{error}");
    }
    assert_eq!(state.keys().await.unwrap(), []);
}
