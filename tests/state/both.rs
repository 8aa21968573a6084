//! Tests that run on both databases.

use std::collections::BTreeSet;

use cairn_state::{
    CLIENT_WINDOW, Closing, Key, KeyKind, KeyState, MAX_LABEL_CHARS, MAX_MESSAGE_CHARS, MAX_OPEN_TICKETS,
    MAX_TEXT_CHARS, MAX_TICKETS_OF_CLIENT, NewKey, NewTicket, Revocation, Secret, State, StateError, Submission,
    Ticket, TicketKind, TicketState, Verdict,
};
use sha2::{Digest, Sha256};

use crate::database::TestDatabase;

on_both!(
    an_empty_database_is_made_ready_and_found_again,
    many_that_open_at_once_agree,
    a_newer_schema_is_refused_in_words,
    a_changed_step_is_refused,
    a_step_that_fails_leaves_nothing_behind,
    keys_are_issued_checked_and_revoked,
    keys_end_at_their_time,
    only_the_whole_secret_counts,
    use_is_noted_once_a_minute,
    secrets_are_nowhere_in_the_tables,
    texts_are_kept_as_they_are,
    what_cannot_be_kept_is_refused,
    damaged_rows_are_errors,
    servers_share_the_keys_of_the_service,
    feedback_is_kept_listed_and_closed,
    the_same_feedback_is_one_ticket_while_it_is_open,
    feedback_has_limits,
    feedback_that_cannot_be_kept_is_refused,
    an_older_database_is_extended,
);

pub(crate) fn new_key(kind: KeyKind, expires_at: Option<u64>) -> NewKey {
    NewKey { kind, label: "a label".to_owned(), expires_at }
}

async fn an_empty_database_is_made_ready_and_found_again(database: &TestDatabase) {
    let first = database.open().await;
    assert_eq!(first.keys().await.unwrap(), []);
    let (key, secret) = first.issue(new_key(KeyKind::Bridge, None), 1_000).await.unwrap();
    first.close().await;
    let again = database.open().await;
    assert_eq!(again.keys().await.unwrap(), [key]);
    assert!(matches!(again.check(&secret, 1_001).await.unwrap(), Verdict::Valid(_)));
    // Even without the call that makes it ready.
    let lazy = State::of(&database.state_url());
    assert_eq!(lazy.keys().await.unwrap().len(), 1);
    assert_eq!(database.text("SELECT CAST(count(*) AS TEXT) FROM cairn_schema").await, "11");
}

async fn many_that_open_at_once_agree(database: &TestDatabase) {
    let url = database.state_url();
    let openings: Vec<_> = (0..6)
        .map(|n| {
            let url = url.clone();
            tokio::spawn(async move {
                let state = State::open(&url).await.unwrap();
                state.issue(new_key(KeyKind::Session, None), n).await.unwrap();
                state.close().await;
            })
        })
        .collect();
    for opening in openings {
        opening.await.unwrap();
    }
    assert_eq!(database.open().await.keys().await.unwrap().len(), 6);
}

async fn a_newer_schema_is_refused_in_words(database: &TestDatabase) {
    database.open().await.close().await;
    database.execute("INSERT INTO cairn_schema (version, name, sha256) VALUES (99, 'later', 'x')").await;
    let error = State::open(&database.state_url()).await.unwrap_err();
    assert!(matches!(error, StateError::Newer { found: 99, known: 11 }), "{error:?}");
    assert!(error.to_string().contains("schema version 99, made by a newer Cairn"), "{error}");
    assert!(!error.may_pass());
    // And it stays refused for whoever does not look.
    assert!(State::of(&database.state_url()).keys().await.is_err());
}

async fn a_changed_step_is_refused(database: &TestDatabase) {
    database.open().await.close().await;
    database.execute("UPDATE cairn_schema SET sha256 = 'x'").await;
    let error = State::open(&database.state_url()).await.unwrap_err();
    assert!(matches!(error, StateError::Foreign { version: 1 }), "{error:?}");
}

async fn a_step_that_fails_leaves_nothing_behind(database: &TestDatabase) {
    database.execute("CREATE TABLE access_keys (something_else TEXT)").await;
    let error = State::open(&database.state_url()).await.unwrap_err();
    assert!(error.to_string().contains("access_keys"), "{error}");
    database.execute("DROP TABLE access_keys").await;
    // Would fail if the history had stayed.
    database.execute("CREATE TABLE cairn_schema (version TEXT)").await;
    database.execute("DROP TABLE cairn_schema").await;
    assert_eq!(database.open().await.keys().await.unwrap(), []);
}

async fn keys_are_issued_checked_and_revoked(database: &TestDatabase) {
    let state = database.open().await;
    for (at, kind) in KeyKind::ALL.into_iter().enumerate() {
        let now = 1_000 + at as u64;
        let (key, secret) = state.issue(new_key(kind, Some(5_000)), now).await.unwrap();
        let expected = Key {
            id: secret.id().to_owned(),
            kind,
            label: "a label".to_owned(),
            created_at: now,
            expires_at: Some(5_000),
            revoked_at: None,
            suspended_at: None,
            last_used_at: None,
        };
        assert_eq!((&key, key.state(now)), (&expected, KeyState::Active));
        assert!(secret.expose().starts_with(&key.begins_with()));
        // The presented key is text.
        let presented: Secret = secret.expose().parse().unwrap();
        assert_eq!(state.check(&presented, now).await.unwrap(), Verdict::Valid(expected));
        assert_eq!(state.revoke(&key.id, 2_000).await.unwrap(), Revocation::Done);
        assert_eq!(state.check(&presented, 2_000).await.unwrap(), Verdict::Revoked);
        assert_eq!(state.revoke(&key.id, 3_000).await.unwrap(), Revocation::Before(2_000));
        let listed = state.keys().await.unwrap().pop().unwrap();
        assert_eq!((listed.revoked_at, listed.state(2_000)), (Some(2_000), KeyState::Revoked));
    }
    assert_eq!(state.keys().await.unwrap().iter().map(|k| k.created_at).collect::<Vec<_>>(), [1_000, 1_001]);
    for nonsense in ["", "no such id", "' OR '1' = '1", "%"] {
        assert_eq!(state.revoke(nonsense, 2_000).await.unwrap(), Revocation::Unknown);
    }
}

async fn keys_end_at_their_time(database: &TestDatabase) {
    let state = database.open().await;
    let (key, secret) = state.issue(new_key(KeyKind::Session, Some(2_000)), 1_000).await.unwrap();
    assert!(matches!(state.check(&secret, 1_999).await.unwrap(), Verdict::Valid(_)));
    assert_eq!(state.check(&secret, 2_000).await.unwrap(), Verdict::Expired);
    assert_eq!((key.state(1_999), key.state(2_000)), (KeyState::Active, KeyState::Expired));
    // Revoked says more than expired.
    state.revoke(&key.id, 2_500).await.unwrap();
    assert_eq!(state.check(&secret, 3_000).await.unwrap(), Verdict::Revoked);
    let (_, forever) = state.issue(new_key(KeyKind::Session, None), 1_000).await.unwrap();
    assert!(matches!(state.check(&forever, i64::MAX as u64).await.unwrap(), Verdict::Valid(_)));
}

/// A secret of this text, with a check that fits.
fn forged(text: &str) -> Secret {
    let body = &text[..text.len() - 8];
    format!("{body}{}", hex::encode(&Sha256::digest(body.as_bytes())[..4])).parse().unwrap()
}

async fn only_the_whole_secret_counts(database: &TestDatabase) {
    let state = database.open().await;
    let (key, secret) = state.issue(new_key(KeyKind::Bridge, None), 1_000).await.unwrap();
    let text = secret.expose();
    assert_eq!(forged(text).sha256(), secret.sha256(), "the forger can forge");
    let mut last = text.to_owned();
    last.replace_range(text.len() - 9..text.len() - 8, if text.as_bytes()[text.len() - 9] == b'0' { "1" } else { "0" });
    let session = text.replace("cairn_key_", "cairn_ses_");
    let other_id = text.replace(secret.id(), "000000000000");
    for wrong in [&last, &session, &other_id] {
        assert_eq!(state.check(&forged(wrong), 1_001).await.unwrap(), Verdict::Unknown, "{wrong}");
    }
    assert_eq!(state.keys().await.unwrap()[0].last_used_at, None, "no use");
    // A client that guesses an id does not learn what became of the key.
    state.revoke(&key.id, 1_002).await.unwrap();
    assert_eq!(state.check(&forged(&last), 1_003).await.unwrap(), Verdict::Unknown);
}

async fn use_is_noted_once_a_minute(database: &TestDatabase) {
    let state = database.open().await;
    let (_, secret) = state.issue(new_key(KeyKind::Bridge, None), 1_000).await.unwrap();
    let (_, unused) = state.issue(new_key(KeyKind::Bridge, None), 1_001).await.unwrap();
    for (now, noted) in [(2_000, 2_000), (2_059, 2_000), (2_060, 2_060), (2_061, 2_060), (9_000, 9_000)] {
        assert!(matches!(state.check(&secret, now).await.unwrap(), Verdict::Valid(_)));
        state.uses_settled().await;
        let keys = state.keys().await.unwrap();
        assert_eq!(keys[0].last_used_at, Some(noted), "at {now}");
        assert_eq!((keys[1].id.as_str(), keys[1].last_used_at), (unused.id(), None));
    }
}

async fn secrets_are_nowhere_in_the_tables(database: &TestDatabase) {
    let state = database.open().await;
    let (_, secret) = state.issue(new_key(KeyKind::Bridge, None), 1_000).await.unwrap();
    state.check(&secret, 1_001).await.unwrap();
    state.uses_settled().await;
    let row = database
        .text(
            "SELECT id || ' ' || kind || ' ' || secret_sha256 || ' ' || label || ' ' || CAST(created_at AS TEXT) \
             || ' ' || CAST(last_used_at AS TEXT) FROM access_keys",
        )
        .await;
    let expected = format!("{} key {} a label 1000 1001", secret.id(), hex::encode(secret.sha256()));
    assert_eq!(row, expected);
    let random = &secret.expose()[23..87];
    assert!(!row.contains(random) && !row.contains(&secret.expose()[87..]));
}

async fn texts_are_kept_as_they_are(database: &TestDatabase) {
    let state = database.open().await;
    let labels = ["", "'; DROP TABLE access_keys; --", "日本語 \u{1f511} $1 ? \\ \"", &"é".repeat(MAX_LABEL_CHARS)];
    for (at, label) in labels.iter().enumerate() {
        let new = NewKey { kind: KeyKind::Bridge, label: (*label).to_owned(), expires_at: None };
        state.issue(new, at as u64).await.unwrap();
    }
    assert_eq!(state.keys().await.unwrap().iter().map(|k| k.label.clone()).collect::<Vec<_>>(), labels);
}

async fn what_cannot_be_kept_is_refused(database: &TestDatabase) {
    let state = database.open().await;
    let issue = |label: &str, expires_at| NewKey { kind: KeyKind::Bridge, label: label.to_owned(), expires_at };
    for label in ["a\nb", "\u{1b}[31m", "nul\0", &"x".repeat(MAX_LABEL_CHARS + 1)] {
        let error = state.issue(issue(label, None), 1).await.unwrap_err();
        assert!(matches!(error, StateError::Label), "{error:?}");
    }
    assert!(matches!(state.issue(issue("", Some(u64::MAX)), 1).await.unwrap_err(), StateError::Time));
    assert!(matches!(state.issue(issue("", None), u64::MAX).await.unwrap_err(), StateError::Time));
    assert_eq!(state.keys().await.unwrap(), []);
}

async fn damaged_rows_are_errors(database: &TestDatabase) {
    let state = database.open().await;
    let (_, secret) = state.issue(new_key(KeyKind::Bridge, None), 1_000).await.unwrap();
    database.execute("UPDATE access_keys SET created_at = -1").await;
    assert!(matches!(state.check(&secret, 1_001).await.unwrap_err(), StateError::Row(_)));
    assert!(matches!(state.keys().await.unwrap_err(), StateError::Row(_)));
    // A table that has gone is an error too, and never a verdict.
    database.execute("DROP TABLE access_keys").await;
    assert!(matches!(state.check(&secret, 1_001).await.unwrap_err(), StateError::Database { .. }));
}

fn feedback(message: &str) -> NewTicket {
    NewTicket {
        kind: TicketKind::LabelCorrection,
        address: Some("bc1q".to_owned()),
        message: message.to_owned(),
        suggested_label: Some("'; DROP TABLE feedback; --".to_owned()),
        suggested_category: None,
        source_url: Some("https://example.com/日本語".to_owned()),
        claim_id: Some("ab:1".to_owned()),
        is_signed: false,
    }
}

async fn received(state: &State, message: &str, client: Option<&str>, now: u64) -> Ticket {
    match state.submit(feedback(message), client, now).await.unwrap() {
        Submission::Received(ticket) => ticket,
        other => panic!("{other:?}"),
    }
}

async fn servers_share_the_keys_of_the_service(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    let all = (0..8).map(|at| {
        let state = [&one, &other][at % 2].clone();
        tokio::spawn(async move { state.service_secret("contest").await.unwrap() })
    });
    let mut found = Vec::new();
    for secret in all.collect::<Vec<_>>() {
        found.push(secret.await.unwrap());
    }
    assert!(found.iter().all(|secret| *secret == found[0]));
    assert_eq!(format!("{:?}", found[0]), "ServiceSecret");
    assert_ne!(one.service_secret("other").await.unwrap(), found[0]);
    database.execute("UPDATE service_secrets SET secret = secret || ''").await;
    assert_eq!(one.service_secret("contest").await.unwrap(), found[0]);
}

async fn feedback_is_kept_listed_and_closed(database: &TestDatabase) {
    let state = database.open().await;
    let first = received(&state, "first\n\tof two", Some("c"), 1_000).await;
    let second = received(&state, "second", None, 1_001).await;
    assert!(first.id.starts_with("fb_") && first.id.len() == 19 && first.id != second.id);
    assert_eq!(first.feedback, feedback("first\n\tof two"));
    let list = |which, limit| state.tickets(which, limit);
    assert_eq!(list(None, 9).await.unwrap(), [first.clone(), second.clone()]);
    assert_eq!(list(None, 1).await.unwrap(), std::slice::from_ref(&first));
    assert_eq!(list(Some(TicketState::Resolved), 9).await.unwrap(), []);

    assert_eq!(state.close_ticket(&first.id, true, Some("label changed"), 2_000).await.unwrap(), Closing::Done);
    assert_eq!(state.close_ticket(&second.id, false, None, 2_001).await.unwrap(), Closing::Done);
    for (id, before) in [(&first.id, TicketState::Resolved), (&second.id, TicketState::Rejected)] {
        assert_eq!(state.close_ticket(id, false, Some("again"), 3_000).await.unwrap(), Closing::Before(before));
    }
    for nonsense in ["", "fb_", "' OR '1' = '1", "%"] {
        assert_eq!(state.close_ticket(nonsense, true, None, 3_000).await.unwrap(), Closing::Unknown);
    }
    let resolved = state.ticket(&first.id).await.unwrap().unwrap();
    let expected = Ticket {
        state: TicketState::Resolved,
        closed_at: Some(2_000),
        note: Some("label changed".to_owned()),
        ..first.clone()
    };
    assert_eq!(resolved, expected);
    assert_eq!(list(Some(TicketState::Rejected), 9).await.unwrap()[0].id, second.id);
    assert_eq!(list(Some(TicketState::Open), 9).await.unwrap(), []);
}

async fn the_same_feedback_is_one_ticket_while_it_is_open(database: &TestDatabase) {
    let state = database.open().await;
    let ticket = received(&state, "same", Some("a"), 1_000).await;
    for client in [Some("a"), Some("b"), None] {
        let again = state.submit(feedback("same"), client, 2_000).await.unwrap();
        assert_eq!(again, Submission::Known(ticket.clone()));
    }
    // Any other word is another ticket, and so is a text that has moved from one member to another.
    let moved =
        NewTicket { suggested_category: feedback("").suggested_label, suggested_label: None, ..feedback("same") };
    assert!(matches!(state.submit(moved, None, 2_000).await.unwrap(), Submission::Received(_)));
    for other in [
        NewTicket { claim_id: None, ..feedback("same") },
        NewTicket { claim_id: Some("ab:2".to_owned()), ..feedback("same") },
        NewTicket { is_signed: true, ..feedback("same") },
    ] {
        assert!(matches!(state.submit(other, None, 2_000).await.unwrap(), Submission::Received(_)));
    }
    state.close_ticket(&ticket.id, true, None, 3_000).await.unwrap();
    assert_ne!(received(&state, "same", Some("a"), 4_000).await.id, ticket.id);
    // If several clients say it at the same time, one of them opens the ticket.
    let all = (0..8).map(|_| {
        let state = state.clone();
        tokio::spawn(async move { state.submit(feedback("at once"), None, 5_000).await.unwrap() })
    });
    let mut ids = BTreeSet::new();
    let mut opened = 0;
    for one in all.collect::<Vec<_>>() {
        match one.await.unwrap() {
            Submission::Received(ticket) => {
                opened += 1;
                ids.insert(ticket.id);
            }
            Submission::Known(ticket) => drop(ids.insert(ticket.id)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((opened, ids.len()), (1, 1));
}

async fn feedback_has_limits(database: &TestDatabase) {
    let state = database.open().await;
    for n in 0..MAX_TICKETS_OF_CLIENT {
        received(&state, &format!("{n}"), Some("a"), 1_000_000 + u64::from(n)).await;
    }
    let late = 1_000_000 + CLIENT_WINDOW;
    let by_a = |now| state.submit(feedback("more"), Some("a"), now);
    assert_eq!(by_a(late - 1).await.unwrap(), Submission::TooManyOfClient);
    // Known feedback costs nothing; others are not concerned; the first ticket leaves the window.
    assert!(matches!(state.submit(feedback("0"), Some("a"), late - 1).await.unwrap(), Submission::Known(_)));
    received(&state, "of b", Some("b"), late - 1).await;
    assert!(matches!(by_a(late).await.unwrap(), Submission::Received(_)));

    let open = state.tickets(Some(TicketState::Open), u32::MAX).await.unwrap();
    let missing = MAX_OPEN_TICKETS as usize - open.len();
    database
        .execute(&format!(
            "INSERT INTO feedback (id, kind, message, content_sha256, state, created_at) \
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {missing}) \
             SELECT 'x' || i, 'general', 'm', substr('{zeros}' || i, length('' || i) + 1), 'open', 1 FROM n",
            zeros = "0".repeat(64)
        ))
        .await;
    assert_eq!(state.submit(feedback("one too many"), Some("c"), late).await.unwrap(), Submission::Full);
    state.close_ticket(&open[0].id, true, None, late).await.unwrap();
    received(&state, "one too many", Some("c"), late).await;
}

async fn feedback_that_cannot_be_kept_is_refused(database: &TestDatabase) {
    let state = database.open().await;
    let mut bad = Vec::new();
    for message in ["", " \n", "nul\0", "\u{1b}[31m", &"é".repeat(MAX_MESSAGE_CHARS + 1)] {
        bad.push(feedback(message));
    }
    bad.push(NewTicket { suggested_label: Some("a\nb".to_owned()), ..feedback("m") });
    bad.push(NewTicket { source_url: Some("x".repeat(MAX_TEXT_CHARS + 1)), ..feedback("m") });
    for new in bad {
        let error = state.submit(new.clone(), None, 1).await.unwrap_err();
        assert!(matches!(error, StateError::Feedback), "{new:?}: {error:?}");
    }
    assert!(matches!(state.submit(feedback("m"), None, u64::MAX).await.unwrap_err(), StateError::Time));
    assert_eq!(state.tickets(None, 9).await.unwrap(), []);
    received(&state, &"é".repeat(MAX_MESSAGE_CHARS), None, 1).await;
    database.execute("UPDATE feedback SET created_at = -1").await;
    assert!(matches!(state.tickets(None, 9).await.unwrap_err(), StateError::Row(_)));
}

/// Tables of the steps from `reports` on.
const NEWEST: [&str; 19] = [
    "payment_counters",
    "payment_addresses",
    "payment_skips",
    "reports",
    "report_acts",
    "client_keys",
    "report_voters",
    "timestamp_hashes",
    "timestamp_batches",
    "timestamp_nodes",
    "timestamp_candidates",
    "timestamp_leases",
    "timestamp_reports",
    "codes",
    "l402_challenges",
    "l402_reopenings",
    "x402_payments",
    "simulated_invoices",
    "checkouts",
];

async fn an_older_database_is_extended(database: &TestDatabase) {
    let state = database.open().await;
    let (key, _) = state.issue(new_key(KeyKind::Bridge, None), 1_000).await.unwrap();
    state.close().await;
    let later = ["sanction_approvals", "sanction_feeds", "service_secrets", "waiting_documents", "writers"];
    for table in ["feedback"].into_iter().chain(later).chain(NEWEST) {
        database.execute(&format!("DROP TABLE {table}")).await;
    }
    database.execute("ALTER TABLE access_keys DROP COLUMN suspended_at").await;
    database.execute("DELETE FROM cairn_schema WHERE version >= 2").await;
    let again = database.open().await;
    assert_eq!(again.keys().await.unwrap(), [key]);
    received(&again, "m", None, 1).await;
    again.close().await;
    // Tickets of before they could be about a claim.
    for table in ["feedback", "service_secrets", "waiting_documents", "writers"].into_iter().chain(NEWEST) {
        database.execute(&format!("DROP TABLE {table}")).await;
    }
    database.execute("ALTER TABLE access_keys DROP COLUMN suspended_at").await;
    database.execute("DELETE FROM cairn_schema WHERE version >= 4").await;
    database.execute(include_str!("../../query-api/state/migrations/0002_feedback.sql")).await;
    database
        .execute(&format!(
            "INSERT INTO feedback (id, kind, message, content_sha256, state, created_at) \
             VALUES ('fb_0', 'general', 'm', '{}', 'open', 1)",
            "0".repeat(64)
        ))
        .await;
    let tickets = database.open().await.tickets(None, 9).await.unwrap();
    let of: Vec<_> = tickets.iter().map(|of| (of.id.as_str(), of.feedback.is_signed, &of.feedback.claim_id)).collect();
    assert_eq!(of, [("fb_0", false, &None)]);
}
