//! Answers of owners to reports, the removal of texts, and counts, on both databases.

use cairn_state::{
    MAX_REPLY_CHARS, Moderation, PublishingBlock, Reply, Replying, ReportAct, ReportCounts, State, StateError,
    UNPAID_KEPT, Visibility,
};

use crate::{
    database::TestDatabase,
    reports::{SCRIPT, created},
};

on_both!(
    the_answer_to_the_newest_message_stands,
    answers_that_cannot_be_kept_are_refused,
    erased_texts_are_gone,
    erased_texts_stay_in_the_files_while_others_read,
    reports_that_nobody_pays_are_deleted,
    reports_are_counted,
    reports_of_before_can_be_answered_and_erased,
);

fn block() -> PublishingBlock {
    PublishingBlock { height: 7, hash: "ab".repeat(32) }
}

async fn reply(state: &State, id: &str) -> Option<(String, u64)> {
    let reply = state.report(id).await.unwrap().unwrap().reply?;
    Some((reply.text.unwrap(), reply.replied_at))
}

async fn the_answer_to_the_newest_message_stands(database: &TestDatabase) {
    let state = database.open().await;
    let (made, other) = (created(&state, "one", "a", 1_000).await, created(&state, "two", "b", 1_000).await);
    let id = &made.id;
    assert_eq!(reply(&state, id).await, None);
    let text = "not mine\n\t'; DROP TABLE reports; -- \u{1f600}";
    assert_eq!(state.reply_to_report(id, text, 5_000, 1_100).await.unwrap(), Replying::Stored);
    assert_eq!(reply(&state, id).await, Some((text.to_owned(), 1_100)));
    // The same message again changes nothing.
    assert_eq!(state.reply_to_report(id, text, 5_000, 1_200).await.unwrap(), Replying::Stored);
    assert_eq!(reply(&state, id).await, Some((text.to_owned(), 1_100)));
    assert_eq!(state.reply_to_report(id, "older", 4_999, 1_300).await.unwrap(), Replying::Superseded);
    assert_eq!(reply(&state, id).await, Some((text.to_owned(), 1_100)));
    assert_eq!(state.reply_to_report(id, "newer", 5_001, 1_400).await.unwrap(), Replying::Stored);
    assert_eq!(reply(&state, id).await, Some(("newer".to_owned(), 1_400)));
    assert_eq!(state.reply_to_report("rp_0", "x", 5_001, 1_400).await.unwrap(), Replying::Unknown);
    assert_eq!(reply(&state, &other.id).await, None, "the other report has none");
    // Of raced messages the newest one stands.
    let all: Vec<_> = (0..24u64)
        .map(|at| {
            let (state, id) = (state.clone(), id.clone());
            let until = 6_000 + at * 7 % 24;
            tokio::spawn(async move { state.reply_to_report(&id, &format!("until {until}"), until, 1_500).await })
        })
        .collect();
    for one in all {
        assert!(matches!(one.await.unwrap().unwrap(), Replying::Stored | Replying::Superseded));
    }
    assert_eq!(reply(&state, id).await.unwrap().0, "until 6023");
    let listed = state.reports_about(SCRIPT, None, 9).await.unwrap();
    assert_eq!(listed.iter().filter(|of| of.reply.is_some()).count(), 1);
}

async fn answers_that_cannot_be_kept_are_refused(database: &TestDatabase) {
    let state = database.open().await;
    let made = created(&state, "one", "a", 1_000).await;
    for bad in ["", " \n", "a\u{1b}[31m", "nul\0", &"é".repeat(MAX_REPLY_CHARS + 1)] {
        let error = state.reply_to_report(&made.id, bad, 5_000, 1_000).await.unwrap_err();
        assert!(matches!(error, StateError::Report), "{bad:?}: {error:?}");
    }
    assert!(matches!(state.reply_to_report(&made.id, "x", u64::MAX, 1).await.unwrap_err(), StateError::Time));
    assert_eq!(reply(&state, &made.id).await, None);
    let longest = "é".repeat(MAX_REPLY_CHARS);
    state.reply_to_report(&made.id, &longest, 5_000, 1_000).await.unwrap();
    assert_eq!(reply(&state, &made.id).await.unwrap().0, longest);
}

/// True if a file of the database has this text.
fn is_in_files(database: &TestDatabase, text: &str) -> bool {
    let TestDatabase::Sqlite(folder) = database else { return false };
    ["state.sqlite", "state.sqlite-wal"].iter().any(|name| {
        let bytes = std::fs::read(folder.path().join(name)).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

async fn erased_texts_are_gone(database: &TestDatabase) {
    let (state, server) = (database.open().await, database.open().await);
    // Longer than a page, so that a part of it is on pages of its own.
    let description = format!("names Alice Example{}", " and more".repeat(200));
    let kept = created(&state, "another report, which stays", "a", 1_000).await;
    let made = created(&state, &description, "b", 1_000).await;
    let id = &made.id;
    state.reply_to_report(id, "says Bob Example", 5_000, 1_100).await.unwrap();
    state.note_publication(id, &block()).await.unwrap();
    for name in ["Alice Example", "Bob Example"] {
        assert!(is_in_files(database, name) || matches!(database, TestDatabase::Postgres { .. }));
    }
    assert_eq!(state.erase_report("rp_0", "x", 2_000).await.unwrap(), Moderation::Unknown);
    for bad in [" ", "a\u{1b}", &"x".repeat(501)] {
        assert!(matches!(state.erase_report(id, bad, 2_000).await.unwrap_err(), StateError::Report));
    }
    assert!(state.report(id).await.unwrap().unwrap().erased_at.is_none());
    assert_eq!(state.erase_report(id, "asked for by the person", 2_000).await.unwrap(), Moderation::Done);
    assert_eq!(state.erase_report(id, "again", 3_000).await.unwrap(), Moderation::Before);
    let report = server.report(id).await.unwrap().unwrap();
    assert_eq!((report.content.description.as_str(), &report.content.evidence_url), ("", &None));
    assert_eq!((report.erased_at, &report.reply), (Some(2_000), &Some(Reply { text: None, replied_at: 1_100 })));
    assert_eq!(report.content.evidence_txids, made.content.evidence_txids, "transactions are facts of the chain");
    assert_eq!(report.published_in, Some(block()));
    assert_eq!(state.reply_to_report(id, "new text", 9_000, 3_000).await.unwrap(), Replying::Erased);
    let acts = state.report_acts(id).await.unwrap();
    let acts: Vec<_> = acts.iter().map(|of| (of.act.as_str(), of.reason.as_str(), of.at)).collect();
    assert_eq!(acts, [("erase", "asked for by the person", 2_000)]);
    assert!(state.scrub_reports().await.unwrap());
    for gone in ["Alice Example", "and more and more", "Bob Example"] {
        assert!(!is_in_files(database, gone), "{gone} is in a file of the database");
    }
    // Nothing else is lost, and it is moderated as before.
    assert_eq!(server.report(&kept.id).await.unwrap(), Some(kept));
    assert_eq!(server.moderate_report(id, ReportAct::Hide, "spam", 4_000).await.unwrap(), Moderation::Done);
    assert_eq!(server.report(id).await.unwrap().unwrap().content.visibility, Visibility::Hidden);
}

async fn erased_texts_stay_in_the_files_while_others_read(database: &TestDatabase) {
    let state = database.open().await;
    let made = created(&state, "names Alice Example", "a", 1_000).await;
    let reader = database.reading("SELECT count(*) FROM reports").await;
    state.erase_report(&made.id, "asked for", 2_000).await.unwrap();
    assert!(!state.scrub_reports().await.unwrap(), "a reader still needs what was before");
    reader.end().await;
    assert!(state.scrub_reports().await.unwrap());
    assert!(!is_in_files(database, "Alice Example"));
}

async fn reports_that_nobody_pays_are_deleted(database: &TestDatabase) {
    let state = database.open().await;
    // They expire at 2,000.
    let (first, paid) = (created(&state, "one", "a", 1_000).await, created(&state, "two", "b", 1_000).await);
    let later = created(&state, "three", "c", 1_000).await;
    database.execute(&format!("UPDATE reports SET expires_at = 2001 WHERE id = '{}'", later.id)).await;
    state.note_publication(&paid.id, &block()).await.unwrap();
    let due = 2_000 + UNPAID_KEPT;
    let overdue = async |now, limit| -> Vec<String> {
        state.overdue_reports(now, limit).await.unwrap().into_iter().map(|of| of.id).collect()
    };
    assert!(overdue(0, 9).await.is_empty() && overdue(due - 1, 9).await.is_empty());
    assert_eq!(overdue(due, 9).await, std::slice::from_ref(&first.id));
    assert_eq!(overdue(due + 1, 9).await, [first.id.clone(), later.id.clone()]);
    assert_eq!(overdue(due + 1, 1).await, std::slice::from_ref(&first.id));
    assert!(!state.purge_report(&first.id, due - 1).await.unwrap(), "not yet");
    assert!(!state.purge_report(&paid.id, due + 9).await.unwrap(), "it was paid");
    assert!(!state.purge_report("rp_0", due).await.unwrap());
    assert!(state.purge_report(&first.id, due).await.unwrap());
    assert!(!state.purge_report(&first.id, due).await.unwrap());
    // It is paid after it was listed.
    state.note_publication(&later.id, &block()).await.unwrap();
    assert!(!state.purge_report(&later.id, due + 1).await.unwrap());
    assert_eq!(state.report(&first.id).await.unwrap(), None);
    assert_eq!(state.reports(None, 9).await.unwrap().len(), 2);
    // Its address is never given out again.
    assert_eq!(database.text("SELECT CAST(count(*) AS TEXT) FROM payment_addresses").await, "3");
    assert_eq!(created(&state, "four", "d", 1_000).await.payment_address, "address 3");
}

async fn reports_are_counted(database: &TestDatabase) {
    let state = database.open().await;
    assert_eq!(state.report_counts(1_000).await.unwrap(), ReportCounts::default());
    let mut ids = Vec::new();
    for at in 0..5 {
        ids.push(created(&state, "x", &format!("client {at}"), 1_000).await.id);
    }
    let counts = async |now| {
        let counts = state.report_counts(now).await.unwrap();
        (counts.unpaid, counts.held, counts.addresses)
    };
    assert_eq!(counts(1_000).await, (5, 0, 5));
    state.note_publication(&ids[0], &block()).await.unwrap();
    state.moderate_report(&ids[1], ReportAct::Hide, "spam", 1_000).await.unwrap();
    assert_eq!(counts(1_000).await, (3, 0, 5));
    // One that is paid and one that is not wait for the operator; the latter waits for its payment as well.
    for id in [&ids[0], &ids[2]] {
        database.execute(&format!("UPDATE reports SET visibility = 'held' WHERE id = '{id}'")).await;
    }
    assert_eq!(counts(1_999).await, (3, 2, 5));
    assert_eq!(counts(2_000).await, (0, 1, 5), "the others have expired");
    assert!(matches!(state.report_counts(u64::MAX).await.unwrap_err(), StateError::Time));
}

/// A database of the version before keeps its reports, and what operators did with them.
async fn reports_of_before_can_be_answered_and_erased(database: &TestDatabase) {
    database.open().await.close().await;
    let tables = ["payment_counters", "payment_addresses", "payment_skips", "reports", "report_acts", "client_keys"];
    let later = ["report_voters", "codes", "l402_challenges", "l402_reopenings", "x402_payments", "simulated_invoices"];
    let later = later.into_iter().chain(["checkouts"]);
    for table in tables.into_iter().chain(later) {
        database.execute(&format!("DROP TABLE {table}")).await;
    }
    database.execute("ALTER TABLE access_keys DROP COLUMN suspended_at").await;
    database.execute("DELETE FROM cairn_schema WHERE version >= 8").await;
    database.execute(include_str!("../../query-api/state/migrations/0006_reports.sql")).await;
    let rows = format!(
        "INSERT INTO reports (id, address, script_hash, category, description, evidence_txids, created_at, expires_at, \
         amount_sats, payment_script, payment_address, visibility) VALUES ('rp_1', 'a', '{SCRIPT}', 'scam', 'text', '', 1, \
         2, 3, 'ab', 'p', 'hidden'); INSERT INTO report_acts (id, report_id, act, reason, acted_at) \
         VALUES ('1', 'rp_1', 'hide', 'spam', 4)"
    );
    database.execute(&rows).await;
    let state = database.open().await;
    let report = state.report("rp_1").await.unwrap().unwrap();
    assert_eq!((report.content.description.as_str(), &report.reply, report.erased_at), ("text", &None, None));
    assert_eq!(state.reply_to_report("rp_1", "mine", 5, 5).await.unwrap(), Replying::Stored);
    assert_eq!(state.erase_report("rp_1", "asked for", 6).await.unwrap(), Moderation::Done);
    let acts = state.report_acts("rp_1").await.unwrap();
    assert_eq!(acts.iter().map(|of| of.act.as_str()).collect::<Vec<_>>(), ["hide", "erase"]);
    state.close().await;
    let found = cairn_state::check(&database.state_url()).await.unwrap();
    assert_eq!(found.problems.as_slice(), &[] as &[String]);
}
