//! Leases of challenges of L402: races, crashes and what operators open again, on both databases.

use std::time::Instant;

use cairn_state::{
    ChallengeState, Leasing, MAX_NOT_FOUND_RELEASES, Offering, REOPENED_SECS, Redeeming, Release, Releasing,
    ReopenedChallenge, Reopening, StateError,
};

use crate::{
    database::TestDatabase,
    sales::{DAY, NOW, TTL, challenge, client, fill, leased, offered, state_of, take},
};

on_both!(
    raced_redemptions_succeed_once,
    a_lease_of_a_dead_process_ends,
    answers_such_as_404_are_counted,
    a_challenge_is_opened_again_once,
);

/// Replays of one paid proof over many tasks and two pools. Some leases are given back, so that the race goes on.
async fn raced_redemptions_succeed_once(database: &TestDatabase) {
    const TASKS: u32 = 50;
    const REPLAYS: u32 = 10_000;
    let states = [database.open().await, database.open().await];
    let made = offered(&states[0], 1, 1, NOW).await;
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let (state, made) = (states[task as usize % 2].clone(), made.clone());
            tokio::spawn(async move {
                let (mut done, mut given_back) = (0, 0);
                for replay in 0..REPLAYS / TASKS {
                    match take(&state, &made, &format!("task {task}"), NOW + 1).await {
                        Leasing::Leased(lease) if replay < 10 => {
                            let back = state.release_challenge(&lease, Release::Ours, NOW + 1).await.unwrap();
                            assert_eq!(back, Releasing::Open);
                            given_back += 1;
                        }
                        Leasing::Leased(lease) => {
                            assert_eq!(state.redeem_challenge(&lease, NOW + 1).await.unwrap(), Redeeming::Done);
                            done += 1;
                        }
                        Leasing::Busy { .. } => tokio::task::yield_now().await,
                        Leasing::Redeemed { at } => assert_eq!(at, NOW + 1),
                        other => panic!("{other:?}"),
                    }
                }
                (done, given_back)
            })
        })
        .collect();
    let (mut done, mut given_back) = (0, 0);
    for task in tasks {
        let (of_done, of_given_back) = task.await.unwrap();
        (done, given_back) = (done + of_done, given_back + of_given_back);
    }
    assert_eq!(done, 1);
    assert!(given_back > 0);
    assert_eq!(state_of(&states[1], &made, NOW + 2).await, ChallengeState::Redeemed);
}

/// Every step between lease and answer at which a process may die.
async fn a_lease_of_a_dead_process_ends(database: &TestDatabase) {
    let (one, other) = (database.open().await, database.open().await);
    // Dead with the lease: it ends by its time, and what the dead one still sends counts for nothing.
    let made = offered(&one, 1, 1, NOW).await;
    let dead = leased(&one, &made, "one", NOW).await;
    assert_eq!(take(&other, &made, "other", NOW + TTL - 1).await, Leasing::Busy { until: NOW + TTL });
    let lease = leased(&other, &made, "other", NOW + TTL).await;
    assert_eq!(lease.fence, 2);
    assert_eq!(one.redeem_challenge(&dead, NOW + TTL).await.unwrap(), Redeeming::LeaseLost);
    for why in [Release::Ours, Release::NotFound] {
        assert_eq!(one.release_challenge(&dead, why, NOW + TTL).await.unwrap(), Releasing::LeaseLost);
    }
    assert_eq!(other.redeem_challenge(&lease, NOW + TTL + 1).await.unwrap(), Redeeming::Done);
    assert_eq!(one.redeem_challenge(&dead, NOW + TTL + 2).await.unwrap(), Redeeming::LeaseLost);
    // Late, and nobody else has taken it: the answer is good.
    let made = offered(&one, 2, 2, NOW).await;
    let late = leased(&one, &made, "one", NOW).await;
    assert_eq!(one.redeem_challenge(&late, NOW + 10 * TTL).await.unwrap(), Redeeming::Done);
    // Dead after it redeemed: the row says so.
    assert_eq!(take(&other, &made, "other", NOW + 11 * TTL).await, Leasing::Redeemed { at: NOW + 10 * TTL });
    // A process of the same name has no more rights than another.
    let made = offered(&one, 3, 3, NOW).await;
    let dead = leased(&one, &made, "one", NOW).await;
    let lease = leased(&other, &made, "one", NOW + TTL).await;
    assert_eq!(one.redeem_challenge(&dead, NOW + TTL).await.unwrap(), Redeeming::LeaseLost);
    // Given back: the lease counts for nothing, also before there is another one.
    assert_eq!(other.release_challenge(&lease, Release::Ours, NOW + TTL).await.unwrap(), Releasing::Open);
    assert_eq!(other.redeem_challenge(&lease, NOW + TTL).await.unwrap(), Redeeming::LeaseLost);
    assert_eq!(leased(&one, &made, "one", NOW + TTL).await.fence, 3);
}

async fn answers_such_as_404_are_counted(database: &TestDatabase) {
    let state = database.open().await;
    let made = offered(&state, 1, 1, NOW).await;
    for count in 1..=MAX_NOT_FOUND_RELEASES {
        // A failure of the server's own counts for nothing.
        let lease = leased(&state, &made, "a", NOW).await;
        assert_eq!(state.release_challenge(&lease, Release::Ours, NOW).await.unwrap(), Releasing::Open);
        let lease = leased(&state, &made, "a", NOW).await;
        let expected = if count == MAX_NOT_FOUND_RELEASES { Releasing::Redeemed } else { Releasing::Open };
        assert_eq!(state.release_challenge(&lease, Release::NotFound, NOW + 7).await.unwrap(), expected, "{count}");
        assert_eq!(state.release_challenge(&lease, Release::NotFound, NOW).await.unwrap(), Releasing::LeaseLost);
        let found = state.challenge_of_token(&made.content.token_id).await.unwrap().unwrap();
        assert_eq!(found.not_found, u64::from(count));
    }
    assert_eq!(take(&state, &made, "a", NOW + 8).await, Leasing::Redeemed { at: NOW + 7 });
    assert_eq!(state.sales_report(NOW, NOW).await.unwrap()[0].count, 1, "it was sold");
}

async fn a_challenge_is_opened_again_once(database: &TestDatabase) {
    let state = database.open().await;
    let made = offered(&state, 1, 1, NOW).await;
    assert_eq!(state.reopen_challenge("ch_0", "lost", NOW).await.unwrap(), Reopening::Unknown);
    assert_eq!(state.reopen_challenge(&made.id, "lost", NOW).await.unwrap(), Reopening::NotRedeemed);
    let first = leased(&state, &made, "a", NOW).await;
    state.redeem_challenge(&first, NOW + 1).await.unwrap();
    for reason in ["", " ", "a\nb", &"x".repeat(501)] {
        assert!(matches!(state.reopen_challenge(&made.id, reason, NOW).await.unwrap_err(), StateError::Sale));
    }
    let later = NOW + 5 * DAY;
    let until = later + REOPENED_SECS;
    assert_eq!(state.reopen_challenge(&made.id, "connection lost", later).await.unwrap(), Reopening::Done { until });
    assert_eq!(state.reopen_challenge(&made.id, "again", later + 1).await.unwrap(), Reopening::Before(later));
    let (challenge_id, reason) = (made.id.clone(), "connection lost".to_owned());
    let audit = ReopenedChallenge { challenge_id, reason, redeemed_at: NOW + 1, reopened_at: later };
    assert_eq!(state.reopened_challenges(9).await.unwrap(), [audit]);
    let found = state.challenge_of_token(&made.content.token_id).await.unwrap().unwrap();
    assert_eq!((found.redeemable_until, found.redeemed_at), (until, None));
    assert_eq!(state_of(&state, &made, later).await, ChallengeState::Pending);
    assert_eq!(state.redeem_challenge(&first, later).await.unwrap(), Redeeming::LeaseLost, "the first use is over");
    assert_eq!(take(&state, &made, "a", until).await, Leasing::Expired);
    let second = leased(&state, &made, "a", until - 1).await;
    assert_eq!(state.redeem_challenge(&second, until - 1).await.unwrap(), Redeeming::Done);
    assert_eq!(state.reopen_challenge(&made.id, "again", until).await.unwrap(), Reopening::Before(later));
    assert_eq!(take(&state, &made, "a", until).await, Leasing::Redeemed { at: until - 1 });
    // One sale, on the day of the first redemption.
    let sums = state.sales_report(NOW, until).await.unwrap();
    assert_eq!(sums.iter().map(|row| (row.day, row.count)).collect::<Vec<_>>(), [(NOW / DAY * DAY, 1)]);
    // Of many operators at the same time, one opens it.
    let made = offered(&state, 2, 2, NOW).await;
    let lease = leased(&state, &made, "a", NOW).await;
    state.redeem_challenge(&lease, NOW).await.unwrap();
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (state, id) = (state.clone(), made.id.clone());
            tokio::spawn(async move { state.reopen_challenge(&id, "raced", NOW).await.unwrap() })
        })
        .collect();
    let mut done = 0;
    for task in tasks {
        done += u32::from(matches!(task.await.unwrap(), Reopening::Done { .. }));
    }
    assert_eq!(done, 1);
}

/// Prints how long a lease and a redemption take together, both durable.
#[tokio::test]
#[ignore = "measures"]
async fn measure_lease_and_redemption() {
    let mut databases = vec![TestDatabase::sqlite()];
    databases.extend(TestDatabase::postgres().await);
    for database in databases {
        let state = database.open().await;
        fill(&database, 0, 9_000, NOW + 60, false).await;
        let (mut offers, mut uses) = (Vec::new(), Vec::new());
        for number in 0..400 {
            let client = client(&state, &number.to_string(), NOW).await;
            let began = Instant::now();
            let new = challenge(1_000_000 + number, 1, NOW, 600);
            state.open_challenge(&client, &[1; 32], NOW).await.unwrap();
            let Offering::Offered(made) = state.add_challenge(new, &client, NOW).await.unwrap() else { panic!() };
            offers.push(began.elapsed());
            let began = Instant::now();
            let lease = leased(&state, &made, "a", NOW).await;
            state.redeem_challenge(&lease, NOW).await.unwrap();
            uses.push(began.elapsed());
        }
        for (name, times) in [("look and add", &mut offers), ("lease and redeem", &mut uses)] {
            times.sort();
            println!("{name}: median {:?}, 95 % {:?}, most {:?}", times[200], times[380], times[399]);
        }
        database.remove().await;
    }
}
