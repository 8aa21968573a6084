//! Approvals of rows of lists of sanctions, on both databases.

use cairn_state::{Approver, FeedCheck, SeenRow, State, StateError};

use crate::database::TestDatabase;

on_both!(
    approvals_are_kept_counted_and_withdrawn,
    an_approval_is_for_one_party_of_one_list,
    damaged_approvals_are_errors,
    checks_of_a_feed_go_forward,
);

const LIST: &str = "ofac-sdn/sanctions";
const FEED: [u8; 32] = [0xfe; 32];

fn seen(number: u8, party: &str) -> SeenRow {
    let (script, party_uid) = ([number; 32], format!("uid-{party}"));
    SeenRow { script, address: format!("address-{number}"), party_uid, party_name: party.to_owned() }
}

fn by(name: &str) -> Approver {
    name.parse().unwrap()
}

/// Who has approved a row.
async fn approvers(state: &State, row: &SeenRow) -> Vec<String> {
    let approvals = state.approvals().await.unwrap();
    let given = approvals.of_party(LIST, &row.script, &row.party_uid, &row.party_name);
    given.iter().map(|of| of.approver.clone()).collect()
}

async fn approvals_are_kept_counted_and_withdrawn(database: &TestDatabase) {
    let state = database.open().await;
    let rows = [seen(1, "a"), seen(2, "b")];
    assert_eq!(state.approve(LIST, &rows, &FEED, &by("Ann"), 1_000).await.unwrap(), [true, true]);
    assert_eq!(state.approve(LIST, &rows[..1], &FEED, &by("ANN "), 2_000).await.unwrap(), [false]);
    assert_eq!(state.approve(LIST, &rows[..1], &[1; 32], &by("Bob"), 3_000).await.unwrap(), [true]);
    assert_eq!(approvers(&state, &rows[0]).await, ["ann", "bob"]);
    assert_eq!(approvers(&state, &rows[1]).await, ["ann"]);
    // Another process sees it, and its changes are seen at once.
    let other = database.open().await;
    assert_eq!(approvers(&other, &rows[0]).await, ["ann", "bob"]);
    let approvals = other.approvals().await.unwrap();
    let first = &approvals.of_script(LIST, &[1; 32])[0];
    assert_eq!((&first.row, first.approvals[0].at, first.approvals[1].at), (&rows[0], 1_000, 3_000));
    assert_eq!(first.approvals[0].feed_sha256, "fe".repeat(32));
    let scripts = [[1; 32], [2; 32], [3; 32]];
    assert_eq!(other.withdraw_approvals(LIST, &scripts, &by("carol"), 4_000).await.unwrap(), [2, 1, 0]);
    assert_eq!(approvers(&state, &rows[0]).await, [""; 0]);
    assert_eq!(other.withdraw_approvals(LIST, &scripts, &by("carol"), 5_000).await.unwrap(), [0, 0, 0]);
    let sql =
        "SELECT CAST(count(*) AS TEXT) FROM sanction_approvals WHERE withdrawn_by = 'carol' AND withdrawn_at = 4000";
    assert_eq!(database.text(sql).await, "3");
    // A withdrawn approval can be given again.
    assert_eq!(state.approve(LIST, &rows[..1], &FEED, &by("ann"), 6_000).await.unwrap(), [true]);
    assert_eq!(approvers(&other, &rows[0]).await, ["ann"]);
    assert_eq!(cairn_state::check(&database.state_url()).await.unwrap().approvals, 1);
}

async fn an_approval_is_for_one_party_of_one_list(database: &TestDatabase) {
    let state = database.open().await;
    state.approve(LIST, &[seen(1, "a")], &FEED, &by("ann"), 1_000).await.unwrap();
    assert_eq!(approvers(&state, &seen(1, "b")).await, [""; 0]);
    let renamed = SeenRow { party_name: "A".to_owned(), ..seen(1, "a") };
    assert_eq!(approvers(&state, &renamed).await, [""; 0]);
    let approvals = state.approvals().await.unwrap();
    assert!(approvals.of_script("other/sanctions", &[1; 32]).is_empty());
    assert_eq!((approvals.rows(LIST).count(), approvals.rows("other/sanctions").count()), (1, 0));
    state.approve(LIST, &[renamed], &FEED, &by("ann"), 1_000).await.unwrap();
    assert_eq!(state.approvals().await.unwrap().of_script(LIST, &[1; 32]).len(), 2);
    // A withdrawal is for the address, under whatever party.
    assert_eq!(state.withdraw_approvals("x/y", &[[1; 32]], &by("ann"), 2_000).await.unwrap(), [0]);
    assert_eq!(state.withdraw_approvals(LIST, &[[1; 32]], &by("ann"), 2_000).await.unwrap(), [2]);
    for name in ["", "a\u{1b}b", "\u{430}nn"] {
        assert!(matches!(name.parse::<Approver>(), Err(StateError::Approver)), "{name:?}");
    }
}

async fn damaged_approvals_are_errors(database: &TestDatabase) {
    let state = database.open().await;
    state.approve(LIST, &[seen(1, "a")], &FEED, &by("ann"), 1_000).await.unwrap();
    database.execute(&format!("UPDATE sanction_approvals SET script_sha256 = '{}'", "z".repeat(64))).await;
    assert!(matches!(database.open().await.approvals().await.unwrap_err(), StateError::Row(_)));
}

async fn checks_of_a_feed_go_forward(database: &TestDatabase) {
    let state = database.open().await;
    assert_eq!(state.feed_check(LIST, &FEED).await.unwrap(), None);
    let check =
        FeedCheck { checked_at: 1_000, issued_at: Some(900), invalid: Some(3), listed_under_other_asset: Some(1) };
    state.feed_was_checked(LIST, &FEED, check).await.unwrap();
    assert_eq!(state.feed_check(LIST, &FEED).await.unwrap(), Some(check));
    // A server that says "not modified" gives no counts.
    state.feed_was_checked(LIST, &FEED, FeedCheck { checked_at: 2_000, ..FeedCheck::default() }).await.unwrap();
    state.feed_was_checked(LIST, &FEED, FeedCheck { checked_at: 1_500, ..FeedCheck::default() }).await.unwrap();
    assert_eq!(state.feed_check(LIST, &FEED).await.unwrap(), Some(FeedCheck { checked_at: 2_000, ..check }));
    assert_eq!(state.feed_check(LIST, &[0; 32]).await.unwrap(), None);
    let huge = FeedCheck { checked_at: u64::MAX, ..check };
    assert!(matches!(state.feed_was_checked(LIST, &FEED, huge).await.unwrap_err(), StateError::Time));
}
