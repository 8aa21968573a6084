//! Challenges of L402, on both databases.

use cairn_state::{
    Challenge, ChallengeLease, ChallengeSecrets, ChallengeState, ClientHashes, Leasing, MAX_CHALLENGES_OF_CLIENT,
    MAX_OPEN_CHALLENGES, MAX_SALES_DAYS, NewChallenge, Offering, PAID_GRACE_SECS, Redeeming, Release, Releasing,
    SALES_KEPT_SECS, SAME_CHALLENGE_SECS, SalesMethod, State, StateError,
};

use crate::database::TestDatabase;

on_both!(
    a_challenge_is_offered_paid_and_redeemed_once,
    the_same_request_gets_the_same_challenge,
    raced_offers_end_with_one_row,
    clients_have_limits_also_when_keys_change,
    all_have_a_limit,
    old_challenges_are_removed,
    sales_are_summed_by_day,
    challenges_that_do_not_fit_are_refused,
    damaged_challenges_are_errors,
);

pub(crate) const NOW: u64 = 1_700_000_000;
pub(crate) const DAY: u64 = 86_400;
pub(crate) const TTL: u64 = 30;

pub(crate) async fn client(state: &State, name: &str, now: u64) -> ClientHashes {
    state.client_keys(now, 0).await.unwrap().hashes(|key| key.mac(&["l402", name]))
}

/// A challenge for request number `request`; the number of the challenge makes its token and its hash.
pub(crate) fn challenge(number: u32, request: u8, now: u64, valid_secs: u64) -> NewChallenge {
    let mut token_id = [7; 32];
    token_id[..4].copy_from_slice(&number.to_be_bytes());
    let mut payment_hash = [8; 32];
    payment_hash[..4].copy_from_slice(&number.to_be_bytes());
    NewChallenge {
        token_id,
        payment_hash,
        secrets: ChallengeSecrets {
            root_key: [0xab; 32],
            macaroon: format!("macaroon-{number}"),
            invoice: format!("lnbcrt-{number}"),
        },
        capability: "wallet_summary".to_owned(),
        method: "GET".to_owned(),
        path_template: "/v1/wallets/{address}".to_owned(),
        resource_path: "/v1/wallets/'; DROP TABLE l402_challenges; --".to_owned(),
        fingerprint: [request; 32],
        price_sats: 10,
        provider: "simulated".to_owned(),
        invoice_expires_at: now + valid_secs - 60,
        expires_at: now + valid_secs,
    }
}

pub(crate) async fn offered(state: &State, number: u32, request: u8, now: u64) -> Challenge {
    let client = client(state, "ann", now).await;
    match state.add_challenge(challenge(number, request, now, 600), &client, now).await.unwrap() {
        Offering::Offered(challenge) => *challenge,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn take(state: &State, of: &Challenge, holder: &str, now: u64) -> Leasing {
    state.lease_challenge(&of.content.token_id, &of.content.fingerprint, holder, TTL, now).await.unwrap()
}

pub(crate) async fn leased(state: &State, of: &Challenge, holder: &str, now: u64) -> ChallengeLease {
    match take(state, of, holder, now).await {
        Leasing::Leased(lease) => lease,
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn state_of(state: &State, of: &Challenge, now: u64) -> ChallengeState {
    state.challenge_status(&of.id, now).await.unwrap().unwrap().state
}

async fn a_challenge_is_offered_paid_and_redeemed_once(database: &TestDatabase) {
    let state = database.open().await;
    let made = offered(&state, 1, 1, NOW).await;
    assert_eq!(made.redeemable_until, NOW + 600 + PAID_GRACE_SECS);
    assert!(made.id.starts_with("ch_"));
    let found = state.challenge_of_token(&made.content.token_id).await.unwrap();
    assert_eq!(found, Some(made.clone()), "all of it is kept");
    assert_eq!(state.challenge_of_token(&[0; 32]).await.unwrap(), None);
    // Neither the row nor its public part shows what opens it.
    let status = state.challenge_status(&made.id, NOW).await.unwrap().unwrap();
    assert_eq!((status.state, status.price_sats, status.redeemed_at), (ChallengeState::Pending, 10, None));
    assert_eq!((status.created_at, status.expires_at), (NOW, NOW + 600));
    for shown in [format!("{made:?}"), format!("{status:?}")] {
        for secret in ["macaroon-1", "lnbcrt-1", "171, 171", "abab"] {
            assert!(!shown.contains(secret), "{shown}");
        }
    }
    assert_eq!(state.challenge_status("ch_0", NOW).await.unwrap(), None);

    let lease = leased(&state, &made, "a", NOW + 1).await;
    assert_eq!((lease.fence, lease.expires_at), (1, NOW + 1 + TTL));
    assert_eq!(state_of(&state, &made, NOW + 1).await, ChallengeState::Pending);
    for holder in ["a", "b"] {
        assert_eq!(take(&state, &made, holder, NOW + 2).await, Leasing::Busy { until: NOW + 1 + TTL });
    }
    assert_eq!(state.redeem_challenge(&lease, NOW + 3).await.unwrap(), Redeeming::Done);
    assert_eq!(state.redeem_challenge(&lease, NOW + 9).await.unwrap(), Redeeming::Done, "a repetition changes nothing");
    for now in [NOW + 4, NOW + 100_000] {
        assert_eq!(take(&state, &made, "a", now).await, Leasing::Redeemed { at: NOW + 3 });
    }
    assert_eq!(state.release_challenge(&lease, Release::Ours, NOW + 4).await.unwrap(), Releasing::LeaseLost);
    let status = state.challenge_status(&made.id, NOW + 5).await.unwrap().unwrap();
    assert_eq!((status.state, status.redeemed_at), (ChallengeState::Redeemed, Some(NOW + 3)));
    let kept = database.text("SELECT COALESCE(client, 'nobody') FROM l402_challenges").await;
    assert_eq!(kept, "nobody", "who has paid for it is forgotten");

    let other = offered(&state, 2, 2, NOW).await;
    let wrong = state.lease_challenge(&other.content.token_id, &[9; 32], "a", TTL, NOW).await.unwrap();
    assert_eq!(wrong, Leasing::OtherRequest);
    assert_eq!(state.lease_challenge(&[0; 32], &[2; 32], "a", TTL, NOW).await.unwrap(), Leasing::Unknown);
    let end = NOW + 600 + PAID_GRACE_SECS;
    assert_eq!(state_of(&state, &other, end - 1).await, ChallengeState::Pending);
    assert_eq!(state_of(&state, &other, end).await, ChallengeState::Expired);
    assert_eq!(take(&state, &other, "a", end).await, Leasing::Expired);
    leased(&state, &other, "a", end - 1).await;
    assert_eq!(state_of(&state, &other, end).await, ChallengeState::Pending, "a request that has it goes on");
}

async fn the_same_request_gets_the_same_challenge(database: &TestDatabase) {
    let state = database.open().await;
    let (ann, bob) = (client(&state, "ann", NOW).await, client(&state, "bob", NOW).await);
    assert_eq!(state.open_challenge(&ann, &[1; 32], NOW).await.unwrap(), Offering::Room);
    let made = offered(&state, 1, 1, NOW).await;
    let again = Offering::Offered(Box::new(made.clone()));
    let young = NOW + SAME_CHALLENGE_SECS - 1;
    assert_eq!(state.open_challenge(&ann, &[1; 32], young).await.unwrap(), again);
    assert_eq!(state.add_challenge(challenge(2, 1, young, 600), &ann, young).await.unwrap(), again);
    for (client, request, now) in [(&ann, 2, young), (&bob, 1, young), (&ann, 1, young + 1)] {
        assert_eq!(state.open_challenge(client, &[request; 32], now).await.unwrap(), Offering::Room);
    }
    // One that is in use or redeemed was paid.
    let lease = leased(&state, &made, "a", NOW + 1).await;
    assert_eq!(state.open_challenge(&ann, &[1; 32], NOW + 2).await.unwrap(), Offering::Room);
    state.release_challenge(&lease, Release::Ours, NOW + 3).await.unwrap();
    let back = state.open_challenge(&ann, &[1; 32], NOW + 4).await.unwrap();
    assert!(matches!(back, Offering::Offered(found) if found.id == made.id));
    let lease = leased(&state, &made, "a", NOW + 5).await;
    state.redeem_challenge(&lease, NOW + 5).await.unwrap();
    assert_eq!(state.open_challenge(&ann, &[1; 32], NOW + 6).await.unwrap(), Offering::Room);
    // An invoice that has ended cannot be paid.
    state.add_challenge(challenge(3, 3, NOW, 61), &ann, NOW).await.unwrap();
    assert!(matches!(state.open_challenge(&ann, &[3; 32], NOW).await.unwrap(), Offering::Offered(_)));
    assert_eq!(state.open_challenge(&ann, &[3; 32], NOW + 1).await.unwrap(), Offering::Room);
}

async fn raced_offers_end_with_one_row(database: &TestDatabase) {
    let states = [database.open().await, database.open().await];
    let ann = client(&states[0], "ann", NOW).await;
    let tasks: Vec<_> = (0..40)
        .map(|number| {
            let (state, ann) = (states[number as usize % 2].clone(), ann.clone());
            tokio::spawn(async move { state.add_challenge(challenge(number, 1, NOW, 600), &ann, NOW).await.unwrap() })
        })
        .collect();
    let mut all = Vec::new();
    for task in tasks {
        let Offering::Offered(challenge) = task.await.unwrap() else { panic!("all are answered") };
        all.push(*challenge);
    }
    assert!(all.iter().all(|challenge| *challenge == all[0]));
    assert_eq!(database.text("SELECT CAST(count(*) AS TEXT) FROM l402_challenges").await, "1");
}

async fn clients_have_limits_also_when_keys_change(database: &TestDatabase) {
    let state = database.open().await;
    let before = client(&state, "ann", NOW).await;
    // Half under the first key, half under the second.
    let late = NOW + DAY;
    for number in 0..MAX_CHALLENGES_OF_CLIENT / 2 {
        let new = challenge(number, number as u8, NOW, 10 * DAY);
        assert!(matches!(state.add_challenge(new, &before, NOW).await.unwrap(), Offering::Offered(_)));
    }
    let young = state.add_challenge(challenge(90, 90, NOW, 10 * DAY), &before, late - 9).await.unwrap();
    let after = client(&state, "ann", late).await;
    assert_ne!(before.current, after.current);
    assert_eq!(before.current, after.previous);
    assert_eq!(state.open_challenge(&before, &[0; 32], late).await.unwrap(), Offering::KeysChanged);
    let stale = state.add_challenge(challenge(91, 91, late, DAY), &before, late).await.unwrap();
    assert_eq!(stale, Offering::KeysChanged);
    assert_eq!(state.open_challenge(&after, &[90; 32], late).await.unwrap(), young, "found under both keys");
    for number in MAX_CHALLENGES_OF_CLIENT / 2 + 1..MAX_CHALLENGES_OF_CLIENT {
        let new = challenge(number, number as u8, late, 10 * DAY);
        assert!(matches!(state.add_challenge(new, &after, late).await.unwrap(), Offering::Offered(_)), "{number}");
    }
    assert_eq!(state.open_challenge(&after, &[77; 32], late).await.unwrap(), Offering::TooManyOfClient);
    let refused = state.add_challenge(challenge(92, 77, late, DAY), &after, late).await.unwrap();
    assert_eq!(refused, Offering::TooManyOfClient);
    // The same request still gets its challenge, and others have room.
    assert_eq!(state.open_challenge(&after, &[90; 32], late).await.unwrap(), young);
    let bob = client(&state, "bob", late).await;
    assert_eq!(state.open_challenge(&bob, &[77; 32], late).await.unwrap(), Offering::Room);
    // A redeemed one makes room, and so does the end of the others.
    let Offering::Offered(young) = young else { panic!("offered") };
    let lease = leased(&state, &young, "a", late).await;
    assert_eq!(state.open_challenge(&after, &[77; 32], late).await.unwrap(), Offering::TooManyOfClient);
    state.redeem_challenge(&lease, late).await.unwrap();
    assert_eq!(state.open_challenge(&after, &[77; 32], late).await.unwrap(), Offering::Room);
    assert_eq!(state.open_challenge(&after, &[77; 32], NOW + 10 * DAY).await.unwrap(), Offering::Room);
}

/// Inserts challenges past the crate; those from `sold` on are sold at NOW.
pub(crate) async fn fill(database: &TestDatabase, from: u32, to: u32, expires_at: u64, is_sold: bool) {
    let (begin, end) = if matches!(database, TestDatabase::Sqlite(_)) { ("x'", "'") } else { ("'\\x", "'") };
    let sold = if is_sold { NOW.to_string() } else { "NULL".to_owned() };
    let numbers: Vec<u32> = (from..to).collect();
    for part in numbers.chunks(500) {
        let row = |number: &u32| {
            let hash = format!("{begin}{number:064x}{end}");
            format!(
                "('ch_{number}', {hash}, {hash}, {hash}, 'm', 'i', 'c', 'GET', '/', '/', {hash}, 'x', 1, 'p', {NOW}, \
                 {expires_at}, {expires_at}, {expires_at}, {sold}, {sold})"
            )
        };
        let rows: Vec<String> = part.iter().map(row).collect();
        database
            .execute(&format!(
                "INSERT INTO l402_challenges (id, token_id, payment_hash, root_key, macaroon, invoice, capability, \
                 method, path_template, resource_path, fingerprint, client, price_sats, provider, created_at, \
                 invoice_expires_at, expires_at, redeemable_until, redeemed_at, sold_at) VALUES {}",
                rows.join(", ")
            ))
            .await;
    }
}

async fn all_have_a_limit(database: &TestDatabase) {
    let state = database.open().await;
    let ann = client(&state, "ann", NOW).await;
    fill(database, 0, MAX_OPEN_CHALLENGES - 1, NOW + 60, false).await;
    fill(database, MAX_OPEN_CHALLENGES, MAX_OPEN_CHALLENGES + 50, NOW + 60, true).await;
    let last = state.add_challenge(challenge(u32::MAX, 1, NOW, 600), &ann, NOW).await.unwrap();
    assert!(matches!(last, Offering::Offered(_)), "{last:?}");
    assert_eq!(state.open_challenge(&ann, &[2; 32], NOW).await.unwrap(), Offering::Full);
    let refused = state.add_challenge(challenge(u32::MAX - 1, 2, NOW, 600), &ann, NOW).await.unwrap();
    assert_eq!(refused, Offering::Full);
    assert_eq!(state.open_challenge(&ann, &[1; 32], NOW).await.unwrap(), last, "known ones are still given");
    assert_eq!(state.open_challenge(&ann, &[2; 32], NOW + 60).await.unwrap(), Offering::Room);
}

async fn old_challenges_are_removed(database: &TestDatabase) {
    let state = database.open().await;
    fill(database, 0, 1_500, NOW, false).await;
    let (open, sold) = (offered(&state, u32::MAX, 1, NOW).await, offered(&state, u32::MAX - 1, 2, NOW).await);
    let lease = leased(&state, &sold, "a", NOW).await;
    state.redeem_challenge(&lease, NOW).await.unwrap();
    // The list of what was never redeemed has all of them, page by page.
    let (mut listed, mut after) = (Vec::new(), None);
    loop {
        let position = after.as_ref().map(|(end, id): &(u64, String)| (*end, id.as_str()));
        let page = state.unredeemed_challenges(position, 600).await.unwrap();
        let Some(last) = page.last() else { break };
        after = Some((last.redeemable_until, last.id.clone()));
        listed.extend(page.into_iter().map(|challenge| challenge.id));
    }
    assert_eq!((listed.len(), listed.last()), (1_501, Some(&open.id)));
    assert!(!listed.contains(&sold.id));
    assert_eq!(state.sales_counts(NOW).await.unwrap().open_challenges, 1);
    let found = cairn_state::check(&database.state_url()).await.unwrap();
    assert_eq!((found.challenges, found.x402_payments), (1_502, 0));
    assert_eq!(state.purge_challenges(NOW + 99, 100).await.unwrap(), 0, "they are kept for a while");
    for removed in [1_000, 500, 0] {
        assert_eq!(state.purge_challenges(NOW + 100, 100).await.unwrap(), removed);
    }
    // One that a request has stays until the request is done.
    let end = open.redeemable_until;
    let lease = leased(&state, &open, "a", end - 1).await;
    assert_eq!(state.purge_challenges(end, 0).await.unwrap(), 0);
    assert_eq!(state.purge_challenges(end - 1 + TTL, 0).await.unwrap(), 1);
    assert_eq!(state.redeem_challenge(&lease, end + TTL).await.unwrap(), Redeeming::LeaseLost);
    // What was sold stays for the report.
    assert_eq!(state.purge_challenges(NOW + SALES_KEPT_SECS - 1, 0).await.unwrap(), 0);
    assert_eq!(state.purge_challenges(NOW + SALES_KEPT_SECS, 0).await.unwrap(), 1);
    assert_eq!(take(&state, &sold, "a", NOW).await, Leasing::Unknown);
}

async fn sales_are_summed_by_day(database: &TestDatabase) {
    let state = database.open().await;
    let first_day = NOW / DAY * DAY;
    let sales = [
        ("b", 10, first_day),
        ("b", 20, first_day + DAY - 1),
        ("a", 5, first_day + DAY),
        ("a", 7, first_day + 2 * DAY),
        ("a", 9, first_day + 3 * DAY),
    ];
    let ann = client(&state, "ann", first_day).await;
    for (number, (capability, price_sats, at)) in sales.into_iter().enumerate() {
        let mut new = challenge(number as u32, number as u8, first_day, 10 * DAY);
        (new.capability, new.price_sats) = (capability.to_owned(), price_sats);
        let Offering::Offered(made) = state.add_challenge(new, &ann, first_day).await.unwrap() else { panic!() };
        let lease = leased(&state, &made, "a", at).await;
        state.redeem_challenge(&lease, at).await.unwrap();
    }
    offered(&state, 99, 99, first_day).await;
    let sums = state.sales_report(first_day + 5, first_day + 2 * DAY + 5).await.unwrap();
    let short: Vec<_> = sums.iter().map(|row| (row.day, row.capability.as_str(), row.count, row.amount)).collect();
    let expected = [(first_day, "b", 2, 30), (first_day + DAY, "a", 1, 5), (first_day + 2 * DAY, "a", 1, 7)];
    assert_eq!(short, expected);
    assert!(sums.iter().all(|row| row.method == SalesMethod::L402 && row.method.unit() == "sats"));
    let longest = first_day + (MAX_SALES_DAYS - 1) * DAY;
    assert_eq!(state.sales_report(first_day, longest).await.unwrap().len(), 4);
    for (from, until) in [(first_day, longest + DAY), (first_day + DAY, first_day), (0, u64::MAX)] {
        assert!(matches!(state.sales_report(from, until).await.unwrap_err(), StateError::SalesRange));
    }
}

async fn challenges_that_do_not_fit_are_refused(database: &TestDatabase) {
    let state = database.open().await;
    let ann = client(&state, "ann", NOW).await;
    let wrong: [fn(&mut NewChallenge); 8] = [
        |new| new.capability = String::new(),
        |new| new.capability = "x".repeat(101),
        |new| new.method = "GET\n".to_owned(),
        |new| new.resource_path = "x".repeat(8_193),
        |new| new.secrets.macaroon = String::new(),
        |new| new.secrets.invoice = "x".repeat(8_193),
        |new| new.price_sats = 0,
        |new| new.price_sats = u64::MAX,
    ];
    for spoil in wrong {
        let mut new = challenge(1, 1, NOW, 600);
        spoil(&mut new);
        let error = state.add_challenge(new.clone(), &ann, NOW).await.unwrap_err();
        assert!(matches!(error, StateError::Sale), "{new:?}: {error}");
    }
    for (invoice_end, end) in [(NOW + 2, NOW + 1), (NOW, u64::MAX)] {
        let mut new = challenge(1, 1, NOW, 600);
        (new.invoice_expires_at, new.expires_at) = (invoice_end, end);
        assert!(matches!(state.add_challenge(new, &ann, NOW).await.unwrap_err(), StateError::Time));
    }
    assert!(matches!(state.lease_challenge(&[1; 32], &[1; 32], "", 1, NOW).await.unwrap_err(), StateError::Sale));
    assert!(matches!(
        state.lease_challenge(&[1; 32], &[1; 32], "a", u64::MAX, NOW).await.unwrap_err(),
        StateError::Time
    ));
    assert_eq!(database.text("SELECT CAST(count(*) AS TEXT) FROM l402_challenges").await, "0");
    // Two challenges never share a token or a payment.
    offered(&state, 1, 1, NOW).await;
    let repeated = state.add_challenge(challenge(1, 2, NOW, 600), &ann, NOW).await;
    assert!(matches!(repeated.unwrap_err(), StateError::Database { .. }));
}

async fn damaged_challenges_are_errors(database: &TestDatabase) {
    let state = database.open().await;
    let ann = client(&state, "ann", NOW).await;
    let made = offered(&state, 1, 1, NOW).await;
    for (damage, repair) in [
        ("created_at = -1", format!("created_at = {NOW}")),
        ("holder = 'a'", "holder = NULL".to_owned()),
        ("leased_until = 5", "leased_until = NULL".to_owned()),
        ("sold_at = -5", "sold_at = NULL".to_owned()),
    ] {
        database.execute(&format!("UPDATE l402_challenges SET {damage}")).await;
        let mut errors = vec![
            state.challenge_of_token(&made.content.token_id).await.unwrap_err(),
            state.challenge_status(&made.id, NOW).await.unwrap_err(),
            state.lease_challenge(&made.content.token_id, &made.content.fingerprint, "a", 9, NOW).await.unwrap_err(),
        ];
        // One that seems older than a minute is not looked for.
        if !damage.starts_with("created_at") {
            errors.push(state.open_challenge(&ann, &[1; 32], NOW).await.unwrap_err());
            errors.push(state.add_challenge(challenge(2, 1, NOW, 600), &ann, NOW).await.unwrap_err());
        }
        for error in errors {
            assert!(matches!(error, StateError::Row(_)), "{damage}: {error}");
        }
        database.execute(&format!("UPDATE l402_challenges SET {repair}")).await;
    }
    assert_eq!(state.challenge_of_token(&made.content.token_id).await.unwrap(), Some(made));
}
