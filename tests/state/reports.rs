//! Payment addresses, reports and votes, on both databases.

use std::collections::BTreeSet;

use cairn_state::{
    ClientHashes, Creation, IndexUse, MAX_OPEN_REPORTS, MAX_REPORT_CHARS, MAX_REPORTS_OF_CLIENT, Moderation, NewReport,
    PublishingBlock, Report, ReportAct, ReportPosition, State, StateError, VOTE_WINDOW, Visibility, Voting,
};

use crate::database::TestDatabase;

on_both!(
    no_address_is_given_out_twice,
    skipped_indices_are_never_given_out,
    reports_are_kept_with_their_addresses,
    reports_have_limits,
    reports_are_listed_by_score_and_time,
    reports_that_cannot_be_kept_are_refused,
    raced_votes_count_once,
    a_change_of_the_key_forgives_no_vote,
    operators_hide_and_restore,
    the_check_reads_reports,
);

const DESCRIPTOR: &str = "dddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddddd";
pub(crate) const SCRIPT: &str = "5555555555555555555555555555555555555555555555555555555555555555";

/// An index that nobody has used.
#[allow(clippy::unnecessary_wraps)]
fn free(index: u32) -> Option<IndexUse> {
    Some(IndexUse::Free { script: index.to_be_bytes().to_vec(), address: format!("address {index}") })
}

fn report(description: &str) -> NewReport {
    NewReport {
        address: "bc1q".to_owned(),
        script_hash: SCRIPT.to_owned(),
        category: "scam".to_owned(),
        description: description.to_owned(),
        evidence_txids: vec!["ab".repeat(32), "cd".repeat(32)],
        evidence_url: Some("https://example.com/'; DROP TABLE reports; --".to_owned()),
        expires_at: 2_000,
        amount_sats: 5_000,
        visibility: Visibility::Shown,
    }
}

async fn client(state: &State, name: &str, now: u64) -> ClientHashes {
    state.client_keys(now, 0).await.unwrap().hashes(|key| key.mac(&["vote", name]))
}

pub(crate) async fn created(state: &State, description: &str, of: &str, now: u64) -> Report {
    state.begin_payment_counter(DESCRIPTOR, 0).await.unwrap();
    let client = client(state, of, now).await;
    match state.create_report(report(description), &client, DESCRIPTOR, now, free).await.unwrap() {
        Creation::Created(report) => *report,
        other => panic!("{other:?}"),
    }
}

async fn no_address_is_given_out_twice(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    assert_eq!(one.payment_counter(DESCRIPTOR).await.unwrap(), None);
    assert!(one.allot_payment_address(DESCRIPTOR, "x", 1, free).await.is_err(), "the counter has not begun");
    one.begin_payment_counter(DESCRIPTOR, 3).await.unwrap();
    let run = one.payment_counter(DESCRIPTOR).await.unwrap().unwrap().run;
    other.begin_payment_counter(DESCRIPTOR, 9).await.unwrap();
    let all: Vec<_> = (0..24)
        .map(|at| {
            let state = [&one, &other][at % 2].clone();
            tokio::spawn(async move {
                // The chain has used index 10.
                let look = |index| if index == 10 { Some(IndexUse::Used) } else { free(index) };
                state.allot_payment_address(DESCRIPTOR, &format!("test {at}"), 7, look).await.unwrap()
            })
        })
        .collect();
    let mut indices = BTreeSet::new();
    for one in all {
        let given = one.await.unwrap();
        assert_eq!(given.script, given.index.to_be_bytes());
        assert!(indices.insert(given.index), "{given:?}");
    }
    let expected: BTreeSet<u32> = (3..28).filter(|index| *index != 10).collect();
    assert_eq!(indices, expected);
    let counter = one.payment_counter(DESCRIPTOR).await.unwrap().unwrap();
    assert_eq!((counter.run, counter.next_index), (run, 28));
    // Another descriptor has a counter of its own, but no script is given out twice.
    let second = "e".repeat(64);
    one.begin_payment_counter(&second, 3).await.unwrap();
    assert!(one.allot_payment_address(&second, "x", 1, free).await.is_err());
    assert_eq!(one.payment_counter(&second).await.unwrap().unwrap().next_index, 3);
    // A look-up that fails gives nothing out.
    let error = one.allot_payment_address(DESCRIPTOR, "x", 1, |_| None).await.unwrap_err();
    assert!(matches!(error, StateError::NoAddress), "{error:?}");
    assert_eq!(one.payment_counter(DESCRIPTOR).await.unwrap().unwrap().next_index, 28);
}

async fn skipped_indices_are_never_given_out(database: &TestDatabase) {
    let state = database.open().await;
    created(&state, "first", "a", 10).await;
    assert!(state.skip_payment_indices(DESCRIPTOR, 1, 1_001, 20).await.unwrap());
    // Another request has done it already.
    assert!(!state.skip_payment_indices(DESCRIPTOR, 1, 1_001, 21).await.unwrap());
    let next = created(&state, "second", "b", 30).await;
    assert_eq!(next.payment_address, "address 1001");
    let skips = state.payment_skips(9).await.unwrap();
    assert_eq!(
        skips.iter().map(|of| (of.first_index, of.end_index, of.skipped_at)).collect::<Vec<_>>(),
        [(1, 1_001, 20)]
    );
}

async fn reports_are_kept_with_their_addresses(database: &TestDatabase) {
    let state = database.open().await;
    let first = created(&state, "one\n\ttwo \u{1f600}", "a", 1_000).await;
    assert!(first.id.starts_with("rp_") && first.id.len() == 35);
    assert_eq!((first.payment_address.as_str(), first.score()), ("address 0", 0));
    assert_eq!(state.report(&first.id).await.unwrap().as_ref(), Some(&first));
    assert_eq!(state.report("rp_0").await.unwrap(), None);
    let purpose = database.text("SELECT purpose FROM payment_addresses").await;
    assert_eq!(purpose, format!("report:{}", first.id));
    let block = PublishingBlock { height: 7, hash: "ab".repeat(32) };
    state.note_publication(&first.id, &block).await.unwrap();
    let now = state.report(&first.id).await.unwrap().unwrap();
    assert_eq!(now.published_in, Some(block));
    // No address of a client is anywhere.
    let kept = database.text("SELECT client FROM reports").await;
    assert!(kept.len() == 64 && kept.bytes().all(|byte| byte.is_ascii_hexdigit()), "{kept}");
}

async fn reports_have_limits(database: &TestDatabase) {
    let state = database.open().await;
    state.begin_payment_counter(DESCRIPTOR, 0).await.unwrap();
    let (a, b) = (client(&state, "a", 1_000).await, client(&state, "b", 1_000).await);
    // All at once: exactly as many as are allowed.
    let all: Vec<_> = (0..3 * MAX_REPORTS_OF_CLIENT)
        .map(|at| {
            let (state, a) = (state.clone(), a.clone());
            tokio::spawn(async move {
                state.create_report(report(&format!("report {at}")), &a, DESCRIPTOR, 1_000, free).await.unwrap()
            })
        })
        .collect();
    let mut ids = Vec::new();
    for one in all {
        match one.await.unwrap() {
            Creation::Created(report) => ids.push(report.id),
            refused => assert_eq!(refused, Creation::TooManyOfClient),
        }
    }
    assert_eq!(ids.len(), MAX_REPORTS_OF_CLIENT as usize);
    assert_eq!(state.payment_counter(DESCRIPTOR).await.unwrap().unwrap().next_index, MAX_REPORTS_OF_CLIENT);
    let again = async |client: &ClientHashes, now| {
        state.create_report(report("more"), client, DESCRIPTOR, now, free).await.unwrap()
    };
    assert!(matches!(again(&b, 1_000).await, Creation::Created(_)));
    assert_eq!(state.open_reports(Some(&a), 1_000, 99).await.unwrap().len(), MAX_REPORTS_OF_CLIENT as usize);
    assert_eq!(state.open_reports(None, 1_000, 99).await.unwrap().len(), 6);
    // Reports that are published, hidden or expired are not open.
    let block = PublishingBlock { height: 7, hash: "ab".repeat(32) };
    state.note_publication(&ids[0], &block).await.unwrap();
    assert!(matches!(again(&a, 1_000).await, Creation::Created(_)));
    state.moderate_report(&ids[1], ReportAct::Hide, "spam", 1_000).await.unwrap();
    assert!(matches!(again(&a, 1_000).await, Creation::Created(_)));
    assert_eq!(again(&a, 1_999).await, Creation::TooManyOfClient);
    assert!(matches!(again(&a, 2_000).await, Creation::Created(_)), "they have expired");
    // The same client by its hash under the key before.
    let old = ClientHashes { number: a.number, current: "f".repeat(64), previous: a.current.clone() };
    assert_eq!(again(&old, 1_999).await, Creation::TooManyOfClient);
    let more = format!(
        "INSERT INTO reports (id, address, script_hash, category, description, evidence_txids, created_at, expires_at, \
         amount_sats, payment_script, payment_address, visibility) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 \
         FROM n WHERE i < {MAX_OPEN_REPORTS}) SELECT 'x' || CAST(i AS TEXT), 'a', '{SCRIPT}', 'scam', 'd', '', 1, 9000, 1, \
         'y' || CAST(i AS TEXT), 'z', 'shown' FROM n"
    );
    database.execute(&more).await;
    assert_eq!(again(&b, 3_000).await, Creation::Full);
    assert!(matches!(again(&b, 9_000).await, Creation::Created(_)));
}

async fn reports_are_listed_by_score_and_time(database: &TestDatabase) {
    let state = database.open().await;
    let mut expected = Vec::new();
    for (at, (up, down)) in [(0, 0), (5, 2), (0, 0), (0, 3), (3, 0), (9, 9), (1, 1)].into_iter().enumerate() {
        let made = created(&state, "x", &format!("client {at}"), 1_000 + at as u64 / 2).await;
        database.execute(&format!("UPDATE reports SET up = {up}, down = {down} WHERE id = '{}'", made.id)).await;
        expected.push((i64::from(up - down), made.created_at, made.id));
    }
    expected.sort_by(|one, other| other.cmp(one));
    let shown = |reports: Vec<Report>| -> Vec<(i64, u64, String)> {
        reports.into_iter().map(|of| (of.score(), of.created_at, of.id)).collect()
    };
    assert_eq!(shown(state.reports_about(SCRIPT, None, 99).await.unwrap()), expected);
    for step in 1..4 {
        let (mut pages, mut after) = (Vec::new(), None);
        loop {
            let page = shown(state.reports_about(SCRIPT, after.as_ref(), step).await.unwrap());
            let Some((score, created_at, id)) = page.last().cloned() else { break };
            after = Some(ReportPosition { score, created_at, id });
            pages.extend(page);
        }
        assert_eq!(pages, expected, "pages of {step}");
    }
    assert_eq!(state.reports_about(&"6".repeat(64), None, 9).await.unwrap(), []);
    assert_eq!(state.reports(None, 3).await.unwrap().len(), 3);
}

async fn reports_that_cannot_be_kept_are_refused(database: &TestDatabase) {
    let state = database.open().await;
    state.begin_payment_counter(DESCRIPTOR, 0).await.unwrap();
    let client = client(&state, "a", 1).await;
    for bad in [
        report(" \n"),
        report("a\u{1b}[31m"),
        report(&"é".repeat(MAX_REPORT_CHARS + 1)),
        NewReport { evidence_txids: vec!["ab".repeat(32); 21], ..report("x") },
        NewReport { evidence_txids: vec!["'".to_owned()], ..report("x") },
        NewReport { evidence_url: Some("https://a\n".to_owned()), ..report("x") },
    ] {
        let error = state.create_report(bad, &client, DESCRIPTOR, 1, free).await.unwrap_err();
        assert!(matches!(error, StateError::Report), "{error:?}");
    }
    assert_eq!(state.payment_counter(DESCRIPTOR).await.unwrap().unwrap().next_index, 0);
    assert_eq!(state.reports(None, 9).await.unwrap(), []);
    // A damaged row is an error, and never half a report.
    let made = created(&state, "x", "b", 1).await;
    database.execute("UPDATE reports SET amount_sats = -1").await;
    assert!(matches!(state.report(&made.id).await.unwrap_err(), StateError::Row(_)));
}

async fn raced_votes_count_once(database: &TestDatabase) {
    let state = database.open().await;
    let (one, two) = (created(&state, "one", "a", 1_000).await, created(&state, "two", "b", 1_000).await);
    let voter = client(&state, "voter", 1_000).await;
    let all: Vec<_> = (0..200)
        .map(|at| {
            let (state, voter) = (state.clone(), voter.clone());
            let id = if at % 2 == 0 { one.id.clone() } else { two.id.clone() };
            tokio::spawn(async move { state.vote(&id, &voter, at % 3 > 0, 1_000).await })
        })
        .collect();
    let (mut counted, mut refused) = (0, 0);
    for vote in all {
        match vote.await.unwrap() {
            Ok(Voting::Counted { up, down }) => {
                assert_eq!(up + down, 1);
                counted += 1;
            }
            Ok(Voting::TooSoon { next }) => {
                assert_eq!(next, 1_000 + VOTE_WINDOW);
                refused += 1;
            }
            // That many at once may wait too long for a connection: nothing was counted then.
            Err(StateError::Database { .. }) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((counted, refused), (1, 199));
    let sum = database.text("SELECT CAST(sum(up + down) AS TEXT) FROM reports").await;
    assert_eq!(sum, "1");
    // Others have their own, and a vote for nothing costs none.
    let other = client(&state, "other", 1_000).await;
    assert_eq!(state.vote("rp_0", &other, true, 1_000).await.unwrap(), Voting::Unknown);
    assert!(matches!(state.vote(&two.id, &other, true, 1_000).await.unwrap(), Voting::Counted { .. }));
    // A day later, and not before.
    let at = |now| state.vote(&one.id, &voter, true, now);
    assert!(matches!(at(1_000 + VOTE_WINDOW - 1).await.unwrap(), Voting::TooSoon { .. }));
    assert!(matches!(at(1_000 + VOTE_WINDOW).await.unwrap(), Voting::Counted { .. }));
    assert!(matches!(at(1_001 + VOTE_WINDOW).await.unwrap(), Voting::TooSoon { .. }));
}

async fn a_change_of_the_key_forgives_no_vote(database: &TestDatabase) {
    let (state, other) = (database.open().await, database.open().await);
    let made = created(&state, "one", "a", 1_000).await;
    let day = VOTE_WINDOW;
    let old = client(&state, "voter", 1_000).await;
    // Just before the key changes.
    let voted = 1_000 + day - 10;
    assert!(matches!(state.vote(&made.id, &old, true, voted).await.unwrap(), Voting::Counted { .. }));
    let new = client(&other, "voter", 1_000 + day).await;
    assert_eq!((new.number, &new.previous), (old.number + 1, &old.current));
    assert_ne!(new.current, old.current);
    assert_eq!(state.vote(&made.id, &old, true, 1_000 + day).await.unwrap(), Voting::KeysChanged);
    for now in [1_000 + day, voted + day - 1] {
        assert_eq!(state.vote(&made.id, &new, true, now).await.unwrap(), Voting::TooSoon { next: voted + day });
    }
    assert!(matches!(state.vote(&made.id, &new, true, voted + day).await.unwrap(), Voting::Counted { .. }));
    // Another change: the vote under the second key counts for a day as well, and the first key is gone.
    let third = client(&state, "voter", 1_000 + 2 * day).await;
    assert_eq!(third.previous, new.current);
    let next = Voting::TooSoon { next: voted + 2 * day };
    assert_eq!(state.vote(&made.id, &third, true, voted + day + 20).await.unwrap(), next);
    assert_eq!(database.text("SELECT CAST(count(*) AS TEXT) FROM client_keys").await, "2");
    assert_eq!(database.text("SELECT CAST(count(*) AS TEXT) FROM report_voters").await, "1", "old hashes are removed");
}

async fn operators_hide_and_restore(database: &TestDatabase) {
    let state = database.open().await;
    let made = created(&state, "one", "a", 1_000).await;
    let act = |act, reason| state.moderate_report(&made.id, act, reason, 5);
    assert_eq!(act(ReportAct::Hide, "spam").await.unwrap(), Moderation::Done);
    assert_eq!(act(ReportAct::Hide, "again").await.unwrap(), Moderation::Before);
    assert_eq!(state.reports_about(SCRIPT, None, 9).await.unwrap(), []);
    assert_eq!(state.reports(Some(Visibility::Hidden), 9).await.unwrap().len(), 1);
    assert_eq!(act(ReportAct::Restore, "a mistake").await.unwrap(), Moderation::Done);
    assert_eq!(state.reports_about(SCRIPT, None, 9).await.unwrap().len(), 1);
    let unknown = state.moderate_report("rp_0", ReportAct::Hide, "x", 5).await.unwrap();
    assert_eq!(unknown, Moderation::Unknown);
    assert!(act(ReportAct::Hide, " ").await.is_err() && act(ReportAct::Hide, "a\u{1b}").await.is_err());
    let acts = state.report_acts(&made.id).await.unwrap();
    assert_eq!(acts.len(), 2);
    assert!(acts.iter().any(|of| of.act == "restore" && of.reason == "a mistake" && of.at == 5), "{acts:?}");
}

async fn the_check_reads_reports(database: &TestDatabase) {
    let state = database.open().await;
    created(&state, "one", "a", 1_000).await;
    state.close().await;
    let found = cairn_state::check(&database.state_url()).await.unwrap();
    assert_eq!((found.problems.as_slice(), found.reports, found.payments), (&[][..], 1, 1));
}
